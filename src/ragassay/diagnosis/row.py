"""A row as the rules of the diagnosis read it: the sample, its scores, and what each metric means.

The rules ask for what a score shows (`Shown`) and for the stage of its metric. They name no metric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.core import NO_ROLE, Role, Sample, Score, Shown, Stage
from ragassay.diagnosis.evidence import metric_name

Roles = Mapping[str, Role]
"""Metric, without its parameters -> its role; a metric that is not there has none."""

ABSTENTION = "abstention"
"""The flag of a score that says that the response declines to answer."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row with its scores and the roles of their metrics."""

    sample: Sample
    scores: Sequence[Score]
    roles: Roles
    # Sorted out once: each row is asked for a dozen of these.
    _by_shown: dict[Shown, list[Score]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        placed: dict[Shown, list[tuple[int, Score]]] = {}
        for score in self.scores:
            for showing in self.role(score).shows:
                placed.setdefault(showing.shown, []).append((showing.place, score))
        by_shown: dict[Shown, list[Score]] = {}
        for shown, pairs in placed.items():
            by_shown[shown] = [score for _, score in sorted(pairs, key=_place)]
        object.__setattr__(self, "_by_shown", by_shown)

    def role(self, score: Score) -> Role:
        """The role of the score's metric."""
        return self.roles.get(metric_name(score), NO_ROLE)

    def shown_by(self, score: Score) -> frozenset[Shown]:
        """What the score shows."""
        return frozenset(showing.shown for showing in self.role(score).shows)

    def showing(self, shown: Shown) -> list[Score]:
        """The scores that show this: those of the metric to be read first, then the next one's."""
        return self._by_shown.get(shown, [])

    def deciding(self, stage: Stage) -> list[Score]:
        """The scores of the metric that decides the stage."""
        return [score for score in self.scores if self.decides(score, stage)]

    def decides(self, score: Score, stage: Stage) -> bool:
        """Whether the score's metric decides the stage."""
        role = self.role(score)
        return role.decides and role.stage is stage

    @property
    def declined(self) -> bool:
        """Whether a metric that looks for it says that the response declines to answer."""
        return any(ABSTENTION in score.flags for score in self.showing(Shown.DECLINED))

    @property
    def relevant_ids(self) -> tuple[str, ...] | None:
        """The documents known to be relevant; None where the row does not say."""
        grades = self.sample.relevant_ids
        if grades is None:
            return None
        return tuple(document for document, grade in grades.items() if grade >= 1)


def _place(item: tuple[int, Score]) -> int:
    return item[0]
