"""Semantic similarity: how near the response is to the reference in meaning, by an encoder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ragassay.core import Request, Sample
from ragassay.metrics.base import MetricBase, MetricFlow
from ragassay.metrics.declaration import Declaration, Elsewhere
from ragassay.metrics.rating import failed_by_rule, score_of_rating
from ragassay.metrics.reduction import EMPTY, blank, part_of


@dataclass(frozen=True, slots=True)
class SemanticSimilarity(MetricBase):
    """Cosine of response and reference."""

    declaration: ClassVar[Declaration] = Declaration(
        name="semantic_similarity",
        title="How near response and reference are in meaning.",
        formula=(
            "cosine of the two texts' vectors from the encoder in the package, negative ones as 0."
            " No verdict: a cosine has no mark that holds for every encoder, and a wrong figure"
            " hardly lowers it."
        ),
        needs=("response", "reference"),
        rubrics=("similarity",),
        source="Sentence-BERT (Reimers & Gurevych 2019)",
        edge_cases=(
            "the response is empty: 0, flag empty_response",
            "the reference is empty: not applicable",
        ),
        calls="none; the encoder in the package answers",
        elsewhere=(
            Elsewhere(
                "Ragas",
                "SemanticSimilarity",
                "there with the embeddings you bring, and not cut at 0",
            ),
            Elsewhere("LangSmith", "embedding distance", "there 1 - cosine: lower is better"),
        ),
    )

    def flow(self, sample: Sample) -> MetricFlow:
        absent = self.missing(sample)
        if absent is not None:
            return absent
        response, reference = sample.response or "", sample.reference or ""
        if blank(reference):
            return self.not_applicable("the reference is empty")
        if blank(response):
            return failed_by_rule(str(self), "The response is empty.", EMPTY, None)
        (judgment,) = yield (Request("similarity", {"text": response, "other": reference}),)
        # Without a mark a part neither passes nor fails, and the row has no verdict.
        part = replace(part_of(judgment, "statement", start=0, end=len(response)), passed=None)
        return replace(score_of_rating(str(self), part), verdict=None, pass_mark=None)
