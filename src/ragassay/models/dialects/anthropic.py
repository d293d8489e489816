"""The Messages API of Anthropic."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from yarl import URL

from ragassay.models.answer import REFUSAL, Answer, finish_of, mapping, texts_of
from ragassay.models.capabilities import Capabilities
from ragassay.models.dialects.base import Prepared, with_path
from ragassay.models.dialects.openai_chat import as_json
from ragassay.models.thinking import budget_of
from ragassay.models.usage import anthropic_usage

_ADAPTIVE = re.compile(r"claude-(?:[a-z]+-)?(?:4[-.][6-9](?!\d)|[5-9](?!\d))|mythos")


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
        thinking = self.thinking(asked)
        body |= thinking
        if asked.temperature is not None and not thinking:
            body["temperature"] = min(1.0, asked.temperature)
        schema = asked.schema()
        if schema is not None and asked.known.format == "tool":
            tool = {"name": call.schema_name, "input_schema": schema}
            body["tools"] = [tool]
            # Who thinks may not be made to call it.
            forced = {"type": "tool", "name": call.schema_name}
            body["tool_choice"] = {"type": "auto"} if thinking else forced
        elif schema is not None:
            form = {"format": {"type": "json_schema", "schema": schema}}
            body["output_config"] = {**mapping(body.get("output_config")), **form}
        if asked.known.stream:
            body["stream"] = True
        return body

    def budget(self, asked: Prepared) -> int:
        """Tokens of thinking that are asked for by number."""
        return 0 if is_adaptive(asked.model, asked.known) else budget_of(asked.effort)

    def thinking(self, asked: Prepared) -> dict[str, object]:
        """The fields that say how much the model shall think: an effort, or to the models before
        4.6 a number of tokens.
        """
        if asked.effort in ("", "none") or not asked.known.effort:
            return {}
        if is_adaptive(asked.model, asked.known):
            effort = "low" if asked.effort == "minimal" else asked.effort
            return {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}
        limit, answer = asked.limit or asked.call.max_tokens, asked.call.max_tokens
        # Of a reply that the user limits, a quarter is left for the answer.
        budget = budget_of(asked.effort, max(limit - answer, limit - limit // 4))
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget else {}


def is_adaptive(model: str, known: Capabilities) -> bool:
    """Whether a model takes an effort in place of a number of tokens: as it was learnt, else by its
    name.
    """
    if known.adaptive is not None:
        return known.adaptive
    return _ADAPTIVE.search(model) is not None


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
