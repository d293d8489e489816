"""Presets: sets of metrics for the usual occasions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_APP = ("app_tokens", "app_cost", "app_latency", "app_error")


@dataclass(frozen=True, slots=True)
class Preset:
    """Metrics for one occasion. calls: LLM calls a row, where every input is there, claims are cut
    by sentences, and the judge names the sources of what it finds supported (else up to 2 more;
    with claims=llm 1 or 2 more).
    """

    title: str
    metrics: tuple[str, ...]
    calls: int


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "quick": Preset(
            "a first look: is it relevant, grounded, an answer?",
            ("chunk_relevance", "groundedness", "answer_relevance", "abstention", "app_error"),
            3,
        ),
        "retrieval": Preset(
            "debug retrieval: was the right text found, is it enough, does it stand first?",
            (
                "context_relevance",
                "chunk_relevance",
                "context_precision",
                "context_precision(against=question)",
                "context_recall",
                "context_sufficiency",
                "context_entity_recall",
                "document_recall",
                "precision_at_k",
                "recall_at_k",
                "hit_rate",
                "mrr",
                "map",
                "ndcg_at_k",
            ),
            3,
        ),
        "hallucination": Preset(
            "what does the response claim that nothing supports, and where did it come from?",
            (
                "groundedness",
                "faithfulness",
                "faithfulness(mode=weighted)",
                "hallucination",
                "hallucination(against=contexts)",
                "self_knowledge",
                "noise_sensitivity",
                "noise_sensitivity(mode=relevant)",
                "citation_support",
                "abstention",
            ),
            4,
        ),
        "production": Preset(
            "watch traffic: no reference needed, few calls",
            ("chunk_relevance", "groundedness", "answer_relevance", "abstention", "safety", *_APP),
            4,
        ),
        "ab": Preset(
            "compare two versions: everything that may have moved, and what it costs",
            (
                "context_relevance",
                "groundedness",
                "faithfulness",
                "answer_relevance",
                "abstention",
                "correctness",
                "answer_correctness_claims",
                "document_recall",
                "ndcg_at_k",
                "user_satisfaction",
                *_APP,
                "app_input_tokens",
                "app_output_tokens",
            ),
            6,
        ),
        "chunking": Preset(
            "choose chunk size and number: how much of what is retrieved is needed, and is anything"
            " cut off?",
            (
                "context_relevance",
                "chunk_relevance",
                "context_relevance_ratio",
                "context_precision(against=question)",
                "context_recall",
                "context_sufficiency",
                "context_utilization",
                "document_recall",
                "app_input_tokens",
            ),
            5,
        ),
    }
)
"""Name -> preset. A metric whose input a row lacks is not applicable there, as always; one that no
row has the fields for is left out.
"""
