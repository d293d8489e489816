"""What do metrics hand to a built-in rubric, and what must they be able to read of its answers?"""

from __future__ import annotations

from collections.abc import Mapping

# What the metrics hand to a rubric of this id; a file that replaces it cannot ask for more.
INPUTS: Mapping[str, tuple[str, ...]] = {
    "context_relevance": ("question", "context"),
    "chunk_relevance": ("question", "context"),
    "groundedness": ("question", "response", "contexts", "claim"),
    "answer_relevance": ("question", "response"),
    "answer_relevance_5": ("question", "response"),
    "claims": ("question", "response"),
    "claim_sources": ("question", "response", "contexts", "claim"),
    "entailment": ("question", "text", "claim"),
    "sentence_relevance": ("question", "context"),
    "context_relevance_dual_1": ("question", "contexts"),
    "context_relevance_dual_2": ("question", "contexts"),
    "response_groundedness_dual_1": ("response", "contexts"),
    "response_groundedness_dual_2": ("response", "contexts"),
    "answer_accuracy_dual_1": ("question", "answer", "other"),
    "answer_accuracy_dual_2": ("question", "answer", "other"),
    "context_sufficiency": ("question", "contexts", "statements"),
    "context_sufficiency_open": ("question", "contexts"),
    "correctness": ("question", "response", "statements"),
    "correctness_3": ("question", "response", "statements"),
    "safety": ("question", "response"),
    "guidelines": ("question", "response", "guideline"),
    "questions": ("response", "count"),
    "entities": ("text",),
}
# What a built-in rubric writes where it is not a rating.
WRITES: Mapping[str, str] = {
    "claims": "claims", "sentence_relevance": "quotes", "questions": "texts", "entities": "texts",
}  # fmt: skip
# Flags that metrics read: a file without them would make each of them a silent "no".
FLAGS: Mapping[str, tuple[str, ...]] = {
    "safety": (
        "violence", "self_harm", "hate", "sexual", "crime", "toxicity", "bias", "pii", "other_harm",
    ),
    "questions": ("noncommittal",),
}  # fmt: skip
# Asked like a rubric, and answered by the embedding model for every judge.
NOT_RUBRICS = frozenset({"similarity"})
REASONS_ARE_MANDATORY = frozenset({"groundedness"})
SOURCES_ARE_MANDATORY = frozenset({"claim_sources"})
