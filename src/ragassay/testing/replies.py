"""Replies and faults of the local server: what each scripted word sends over the wire."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

from aiohttp import web

STATUS = re.compile(r"[1-5][0-9][0-9]")
"""A fault that is any HTTP status."""

UNREADABLE = frozenset({"empty", "html", "bad_json", "gzip", "truncated", "no_choices"})
"""Faults of status 200 with no answer in them."""

_CHUNK = 2**20


def error(
    status: int,
    message: str,
    code: str,
    param: str | None = None,
    headers: dict[str, str] | None = None,
) -> web.Response:
    """An error in the form of the OpenAI protocol."""
    body = {"message": message, "type": code, "code": code, "param": param}
    return web.json_response({"error": body}, status=status, headers=headers)


def rejection(body: dict[str, Any], rejects: set[str]) -> web.Response | None:
    """The error for a request with a field that the server does not take; None where it is fine.

    rejects: "response_format", "json_schema" (only json_object is known), "json_object" (only a
    schema is), "schema_parts" (enumerations of numbers), "max_tokens", "max_completion_tokens",
    "temperature", "seed", "system", "tools", "stream_options", "thinking" (unless it is switched
    off or the reply is a stream), "crash" (500 for a schema).
    """
    for name, (is_used, status, message, code) in _REJECTIONS.items():
        if name in rejects and is_used(body):
            param = name if name in body else None
            return error(status, message, code, param)
    return None


def _form(body: dict[str, Any]) -> str:
    return str((body.get("response_format") or {}).get("type", ""))


def _schema_text(body: dict[str, Any]) -> str:
    return json.dumps((body.get("response_format") or {}).get("json_schema"))


def _thinks_without_stream(body: dict[str, Any]) -> bool:
    return not body.get("stream") and body.get("enable_thinking") is not False


def _has_system(body: dict[str, Any]) -> bool:
    return any(message.get("role") == "system" for message in body.get("messages") or [])


def _enumerates_numbers(body: dict[str, Any]) -> bool:
    return '"integer", "enum"' in _schema_text(body)


def _used(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda body: name in body


_INVALID = "invalid_request_error"
_REJECTIONS: dict[str, tuple[Callable[[dict[str, Any]], bool], int, str, str]] = {
    "crash": (lambda body: _form(body) == "json_schema", 500, "Internal Server Error", "internal"),
    "response_format": (
        lambda body: bool(_form(body)),
        400,
        "'response_format' is not supported by this server",
        _INVALID,
    ),
    "json_schema": (
        lambda body: _form(body) == "json_schema",
        400,
        "response_format.type json_schema is unavailable",
        _INVALID,
    ),
    "json_object": (
        lambda body: _form(body) == "json_object",
        400,
        "'response_format.type' must be 'json_schema' or 'text'",
        _INVALID,
    ),
    "schema_parts": (
        _enumerates_numbers,
        400,
        "The provided JSON schema contains features not supported by xgrammar.",
        "BadRequestError",
    ),
    "tools": (_used("tools"), 400, "'tools' is not supported by this server", _INVALID),
    "max_tokens": (
        _used("max_tokens"),
        400,
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'"
        " instead.",
        "unsupported_parameter",
    ),
    "max_completion_tokens": (
        _used("max_completion_tokens"),
        422,
        "Extra inputs are not permitted: max_completion_tokens",
        "extra_forbidden",
    ),
    "temperature": (
        _used("temperature"),
        400,
        "Unsupported value: 'temperature' is not supported",
        "unsupported_value",
    ),
    "seed": (
        _used("seed"),
        400,
        "Unsupported value: 'seed' is not supported",
        "unsupported_value",
    ),
    "system": (_has_system, 400, "System role not supported", _INVALID),
    "stream_options": (
        _used("stream_options"),
        400,
        "Extra inputs are not permitted, field: 'stream_options'",
        _INVALID,
    ),
    "thinking": (
        _thinks_without_stream,
        400,
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "invalid_parameter_error",
    ),
}


def limit_of(body: dict[str, Any]) -> int | None:
    """The tokens that a reply may have, None where the request does not say."""
    limit = body.get("max_completion_tokens", body.get("max_tokens"))
    return limit if isinstance(limit, int) else None


def too_many_tokens(
    body: dict[str, Any], most: int | None, context: int | None
) -> web.Response | None:
    """The error for a request that asks for more tokens than there are."""
    limit = limit_of(body) or 0
    if most is not None and limit > most:
        message = (
            f"max_tokens is too large: {limit}. This model supports at most {most} completion"
            " tokens."
        )
        return error(400, message, "invalid_value", "max_tokens")
    prompt = len(json.dumps(body["messages"])) // 4
    if context is not None and prompt + limit > context:
        message = (
            f"This model's maximum context length is {context} tokens. However, you requested"
            f" {prompt + limit} tokens ({prompt} in the messages, {limit} in the completion)."
            " Please reduce the length of the messages or completion."
        )
        return error(400, message, "context_length_exceeded")
    return None


def with_thoughts(
    message: dict[str, Any],
    finish: str,
    written: int,
    limit: int | None,
    thinks: int,
    thoughts: str,
) -> tuple[dict[str, Any], str, int]:
    """The message, why it ends and its tokens, of a model that thinks so many tokens first. A reply
    that is cut off while it thinks holds no answer.
    """
    room = thinks + written if limit is None else limit
    shown = "Let me see what the passages say. " * (min(thinks, room) // 8)
    content = str(message.get("content") or "")
    is_cut = thinks + written > room
    if is_cut:
        content = content[: 4 * max(0, room - thinks)]
        finish = "length"
    if thoughts == "tags":
        end = "</think>" if room > thinks else ""
        message = {**message, "content": f"<think>{shown}{end}{content}"}
    else:
        message = {**message, "content": content or None}
        if thoughts == "field":
            message["reasoning_content"] = shown
    return message, finish, min(room, thinks + written)


async def refusal(request: web.Request, kind: str, argument: str) -> web.StreamResponse | None:
    """The reply of a fault that gives no answer; None for a fault of another kind."""
    if kind.startswith("429"):
        return _rate_limit(kind.removeprefix("429").removeprefix("-") or "seconds", argument)
    if kind in _ERRORS:
        status, message, code = _ERRORS[kind]
        return error(status, message, code)
    if kind == "echo_key":
        key = request.headers.get("Authorization", "")
        return error(401, f"Wrong key: {key}", "invalid_api_key")
    if kind == "redirect":
        location = argument or "http://127.0.0.1:9/v1"
        return web.Response(status=307, headers={"Location": location})
    if kind == "error200":
        upstream = {"message": "the upstream model failed", "code": int(argument or 502)}
        return web.json_response({"error": upstream})
    if STATUS.fullmatch(kind) and kind != "201":
        return _status(kind, argument)
    if kind == "reset":
        return _reset(request)
    # Longer than any deadline of a test; the client's disconnect cancels it.
    if kind == "silence":
        await asyncio.sleep(3600)
    return None


_ERRORS = {
    "quota": (429, "You exceeded your current quota", "insufficient_quota"),
    "too_long": (
        400,
        "This model's maximum context length is 4096 tokens, you requested 9000",
        "context_length_exceeded",
    ),
    "filter": (400, "The prompt was filtered", "content_filter"),
    "json_failed": (
        400,
        "Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more"
        " details.",
        "json_validate_failed",
    ),
}


def _rate_limit(form: str, argument: str) -> web.Response:
    """A rate limit, which says in one of several ways when to come back, or not at all."""
    headers: dict[str, str] = {}
    if form == "seconds":
        headers["Retry-After"] = argument or "1"
    elif form == "date":
        headers["Retry-After"] = formatdate(time.time() + float(argument or 1), usegmt=True)
    elif form == "ms":
        headers["retry-after-ms"] = argument or "1000"
    elif form == "reset":
        headers["x-ratelimit-remaining-requests"] = "0"
        headers["x-ratelimit-reset-requests"] = argument or "1s"
    message = "Rate limit reached for requests"
    return error(429, message, "rate_limit_exceeded", headers=headers)


def _status(kind: str, argument: str) -> web.Response:
    if kind == "403" and argument == "quota":
        return error(403, "You exceeded your current quota", "insufficient_quota")
    headers = {"Retry-After": argument} if argument else {}
    return error(int(kind), f"scripted {kind}", f"scripted_{kind}", headers=headers)


def _reset(request: web.Request) -> web.Response:
    """Cut the connection with a TCP reset; the response is never sent."""
    transport = request.transport
    assert transport is not None
    connection = transport.get_extra_info("socket")
    # Lingering for 0 seconds makes the close a reset; without it the client sees a clean end.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    return web.Response(status=500)


async def deliver(
    request: web.Request, data: bytes, kind: str, argument: str
) -> web.StreamResponse:
    """The reply with this JSON, damaged or slowed as the fault says."""
    at_once = _at_once(data, kind)
    if at_once is not None:
        return at_once
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    # The length is announced, so that the client can tell that the rest is missing.
    if kind == "truncated":
        response.content_length = len(data)
    await response.prepare(request)
    if kind == "truncated":
        await response.write(data[: len(data) // 2])
        assert request.transport is not None
        request.transport.close()
    elif kind == "huge":
        for _ in range(int(argument or 40)):
            await response.write(b" " * _CHUNK)
    else:
        for byte in data:
            await response.write(bytes([byte]))
            await asyncio.sleep(1 / float(argument or 1))
    return response


def _at_once(data: bytes, kind: str) -> web.Response | None:
    """The reply of a fault that is sent in one piece; None where it is sent bit by bit."""
    if kind == "empty":
        return web.Response(body=b"")
    if kind == "html":
        page = "<!doctype html><title>Please log in</title>"
        return web.Response(text=page, content_type="text/html")
    if kind == "bad_json":
        return web.Response(body=data[: len(data) // 2], content_type="application/json")
    if kind == "gzip":
        headers = {"Content-Encoding": "gzip"}
        return web.Response(body=b"\x1f\x8b\x08\x00broken", headers=headers)
    if kind in ("truncated", "huge", "slow"):
        return None
    body = b"\xef\xbb\xbf" + data if kind == "bom" else data
    status = 201 if kind == "201" else 200
    return web.Response(body=body, status=status, content_type="application/json")


async def deliver_stream(request: web.Request, reply: dict[str, Any]) -> web.StreamResponse:
    """The reply as server-sent events, a few words each."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    message = reply["choices"][0]["message"]
    pieces = [{"role": "assistant", "content": ""}]
    for name in ("reasoning_content", "content"):
        text = str(message.get(name) or "")
        pieces += [{name: text[at : at + 40]} for at in range(0, len(text), 40)]
    ends: list[str | None] = [None] * len(pieces)
    pieces.append({})
    ends.append(reply["choices"][0]["finish_reason"])
    for delta, finish in zip(pieces, ends, strict=True):
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        await response.write(_event({**reply, "choices": [choice], "usage": None}))
    if reply.get("usage"):
        await response.write(_event({**reply, "choices": []}))
    await response.write(b"data: [DONE]\n\n")
    return response


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def message_of(
    answer: dict[str, Any] | list[Any] | str, kind: str, *, half: bool, prose: bool
) -> tuple[dict[str, Any], str, int]:
    """The message, why it ends, and how many characters were written.

    half: only half of each list. prose: the JSON in a fence with sentences around it.
    """
    if (half or kind == "half") and isinstance(answer, dict):
        answer = {key: _half(value) for key, value in answer.items()}
    if kind == "wrong_schema":
        answer = {"unexpected": [1, 2, 3]}
    content = answer if isinstance(answer, str) else json.dumps(answer)
    if prose or kind == "prose":
        content = f"Here is what I think.\n\n```json\n{content}\n```\nI hope that this helps."
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    finish = "stop"
    if kind == "length":
        message["content"] = content[: len(content) // 2]
        finish = "length"
    elif kind == "null":
        message["content"] = None
    elif kind == "refusal":
        message["content"] = None
        message["refusal"] = "I cannot help with that."
    return message, finish, len(content)


def _half(value: Any) -> Any:
    return value[: len(value) // 2] if isinstance(value, list) else value
