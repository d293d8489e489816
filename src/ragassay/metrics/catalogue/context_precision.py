"""Context precision: whether the relevant chunks stand above the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import (
    Evidence,
    Part,
    Role,
    Sample,
    Score,
    Showing,
    Shown,
    Stage,
    Status,
    Verdict,
)
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.catalogue.context_relevance import chunk_parts, chunk_requests
from ragassay.metrics.declaration import Area, Declaration, Elsewhere, PartWords
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, GraphMetric, judge_graph
from ragassay.metrics.graph.statements import NEEDS_TRUTH
from ragassay.metrics.graph.support import Flow
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.reduction import (
    GRADE_MARK,
    all_lost,
    blank,
    counts_of,
    judged,
    lost,
    part_by_rule,
)
from ragassay.scoring import precision_of_ranking

_AGAINST = ("reference", "question", "response")


@dataclass(frozen=True, slots=True)
class ContextPrecision(GraphMetric):
    """Rank-aware precision of the chunks. against: what makes a chunk relevant: "reference" (it
    supports a statement of the reference), "question" (its context_relevance is 2 or higher; no
    reference needed) or "response" (it supports a claim of the response). pass_mark: the value
    from which a row passes; 0.5 means, of a single relevant chunk, rank 1 or 2. claims:
    "sentences" (a splitter, no call), "filtered" (the judge's model leaves out those that state
    nothing) or "llm" (it lists claims and statements).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="context_precision",
        title="Whether the relevant chunks stand above the others.",
        formula=(
            "average precision: mean over the relevant chunks of precision at their rank; 0 when"
            " none is relevant. A chunk is relevant when it supports a statement of the reference;"
            " with against=question when its context_relevance is 2 or higher, with"
            " against=response when it supports a claim of the response. The row passes at the pass"
            " mark."
        ),
        needs=("contexts", NEEDS_TRUTH),
        area=Area.RETRIEVAL,
        level="chunk",
        rubrics=(
            "groundedness",
            "claim_sources",
            "answer_relevance",
            "context_relevance",
            "claims",
        ),
        source="Ragas (Es et al. 2024, arXiv:2309.15217)",
        edge_cases=(
            "nothing was retrieved: not applicable, and the row fails, flag nothing_retrieved",
            "a chunk without text is not relevant; chunks with the same text are relevant together",
            "the reference is empty, makes no statement, or declines to answer: not applicable",
            "a verdict is lost: no value, unless every chunk's relevance is certain without it",
            "a supported statement whose sources stay unknown counts as lost",
        ),
        calls=(
            "0 beside context_recall; against=question: 0 beside context_relevance;"
            " against=response: 0 beside groundedness; 1 more where the judge named no sources"
        ),
        part_words=(PartWords("chunk", "relevant", "not relevant"),),
        role=Role(
            stage=Stage.RETRIEVAL,
            place=160,
            cause="context_diluted",
            cause_at_zero="retrieval_irrelevant",
            needs_answer=True,
            shows=(Showing(Shown.RELEVANT_CHUNKS),),
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "ContextPrecision",
                "the same formula; there each chunk is asked about by itself, whether "
                "it was useful for arriving at the reference, one call a chunk",
            ),
            Elsewhere(
                "Ragas",
                "ContextUtilization",
                "that is against=response, and not our context_utilization",
            ),
            Elsewhere(
                "DeepEval",
                "ContextualPrecisionMetric",
                "the same formula over the verdicts that were returned",
            ),
            Elsewhere(
                "RAGChecker",
                "context_precision",
                "there the share of chunks that support a statement, whatever "
                "their rank: see chunk_relevance for such a share",
            ),
            Elsewhere(
                "Ragas",
                "IDBasedContextPrecision",
                "there a share of document ids: see document_precision",
            ),
        ),
    )
    against: str = "reference"
    pass_mark: float = 0.5
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_choice("context_precision", "against", self.against, _AGAINST)
        check_share("context_precision", "pass_mark", self.pass_mark)
        check_choice("context_precision", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Statement x contexts, or claim x contexts, with sources."""
        if self.against == "response":
            return Edges(self.claims, claim_contexts=True, sources=True)
        return Edges(self.claims, statement_contexts=self.against == "reference", sources=True)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that these parameters ask."""
        return ("context_relevance",) if self.against == "question" else self.edges.rubrics

    @property
    def needs(self) -> tuple[str, ...]:
        """The fields that these parameters need."""
        return ("question", "contexts") if self.against == "question" else self.edges.needs

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if not sample.contexts:
            return Score(
                metric=str(self),
                status=Status.NOT_APPLICABLE,
                reason="nothing was retrieved",
                verdict=Verdict.FAIL,
                flags=("nothing_retrieved",),
                pass_mark=self.pass_mark,
            )
        parts = yield from self._chunks(sample)
        if isinstance(parts, Score):
            return parts
        # A lost chunk leaves open how many relevant ones stand above the others.
        if any(part.value is None for part in parts):
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        relevant = [bool(part.passed) for part in parts]
        value = precision_of_ranking(relevant)
        passes = value is not None and value >= self.pass_mark
        ranks = [str(rank) for rank, is_relevant in enumerate(relevant, 1) if is_relevant]
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=value,
            pass_mark=self.pass_mark,
            verdict=Verdict.PASS if passes else Verdict.FAIL,
            counts=counts_of(parts),
            parts=parts,
            rationale="relevant ranks: " + (", ".join(ranks) or "none"),
        )

    def _chunks(self, sample: Sample) -> Flow[tuple[Part, ...] | Score]:
        if self.against != "question":
            graph = yield from judge_graph(self, sample)
            if isinstance(graph, Score):
                return graph
            return _by_sources(
                sample, graph.claims if self.against == "response" else graph.statements
            )
        if blank(sample.question):
            return self.not_applicable("the question is empty")
        return chunk_parts(sample, (yield chunk_requests(sample, "context_relevance")), GRADE_MARK)


def _by_sources(sample: Sample, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The chunks: relevant when one of the parts rests on it, lost when a lost one might."""
    supported = judged(parts)
    unknown = lost(parts)
    of_claims = bool(supported) and supported[0].kind == "claim"
    kind = "claims of the response" if of_claims else "statements"
    chunks = []
    for i, chunk in enumerate(sample.contexts or ()):
        supported_parts = [part for part in supported if i in (part.sources or ())]
        if supported_parts:
            chunks.append(_relevant_chunk(i, supported_parts, kind))
        elif unknown and not blank(chunk.text):
            first = unknown[0]
            chunks.append(
                Part("chunk", first.status, context=i, reason=first.reason, key=first.key)
            )
        elif chunk.text.strip():
            chunks.append(
                part_by_rule("chunk", context=i, rationale=f"It supports none of the {kind}.")
            )
        else:
            chunks.append(part_by_rule("chunk", context=i, rationale="The chunk holds no text."))
    return tuple(chunks)


def _relevant_chunk(context: int, parts: Sequence[Part], kind: str) -> Part:
    """The chunk that supports these parts, with all that was quoted from it."""
    evidence: dict[Evidence, None] = {}  # each quotation once, in order
    for part in parts:
        quoted = [quote for quote in part.evidence if quote.context == context]
        evidence.update(dict.fromkeys(quoted))
    return Part(
        kind="chunk",
        status=Status.JUDGED,
        context=context,
        value=1.0,
        passed=True,
        key=parts[0].key,
        rationale=f"It supports {len(parts)} of the {kind}.",
        evidence=tuple(evidence),
    )
