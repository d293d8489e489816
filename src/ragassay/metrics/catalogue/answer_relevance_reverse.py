"""Reverse answer relevance: how near the questions that the response would answer are to the one
asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Counts, Part, Request, Role, Sample, Score, Stage, Status
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.parameters import check_count, refuse
from ragassay.metrics.rating import failed_by_rule
from ragassay.metrics.reduction import (
    ABSTENTION,
    EMPTY,
    all_lost,
    blank,
    counts_of,
    judged,
    part_of,
    partial,
)
from ragassay.scoring import mean

_MOST = 20


@dataclass(frozen=True, slots=True)
class AnswerRelevanceReverse(MetricBase):
    """Similarity of the question to those that the response would answer. n: how many of these are
    written.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="answer_relevance_reverse",
        title="How near the question is to those that the response would answer.",
        formula=(
            "mean over n written questions of the cosine to the question, negative ones as 0; 0"
            " when the response is noncommittal. No verdict: a cosine has no mark that holds for"
            " every encoder."
        ),
        needs=("question", "response"),
        rubrics=("questions", "similarity"),
        source="Ragas (Es et al. 2024, arXiv:2309.15217)",
        edge_cases=(
            "the response is empty: 0, not asked, flag empty_response",
            "the response is noncommittal: 0, flag abstention",
            "the question is empty: not applicable",
            (
                "fewer questions than asked for: the mean of those there are, flagged partial; none"
                " at all: unparsed"
            ),
        ),
        calls="1; the cosines come from the encoder in the package",
        role=Role(
            stage=Stage.ANSWER,
            place=350,
            cause="answer_irrelevant",
            needs_answer=True,
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "ResponseRelevancy / AnswerRelevancy",
                "there 0 only when every written question comes with a noncommittal mark; the"
                " cosine may be negative; no question at all is 0 or NaN",
            ),
        ),
    )
    n: int = 3

    def __post_init__(self) -> None:
        check_count("answer_relevance_reverse", "n", self.n)
        if self.n > _MOST:
            raise refuse(
                "answer_relevance_reverse", "n", self.n, f"a whole number from 1 to {_MOST}"
            )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        question, response = sample.question or "", sample.response or ""
        if blank(question):
            return self.not_applicable("the question is empty")
        if blank(response):
            return failed_by_rule(str(self), "The response is empty.", EMPTY, None)
        (questions,) = yield (Request("questions", {"response": response, "count": str(self.n)}),)
        if not questions.judged:
            status = (
                Status.FAILED if questions.status is Status.NOT_APPLICABLE else questions.status
            )
            return Score(
                metric=str(self),
                status=status,
                reason=questions.reason or "no questions arrived",
                counts=Counts.of([status]),
            )
        if "noncommittal" in questions.flags:
            return failed_by_rule(str(self), "The response is noncommittal.", ABSTENTION, None)
        texts = [text.strip() for text in questions.texts if not blank(text)][: self.n]
        answers = yield tuple(
            Request("similarity", {"text": text, "other": question}) for text in texts
        )
        parts = [
            part_of(answer, "question", text=text)
            for text, answer in zip(texts, answers, strict=True)
        ]
        too_few = f"the judge wrote {len(texts)} of {self.n} questions"
        parts += [Part("question", Status.UNPARSED, reason=too_few)] * (self.n - len(texts))
        judged_parts = judged(parts)
        if not judged_parts:
            return all_lost(str(self), parts, pass_mark=None, verdict=False)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=mean([part.value or 0.0 for part in judged_parts]),
            counts=counts_of(parts),
            parts=tuple(parts),
            flags=partial(parts),
            rationale=(
                f"mean similarity of {len(judged_parts)} questions that the response would answer"
            ),
        )
