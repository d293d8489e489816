"""The journal of a run: judgments get to disk before they are used, many in one commit.

The store is synchronous and one writer at a time does it good; the engine is asynchronous. A
`Journal` is the door between them: coroutines hand over what must be durable and wait; a thread
takes everything that has gathered, commits it once, and wakes all of them. An fsync is thus shared
by as many judgments as arrived during the last one. Rows follow from judgments, so a row that a
kill takes along is made again for nothing: rows are written in blocks.
"""

from __future__ import annotations

import asyncio
import mmap
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple, Protocol

from ragassay.core import (
    BadRow,
    Judgment,
    JudgmentAddress,
    Ledger,
    RagAssayError,
    RowResult,
    Sample,
    claim_memory,
)

BLOCK_ROWS = 64
BLOCK_SIZE = 1 << 20
BLOCK_SECONDS = 0.5
"""Rows that are written together, characters of text from which fewer are, and how long the first
of them waits at most.
"""

MOST_ROWS = 1024
MOST_SIZE = 1 << 23
"""Rows and characters that may wait for the writer before whoever brings more has to wait as well.
"""

LINGER = 0.02
"""Seconds in which further judgments may join a commit."""

Kind = Literal["put", "row", "intent", "get", "own"]
ORDER: tuple[Kind, ...] = ("put", "row", "intent", "get", "own")
"""The order in which the writer serves what has gathered: lookups see what was written before."""


class JournalStore(Protocol):
    """What the journal needs of a store."""

    def put_judgments(self, run_id: str, judgments: Sequence[Judgment]) -> None: ...

    def get_judgments(
        self, addresses: Sequence[JudgmentAddress], *, run_id: str | None = None
    ) -> dict[JudgmentAddress, Judgment]: ...

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None: ...

    def last_judgment(self) -> int: ...


class _Job(NamedTuple):
    """Something that the writer is to do, for whoever waits for the future."""

    kind: Kind
    value: Any
    future: asyncio.Future[Any]


_Done = tuple[asyncio.Future[Any], Any, BaseException | None]
"""(whom to wake, the result, the error)"""


class _RowBlock:
    """Rows that wait to be written, with their characters. Guarded by the journal's lock."""

    def __init__(self) -> None:
        self.rows: list[RowResult] = []
        self.size = 0
        self.largest = 0  # row

    def add(self, results: Sequence[RowResult]) -> None:
        self.rows += results
        for result in results:
            size = text_size(result.sample)
            self.size += size
            self.largest = max(self.largest, size)

    @property
    def full(self) -> bool:
        return len(self.rows) >= BLOCK_ROWS or self.size >= BLOCK_SIZE

    @property
    def overdue(self) -> bool:
        """Whether the writer is so far behind that nobody may bring more."""
        return len(self.rows) > MOST_ROWS or self.size > MOST_SIZE


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
        self._store = store
        self._run_id = run_id
        self._own_run_only = own_run_only
        self._save_ledger = save_ledger
        self._on_failure = on_failure
        self._new = frozenset(new)
        self._put_keys = BloomFilter()
        self._last = 0  # number of the last judgment in the store, while this run alone writes any
        self._jobs: list[_Job] = []
        self._lock = threading.Condition()
        self._block = _RowBlock()
        self._row_error: BaseException | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="ragassay-journal", daemon=True)

    async def __aenter__(self) -> Journal:
        if self._new and not self._own_run_only:
            self._last = self._store.last_judgment()
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify()
        await asyncio.to_thread(self._thread.join)
        if self._row_error is not None:
            raise self._row_error

    async def put(self, judgments: Sequence[Judgment]) -> None:
        """Make the judgments durable."""
        if judgments:
            for judgment in judgments:
                self._put_keys.add(judgment.key)
            await self._submit("put", judgments)

    async def intent(self, ledger: Ledger) -> None:
        """Make durable, before a call is sent, a ledger that already counts it; the newest of those
        that wait is written.
        """
        await self._submit("intent", ledger)

    async def lookup(self, addresses: Sequence[JudgmentAddress]) -> dict[JudgmentAddress, Judgment]:
        """The judgments that the store holds already, by address."""
        maybe = [address for address in addresses if self._may_be_stored(address)]
        if not maybe:
            return {}
        judgments: dict[JudgmentAddress, Judgment] = await self._submit("get", maybe)
        return judgments

    def _may_be_stored(self, address: JudgmentAddress) -> bool:
        fingerprint, key = address
        return fingerprint not in self._new or key in self._put_keys

    async def bought(self, addresses: Sequence[JudgmentAddress]) -> frozenset[JudgmentAddress]:
        """Those of these Judgments that this run itself has bought, in an earlier part of it."""
        return frozenset(await self._submit("own", addresses))

    async def put_rows(self, results: Sequence[RowResult]) -> None:
        """Hand over rows; they are written with their block, at the latest when the journal is
        closed.

        Waits only when the writer is behind. Raises what went wrong with an earlier block.
        """
        if self._row_error is not None:
            raise self._row_error
        with self._lock:
            self._block.add(results)
            if self._block.full:
                self._lock.notify()
        while self._row_error is None and self._block.overdue:
            await asyncio.sleep(0.005)

    async def put_answered(self, result: RowResult) -> None:
        """Make durable a row that is not done yet, with what the application answered."""
        await self._submit("row", result)

    def _submit(self, kind: Kind, value: object) -> asyncio.Future[Any]:
        assert self._loop is not None, "the journal is used outside its context"
        future: asyncio.Future[Any] = self._loop.create_future()
        with self._lock:
            self._jobs.append(_Job(kind, value, future))
            self._lock.notify()
        return future

    # -- in the writer's thread

    def _work(self) -> None:
        written = time.monotonic()
        while True:
            closed = self._wait_for_work()
            jobs, block = self._take_work(closed, written)
            if not self._wake(self._do(jobs)):
                return
            if block is not None:
                written = time.monotonic()
                self._write_rows(block)
            if closed and not jobs:
                return

    def _wait_for_work(self) -> bool:
        """Wait until there is something to do; whether the journal is closed."""
        with self._lock:
            while not (self._jobs or self._closed or self._block.full):
                if not self._lock.wait(BLOCK_SECONDS) and self._block.rows:
                    break
            urgent = any(job.kind not in ("put", "row") for job in self._jobs)
            closed = self._closed
        if not urgent and not closed:
            time.sleep(LINGER)  # answers come in bursts: a moment's patience saves commits
        return closed

    def _take_work(self, closed: bool, written: float) -> tuple[list[_Job], _RowBlock | None]:
        """What has gathered, and the rows where they are to be written now. written: when rows
        last were.
        """
        with self._lock:
            jobs, self._jobs = self._jobs, []
            due = closed or self._block.full or time.monotonic() - written >= BLOCK_SECONDS
            if not due or not self._block.rows:
                return jobs, None
            block, self._block = self._block, _RowBlock()
            return jobs, block

    def _do(self, jobs: Sequence[_Job]) -> list[_Done]:
        done: list[_Done] = []
        for kind in ORDER:
            of_kind = [job for job in jobs if job.kind == kind]
            if of_kind:
                done += self._serve(kind, of_kind)
        return done

    def _wake(self, done: list[_Done]) -> bool:
        """Wake whoever waits; False where the event loop is closed: then nobody waits any more, and
        what had to be durable is.
        """
        if done:
            assert self._loop is not None
            try:
                self._loop.call_soon_threadsafe(_settle, done)
            except RuntimeError:
                return False
        return True

    def _write_rows(self, block: _RowBlock) -> None:
        self._look_for_others()
        try:
            claim_memory(block.largest)
            self._store.put_rows(self._run_id, block.rows)
        except BaseException as error:
            # Raised to whoever brings the next row, and at the end.
            self._row_error = error
            self._report_failure(error)

    def _report_failure(self, error: BaseException) -> None:
        """Report at once that the store has failed: until whoever waits for it gets to hear of it,
        calls would go out.
        """
        if self._on_failure is None or self._loop is None:
            return
        if isinstance(error, RagAssayError):
            with suppress(RuntimeError):  # the loop is closed, and nobody sends anything
                self._loop.call_soon_threadsafe(self._on_failure, error)

    def _look_for_others(self) -> None:
        """Where another run has put judgments since, nothing is new to this one for sure."""
        if self._new and not self._own_run_only:
            try:
                if self._store.last_judgment() != self._last:
                    self._new = frozenset()
            except RagAssayError:
                self._new = frozenset()

    def _serve(self, kind: Kind, jobs: Sequence[_Job]) -> list[_Done]:
        """Do jobs of one kind together."""
        try:
            if kind == "put":
                self._put(jobs)
            elif kind == "row":
                claim_memory(max(text_size(job.value.sample) for job in jobs))
                self._store.put_rows(self._run_id, [job.value for job in jobs])
            elif kind == "intent":
                if self._save_ledger is not None:
                    self._save_ledger(jobs[-1].value)
            else:
                return self._get(jobs, own_only=self._own_run_only or kind == "own")
        except ValueError as error:  # a number that cannot be stored
            return self._serve_apart(kind, jobs, error)
        except BaseException as error:  # handed to everyone who waits for it
            self._report_failure(error)
            return [(job.future, None, error) for job in jobs]
        return [(job.future, None, None) for job in jobs]

    def _put(self, jobs: Sequence[_Job]) -> None:
        judgments: list[Judgment] = []
        for job in jobs:
            judgments += job.value
        self._store.put_judgments(self._run_id, judgments)
        self._last += len(judgments)

    def _get(self, jobs: Sequence[_Job], *, own_only: bool) -> list[_Done]:
        addresses: dict[JudgmentAddress, None] = {}  # each once, in order
        for job in jobs:
            addresses.update(dict.fromkeys(job.value))
        stored = self._store.get_judgments(
            list(addresses), run_id=self._run_id if own_only else None
        )
        done: list[_Done] = []
        for job in jobs:
            done.append((job.future, {p: stored[p] for p in job.value if p in stored}, None))
        return done

    def _serve_apart(self, kind: Kind, jobs: Sequence[_Job], error: ValueError) -> list[_Done]:
        """Nothing of the commit was made, and one job is to blame: each is done by itself."""
        if len(jobs) == 1:
            return [(jobs[0].future, None, error)]
        done: list[_Done] = []
        for job in jobs:
            done += self._serve(kind, [job])
        return done


class BloomFilter:
    """Which keys may have been put. Says yes of every one that was, and of one in a hundred others,
    by ten million keys.

    A Bloom filter of 16 MB (in pages that are touched as it fills): the keys themselves would take
    a gigabyte.
    """

    _BITS = 27

    def __init__(self) -> None:
        # Pages of zeros that take memory once they are written to.
        self._bits = mmap.mmap(-1, 1 << (self._BITS - 3))

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


def _settle(done: list[_Done]) -> None:
    for future, value, error in done:
        if future.done():
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
