"""Citation support: whether the response's citation marks point at chunks that support the
sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Part, Role, Sample, Score, Stage, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.citations import MARK, cited_chunks
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.graph.row_graph import Edges, GraphMetric, judge_graph
from ragassay.metrics.parameters import check_share
from ragassay.metrics.reduction import all_lost, counts_of, judged, lost, partial
from ragassay.scoring import decide, supported_share


@dataclass(frozen=True, slots=True)
class CitationSupport(GraphMetric):
    """Share of citation marks that point at a chunk that supports their sentence. A mark is [2],
    [1, 3], [1-3], [1][3] or 【2】 in a sentence or directly behind it; 1 is the first chunk.
    pass_mark: the share that must hold.
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="citation_support",
        title="Share of citation marks that point at a chunk supporting the sentence.",
        formula=(
            "marks whose chunk is among those that support the sentence / marks; a number counts"
            " once a sentence. extra: recall = sentences that a chunk they cite supports / all"
            " judged sentences that make a claim, those without a mark included. The row passes at"
            " the pass mark."
        ),
        needs=("response", "contexts"),
        level="claim",
        rubrics=("groundedness", "answer_relevance", "claim_sources"),
        source="citation precision and recall of ALCE (Gao et al. 2023, arXiv:2305.14627)",
        edges=(
            "the response carries no mark: not applicable",
            "a mark to a chunk that does not exist, or that holds no text: not supported",
            "a mark in a sentence that makes no claim, such as a list of sources: not counted",
            "an admission of not knowing needs no citation: left out",
            "the sentence's verdict or its sources are lost: so are its marks, flag partial",
            "a number of four digits, or a range wider than 30: a year or an index, not a mark",
        ),
        calls="0 beside groundedness; 1 more where the judge named no sources",
        mark_of="of marks",
        role=Role(
            stage=Stage.SUPPORT,
            place=250,
            cause="ungrounded",
        ),
        elsewhere=(
            Elsewhere(
                "ALCE",
                "citation precision, citation recall",
                "there a sentence is checked against its cited "
                "chunks alone, and a mark also fails when the others suffice without it",
            ),
        ),
    )
    pass_mark: float = 0.9

    def __post_init__(self) -> None:
        check_share("citation_support", "pass_mark", self.pass_mark)

    @property
    def edges(self) -> Edges:
        """Claim x contexts with sources; always of sentences, which is where marks stand."""
        return Edges(claim_contexts=True, sources=True)

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        response = sample.response or ""
        if response.strip() and not MARK.search(response):
            return self.not_applicable("the response carries no citation mark")
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        claims = [part for part in graph.claims if part.status is not Status.NOT_APPLICABLE]
        cited = [cited_chunks(response[claim.start or 0 : claim.end or 0]) for claim in claims]
        chunks = len(sample.contexts or ())
        parts = tuple(
            _mark(claim, n, chunks)
            for claim, marks in zip(claims, cited, strict=True)
            for n in marks
        )
        if not parts:
            return self.not_applicable("no sentence that makes a claim carries a citation mark")
        good, unknown = [bool(part.passed) for part in judged(parts)], len(lost(parts))
        if not good:
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        recall = supported_share(
            [
                any(n - 1 in (claim.sources or ()) for n in marks)
                for claim, marks in zip(claims, cited, strict=True)
                if claim.passed is not None
            ]
        )
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=supported_share(good),
            pass_mark=self.pass_mark,
            verdict=decide(sum(good), unknown, len(good) + unknown, self.pass_mark),
            counts=counts_of(parts),
            parts=parts,
            flags=partial(parts),
            extra={} if recall is None else {"recall": recall},
            rationale=(
                f"{sum(good)} of {len(good)} judged citation marks point at a chunk that supports"
                " the sentence"
            ),
        )


def _mark(claim: Part, number: int, chunks: int) -> Part:
    there = 1 <= number <= chunks
    good = None if claim.passed is None else number - 1 in (claim.sources or ())
    says = (
        f"{'supports' if good else 'does not support'} the sentence" if there else "does not exist"
    )
    return Part(
        kind="citation",
        status=claim.status,
        start=claim.start,
        end=claim.end,
        context=number - 1 if there else None,
        value=None if good is None else float(good),
        passed=good,
        rationale="" if good is None else f"Chunk {number} {says}.",
        evidence=tuple(e for e in claim.evidence if e.context == number - 1),
        reason=claim.reason,
        key=claim.key,
        sources=claim.sources,
    )
