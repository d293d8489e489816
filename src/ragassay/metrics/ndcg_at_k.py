"""How well are the first k documents ordered by graded relevance? (R8)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score
from ragassay.metrics.base import Declaration, Elsewhere, MetricBase, MetricFlow
from ragassay.metrics.parameters import check_count
from ragassay.metrics.ranking import NEEDS, SOURCE, measured, ranking_of
from ragassay.scoring import ndcg_at_k


@dataclass(frozen=True, slots=True)
class NdcgAtK(MetricBase):
    """Normalised discounted cumulated gain of the first k."""

    declaration: ClassVar[Declaration] = Declaration(
        id="R8", name="ndcg_at_k", title="How well the first k documents are ordered by graded relevance.",
        formula="DCG of the first k / DCG of the best possible first k; DCG = sum of grade / log2(rank + 1).",
        needs=NEEDS, judged=False, source=SOURCE,
        edges=(
            "nothing was retrieved: 0", "relevant_ids names no relevant document: not applicable",
            "a chunk without an id: not applicable, as it cannot be matched",
            "an id that is repeated counts once, at its best rank; negative grades gain nothing",
        ),
        calls="none",
        elsewhere=(
            Elsewhere("trec_eval", "ndcg_cut_k"),
            Elsewhere("Phoenix", "nDCG", "there over judged relevance of the retrieved chunks"),
        ),
    )  # fmt: skip
    k: int = 10

    def __post_init__(self) -> None:
        check_count("ndcg_at_k", "k", self.k)

    def flow(self, sample: Sample) -> MetricFlow:
        ranking = ranking_of(self, sample)
        if isinstance(ranking, Score):
            return ranking
        return measured(self, ndcg_at_k(ranking, sample.relevant_ids or {}, self.k))
        yield  # asks nothing, and is a flow all the same
