"""The answers that a search has bought of each rubric, within the calls that it may buy."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ragassay.core import BudgetExhausted
from ragassay.judges import Rubric
from ragassay.tuning.values import Answers, FloatArray, IntArray, JudgeBench

UNKNOWN, UNJUDGED = -1, -2
Verdicts = NDArray[np.int8]
"""Verdicts by row: 1 passes, 0 fails, UNKNOWN where none was bought, UNJUDGED where the judge gave
none.
"""


class NoRoom(Exception):
    """The calls of the search are spent, but for those that are kept for its end."""


@dataclass
class Purchases:
    """Buys answers for a search and remembers them.

    most_calls: what the bench may have bought in all. kept: calls of these that only the end of
    the search may spend.
    """

    bench: JudgeBench
    most_calls: int
    rows: int
    kept: int = 0
    calls_a_row: int = 1
    stopped: str = ""
    """Why a cap of somebody else's ended the purchases, "" where none did."""
    _verdicts: dict[str, Verdicts] = field(default_factory=dict)
    _scores: dict[str, FloatArray] = field(default_factory=dict)
    _reasons: dict[str, dict[int, str]] = field(default_factory=dict)
    _asked: int = 0

    @property
    def left(self) -> int:
        """Calls that may be bought now."""
        return self.most_calls - self.kept - self.bench.calls

    def need(self, calls: int) -> None:
        """Raise NoRoom where so many calls may not be bought."""
        if calls > self.left:
            raise NoRoom

    def known(self, rubric: Rubric) -> Verdicts:
        """The verdicts of a rubric so far."""
        return self._verdicts.setdefault(rubric.digest, np.full(self.rows, UNKNOWN, np.int8))

    def scores(self, rubric: Rubric) -> FloatArray:
        """The scores of a rubric so far, NaN where there is none."""
        return self._scores.setdefault(rubric.digest, np.full(self.rows, np.nan))

    def reason(self, rubric: Rubric, row: int) -> str:
        """What the judge said of a row; "" where nothing is known."""
        return self._reasons.get(rubric.digest, {}).get(row, "")

    def missing(self, rubric: Rubric, rows: IntArray) -> IntArray:
        """Those of the rows that were not asked yet."""
        return np.asarray(rows[self.known(rubric)[rows] == UNKNOWN])

    def verdicts(self, rubric: Rubric, rows: IntArray) -> Verdicts:
        """The verdicts on these rows; what is not known is bought. Raises NoRoom."""
        missing = self.missing(rubric, rows)
        if len(missing):
            self.need(self.calls_a_row * len(missing))
            self.keep(rubric, missing, self._buy(rubric, missing))
        return np.asarray(self.known(rubric)[rows])

    def _buy(self, rubric: Rubric, rows: IntArray) -> Answers:
        before = self.bench.calls
        try:
            answers = self.bench.judge(rubric, rows)
        except BudgetExhausted as stopped:
            raise self.no_room(stopped) from stopped
        self._asked += len(rows)
        bought = self.bench.calls - before
        # A metric may ask several things of a row, and the next row may need more than this one.
        self.calls_a_row = max(self.calls_a_row, ceil(bought / max(len(rows), 1)))
        return answers

    def no_room(self, stopped: BudgetExhausted) -> NoRoom:
        """A cap of somebody else's, such as one on money, is reached: what is known counts."""
        self.most_calls = self.bench.calls
        self.stopped = stopped.why or stopped.what
        return NoRoom()

    def keep(self, rubric: Rubric, rows: IntArray, answers: Answers) -> None:
        """Remember answers that were bought."""
        known = self.known(rubric)
        known[rows] = np.where(answers.judged, answers.passes.astype(np.int8), UNJUDGED)
        self.scores(rubric)[rows] = answers.score
        reasons = self._reasons.setdefault(rubric.digest, {})
        for place, reason in answers.reasons.items():
            reasons[int(rows[place])] = reason
