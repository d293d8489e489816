"""Replies and faults of the local server: what each scripted word sends over the wire."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import struct
import time
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
    """The error for a request with a field that the server does not know; None where it is fine."""
    form = body.get("response_format") or {}
    if "response_format" in rejects and form:
        message = "'response_format' is not supported by this server"
        return error(400, message, "invalid_request_error")
    if "json_schema" in rejects and form.get("type") == "json_schema":
        message = "response_format.type json_schema is unavailable"
        return error(400, message, "invalid_request_error")
    if "max_tokens" in rejects and "max_tokens" in body:
        message = (
            "Unsupported parameter: 'max_tokens' is not supported."
            " Use 'max_completion_tokens' instead."
        )
        return error(400, message, "unsupported_parameter", "max_tokens")
    for name in ("temperature", "seed"):
        if name in rejects and name in body:
            message = f"Unsupported value: '{name}' is not supported"
            return error(400, message, "unsupported_value", name)
    return None


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
    if STATUS.fullmatch(kind):
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
    if kind not in ("truncated", "huge", "slow"):
        return web.Response(body=data, content_type="application/json")
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
