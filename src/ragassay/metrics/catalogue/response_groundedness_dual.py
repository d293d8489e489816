"""Dual groundedness: how far the contexts support the response as a whole, by two rubrics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Counts, Request, Role, Sample, Score, Stage, Status, Verdict
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
from ragassay.metrics.graph.admissions import states_nothing
from ragassay.metrics.graph.claims import split_claims
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.rating import failed_by_rule
from ragassay.metrics.reduction import ABSTENTION, EMPTY, blank


@dataclass(frozen=True, slots=True)
class ResponseGroundednessDual(MetricBase):
    """Support of the response as a whole, by two templates. groundedness says which claim lacks it.
    form: "reasoned" (each rating with its reason) or "light" (a bare rating, as published).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="response_groundedness_dual",
        title="Whether the contexts support the response as a whole, by two templates.",
        formula=(
            "mean of the two ratings / 2, ratings 0-2; extra: first, second, disagreement = |first"
            " - second|. The row passes at 0.5."
        ),
        needs=("response", "contexts"),
        rubrics=(
            "response_groundedness_dual_1",
            "response_groundedness_dual_2",
            "response_groundedness_dual_1_light",
            "response_groundedness_dual_2_light",
        ),
        source=SOURCE,
        edge_cases=(
            *EDGE_CASES,
            "the response is empty or makes no claim: not applicable",
            "the response only declines to answer: 1, not asked, flag abstention",
            "claims, but no contexts: 0, not asked",
        ),
        calls="2",
        role=Role(
            stage=Stage.SUPPORT,
            place=220,
            cause="ungrounded",
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "ResponseGroundedness (NVIDIA)",
                "there a bare rating, which is form=light here; "
                "there an empty response and empty contexts are 0, and a "
                "response that stands in the contexts word for word is 1 without asking",
            ),
        ),
    )
    pass_mark: float = DUAL_MARK
    form: str = "reasoned"

    def __post_init__(self) -> None:
        check_choice("response_groundedness_dual", "form", self.form, FORMS)
        check_share("response_groundedness_dual", "pass_mark", self.pass_mark)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The two rubrics of this form."""
        return rubrics_of_form(self.declaration.rubrics, self.form)

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        response, contexts = (
            sample.response or "",
            tuple(chunk.text for chunk in sample.contexts or ()),
        )
        if blank(response):
            return replace(self.not_applicable("the response is empty"), flags=(EMPTY,))
        if states_nothing(response):
            return Score(
                metric=str(self),
                status=Status.JUDGED,
                value=1.0,
                verdict=Verdict.PASS,
                pass_mark=self.pass_mark,
                counts=Counts(asked=1, judged=1),
                flags=(ABSTENTION,),
                rationale="The response declines to answer; an admission needs no support.",
            )
        # Rules as for the claims of groundedness, so that both apply to the same rows.
        if all(piece.dropped for piece in split_claims(response)):
            return self.not_applicable("the response makes no claim")
        if all(blank(text) for text in contexts):
            reason = "Nothing was retrieved that could support the response."
            return failed_by_rule(str(self), reason, "nothing_found", self.pass_mark)
        first, second = (
            Request(name, {"response": response, "contexts": contexts}) for name in self.rubrics
        )
        return (
            yield from judge_twice(
                str(self), first, second, self.pass_mark, start=0, end=len(response)
            )
        )
