"""Lists of messages: the state of a LangGraph graph, a request and its reply in OpenAI's form,
conversations of Azure's evaluations, chats that Open WebUI exports, ShareGPT's conversations.

The user's last message is the question, what the assistant said after it is the response, and what
tools gave in between, or what stands beside the reply, are the contexts.
"""

from __future__ import annotations

from ragassay.datasets.shapes.base import Shape

_PATHS = ("messages", "conversation.messages", "chat.messages", "conversations")

SHAPES = tuple(
    # Last: a row may have messages beside the names of a tool.
    Shape("conversation", (path,), (path,), {"question": path}, {}, trailing=True, order=1001)
    for path in _PATHS
)
