"""Citation support: whether the response's citation marks point at chunks that support the
sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ragassay.core import Part, Role, Sample, Score, Stage, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.citations import MARK, cited_chunks
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.graph.row_graph import Edges, Graph, GraphMetric, judge_graph
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
        edge_cases=(
            "the response carries no mark: not applicable",
            "a mark to a chunk that does not exist, or that holds no text: not supported",
            "a mark in a sentence that makes no claim, such as a list of sources: not counted",
            "an admission of not knowing needs no citation: left out",
            "the sentence's verdict or its sources are lost: so are its marks, flag partial",
            "a number of four digits, or a range wider than 30: a year or an index, not a mark",
        ),
        calls="0 beside groundedness; 1 more where the judge named no sources",
        default=67,
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
        # All claims are judged, cited or not: the recall is over those without a mark as well, and
        # groundedness asks the same.
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        marks = _marks_of(graph, response)
        chunks = len(sample.contexts or ())
        parts = tuple(_mark_part(mark, chunks) for mark in marks)
        if not parts:
            return self.not_applicable("no sentence that makes a claim carries a citation mark")
        good = [bool(part.passed) for part in judged(parts)]
        if not good:
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        unknown = len(lost(parts))
        recall = supported_share(_claims_well_cited(graph, marks))
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


class _Mark(NamedTuple):
    """A citation mark: the claim of its sentence, and the number of the chunk, from 1."""

    claim: Part
    number: int

    @property
    def supports(self) -> bool | None:
        """Whether the chunk supports the claim; None where the claim's verdict is lost."""
        if self.claim.passed is None:
            return None
        return self.number - 1 in (self.claim.sources or ())


def _marks_of(graph: Graph, response: str) -> list[_Mark]:
    """The marks of the sentences that make a claim, in order."""
    marks = []
    for claim in _claims(graph):
        sentence = response[claim.start or 0 : claim.end or 0]
        marks += [_Mark(claim, number) for number in cited_chunks(sentence)]
    return marks


def _claims(graph: Graph) -> list[Part]:
    return [part for part in graph.claims if part.status is not Status.NOT_APPLICABLE]


def _claims_well_cited(graph: Graph, marks: Sequence[_Mark]) -> list[bool]:
    """Of each judged claim: does one of its marks point at a chunk that supports it?"""
    # By place: two claims may read the same.
    supported = {(mark.claim.start, mark.claim.end) for mark in marks if mark.supports}
    claims = judged(_claims(graph))
    return [(claim.start, claim.end) in supported for claim in claims]


def _mark_part(mark: _Mark, chunks: int) -> Part:
    claim = mark.claim
    supports = mark.supports
    exists = 1 <= mark.number <= chunks
    rationale = ""
    if supports is not None:
        if not exists:
            finding = "does not exist"
        elif supports:
            finding = "supports the sentence"
        else:
            finding = "does not support the sentence"
        rationale = f"Chunk {mark.number} {finding}."
    return Part(
        kind="citation",
        status=claim.status,
        start=claim.start,
        end=claim.end,
        context=mark.number - 1 if exists else None,
        value=None if supports is None else float(supports),
        passed=supports,
        rationale=rationale,
        evidence=tuple(e for e in claim.evidence if e.context == mark.number - 1),
        reason=claim.reason,
        key=claim.key,
        sources=claim.sources,
    )
