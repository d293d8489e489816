"""Answer accuracy: whether the response says what the reference says, by two rubrics with the roles
swapped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Request, Role, Sample, Showing, Shown, Stage
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.dual import (
    DUAL_MARK,
    EDGE_CASES,
    FORMS,
    SOURCE,
    judge_twice,
    rubrics_of_form,
)
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.rating import failed_by_rule
from ragassay.metrics.reduction import EMPTY, blank


@dataclass(frozen=True, slots=True)
class AnswerAccuracyDual(MetricBase):
    """Agreement of response and reference; the second template judges the reference by the
    response.
    form: "reasoned" (each rating with its reason) or "light" (a bare rating, as published).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="answer_accuracy_dual",
        title=(
            "Whether response and reference say the same, by two templates with the roles swapped."
        ),
        formula=(
            "mean of the two ratings / 4, ratings 0, 2, 4; the second template has response and"
            " reference swapped. extra: first, second, disagreement = |first - second|. The row"
            " passes at 0.5."
        ),
        needs=("question", "response", "reference"),
        rubrics=(
            "answer_accuracy_dual_1",
            "answer_accuracy_dual_2",
            "answer_accuracy_dual_1_light",
            "answer_accuracy_dual_2_light",
        ),
        source=SOURCE,
        edge_cases=(
            *EDGE_CASES,
            "the question or the reference is empty: not applicable",
            "the response is empty: 0, not asked, flag empty_response",
        ),
        calls="2",
        role=Role(
            stage=Stage.ANSWER,
            place=320,
            cause="incorrect",
            needs_answer=True,
            shows=(Showing(Shown.ANSWER_RIGHT, place=3),),
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "AnswerAccuracy (NVIDIA)",
                "there a bare rating, which is form=light here; "
                "there any 4, 2 or 0 in the reply is read as the rating, and "
                "two lost ratings are NaN",
            ),
        ),
    )
    pass_mark: float = DUAL_MARK
    form: str = "reasoned"

    def __post_init__(self) -> None:
        check_choice("answer_accuracy_dual", "form", self.form, FORMS)
        check_share("answer_accuracy_dual", "pass_mark", self.pass_mark)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The two rubrics of this form."""
        return rubrics_of_form(self.declaration.rubrics, self.form)

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        question, response, reference = (
            sample.question or "",
            sample.response or "",
            sample.reference or "",
        )
        if blank(question):
            return self.not_applicable("the question is empty")
        if blank(reference):
            return self.not_applicable("the reference is empty")
        if blank(response):
            return failed_by_rule(str(self), "The response is empty.", EMPTY, self.pass_mark)
        there, back = self.rubrics
        first = Request(there, {"question": question, "answer": response, "other": reference})
        second = Request(back, {"question": question, "answer": reference, "other": response})
        return (
            yield from judge_twice(
                str(self), first, second, self.pass_mark, start=0, end=len(response)
            )
        )
