"""Chat completions: the protocol of OpenAI, which nearly every server speaks, each a bit apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yarl import URL

from ragassay.models.answer import (
    Answer,
    finish_of,
    first_mapping,
    first_of,
    mapping,
    texts_of,
)
from ragassay.models.dialects.base import Prepared, with_path
from ragassay.models.usage import openai_usage


class OpenAIChat:
    """Chat completions of OpenAI and of those who copied them."""

    formats: tuple[str, ...] = ("schema", "simple_schema", "object", "tool", "text")
    headers: Mapping[str, str] = {}

    def url(self, base: URL, model: str, *, stream: bool) -> URL:
        """One address for all models."""
        path = base.path.rstrip("/")
        return (
            base if path.endswith("/chat/completions") else with_path(base, "chat", "completions")
        )

    def models_url(self, base: URL) -> URL:
        """Where the models are listed."""
        if base.path.rstrip("/").endswith("/chat/completions"):
            base = base.parent.parent.with_query(base.query)
        return with_path(base, "models")

    def budget(self, asked: Prepared) -> int:
        """None is named."""
        return 0

    def body(self, asked: Prepared) -> dict[str, object]:
        """The request."""
        known = asked.known
        system = asked.system
        messages = [{"role": "system", "content": system}] if system else []
        messages += [{"role": role, "content": text} for role, text in asked.turns()]
        body: dict[str, object] = {"model": asked.model, "messages": messages}
        if asked.limit is not None and known.limit:
            body[known.limit] = asked.limit
        if asked.temperature is not None:
            body["temperature"] = asked.temperature
        if asked.seed is not None and asked.seed_name:
            body[asked.seed_name] = asked.seed
        body |= _form(asked)
        body |= _thinking(asked)
        if known.stream:
            body["stream"] = True
            if known.stream_usage:
                body["stream_options"] = {"include_usage": True}
        return body


def _form(asked: Prepared) -> dict[str, object]:
    """The fields that say what form the reply shall have."""
    call, form = asked.call, asked.known.format
    if call.schema is None or form == "text":
        return {}
    if form == "object":
        return {"response_format": {"type": "json_object"}}
    if form == "tool":
        function = {
            "name": call.schema_name,
            "description": "Gives the reply.",
            "parameters": asked.schema(),
        }
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": call.schema_name}},
        }
    schema: dict[str, object] = {"name": call.schema_name, "schema": asked.schema()}
    if form == "schema":
        schema = {"name": call.schema_name, "strict": True, "schema": asked.schema()}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def _thinking(asked: Prepared) -> dict[str, object]:
    """The fields that say how much the model shall think."""
    if asked.known.thinking_off:
        return {"enable_thinking": False}
    effort = asked.effort
    if not effort or not asked.known.effort:
        return {}
    is_off = effort == "none"
    if asked.style == "openrouter":
        return {"reasoning": {"enabled": False} if is_off else {"effort": effort}}
    if asked.style == "thinking_type":
        return {"thinking": {"type": "disabled" if is_off else "enabled"}}
    if asked.style == "enable_thinking":
        return {"enable_thinking": not is_off}
    if asked.style == "template":
        return {"chat_template_kwargs": {"enable_thinking": not is_off}}
    return {"reasoning_effort": effort}


def read(data: Mapping[str, Any]) -> Answer | None:
    """The reply; None where this is none."""
    choice = first_mapping(data.get("choices"))
    message = choice.get("message")
    if not isinstance(message, Mapping):
        # Completions of old, and what some servers give for a reply without content.
        if isinstance(choice.get("text"), str):
            message = {"content": choice["text"]}
        else:
            return None
    content = message.get("content")
    model = data.get("model")
    reason = choice.get("finish_reason")
    if _filtered(choice):
        reason = "content_filter"
    return Answer(
        text=texts_of(content, "text", "output_text"),
        thinking=_thoughts(message, content),
        tool=_tool(message) if "tool_calls" in message or "function_call" in message else "",
        refusal=_refusal(message, content),
        finish=finish_of(reason or ""),
        model=model if isinstance(model, str) else "",
        usage=openai_usage(data.get("usage")),
    )


def _thoughts(message: Mapping[str, Any], content: object) -> str:
    """What the model wrote before its answer, where the server keeps that apart."""
    named = first_of(message.get(n) for n in ("reasoning_content", "reasoning", "thinking"))
    if named:
        return named
    details = texts_of(message.get("reasoning_details"), "reasoning.text", "reasoning.summary")
    if details or isinstance(content, str):
        return details
    return texts_of(content, "thinking", "reasoning")


def _filtered(choice: Mapping[str, Any]) -> bool:
    """Whether a filter took the reply away: Azure says so beside an empty one."""
    error = mapping(mapping(choice.get("content_filter_results")).get("error"))
    return choice.get("message") is None and bool(error)


def _refusal(message: Mapping[str, Any], content: object) -> str:
    parts = texts_of(message.get("refusal"), "text")
    if parts:
        return parts
    for part in content if isinstance(content, list) else []:
        if isinstance(part, Mapping) and isinstance(part.get("refusal"), str):
            return str(part["refusal"])
    return ""


def _tool(message: Mapping[str, Any]) -> str:
    """The arguments of the first tool call that has any; a tool of one's own form takes a text."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        of_a_function = mapping(mapping(call).get("function")).get("arguments")
        given = as_json(of_a_function) or as_json(mapping(mapping(call).get("custom")).get("input"))
        if given:
            return given
    return as_json(mapping(message.get("function_call")).get("arguments"))


def as_json(arguments: object) -> str:
    """The arguments of a tool call as a text."""
    if isinstance(arguments, str):
        return arguments
    if not isinstance(arguments, Mapping):
        return ""
    import orjson

    return orjson.dumps(arguments, default=dict).decode()
