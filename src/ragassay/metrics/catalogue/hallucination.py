"""Hallucination: the share of the response's claims that are in neither contexts nor reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Part, Role, Sample, Score, Showing, Shown, Stage, Status, Verdict
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, Graph, GraphMetric, judge_graph
from ragassay.metrics.graph.statements import NEEDS_TRUTH
from ragassay.metrics.graph.support import outcome
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.reduction import all_lost, at_most, counts_of, judged, partial
from ragassay.scoring import unsupported_shares

UNSUPPORTED_EDGE_CASES = (
    "the response is empty, or makes no claim: not applicable",
    (
        "an admission of not knowing is neither right nor made up: it is left out; a response that"
        " is nothing else is not applicable, flag abstention"
    ),
    "nothing was retrieved: no claim is in the contexts, and the reference alone decides",
    "the reference is empty, makes no statement, or declines to answer: not applicable",
    (
        "a verdict is lost: the value is over the claims both of whose verdicts are there, flag"
        " partial; the row passes or fails only where the lost ones could not change it"
    ),
)


@dataclass(frozen=True, slots=True)
class Hallucination(GraphMetric):
    """Share of made-up claims; lower is better. against: "both" (in neither the contexts nor
    the reference) or "contexts" (not in the contexts; needs no reference). pass_mark: the
    largest share that passes. claims: "sentences" (a splitter, no call), "filtered" (the
    judge's model leaves out those that state nothing) or "llm" (it lists them).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="hallucination",
        title="Share of the response's claims that are in neither contexts nor reference.",
        formula=(
            "claims that neither the contexts support nor the reference states / judged claims;"
            " with against=contexts claims that the contexts do not support / judged claims. The"
            " row passes when the value is at most the pass mark. faithfulness + hallucination +"
            " self_knowledge = 1 where no claim is an admission."
        ),
        needs=("response", "contexts", NEEDS_TRUTH),
        level="claim",
        higher_is_better=False,
        rubrics=("groundedness", "answer_relevance", "entailment", "claims", "trivial"),
        source="RAGChecker (Ru et al. 2024, arXiv:2408.08067)",
        edge_cases=UNSUPPORTED_EDGE_CASES,
        calls=(
            "2; 0 beside groundedness and answer_correctness_claims; claims=filtered or llm: 1 more"
        ),
        mark_of="of claims",
        role=Role(
            stage=Stage.SUPPORT,
            place=230,
            cause="ungrounded",
            shows=(Showing(Shown.INVENTED_SHARE),),
        ),
        elsewhere=(
            Elsewhere(
                "RAGChecker",
                "hallucination",
                "there 0, the best value, when there are no claims or no chunks",
            ),
            Elsewhere(
                "DeepEval",
                "HallucinationMetric",
                "there the unit is the context: the share of contexts that the "
                "answer agrees with, higher is better since version 4",
            ),
            Elsewhere(
                "Phoenix",
                "Hallucination",
                "there yes or no for the response as a whole, against the contexts",
            ),
        ),
    )
    against: str = "both"
    pass_mark: float = 0.0
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_choice("hallucination", "against", self.against, ("both", "contexts"))
        check_share("hallucination", "pass_mark", self.pass_mark)
        check_choice("hallucination", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Claim x contexts, and claim x truth where that counts."""
        return Edges(self.claims, claim_contexts=True, claim_truth=self.against == "both")

    def flow(self, sample: Sample) -> MetricFlow:
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        right, supported = right_and_supported(graph)
        parts = unsupported_parts(graph, right, supported, when=False)
        judged_parts = judged(parts)
        if not judged_parts:
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        made_up = sum(part.passed is False for part in judged_parts)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=unsupported_shares(right, supported).hallucination,
            verdict=_verdict(graph, right, supported, self.pass_mark),
            pass_mark=self.pass_mark,
            counts=counts_of(parts),
            parts=parts,
            flags=partial(parts),
            rationale=f"{made_up} of {len(judged_parts)} judged claims are made up",
        )


def _verdict(
    graph: Graph, right: Sequence[bool | None], supported: Sequence[bool | None], mark: float
) -> Verdict:
    """What holds whatever the lost verdicts would say: for a claim to be cleared one of its two
    edges is enough.
    """
    claims = [
        (is_right, is_supported)
        for part, is_right, is_supported in zip(graph.claims, right, supported, strict=True)
        if part.status is not Status.NOT_APPLICABLE
    ]
    bad = sum(is_right is False and is_supported is False for is_right, is_supported in claims)
    cleared = sum(bool(is_right or is_supported) for is_right, is_supported in claims)
    return at_most(bad, len(claims) - bad - cleared, len(claims), mark)


def right_and_supported(graph: Graph) -> tuple[list[bool | None], list[bool | None]]:
    """Of each piece of the response: does the truth state it, do the contexts support it? None
    where that is not known; without a truth no claim is right.

    The shares are over the claims of which both is known. One would often be enough to clear a
    claim, but never to find it made up: taking in what is half known would make the share lean to
    the good side, the more the more is lost.
    """
    supported = [part.passed for part in graph.claims]
    return [part.passed for part in graph.truth] or [False] * len(supported), supported


def unsupported_parts(
    graph: Graph, right: Sequence[bool | None], supported: Sequence[bool | None], *, when: bool
) -> tuple[Part, ...]:
    """One part a piece: it counts when the contexts do not support it and the truth does
    (when=True) or does not.
    """
    parts = []
    for i, (is_right, is_supported) in enumerate(zip(right, supported, strict=True)):
        counts = (
            None
            if is_supported is None or is_right is None
            else not is_supported and is_right is when
        )
        edges = (graph.claims[i], graph.truth[i]) if graph.truth else (graph.claims[i],)
        parts.append(outcome(edges, counts, good=None if when else False))
    return tuple(parts)
