"""Completeness: how much of what the contexts hold on the question the response says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Request, Role, Sample, Stage
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.rating import failed_by_rule, score_of_rating
from ragassay.metrics.reduction import EMPTY, blank, part_of


@dataclass(frozen=True, slots=True)
class Completeness(MetricBase):
    """Graded share of the needed content of the contexts that the response says. No reference is
    needed.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="completeness",
        title="How much of what the contexts hold on the question the response says.",
        formula=(
            "rating / 3, ratings 0-3: 2 when what is asked for is said and a condition or detail is"
            " missing. The row passes at 2. The evidence quotes what is missing."
        ),
        needs=("question", "contexts", "response"),
        rubrics=("completeness",),
        source=(
            "comprehensiveness of the RAG Triad's feedback functions (TruLens), narrowed to what"
            " the question needs"
        ),
        edge_cases=(
            (
                "the contexts hold nothing that is needed: 1, flag nothing_needed, for nothing can"
                " be missing"
            ),
            "the question is empty, or nothing was retrieved: not applicable",
            "the response is empty: 0, not asked, flag empty_response",
        ),
        calls="1",
        role=Role(
            stage=Stage.ANSWER,
            place=360,
            cause="incomplete_answer",
            needs_answer=True,
        ),
        elsewhere=(
            Elsewhere(
                "TruLens",
                "comprehensiveness",
                "there of the key points of a source text, without a question",
            ),
        ),
    )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        response, contexts = (
            sample.response or "",
            tuple(chunk.text for chunk in sample.contexts or ()),
        )
        if blank(sample.question):
            return self.not_applicable("the question is empty")
        if all(blank(text) for text in contexts):
            return self.not_applicable("nothing was retrieved")
        if blank(response):
            return failed_by_rule(str(self), "The response is empty.", EMPTY)
        inputs: dict[str, str | tuple[str, ...]] = {
            "question": sample.question or "",
            "contexts": contexts,
            "response": response,
        }
        (judgment,) = yield (Request("completeness", inputs),)
        part = replace(part_of(judgment, "statement"), start=0, end=len(response))
        return score_of_rating(
            str(self), part, flags=tuple(flag for flag in part.flags if flag == "nothing_needed")
        )
