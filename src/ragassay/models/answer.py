"""What a server's reply says, read from whatever form it has: texts, reason of its end, tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ragassay.core.fast_init import fast_init

STOP, CUT, REFUSAL, FILTER, TOOL = "stop", "length", "refusal", "content_filter", "tool_calls"
ERROR = "error"
"""The reply was not finished: the server failed at it."""

FINISH: Mapping[str, str] = {
    "": STOP,
    "end_turn": STOP,
    "stop_sequence": STOP,
    "complete": STOP,
    "completed": STOP,
    "eos": STOP,
    "eos_token": STOP,
    "endoftext": STOP,
    "finish": STOP,
    "tool_call": TOOL,
    "tool_use": TOOL,
    "function_call": TOOL,
    "max_tokens": CUT,
    "max_output_tokens": CUT,
    "model_length": CUT,
    "model_context_window_exceeded": CUT,
    "incomplete": CUT,
    "pause_turn": CUT,
    "token_limit": CUT,
    "time_limit": CUT,
    "error_limit": CUT,
    "safety": FILTER,
    "sensitive": FILTER,
    "recitation": FILTER,
    "blocklist": FILTER,
    "prohibited_content": FILTER,
    "spii": FILTER,
    "model_armor": FILTER,
    "guardrail_intervened": FILTER,
    "content_filtered": FILTER,
    "error_toxic": FILTER,
    "image_safety": FILTER,
    "language": FILTER,
    "abort": ERROR,
    "cancelled": ERROR,
    "failed": ERROR,
    "in_progress": ERROR,
    "insufficient_system_resource": ERROR,
    "malformed_function_call": ERROR,
    "malformed_model_output": ERROR,
    "malformed_tool_use": ERROR,
    "network_error": ERROR,
    "queued": ERROR,
    "timeout": ERROR,
}
"""The reasons for which a reply ends, in the words of the servers -> in ours."""


@fast_init
@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as they are billed. input: with the cached ones. output: with the thinking ones.

    cost: US dollars, where the provider names them itself.
    """

    input: int
    output: int
    cached: int = 0
    thinking: int = 0
    cost: float | None = None


@fast_init
@dataclass(frozen=True, slots=True)
class Answer:
    """A reply. text: what the model answers; thinking: what it wrote before, where the server keeps
    that apart; tool: the arguments of a tool call, as JSON. finish: see `FINISH`; as the server
    says where the table has no such word. usage: None where the server says nothing of it.
    """

    text: str = ""
    thinking: str = ""
    tool: str = ""
    refusal: str = ""
    finish: str = STOP
    model: str = ""
    usage: Usage | None = None


def finish_of(reason: object) -> str:
    """The reason of a reply's end in our words; one that we have no word for stays as it is."""
    word = reason.lower() if isinstance(reason, str) else ""
    return FINISH.get(word, word)


_MOST_TOKENS = 10**9  # of one call: whoever names more means something else


def whole(value: object) -> int | None:
    """A number of tokens, which some servers write as 12.0; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 <= value < _MOST_TOKENS or value != int(value):
        return None
    return int(value)


def count(value: object) -> int:
    """A number of tokens; 0 for what is none."""
    return whole(value) or 0


def dollars(value: object) -> float | None:
    """An amount of US dollars; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
        return None
    return float(value)


def texts_of(parts: object, *kinds: str) -> str:
    """The texts of content parts of these types, one after the other. A part without a type is a
    text.
    """
    if isinstance(parts, str):
        return parts if "text" in kinds else ""
    texts: list[str] = []
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and part.get("type", "text") in kinds:
            texts.append(_text_of(part))
    return "".join(texts)


def _text_of(part: Mapping[str, Any]) -> str:
    for name in ("text", "thinking", "reasoning"):
        value = part.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list):  # Mistral nests the texts of a thought
            return texts_of(value, "text")
    return ""


def first_of(values: Iterable[object]) -> str:
    """The first of them that is a text with something in it."""
    for value in values:
        if isinstance(value, str) and value.strip():
            return value
    return ""


def mapping(value: object) -> Mapping[str, Any]:
    """The value, if it is an object; an empty one else."""
    # JSON's objects are dicts, and a check for any Mapping takes ten times as long.
    return value if isinstance(value, dict) else {}


def first_mapping(value: object) -> Mapping[str, Any]:
    """The first of a list's objects; an empty one where there is none."""
    entries = value if isinstance(value, list) else []
    return next((entry for entry in entries if isinstance(entry, dict)), {})
