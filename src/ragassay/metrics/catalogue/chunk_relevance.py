"""Chunk relevance: the share of the retrieved chunks that are relevant to the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Role, Sample, Score, Showing, Shown, Stage, Status, Verdict
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.catalogue.context_relevance import chunk_parts, chunk_requests
from ragassay.metrics.declaration import Area, Declaration, Elsewhere, PartWords
from ragassay.metrics.parameters import check_choice
from ragassay.metrics.reduction import (
    GRADE_MARK,
    all_lost,
    at_least_one,
    blank,
    counts_of,
    judged,
    lost,
    partial,
)
from ragassay.scoring import supported_share


@dataclass(frozen=True, slots=True)
class ChunkRelevance(MetricBase):
    """Share of relevant chunks. rubric: "context_relevance" reads yes/no off the grades (no extra
    call), yes from 2 on, the cut of TREC Deep Learning; "chunk_relevance" asks the yes/no rubric.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="chunk_relevance",
        title="Which retrieved chunks are relevant to the question, yes or no.",
        formula=(
            "relevant chunks / retrieved chunks. The row passes when at least one chunk is"
            " relevant; with no chunk there is no value and the row fails."
        ),
        needs=("question", "contexts"),
        area=Area.RETRIEVAL,
        level="chunk",
        rubrics=("context_relevance", "chunk_relevance"),
        source="MLflow / Databricks Agent Evaluation",
        edge_cases=(
            "nothing was retrieved: not applicable, and the row fails, flag nothing_retrieved",
            "the question is empty: not applicable",
            "a chunk without text: not relevant, not asked",
            (
                "a chunk's verdict is lost: the share is over the others, flag partial; the row"
                " passes when one of these is relevant, else it is undecided"
            ),
        ),
        calls="0 beside context_relevance; rubric=chunk_relevance: 1 for up to 8 chunks",
        default=20,
        part_words=(PartWords("chunk", "relevant", "not relevant"),),
        role=Role(
            stage=Stage.RETRIEVAL,
            place=110,
            cause="retrieval_irrelevant",
            needs_answer=True,
            yields_to=("document_recall",),
            shows=(Showing(Shown.RELEVANT_CHUNKS, place=2),),
        ),
        elsewhere=(
            Elsewhere("MLflow", "RetrievalRelevance"),
            Elsewhere(
                "Databricks Agent Evaluation",
                "chunk_relevance",
                "its chunk_relevance/precision is this share",
            ),
            Elsewhere("Phoenix", "Document Relevance", "there one label a document"),
            Elsewhere(
                "RAGChecker",
                "context_precision",
                "there a chunk is relevant when it supports a claim of the reference",
            ),
        ),
    )
    rubric: str = "context_relevance"

    def __post_init__(self) -> None:
        check_choice(
            "chunk_relevance", "rubric", self.rubric, ("context_relevance", "chunk_relevance")
        )

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubric that these parameters ask."""
        return (self.rubric,)

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if blank(sample.question):
            return self.not_applicable("the question is empty")
        if not sample.contexts:
            return Score(
                metric=str(self),
                status=Status.NOT_APPLICABLE,
                reason="nothing was retrieved",
                verdict=Verdict.FAIL,
                flags=("nothing_retrieved",),
            )
        parts = chunk_parts(sample, (yield chunk_requests(sample, self.rubric)), GRADE_MARK)
        relevant = [bool(part.passed) for part in judged(parts)]
        if not relevant:
            return all_lost(str(self), parts, pass_mark=None)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=supported_share(relevant),
            verdict=at_least_one(sum(relevant), len(lost(parts))),
            counts=counts_of(parts),
            parts=parts,
            flags=partial(parts),
            rationale=(
                f"{sum(relevant)} of {len(relevant)} judged chunks are relevant; one is enough to"
                " pass"
            ),
        )
