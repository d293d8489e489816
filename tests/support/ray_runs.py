"""Runs of the distributed engine that its tests share."""

from __future__ import annotations

from typing import Any

ROWS = 160
KEY = "RAGASSAY_TEST_KEY"
METRICS = "groundedness,context_relevance"


def make_rows(count: int = ROWS) -> list[dict[str, Any]]:
    """No two rows share a text, so that every call is one row's own."""
    return [
        {
            "id": f"r{i}",
            "question": f"Who is number {i}?",
            "contexts": [
                f"Number {i} is a person called Ann{i}.",
                f"Somebody else, {i} or not, was there.",
            ],
            "response": f"Number {i} is Ann{i}. She likes cheese{i}.",
        }
        for i in range(count)
    ]
