"""The journal of a run: judgments get to disk before they are used, many in one commit.

The store is synchronous and one writer at a time does it good; the engine is asynchronous. A
`Journal` stands between them: coroutines submit what must be durable and wait; a thread takes
everything that was submitted meanwhile, commits it once, and wakes all of them. An fsync is thus
shared by as many judgments as arrived during the last one. Rows follow from judgments, so a row
that is lost in a kill is made again without a call: rows are written in blocks.
"""

from __future__ import annotations

import asyncio
import mmap
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import Any, NamedTuple, Protocol

from ragassay.core import (
    BadRow,
    Exchange,
    Judgment,
    JudgmentAddress,
    Ledger,
    RagAssayError,
    RowResult,
    Sample,
    claim_memory,
)
from ragassay.store import Claimed, OtherRuns

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


class _JobKind(Enum):
    """What the writer can be asked to do, in the order in which it does what was submitted since
    the last time: a lookup sees all that was submitted before it.
    """

    STORE_JUDGMENTS = auto()
    STORE_ANSWERED_ROW = auto()
    STORE_LEDGER = auto()
    LOOK_UP = auto()
    LOOK_UP_OWN = auto()
    """Among the judgments of this run only."""
    CLAIM = auto()
    CLAIM_AGAIN = auto()
    """Questions that another run was asking the last time."""


_MAY_LINGER = (_JobKind.STORE_JUDGMENTS, _JobKind.STORE_ANSWERED_ROW)
"""Kinds that come in bursts. Before a ledger is stored a call cannot be sent, and before a lookup
nobody knows whether to ask: these are not kept waiting for others.
"""


class JournalStore(Protocol):
    """What the journal needs of a store."""

    def put_judgments(
        self, run_id: str, judgments: Sequence[Judgment], exchanges: Sequence[Exchange] = ()
    ) -> None: ...

    def get_judgments(
        self, addresses: Sequence[JudgmentAddress], *, run_id: str | None = None
    ) -> dict[JudgmentAddress, Judgment]: ...

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None: ...

    def last_judgment(self) -> int: ...


class ClaimStore(Protocol):
    """What claims need of a store: see `Store`."""

    def begin_asking(self, run_id: str, judges: Iterable[str]) -> OtherRuns: ...

    def others_asking(self, run_id: str) -> OtherRuns: ...

    def begin_claiming(self, run_id: str) -> None: ...

    def stop_claiming(self, run_id: str) -> bool: ...

    def claim(self, run_id: str, addresses: Sequence[JudgmentAddress]) -> Claimed: ...

    def open_to_claim(
        self, run_id: str, addresses: Sequence[JudgmentAddress]
    ) -> list[JudgmentAddress]: ...

    def end_asking(self, run_id: str) -> None: ...

    def claims(self, run_id: str) -> frozenset[JudgmentAddress]: ...

    def give_up_claims(self, run_id: str, addresses: Collection[JudgmentAddress]) -> None: ...


class _Job(NamedTuple):
    """Something that the writer is to do, for whoever waits for the future."""

    kind: _JobKind
    value: Any
    future: asyncio.Future[Any]


class _Result(NamedTuple):
    """What came of a job: a value or an error for whoever waits for the future."""

    future: asyncio.Future[Any]
    value: Any = None
    error: BaseException | None = None


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
    own_run_only: look up only this run's judgments, where those of other runs are not to be used;
    a resume still pays for nothing twice. new_judges: fingerprints under which the store had no
    judgment when the run began: of these, only what this run has stored itself is looked up.
    on_failure: called in the event loop as soon as the store fails, which may be long before
    whoever submitted the rows comes with the next ones. claims: the store, where questions can be
    claimed in it.
    """

    def __init__(
        self,
        store: JournalStore,
        run_id: str,
        *,
        own_run_only: bool = False,
        save_ledger: Callable[[Ledger], None] | None = None,
        new_judges: Collection[str] = (),
        on_failure: Callable[[RagAssayError], None] | None = None,
        claims: ClaimStore | None = None,
    ) -> None:
        self._store = store
        self._run_id = run_id
        self._own_run_only = own_run_only
        self._save_ledger = save_ledger
        self._on_failure = on_failure
        self._claims = claims
        self._new_judges = frozenset(new_judges)
        self._own_keys = BloomFilter()
        # The number that the last judgment in the store has, as long as this run alone writes any.
        self._last_number = 0
        self._jobs: list[_Job] = []
        self._lock = threading.Condition()
        self._block = _RowBlock()
        self._row_error: BaseException | None = None
        self._closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="ragassay-journal", daemon=True)

    async def __aenter__(self) -> Journal:
        if self._new_judges and not self._own_run_only:
            self._last_number = self._store.last_judgment()
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

    async def put(self, judgments: Sequence[Judgment], exchanges: Sequence[Exchange] = ()) -> None:
        """Make the judgments durable, with the exchanges that they come from."""
        if judgments:
            for judgment in judgments:
                self._own_keys.add(judgment.key)
            await self._submit(_JobKind.STORE_JUDGMENTS, (judgments, exchanges))

    async def write_intent(self, ledger: Ledger) -> None:
        """Make durable, before a call is sent, a ledger that already counts the call; the newest of
        those that wait is written.
        """
        await self._submit(_JobKind.STORE_LEDGER, ledger)

    async def lookup(self, addresses: Sequence[JudgmentAddress]) -> dict[JudgmentAddress, Judgment]:
        """The judgments that the store holds already, by address."""
        candidates = [address for address in addresses if self._may_be_stored(address)]
        if not candidates:
            return {}
        judgments: dict[JudgmentAddress, Judgment] = await self._submit(
            _JobKind.LOOK_UP, candidates
        )
        return judgments

    def _may_be_stored(self, address: JudgmentAddress) -> bool:
        fingerprint, key = address
        return fingerprint not in self._new_judges or key in self._own_keys

    async def stored_by_this_run(
        self, addresses: Sequence[JudgmentAddress]
    ) -> frozenset[JudgmentAddress]:
        """The addresses whose Judgments an earlier part of this run has stored, and paid for."""
        return frozenset(await self._submit(_JobKind.LOOK_UP_OWN, addresses))

    async def claim(self, addresses: Sequence[JudgmentAddress], *, again: bool = False) -> Claimed:
        """Claim questions before they are asked; see `Store.claim`. again: the last time, another
        run was asking them.
        """
        kind = _JobKind.CLAIM_AGAIN if again else _JobKind.CLAIM
        claimed: Claimed = await self._submit(kind, addresses)
        return claimed

    async def put_rows(self, results: Sequence[RowResult]) -> None:
        """Submit rows; they are written with their block, at the latest when the journal is
        closed.

        Waits only when the writer is far behind. Raises what went wrong with an earlier block.
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
        await self._submit(_JobKind.STORE_ANSWERED_ROW, result)

    def _submit(self, kind: _JobKind, value: object) -> asyncio.Future[Any]:
        assert self._loop is not None, "the journal is used outside its context"
        future: asyncio.Future[Any] = self._loop.create_future()
        with self._lock:
            self._jobs.append(_Job(kind, value, future))
            self._lock.notify()
        return future

    # -- in the writer's thread

    def _work(self) -> None:
        rows_written_at = time.monotonic()
        while True:
            closed = self._wait_for_work()
            jobs, block = self._take_work(closed, rows_written_at)
            if not self._wake(self._do(jobs)):
                return
            if block is not None:
                rows_written_at = time.monotonic()
                self._write_rows(block)
            # Not right after the last jobs: others may have been submitted while they were done.
            if closed and not jobs:
                return

    def _wait_for_work(self) -> bool:
        """Wait until there is something to do; whether the journal is closed."""
        with self._lock:
            while not (self._jobs or self._closed or self._block.full):
                if not self._lock.wait(BLOCK_SECONDS) and self._block.rows:
                    break
            urgent = any(job.kind not in _MAY_LINGER for job in self._jobs)
            closed = self._closed
        if not urgent and not closed:
            time.sleep(LINGER)  # answers come in bursts: a moment's patience saves commits
        return closed

    def _take_work(
        self, closed: bool, rows_written_at: float
    ) -> tuple[list[_Job], _RowBlock | None]:
        """All jobs that were submitted, and the rows where they are to be written now.
        rows_written_at: when rows were last written.
        """
        with self._lock:
            jobs, self._jobs = self._jobs, []
            waited = time.monotonic() - rows_written_at
            due = closed or self._block.full or waited >= BLOCK_SECONDS
            if not due or not self._block.rows:
                return jobs, None
            block, self._block = self._block, _RowBlock()
            return jobs, block

    def _do(self, jobs: Sequence[_Job]) -> list[_Result]:
        results: list[_Result] = []
        for kind in _JobKind:
            of_kind = [job for job in jobs if job.kind is kind]
            if of_kind:
                results += self._serve(kind, of_kind)
        return results

    def _wake(self, results: list[_Result]) -> bool:
        """Wake whoever waits; False where the event loop is closed: then nobody waits any more, and
        what had to be durable is.
        """
        if results:
            assert self._loop is not None
            try:
                # One call for all: each wakes the loop through a system call.
                self._loop.call_soon_threadsafe(_settle, results)
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
        # Looked for as often as rows are written. What another run stores in between is asked
        # again by this one: that costs a call, and no result depends on it.
        if self._new_judges and not self._own_run_only:
            try:
                if self._store.last_judgment() != self._last_number:
                    self._new_judges = frozenset()
            except RagAssayError:
                self._new_judges = frozenset()

    def _serve(self, kind: _JobKind, jobs: Sequence[_Job]) -> list[_Result]:
        """Do jobs of one kind together."""
        try:
            if kind is _JobKind.STORE_JUDGMENTS:
                self._put(jobs)
            elif kind is _JobKind.STORE_ANSWERED_ROW:
                claim_memory(max(text_size(job.value.sample) for job in jobs))
                self._store.put_rows(self._run_id, [job.value for job in jobs])
            elif kind is _JobKind.STORE_LEDGER:
                if self._save_ledger is not None:
                    self._save_ledger(jobs[-1].value)  # it counts the calls of all before it
            elif kind in (_JobKind.CLAIM, _JobKind.CLAIM_AGAIN):
                return self._claim(jobs, again=kind is _JobKind.CLAIM_AGAIN)
            else:
                own_only = self._own_run_only or kind is _JobKind.LOOK_UP_OWN
                return self._get(jobs, own_only=own_only)
        except ValueError as error:  # a number that cannot be stored
            return self._serve_apart(kind, jobs, error)
        except BaseException as error:  # raised in everyone who waits for it
            self._report_failure(error)
            return [_Result(job.future, error=error) for job in jobs]
        return [_Result(job.future) for job in jobs]

    def _put(self, jobs: Sequence[_Job]) -> None:
        judgments: list[Judgment] = []
        exchanges: list[Exchange] = []
        for job in jobs:
            judgments += job.value[0]
            exchanges += job.value[1]
        self._store.put_judgments(self._run_id, judgments, exchanges)
        self._last_number += len(judgments)

    def _get(self, jobs: Sequence[_Job], *, own_only: bool) -> list[_Result]:
        stored = self._store.get_judgments(
            _addresses_of(jobs), run_id=self._run_id if own_only else None
        )
        results: list[_Result] = []
        for job in jobs:
            value = {address: stored[address] for address in job.value if address in stored}
            results.append(_Result(job.future, value))
        return results

    def _claim(self, jobs: Sequence[_Job], *, again: bool) -> list[_Result]:
        assert self._claims is not None
        addresses = _addresses_of(jobs)
        if again:  # mostly in vain: to look costs less than to write
            addresses = self._claims.open_to_claim(self._run_id, addresses)
        claimed = Claimed({}, frozenset())
        if addresses:
            claimed = self._claims.claim(self._run_id, addresses)
        results: list[_Result] = []
        for job in jobs:
            judgments = {a: claimed.judgments[a] for a in job.value if a in claimed.judgments}
            granted = claimed.granted.intersection(job.value)
            results.append(_Result(job.future, Claimed(judgments, granted)))
        return results

    def _serve_apart(
        self, kind: _JobKind, jobs: Sequence[_Job], error: ValueError
    ) -> list[_Result]:
        """Nothing of the commit was made, and one job is to blame: each is done by itself."""
        if len(jobs) == 1:
            return [_Result(jobs[0].future, error=error)]
        results: list[_Result] = []
        for job in jobs:
            results += self._serve(kind, [job])
        return results


def _addresses_of(jobs: Sequence[_Job]) -> list[JudgmentAddress]:
    """What the jobs ask for, each once and in order."""
    addresses: dict[JudgmentAddress, None] = {}
    for job in jobs:
        addresses.update(dict.fromkeys(job.value))
    return list(addresses)


class BloomFilter:
    """Which keys may have been added. It says yes of every key that was; with ten million keys in
    it, it also says so of one in a hundred others.

    It takes 16 MB of memory (in pages that are touched as it fills), where a set of ten million
    keys would take a gigabyte.
    """

    _BITS = 27

    def __init__(self) -> None:
        # Pages of zeros that take memory once they are written to.
        self._bits = mmap.mmap(-1, 1 << (self._BITS - 3))

    def _places(self, key: str) -> tuple[int, ...]:
        # The key of a Request is a hash of 128 bits in hex, of which three places of 27 bits can be
        # cut. Any other text is hashed first.
        number = hash(key) & (1 << 62) - 1 if len(key) != 32 else int(key, 16)
        mask = (1 << self._BITS) - 1
        return number & mask, number >> 27 & mask, number >> 54 & mask

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


def _settle(results: list[_Result]) -> None:
    for future, value, error in results:
        if future.done():  # cancelled: whoever waited has given up
            continue
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
