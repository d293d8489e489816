"""How far do the retrieved contexts support what the response claims? (G1)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragassay.core import Sample, Score, Status
from ragassay.metrics.base import Declaration, MetricBase, MetricFlow
from ragassay.metrics.parameters import check_choice, check_share
from ragassay.metrics.reduction import counts_of, judged, lost, partial
from ragassay.metrics.support import CLAIMS, abstained, claim_rubrics, judge_claims
from ragassay.scoring import decide, mean


@dataclass(frozen=True, slots=True)
class Groundedness(MetricBase):
    """Mean graded support of the claims. pass_mark: the share of claims that must pass, each at a rating of 2.
    claims: "sentences" (a splitter, no call) or "llm" (the judge's model lists them)."""

    declaration: ClassVar[Declaration] = Declaration(
        id="G1", name="groundedness", title="How far the contexts support the claims of the response.",
        formula="mean over claims of rating / 3, ratings 0-3 against all contexts; extra: pass_share. "
        "The row passes when the share of claims rated 2 or higher reaches the pass mark. "
        "An admission of not knowing counts as fully grounded; with no contexts every other claim is 0.",
        needs=("response", "contexts"), level="claim", rubrics=("groundedness", "answer_relevance"),
        source="RAG Triad (TruLens)", aka=("groundedness (RAG Triad)",),
    )  # fmt: skip
    pass_mark: float = 0.9
    claims: str = "sentences"

    def __post_init__(self) -> None:
        check_share("groundedness", "pass_mark", self.pass_mark)
        check_choice("groundedness", "claims", self.claims, CLAIMS)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The rubrics that these parameters ask."""
        return claim_rubrics(self.claims)

    def flow(self, sample: Sample) -> MetricFlow:
        parts = yield from judge_claims(self, sample, self.claims, self.pass_mark)
        if isinstance(parts, Score):
            return parts
        found, unknown = judged(parts), len(lost(parts))
        good = sum(bool(part.passed) for part in found)
        return Score(
            metric=str(self), status=Status.JUDGED, value=mean([part.value or 0.0 for part in found]),
            verdict=decide(good, unknown, len(found) + unknown, self.pass_mark), pass_mark=self.pass_mark,
            counts=counts_of(parts), parts=parts, flags=(*abstained(parts), *partial(parts)),
            extra={"pass_share": good / len(found)}, rationale=f"{good} of {len(found)} judged claims are supported",
        )  # fmt: skip
