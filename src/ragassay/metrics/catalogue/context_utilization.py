"""Context utilization: how much of the evidence in the contexts the response uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Part, Role, Sample, Score, Showing, Shown, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.declaration import Area, Declaration, Elsewhere, PartWords
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, GraphMetric, judge_graph
from ragassay.metrics.graph.statements import NEEDS_TRUTH
from ragassay.metrics.graph.support import outcome
from ragassay.metrics.parameters import check_choice
from ragassay.metrics.reduction import all_lost, counts_of, judged, lost, partial
from ragassay.scoring import utilization


@dataclass(frozen=True, slots=True)
class ContextUtilization(GraphMetric):
    """Share of the needed statements in the contexts that the response states. It has no verdict:
    an answer may be right and leave some out. claims: "sentences" (a splitter, no call) or "llm"
    (the judge's model lists the statements).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="context_utilization",
        title="Share of the needed statements in the contexts that the response uses.",
        formula=(
            "statements of the reference that the contexts support and the response states /"
            " statements that the contexts support."
        ),
        needs=("response", "contexts", NEEDS_TRUTH),
        area=Area.RETRIEVAL,
        rubrics=("groundedness", "entailment", "claims"),
        source="RAGChecker (Ru et al. 2024, arXiv:2408.08067)",
        edge_cases=(
            (
                "the contexts support no statement, or nothing was retrieved: not applicable, there"
                " is nothing to use"
            ),
            (
                "the response is empty or declines to answer: it uses none, flag empty_response or"
                " abstention"
            ),
            "the reference is empty, makes no statement, or declines to answer: not applicable",
            "a verdict is lost: the value is over the statements that are certain, flag partial",
        ),
        calls="2; 0 beside context_recall and answer_correctness_claims; claims=llm: 1 more",
        part_words=(
            PartWords("statement", "used", "not used", "Statements that the contexts support"),
        ),
        role=Role(
            needs_answer=True,
            shows=(Showing(Shown.EVIDENCE_USED),),
        ),
        elsewhere=(
            Elsewhere(
                "RAGChecker",
                "context_utilization",
                "there 0 when the contexts support no statement",
            ),
            Elsewhere(
                "Ragas",
                "ContextUtilization",
                "another quantity: context_precision(against=response)",
            ),
        ),
    )
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_choice("context_utilization", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Statement x contexts and statement x response."""
        return Edges(self.claims, statement_contexts=True, statement_response=True)

    def flow(self, sample: Sample) -> MetricFlow:
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        parts = tuple(
            _used(in_contexts, in_response)
            for in_contexts, in_response in zip(graph.statements, graph.response, strict=True)
        )
        judged_parts = judged(parts)
        if not judged_parts and lost(parts):
            return all_lost(str(self), parts, pass_mark=None, verdict=False)
        if not judged_parts:
            return Score(
                metric=str(self),
                status=Status.NOT_APPLICABLE,
                parts=parts,
                flags=graph.flags,
                reason=(
                    "the contexts support no statement of the reference, so there is nothing to use"
                ),
            )
        used = [bool(part.passed) for part in judged_parts]
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            counts=counts_of(parts),
            parts=parts,
            # Those that the contexts do not support are not applicable, and gone from here.
            value=utilization([True] * len(used), used),
            flags=(*graph.flags, *partial(parts)),
            rationale=f"the response states {sum(used)} of {len(used)} statements in the contexts",
        )


def _used(in_contexts: Part, in_response: Part) -> Part:
    if in_contexts.passed is False:
        return Part(
            in_contexts.kind,
            Status.NOT_APPLICABLE,
            text=in_contexts.text,
            rationale=in_contexts.rationale,
            key=in_contexts.key,
            reason="it is not in the contexts",
        )
    # Lost against the contexts, a statement may have been there or not: it does not count.
    return outcome(
        (in_contexts, in_response),
        None if in_contexts.passed is None else in_response.passed,
        good=True,
    )
