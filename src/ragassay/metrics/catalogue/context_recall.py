"""Context recall: the share of a right answer's statements that the contexts support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Role, Sample, Score, Showing, Shown, Stage, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.declaration import Area, Declaration, Elsewhere, PartWords
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, GraphMetric, judge_graph
from ragassay.metrics.graph.statements import NEEDS_TRUTH
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.reduction import all_lost, counts_of, judged, lost, partial
from ragassay.scoring import decide, supported_share


@dataclass(frozen=True, slots=True)
class ContextRecall(GraphMetric):
    """Share of the truth's statements that the contexts support. pass_mark: the share that must be
    supported. claims: "sentences" (a splitter, no call) or "llm" (the judge's model lists the
    reference's statements).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="context_recall",
        title="Share of the reference's statements that the contexts support.",
        formula=(
            "supported / judged statements, supported = rated 2 or higher against all contexts."
            " Statements are the expected facts, else the claims of the reference. The row passes"
            " at the pass mark."
        ),
        needs=("contexts", NEEDS_TRUTH),
        area=Area.RETRIEVAL,
        rubrics=("groundedness", "claims"),
        source="Ragas (Es et al. 2024, arXiv:2309.15217)",
        edge_cases=(
            "the reference is empty, makes no statement, or declines to answer: not applicable",
            "nothing was retrieved: 0, nothing is asked",
            (
                "a statement's verdict is lost: the value is over the others, flag partial; the"
                " verdict stands only where it could not change it"
            ),
            "more than 1,000 statements: failed, nothing is asked",
        ),
        calls="1 for up to 10 statements; claims=llm: 1 more",
        default=25,
        mark_of="of statements",
        part_words=(
            PartWords(
                "statement",
                "supported",
                "not supported",
                "Statements of the reference, in the contexts",
            ),
        ),
        role=Role(
            stage=Stage.RETRIEVAL,
            place=180,
            cause="insufficient_context",
            needs_answer=True,
            shows=(
                Showing(Shown.EVIDENCE_PRESENT),
                Showing(Shown.REFERENCE_SUPPORTED),
            ),
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "ContextRecall",
                "there one call returns all verdicts, those missing drop out silently and "
                "values other than 0 and 1 are added up",
            ),
            Elsewhere(
                "DeepEval",
                "ContextualRecallMetric",
                "there a verdict that cannot be read drops out silently, and "
                "no verdicts at all are 0",
            ),
            Elsewhere(
                "RAGChecker",
                "claim_recall",
                "there a statement is judged against each chunk by itself",
            ),
        ),
    )
    pass_mark: float = 0.9
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_share("context_recall", "pass_mark", self.pass_mark)
        check_choice("context_recall", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Statement x contexts."""
        return Edges(self.claims, statement_contexts=True)

    def flow(self, sample: Sample) -> MetricFlow:
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        parts = graph.statements
        good, unknown = [bool(part.passed) for part in judged(parts)], len(lost(parts))
        if not good:
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=supported_share(good),
            pass_mark=self.pass_mark,
            verdict=decide(sum(good), unknown, len(good) + unknown, self.pass_mark),
            counts=counts_of(parts),
            parts=parts,
            flags=partial(parts),
            rationale=f"the contexts support {sum(good)} of {len(good)} judged statements",
        )
