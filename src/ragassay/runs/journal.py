"""How judgments get to disk before they are used: one writer thread, one transaction for all that
waits.

The store is synchronous and one writer at a time does it good; the engine is asynchronous. A
`Journal` is the door between them: coroutines hand over what must be durable and wait; a thread
takes everything that has gathered, commits it once, and wakes all of them. An fsync is thus shared
by as many judgments as arrived during the last one. Rows follow from judgments, so a row that a
kill takes along is made again for nothing: rows are written in heaps.
"""

from __future__ import annotations

import asyncio
import mmap
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Protocol

from ragassay.core import BadRow, Judgment, Ledger, RagAssayError, RowResult, Sample, claim_memory

HEAP, HEAP_SIZE, HEAP_SECONDS = 64, 1 << 20, 0.5
"""Rows that are written together, characters of text from which fewer are, and how long the first
of them waits at most.
"""

MOST_ROWS, MOST_SIZE = 1024, 1 << 23
"""Rows and characters that may wait for the writer before whoever brings more has to wait as well.
"""

LINGER = 0.02
"""Seconds in which further judgments may join a commit."""

Pair = tuple[str, str]
"""(judge fingerprint, request key): the content address of a Judgment."""


class JournalStore(Protocol):
    """What the journal needs of a store."""

    def put_judgments(self, run_id: str, judgments: Sequence[Judgment]) -> None: ...

    def get_judgments(
        self, pairs: Sequence[Pair], *, run_id: str | None = None
    ) -> dict[Pair, Judgment]: ...

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None: ...

    def last_judgment(self) -> int: ...


class Journal:
    """Asynchronous, group-committing front of a store for one run.

    Every method returns when the work is durable (or read), and raises what the store raised.
    `own_run_only`: look up only this run's judgments (the cache of other runs is off, resuming
    still re-buys nothing). new: judge fingerprints of which nothing was known when the run began:
    only what this run has put itself is looked up of them. on_failure: called in the event loop as
    soon as the store fails, before anybody comes for the work that is lost.
    """

    def __init__(
        self,
        store: JournalStore,
        run_id: str,
        *,
        own_run_only: bool = False,
        save_ledger: Callable[[Ledger], None] | None = None,
        new: Collection[str] = (),
        on_failure: Callable[[RagAssayError], None] | None = None,
    ) -> None:
        self._store, self._run_id, self._own, self._save = store, run_id, own_run_only, save_ledger
        self._on_failure = on_failure
        self._new, self._seen = frozenset(new), Seen()
        self._last = 0  # number of the last judgment in the store, while this run alone writes any
        self._queue: list[tuple[str, Any, asyncio.Future[Any]]] = []
        self._lock = threading.Condition()
        self._rows: list[RowResult] = []
        self._rows_size = self._largest = 0
        self._lost: BaseException | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="ragassay-journal", daemon=True)

    async def __aenter__(self) -> Journal:
        if self._new and not self._own:
            self._last = self._store.last_judgment()
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
            for judgment in judgments:
                self._seen.add(judgment.key)
            await self._submit("put", judgments)

    async def intent(self, ledger: Ledger) -> None:
        """Make durable, before a call is sent, a ledger that already counts it; the newest of those
        that wait is written.
        """
        await self._submit("intent", ledger)

    async def lookup(self, pairs: Sequence[Pair]) -> dict[Pair, Judgment]:
        """The judgments that are known already, by pair."""
        maybe = [pair for pair in pairs if pair[0] not in self._new or pair[1] in self._seen]
        if not maybe:
            return {}
        found: dict[Pair, Judgment] = await self._submit("get", maybe)
        return found

    async def bought(self, pairs: Sequence[Pair]) -> frozenset[Pair]:
        """Those of these Judgments that this run itself has bought, in an earlier part of it."""
        return frozenset(await self._submit("own", pairs))

    async def put_rows(self, results: Sequence[RowResult]) -> None:
        """Hand over rows; they are written with their heap, at the latest when the journal is
        closed.

        Waits only when the writer is behind. Raises what went wrong with an earlier heap.
        """
        if self._lost is not None:
            raise self._lost
        sizes = [text_size(result.sample) for result in results]
        with self._lock:
            self._rows += results
            self._rows_size += sum(sizes)
            self._largest = max([self._largest, *sizes])
            if self._heap_is_full():
                self._lock.notify()
        while self._lost is None and (len(self._rows) > MOST_ROWS or self._rows_size > MOST_SIZE):
            await asyncio.sleep(0.005)

    def _heap_is_full(self) -> bool:
        return len(self._rows) >= HEAP or self._rows_size >= HEAP_SIZE

    async def put_answered(self, result: RowResult) -> None:
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
                while not (self._queue or self._closed or self._heap_is_full()):
                    if not self._lock.wait(HEAP_SECONDS) and self._rows:
                        break
                urgent = any(kind not in ("put", "row") for kind, _, _ in self._queue)
                closed = self._closed
            if not urgent and not closed:
                time.sleep(LINGER)  # answers come in bursts: a moment's patience saves commits
            with self._lock:
                batch, self._queue = self._queue, []
                rows: list[RowResult] = []
                largest = 0
                due = time.monotonic() - written >= HEAP_SECONDS
                if closed or due or self._heap_is_full():
                    rows, largest = self._rows, self._largest
                    self._rows, self._rows_size, self._largest = [], 0, 0
            done: list[tuple[asyncio.Future[Any], Any, BaseException | None]] = []
            for kind in ("put", "row", "intent", "get", "own"):
                jobs = [(what, future) for k, what, future in batch if k == kind]
                if jobs:
                    done += self._serve(kind, jobs)
            if done:
                assert self._loop is not None
                try:
                    self._loop.call_soon_threadsafe(_settle, done)
                except (
                    RuntimeError
                ):  # the loop is gone: nobody waits any more, and what had to be durable is
                    return
            if rows:
                written = time.monotonic()
                self._look_for_others()
                try:
                    claim_memory(largest)
                    self._store.put_rows(self._run_id, rows)
                except (
                    BaseException
                ) as error:  # raised to whoever brings the next row, and at the end
                    self._lost = error
                    self._tell(error)
            if closed and not batch:
                return

    def _tell(self, error: BaseException) -> None:
        """Say at once that the store has failed: until whoever waits for it gets to hear of it,
        calls would go out.
        """
        if (
            self._on_failure is not None
            and self._loop is not None
            and isinstance(error, RagAssayError)
        ):
            with suppress(RuntimeError):  # the loop is gone, and nobody sends anything
                self._loop.call_soon_threadsafe(self._on_failure, error)

    def _look_for_others(self) -> None:
        """Where another run has put judgments since, what was new to this one may not be any more."""
        if self._new and not self._own:
            try:
                if self._store.last_judgment() != self._last:
                    self._new = frozenset()
            except RagAssayError:
                self._new = frozenset()

    def _serve(
        self, kind: str, jobs: list[tuple[Any, asyncio.Future[Any]]]
    ) -> list[tuple[asyncio.Future[Any], Any, BaseException | None]]:
        try:
            if kind == "put":
                written = [j for judgments, _ in jobs for j in judgments]
                self._store.put_judgments(self._run_id, written)
                self._last += len(written)
            elif kind == "row":
                claim_memory(max(text_size(result.sample) for result, _ in jobs))
                self._store.put_rows(self._run_id, [result for result, _ in jobs])
            elif kind == "intent":
                if self._save is not None:
                    self._save(jobs[-1][0])
            else:
                wanted = list({pair: None for pairs, _ in jobs for pair in pairs})
                own = self._own or kind == "own"
                known = self._store.get_judgments(wanted, run_id=self._run_id if own else None)
                return [
                    (future, {p: known[p] for p in pairs if p in known}, None)
                    for pairs, future in jobs
                ]
        except ValueError as error:  # a number that cannot be stored
            if len(jobs) > 1:  # nothing of the commit was, and one of them is to blame
                return [outcome for job in jobs for outcome in self._serve(kind, [job])]
            return [(future, None, error) for _, future in jobs]
        except BaseException as error:  # handed to everyone who waits for it
            self._tell(error)
            return [(future, None, error) for _, future in jobs]
        return [(future, None, None) for _, future in jobs]


class Seen:
    """Which keys may have been put? Says yes of every one that was, and of one in a hundred others,
    by ten million keys.

    A Bloom filter of 16 MB (in pages that are touched as it fills): the keys themselves would take
    a gigabyte.
    """

    _BITS = 27

    def __init__(self) -> None:
        self._bits = mmap.mmap(
            -1, 1 << (self._BITS - 3)
        )  # pages of zeros that take memory once they are written to

    def _places(self, key: str) -> tuple[int, ...]:
        number = hash(key) & (1 << 62) - 1 if len(key) != 32 else int(key, 16)
        return tuple(number >> shift & (1 << self._BITS) - 1 for shift in (0, 27, 54))

    def add(self, key: str) -> None:
        """Remember the key."""
        for place in self._places(key):
            self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, key: str) -> bool:
        return all(self._bits[place >> 3] >> (place & 7) & 1 for place in self._places(key))


def text_size(row: Sample | BadRow | None) -> int:
    """Characters of a row's texts: what it takes of the memory, roughly."""
    if not isinstance(row, Sample):
        return 0
    contexts = sum([len(context.text) for context in row.contexts or ()])
    return contexts + len(row.question or "") + len(row.response or "") + len(row.reference or "")


def _settle(done: list[tuple[asyncio.Future[Any], Any, BaseException | None]]) -> None:
    for future, value, error in done:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
