"""Which share of the relevant documents is among the first k? (R8)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score
from ragassay.metrics.base import Declaration, Elsewhere, MetricBase, MetricFlow
from ragassay.metrics.parameters import check_count
from ragassay.metrics.ranking import NEEDS, SOURCE, measured, ranking_of
from ragassay.scoring import recall_at_k


@dataclass(frozen=True, slots=True)
class RecallAtK(MetricBase):
    """Share of the relevant documents that are among the first k."""

    declaration: ClassVar[Declaration] = Declaration(
        id="R8", name="recall_at_k", title="Share of the relevant documents that are among the first k.",
        formula="relevant documents among the first k / relevant documents.",
        needs=NEEDS, judged=False, source=SOURCE,
        edges=(
            "nothing was retrieved: 0", "relevant_ids names no relevant document: not applicable",
            "a chunk without an id: not applicable, as it cannot be matched",
            "an id that is repeated counts once, at its best rank",
        ),
        calls="none",
        elsewhere=(
            Elsewhere("trec_eval", "recall_k"),
            Elsewhere("MLflow", "recall_at_k"),
        ),
    )  # fmt: skip
    k: int = 5

    def __post_init__(self) -> None:
        check_count("recall_at_k", "k", self.k)

    def flow(self, sample: Sample) -> MetricFlow:
        ranking = ranking_of(self, sample)
        if isinstance(ranking, Score):
            return ranking
        return measured(self, recall_at_k(ranking, sample.relevant_ids or {}, self.k))
        yield  # asks nothing, and is a flow all the same
