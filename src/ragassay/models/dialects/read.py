"""A reply in any of the known forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ragassay.models.answer import Answer
from ragassay.models.dialects import anthropic, bedrock, cohere, gemini, openai_chat
from ragassay.models.dialects.others import read_ollama, read_responses, read_text

_READERS: tuple[Callable[[Mapping[str, Any]], Answer | None], ...] = (
    openai_chat.read,
    anthropic.read,
    gemini.read,
    bedrock.read,
    read_ollama,
    cohere.read,
    read_responses,
    read_text,
)


def read_answer(data: Mapping[str, Any]) -> Answer | None:
    """The reply; None where the object is none in any form that we know."""
    for read in _READERS:
        answer = read(data)
        if answer is not None:
            return answer
    return None
