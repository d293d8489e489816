"""Abstention: whether the response declines to answer, and whether it should have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Request, Role, Sample, Score, Showing, Shown, Stage, Status, Verdict
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.reduction import ABSTENTION, EMPTY, all_lost, blank, counts_of, part_of


@dataclass(frozen=True, slots=True)
class Abstention(MetricBase):
    """1 when the response declines to answer. Read off the judgment of answer_relevance: no extra
    call.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="abstention",
        title="Whether the response declines to answer.",
        formula=(
            "1 when it declines, else 0. Where the row says whether it is answerable, it passes"
            " when an answerable question is answered and an unanswerable one declined; else there"
            " is no verdict."
        ),
        needs=("question", "response"),
        higher_is_better=None,
        rubrics=("answer_relevance",),
        source="RGB negative rejection (Chen et al. 2024, arXiv:2309.01431)",
        edge_cases=(
            "the question or the response is empty: not applicable",
            "the row does not say whether it is answerable: a value, and no verdict",
            (
                "the judge gives no verdict: no value; undecided where the row is known to be"
                " answerable or not"
            ),
        ),
        calls="1; 0 beside answer_relevance",
        default=60,
        role=Role(
            stage=Stage.ANSWER,
            place=370,
            cause="failed_abstention",
            shows=(Showing(Shown.DECLINED),),
        ),
        elsewhere=(
            Elsewhere(
                "RGB", "rejection rate", "there the share over the questions that have no answer"
            ),
            Elsewhere(
                "Ragas", "noncommittal", "there a switch inside ResponseRelevancy, not a metric"
            ),
            Elsewhere("TruLens", "Abstention", "there a step inside groundedness, claim by claim"),
            Elsewhere(
                "Phoenix", "refusal", "there yes or no, whatever the row says about an answer"
            ),
        ),
    )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if blank(sample.question):
            return self.not_applicable("the question is empty")
        if blank(sample.response):
            return replace(self.not_applicable("the response is empty"), flags=(EMPTY,))
        response = sample.response or ""
        (judgment,) = yield (
            Request("answer_relevance", {"question": sample.question or "", "response": response}),
        )
        part = part_of(judgment, "statement", start=0, end=len(response))
        answerable = sample.answerable
        if part.value is None:
            return all_lost(str(self), (part,), pass_mark=None, verdict=answerable is not None)
        declined = "declined" in part.flags
        right: bool | None = None
        verdict: Verdict | None = None
        if answerable is not None:
            right = declined != answerable
            verdict = Verdict.PASS if right else Verdict.FAIL
        # The part's rating is about relevance; what passes or fails here is the declining.
        part = replace(
            part,
            rating=None,
            value=float(declined),
            passed=right,
            probability=None,
            rationale="",
            evidence=(),
        )
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=float(declined),
            counts=counts_of((part,)),
            parts=(part,),
            verdict=verdict,
            rationale="The response declines to answer." if declined else "The response answers.",
            flags=(ABSTENTION,) if declined else (),
        )
