"""The Messages API of Anthropic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yarl import URL

from ragassay.models.answer import REFUSAL, Answer, finish_of, texts_of
from ragassay.models.dialects.base import Prepared, with_path
from ragassay.models.dialects.openai_chat import as_json
from ragassay.models.usage import anthropic_usage

_LEAST_THINKING = 1024  # tokens; the API refuses less
_SHARES = {"minimal": 0.25, "low": 0.5, "medium": 1.0, "high": 2.0, "xhigh": 4.0, "max": 4.0}


class AnthropicMessages:
    """Messages. The limit of a reply is compulsory, and counts what is thought."""

    formats: tuple[str, ...] = ("schema", "tool", "text")
    headers: Mapping[str, str] = {"anthropic-version": "2023-06-01"}

    def url(self, base: URL, model: str, *, stream: bool) -> URL:
        """One address for all models."""
        return base if base.path.endswith("/messages") else with_path(base, "messages")

    def models_url(self, base: URL) -> URL:
        """Where the models are listed."""
        return with_path(base.parent if base.path.endswith("/messages") else base, "models")

    def body(self, asked: Prepared) -> dict[str, object]:
        """The request. The rules are marked for the cache: they are the same for all rows."""
        call = asked.call
        body: dict[str, object] = {
            "model": asked.model,
            "messages": [{"role": role, "content": text} for role, text in asked.turns()],
            "max_tokens": asked.limit if asked.limit is not None else call.max_tokens,
        }
        if asked.system:
            cached = {"type": "ephemeral"}
            body["system"] = [{"type": "text", "text": asked.system, "cache_control": cached}]
        thinking = self._thinking(asked)
        body |= thinking
        if asked.temperature is not None and not thinking:
            body["temperature"] = min(1.0, asked.temperature)
        schema = asked.schema()
        if schema is not None and asked.known.format == "tool":
            tool = {"name": call.schema_name, "input_schema": schema}
            body["tools"] = [tool]
            body["tool_choice"] = {"type": "tool", "name": call.schema_name}
        elif schema is not None:
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if asked.known.stream:
            body["stream"] = True
        return body

    def _thinking(self, asked: Prepared) -> dict[str, object]:
        effort = asked.effort
        if not effort or effort in ("none", "off") or not asked.known.effort:
            return {}
        share = _SHARES.get(effort, 1.0)
        room = max(_LEAST_THINKING, int(asked.known.room * share))
        limit = asked.limit or asked.call.max_tokens
        if room >= limit:
            return {}
        return {"thinking": {"type": "enabled", "budget_tokens": room}}


def read(data: Mapping[str, Any]) -> Answer | None:
    """The reply; None where this is none."""
    content = data.get("content")
    if not isinstance(content, list) or not ("stop_reason" in data or data.get("role")):
        return None
    tool = ""
    for part in content:
        if isinstance(part, Mapping) and part.get("type") == "tool_use":
            tool = tool or as_json(part.get("input"))
    reason = data.get("stop_reason")
    finish = finish_of(reason or "")
    text = texts_of(content, "text")
    model = data.get("model")
    return Answer(
        text=text,
        thinking=texts_of(content, "thinking"),
        tool=tool,
        refusal=(text or "the model refused") if finish == REFUSAL else "",
        finish=finish,
        model=model if isinstance(model, str) else "",
        usage=anthropic_usage(data.get("usage")),
    )
