"""The intake of exports, whichever protocol brings them: the token, the bounds on what is under way
at once, decoding, and the commit that an acknowledgement waits for.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import Enum

from ragassay.core import RagAssayError
from ragassay.store import Store
from ragassay.tracing.counters import Counters
from ragassay.tracing.decoding import Batch, Signal, decode
from ragassay.tracing.job import AssemblyJob
from ragassay.tracing.otlp import messages
from ragassay.tracing.wire import BadExport
from ragassay.tracing.writer import Overloaded, SpanWriter

MOST_BODY = 16 << 20
MOST_UNPACKED = 32 << 20
MOST_JSON = 8 << 20
"""Bytes of a request as sent, unpacked, and unpacked where it is JSON, which takes several times
its size in memory.
"""
BODY_S, STALLED_S = 30.0, 3.0
"""Seconds in which a request's body has to arrive, and in which more of it has to."""
OVERLOAD_RETRY_S = 1
STORE_RETRY_S = 5
"""Seconds after which a sender is told to come again."""
WINDOWS = {"gzip": 31, "deflate": 15}
"""Encoding -> the window bits by which zlib knows its header."""

_MOST_AT_ONCE = 4 << 20
"""Bytes, as sent, of all requests between their first byte and their acknowledgement, where there
is more than one: a further one is refused before it is read, so that those that were taken do not
wait long and no work is spent on what cannot be stored.
"""
_MOST_AHEAD = 1 << 19
"""Bytes that count of a request beyond what has come of it: a sender that announces much and stalls
must not keep the others out.
"""
_DECODED_S = 3.0
"""Seconds that requests wait to be decoded, before further ones are told to come again."""
_STUCK_S = 0.7
"""Seconds for which a commit waits for a store that is locked or away before the sender is told."""
_ACKNOWLEDGE_S = 5.0
"""Seconds that a request waits at most for its commit before it is told to come again."""
_LOOK_EVERY_S = 0.2
_SMALL = 1 << 16
"""Bytes that are decoded without asking another thread."""
_MOST_MEMBERS = 64
"""Compressed parts of one body, which gzip lets stand behind each other."""


class Refusal(Enum):
    """Why an export is not taken; each protocol has its own code for it."""

    MALFORMED = "malformed"
    TOO_LARGE = "too large"
    NO_TOKEN = "no token"
    LATE = "late"
    BUSY = "busy"
    AWAY = "away"


class Refused(Exception):
    """An export that is not taken: why, in words, and in how many seconds to come again, 0 for
    never.
    """

    def __init__(self, why: Refusal, message: str, retry_s: int = 0) -> None:
        super().__init__(message)
        self.why = why
        self.message = message
        self.retry_s = retry_s


class Room:
    """What one request takes of the bytes that may be under way at once."""

    def __init__(self, intake: Intake, announced: int) -> None:
        self._intake = intake
        self._announced = announced
        self.taken = 0
        ahead = min(announced, _MOST_AHEAD)
        # The smallest fit in beside what keeps the others waiting.
        most = _MOST_AT_ONCE if announced > _SMALL else 2 * _MOST_AT_ONCE
        if intake.under_way and intake.under_way + ahead > most:
            raise Refused(Refusal.BUSY, "too many exports at once", OVERLOAD_RETRY_S)
        # What was announced counts from the start, or many could begin at the same moment.
        self._grow_to(ahead)

    def grow_to(self, size: int) -> None:
        """So much has come of the request. Raises Refused."""
        self._grow_to(max(size, min(self._announced, size + _MOST_AHEAD)))
        if size > MOST_BODY:
            raise Refused(Refusal.TOO_LARGE, f"a request may have {MOST_BODY >> 20} MiB")
        # Alone it is taken whatever its size: it could never come otherwise.
        if self._intake.under_way > self.taken and self._intake.under_way > _MOST_AT_ONCE:
            raise Refused(Refusal.BUSY, "too many exports at once", OVERLOAD_RETRY_S)

    def _grow_to(self, size: int) -> None:
        more = max(0, size - self.taken)
        self.taken += more
        self._intake.under_way += more


class Intake:
    """Takes exports into one store, in one event loop. `start` before the first, `stop` after the
    last.

    token: what a sender shows as "Bearer TOKEN"; "" for none. job: what makes rows of the spans,
    started and stopped with it; None where another process does.
    """

    def __init__(self, store: Store, token: str, job: AssemblyJob | None = None) -> None:
        self.counters = Counters()
        self.writer = SpanWriter(store.span_records, self.counters)
        self.job = job
        self.under_way = 0
        self._token = token
        self._decoders = ThreadPoolExecutor(2, thread_name_prefix="spans-decoder")
        self._decoding: dict[object, float] = {}

    @property
    def trouble(self) -> str:
        """Why exports cannot be stored now, for anybody to read; "" where they can."""
        if self.writer.stuck_s > _STUCK_S:
            return "the store does not answer now"
        # What failed names places of this machine: senders with a token are told.
        return "the last commit failed" if self.writer.failing else ""

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

    def check_token(self, shown: str) -> None:
        """shown: "Bearer TOKEN", as the sender says it. Raises Refused."""
        if not self._token:
            return
        scheme, _, token = shown.partition(" ")
        right = hmac.compare_digest(token.strip().encode(), self._token.encode())
        if scheme.lower() != "bearer" or not right:
            words = "authorization: Bearer TOKEN is missing or wrong"
            raise Refused(Refusal.NO_TOKEN, words)

    @contextmanager
    def room(self, announced: int) -> Iterator[Room]:
        """Room for a request of so many bytes, until the block ends. Raises Refused."""
        if announced > MOST_BODY:
            words = f"a request may have {MOST_BODY >> 20} MiB; send smaller batches"
            raise Refused(Refusal.TOO_LARGE, words)
        room = Room(self, announced)
        try:
            yield room
        finally:
            self.under_way -= room.taken

    async def store(
        self, signal: Signal, body: bytes, encoding: str, is_json: bool
    ) -> Counter[str]:
        """Decode and store an export; reason -> how many of its records were not taken. encoding:
        one of WINDOWS, or "identity". Raises Refused.
        """
        batch = await self._decoded(signal, body, encoding, is_json)
        del body
        await self._stored(batch)
        return batch.rejected

    async def _decoded(self, signal: Signal, body: bytes, encoding: str, is_json: bool) -> Batch:
        if len(body) <= _SMALL and encoding == "identity":
            return _decoded(signal, body, encoding, is_json)
        oldest = next(iter(self._decoding.values()), None)
        if oldest is not None and time.monotonic() - oldest > _DECODED_S:
            words = "what came before is still being read"
            raise Refused(Refusal.BUSY, words, OVERLOAD_RETRY_S)
        loop, request = asyncio.get_running_loop(), object()
        self._decoding[request] = time.monotonic()
        try:
            return await loop.run_in_executor(
                self._decoders, _decoded, signal, body, encoding, is_json
            )
        finally:
            del self._decoding[request]

    async def _stored(self, batch: Batch) -> None:
        """Wait for the commit of a batch. Raises Refused."""
        try:
            done = self.writer.submit(batch)
        except Overloaded:
            words = "more is sent than can be stored"
            raise Refused(Refusal.BUSY, words, OVERLOAD_RETRY_S) from None
        until = time.monotonic() + _ACKNOWLEDGE_S
        waiting = asyncio.wrap_future(done)
        while not waiting.done():
            if self.writer.stuck_s > _STUCK_S or time.monotonic() > until:
                # Where it is stored all the same, it is known when it comes again.
                waiting.cancel()
                raise Refused(Refusal.AWAY, "the store does not answer now", OVERLOAD_RETRY_S)
            await asyncio.wait([waiting], timeout=_LOOK_EVERY_S)
        try:
            waiting.result()
        except RagAssayError as error:
            words = f"it cannot be stored now: {error.what}"
            raise Refused(Refusal.AWAY, words, STORE_RETRY_S) from None
        except Exception:
            raise Refused(Refusal.AWAY, "it cannot be stored now", STORE_RETRY_S) from None


def _decoded(signal: Signal, body: bytes, encoding: str, is_json: bool) -> Batch:
    """The records of a body. Raises Refused."""
    most = MOST_JSON if is_json else MOST_UNPACKED
    if encoding != "identity":
        body = _unpacked(body, WINDOWS[encoding], most)
    if len(body) > most:
        raise Refused(
            Refusal.TOO_LARGE, f"a request may have {most >> 20} MiB; send smaller batches"
        )
    try:
        return decode(signal, body, is_json)
    except BadExport as error:
        raise Refused(Refusal.MALFORMED, f"this is no export of {signal}: {error}") from None


def _unpacked(body: bytes, window: int, most: int) -> bytes:
    """The body without its compression, never more than is allowed. Raises Refused."""
    plain = bytearray()
    rest = body
    for _ in range(_MOST_MEMBERS):
        reader = zlib.decompressobj(window)
        try:
            plain += reader.decompress(rest, most + 1 - len(plain))
        except zlib.error as error:
            raise Refused(Refusal.MALFORMED, f"its compression is damaged: {error}") from None
        if len(plain) > most:
            words = f"unpacked, a request may have {most >> 20} MiB; send smaller batches"
            raise Refused(Refusal.TOO_LARGE, words)
        if not reader.eof:
            raise Refused(Refusal.MALFORMED, "its compression is cut short")
        # What stands behind the end is a further part: to drop it would lose what is acknowledged.
        rest = reader.unused_data
        if not rest:
            return bytes(plain)
    raise Refused(Refusal.MALFORMED, f"it has more than {_MOST_MEMBERS} compressed parts")


def acknowledgement(signal: Signal, rejected: Counter[str], is_json: bool) -> bytes:
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
