"""Correctness: whether the response is right, by the reference or the expected facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import (
    Counts,
    Request,
    Role,
    Sample,
    Score,
    Showing,
    Shown,
    Stage,
    Status,
    Verdict,
)
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.graph.admissions import admits
from ragassay.metrics.graph.claims import MAX_CLAIMS
from ragassay.metrics.graph.statements import NEEDS_TRUTH, no_truth, statements_of
from ragassay.metrics.parameters import check_choice
from ragassay.metrics.rating import failed_by_rule, score_of_rating
from ragassay.metrics.reduction import ABSTENTION, EMPTY, GRADE_MARK, blank, part_of

_RUBRICS = {"binary": "correctness", "three": "correctness_3"}


@dataclass(frozen=True, slots=True)
class Correctness(MetricBase):
    """Whether the response states the main points of the truth and contradicts none. form: "binary"
    (no, yes) or "three" (incorrect, not attempted, correct).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="correctness",
        title="Whether the response is right by the reference or the expected facts.",
        formula=(
            '1 when the judge says yes (form=three: "correct"), else 0; minor omissions are'
            " accepted. The judge sees the statements of the truth: the expected facts, else the"
            " claims of the reference. The row passes at yes."
        ),
        needs=("question", "response", NEEDS_TRUTH),
        rubrics=("correctness", "correctness_3"),
        source=(
            "MLflow / Databricks Agent Evaluation; three-way form: SimpleQA (Wei et al. 2024,"
            " arXiv:2411.04368)"
        ),
        edge_cases=(
            "the response is empty: 0, not asked, flag empty_response",
            "the response declines: 0, flag abstention",
            (
                "the truth makes no statement, or declines to answer itself: not applicable"
                " (abstention says what is right there)"
            ),
        ),
        calls="1",
        default=45,
        mark_words=((GRADE_MARK, "yes"), (1.0, "correct")),
        role=Role(
            stage=Stage.ANSWER,
            place=300,
            decides=True,
            cause="incorrect",
            needs_answer=True,
            shows=(Showing(Shown.ANSWER_RIGHT),),
        ),
        elsewhere=(
            Elsewhere("MLflow", "Correctness", "there every expected fact has to be there"),
            Elsewhere(
                "SimpleQA",
                "correct / incorrect / not attempted",
                "the same three grades (form=three)",
            ),
            Elsewhere(
                "Phoenix",
                "QA correctness",
                "there against the retrieved text, not against a reference",
            ),
            Elsewhere(
                "Ragas", "AnswerCorrectness", "another quantity: see answer_correctness_claims"
            ),
        ),
    )
    form: str = "binary"

    def __post_init__(self) -> None:
        check_choice("correctness", "form", self.form, tuple(_RUBRICS))

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubric that this form asks."""
        return (_RUBRICS[self.form],)

    @property
    def _mark(self) -> float:
        """Of the three ratings only the best one passes."""
        return GRADE_MARK if self.form == "binary" else 1.0

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        question, response = sample.question or "", sample.response or ""
        if blank(question):
            return self.not_applicable("the question is empty")
        statements = right_statements(self, sample)
        if isinstance(statements, Score):
            return statements
        if blank(response):
            return failed_by_rule(str(self), "The response is empty.", EMPTY, self._mark)
        (judgment,) = yield (
            Request(
                self.rubrics[0],
                {"question": question, "response": response, "statements": statements},
            ),
        )
        part = part_of(judgment, "statement", start=0, end=len(response))
        # The three-way rubric has a rating for it, the binary one a flag.
        declined = part.value is not None and (
            "declined" in part.flags or part.rating == "not_attempted"
        )
        if declined:
            part = replace(part, value=0.0, passed=False)
        return score_of_rating(str(self), part, (ABSTENTION,) if declined else (), self._mark)


def right_statements(metric: MetricBase, sample: Sample) -> tuple[str, ...] | Score:
    """The statements a right answer must hold, or the Score that says why there are none to judge
    by.
    """
    statements = statements_of(sample)
    if not statements:
        return metric.not_applicable(no_truth(sample))
    if all(admits(text) for text in statements):
        return metric.not_applicable("the reference declines to answer")
    if len(statements) > MAX_CLAIMS:
        return Score(
            metric=str(metric),
            status=Status.FAILED,
            verdict=Verdict.UNDECIDED,
            pass_mark=GRADE_MARK,
            reason=f"the truth makes more than {MAX_CLAIMS:,} statements, the most that are judged",
            counts=Counts.of([Status.FAILED]),
        )
    return statements
