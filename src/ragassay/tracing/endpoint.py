"""The endpoint for traces: OTLP over HTTP as an ASGI application, to be served alone or mounted.

POST /v1/traces and /v1/logs take protobuf and JSON, plain or compressed, behind a token that allows
nothing but writing. An export is acknowledged after the commit that stores it; where it cannot be
stored now, the answer says when to send it again. GET /healthz, /readyz and /metrics tell how it
is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ragassay.store import Store
from ragassay.tracing.decoding import Signal
from ragassay.tracing.intake import (
    BODY_S,
    STALLED_S,
    STORE_RETRY_S,
    WINDOWS,
    Intake,
    Refusal,
    Refused,
    Room,
    acknowledgement,
)
from ragassay.tracing.job import AssemblyJob
from ragassay.tracing.wire import varint

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

_SIGNALS: Mapping[str, Signal] = {"/v1/traces": "traces", "/v1/logs": "logs"}
_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
PATHS = (*_SIGNALS, "/healthz", "/readyz", "/metrics")
"""What an application that mounts the endpoint passes on to it."""
_BUSY_S = 0.5
"""Seconds before a sender is told that too much is sent. One that comes again at once, whatever it
is told, would otherwise take the processor from what is being stored.
"""
_METRICS_S = 2.0
"""Seconds that /metrics waits for the store."""
_STATUSES: Mapping[Refusal, int] = {
    Refusal.MALFORMED: 400,
    Refusal.TOO_LARGE: 413,
    Refusal.NO_TOKEN: 401,
    Refusal.LATE: 408,
    Refusal.BUSY: 429,
    Refusal.AWAY: 503,
}


class _Answer(Exception):
    """A request that is none of an export: the status, what is wrong, and the method to use."""

    def __init__(self, status: int, message: str, allow: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = [(b"allow", allow.encode())] if allow else []


def _retry(seconds: int) -> list[tuple[bytes, bytes]]:
    return [(b"retry-after", str(seconds).encode())] if seconds else []


class TraceEndpoint:
    """An ASGI application over one store. `start` before the first request, `stop` after the last:
    its lifespan does both where it is served alone.

    token: what a sender shows as "authorization: Bearer TOKEN"; "" for none. job: what makes rows
    of the spans, started and stopped with it; None where another process does.
    """

    def __init__(self, store: Store, token: str, job: AssemblyJob | None = None) -> None:
        self.intake = Intake(store, token, job)
        self.counters = self.intake.counters
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="spans-metrics")
        self._asking: asyncio.Future[list[str]] | None = None

    def start(self) -> None:
        """Begin to store, and to make rows. Raises SetupError where the extra is missing."""
        self.intake.start()

    def stop(self) -> None:
        """Store what waits, and end."""
        self._asker.shutdown(wait=False, cancel_futures=True)
        self.intake.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(self.stop)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        is_json = _header(scope, b"content-type").startswith(_JSON)
        headers: list[tuple[bytes, bytes]] = []
        try:
            if path in _SIGNALS:
                body = await self._export(_SIGNALS[path], scope, receive, is_json)
                status, kind = 200, _JSON if is_json else _PROTOBUF
            else:
                status, text, headers = await self._look(path, scope["method"])
                kind, body = "text/plain; version=0.0.4; charset=utf-8", text.encode()
        except Refused as refused:
            if refused.why is Refusal.BUSY:
                await asyncio.sleep(_BUSY_S)
            status, headers = _STATUSES[refused.why], _retry(refused.retry_s)
            kind, body = _problem(refused.message, is_json)
        except _Answer as answer:
            status, headers = answer.status, answer.headers
            kind, body = _problem(answer.message, is_json)
        known = path if path in PATHS else "other"
        self.counters.answered(known, status)
        headers = [
            (b"content-type", kind.encode()),
            (b"content-length", str(len(body)).encode()),
            *headers,
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _look(self, path: str, method: str) -> tuple[int, str, list[tuple[bytes, bytes]]]:
        """How the endpoint is. Raises _Answer."""
        if path not in PATHS:
            raise _Answer(404, f"no {path[:100]} here; exports go to /v1/traces and /v1/logs")
        if method not in ("GET", "HEAD"):
            raise _Answer(405, "it is only read", allow="GET")
        if path == "/healthz":
            return 200, "ok\n", []
        if path == "/readyz":
            trouble = self.intake.trouble
            if trouble:
                return 503, f"{trouble}\n", _retry(STORE_RETRY_S)
            return 200, "ready\n", []
        lines = self.counters.lines()
        lines.append("# TYPE ragassay_waiting_bytes gauge")
        lines.append(f"ragassay_waiting_bytes {self.intake.writer.waiting_bytes}")
        lines += await self._job_lines()
        return 200, "\n".join(lines) + "\n", []

    async def _job_lines(self) -> list[str]:
        """How far the rows are; nothing where the store does not say so in time. It is asked by
        another thread, and once at a time: a store that is away must not hold up what answers.
        """
        if self.intake.job is None:
            return []
        if self._asking is None or self._asking.done():
            loop = asyncio.get_running_loop()
            self._asking = loop.run_in_executor(self._asker, self.intake.job.lines)
        asked = self._asking
        await asyncio.wait({asked}, timeout=_METRICS_S)
        if not asked.done() or asked.exception() is not None:
            return []
        return asked.result()

    async def _export(self, signal: Signal, scope: Scope, receive: Receive, is_json: bool) -> bytes:
        """The body of the answer to an export that is stored. Raises Refused, _Answer."""
        if scope["method"] != "POST":
            raise _Answer(405, "exports are sent with POST", allow="POST")
        self.intake.check_token(_header(scope, b"authorization", lower=False))
        kind = _header(scope, b"content-type").split(";")[0].strip()
        if kind not in (_PROTOBUF, _JSON):
            raise _Answer(415, f"send {_PROTOBUF} or {_JSON}")
        encoding = _header(scope, b"content-encoding") or "identity"
        if encoding not in WINDOWS and encoding != "identity":
            raise _Answer(415, "send it plain, or compressed once with gzip or deflate")
        announced = _header(scope, b"content-length")
        size = int(announced) if announced.isdecimal() and len(announced) < 19 else 0
        with self.intake.room(size) as room:
            try:
                body = await asyncio.wait_for(_body(receive, room), BODY_S)
            except TimeoutError:
                words = (
                    f"the body did not arrive in {BODY_S:g} seconds, or stalled for {STALLED_S:g}"
                )
                raise Refused(Refusal.LATE, words) from None
            rejected = await self.intake.store(signal, body, encoding, is_json)
        return acknowledgement(signal, rejected, is_json)


async def _body(receive: Receive, room: Room) -> bytes:
    """The body as it was sent. Raises Refused."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await asyncio.wait_for(receive(), STALLED_S)
        if message["type"] == "http.disconnect":
            raise Refused(Refusal.MALFORMED, "the sender went away")
        chunk = message.get("body", b"")
        size += len(chunk)
        room.grow_to(size)
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)


def _header(scope: Scope, name: bytes, *, lower: bool = True) -> str:
    """A header of the request, "" where it has none."""
    for key, value in scope["headers"]:
        if key == name:
            text = str(value.decode("latin-1")).strip()
            return text.lower() if lower else text
    return ""


def _problem(message: str, is_json: bool) -> tuple[str, bytes]:
    """(type, body) of an answer to a request that was not taken: a google.rpc.Status, as OTLP
    wants it.
    """
    if is_json:
        return _JSON, json.dumps({"message": message}).encode()
    text = message.encode()[:1000]
    return _PROTOBUF, b"\x12" + varint(len(text)) + text
