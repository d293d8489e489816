"""The endpoint for traces: OTLP over HTTP as an ASGI application, to be served alone or mounted.

POST /v1/traces and /v1/logs take protobuf and JSON, plain or compressed, behind a token that allows
nothing but writing. An export is acknowledged after the commit that stores it; where it cannot be
stored now, the answer says when to send it again. GET /healthz, /readyz and /metrics tell how it
is.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ragassay.core import RagAssayError
from ragassay.store import Store
from ragassay.tracing.counters import Counters
from ragassay.tracing.decoding import Batch, Signal, decode
from ragassay.tracing.job import AssemblyJob
from ragassay.tracing.otlp import messages
from ragassay.tracing.wire import BadExport, varint
from ragassay.tracing.writer import Overloaded, SpanWriter

Scope = Mapping[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]

MOST_BODY = 16 << 20
MOST_UNPACKED = 32 << 20
MOST_JSON = 8 << 20
"""Bytes of a request as sent, unpacked, and unpacked where it is JSON, which takes several times
its size in memory.
"""
_MOST_AT_ONCE = 6 << 20
"""Bytes, as sent, of all requests between their first byte and their acknowledgement, where there
is more than one: a further one is refused before it is read, so that those that were taken do not
wait long and no work is spent on what cannot be stored.
"""
_BODY_S = 30.0
"""Seconds in which a request's body has to arrive."""
_STUCK_S = 0.7
"""Seconds after which a commit that does not end is taken for a store that is locked or away."""
_ACKNOWLEDGE_S = 5.0
"""Seconds that a request waits at most for its commit before it is told to come again."""
_LOOK_EVERY_S = 0.2
_OVERLOAD_RETRY_S = 1
_STORE_RETRY_S = 5
_SMALL = 1 << 16
"""Bytes that are decoded without asking another thread."""

_SIGNALS: Mapping[str, Signal] = {"/v1/traces": "traces", "/v1/logs": "logs"}
_PROTOBUF, _JSON = "application/x-protobuf", "application/json"
PATHS = (*_SIGNALS, "/healthz", "/readyz", "/metrics")
"""What an application that mounts the endpoint passes on to it."""


class _Answer(Exception):
    """A request that is not taken: the status, what is wrong, and when to come again."""

    def __init__(self, status: int, message: str, retry_s: int = 0, allow: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers: list[tuple[bytes, bytes]] = []
        if retry_s:
            self.headers.append((b"retry-after", str(retry_s).encode()))
        if allow:
            self.headers.append((b"allow", allow.encode()))


class TraceEndpoint:
    """An ASGI application over one store. `start` before the first request, `stop` after the last:
    its lifespan does both where it is served alone.

    token: what a sender shows as "authorization: Bearer TOKEN"; "" for none. job: what makes rows
    of the spans, started and stopped with it; None where another process does.
    """

    def __init__(self, store: Store, token: str, job: AssemblyJob | None = None) -> None:
        self.counters = Counters()
        self.writer = SpanWriter(store.span_records, self.counters)
        self._token = token
        self.job = job
        self._reading = 0
        self._decoders = ThreadPoolExecutor(2, thread_name_prefix="spans-decoder")

    def start(self) -> None:
        """Begin to store, and to make rows. Raises SetupError where the extra is missing."""
        messages()
        self.writer.start()
        if self.job is not None:
            self.job.start(self.writer)

    def stop(self) -> None:
        """Store what waits, and end."""
        self._decoders.shutdown()
        self.writer.stop()
        if self.job is not None:
            self.job.stop()

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
                status, text, headers = self._look(path, scope["method"])
                kind, body = "text/plain; version=0.0.4; charset=utf-8", text.encode()
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

    def _look(self, path: str, method: str) -> tuple[int, str, list[tuple[bytes, bytes]]]:
        """How the endpoint is. Raises _Answer."""
        if path not in PATHS:
            raise _Answer(404, f"no {path[:100]} here; exports go to /v1/traces and /v1/logs")
        if method not in ("GET", "HEAD"):
            raise _Answer(405, "it is only read", allow="GET")
        if path == "/healthz":
            return 200, "ok\n", []
        if path == "/readyz":
            if self.writer.failing:
                retry = [(b"retry-after", str(_STORE_RETRY_S).encode())]
                return 503, f"the last commit failed: {self.writer.failing}\n", retry
            return 200, "ready\n", []
        lines = self.counters.lines()
        lines.append("# TYPE ragassay_waiting_bytes gauge")
        lines.append(f"ragassay_waiting_bytes {self.writer.waiting_bytes}")
        if self.job is not None:
            lines += self.job.lines()
        return 200, "\n".join(lines) + "\n", []

    async def _export(self, signal: Signal, scope: Scope, receive: Receive, is_json: bool) -> bytes:
        """The body of the answer to an export that is stored. Raises _Answer."""
        if scope["method"] != "POST":
            raise _Answer(405, "exports are sent with POST", allow="POST")
        self._check_token(scope)
        kind = _header(scope, b"content-type").split(";")[0].strip()
        if kind not in (_PROTOBUF, _JSON):
            raise _Answer(415, f"send {_PROTOBUF} or {_JSON}")
        encoding = _header(scope, b"content-encoding") or "identity"
        if encoding not in _WINDOWS and encoding != "identity":
            raise _Answer(415, "send it plain, or compressed once with gzip or deflate")
        return await self._taken(signal, scope, receive, encoding, is_json)

    def _check_token(self, scope: Scope) -> None:
        if not self._token:
            return
        shown = _header(scope, b"authorization", lower=False)
        scheme, _, token = shown.partition(" ")
        right = hmac.compare_digest(token.strip().encode(), self._token.encode())
        if scheme.lower() != "bearer" or not right:
            raise _Answer(401, "the header authorization: Bearer TOKEN is missing or wrong")

    async def _taken(
        self, signal: Signal, scope: Scope, receive: Receive, encoding: str, is_json: bool
    ) -> bytes:
        """Read, decode and store an export; the body of the answer. Raises _Answer."""
        announced = _header(scope, b"content-length")
        size = int(announced) if announced.isdecimal() and len(announced) < 19 else 0
        if size > MOST_BODY:
            raise _Answer(413, f"a request may have {MOST_BODY >> 20} MiB; send smaller batches")
        if self._reading and self._reading + size > _MOST_AT_ONCE:
            raise _Answer(429, "too many exports at once", _OVERLOAD_RETRY_S)
        # What was announced counts from the start, or many could begin at the same moment.
        taken = size
        self._reading += size

        def take(received: int) -> None:
            nonlocal taken
            more = max(0, received - taken)
            taken += more
            self._reading += more

        try:
            body = await asyncio.wait_for(self._body(receive, take), _BODY_S)
            batch = await self._decoded(signal, body, encoding, is_json)
            del body
            await self._stored(batch)
            return _acknowledgement(signal, batch.rejected, is_json)
        except TimeoutError:
            raise _Answer(408, f"the body did not arrive in {_BODY_S:g} seconds") from None
        finally:
            self._reading -= taken

    async def _decoded(self, signal: Signal, body: bytes, encoding: str, is_json: bool) -> Batch:
        """The records of a body. Raises _Answer."""
        if len(body) <= _SMALL and encoding == "identity":
            return _decoded(signal, body, encoding, is_json)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._decoders, _decoded, signal, body, encoding, is_json)

    async def _body(self, receive: Receive, take: Callable[[int], None]) -> bytes:
        """The body as it was sent. take: told how much has come. Raises _Answer."""
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Answer(400, "the sender went away")
            chunk = message.get("body", b"")
            size += len(chunk)
            take(size)
            if size > MOST_BODY:
                raise _Answer(413, f"a request may have {MOST_BODY >> 20} MiB")
            if self._reading > size and self._reading > _MOST_AT_ONCE:
                raise _Answer(429, "too many exports at once", _OVERLOAD_RETRY_S)
            chunks.append(chunk)
            if not message.get("more_body"):
                return b"".join(chunks)

    async def _stored(self, batch: Batch) -> None:
        """Wait for the commit of a batch. Raises _Answer."""
        try:
            done = self.writer.submit(batch)
        except Overloaded:
            raise _Answer(429, "more is sent than can be stored", _OVERLOAD_RETRY_S) from None
        until = time.monotonic() + _ACKNOWLEDGE_S
        waiting = asyncio.wrap_future(done)
        while not waiting.done():
            if self.writer.committing_s > _STUCK_S or time.monotonic() > until:
                # Where it is stored all the same, it is known when it comes again.
                waiting.cancel()
                raise _Answer(503, "the store does not answer now", _OVERLOAD_RETRY_S)
            await asyncio.wait([waiting], timeout=_LOOK_EVERY_S)
        try:
            waiting.result()
        except RagAssayError as error:
            raise _Answer(503, f"it cannot be stored now: {error.what}", _STORE_RETRY_S) from None
        except Exception:
            raise _Answer(503, "it cannot be stored now", _STORE_RETRY_S) from None


_WINDOWS = {"gzip": 31, "deflate": 15}
"""Encoding -> the window bits by which zlib knows its header."""


def _decoded(signal: Signal, body: bytes, encoding: str, is_json: bool) -> Batch:
    """The records of a body. Raises _Answer."""
    most = MOST_JSON if is_json else MOST_UNPACKED
    if encoding != "identity":
        body = _unpacked(body, _WINDOWS[encoding], most)
    if len(body) > most:
        raise _Answer(413, f"a request may have {most >> 20} MiB; send smaller batches")
    try:
        return decode(signal, body, is_json)
    except BadExport as error:
        raise _Answer(400, f"this is no export of {signal}: {error}") from None


def _unpacked(body: bytes, window: int, most: int) -> bytes:
    """The body without its compression, never more than is allowed. Raises _Answer."""
    reader = zlib.decompressobj(window)
    try:
        plain = reader.decompress(body, most + 1)
    except zlib.error as error:
        raise _Answer(400, f"its compression is damaged: {error}") from None
    if len(plain) > most:
        raise _Answer(413, f"unpacked, a request may have {most >> 20} MiB; send smaller batches")
    if not reader.eof:
        raise _Answer(400, "its compression is cut short")
    return plain


def _header(scope: Scope, name: bytes, *, lower: bool = True) -> str:
    """A header of the request, "" where it has none."""
    for key, value in scope["headers"]:
        if key == name:
            text = str(value.decode("latin-1")).strip()
            return text.lower() if lower else text
    return ""


def _acknowledgement(signal: Signal, rejected: Counter[str], is_json: bool) -> bytes:
    """The body of the answer to an export that is stored, with the number of records that were not
    taken and why.
    """
    count = sum(rejected.values())
    why = "; ".join(f"{number} x {reason}" for reason, number in rejected.most_common(5))
    if is_json:
        name = "rejectedSpans" if signal == "traces" else "rejectedLogRecords"
        # OTLP writes 64-bit numbers as texts.
        partial = {name: str(count), "errorMessage": why}
        return json.dumps({"partialSuccess": partial} if count else {}).encode()
    kinds = messages()
    answer = kinds.TraceResponse() if signal == "traces" else kinds.LogsResponse()
    if count:
        partial_success = answer.partial_success
        name = "rejected_spans" if signal == "traces" else "rejected_log_records"
        setattr(partial_success, name, count)
        partial_success.error_message = why
    return bytes(answer.SerializeToString())


def _problem(message: str, is_json: bool) -> tuple[str, bytes]:
    """(type, body) of an answer to a request that was not taken: a google.rpc.Status, as OTLP
    wants it.
    """
    if is_json:
        return _JSON, json.dumps({"message": message}).encode()
    text = message.encode()[:1000]
    return _PROTOBUF, b"\x12" + varint(len(text)) + text
