"""What a model behind a server accepts, learnt from its own refusals and kept for the next run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ragassay.core import ChatCall

FORMATS: Mapping[str, str] = {
    "schema": "a JSON schema",
    "simple_schema": "a simplified JSON schema",
    "object": "any JSON object",
    "tool": "a tool call",
    "text": "plain text",
}
"""How a server is told the form of a reply, the strictest first, and how that is called."""

LIMITS = ("max_tokens", "max_completion_tokens", "")
"""The names of the limit of a reply in chat completions; "": none is sent."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What is known of a model and its server.

    format: one of FORMATS. limit: one of LIMITS; refused_limits: those that it is not. temperature,
    seed, system, effort: whether these are accepted (a system message; a reasoning effort).
    adaptive: whether a model of Anthropic's takes an effort in place of a number of tokens of
    thinking; None where its name tells. stream:
    replies come as a stream only; stream_usage: it can be asked for its tokens. thinking_off:
    thinking has to be switched off in so many words. most_tokens: the longest reply that may be
    asked for. context: tokens of prompt and reply together. room: tokens of thinking that a reply
    is given beside its answer.
    """

    format: str = "schema"
    limit: str = "max_tokens"
    refused_limits: tuple[str, ...] = ()
    temperature: bool = True
    seed: bool = True
    system: bool = True
    effort: bool = True
    adaptive: bool | None = None
    stream: bool = False
    stream_usage: bool = True
    thinking_off: bool = False
    most_tokens: int | None = None
    context: int | None = None
    room: int = 0

    def features(self, call: ChatCall) -> frozenset[str]:
        """What a request for `call` makes use of, of that which a server may refuse."""
        used = {
            self.limit: True,
            self.format: call.schema is not None,
            "temperature": self.temperature and call.temperature is not None,
            "seed": self.seed and call.seed is not None,
            "system": self.system,
            "effort": self.effort,
            "adaptive": bool(self.adaptive),
            "stream": self.stream,
            "stream_usage": self.stream and self.stream_usage,
            "thinking_off": self.thinking_off,
        }
        return frozenset(name for name, is_used in used.items() if is_used)

    def to_json(self) -> dict[str, object]:
        """As the store keeps them."""
        return asdict(self)

    @staticmethod
    def from_json(stored: Mapping[str, Any]) -> Capabilities:
        """Those that `to_json` wrote; names that this version does not know are left out."""
        names = {each.name for each in fields(Capabilities)}
        values = {name: value for name, value in stored.items() if name in names}
        values["refused_limits"] = tuple(values.get("refused_limits", ()))
        return Capabilities(**values)

    def dropped(self, first: Capabilities) -> tuple[str, ...]:
        """What is not sent any more, or sent otherwise, since `first` was assumed; a sentence's
        part each.
        """
        told: list[str] = []
        if self.format != first.format:
            told.append(f"replies are asked for as {FORMATS[self.format]}")
        if self.limit != first.limit:
            told.append(f"their length is limited by {self.limit}" if self.limit else _NO_LIMIT)
        for name in ("temperature", "seed"):
            if getattr(first, name) and not getattr(self, name):
                told.append(f"no {name} is sent")
        if first.effort and not self.effort:
            told.append("no reasoning effort is sent")
        if first.system and not self.system:
            told.append("the rules stand in the user's message, for it has no system role")
        if self.stream and not first.stream:
            told.append("replies are read as streams")
        if self.thinking_off and not first.thinking_off:
            told.append("thinking is switched off: the server allows it only with streaming")
        if self.most_tokens is not None and first.most_tokens is None:
            told.append(f"a reply may have {self.most_tokens:,} tokens")
        if self.context is not None and first.context is None:
            told.append(f"prompt and reply together may have {self.context:,} tokens")
        if self.room > first.room:
            told.append(f"{self.room:,} tokens more are allowed for what it thinks")
        return tuple(told)


_NO_LIMIT = "their length is not limited, for it takes no such limit"
