"""The second version of Cohere's chat API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yarl import URL

from ragassay.models.answer import Answer, finish_of, first_mapping, mapping, texts_of
from ragassay.models.dialects.base import Prepared, with_path
from ragassay.models.dialects.openai_chat import as_json
from ragassay.models.usage import cohere_usage


class CohereChat:
    """Chat. A schema makes the JSON object that is asked for strict."""

    formats: tuple[str, ...] = ("schema", "simple_schema", "object", "text")
    headers: Mapping[str, str] = {}

    def url(self, base: URL, model: str, *, stream: bool) -> URL:
        """One address for all models."""
        return base if base.path.endswith("/chat") else with_path(base, "chat")

    def models_url(self, base: URL) -> URL:
        """Where the models are listed: still in the first version."""
        root = base.parent if base.path.endswith("/chat") else base
        return with_path(root.parent / "v1" if root.name == "v2" else root, "models")

    def budget(self, asked: Prepared) -> int:
        """None is named."""
        return 0

    def body(self, asked: Prepared) -> dict[str, object]:
        """The request."""
        messages = [{"role": "system", "content": asked.system}] if asked.system else []
        messages += [{"role": role, "content": text} for role, text in asked.turns()]
        body: dict[str, object] = {"model": asked.model, "messages": messages, "stream": False}
        if asked.known.stream:
            body["stream"] = True
        if asked.limit is not None and asked.known.limit:
            body["max_tokens"] = asked.limit
        if asked.temperature is not None:
            body["temperature"] = asked.temperature
        if asked.seed is not None:
            body["seed"] = asked.seed
        if asked.call.schema is not None and asked.known.format != "text":
            form: dict[str, object] = {"type": "json_object"}
            schema = asked.schema()
            if schema is not None:
                form["json_schema"] = schema
            body["response_format"] = form
        if asked.effort and asked.known.effort:
            is_off = asked.effort == "none"
            body["thinking"] = {"type": "disabled" if is_off else "enabled"}
        return body


def read(data: Mapping[str, Any]) -> Answer | None:
    """The reply; None where this is none."""
    message = data.get("message")
    if not isinstance(message, Mapping) or "done" in data:
        return None
    content = message.get("content")
    calls = first_mapping(message.get("tool_calls"))
    if not isinstance(content, (list, str)) and not calls:
        return None
    return Answer(
        text=texts_of(content, "text"),
        thinking=texts_of(content, "thinking"),
        tool=as_json(mapping(calls.get("function")).get("arguments")),
        finish=finish_of(data.get("finish_reason") or ""),
        usage=cohere_usage(data.get("usage")),
    )
