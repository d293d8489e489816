"""Recall at k: the share of the relevant documents that are among the first k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.parameters import check_count
from ragassay.metrics.ranking import EDGE_CASES, NEEDS, SOURCE, Ranked
from ragassay.scoring import recall_at_k


@dataclass(frozen=True, slots=True)
class RecallAtK(Ranked):
    """Share of the relevant documents that are among the first k."""

    declaration: ClassVar[Declaration] = Declaration(
        name="recall_at_k",
        title="Share of the relevant documents that are among the first k.",
        formula="relevant documents among the first k / relevant documents.",
        needs=NEEDS,
        area=Area.RETRIEVAL,
        judged=False,
        source=SOURCE,
        edge_cases=EDGE_CASES,
        calls="none",
        default=90,
        elsewhere=(
            Elsewhere("trec_eval", "recall_k"),
            Elsewhere("MLflow", "recall_at_k"),
        ),
    )
    k: int = 5

    def __post_init__(self) -> None:
        check_count("recall_at_k", "k", self.k)

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        return recall_at_k(ranking, grades, self.k)
