"""Groundedness: how far the contexts support what the response claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Role, Sample, Score, Showing, Shown, Stage, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, GraphMetric, judge_graph
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.reduction import abstained, all_lost, counts_of, judged, lost, partial
from ragassay.scoring import decide, mean

SUPPORT_EDGE_CASES = (
    "the response is empty, or makes no claim: not applicable",
    (
        "nothing was retrieved: every claim is 0 without being asked, but those of a response that"
        " declines to answer"
    ),
    "the response admits not knowing: fully grounded, flag abstention",
    (
        "a claim's verdict is lost: the value is over the others, flag partial; the verdict stands"
        " only where it could not change it"
    ),
    "a mark such as [2] that cites one of the chunks is no part of the claim that is judged",
    "more than 1,000 claims: failed, nothing is asked",
)


@dataclass(frozen=True, slots=True)
class Groundedness(GraphMetric):
    """Mean graded support of the claims. pass_mark: the share of claims that must pass, each at
    a rating of 2. claims: "sentences" (a splitter, no call), "filtered" (the judge's model
    leaves out those that state nothing) or "llm" (it lists them).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="groundedness",
        title="How far the contexts support the claims of the response.",
        formula=(
            "mean over claims of rating / 3, ratings 0-3 against all contexts; extra: pass_share."
            " The row passes when the share of claims rated 2 or higher reaches the pass mark. An"
            " admission of not knowing counts as fully grounded; with no contexts every other claim"
            " is 0."
        ),
        needs=("response", "contexts"),
        level="claim",
        rubrics=("groundedness", "answer_relevance", "claims", "trivial"),
        source="RAG Triad (TruLens)",
        edge_cases=SUPPORT_EDGE_CASES,
        calls="1 for up to 10 claims; claims=filtered or llm: 1 more",
        default=30,
        mark_of="of claims",
        role=Role(
            stage=Stage.SUPPORT,
            place=200,
            decides=True,
            cause="ungrounded",
            shows=(
                Showing(Shown.SUPPORTED_CLAIMS),
                Showing(Shown.SUPPORTED_SHARE, place=2),
            ),
        ),
        elsewhere=(
            Elsewhere(
                "TruLens",
                "groundedness",
                "there the mean over sentences rated 0-3 / 3, with 0 for a row without "
                "contexts, too; by choice several claims are rated in a call here, with the "
                "passages that support each, and two examples show how, where it shows none",
            ),
            Elsewhere(
                "MLflow", "RetrievalGroundedness", "there yes or no for the response as a whole"
            ),
        ),
    )
    pass_mark: float = 0.9
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_share("groundedness", "pass_mark", self.pass_mark)
        check_choice("groundedness", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Claim x contexts."""
        return Edges(self.claims, claim_contexts=True, admissions=True)

    def flow(self, sample: Sample) -> MetricFlow:
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        parts = graph.claims
        judged_parts, unknown = judged(parts), len(lost(parts))
        if not judged_parts:
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        good = sum(bool(part.passed) for part in judged_parts)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=mean([part.value or 0.0 for part in judged_parts]),
            verdict=decide(good, unknown, len(judged_parts) + unknown, self.pass_mark),
            pass_mark=self.pass_mark,
            counts=counts_of(parts),
            parts=parts,
            flags=(*abstained(parts), *partial(parts)),
            extra={"pass_share": good / len(judged_parts)},
            rationale=f"{good} of {len(judged_parts)} judged claims are supported",
        )
