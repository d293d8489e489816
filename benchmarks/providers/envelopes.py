"""Recorded replies with a verdict in place of what was said: the envelope stays as it was.

The verdict takes the place where a person finds the answer: the content, the last of its parts,
what stands behind recorded thoughts or within a recorded fence, the arguments of the tool that was
called; in a stream it is shared out over the recorded pieces.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

from benchmarks.providers.oracle import chunks
from benchmarks.providers.recorded import Exchange

_Json = dict[str, Any]
_FENCE = re.compile(r"```(?:json)?\n.*?```", re.S)


def filled(exchange: Exchange, verdict: str) -> bytes | None:
    """The recorded body with the verdict in it; None where no answer stands in it."""
    if isinstance(exchange.body, dict):
        body = copy.deepcopy(exchange.body)
        is_filled = _fill(body, exchange, verdict)
        return json.dumps(body).encode() if is_filled else None
    return _stream(exchange, verdict)


def _spoken(recorded: str, verdict: str) -> str:
    """The verdict in the form in which the recorded text was: behind thoughts, within a fence."""
    thoughts, mark, _ = recorded.rpartition("</think>")
    if _FENCE.search(recorded):
        verdict = f"```json\n{verdict}\n```"
    return f"{thoughts}{mark}\n{verdict}" if mark else verdict


def _put(place: Any, name: Any, verdict: str, *, as_object: bool = False) -> bool:
    """Put the verdict there. as_object: where the arguments of a tool are JSON and no text."""
    recorded = place[name]
    if as_object and not isinstance(recorded, str):
        try:
            place[name] = json.loads(verdict)
        except ValueError:  # a verdict that was cut is no object
            return False
    else:
        place[name] = _spoken(recorded or "", verdict)
    return True


def _fill(body: _Json, exchange: Exchange, verdict: str) -> bool:
    if "choices" in body:
        return _fill_chat(body, verdict)
    output = body.get("output")
    if isinstance(output, list):
        return _fill_responses(output, verdict)
    if exchange.dialect == "gemini":
        return _fill_gemini(body, verdict)
    if isinstance(output, dict):
        return _fill_converse(output["message"]["content"], verdict)
    message = body.get("message")
    if isinstance(message, dict):
        return _fill_message(message, verdict)
    if isinstance(body.get("content"), list):
        return _fill_parts(body["content"], verdict, "input")
    for place in (*(body.get("outputs") or []), body):
        for name in ("text", "generation"):
            if isinstance(place.get(name), str):
                return _put(place, name, verdict)
    return False


def _fill_chat(body: _Json, verdict: str) -> bool:
    choice = body["choices"][0] if body["choices"] else {}
    message = choice.get("message")
    if message is None:
        return "text" in choice and _put(choice, "text", verdict)
    called = message.get("function_call") or {}
    if called.get("arguments"):
        return _put(called, "arguments", verdict, as_object=True)
    return _fill_message(message, verdict)


def _fill_message(message: _Json, verdict: str) -> bool:
    for call in message.get("tool_calls") or []:
        function, custom = call.get("function") or {}, call.get("custom") or {}
        if function.get("arguments") or isinstance(function.get("arguments"), dict):
            return _put(function, "arguments", verdict, as_object=True)
        if custom.get("input"):
            return _put(custom, "input", verdict)
    content = message.get("content")
    if isinstance(content, list):
        return _fill_parts(content, verdict, "")
    if content:
        return _put(message, "content", verdict)
    for name in ("reasoning_content", "reasoning"):
        if message.get(name):
            return _put(message, name, verdict)
    return False


def _fill_parts(parts: list[_Json], verdict: str, arguments: str) -> bool:
    for part in parts:
        if arguments and part.get("type") == "tool_use":
            return _put(part, arguments, verdict, as_object=True)
    for part in reversed(parts):
        if part.get("type", "text") == "text":
            # What was said in parts is one text: the others would stand before the verdict.
            return _put(part, "text", verdict)
    return False


def _fill_responses(output: list[_Json], verdict: str) -> bool:
    for item in output:
        for name in ("arguments", "input"):
            if item["type"] in ("function_call", "custom_tool_call") and item.get(name):
                return _put(item, name, verdict)
    for item in reversed(output):
        for part in reversed(item.get("content") or []):
            if item["type"] == "message" and part.get("type") == "output_text":
                return _put(part, "text", verdict)
    return False


def _fill_gemini(body: _Json, verdict: str) -> bool:
    candidate = (body.get("candidates") or [{}])[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    for part in parts:
        if "args" in (part.get("functionCall") or {}):
            return _put(part["functionCall"], "args", verdict, as_object=True)
    for part in reversed(parts):
        if part.get("text") and not part.get("thought"):
            return _put(part, "text", verdict)
    return False


def _fill_converse(parts: list[_Json], verdict: str) -> bool:
    calls = [part["toolUse"] for part in parts if "toolUse" in part]
    if calls:
        # A tool that the provider runs itself comes first.
        return _put(calls[-1], "input", verdict, as_object=True)
    cited: list[_Json] = []
    thoughts: list[_Json] = []
    for part in parts:
        cited += (part.get("citationsContent") or {}).get("content") or []
        thoughts.append((part.get("reasoningContent") or {}).get("reasoningText") or {})
    for place in (*reversed(parts), *reversed(cited), *thoughts):
        if place.get("text"):
            return _put(place, "text", verdict)
    return False


# -- streams

_Place = tuple[Any, Any]  # what holds a piece of the answer, and under which name


def _stream(exchange: Exchange, verdict: str) -> bytes | None:
    """The stream with the verdict in its pieces, event by event."""
    recorded = list(chunks(exchange.body))
    pieces = [place for chunk in recorded for place in _places(chunk)]
    places = [place for place in pieces if place[1] in _ARGUMENTS] or pieces
    step = -(-len(verdict) // max(1, len(places)))
    for number, (holder, name) in enumerate(places):
        holder[name] = verdict[number * step : (number + 1) * step]
    # The whole of a response comes once more at its end; Gemini sends a call in one piece.
    ends = [_fill_end(chunk, verdict) for chunk in recorded]
    if not places and not any(ends):
        return None
    if isinstance(exchange.body, list):
        return json.dumps(recorded).encode()
    return _rewritten(exchange.body, recorded)


def _fill_end(chunk: _Json, verdict: str) -> bool:
    if str(chunk.get("type")) in ("response.completed", "response.incomplete"):
        return _fill_responses(chunk["response"]["output"], verdict)
    has_call = "candidates" in chunk and "functionCall" in json.dumps(chunk)
    return has_call and _fill_gemini(chunk, verdict)


_ARGUMENTS = ("arguments", "partial_json")


def _places(chunk: _Json) -> list[_Place]:
    """Where this event holds a piece of the answer, be it a text or an argument of the first
    tool.
    """
    for find in _FINDERS:
        places = find(chunk)
        if places:
            return places
    return []


def _in_chat(chunk: _Json) -> list[_Place]:
    for choice in (chunk.get("choices") or [])[:1]:
        delta = choice.get("delta") or {}
        for call in delta.get("tool_calls") or []:
            is_first = not call.get("index")
            if is_first and isinstance((call.get("function") or {}).get("arguments"), str):
                return [(call["function"], "arguments")]
        if isinstance(delta.get("content"), str) and delta["content"]:
            return [(delta, "content")]
    return []


def _in_responses(chunk: _Json) -> list[_Place]:
    return [(chunk, "delta")] if chunk.get("type") == "response.output_text.delta" else []


def _in_message(chunk: _Json) -> list[_Place]:
    delta = chunk.get("delta")
    if chunk.get("type") != "content_block_delta" or not isinstance(delta, dict):
        return []
    return [(delta, name) for name in ("text", "partial_json") if name in delta]


def _in_gemini(chunk: _Json) -> list[_Place]:
    candidate = (chunk.get("candidates") or [{}])[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    return [(part, "text") for part in parts if part.get("text") and not part.get("thought")]


def _in_ollama(chunk: _Json) -> list[_Place]:
    message = chunk.get("message") or {}
    return [(message, "content")] if "done" in chunk and message.get("content") else []


def _in_cohere(chunk: _Json) -> list[_Place]:
    if chunk.get("event_type") == "text-generation":
        return [(chunk, "text")]
    if chunk.get("type") == "content-delta":
        content = chunk["delta"]["message"]["content"]
        return [(content, "text")] if "text" in content else []
    if chunk.get("type") == "tool-call-delta" and chunk.get("index") == 0:
        return [(chunk["delta"]["message"]["tool_calls"]["function"], "arguments")]
    return []


_FINDERS: tuple[Callable[[_Json], list[_Place]], ...] = (
    _in_chat,
    _in_responses,
    _in_cohere,
    _in_message,
    _in_gemini,
    _in_ollama,
)


def _rewritten(text: str, recorded: list[_Json]) -> bytes:
    """The stream's text with its objects in place of those that it had."""
    left = iter(recorded)
    lines = []
    for line in text.splitlines():
        start = line.find("{")
        field = line[:start].strip() if start >= 0 else line
        is_object = start >= 0 and field in ("", "data:", "error: ", "error:")
        if is_object and _is_json(line[start:]):
            line = line[:start] + json.dumps(next(left))
        lines.append(line)
    return "\n".join([*lines, ""]).encode()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
