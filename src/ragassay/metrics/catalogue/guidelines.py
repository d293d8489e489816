"""Guideline adherence: whether the response keeps the guidelines of the row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Judgment, Request, Role, Sample, Score, Stage, Status
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.reduction import (
    EMPTY,
    all_lost,
    blank,
    counts_of,
    judged,
    lost,
    part_of,
    partial,
)
from ragassay.scoring import decide, supported_share


@dataclass(frozen=True, slots=True)
class Guidelines(MetricBase):
    """Share of the row's guidelines that the response keeps to."""

    declaration: ClassVar[Declaration] = Declaration(
        name="guidelines",
        title="Whether the response keeps to each of the row's guidelines.",
        formula="guidelines kept / judged guidelines. The row passes when all are kept.",
        needs=("response", "guidelines"),
        rubrics=("guidelines",),
        source="MLflow / Databricks Agent Evaluation",
        edge_cases=(
            "the row has no guidelines, or the response is empty: not applicable",
            "a repeated guideline counts once",
            (
                "a lost verdict: the share is over the judged ones, flagged partial; a pass needs"
                " them all"
            ),
        ),
        calls="1 for up to 20 guidelines",
        default=65,
        mark_of="of guidelines",
        role=Role(
            stage=Stage.GUIDELINES,
            place=500,
            cause="guideline_broken",
        ),
        elsewhere=(
            Elsewhere("MLflow", "ExpectationsGuidelines", "there one yes or no for the row"),
            Elsewhere(
                "Databricks Agent Evaluation",
                "guideline_adherence",
                "there one yes or no for the row",
            ),
            Elsewhere(
                "DeepEval", "PromptAlignmentMetric", "there instructions followed / instructions"
            ),
        ),
    )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        # Repeated ones once: equal Requests would be one judgment that counts twice.
        guidelines = tuple(
            dict.fromkeys(text.strip() for text in sample.guidelines or () if not blank(text))
        )
        if not guidelines:
            return self.not_applicable("the row has no guidelines")
        if blank(sample.response):
            return replace(self.not_applicable("the response is empty"), flags=(EMPTY,))
        shared = {"question": sample.question or "", "response": sample.response or ""}
        answers = yield tuple(
            Request("guidelines", {**shared, "guideline": text}) for text in guidelines
        )
        return guidelines_score(str(self), guidelines, answers)


def guidelines_score(metric: str, guidelines: Sequence[str], answers: Sequence[Judgment]) -> Score:
    """Guidelines kept / judged ones, one part each; the row passes when all are kept."""
    parts = tuple(
        part_of(answer, "guideline", text=text)
        for text, answer in zip(guidelines, answers, strict=True)
    )
    judged_parts, lost_parts = judged(parts), lost(parts)
    if not judged_parts:
        return all_lost(metric, parts, pass_mark=1.0)
    kept = [bool(part.passed) for part in judged_parts]
    return Score(
        metric=metric,
        status=Status.JUDGED,
        value=supported_share(kept),
        pass_mark=1.0,
        verdict=decide(sum(kept), len(lost_parts), len(parts), 1.0),
        counts=counts_of(parts),
        parts=parts,
        flags=partial(parts),
        rationale=f"{sum(kept)} of {len(kept)} judged guidelines are kept",
    )
