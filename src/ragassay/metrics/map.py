"""How precise is the ranking at the ranks of its relevant documents? (R8)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score
from ragassay.metrics.base import Declaration, Elsewhere, MetricBase, MetricFlow
from ragassay.metrics.ranking import NEEDS, SOURCE, measured, ranking_of
from ragassay.scoring import average_precision


@dataclass(frozen=True, slots=True)
class AveragePrecision(MetricBase):
    """Average precision of the row; its mean over rows is MAP."""

    declaration: ClassVar[Declaration] = Declaration(
        id="R8", name="map", title="Precision at the ranks of the relevant documents, on average.",
        formula="sum over retrieved relevant documents of the precision at their rank / relevant documents; "
        "its mean over rows is MAP.",
        needs=NEEDS, judged=False, source=SOURCE,
        edges=(
            "nothing was retrieved: 0", "relevant_ids names no relevant document: not applicable",
            "a chunk without an id: not applicable, as it cannot be matched",
            "an id that is repeated counts once, at its best rank",
        ),
        calls="none",
        elsewhere=(Elsewhere("trec_eval", "map"),),
    )  # fmt: skip

    def flow(self, sample: Sample) -> MetricFlow:
        ranking = ranking_of(self, sample)
        if isinstance(ranking, Score):
            return ranking
        return measured(self, average_precision(ranking, sample.relevant_ids or {}))
        yield  # asks nothing, and is a flow all the same
