"""Hit rate: whether a relevant document is among the first k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.parameters import check_count
from ragassay.metrics.ranking import EDGE_CASES, NEEDS, SOURCE, Ranked
from ragassay.scoring import hit_rate


@dataclass(frozen=True, slots=True)
class HitRate(Ranked):
    """Whether a relevant document is among the first k."""

    declaration: ClassVar[Declaration] = Declaration(
        name="hit_rate",
        title="Whether a relevant document is among the first k.",
        formula="1 when a relevant document is among the first k, else 0.",
        needs=NEEDS,
        area=Area.RETRIEVAL,
        judged=False,
        source=SOURCE,
        edge_cases=EDGE_CASES,
        calls="none",
        default=100,
        elsewhere=(Elsewhere("trec_eval", "success_k"),),
    )
    k: int = 5

    def __post_init__(self) -> None:
        check_count("hit_rate", "k", self.k)

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        return hit_rate(ranking, grades, self.k)
