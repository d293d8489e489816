"""Bedrock's Converse API: one form for the models of many makers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import orjson
from yarl import URL

from ragassay.models.answer import Answer, finish_of, mapping, texts_of
from ragassay.models.dialects.anthropic import AnthropicMessages
from ragassay.models.dialects.base import Prepared
from ragassay.models.dialects.openai_chat import as_json
from ragassay.models.usage import bedrock_usage

ANTHROPIC = AnthropicMessages()


class BedrockConverse:
    """Converse. What only one maker's models know goes into additionalModelRequestFields."""

    formats: tuple[str, ...] = ("schema", "tool", "text")
    headers: Mapping[str, str] = {}

    def url(self, base: URL, model: str, *, stream: bool) -> URL:
        """The model is part of the address; the colon and slash of its id are escaped in it."""
        root = str(base).rstrip("/")
        return URL(f"{root}/model/{quote(model, safe='')}/converse", encoded=True)

    def models_url(self, base: URL) -> URL:
        """Bedrock lists its models elsewhere, under another right: nothing is there."""
        return base / "models"

    def body(self, asked: Prepared) -> dict[str, object]:
        """The request."""
        call = asked.call
        settings: dict[str, object] = {}
        if asked.limit is not None and asked.known.limit:
            settings["maxTokens"] = asked.limit
        if asked.temperature is not None:
            settings["temperature"] = asked.temperature
        body: dict[str, object] = {
            "messages": [
                {"role": role, "content": [{"text": text}]} for role, text in asked.turns()
            ],
            "inferenceConfig": settings,
        }
        if asked.system:
            body["system"] = [{"text": asked.system}]
        schema = asked.schema()
        if schema is not None and asked.known.format == "tool":
            spec = {"name": call.schema_name, "inputSchema": {"json": schema}}
            body["toolConfig"] = {
                "tools": [{"toolSpec": spec}],
                "toolChoice": {"tool": {"name": call.schema_name}},
            }
        elif schema is not None:
            text = orjson.dumps(schema, default=dict).decode()
            form = {"jsonSchema": {"name": call.schema_name, "schema": text}}
            body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": form}}
        thinking = self._thinking(asked)
        if thinking:
            body["additionalModelRequestFields"] = thinking
        if "thinking" in thinking:
            settings.pop("temperature", None)
        return body

    def budget(self, asked: Prepared) -> int:
        """Of the models that have those of Anthropic's own API."""
        return ANTHROPIC.budget(asked) if "claude" in asked.model else 0

    def _thinking(self, asked: Prepared) -> dict[str, object]:
        if not asked.effort or not asked.known.effort:
            return {}
        if "claude" in asked.model:
            return ANTHROPIC.thinking(asked)
        return {"reasoning_effort": asked.effort}


def read(data: Mapping[str, Any]) -> Answer | None:
    """The reply; None where this is none."""
    message = mapping(mapping(data.get("output")).get("message"))
    content = message.get("content")
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    thoughts: list[str] = []
    tool = ""
    for part in content:
        if not isinstance(part, Mapping):
            continue
        if isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif "citationsContent" in part:  # a text with its sources
            texts.append(texts_of(mapping(part["citationsContent"]).get("content"), "text"))
        elif "reasoningContent" in part:
            thought = mapping(mapping(part["reasoningContent"]).get("reasoningText")).get("text")
            thoughts.append(thought if isinstance(thought, str) else "")
        elif "toolUse" in part:
            # A tool that the provider itself runs comes before ours.
            tool = as_json(mapping(part["toolUse"]).get("input"))
    return Answer(
        text="".join(texts),
        thinking="".join(thoughts),
        tool=tool,
        finish=finish_of(data.get("stopReason") or ""),
        usage=bedrock_usage(data.get("usage")),
    )
