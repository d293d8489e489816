"""Document recall: the share of the relevant documents that was retrieved, by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Role, Score, Showing, Shown, Stage, Verdict
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.parameters import check_share
from ragassay.metrics.ranking import EDGE_CASES, NEEDS, SOURCE, Ranked
from ragassay.scoring import document_recall


@dataclass(frozen=True, slots=True)
class DocumentRecall(Ranked):
    """Relevant documents retrieved / relevant documents. pass_mark: the default means that one is
    enough.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="document_recall",
        title="Share of the documents known to be relevant that was retrieved.",
        formula=(
            "relevant documents retrieved / relevant documents. The row passes at the pass mark, by"
            " default with any relevant document among up to 100."
        ),
        needs=NEEDS,
        area=Area.RETRIEVAL,
        judged=False,
        source=SOURCE,
        edge_cases=EDGE_CASES,
        calls="none",
        default=70,
        mark_of="of documents",
        mark_words=((0.01, "≥ 1 document of up to 100"),),
        role=Role(
            stage=Stage.RETRIEVAL,
            place=140,
            cause="document_missed",
            needs_answer=True,
            shows=(Showing(Shown.DOCUMENTS_RETRIEVED),),
        ),
        elsewhere=(
            Elsewhere("trec_eval", "set_recall"),
            Elsewhere("Databricks Agent Evaluation", "document_recall"),
            Elsewhere("Ragas", "IDBasedContextRecall", "there NaN when relevant_ids is empty"),
        ),
    )
    # One of up to a hundred relevant documents: enough to have something to answer from.
    pass_mark: float = 0.01

    def __post_init__(self) -> None:
        check_share("document_recall", "pass_mark", self.pass_mark)

    def measure(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> float | None:
        return document_recall(ranking, grades)

    def reduce(self, ranking: tuple[str, ...], grades: Mapping[str, float]) -> Score:
        score = Ranked.reduce(self, ranking, grades)
        if score.value is None:
            return score
        verdict = Verdict.PASS if score.value >= self.pass_mark else Verdict.FAIL
        return replace(score, verdict=verdict, pass_mark=self.pass_mark)
