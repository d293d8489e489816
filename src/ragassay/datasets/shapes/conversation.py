"""Lists of messages: the state of a LangGraph graph, a request and its reply in OpenAI's form.

The user's last message is the question, what the assistant said after it is the response, and what
tools gave in between are the contexts.
"""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

SHAPES = (
    Shape(
        "conversation",
        ("messages",),
        ("messages",),
        {"question": "messages"},
        {},
        trailing=True,
        # Last: a row may have messages beside the names of a tool.
        order=1001,
    ),
)
