"""Replies of Flowise's flows, kept as rows: the question, the text of the reply, its documents."""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

SHAPES = (
    Shape(
        "Flowise",
        ("question", "text"),
        ("source_documents", "chat_message_id"),
        {"response": "text"},
        {},
        order=140,
    ),
)
