"""How early does the first relevant document come? (R8)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score
from ragassay.metrics.base import Declaration, MetricBase, MetricFlow
from ragassay.metrics.ranking import NEEDS, SOURCE, measured, ranking_of
from ragassay.scoring import reciprocal_rank


@dataclass(frozen=True, slots=True)
class ReciprocalRank(MetricBase):
    """Reciprocal rank of the row; its mean over rows is MRR."""

    declaration: ClassVar[Declaration] = Declaration(
        id="R8", name="mrr", title="How early the first relevant document comes.",
        formula="1 / rank of the first relevant document, 0 when none was retrieved; its mean over rows is MRR.",
        needs=NEEDS, judged=False, source=SOURCE, aka=("recip_rank", "reciprocal rank"),
    )  # fmt: skip

    def flow(self, sample: Sample) -> MetricFlow:
        ranking = ranking_of(self, sample)
        if isinstance(ranking, Score):
            return ranking
        return measured(self, reciprocal_rank(ranking, sample.relevant_ids or {}))
        yield  # asks nothing, and is a flow all the same
