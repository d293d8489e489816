"""The job that makes rows of received spans.

A trace is ready when its root has come and nothing more did for half a minute, when a span says
that it is complete, or when it is old. Spans that come later make a new revision of its rows; where
they change nothing, the revision stays.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ragassay.core import RagAssayError
from ragassay.datasets.spans import MOST_SPANS
from ragassay.datasets.spans.logged import add_logged_content
from ragassay.datasets.spans.names import is_read
from ragassay.datasets.spans.rows import rows_of_trace
from ragassay.store.spans import ReadyTrace, SpanRecords
from ragassay.tracing.objects import log_object, span_object
from ragassay.tracing.received import packed
from ragassay.tracing.writer import SpanWriter

MOST_TRACE_BYTES = 64 << 20
"""Bytes of what a row may be made of in the spans of one trace; of a larger one no row is made."""
_ATTRIBUTE_BYTES = 100
"""What an attribute takes in memory besides its text."""
_TRACES_A_STEP = 100
_IDLE_S = 0.5
_MOST_YIELDED_S = 5.0
"""How long the job gives way to spans that are coming in, before it makes a step all the same."""
_RETENTION_EVERY_S = 60.0
_DAY_S = 86_400


class _TooLarge(Exception):
    """A trace of which no row is made."""


@dataclass(frozen=True, slots=True)
class Patience:
    """When a trace is put together. quiet_s: seconds without a new span after the root came.
    oldest_s: seconds after the first span at which it is put together without its root. keep_days:
    days after which spans and rows are deleted, None to keep them.
    """

    quiet_s: float = 30.0
    oldest_s: float = 600.0
    keep_days: float | None = None


class AssemblyJob:
    """Makes rows of what is in a store, again and again on a thread of its own, or once by
    `catch_up`.
    """

    def __init__(
        self,
        records: SpanRecords,
        patience: Patience | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._patience = patience or Patience()
        self._now = now
        self._end = threading.Event()
        self._writer: SpanWriter | None = None
        self._thread = threading.Thread(target=self._run, name="assembler", daemon=True)
        self._revisions = 0
        self._too_large = 0
        self._dropped = 0
        self._swept = 0.0
        self.failing = ""

    def start(self, writer: SpanWriter) -> None:
        """Begin. writer: what the job gives way to."""
        self._writer = writer
        self._thread.start()

    def stop(self) -> None:
        """End after the step at hand."""
        self._end.set()
        self._thread.join(10.0)

    def behind(self) -> tuple[int, float]:
        """(traces that wait to be put together, seconds since the oldest of their spans came)."""
        waiting, oldest = self._records.waiting()
        lag = max(0.0, self._now() - oldest / 1000) if oldest is not None else 0.0
        return waiting, lag

    def lines(self) -> list[str]:
        """How far it is, as Prometheus reads it."""
        waiting, lag = self.behind()
        return [
            "# TYPE ragassay_trace_revisions_total counter",
            f"ragassay_trace_revisions_total {self._revisions}",
            "# TYPE ragassay_traces_too_large_total counter",
            f"ragassay_traces_too_large_total {self._too_large}",
            "# TYPE ragassay_spans_dropped_by_age_total counter",
            f"ragassay_spans_dropped_by_age_total {self._dropped}",
            "# TYPE ragassay_assembly_failing gauge",
            f"ragassay_assembly_failing {int(bool(self.failing))}",
            "# TYPE ragassay_traces_waiting gauge",
            f"ragassay_traces_waiting {waiting}",
            "# TYPE ragassay_assembly_lag_seconds gauge",
            f"ragassay_assembly_lag_seconds {lag:.3f}",
        ]

    def catch_up(self, *, everything: bool = False, seconds: float = math.inf) -> int:
        """Put together what is ready now; how many traces got a new revision. everything: also what
        may not be complete. seconds: after which no further piece of the work is begun, which may
        have no end where traces come faster than they are put together.
        """
        until = time.monotonic() + seconds
        while self._records.index_traces() and time.monotonic() < until:
            pass
        changed = 0
        while made := self._next_traces(everything):
            changed += self._make_rows(made)
            if time.monotonic() >= until:
                break
        return changed

    def _next_traces(self, everything: bool) -> list[ReadyTrace]:
        now = int(self._now() * 1000)
        quiet = 0 if everything else int(self._patience.quiet_s * 1000)
        oldest = 0 if everything else int(self._patience.oldest_s * 1000)
        return self._records.ready(now, quiet, oldest, _TRACES_A_STEP)

    def _make_rows(self, ready: list[ReadyTrace]) -> int:
        logged = self._records.with_logs([trace.trace for trace in ready])
        made = [(trace, self._rows(trace.trace, trace.trace in logged)) for trace in ready]
        changed = self._records.put_rows(made)
        self._revisions += changed
        return changed

    def _rows(self, trace: bytes, has_logs: bool) -> list[bytes]:
        """The rows of a trace as they are stored."""
        name = trace.hex()
        size = 0

        def read(origin: bytes, payload: bytes) -> dict[str, Any]:
            nonlocal size
            span = span_object(origin, payload, is_read)
            size += _size(span["attributes"])
            size += sum(_size(event["attributes"]) for event in span["events"])
            if size > MOST_TRACE_BYTES:
                raise _TooLarge
            return span

        try:
            spans = self._records.read_trace(trace, MOST_SPANS, read)
        except _TooLarge:
            # A part of it would be another turn than the user's.
            self._too_large += 1
            return []
        if has_logs:
            logs = [log_object(log) for log in self._records.logs_of_trace(trace, MOST_SPANS)]
            add_logged_content({name: spans}, logs)
        return [packed(row) for row in rows_of_trace(name, spans)]

    def _run(self) -> None:
        while not self._end.is_set():
            try:
                busy = self._step()
                self.failing = ""
            except Exception as error:
                # The store may be away or full: the cursor stands where it stood, and the next
                # step may succeed. A thread that ended here would never be noticed.
                self.failing = str(error) if isinstance(error, RagAssayError) else repr(error)
                busy = False
            if not busy:
                self._end.wait(_IDLE_S)

    def _step(self) -> bool:
        """One piece of the work; whether there may be more."""
        self._give_way()
        indexed = self._records.index_traces()
        self._give_way()
        ready = self._next_traces(False)
        if ready:
            self._make_rows(ready)
        self._sweep()
        return bool(indexed or ready)

    def _give_way(self) -> None:
        """Wait while spans are coming in, but not for ever."""
        until = time.monotonic() + _MOST_YIELDED_S
        while (
            self._writer is not None
            and self._writer.waiting_bytes
            and time.monotonic() < until
            and not self._end.is_set()
        ):
            self._end.wait(0.05)

    def _sweep(self) -> None:
        """Delete what is older than is kept, once a minute, in pieces between which spans are
        stored.
        """
        days = self._patience.keep_days
        if days is None or self._now() - self._swept < _RETENTION_EVERY_S:
            return
        self._swept = self._now()
        before = int((self._now() - days * _DAY_S) * 1000)
        while not self._end.is_set() and (dropped := self._records.drop_before(before)):
            self._dropped += dropped
            self._give_way()


def _size(attributes: Mapping[str, Any]) -> int:
    """Roughly the bytes that attributes take in memory."""
    size = _ATTRIBUTE_BYTES * len(attributes)
    for value in attributes.values():
        size += len(value) if isinstance(value, str) else len(repr(value))
    return size
