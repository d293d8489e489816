"""Precision at k: the share of the first k documents that are relevant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.parameters import check_count
from ragassay.metrics.ranking import EDGE_CASES, NEEDS, SOURCE, Ranked
from ragassay.scoring import precision_at_k


@dataclass(frozen=True, slots=True)
class PrecisionAtK(Ranked):
    """Share of relevant documents among the first k."""

    declaration: ClassVar[Declaration] = Declaration(
        name="precision_at_k",
        title="Share of relevant documents among the first k.",
        formula="relevant documents among the first k / k, also when fewer were retrieved.",
        needs=NEEDS,
        area=Area.RETRIEVAL,
        judged=False,
        source=SOURCE,
        edge_cases=(*EDGE_CASES, "fewer than k documents: still divided by k"),
        calls="none",
        default=80,
        elsewhere=(
            Elsewhere("trec_eval", "P_k"),
            Elsewhere(
                "MLflow",
                "precision_at_k",
                "there divided by the number retrieved where that is below k",
            ),
        ),
    )
    k: int = 5

    def __post_init__(self) -> None:
        check_count("precision_at_k", "k", self.k)

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        return precision_at_k(ranking, grades, self.k)
