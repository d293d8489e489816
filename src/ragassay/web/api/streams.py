"""Server-sent events: a state that is looked at now and then, and sent where it has changed."""

from __future__ import annotations

import asyncio
import time

import orjson
from fastapi.concurrency import run_in_threadpool

from ragassay.web.api.messages import Events
from ragassay.web.guard import Receive, Scope, Send

TICK_S = 0.25
SILENCE_S = 15.0
"""A comment is sent after so long without an event: proxies cut off what is silent."""
RECONNECT_MS = 2000


async def follow(events: Events, scope: Scope, receive: Receive, send: Send) -> None:
    """Send events until the last one, or until the client has gone away."""
    headers = [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"x-accel-buffering", b"no"),  # of nginx, which would keep events back
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] == "HEAD":
        await send({"type": "http.response.body", "body": b""})
        return
    gone = asyncio.ensure_future(_gone(receive))
    try:
        await _send_changes(events, gone, send)
    finally:
        gone.cancel()
    await send({"type": "http.response.body", "body": b""})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_changes(events: Events, gone: asyncio.Future[None], send: Send) -> None:
    sent, when, number = b"", time.monotonic(), 0
    first = f"retry: {RECONNECT_MS}\n".encode()
    while not gone.done():
        event = await run_in_threadpool(events.look)
        data = orjson.dumps(event.value)
        if data != sent or event.last:
            number += 1
            text = f"{first.decode()}id: {number}\nevent: {event.name}\ndata: ".encode()
            await _body(send, text + data + b"\n\n")
            sent, when, first = data, time.monotonic(), b""
        elif time.monotonic() - when > SILENCE_S:
            await _body(send, b": still there\n\n")
            when = time.monotonic()
        if event.last:
            return
        await asyncio.wait([gone], timeout=TICK_S)


async def _body(send: Send, content: bytes) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": True})
