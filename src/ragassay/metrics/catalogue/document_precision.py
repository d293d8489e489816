"""Document precision: the share of the retrieved documents that are relevant, by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Role, Score, Stage
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.ranking import NEEDS, SOURCE, Ranked
from ragassay.scoring import precision_at_k


@dataclass(frozen=True, slots=True)
class DocumentPrecision(Ranked):
    """Relevant documents retrieved / documents retrieved, each counted once."""

    declaration: ClassVar[Declaration] = Declaration(
        name="document_precision",
        title="Share of the retrieved documents that are known to be relevant.",
        formula=(
            "relevant documents retrieved / documents retrieved; a document counts once, however"
            " many chunks of it were retrieved."
        ),
        needs=NEEDS,
        area=Area.RETRIEVAL,
        judged=False,
        source=SOURCE,
        edge_cases=(
            "nothing was retrieved, or relevant_ids names no relevant document: not applicable",
            "a chunk without an id: not applicable, as it cannot be matched",
        ),
        calls="none",
        role=Role(
            stage=Stage.RETRIEVAL,
            place=150,
            cause="context_diluted",
            cause_at_zero="document_missed",
            needs_answer=True,
        ),
        elsewhere=(
            Elsewhere("trec_eval", "set_P", "there 0 when nothing was retrieved"),
            Elsewhere("Ragas", "IDBasedContextPrecision", "there NaN when nothing was retrieved"),
        ),
    )

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        return precision_at_k(ranking, grades, len(ranking))

    def reduce(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> Score:
        documents = tuple(dict.fromkeys(ranking))
        # Of no documents no share is relevant; the other ranking metrics are 0 there.
        if not documents:
            return self.not_applicable("nothing was retrieved")
        return Ranked.reduce(self, documents, grades)
