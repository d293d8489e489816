"""Answer relevance: how much of the question the response answers."""

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
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.reduction import (
    ABSTENTION,
    EMPTY,
    GRADE_MARK,
    all_lost,
    blank,
    counts_of,
    part_of,
)


@dataclass(frozen=True, slots=True)
class AnswerRelevance(MetricBase):
    """Graded relevance of the response. scale: 3 for ratings 0-3, 5 for ratings 1-5. Relevance is
    not correctness.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="answer_relevance",
        title="How much of the question the response answers.",
        formula="rating / 3, ratings 0-3; with scale=5 (rating - 1) / 4, ratings 1-5. "
        "A response that declines, and an empty one, is 0.",
        needs=("question", "response"),
        rubrics=("answer_relevance", "answer_relevance_5"),
        source="RAG Triad (TruLens)",
        edge_cases=(
            "the response is empty: 0, not asked, flag empty_response",
            "the response declines: 0, flag abstention",
            "the question is empty: not applicable",
            "the judge gives no verdict: no value, undecided",
        ),
        calls="1",
        default=50,
        role=Role(
            stage=Stage.ANSWER,
            place=340,
            cause="answer_irrelevant",
            needs_answer=True,
            shows=(
                Showing(Shown.ANSWER_RELEVANT),
                Showing(Shown.DECLINED),
            ),
        ),
        elsewhere=(
            Elsewhere(
                "TruLens",
                "relevance, relevance_with_cot_reasons",
                "the same 0-3 scale, and like its optimised wording slow to call an answer"
                " irrelevant; by choice a response that declines is 0 here, rightly or not, and"
                " examples are shown",
            ),
            Elsewhere("MLflow", "RelevanceToQuery", "there yes or no"),
            Elsewhere("Databricks Agent Evaluation", "relevance_to_query", "there yes or no"),
            Elsewhere(
                "DeepEval",
                "AnswerRelevancyMetric",
                "there relevant statements / statements of the response, and "
                "an undecided statement counts as relevant",
            ),
            Elsewhere(
                "Ragas",
                "ResponseRelevancy / AnswerRelevancy",
                "another quantity: see answer_relevance_reverse",
            ),
        ),
    )
    scale: int = 3
    pass_mark: float = GRADE_MARK

    def __post_init__(self) -> None:
        check_choice("answer_relevance", "scale", self.scale, (3, 5))
        check_share("answer_relevance", "pass_mark", self.pass_mark)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubric that this scale asks."""
        return ("answer_relevance" if self.scale == 3 else "answer_relevance_5",)

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if blank(sample.question):
            return self.not_applicable("the question is empty")
        if blank(sample.response):
            return Score(
                metric=str(self),
                status=Status.JUDGED,
                value=0.0,
                verdict=Verdict.FAIL,
                pass_mark=self.pass_mark,
                counts=Counts(asked=1, judged=1),
                flags=(EMPTY,),
                rationale="The response is empty.",
            )
        response = sample.response or ""
        (judgment,) = yield (
            Request(self.rubrics[0], {"question": sample.question or "", "response": response}),
        )
        part = part_of(judgment, "statement", mark=self.pass_mark, start=0, end=len(response))
        if part.value is None:
            return all_lost(str(self), (part,), pass_mark=self.pass_mark)
        # What declines answers nothing, whatever its rating.
        declined = "declined" in part.flags
        value = 0.0 if declined else part.value
        passed = bool(part.passed) and not declined
        if declined:
            part = replace(part, value=value, passed=passed)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=value,
            verdict=Verdict.PASS if passed else Verdict.FAIL,
            pass_mark=self.pass_mark,
            counts=counts_of((part,)),
            parts=(part,),
            rationale=part.rationale,
            flags=(ABSTENTION,) if declined else (),
        )
