"""Rows of Amazon Bedrock's evaluation of RAG: what its jobs read with the responses of any system,
and what they write. Of several turns the last is read.
"""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape


def _paths(turn: str, asked: str) -> dict[str, str]:
    """Field -> path. turn: the path of the turn; asked: the one to what the job was given."""
    return {
        "question": f"{asked}.prompt.content",
        "reference": f"{asked}.referenceResponses.0.content",
        "response": f"{turn}.output.text",
        "contexts": f"{turn}.output.retrievedPassages.retrievalResults",
    }


SHAPES = (
    Shape(
        "Amazon Bedrock evaluation",
        ("conversation_turns",),
        ("conversation_turns",),
        {},
        {},
        lists=_paths("conversationTurns.-1", "conversationTurns.-1"),
        order=30,
    ),
    Shape(
        "Amazon Bedrock evaluation",
        ("conversation.conversation_turns",),
        ("conversation.conversation_turns",),
        {},
        {},
        lists=_paths(
            "conversation.conversationTurns.-1", "conversation.conversationTurns.-1.inputRecord"
        ),
        order=31,
    ),
)
