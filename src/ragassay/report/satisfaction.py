"""How far the judges agree with the users who rated the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ragassay.core import BesideUsers, Verdict
from ragassay.scoring.agreement import figures
from ragassay.scoring.ratings import Ratings

EXAMPLES = 3
_DRAWS = 500
_MIDDLE = 0.5
"""Above it a user was happy, below it unhappy; in the middle neither, so such rows are left out."""


@dataclass(slots=True)
class _Pairs:
    """What users and one judge said of the same rows, a number each: memory follows the rows that
    users rated, which are few of many.
    """

    happy: list[bool] = field(default_factory=list)
    passed: list[bool] = field(default_factory=list)
    clusters: list[int] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    unhappy_passed: int = 0


class UsersAndJudges:
    """Counts the rows that users rated and judges decided."""

    def __init__(self) -> None:
        self._pairs: dict[str, _Pairs] = {}
        self._clusters: dict[str, int] = {}

    def add(
        self,
        row: str,
        cluster: str | None,
        satisfaction: float,
        verdicts: Mapping[str, Verdict | None],
    ) -> None:
        """Count a row. verdicts: of the row as a whole ("") and of each metric."""
        if satisfaction == _MIDDLE:
            return
        happy = satisfaction > _MIDDLE
        # A row without a cluster is one of its own; ids and clusters must not be taken for one.
        key = f"row {row}" if cluster is None else f"cluster {cluster}"
        code = self._clusters.setdefault(key, len(self._clusters))
        for metric, verdict in verdicts.items():
            if verdict not in (Verdict.PASS, Verdict.FAIL):
                continue
            pairs = self._pairs.setdefault(metric, _Pairs())
            pairs.happy.append(happy)
            pairs.passed.append(verdict is Verdict.PASS)
            pairs.clusters.append(code)
            if not happy and verdict is Verdict.PASS:
                pairs.unhappy_passed += 1
                if len(pairs.examples) < EXAMPLES:
                    pairs.examples.append(row)

    def results(self, metrics: Iterable[str]) -> tuple[BesideUsers, ...]:
        """The agreement of the row's verdict, then of the metrics in this order."""
        found = [(name, self._pairs[name]) for name in ("", *metrics) if name in self._pairs]
        return tuple(_result(name, pairs) for name, pairs in found)


def _result(metric: str, pairs: _Pairs) -> BesideUsers:
    truth, passes = np.array(pairs.happy), np.array(pairs.passed)
    ratings = Ratings(
        label=truth.astype(float),
        score=passes.astype(float),
        passes=passes,
        truth=truth,
        cluster=np.array(pairs.clusters),
    )
    (kappa,) = figures(ratings, names=["kappa"], draws=_DRAWS).pooled
    return BesideUsers(
        metric=metric,
        rows=len(truth),
        unhappy=int((~truth).sum()),
        unhappy_passed=pairs.unhappy_passed,
        examples=tuple(pairs.examples),
        kappa=kappa.value,
        kappa_interval=kappa.interval,
        why=kappa.reason,
    )
