"""How early does the first relevant document come? (R8)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score
from ragassay.metrics.base import Declaration, Elsewhere, MetricBase, MetricFlow
from ragassay.metrics.ranking import NEEDS, SOURCE, measured, ranking_of
from ragassay.scoring import reciprocal_rank


@dataclass(frozen=True, slots=True)
class ReciprocalRank(MetricBase):
    """Reciprocal rank of the row; its mean over rows is MRR."""

    declaration: ClassVar[Declaration] = Declaration(
        id="R8", name="mrr", title="How early the first relevant document comes.",
        formula="1 / rank of the first relevant document, 0 when none was retrieved; its mean over rows is MRR.",
        needs=NEEDS, judged=False, source=SOURCE,
        edges=(
            "nothing was retrieved: 0", "relevant_ids names no relevant document: not applicable",
            "a chunk without an id: not applicable, as it cannot be matched",
            "an id that is repeated counts once, at its best rank",
        ),
        calls="none",
        elsewhere=(
            Elsewhere("trec_eval", "recip_rank"),
        ),
    )  # fmt: skip

    def flow(self, sample: Sample) -> MetricFlow:
        ranking = ranking_of(self, sample)
        if isinstance(ranking, Score):
            return ranking
        return measured(self, reciprocal_rank(ranking, sample.relevant_ids or {}))
        yield  # asks nothing, and is a flow all the same
