"""Replies of RAGFlow's chats, kept as rows: `reference` holds the chunks that were retrieved."""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

SHAPES = (
    Shape(
        "RAGFlow",
        ("answer", "reference.chunks"),
        ("reference.chunks",),
        {"contexts": "reference.chunks"},
        {"reference": "it is what was retrieved"},
        order=35,
    ),
)
