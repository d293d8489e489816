"""Replies of Vectara's queries, kept as rows: a summary of what was found."""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

SHAPES = (
    Shape(
        "Vectara",
        ("summary", "search_results"),
        ("search_results",),
        {"response": "summary", "contexts": "search_results"},
        {},
        order=150,
    ),
)
