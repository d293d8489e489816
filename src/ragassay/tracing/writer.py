"""The one writer of received spans: requests that wait are stored in one commit, and each of them
is acknowledged after it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from ragassay.core import RagAssayError
from ragassay.store.spans import SpanRecords, StoredLog, StoredSpan
from ragassay.tracing.counters import Counters
from ragassay.tracing.decoding import Batch

MOST_WAITING = 10 << 20
"""Bytes of spans that wait for a commit; what comes beyond is refused, so that whoever waits does
not wait long, and the memory has a bound.
"""
_MOST_RECORDS = 8_192
_MOST_BYTES = 5 << 20
"""Of one commit: half of what may wait, so that a request waits for two commits and no more."""
_PATIENCE_AT_END_S = 10.0


class Overloaded(Exception):
    """More waits than the store takes in now."""


@dataclass(slots=True)
class _Waiting:
    batch: Batch
    done: Future[None] = field(default_factory=Future)


class SpanWriter:
    """Stores batches in groups, on a thread of its own. `failing` says why the last commit did not
    happen, "" where it did.
    """

    def __init__(
        self,
        records: SpanRecords,
        counters: Counters,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._records = records
        self._counters = counters
        self._now = now
        self._queue: deque[_Waiting] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._stopping = False
        self.failing = ""
        self._thread = threading.Thread(target=self._run, name="spans-writer", daemon=True)

    def start(self) -> None:
        """Begin to store."""
        self._thread.start()

    def stop(self) -> None:
        """Store what waits, and end; what a locked store does not take was not acknowledged."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(_PATIENCE_AT_END_S)

    @property
    def waiting_bytes(self) -> int:
        """Bytes of spans that wait for a commit or are in one."""
        return self._size

    @property
    def stuck_s(self) -> float:
        """Seconds that the commit at hand has waited for a store that is locked or away; 0 where it
        is under way, however slowly.
        """
        return self._records.waited_s(self._thread.ident or 0)

    def submit(self, batch: Batch) -> Future[None]:
        """Have a batch stored; the result comes after the commit. A future that is cancelled before
        its commit began is not stored. Raises Overloaded.
        """
        with self._changed:
            if self._stopping or (self._size and self._size + batch.size > MOST_WAITING):
                raise Overloaded
            waiting = _Waiting(batch)
            self._queue.append(waiting)
            self._size += batch.size
            self._changed.notify()
        return waiting.done

    def _run(self) -> None:
        while group := self._next_group():
            self._store(group)

    def _next_group(self) -> list[_Waiting]:
        """What is stored in the next commit; nothing when the writer is to end."""
        group: list[_Waiting] = []
        records = size = 0
        with self._changed:
            while not group:
                while not self._queue and not self._stopping:
                    self._changed.wait()
                if not self._queue:
                    return []
                while self._queue and (
                    not group or (records < _MOST_RECORDS and size < _MOST_BYTES)
                ):
                    waiting = self._queue.popleft()
                    if not waiting.done.set_running_or_notify_cancel():
                        self._size -= waiting.batch.size
                        continue
                    group.append(waiting)
                    records += waiting.batch.count
                    size += waiting.batch.size
        return group

    def _store(self, group: list[_Waiting]) -> None:
        spans: list[StoredSpan] = []
        logs: list[StoredLog] = []
        rejected: Counter[str] = Counter()
        for waiting in group:
            spans += waiting.batch.spans
            logs += waiting.batch.logs
            rejected.update(waiting.batch.rejected)
        try:
            new = sum(self._records.put(spans, logs, int(self._now() * 1000)))
        except Exception as error:
            # Whatever it is, nothing was acknowledged, and the next commit may succeed.
            self.failing = str(error) if isinstance(error, RagAssayError) else repr(error)
            self._release(group)
            for waiting in group:
                waiting.done.set_exception(error)
            return
        self.failing = ""
        self._counters.committed(new, len(spans) + len(logs) - new, rejected)
        self._release(group)
        for waiting in group:
            waiting.done.set_result(None)

    def _release(self, group: list[_Waiting]) -> None:
        with self._changed:
            self._size -= sum(waiting.batch.size for waiting in group)
