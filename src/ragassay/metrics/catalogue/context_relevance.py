"""Context relevance: how relevant the retrieved chunks are to the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import (
    Judgment,
    Part,
    Request,
    Role,
    Sample,
    Score,
    Showing,
    Shown,
    Stage,
    Status,
)
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Area, Declaration, Elsewhere, PartWords
from ragassay.metrics.parameters import check_share
from ragassay.metrics.reduction import (
    GRADE_MARK,
    all_lost,
    at_least_one,
    blank,
    counts_of,
    judged,
    part_by_rule,
    part_of,
    partial,
)
from ragassay.scoring import mean


@dataclass(frozen=True, slots=True)
class ContextRelevance(MetricBase):
    """Mean graded relevance of the chunks. pass_mark: what the best chunk must reach (2/3 = a
    rating of 2).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="context_relevance",
        title="How relevant each retrieved chunk is to the question, on average.",
        formula=(
            "mean over chunks of rating / 3, ratings 0-3; extra: max, min. "
            "The row passes when its best chunk reaches the pass mark."
        ),
        needs=("question", "contexts"),
        area=Area.RETRIEVAL,
        level="chunk",
        rubrics=("context_relevance",),
        source="RAG Triad (TruLens); grades of TREC Deep Learning",
        edge_cases=(
            "the question is empty, or nothing was retrieved: not applicable",
            "a chunk without text: 0, not asked",
            (
                "a chunk's verdict is lost: the mean is over the others, flag partial; the verdict"
                " stands when one of these passes, else it is undecided"
            ),
        ),
        calls="1 for up to 8 chunks",
        default=10,
        mark_of="in the best chunk",
        part_words=(PartWords("chunk", "relevant", "not relevant"),),
        role=Role(
            stage=Stage.RETRIEVAL,
            place=120,
            cause="retrieval_irrelevant",
            needs_answer=True,
            yields_to=("document_recall",),
            shows=(Showing(Shown.RELEVANT_CHUNKS, place=3),),
        ),
        elsewhere=(
            Elsewhere(
                "TruLens",
                "context_relevance, context_relevance_with_cot_reasons",
                "there one call a chunk; the same 0-3 scale, also for phrases and statements, where"
                " a chunk on the same topic is 3; of questions this rubric is stricter by choice:"
                " the subject without the answer is 1",
            ),
            Elsewhere(
                "Ragas", "ContextRelevance (NVIDIA)", "another quantity: see context_relevance_dual"
            ),
            Elsewhere(
                "DeepEval",
                "ContextualRelevancyMetric",
                "another quantity: see context_relevance_ratio",
            ),
        ),
    )
    pass_mark: float = GRADE_MARK

    def __post_init__(self) -> None:
        check_share("context_relevance", "pass_mark", self.pass_mark)

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if blank(sample.question):
            return self.not_applicable("the question is empty")
        if not sample.contexts:
            return self.not_applicable("nothing was retrieved")
        parts = chunk_parts(
            sample, (yield chunk_requests(sample, "context_relevance")), self.pass_mark
        )
        judged_parts = judged(parts)
        if not judged_parts:
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        values = [part.value or 0.0 for part in judged_parts]
        good, unknown = (
            sum(bool(part.passed) for part in judged_parts),
            len(parts) - len(judged_parts),
        )
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=mean(values),
            pass_mark=self.pass_mark,
            verdict=at_least_one(good, unknown),
            counts=counts_of(parts),
            parts=parts,
            flags=partial(parts),
            extra={"max": max(values), "min": min(values)},
            rationale=f"the best of {len(judged_parts)} judged chunks reaches {max(values):.2f}",
        )


def chunk_requests(sample: Sample, rubric: str) -> tuple[Request, ...]:
    """One Request per chunk that holds text."""
    return tuple(
        Request(rubric, {"question": sample.question or "", "context": chunk.text})
        for chunk in sample.contexts or ()
        if not blank(chunk.text)
    )


def chunk_parts(sample: Sample, judgments: tuple[Judgment, ...], mark: float) -> tuple[Part, ...]:
    """The answers to `chunk_requests`, one part per chunk; a chunk without text is not relevant, by
    rule.
    """
    answers, parts = iter(judgments), []
    for i, chunk in enumerate(sample.contexts or ()):
        if blank(chunk.text):
            parts.append(part_by_rule("chunk", context=i, rationale="The chunk holds no text."))
        else:
            parts.append(part_of(next(answers), "chunk", mark=mark, context=i))
    return tuple(parts)
