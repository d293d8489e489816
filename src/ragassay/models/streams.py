"""A reply that came as a stream, put together into the object that it would have been at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ragassay.models.answer import first_mapping, mapping
from ragassay.models.server_reply import parse_json

Chunk = Mapping[str, Any]


_DONE = re.compile(rb"^data: ?\[DONE\]", re.M)
BROKEN_OFF = "the stream broke off before the reply began"


def from_stream(body: bytes) -> Mapping[str, Any] | None:
    """The reply of server-sent events, of JSON lines or of a JSON array of chunks; None where the
    body is none of these. A stream that broke off is a reply that was cut, or, where no text had
    come yet, an error.
    """
    chunks = list(_chunks(body))
    if not chunks:
        return None
    failed = next((chunk for chunk in chunks if chunk.get("error")), None)
    if failed is not None:
        return failed
    for recognizes, join in _FORMS:
        if any(recognizes(chunk) for chunk in chunks):
            return join(chunks, _DONE.search(body) is not None)
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
            field, _, line = line.partition(b":")
            # Errors come in a field of their own from llama.cpp.
            if field not in (b"data", b"error"):
                continue
        value = parse_json(line.strip())
        if isinstance(value, Mapping):
            yield value


def _whole_or_broken(reply: Mapping[str, Any], texts: Iterable[object]) -> Mapping[str, Any]:
    """The reply, or the error that it is where it ended before any of these texts came."""
    return reply if any(texts) else {"error": {"message": BROKEN_OFF}}


class _Calls:
    """The arguments of the tool calls of a stream, in which they come in pieces."""

    def __init__(self) -> None:
        self._pieces: dict[object, list[str]] = {}

    def add(self, index: object, arguments: object) -> None:
        """A piece of the call of this index."""
        if isinstance(arguments, str):
            self._pieces.setdefault(str(index), []).append(arguments)

    def arguments(self) -> list[str]:
        """Those of each call."""
        return ["".join(pieces) for pieces in self._pieces.values()]


# -- chat completions


def _is_chat(chunk: Chunk) -> bool:
    return isinstance(chunk.get("choices"), list)


_DELTA_TEXTS = ("content", "reasoning_content", "reasoning", "refusal")


def _chat(chunks: Iterable[Chunk], is_done: bool) -> Mapping[str, Any]:
    texts: dict[str, list[str]] = {name: [] for name in _DELTA_TEXTS}
    calls = _Calls()
    reply: dict[str, Any] = {"model": "", "usage": None}
    finish: object = None
    for chunk in chunks:
        reply["model"] = reply["model"] or chunk.get("model") or ""
        groq = mapping(chunk.get("x_groq")).get("usage")
        reply["usage"] = _fuller(reply["usage"], chunk.get("usage") or groq)
        choice = first_mapping(chunk.get("choices"))
        delta = mapping(choice.get("delta") or choice.get("message"))
        finish = choice.get("finish_reason") or finish
        for name in _DELTA_TEXTS:
            texts[name] += _texts(delta.get(name))
        _add_calls(calls, delta)
    message: dict[str, Any] = {name: "".join(parts) for name, parts in texts.items()}
    message["tool_calls"] = [{"function": {"arguments": each}} for each in calls.arguments()]
    if finish is None and not is_done:
        return _whole_or_broken(_chat_reply(reply, message, "length"), message.values())
    return _chat_reply(reply, message, finish)


def _chat_reply(reply: Mapping[str, Any], message: object, finish: object) -> Mapping[str, Any]:
    return {**reply, "choices": [{"message": message, "finish_reason": finish}]}


def _add_calls(calls: _Calls, delta: Mapping[str, Any]) -> None:
    listed = delta.get("tool_calls")
    for call in listed if isinstance(listed, list) else []:
        called = mapping(mapping(call).get("function"))
        calls.add(mapping(call).get("index", 0), called.get("arguments"))
    calls.add("function_call", mapping(delta.get("function_call")).get("arguments"))


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


_RESPONSE_TEXTS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "thought",
    "response.reasoning_summary_text.delta": "thought",
}


def _response(chunks: Iterable[Chunk], is_done: bool) -> Mapping[str, Any]:
    texts: dict[str, list[str]] = {name: [] for name in _RESPONSE_TEXTS.values()}
    calls = _Calls()
    for chunk in chunks:
        kind = str(chunk.get("type"))
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            return mapping(chunk.get("response"))
        if kind in _RESPONSE_TEXTS:
            texts[_RESPONSE_TEXTS[kind]] += _texts(chunk.get("delta"))
        elif kind == "response.function_call_arguments.delta":
            calls.add(chunk.get("item_id"), chunk.get("delta"))
    said = {name: "".join(parts) for name, parts in texts.items()}
    content = [{"type": "output_text", "text": said["text"]}, {"refusal": said["refusal"] or None}]
    output: list[Mapping[str, Any]] = [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": said["thought"]}]},
        {"type": "message", "content": content},
    ]
    output += [{"type": "function_call", "arguments": each} for each in calls.arguments()]
    # The whole reply comes last; where it does not, the stream broke off.
    status = "completed" if is_done else "incomplete"
    return _whole_or_broken(
        {"output": output, "status": status}, [*said.values(), *calls.arguments()]
    )


# -- Anthropic's messages


def _is_message(chunk: Chunk) -> bool:
    return chunk.get("type") in ("message_start", "content_block_delta", "message_delta")


def _message(chunks: Iterable[Chunk], is_done: bool) -> Mapping[str, Any]:
    reply: dict[str, Any] = {"role": "assistant", "stop_reason": None}
    usage: dict[str, Any] = {}
    blocks: dict[str, dict[str, Any]] = {}
    for chunk in chunks:
        kind = chunk.get("type")
        if kind == "message_start":
            start = mapping(chunk.get("message"))
            reply["model"] = start.get("model")
            usage |= mapping(start.get("usage"))
        elif kind == "content_block_start":
            block = mapping(chunk.get("content_block"))
            blocks[str(chunk.get("index"))] = {"type": block.get("type", "text"), "parts": []}
        elif kind == "content_block_delta":
            block = blocks.setdefault(str(chunk.get("index")), {"type": "text", "parts": []})
            delta = mapping(chunk.get("delta"))
            for name in ("text", "thinking", "partial_json"):
                block["parts"] += _texts(delta.get(name))
        elif kind == "message_delta":
            reply["stop_reason"] = mapping(chunk.get("delta")).get("stop_reason")
            usage |= mapping(chunk.get("usage"))
        elif kind == "message_stop":
            is_done = True
    reply |= {"usage": usage, "content": [_block(block) for block in blocks.values()]}
    if reply["stop_reason"] is None and not is_done:
        reply["stop_reason"] = "max_tokens"
        return _whole_or_broken(reply, ["".join(block["parts"]) for block in blocks.values()])
    return reply


def _block(block: Mapping[str, Any]) -> dict[str, Any]:
    text = "".join(block["parts"])
    if block["type"] == "tool_use":
        return {"type": "tool_use", "input": text}
    name = "thinking" if block["type"] == "thinking" else "text"
    return {"type": block["type"], name: text}


# -- Gemini


def _is_gemini(chunk: Chunk) -> bool:
    return "candidates" in chunk or "usageMetadata" in chunk


def _gemini(chunks: Iterable[Chunk], is_done: bool) -> Mapping[str, Any]:
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
    is_cut = finish is None and not is_done and "promptFeedback" not in reply
    candidate = {"content": {"parts": parts}, "finishReason": "MAX_TOKENS" if is_cut else finish}
    reply["candidates"] = [candidate] if parts or finish else []
    return _whole_or_broken(reply, parts) if is_cut else reply


# -- Ollama and Cohere


def _is_ollama(chunk: Chunk) -> bool:
    return "done" in chunk and "message" in chunk


def _ollama(chunks: Iterable[Chunk], is_done: bool) -> Mapping[str, Any]:
    last: Mapping[str, Any] = {}
    texts: dict[str, list[str]] = {"content": [], "thinking": []}
    calls: list[object] = []
    for chunk in chunks:
        last = {**last, **chunk}
        message = mapping(chunk.get("message"))
        more = message.get("tool_calls")
        calls += more if isinstance(more, list) else []
        for name, parts in texts.items():
            parts += _texts(message.get(name))
    message = {name: "".join(parts) for name, parts in texts.items()}
    reply = {**last, "message": {**message, "tool_calls": calls}}
    if last.get("done") or is_done:
        return reply
    return _whole_or_broken({**reply, "done_reason": "length"}, [*message.values(), calls])


def _is_cohere(chunk: Chunk) -> bool:
    return chunk.get("type") in ("message-start", "content-delta", "message-end")


def _cohere(chunks: Iterable[Chunk], is_done: bool) -> Mapping[str, Any]:
    texts: dict[str, list[str]] = {"text": [], "thinking": []}
    calls = _Calls()
    end: Mapping[str, Any] = {}
    for chunk in chunks:
        message = mapping(mapping(chunk.get("delta")).get("message"))
        if chunk.get("type") == "content-delta":
            for name, parts in texts.items():
                parts += _texts(mapping(message.get("content")).get(name))
        elif chunk.get("type") in ("tool-call-start", "tool-call-delta"):
            called = mapping(mapping(message.get("tool_calls")).get("function"))
            calls.add(chunk.get("index"), called.get("arguments"))
        elif chunk.get("type") == "message-end":
            end, is_done = mapping(chunk.get("delta")), True
    content = [{"type": name, name: "".join(parts)} for name, parts in texts.items()]
    arguments = calls.arguments()
    reply = {
        "message": {
            "content": content,
            "tool_calls": [{"function": {"arguments": each}} for each in arguments],
        },
        "finish_reason": end.get("finish_reason") if is_done else "MAX_TOKENS",
        "usage": end.get("usage"),
    }
    return reply if is_done else _whole_or_broken(reply, [*texts["text"], *arguments])


def _is_first_cohere(chunk: Chunk) -> bool:
    return "event_type" in chunk


def _first_cohere(chunks: Iterable[Chunk], is_done: bool) -> Mapping[str, Any]:
    """Of the first version of the API."""
    texts: list[str] = []
    end: Mapping[str, Any] = {"finish_reason": "COMPLETE" if is_done else "MAX_TOKENS"}
    for chunk in chunks:
        if chunk.get("event_type") == "text-generation":
            texts += _texts(chunk.get("text"))
        elif chunk.get("event_type") == "stream-end":
            end = {"meta": mapping(chunk.get("response")).get("meta"), **chunk}
    return _whole_or_broken({**end, "text": "".join(texts)}, [*texts, "event_type" in end])


_FORMS = (
    (_is_response, _response),
    (_is_chat, _chat),
    (_is_message, _message),
    (_is_gemini, _gemini),
    (_is_ollama, _ollama),
    (_is_cohere, _cohere),
    (_is_first_cohere, _first_cohere),
)
