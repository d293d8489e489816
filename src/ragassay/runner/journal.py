"""How judgments get to disk before they are used: one writer thread, one transaction for all that waits.

The store is synchronous and one writer at a time does it good; the engine is asynchronous. A `Journal` is the
door between them: coroutines hand over what must be durable and wait; a thread takes everything that has gathered,
commits it once, and wakes all of them. An fsync is thus shared by as many judgments as arrived during the last one.
Rows follow from judgments, so a row that a kill takes along is made again for nothing: rows are written in heaps.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ragassay.core import Judgment, Ledger, RowResult

HEAP, HEAP_SECONDS = 64, 0.5
"""Rows that are written together, and how long the first of them waits at most."""

LINGER = 0.003
"""Seconds in which further judgments may join a commit."""

Pair = tuple[str, str]
"""(judge fingerprint, request key): the content address of a Judgment."""


class JournalStore(Protocol):
    """What the journal needs of a store."""

    def put_judgments(self, run_id: str, judgments: Sequence[Judgment]) -> None: ...

    def get_judgments(self, pairs: Sequence[Pair], *, run_id: str | None = None) -> dict[Pair, Judgment]: ...

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None: ...


class Journal:
    """Asynchronous, group-committing front of a store for one run.

    Every method returns when the work is durable (or read), and raises what the store raised. `own_run_only`:
    look up only this run's judgments (the cache of other runs is off, resuming still re-buys nothing).
    """

    def __init__(
        self,
        store: JournalStore,
        run_id: str,
        *,
        own_run_only: bool = False,
        save_ledger: Callable[[Ledger], None] | None = None,
    ) -> None:
        self._store, self._run_id, self._own, self._save = store, run_id, own_run_only, save_ledger
        self._queue: list[tuple[str, Any, asyncio.Future[Any]]] = []
        self._lock = threading.Condition()
        self._rows: list[RowResult] = []
        self._lost: BaseException | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="ragassay-journal", daemon=True)

    async def __aenter__(self) -> Journal:
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify()
        await asyncio.to_thread(self._thread.join)
        if self._lost is not None:
            raise self._lost

    async def put(self, judgments: Sequence[Judgment]) -> None:
        """Make the judgments durable."""
        if judgments:
            await self._submit("put", judgments)

    async def intent(self, ledger: Ledger) -> None:
        """Make durable, before a call is sent, a ledger that already counts it; the newest of those that wait is written."""
        await self._submit("intent", ledger)

    async def lookup(self, pairs: Sequence[Pair]) -> dict[Pair, Judgment]:
        """The judgments that are known already, by pair."""
        found: dict[Pair, Judgment] = await self._submit("get", pairs)
        return found

    async def row(self, result: RowResult) -> None:
        """Hand over a row; it is written with its heap, at the latest when the journal is closed.

        Waits only when the writer is behind. Raises what went wrong with an earlier heap.
        """
        if self._lost is not None:
            raise self._lost
        with self._lock:
            self._rows.append(result)
            waiting = len(self._rows)
            if waiting >= HEAP:
                self._lock.notify()
        while waiting > 4 * HEAP and self._lost is None:
            await asyncio.sleep(0.01)
            waiting = len(self._rows)

    async def answered(self, result: RowResult) -> None:
        """Make durable a row that is not done yet, with what the application answered."""
        await self._submit("row", result)

    def _submit(self, kind: str, what: object) -> asyncio.Future[Any]:
        assert self._loop is not None, "the journal is used outside its context"
        future: asyncio.Future[Any] = self._loop.create_future()
        with self._lock:
            self._queue.append((kind, what, future))
            self._lock.notify()
        return future

    def _work(self) -> None:
        written = time.monotonic()
        while True:
            with self._lock:
                while not (self._queue or self._closed or len(self._rows) >= HEAP):
                    if not self._lock.wait(HEAP_SECONDS) and self._rows:
                        break
                urgent = any(kind not in ("put", "row") for kind, _, _ in self._queue)
                closed = self._closed
            if not urgent and not closed:
                time.sleep(LINGER)  # answers come in bursts: a moment's patience saves commits
            with self._lock:
                batch, self._queue = self._queue, []
                rows: list[RowResult] = []
                due = time.monotonic() - written >= HEAP_SECONDS
                if closed or due or len(self._rows) >= HEAP:
                    rows, self._rows = self._rows, []
            done: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []
            for kind in ("put", "row", "intent", "get"):
                jobs = [(what, future) for k, what, future in batch if k == kind]
                if jobs:
                    done += self._serve(kind, jobs)
            if done:
                assert self._loop is not None
                try:
                    self._loop.call_soon_threadsafe(_settle, done)
                except RuntimeError:  # the loop is gone: nobody waits any more, and what had to be durable is
                    return
            if rows:
                written = time.monotonic()
                try:
                    self._store.put_rows(self._run_id, rows)
                except BaseException as error:  # raised to whoever brings the next row, and at the end
                    self._lost = error
            if closed and not batch:
                return

    def _serve(
        self, kind: str, jobs: list[tuple[Any, asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any, BaseException | None]]:
        try:
            if kind == "put":
                self._store.put_judgments(self._run_id, [j for judgments, _ in jobs for j in judgments])
            elif kind == "row":
                self._store.put_rows(self._run_id, [result for result, _ in jobs])
            elif kind == "intent":
                if self._save is not None:
                    self._save(jobs[-1][0])
            else:
                wanted = list({pair: None for pairs, _ in jobs for pair in pairs})
                known = self._store.get_judgments(wanted, run_id=self._run_id if self._own else None)
                return [(future, {p: known[p] for p in pairs if p in known}, None) for pairs, future in jobs]
        except BaseException as error:  # handed to everyone who waits for it
            return [(future, None, error) for _, future in jobs]
        return [(future, None, None) for _, future in jobs]


def _settle(done: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, value, error in done:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
