"""Self-knowledge: the share of the response's claims that are right without support of the
contexts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Role, Sample, Score, Showing, Shown, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.catalogue.hallucination import (
    UNSUPPORTED_EDGE_CASES,
    right_and_supported,
    unsupported_parts,
)
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, GraphMetric, judge_graph
from ragassay.metrics.graph.statements import NEEDS_TRUTH
from ragassay.metrics.parameters import check_choice
from ragassay.metrics.reduction import all_lost, counts_of, judged, partial
from ragassay.scoring import unsupported_shares


@dataclass(frozen=True, slots=True)
class SelfKnowledge(GraphMetric):
    """Share of claims that the model knew by itself. Neither end is better and there is no
    verdict: it is right, and nothing in the contexts says so. claims: "sentences" (a splitter,
    no call), "filtered" (the judge's model leaves out those that state nothing) or "llm" (it
    lists them).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="self_knowledge",
        title="Share of the response's claims that are right without the contexts.",
        formula=(
            "claims that the contexts do not support and the reference states / judged claims. "
            "faithfulness + hallucination + self_knowledge = 1 where no claim is an admission."
        ),
        needs=("response", "contexts", NEEDS_TRUTH),
        level="claim",
        higher_is_better=None,
        rubrics=("groundedness", "answer_relevance", "entailment", "claims", "trivial"),
        source="RAGChecker (Ru et al. 2024, arXiv:2408.08067)",
        edge_cases=UNSUPPORTED_EDGE_CASES,
        calls="2; 0 beside hallucination",
        role=Role(
            shows=(Showing(Shown.KNOWN_SHARE),),
        ),
        elsewhere=(
            Elsewhere(
                "RAGChecker", "self_knowledge", "there 0 when there are no claims or no chunks"
            ),
        ),
    )
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_choice("self_knowledge", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Claim x contexts and claim x truth."""
        return Edges(self.claims, claim_contexts=True, claim_truth=True)

    def flow(self, sample: Sample) -> MetricFlow:
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        right, supported = right_and_supported(graph)
        parts = unsupported_parts(graph, right, supported, when=True)
        judged_parts = judged(parts)
        right_alone = sum(bool(part.value) for part in judged_parts)
        if not judged_parts:
            return all_lost(str(self), parts, pass_mark=None, verdict=False)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=unsupported_shares(right, supported).self_knowledge,
            counts=counts_of(parts),
            parts=parts,
            flags=partial(parts),
            rationale=(
                f"{right_alone} of {len(judged_parts)} judged claims are right without the contexts"
            ),
        )
