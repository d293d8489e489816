"""Which share of the retrieved documents is relevant, by id? (R8)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score
from ragassay.metrics.base import Declaration, Elsewhere, MetricBase, MetricFlow
from ragassay.metrics.ranking import NEEDS, SOURCE, measured, ranking_of
from ragassay.scoring import precision_at_k


@dataclass(frozen=True, slots=True)
class DocumentPrecision(MetricBase):
    """Relevant documents retrieved / documents retrieved, each counted once."""

    declaration: ClassVar[Declaration] = Declaration(
        id="R8", name="document_precision", title="Share of the retrieved documents that are known to be relevant.",
        formula="relevant documents retrieved / documents retrieved; a document counts once, however many chunks of it "
        "were retrieved.",
        needs=NEEDS, judged=False, source=SOURCE,
        edges=(
            "nothing was retrieved, or relevant_ids names no relevant document: not applicable",
            "a chunk without an id: not applicable, as it cannot be matched",
        ),
        calls="none",
        elsewhere=(
            Elsewhere("trec_eval", "set_P", "there 0 when nothing was retrieved"),
            Elsewhere("Ragas", "IDBasedContextPrecision", "there NaN when nothing was retrieved"),
        ),
    )  # fmt: skip

    def flow(self, sample: Sample) -> MetricFlow:
        ranking = ranking_of(self, sample)
        if isinstance(ranking, Score):
            return ranking
        documents = tuple(dict.fromkeys(ranking))
        if not documents:
            return self.not_applicable("nothing was retrieved")
        return measured(self, precision_at_k(documents, sample.relevant_ids or {}, len(documents)))
        yield  # asks nothing, and is a flow all the same
