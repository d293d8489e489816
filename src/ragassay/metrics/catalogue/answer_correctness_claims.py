"""Answer correctness by claims: how much of the response is right, and how much of what is right it
says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Part, Request, Role, Sample, Score, Showing, Shown, Stage, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere, PartWords
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, Graph, GraphMetric, judge_graph
from ragassay.metrics.graph.statements import NEEDS_TRUTH, truth_of
from ragassay.metrics.graph.support import Flow
from ragassay.metrics.parameters import check_choice, check_share, refuse
from ragassay.metrics.reduction import (
    all_lost,
    counts_of,
    judged,
    lost,
    part_by_rule,
    part_of,
    partial,
)
from ragassay.scoring import f_beta, supported_share

PARTS = ("f", "precision", "recall")
_MOST = 1_000_000
"""beta lies between 1 / _MOST and this; its square is far from overflow then."""


@dataclass(frozen=True, slots=True)
class AnswerCorrectnessClaims(GraphMetric):
    """F-beta of the claims against the truth, blended with closeness of meaning. beta: how many
    times recall counts as much as precision. similarity_weight: the share of the cosine in the
    value; 0 asks for none. part: "f", "precision" or "recall"; only the edges it needs are
    asked. It has no verdict: correctness gives one. claims: "sentences" (a splitter, no call),
    "filtered" (the judge's model leaves out those that state nothing) or "llm" (it lists claims
    and statements).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="answer_correctness_claims",
        title="How right and how complete the response is, claim by claim.",
        formula=(
            "(1 - w) F + w cosine, w = similarity_weight. F = (1 + b^2) P R / (b^2 P + R), b ="
            " beta; P = claims of the response that the reference states / claims; R = statements"
            " of the reference that the response states / statements; cosine of response and"
            " reference, negative ones as 0. With part=precision P, with part=recall R stands for"
            " F. extra: precision, recall, f, similarity."
        ),
        needs=("response", NEEDS_TRUTH),
        level="claim",
        rubrics=("entailment", "similarity", "claims", "trivial"),
        source=(
            "claim precision, recall and F1 of RAGChecker (Ru et al. 2024, arXiv:2408.08067); the"
            " blend of Ragas"
        ),
        edge_cases=(
            (
                "the response is empty or declines to answer: it states nothing, recall and the"
                " value are 0, flag empty_response or abstention; part=precision is not applicable"
            ),
            "an admission of not knowing beside claims is left out of the precision",
            (
                "the response makes no claim: recall alone is known, and F is 0 where that is 0,"
                " else not applicable"
            ),
            "the reference is empty, makes no statement, or declines to answer: not applicable",
            "a verdict is lost: precision and recall are over the others, flag partial",
            "the cosine is lost, or all verdicts of one side: no value",
        ),
        calls="2, and 1 offline cosine; claims=filtered: 1 more, llm: 2",
        part_words=(
            PartWords(
                "claim",
                "in the reference",
                "not in the reference",
                "Claims of the response, against the reference",
            ),
            PartWords(
                "statement", "stated", "missing", "Statements of the reference, in the response"
            ),
        ),
        role=Role(
            stage=Stage.ANSWER,
            place=310,
            cause="incorrect",
            needs_answer=True,
            shows=(
                Showing(Shown.ANSWER_RIGHT, place=2),
                Showing(Shown.TRUE_CLAIMS),
            ),
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "AnswerCorrectness",
                "the same blend; there recall is stated claims / (stated claims + missing"
                " statements), which mixes two units, and a negative cosine lowers it below 0",
            ),
            Elsewhere(
                "Ragas",
                "FactualCorrectness",
                "without the cosine (similarity_weight=0), rounded to two decimals",
            ),
            Elsewhere(
                "RAGChecker", "precision, recall, f1", "similarity_weight=0; there no claims are 0"
            ),
            Elsewhere(
                "LlamaIndex",
                "CorrectnessEvaluator",
                "another quantity: one rating of the whole, see correctness",
            ),
        ),
    )
    beta: float = 1.0
    similarity_weight: float = 0.25
    part: str = "f"
    claims: str = "sentences"

    def __post_init__(self) -> None:
        number = isinstance(self.beta, int | float) and not isinstance(self.beta, bool)
        if not (number and 1 / _MOST <= self.beta <= _MOST):  # false for NaN as well
            raise refuse(
                "answer_correctness_claims",
                "beta",
                self.beta,
                "a number above 0, at most a million",
            )
        check_share("answer_correctness_claims", "similarity_weight", self.similarity_weight)
        check_choice("answer_correctness_claims", "part", self.part, PARTS)
        check_choice("answer_correctness_claims", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Claim x truth for the precision, statement x response for the recall."""
        return Edges(
            self.claims,
            claim_truth=self.part != "recall",
            statement_response=self.part != "precision",
            silent=self.part != "precision",
        )

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that these parameters ask."""
        if not self.similarity_weight:
            return self.edges.rubrics
        return (*self.edges.rubrics, "similarity")

    def flow(self, sample: Sample) -> MetricFlow:
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        parts = (*graph.truth, *graph.response)
        figures = _figures(graph, self.beta)
        value = figures.get(self.part)
        if value is None and lost(parts):
            return all_lost(str(self), parts, pass_mark=None, verdict=False)
        if value is None:
            return Score(
                metric=str(self),
                status=Status.NOT_APPLICABLE,
                reason="the response makes no claim",
                parts=parts,
                flags=graph.flags,
                extra=figures,
            )
        if self.similarity_weight:
            close = yield from _similarity(sample, states=not graph.flags)
            parts = (*parts, close)
            if close.value is None:
                return all_lost(str(self), parts, pass_mark=None, verdict=False)
            figures["similarity"] = close.value
            # Written so that two equal figures blend to exactly that figure.
            value = min(1.0, value - self.similarity_weight * (value - close.value))
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=max(0.0, value),
            counts=counts_of(parts),
            parts=parts,
            flags=(*graph.flags, *partial(parts)),
            extra=figures,
            rationale=_rationale(graph),
        )


def _figures(graph: Graph, beta: float) -> dict[str, float]:
    """precision, recall and f, those that are known."""
    precision = supported_share([bool(part.passed) for part in judged(graph.truth)])
    recall = supported_share([bool(part.passed) for part in judged(graph.response)])
    # What states nothing that is needed is worth nothing, whatever its precision would be.
    # With verdicts lost that is not certain: then F needs both.
    f = 0.0 if recall == 0 and not lost(graph.response) else f_beta(precision, recall, beta)
    figures = {"precision": precision, "recall": recall, "f": f}
    return {name: figure for name, figure in figures.items() if figure is not None}


def _similarity(sample: Sample, *, states: bool) -> Flow[Part]:
    response = sample.response or ""
    if not states:
        return part_by_rule(
            "statement", start=0, end=len(response), rationale="The response states nothing."
        )
    (judgment,) = yield (Request("similarity", {"text": response, "other": truth_of(sample)}),)
    return replace(part_of(judgment, "statement", start=0, end=len(response)), passed=None)


def _rationale(graph: Graph) -> str:
    claims = judged(graph.truth)
    statements = judged(graph.response)
    sentences: list[str] = []
    if claims:
        right = sum(bool(part.passed) for part in claims)
        sentences.append(f"{right} of {len(claims)} judged claims are right")
    if statements:
        stated = sum(bool(part.passed) for part in statements)
        sentences.append(f"{stated} of {len(statements)} judged statements are said")
    return "; ".join(sentences)
