"""Context sufficiency: whether the contexts hold all that a right answer needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Request, Role, Sample, Score, Showing, Shown, Stage
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.catalogue.correctness import right_statements
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.graph.statements import NEEDS_TRUTH
from ragassay.metrics.parameters import check_choice
from ragassay.metrics.rating import failed_by_rule, score_of_rating
from ragassay.metrics.reduction import GRADE_MARK, blank, part_of

_RUBRICS = {"reference": "context_sufficiency", "question": "context_sufficiency_open"}


@dataclass(frozen=True, slots=True)
class ContextSufficiency(MetricBase):
    """Whether the contexts are enough. against: "reference" (for every statement of the reference
    or the expected facts) or "question" (without any of them: could the question be answered
    fully?).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="context_sufficiency",
        title="Whether the contexts hold all that a right answer needs.",
        formula=(
            "1 when the judge says yes, else 0; the rationale names what is missing."
            " against=question needs no reference and asks whether the contexts answer the question"
            " fully. The row passes at yes."
        ),
        needs=("question", "contexts", NEEDS_TRUTH),
        area=Area.RETRIEVAL,
        rubrics=("context_sufficiency", "context_sufficiency_open"),
        source=(
            "MLflow / Databricks Agent Evaluation; without reference: sufficient context (Joren et"
            " al. 2025, arXiv:2411.06037)"
        ),
        edge_cases=(
            "nothing was retrieved: 0, not asked, flag nothing_retrieved",
            (
                "the question is empty, or the truth makes no statement or declines to answer: not"
                " applicable"
            ),
        ),
        calls="1",
        mark_words=((GRADE_MARK, "yes"),),
        role=Role(
            stage=Stage.RETRIEVAL,
            place=100,
            decides=True,
            cause="insufficient_context",
            needs_answer=True,
            shows=(
                Showing(Shown.EVIDENCE_PRESENT),
                Showing(Shown.REFERENCE_SUPPORTED),
            ),
        ),
        elsewhere=(
            Elsewhere("MLflow", "RetrievalSufficiency"),
            Elsewhere("Databricks Agent Evaluation", "context_sufficiency"),
            Elsewhere(
                "Ragas",
                "ContextRecall",
                "there the share of supported statements: see context_recall",
            ),
        ),
    )
    against: str = "reference"

    def __post_init__(self) -> None:
        check_choice("context_sufficiency", "against", self.against, tuple(_RUBRICS))

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubric that these parameters ask."""
        return (_RUBRICS[self.against],)

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that these parameters need."""
        return self.declaration.needs if self.against == "reference" else ("question", "contexts")

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        question, contexts = (
            sample.question or "",
            tuple(chunk.text for chunk in sample.contexts or ()),
        )
        if blank(question):
            return self.not_applicable("the question is empty")
        inputs: dict[str, str | tuple[str, ...]] = {"question": question, "contexts": contexts}
        if self.against == "reference":
            statements = right_statements(self, sample)
            if isinstance(statements, Score):
                return statements
            inputs["statements"] = statements
        if all(blank(text) for text in contexts):
            return failed_by_rule(str(self), "Nothing was retrieved.", "nothing_retrieved")
        (judgment,) = yield (Request(self.rubrics[0], inputs),)
        return score_of_rating(str(self), part_of(judgment, "statement", text=question))
