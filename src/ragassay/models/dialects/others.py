"""Replies in forms that we do not ask for, and that servers behind a gateway give all the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragassay.models.answer import Answer, finish_of, first_mapping, mapping, texts_of
from ragassay.models.dialects.openai_chat import as_json
from ragassay.models.usage import cohere_usage, ollama_usage, openai_usage, text_usage


def read_responses(data: Mapping[str, Any]) -> Answer | None:
    """A reply of OpenAI's Responses API."""
    output = data.get("output")
    if not isinstance(output, list):
        return None
    texts: list[str] = []
    thoughts: list[str] = []
    refusals: list[str] = []
    tool = ""
    for item in output:
        if not isinstance(item, Mapping):
            continue
        kind = item.get("type")
        if kind == "message":
            texts.append(texts_of(item.get("content"), "output_text", "text"))
            refusals += _refusals(item.get("content"))
        elif kind == "reasoning":
            thoughts.append(texts_of(item.get("summary"), "summary_text"))
            thoughts.append(texts_of(item.get("content"), "reasoning_text"))
        elif kind in ("function_call", "custom_tool_call"):
            tool = tool or as_json(item.get("arguments", item.get("input")))
    reason = mapping(data.get("incomplete_details")).get("reason") or data.get("status")
    model = data.get("model")
    return Answer(
        text="".join(texts),
        thinking="".join(thoughts),
        tool=tool,
        refusal="".join(refusals),
        finish=finish_of(reason or ""),
        model=model if isinstance(model, str) else "",
        usage=openai_usage(data.get("usage")),
    )


def _refusals(content: object) -> list[str]:
    parts = content if isinstance(content, list) else []
    refusals = [part.get("refusal") for part in parts if isinstance(part, Mapping)]
    return [refusal for refusal in refusals if isinstance(refusal, str)]


def read_text(data: Mapping[str, Any]) -> Answer | None:
    """A reply that is a text beside its end, as the models behind Bedrock's older API give it, each
    under a name of its own, and the first version of Cohere's.
    """
    place = data
    for name in ("outputs", "results"):  # Mistral's and Amazon's models
        place = first_mapping(data.get(name)) or place
    named = [place.get(name) for name in ("text", "generation", "outputText", "completion")]
    text = next((value for value in named if isinstance(value, str)), None)
    if text is None:
        return None
    reasons = ("finish_reason", "stop_reason", "completionReason")
    called = first_mapping(data.get("tool_calls")).get("parameters")
    return Answer(
        text=text,
        tool=as_json(called),
        finish=finish_of(next((place[name] for name in reasons if name in place), "")),
        usage=cohere_usage(data.get("meta")) or text_usage(data),
    )


def read_ollama(data: Mapping[str, Any]) -> Answer | None:
    """A reply of Ollama's own API."""
    message = data.get("message")
    if not isinstance(message, Mapping) or "done" not in data:
        return None
    thinking, model = message.get("thinking"), data.get("model")
    called = mapping(first_mapping(message.get("tool_calls")).get("function"))
    return Answer(
        text=texts_of(message.get("content"), "text"),
        thinking=thinking if isinstance(thinking, str) else "",
        tool=as_json(called.get("arguments")),
        finish=finish_of(data.get("done_reason") or ""),
        model=model if isinstance(model, str) else "",
        usage=ollama_usage(data),
    )
