"""Answer correctness by wording: how near the response is to the reference in words and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Request, Role, Sample, Score, Stage, Status
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.lexical import longer_than_compared
from ragassay.metrics.parameters import check_share
from ragassay.metrics.rating import failed_by_rule
from ragassay.metrics.reduction import EMPTY, all_lost, blank, counts_of, part_of
from ragassay.scoring import token_f1


@dataclass(frozen=True, slots=True)
class AnswerCorrectnessLexical(MetricBase):
    """Weighted mean of token F1 and cosine. f1_weight: the weight of F1; 1 asks no encoder."""

    declaration: ClassVar[Declaration] = Declaration(
        name="answer_correctness_lexical",
        title="How near response and reference are in words and in meaning.",
        formula=(
            "w * token F1 + (1 - w) * cosine, w = f1_weight; extra: f1, similarity. No verdict. It"
            " does not check facts: answer_correctness_claims does."
        ),
        needs=("response", "reference"),
        rubrics=("similarity",),
        source="this combination: RagAssay",
        edge_cases=(
            "the response is empty: 0, flag empty_response",
            "the reference holds no word: not applicable",
            "the cosine is lost: no value",
        ),
        calls="none; the encoder in the package answers",
        role=Role(
            stage=Stage.ANSWER,
            place=330,
            cause="incorrect",
            needs_answer=True,
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "AnswerCorrectness",
                "another quantity of that name: see answer_correctness_claims",
            ),
        ),
    )
    f1_weight: float = 0.5

    def __post_init__(self) -> None:
        check_share("answer_correctness_lexical", "f1_weight", self.f1_weight)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubric that this weight asks, if any."""
        return ("similarity",) if self.f1_weight < 1 else ()

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        response, reference = sample.response or "", sample.reference or ""
        if too_long := longer_than_compared(response, reference):
            return Score(metric=str(self), status=Status.FAILED, reason=too_long)
        f1 = token_f1(response, reference)
        if f1 is None:
            return self.not_applicable("the reference holds no word")
        if blank(response):
            return failed_by_rule(str(self), "The response is empty.", EMPTY, None)
        if self.f1_weight == 1:
            return Score(metric=str(self), status=Status.JUDGED, value=f1, extra={"f1": f1})
        (judgment,) = yield (Request("similarity", {"text": response, "other": reference}),)
        part = part_of(judgment, "statement", start=0, end=len(response))
        if part.value is None:
            return all_lost(str(self), (part,), pass_mark=None, verdict=False)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=self.f1_weight * f1 + (1 - self.f1_weight) * part.value,
            counts=counts_of((part,)),
            extra={"f1": f1, "similarity": part.value},
        )
