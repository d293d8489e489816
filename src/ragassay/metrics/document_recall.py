"""Which share of the documents known to be relevant was retrieved at all? (R8)"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Sample, Score, Verdict
from ragassay.metrics.base import Declaration, Elsewhere, MetricBase, MetricFlow
from ragassay.metrics.parameters import check_share
from ragassay.metrics.ranking import NEEDS, SOURCE, measured, ranking_of
from ragassay.scoring import document_recall


@dataclass(frozen=True, slots=True)
class DocumentRecall(MetricBase):
    """Relevant documents retrieved / relevant documents. pass_mark: the default means that one is enough."""

    declaration: ClassVar[Declaration] = Declaration(
        id="R8", name="document_recall", title="Share of the documents known to be relevant that was retrieved.",
        formula="relevant documents retrieved / relevant documents. The row passes at the pass mark, by default with "
        "any relevant document among up to 100.",
        needs=NEEDS, judged=False, source=SOURCE,
        edges=(
            "nothing was retrieved: 0", "relevant_ids names no relevant document: not applicable",
            "a chunk without an id: not applicable, as it cannot be matched",
            "an id that is repeated counts once, at its best rank",
        ),
        calls="none",
        elsewhere=(
            Elsewhere("trec_eval", "set_recall"),
            Elsewhere("Databricks Agent Evaluation", "document_recall"),
            Elsewhere("Ragas", "IDBasedContextRecall", "there NaN when relevant_ids is empty"),
        ),
    )  # fmt: skip
    pass_mark: float = 0.01

    def __post_init__(self) -> None:
        check_share("document_recall", "pass_mark", self.pass_mark)

    def flow(self, sample: Sample) -> MetricFlow:
        ranking = ranking_of(self, sample)
        if isinstance(ranking, Score):
            return ranking
        value = document_recall(ranking, sample.relevant_ids or {})
        score = measured(self, value)
        if value is None:
            return score
        verdict = Verdict.PASS if value >= self.pass_mark else Verdict.FAIL
        return replace(score, verdict=verdict, pass_mark=self.pass_mark)
        yield  # asks nothing, and is a flow all the same
