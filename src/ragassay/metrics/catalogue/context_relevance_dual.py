"""Dual context relevance: how much the contexts help with the question, by two rubrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Request, Role, Sample, Stage
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
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
from ragassay.metrics.reduction import blank


@dataclass(frozen=True, slots=True)
class ContextRelevanceDual(MetricBase):
    """Relevance of all contexts together, by two templates.
    form: "reasoned" (each rating with its reason) or "light" (a bare rating, as published).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="context_relevance_dual",
        title="Whether the contexts, all together, help with the question, by two templates.",
        formula=(
            "mean of the two ratings / 2, ratings 0-2; extra: first, second, disagreement = |first"
            " - second|. The row passes at 0.5."
        ),
        needs=("question", "contexts"),
        area=Area.RETRIEVAL,
        rubrics=(
            "context_relevance_dual_1",
            "context_relevance_dual_2",
            "context_relevance_dual_1_light",
            "context_relevance_dual_2_light",
        ),
        source=SOURCE,
        edge_cases=(
            *EDGE_CASES,
            "the question is empty, or nothing was retrieved: not applicable",
            "no chunk holds text: 0, not asked",
        ),
        calls="2",
        role=Role(
            stage=Stage.RETRIEVAL,
            place=130,
            cause="retrieval_irrelevant",
            needs_answer=True,
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "ContextRelevance (NVIDIA)",
                "there a bare rating, which is form=light here; "
                "there empty contexts are 0, and so is a context that the "
                "question repeats; two lost ratings are NaN",
            ),
        ),
    )
    pass_mark: float = DUAL_MARK
    form: str = "reasoned"

    def __post_init__(self) -> None:
        check_choice("context_relevance_dual", "form", self.form, FORMS)
        check_share("context_relevance_dual", "pass_mark", self.pass_mark)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The two rubrics of this form."""
        return rubrics_of_form(self.declaration.rubrics, self.form)

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
        if not contexts:
            return self.not_applicable("nothing was retrieved")
        if all(blank(text) for text in contexts):
            return failed_by_rule(
                str(self), "No chunk holds text.", "nothing_found", self.pass_mark
            )
        first, second = (
            Request(name, {"question": question, "contexts": contexts}) for name in self.rubrics
        )
        return (yield from judge_twice(str(self), first, second, self.pass_mark, text=question))
