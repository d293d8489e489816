"""The race of one edited rubric against its parent, on as few calls as the evidence needs.

First some disagreements of the batch; an edit that mends none of them is dropped. Then the rest of
the batch with its controls, more of the group, and last a check for harm among the rows that the
judge has right.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ragassay.judges import Rubric
from ragassay.tuning.edits import Edit
from ragassay.tuning.evidence import Floor
from ragassay.tuning.purchases import UNJUDGED, UNKNOWN, Purchases
from ragassay.tuning.values import BoolArray, IntArray

FIRST = 3
_CHUNK = 4
_HARMFUL, _HARMLESS = 4.0, 0.3
_MOST_CHECKED, _LEAST_CHECKED = 36, 10


@dataclass(frozen=True)
class State:
    """A rubric of the search and what is known of it.

    passes, judged: its verdicts by row; where a row was not asked, those of the rubric that it was
    made of. estimate: its aim on the rows of the search, as far as it was asked.
    """

    edits: tuple[Edit, ...]
    rubric: Rubric
    passes: BoolArray
    judged: BoolArray
    estimate: float


@dataclass
class Outcome:
    """What a race saw. errors, agreements: rows that the parent has wrong and right, with whether
    the edit changed that. dropped: why the edit was dropped, "" where it won.
    """

    errors: dict[int, bool] = field(default_factory=dict)
    agreements: dict[int, bool] = field(default_factory=dict)
    dropped: str = ""
    harmful: bool = False
    factor: float = 0.0

    @property
    def mended(self) -> int:
        return sum(self.errors.values())

    @property
    def broken(self) -> int:
        return sum(self.agreements.values())


@dataclass
class Race:
    """One race. mending, breaking: the floors of errors and of agreements. futile: the Bayes factor
    below which an edit is given up. first: errors asked before an edit that mends none is dropped.
    """

    purchases: Purchases
    mending: Floor
    breaking: Floor
    truth: BoolArray
    parent: State
    rubric: Rubric
    futile: float = 1 / 8
    first: int = FIRST
    outcome: Outcome = field(default_factory=Outcome)

    def run(
        self, batch: IntArray, controls: IntArray, more: IntArray, at_risk: IntArray, needed: float
    ) -> Outcome:
        """The outcome. batch: errors that the proposer saw. more: further errors of the kind.
        at_risk: rows that the parent has right. needed: the Bayes factor that an effect must have.
        """
        outcome = self.outcome
        self._ask(batch[: self.first], outcome.errors)
        if not outcome.mended:
            outcome.dropped = f"it mends none of {len(outcome.errors)}"
            return outcome
        self._ask(batch[self.first :], outcome.errors)
        self._ask(controls, outcome.agreements)
        if self._look_for_effect(more, needed) < needed:
            outcome.dropped = (
                f"it mends {outcome.mended} of {len(outcome.errors)}, which chance can do as well"
            )
            return outcome
        self._look_for_harm(at_risk)
        return outcome

    def _look_for_effect(self, more: IntArray, needed: float) -> float:
        """The evidence for an effect, after as many rows as it takes."""
        outcome = self.outcome
        best = 0.0
        for start in range(0, len(more) + _CHUNK, _CHUNK):
            errors = outcome.errors
            outcome.factor = self.mending.for_mending(list(errors), list(errors.values()))
            best = max(best, outcome.factor)
            if best >= needed or outcome.factor < self.futile:
                return best
            self._ask(more[start : start + _CHUNK], errors)
        return best

    def _look_for_harm(self, at_risk: IntArray) -> None:
        outcome = self.outcome
        for start in range(0, min(len(at_risk), _MOST_CHECKED), _CHUNK):
            checked = outcome.agreements
            factor = self.breaking.for_harm(list(checked), list(checked.values()))
            if factor >= _HARMFUL:
                outcome.harmful = True
                outcome.dropped = f"it breaks {outcome.broken} of {len(checked)} elsewhere"
                return
            if factor <= _HARMLESS and len(checked) >= _LEAST_CHECKED:
                return
            self._ask(at_risk[start : start + _CHUNK], checked)

    def _ask(self, rows: IntArray, seen: dict[int, bool]) -> None:
        """Ask about rows, and note which of them the edit changes. seen: errors or agreements."""
        is_error = seen is self.outcome.errors
        verdicts = self.purchases.verdicts(self.rubric, rows)
        for row, verdict in zip(rows.tolist(), verdicts.tolist(), strict=True):
            if verdict == UNJUDGED:
                continue
            is_right = bool(verdict) == bool(self.truth[row])
            if is_right != is_error:
                seen[row] = False
            elif self._parent_is_right(row) != is_error:
                seen[row] = True

    def _parent_is_right(self, row: int) -> bool:
        """Whether the parent has the row right: it is asked where that is only supposed."""
        verdict = int(self.purchases.verdicts(self.parent.rubric, np.array([row]))[0])
        if verdict in (UNKNOWN, UNJUDGED):
            return bool(self.parent.passes[row] == self.truth[row])
        return bool(verdict) == bool(self.truth[row])
