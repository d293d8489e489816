"""A reply that came as a stream, put together into the object that it would have been at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragassay.models.answer import first_mapping, mapping
from ragassay.models.server_reply import parse_json

Chunk = Mapping[str, Any]


def from_stream(body: bytes) -> Mapping[str, Any] | None:
    """The reply of server-sent events, of JSON lines or of a JSON array of chunks; None where the
    body is none of these. A stream that breaks off has no reason of its end.
    """
    chunks = list(_chunks(body))
    if not chunks:
        return None
    failed = next((chunk for chunk in chunks if chunk.get("error")), None)
    if failed is not None:
        return failed
    for recognizes, join in _FORMS:
        if any(recognizes(chunk) for chunk in chunks):
            return join(chunks)
    return None


def _chunks(body: bytes) -> Iterator[Chunk]:
    text = body.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text.startswith(b"["):
        values = parse_json(text)
        for value in values if isinstance(values, list) else []:
            yield mapping(value)
        return
    is_events = text.startswith((b"data:", b"event:", b":", b"id:", b"retry:"))
    for line in text.splitlines():
        if is_events:
            if not line.startswith(b"data:"):
                continue
            line = line[len(b"data:") :]
        value = parse_json(line.strip())
        if isinstance(value, Mapping):
            yield value


# -- chat completions


def _is_chat(chunk: Chunk) -> bool:
    return isinstance(chunk.get("choices"), list)


_DELTA_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def _chat(chunks: Iterable[Chunk]) -> Mapping[str, Any]:
    texts: dict[str, list[str]] = {name: [] for name in _DELTA_TEXTS}
    arguments: list[str] = []
    reply: dict[str, Any] = {"model": "", "usage": None}
    finish: object = None
    for chunk in chunks:
        reply["model"] = reply["model"] or chunk.get("model") or ""
        reply["usage"] = _fuller(reply["usage"], chunk.get("usage"))
        choice = first_mapping(chunk.get("choices"))
        delta = mapping(choice.get("delta") or choice.get("message"))
        finish = choice.get("finish_reason") or finish
        for name in _DELTA_TEXTS:
            texts[name] += _texts(delta.get(name))
        called = mapping(first_mapping(delta.get("tool_calls")).get("function"))
        arguments += _texts(called.get("arguments"))
    message: dict[str, Any] = {name: "".join(parts) for name, parts in texts.items()}
    if arguments:
        message["tool_calls"] = [{"function": {"arguments": "".join(arguments)}}]
    return {**reply, "choices": [{"message": message, "finish_reason": finish}]}


def _fuller(before: object, usage: object) -> object:
    """The later of two counts; one without the tokens of the reply is no count yet."""
    counts = mapping(usage)
    written = counts.get("completion_tokens")
    return usage if counts and (written is not None or before is None) else before


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    texts: list[str] = []
    for part in value if isinstance(value, list) else []:
        text = mapping(part).get("text")
        texts += [text] if isinstance(text, str) else []
    return texts


# -- the Responses API


def _is_response(chunk: Chunk) -> bool:
    return str(chunk.get("type", "")).startswith("response.")


def _response(chunks: Iterable[Chunk]) -> Mapping[str, Any]:
    texts: list[str] = []
    for chunk in chunks:
        kind = chunk.get("type")
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            return mapping(chunk.get("response"))
        if kind == "response.output_text.delta":
            texts += _texts(chunk.get("delta"))
    content = [{"type": "output_text", "text": "".join(texts)}]
    return {"output": [{"type": "message", "content": content}]}


# -- Anthropic's messages


def _is_message(chunk: Chunk) -> bool:
    return chunk.get("type") in ("message_start", "content_block_delta", "message_delta")


def _message(chunks: Iterable[Chunk]) -> Mapping[str, Any]:
    reply: dict[str, Any] = {"role": "assistant", "stop_reason": None}
    usage: dict[str, Any] = {}
    blocks: dict[object, dict[str, Any]] = {}
    for chunk in chunks:
        kind = chunk.get("type")
        if kind == "message_start":
            start = mapping(chunk.get("message"))
            reply["model"] = start.get("model")
            usage |= mapping(start.get("usage"))
        elif kind == "content_block_start":
            block = mapping(chunk.get("content_block"))
            blocks[chunk.get("index")] = {"type": block.get("type", "text"), "parts": []}
        elif kind == "content_block_delta":
            block = blocks.setdefault(chunk.get("index"), {"type": "text", "parts": []})
            delta = mapping(chunk.get("delta"))
            for name in ("text", "thinking", "partial_json"):
                block["parts"] += _texts(delta.get(name))
        elif kind == "message_delta":
            reply["stop_reason"] = mapping(chunk.get("delta")).get("stop_reason")
            usage |= mapping(chunk.get("usage"))
    return {**reply, "usage": usage, "content": [_block(block) for block in blocks.values()]}


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    text = "".join(block["parts"])
    if block["type"] == "tool_use":
        return {"type": "tool_use", "input": parse_json(text.encode())}
    name = "thinking" if block["type"] == "thinking" else "text"
    return {"type": block["type"], name: text}


# -- Gemini


def _is_gemini(chunk: Chunk) -> bool:
    return "candidates" in chunk or "usageMetadata" in chunk


def _gemini(chunks: Iterable[Chunk]) -> Mapping[str, Any]:
    parts: list[object] = []
    finish: object = None
    reply: dict[str, Any] = {}
    for chunk in chunks:
        candidate = first_mapping(chunk.get("candidates"))
        more = mapping(candidate.get("content")).get("parts")
        parts += more if isinstance(more, list) else []
        finish = candidate.get("finishReason") or finish
        for name in ("usageMetadata", "modelVersion", "promptFeedback"):
            if chunk.get(name):
                reply[name] = chunk[name]
    return {**reply, "candidates": [{"content": {"parts": parts}, "finishReason": finish}]}


# -- Ollama and Cohere


def _is_ollama(chunk: Chunk) -> bool:
    return "done" in chunk and "message" in chunk


def _ollama(chunks: Iterable[Chunk]) -> Mapping[str, Any]:
    last: Mapping[str, Any] = {}
    texts: dict[str, list[str]] = {"content": [], "thinking": []}
    calls: object = None
    for chunk in chunks:
        last = {**last, **chunk}
        message = mapping(chunk.get("message"))
        calls = message.get("tool_calls") or calls
        for name, parts in texts.items():
            parts += _texts(message.get(name))
    message = {name: "".join(parts) for name, parts in texts.items()}
    return {**last, "message": {**message, "tool_calls": calls}}


def _is_cohere(chunk: Chunk) -> bool:
    return chunk.get("type") in ("message-start", "content-delta", "message-end") or (
        "event_type" in chunk
    )


def _cohere(chunks: Iterable[Chunk]) -> Mapping[str, Any]:
    texts: list[str] = []
    end: Mapping[str, Any] = {}
    for chunk in chunks:
        if chunk.get("event_type") == "text-generation":  # the first version of the API
            texts += _texts(chunk.get("text"))
        elif chunk.get("type") == "content-delta":
            message = mapping(mapping(chunk.get("delta")).get("message"))
            texts += _texts(mapping(message.get("content")).get("text"))
        elif chunk.get("type") == "message-end":
            end = mapping(chunk.get("delta"))
        elif chunk.get("event_type") == "stream-end":
            end = {"finish_reason": chunk.get("finish_reason")}
    return {
        "message": {"content": "".join(texts)},
        "finish_reason": end.get("finish_reason"),
        "usage": end.get("usage"),
    }


_FORMS = (
    (_is_response, _response),
    (_is_chat, _chat),
    (_is_message, _message),
    (_is_gemini, _gemini),
    (_is_ollama, _ollama),
    (_is_cohere, _cohere),
)
