"""Which share of the first k documents is relevant? (R8)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score
from ragassay.metrics.base import Declaration, Elsewhere, MetricBase, MetricFlow
from ragassay.metrics.parameters import check_count
from ragassay.metrics.ranking import NEEDS, SOURCE, measured, ranking_of
from ragassay.scoring import precision_at_k


@dataclass(frozen=True, slots=True)
class PrecisionAtK(MetricBase):
    """Share of relevant documents among the first k."""

    declaration: ClassVar[Declaration] = Declaration(
        id="R8", name="precision_at_k", title="Share of relevant documents among the first k.",
        formula="relevant documents among the first k / k, also when fewer were retrieved.",
        needs=NEEDS, judged=False, source=SOURCE,
        edges=(
            "nothing was retrieved: 0", "relevant_ids names no relevant document: not applicable",
            "a chunk without an id: not applicable, as it cannot be matched",
            "an id that is repeated counts once, at its best rank; fewer than k documents: still divided by k",
        ),
        calls="none",
        elsewhere=(
            Elsewhere("trec_eval", "P_k"),
            Elsewhere("MLflow", "precision_at_k", "there divided by the number retrieved where that is below k"),
        ),
    )  # fmt: skip
    k: int = 5

    def __post_init__(self) -> None:
        check_count("precision_at_k", "k", self.k)

    def flow(self, sample: Sample) -> MetricFlow:
        ranking = ranking_of(self, sample)
        if isinstance(ranking, Score):
            return ranking
        return measured(self, precision_at_k(ranking, sample.relevant_ids or {}, self.k))
        yield  # asks nothing, and is a flow all the same
