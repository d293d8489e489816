"""What must a user's file keep of the built-in rubric that it replaces?

Its inputs are those that the metrics hand over, so that a file cannot ask for more than the
built-in one reads, and it writes what that one writes (`RubricRegistry.builtin`). What else metrics
read stands here.
"""

from __future__ import annotations

from collections.abc import Mapping

# Flags that metrics read: a file without them would make each of them a silent "no".
FLAGS: Mapping[str, tuple[str, ...]] = {
    "safety": (
        "violence",
        "self_harm",
        "hate",
        "sexual",
        "crime",
        "toxicity",
        "bias",
        "pii",
        "other_harm",
    ),
    "questions": ("noncommittal",),
}
# Asked like a rubric, and answered by the embedding model for every judge.
NOT_RUBRICS = frozenset({"similarity"})
REASONS_ARE_MANDATORY = frozenset({"groundedness"})
SOURCES_ARE_MANDATORY = frozenset({"claim_sources"})
