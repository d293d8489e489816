"""Noise sensitivity: the share of the response's claims that are wrong and come from the chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragassay.core import Role, Sample, Score, Showing, Shown, Stage, Status
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.declaration import Area, Declaration, Elsewhere
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, Graph, GraphMetric, judge_graph
from ragassay.metrics.graph.statements import NEEDS_TRUTH
from ragassay.metrics.graph.support import outcome
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.reduction import all_lost, at_most, blank, counts_of, judged, lost, partial
from ragassay.scoring import noise


@dataclass(frozen=True, slots=True)
class NoiseSensitivity(GraphMetric):
    """Share of claims that the chunks misled the response into; lower is better. mode:
    "irrelevant" (supported by chunks none of which supports a statement of the reference) or
    "relevant" (supported by one that does). pass_mark: the largest share that passes. claims:
    "sentences" (a splitter, no call), "filtered" (the judge's model leaves out those that state
    nothing) or "llm" (it lists them).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="noise_sensitivity",
        title="Share of the response's claims that are wrong and come from the chunks.",
        formula=(
            "claims that the reference does not state and that only irrelevant chunks support"
            " (mode=relevant: that a relevant chunk supports) / judged claims. A chunk is relevant"
            " when it supports a statement of the reference. The row passes when the value is at"
            " most the pass mark. Right claims + noise in relevant + noise in irrelevant chunks +"
            " hallucination = 1."
        ),
        needs=("response", "contexts", NEEDS_TRUTH),
        area=Area.RETRIEVAL,
        level="claim",
        higher_is_better=False,
        rubrics=("groundedness", "claim_sources", "entailment", "claims", "trivial"),
        source="RAGChecker (Ru et al. 2024, arXiv:2408.08067)",
        edge_cases=(
            (
                "nothing was retrieved, or only chunks without text: not applicable, nothing could"
                " mislead"
            ),
            "the response is empty, or makes no claim: not applicable",
            (
                "an admission of not knowing is no claim that could be wrong: it is left out; a"
                " response that is nothing else is not applicable, flag abstention"
            ),
            "the reference is empty, makes no statement, or declines to answer: not applicable",
            (
                "a verdict on a claim is lost: the value is over the claims whose verdicts are all"
                " there, flag partial; the row passes or fails only where the lost ones could not"
                " change it"
            ),
            "a verdict on a statement is lost: no value, for any chunk may be relevant",
        ),
        calls=(
            "3; 0 beside groundedness, context_recall and answer_correctness_claims;"
            " claims=filtered: 1 more, llm: 2; 1 or 2 more where the judge named no sources"
        ),
        mark_of="of claims",
        role=Role(
            stage=Stage.ANSWER,
            place=240,
            cause="misled",
            needs_answer=True,
            shows=(Showing(Shown.MISLED_SHARE),),
        ),
        elsewhere=(
            Elsewhere(
                "RAGChecker",
                "noise_sensitivity_in_irrelevant, noise_sensitivity_in_relevant",
                "there each claim is "
                "judged against each chunk by itself, and no claims are 0, the best value",
            ),
            Elsewhere(
                "Ragas", "NoiseSensitivity", "the same matrix; there the default mode is relevant"
            ),
        ),
    )
    mode: Literal["irrelevant", "relevant"] = "irrelevant"
    pass_mark: float = 0.0
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_choice("noise_sensitivity", "mode", self.mode, ("irrelevant", "relevant"))
        check_share("noise_sensitivity", "pass_mark", self.pass_mark)
        check_choice("noise_sensitivity", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Claim x contexts and statement x contexts with sources, claim x truth."""
        return Edges(
            self.claims,
            claim_contexts=True,
            claim_truth=True,
            statement_contexts=True,
            sources=True,
        )

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that these parameters ask; whether the response declines is asked only where
        nothing was retrieved, which is not measured here.
        """
        return tuple(rubric for rubric in self.edges.rubrics if rubric != "answer_relevance")

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        if all(blank(chunk.text) for chunk in sample.contexts or ()):
            return self.not_applicable("nothing was retrieved that could mislead")
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        relevant = _relevant_chunks(graph)
        lost_statements = lost(graph.statements)
        right = [part.passed for part in graph.truth]
        sources = [part.sources for part in graph.claims]
        # What a lost statement rests on is not known, so any chunk may be relevant.
        if lost_statements:
            right = [None] * len(right)
        parts = []
        for claim, in_truth, is_right, chunks in zip(
            graph.claims, graph.truth, right, sources, strict=True
        ):
            is_noise = None
            if is_right is not None and chunks is not None:
                is_noise = bool(noise([is_right], [chunks], relevant, self.mode))
            parts.append(outcome((claim, in_truth), is_noise, good=False, unknown=lost_statements))
        measured = judged(parts)
        if not measured:
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        bad = sum(part.passed is False for part in measured)
        asked = len(measured) + len(lost(parts))
        # A claim that is right, or that no chunk supports, is no noise whatever its lost verdict
        # would say. The value leaves it out all the same: only what is wholly known can be found to
        # be noise.
        unknown = sum(
            part.status not in (Status.JUDGED, Status.NOT_APPLICABLE)
            and not is_right
            and chunks != ()
            for part, is_right, chunks in zip(parts, right, sources, strict=True)
        )
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=noise(right, sources, relevant, self.mode),
            verdict=at_most(bad, unknown, asked, self.pass_mark),
            pass_mark=self.pass_mark,
            counts=counts_of(parts),
            parts=tuple(parts),
            flags=partial(parts),
            rationale=(
                f"{bad} of {len(measured)} judged claims are wrong and come from"
                f" {_CHUNKS[self.mode]}"
            ),
        )


def _relevant_chunks(graph: Graph) -> frozenset[int]:
    """The chunks that support a statement of the truth."""
    relevant: set[int] = set()
    for part in judged(graph.statements):
        relevant.update(part.sources or ())
    return frozenset(relevant)


_CHUNKS = {"irrelevant": "irrelevant chunks only", "relevant": "a relevant chunk"}
