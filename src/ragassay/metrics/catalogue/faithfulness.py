"""Faithfulness: the share of the response's claims that the contexts support."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Part, Role, Sample, Score, Showing, Shown, Stage, Status, Verdict
from ragassay.metrics.base import MetricFlow
from ragassay.metrics.catalogue.groundedness import SUPPORT_EDGE_CASES
from ragassay.metrics.citations import without_marks
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.graph.row_graph import CLAIMS, Edges, GraphMetric, judge_graph
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.reduction import abstained, all_lost, counts_of, judged, lost, partial
from ragassay.scoring import all_supported, claim_weight, decide, supported_share, weighted_share


@dataclass(frozen=True, slots=True)
class Faithfulness(GraphMetric):
    """Share of supported claims, from the judgments of groundedness (no extra call). mode: "ratio";
    "binary" (all or nothing); "weighted" (claims with numbers, dates, names or negations weigh
    more, by `scoring.WEIGHT_RULES`).
    """

    declaration: ClassVar[Declaration] = Declaration(
        name="faithfulness",
        title="Share of the response's claims that the contexts support.",
        formula=(
            "supported / judged claims, supported = rated 2 or higher. binary: 1 when all are"
            " supported, else 0. weighted: weight of the supported / weight of the judged claims."
            " The row passes at the pass mark; binary needs every claim."
        ),
        needs=("response", "contexts"),
        level="claim",
        rubrics=("groundedness", "answer_relevance", "claims", "trivial"),
        source="Ragas (Es et al. 2024, arXiv:2309.15217)",
        edge_cases=(
            *SUPPORT_EDGE_CASES,
            "binary, and a lost claim could turn it: no value, the verdict is undecided",
        ),
        calls="0 beside groundedness, else as it",
        default=40,
        mark_of="of claims",
        role=Role(
            stage=Stage.SUPPORT,
            place=210,
            cause="ungrounded",
            shows=(
                Showing(Shown.SUPPORTED_CLAIMS, place=2),
                Showing(Shown.SUPPORTED_SHARE),
            ),
        ),
        elsewhere=(
            Elsewhere(
                "Ragas",
                "Faithfulness",
                "there the verdicts returned are the denominator, so that a claim without "
                "one drops out silently; none at all is NaN",
            ),
            Elsewhere(
                "DeepEval",
                "FaithfulnessMetric",
                "there a claim counts unless the contexts contradict it, an "
                "undecided one too, and no verdicts at all are 1",
            ),
            Elsewhere(
                "RAGChecker",
                "faithfulness",
                "there a claim is judged against each chunk by itself, not against all together",
            ),
        ),
    )
    mode: str = "ratio"
    pass_mark: float = 0.9
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_choice("faithfulness", "mode", self.mode, ("ratio", "binary", "weighted"))
        check_share("faithfulness", "pass_mark", self.pass_mark)
        check_choice("faithfulness", "claims", self.claims, CLAIMS)

    @property
    def edges(self) -> Edges:
        """Claim x contexts, as groundedness."""
        return Edges(self.claims, claim_contexts=True, admissions=True)

    def flow(self, sample: Sample) -> MetricFlow:
        graph = yield from judge_graph(self, sample)
        if isinstance(graph, Score):
            return graph
        parts = graph.claims
        if not judged(parts):
            return all_lost(str(self), parts, pass_mark=self.pass_mark)
        if self.mode == "weighted":
            chunks = len(sample.contexts or ())
            parts = tuple(_with_weight(part, sample.response or "", chunks) for part in parts)
        judged_parts, lost_parts = judged(parts), lost(parts)
        good = [bool(part.passed) for part in judged_parts]
        mark = 1.0 if self.mode == "binary" else self.pass_mark
        # Lost claims weigh as much as judged ones: the verdict must hold whatever they would be.
        verdict = decide(
            _weight(part for part in judged_parts if part.passed),
            _weight(lost_parts),
            _weight([*judged_parts, *lost_parts]),
            mark,
        )
        value = supported_share(good)
        if self.mode == "weighted":
            value = weighted_share(good, [part.weight or 1.0 for part in judged_parts])
        elif self.mode == "binary":
            value = all_supported(good)
            # "All are supported" is not known while one has no verdict.
            if verdict is Verdict.UNDECIDED:
                return Score(
                    metric=str(self),
                    status=lost_parts[0].status,
                    reason=(
                        f"{len(lost_parts)} of {len(judged_parts) + len(lost_parts)} claims "
                        "have no verdict, and all of them count"
                    ),
                    verdict=verdict,
                    pass_mark=mark,
                    counts=counts_of(parts),
                    parts=parts,
                    flags=partial(parts),
                )
        return Score(
            metric=str(self),
            status=Status.JUDGED,
            value=value,
            verdict=verdict,
            pass_mark=mark,
            counts=counts_of(parts),
            parts=parts,
            flags=(*abstained(parts), *partial(parts)),
            rationale=f"{sum(good)} of {len(good)} judged claims are supported",
        )


def _with_weight(part: Part, response: str, chunks: int) -> Part:
    if part.status is Status.NOT_APPLICABLE:
        return part
    text = part.text or response[part.start or 0 : part.end or 0]
    # As the judge reads it: the number in a mark such as [2] is none of the claim's.
    return replace(part, weight=claim_weight(without_marks(text, chunks))[0])


def _weight(parts: Iterable[Part]) -> float:
    return math.fsum(1.0 if part.weight is None else part.weight for part in parts)
