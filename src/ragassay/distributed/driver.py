"""The driver of a run over Ray: workers get parts of the rows, one at a time each.

The driver is the only one that knows the whole: the rows that are left, the caps, the ledger and
the state of the run. Workers are Ray actors, one CPU each; a worker that dies is replaced, and what
a part came to is merged into the run. Driver and workers talk through calls of the workers'
methods; a heartbeat, a few times a second, brings what the progress display and the budget need.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ragassay.core import (
    EnvironmentFailure,
    Ledger,
    RagAssayError,
    RunState,
    shorten,
)
from ragassay.core.counting import count
from ragassay.distributed import ray_cluster
from ragassay.distributed.messages import Heartbeat, Job, PartResult, Ready, joined
from ragassay.distributed.parts import (
    LEDGER_FILE,
    TOKEN,
    Part,
    PartsLedger,
    Rows,
    folder_of,
    merge_part,
    remove,
    replies_of,
    size_of_parts,
    split,
    writing,
)
from ragassay.distributed.worker import Worker
from ragassay.runs import Outcome, Progress, boot_id
from ragassay.version import __version__

if TYPE_CHECKING:
    from ragassay.core import BadRow, Sample
    from ragassay.distributed.lease import Lease, SharedBudget
    from ragassay.runs.distribution import DistributedRun

HEARTBEAT = 0.25
"""Seconds between two heartbeats of a worker."""

REPORTED_SILENCE = 20.0
"""Seconds from which the silence of a worker is reported; again each time it has doubled."""

MOST_FAILURES = 3
"""Workers that may die in a row on one part without finishing a row of it."""

START_WAIT = 30.0
"""Seconds that the first workers wait for the others before they begin."""

GRACE = 20.0
"""Seconds that workers get to end when the run is stopped."""


@dataclass(slots=True)
class _WorkerHandle:
    """A worker as the driver sees it. share: how many of the calls at once it may make; where: its
    process and host, for messages; heartbeat: the last one of its part; report_after: seconds of
    silence.
    """

    number: int
    share: int
    starting: asyncio.Task[None] | None = None
    actor: Any = None
    where: str = ""
    part: Part | None = None
    heartbeat: Heartbeat = field(default_factory=Heartbeat)
    report_after: float = REPORTED_SILENCE

    def __str__(self) -> str:
        return f"worker {self.number}{self.where}"


@dataclass(slots=True)
class _PartRun:
    """A part while workers drive it. rows: a Ray reference to its rows, where the worker cannot
    read them itself; spent: what earlier workers have spent on it; running: a worker drives it and
    has not returned a result; failures: how many in a row did not get beyond most_rows.
    """

    part: Part
    lease: Lease
    rows: Any = None
    spent: Ledger = field(default_factory=Ledger)
    result: PartResult | None = None
    running: bool = False
    failures: int = 0
    most_rows: int = 0

    def count_failure(self, rows: int) -> None:
        """A worker failed at the part, with so many of its rows done. A row more is progress, after
        which failures are counted anew.
        """
        self.failures = 1 if rows > self.most_rows else self.failures + 1
        self.most_rows = max(self.most_rows, rows)


class RayEngine:
    """Drives a run over Ray, as an Engine does in one process. One instance, one run.

    budget: keeps the caps. Raises SetupError E0105 without Ray, E0110 where a worker cannot make
    the same set-up, EnvironmentFailure E0510 where Ray or its workers fail.
    """

    def __init__(self, run: DistributedRun, budget: SharedBudget) -> None:
        plan, manifest = run.plan, run.manifest
        self._plan = plan
        self._store = run.store
        self._manifest = manifest
        self._budget = budget
        self._done = run.done
        self._log = run.log
        self._share_replies = run.share_replies
        self._save = run.save
        self._tell = run.tell or _ignore
        # Whether workers read the rows of their parts themselves. From other files they would read
        # columns otherwise than from the first row on.
        self._workers_read = plan.dataset.cuttable
        self._folder, self._journals = folder_of(run.store, manifest.run_id)
        self._handles: list[_WorkerHandle] = []
        self._parts: Iterator[tuple[Part, Rows | None]] = iter(())
        self._splitting = asyncio.Lock()
        self._merging = asyncio.Lock()
        self._saving = asyncio.Lock()
        # How many leases were granted, and how many of them are on disk: one write serves all that
        # were granted before it.
        self._leases_granted = 0
        self._leases_saved = 0
        self._merges: set[asyncio.Task[None]] = set()
        self._ended_parts = Heartbeat()
        self._rows_before = 0
        self._parts_ledger: PartsLedger | None = None
        self._state = RunState.RUNNING
        self._reason = ""
        self._stopped = asyncio.Event()
        self._fatal: BaseException | None = None
        self._ray: Any = None
        self.progress = Progress(manifest.rows, ledger=budget.ledger)
        self.without_usage = 0

    def stop(self, state: RunState = RunState.INTERRUPTED, reason: str = "") -> None:
        """Stop cleanly: no new part, no new call; what is in flight is finished and stored. Call
        from the loop.
        """
        if self._state is RunState.RUNNING:
            if not reason:
                at_a_cap = state is RunState.BUDGET
                reason = self._budget.stop_reason() if at_a_cap else "stopped by the user"
            self._state = state
            self._reason = reason
        # At a cap the other workers go on: each may still have some of its lease.
        if state is not RunState.BUDGET:
            self._stopped.set()

    def _abort(self, error: BaseException) -> None:
        if self._fatal is None:
            self._fatal = error
            self.stop(RunState.FAILED, shorten(str(error), 500))

    async def run(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> Outcome:
        """Drive all rows that are not done; `rows` are those, and are read only where workers
        cannot.

        Raises RagAssayError when the set-up or the machine fails.
        """
        self._rows_before = self.progress.rows
        # In a thread, beside the display and Ctrl-C.
        self._ray, is_ours = await asyncio.to_thread(
            ray_cluster.connect, self._plan.options.workers
        )
        try:
            self._make_handles(rows)
            self._make_folder()
            try:
                await self._drive()
            finally:
                remove(self._folder)
        finally:
            if is_ours:
                await asyncio.to_thread(ray_cluster.disconnect, self._ray)
        if self._fatal is not None:
            raise self._fatal
        if self._state is RunState.RUNNING:
            await self._finish()
        return Outcome(self._state, self._reason, self._budget.ledger())

    async def _finish(self) -> None:
        """The state of a run whose workers have all ended without an error. By the store, and not
        by what they reported: a run that lacks rows is never called finished.
        """
        done = await asyncio.to_thread(self._store.done, self._manifest.run_id)
        left = self._manifest.rows - len(done)
        self._state = RunState.FINISHED
        if left > 0:
            self._state = RunState.INTERRUPTED
            self._reason = f"the workers left {count(left, 'row')} undone"

    def _make_handles(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> None:
        options = self._plan.options
        workers = min(options.workers or ray_cluster.cpus(self._ray), options.concurrency)
        self._handles = [
            _WorkerHandle(number, share)
            for number, share in enumerate(shares(options.concurrency, workers), 1)
        ]
        self._budget.workers = workers
        self._parts = self._split(size_of_parts(self._manifest.rows, workers), rows)

    def _make_folder(self) -> None:
        with writing(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self._folder / TOKEN).write_text(self._store.token)
            self._parts_ledger = PartsLedger(self._budget.ledger(), owner=self._store.token)
            self._parts_ledger.write(self._folder)

    async def _drive(self) -> None:
        stopping = asyncio.create_task(self._stop_workers())
        workers: list[asyncio.Task[None]] = []
        try:
            await self._start_workers()
            workers = [asyncio.create_task(self._work(handle)) for handle in self._handles]
            left = set(workers)
            while left:
                done, left = await asyncio.wait(
                    left, timeout=HEARTBEAT, return_when=asyncio.FIRST_EXCEPTION
                )
                self._update_progress()
                self._abort_on_error(done)
        finally:
            starting = [handle.starting for handle in self._handles if handle.starting is not None]
            tasks = [stopping, *workers, *starting]
            for task in tasks:
                task.cancel()
            # The cancelled tasks still close their parts, which begins the merges awaited last.
            await asyncio.gather(*tasks, return_exceptions=True)
            for handle in self._handles:
                await self._end_worker(handle, kindly=True)
            await asyncio.gather(*self._merges, return_exceptions=True)
            self._update_progress()

    def _abort_on_error(self, done: Iterable[asyncio.Task[None]]) -> None:
        for task in done:
            error = None if task.cancelled() else task.exception()
            if error is not None:
                self._abort(error)

    async def _stop_workers(self) -> None:
        """Once the run is stopped, stop all workers; end those that still work after GRACE."""
        await self._stopped.wait()
        for handle in self._handles:
            if handle.actor is not None and handle.part is not None:
                handle.actor.stop.remote()
        await asyncio.sleep(GRACE)
        for handle in self._handles:
            if handle.part is not None:
                await self._end_worker(handle)

    # -- workers, and the parts that they drive

    async def _start_workers(self) -> None:
        """Start the workers. All make the set-up before one of them is given rows, so that a
        mistake in it costs nothing; only those that Ray cannot place for now are not waited for.
        """
        for handle in self._handles:
            handle.starting = asyncio.create_task(self._ensure_worker(handle))
        waiting = {handle.starting for handle in self._handles if handle.starting is not None}
        deadline: float | None = None
        while waiting and not self._stopped.is_set():
            ready, waiting = await asyncio.wait(
                waiting, timeout=0.5, return_when=asyncio.FIRST_COMPLETED
            )
            for task in ready:
                if not task.cancelled():
                    task.result()  # raises what is wrong with the set-up
            now = time.monotonic()
            if deadline is None and ready:
                deadline = now + START_WAIT
            if deadline is not None and now > deadline:
                return

    async def _work(self, handle: _WorkerHandle) -> None:
        """Give one worker part after part, until there is none."""
        if handle.starting is not None:
            await handle.starting
        while self._state is RunState.RUNNING:
            # One at a time, since a generator cannot be advanced twice at once; in a thread, since
            # it may read rows from the disk.
            async with self._splitting:
                item = await asyncio.to_thread(next, self._parts, None)
            if item is None:
                return
            await self._do_part(handle, *item)

    async def _do_part(self, handle: _WorkerHandle, part: Part, rows: Rows | None) -> None:
        """Have one part driven, by as many workers one after another as it takes."""
        reference = None if rows is None else await asyncio.to_thread(self._ray.put, rows)
        run = _PartRun(part, self._budget.open(part.name), reference)
        try:
            await self._store_lease(run.lease)
            while run.result is None and self._state is RunState.RUNNING:
                if not await self._try_part(handle, run):
                    break
        finally:
            await self._close_part(handle, run)
        result = run.result
        if result is not None and result.error is not None:
            raise result.error
        if result is not None and result.state is RunState.BUDGET:
            self.stop(RunState.BUDGET, result.reason)

    async def _try_part(self, handle: _WorkerHandle, run: _PartRun) -> bool:
        """Have one worker drive the part, and note its result. A worker that dies or gives the part
        up leaves no result: the part is tried again. False where there is no worker.
        """
        part = run.part
        try:
            await self._ensure_worker(handle)
            if handle.actor is None:
                return False
            handle.part = part
            handle.heartbeat = Heartbeat()
            run.running = True
            run.result = await self._follow(handle, run)
        except self._ray.exceptions.RayActorError as error:
            run.lease, run.spent = self._budget.worker_died(part.name, handle.share)
            run.running = False
            run.count_failure(handle.heartbeat.rows)
            await self._note_death(handle, part, run.failures, error)
        if run.result is not None and self._took_driver_for_dead(run.result):
            result = run.result
            run.count_failure(result.heartbeat.rows)
            async with self._merging:  # a merge writes the log too, from another thread
                await asyncio.to_thread(self._log.keep, result.replies)
            if run.failures >= MOST_FAILURES:
                raise _too_often(
                    "heard nothing from the driver", f"on {part}", str(handle), result.reason
                )
            self._tell(f"{handle} had heard nothing from here: it goes on with {part}")
            run.lease = self._budget.reopen(part.name, result.heartbeat.use)
            run.spent = result.heartbeat.use.ledger
            run.result = None
            run.running = False
        return True

    def _took_driver_for_dead(self, result: PartResult) -> bool:
        """Whether a worker took this driver for dead, and left rows of its part undone."""
        return (
            result.error is None
            and result.state is RunState.INTERRUPTED
            and self._state is RunState.RUNNING
        )

    async def _close_part(self, handle: _WorkerHandle, run: _PartRun) -> None:
        """Count the part's rows and spend, and have it merged into the run."""
        name, result = run.part.name, run.result
        sent = 0
        if result is None and run.running:
            _, run.spent = self._budget.worker_died(name, handle.share)
            # Nothing may be written into the part while it is merged.
            await self._end_worker(handle)
        if result is not None:
            handle.heartbeat = result.heartbeat
            run.spent = result.heartbeat.use.ledger
            sent = result.heartbeat.use.sent
        sent = max(sent, run.spent.confirmed.calls + run.spent.uncertain_calls)
        self._budget.close(name, run.spent, sent)
        self._add_ended_part(handle)
        self._merge(run.part, run.spent, result)

    async def _follow(self, handle: _WorkerHandle, run: _PartRun) -> PartResult:
        """Let the worker drive the part; take its heartbeats, and grant it leases."""
        running = self._answer_of(
            handle.actor.run_part.remote(run.part, run.rows, run.lease, run.spent)
        )
        heard = time.monotonic()
        handle.report_after = REPORTED_SILENCE
        # A task beside the heartbeats: while a slow disk takes a lease, the worker must go on
        # hearing from the driver, or it takes it for dead.
        granting: asyncio.Task[None] | None = None
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=HEARTBEAT)
                if running.done():
                    break
                heartbeat = await self._heartbeat_of(handle, run.part, running, heard)
                if heartbeat is None:
                    continue
                heard = time.monotonic()
                handle.report_after = REPORTED_SILENCE
                handle.heartbeat = heartbeat
                for message in heartbeat.messages:
                    self._tell(f"worker {handle.number}: {message}")
                if granting is not None:
                    # One lease after the other, so that a smaller one never comes last.
                    if not granting.done():
                        continue
                    granting.result()
                    granting = None
                lease = self._budget.report(run.part.name, heartbeat.use)
                if lease is not None:
                    granting = asyncio.create_task(self._grant(handle, lease, running))
            result: PartResult = running.result()
            return result
        finally:
            if granting is not None:
                granting.cancel()
                await asyncio.gather(granting, return_exceptions=True)

    async def _heartbeat_of(
        self, handle: _WorkerHandle, part: Part, running: asyncio.Future[Any], heard: float
    ) -> Heartbeat | None:
        """The worker's heartbeat; None where its part ends first, or it fails. A long silence is
        reported. heard: when the last heartbeat came.
        """
        answer = self._answer_of(handle.actor.heartbeat.remote())
        while not running.done() and not answer.done():
            await asyncio.wait({running, answer}, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
            silent = time.monotonic() - heard
            if silent >= handle.report_after:
                handle.report_after = 2 * silent
                self._tell(f"{handle} has not answered for {silent:.0f} s: {part}")
        if not answer.done() or answer.exception() is not None:
            return None
        heartbeat: Heartbeat = answer.result()
        return heartbeat

    async def _grant(
        self, handle: _WorkerHandle, lease: Lease, running: asyncio.Future[Any]
    ) -> None:
        await self._store_lease(lease)
        if handle.actor is not None and not running.done():
            handle.actor.extend_lease.remote(lease)

    async def _store_lease(self, lease: Lease) -> None:
        """A lease is on disk before it is granted."""
        if lease.calls is None and lease.cost is None:
            return
        self._leases_granted += 1
        mine = self._leases_granted
        async with self._saving:
            if self._leases_saved < mine:  # else another write has taken it along
                # Read before the write: leases granted during it may not be in it.
                saved = self._leases_granted
                await asyncio.to_thread(self._save)
                self._leases_saved = saved

    async def _ensure_worker(self, handle: _WorkerHandle) -> None:
        """Start a worker where there is none, and another where it dies before it is ready."""
        deaths = 0
        while handle.actor is None and self._state is RunState.RUNNING:
            try:
                await self._start_worker(handle)
            except self._ray.exceptions.RayActorError as error:
                deaths += 1
                await self._note_death(handle, None, deaths, error)

    async def _start_worker(self, handle: _WorkerHandle) -> None:
        """Start a process, and have it make the set-up."""
        # No restarts by Ray: the driver must know of each death, and count what it may have cost.
        actor_class = self._ray.remote(num_cpus=1, max_restarts=0)(Worker)
        handle.actor = actor_class.remote(self._job(handle))
        ready = self._answer_of(handle.actor.prepare.remote(self._workers_read))
        report_after = REPORTED_SILENCE
        started = time.monotonic()
        while not ready.done():
            await asyncio.wait({ready}, timeout=1.0)
            if self._stopped.is_set():
                await self._end_worker(handle)
                return
            silent = time.monotonic() - started
            if silent > report_after:
                report_after = 2 * silent
                self._tell(
                    f"worker {handle.number} has not started for {silent:.0f} s: Ray has no free"
                    " CPU for it yet"
                )
        answer: Ready | RagAssayError = ready.result()
        if isinstance(answer, RagAssayError):
            raise answer
        handle.where = f" (process {answer.pid} on {answer.host})"
        if not answer.sees_folder:
            await self._drop_parts_ledger()

    def _job(self, handle: _WorkerHandle) -> Job:
        return Job(
            version=__version__,
            manifest=self._manifest,
            options=self._plan.options.to_json(with_secrets=True),
            store=self._store.address,
            folder=self._folder,
            journals=self._journals,
            token=self._store.token,
            boot=boot_id(),
            replies=self._log.prefix if self._share_replies else None,
            concurrency=handle.share,
            current_folder=os.getcwd(),
            source_size=os.path.getsize(self._manifest.source) if self._workers_read else 0,
        )

    async def _drop_parts_ledger(self) -> None:
        """Remove the ledger of ended parts: a worker is on another machine, and what it spends is
        in no log on this one, so that after a kill the sum would be too small.
        """
        if self._parts_ledger is None:
            return
        async with self._merging:
            self._parts_ledger = None
            await asyncio.to_thread((self._folder / LEDGER_FILE).unlink, missing_ok=True)

    async def _note_death(
        self, handle: _WorkerHandle, part: Part | None, deaths: int, error: Exception
    ) -> None:
        """Report that a worker died, at its part or while it started. Raises EnvironmentFailure
        when that happens too often.
        """
        worker = str(handle)
        when = "while starting" if part is None else f"on {part}"
        await self._end_worker(handle)
        if self._state is not RunState.RUNNING:
            return
        if deaths >= MOST_FAILURES:
            raise _too_often("died", when, worker, str(error).strip().splitlines()[0])
        self._tell(f"{worker} died {when}; another one goes on: only calls in flight are lost")

    async def _end_worker(self, handle: _WorkerHandle, kindly: bool = False) -> None:
        """End a worker's process. kindly: let it close what it has open."""
        actor = handle.actor
        handle.actor = None
        handle.where = ""
        if actor is None:
            return
        if kindly:
            with suppress(Exception):
                await asyncio.wait_for(self._answer_of(actor.close.remote()), 5.0)
        with suppress(Exception):
            self._ray.kill(actor)

    def _answer_of(self, reference: Any) -> asyncio.Future[Any]:
        """A worker's answer to come. It may be left alone: an error in it is not reported then."""
        answer = asyncio.wrap_future(reference.future())
        answer.add_done_callback(_mark_as_seen)
        return answer

    # -- parts in, results out

    def _split(
        self, size: int, rows: Iterator[tuple[int, Sample | BadRow]]
    ) -> Iterator[tuple[Part, Rows | None]]:
        """The parts; with their rows, where workers cannot read them themselves."""
        for part in split(self._manifest.rows, size, self._done):
            yield part, None if self._workers_read else list(itertools.islice(rows, part.rows))

    def _merge(self, part: Part, spent: Ledger, result: PartResult | None) -> None:
        """Merge a part into the run, while other parts go on."""

        async def work() -> None:
            async with self._merging:  # one writer at a time
                await asyncio.to_thread(self._merge_now, part, spent, result)

        def over(task: asyncio.Task[None]) -> None:
            self._abort_on_error([task])

        task = asyncio.create_task(work())
        task.add_done_callback(over)
        self._merges.add(task)

    def _merge_now(self, part: Part, spent: Ledger, result: PartResult | None) -> None:
        folder = self._folder / part.name
        if self._journals:
            merge_part(self._store, self._manifest.run_id, folder)
        if self._parts_ledger is not None:
            self._parts_ledger = self._parts_ledger.enter(self._folder, part.name, spent)
        if result is None or result.state is not RunState.FINISHED:
            # Not all its replies are judged. Those of a worker elsewhere came with its result.
            sent_along = {} if result is None else result.replies
            self._log.keep(replies_of(folder) | sent_along)
        shutil.rmtree(folder, ignore_errors=True)

    def _add_ended_part(self, handle: _WorkerHandle) -> None:
        last, ended = handle.heartbeat, self._ended_parts
        # Not a sum: a worker counts over all of its parts.
        self.without_usage = max(self.without_usage, last.without_usage)
        traffic = joined([ended.traffic, last.traffic])
        # Nothing is in flight or waited for any more.
        traffic.in_flight = 0
        traffic.waits.clear()
        traffic.limit = 0
        traffic.ceiling = 0
        traffic.down = None
        self._ended_parts = Heartbeat(
            rows=ended.rows + last.rows,
            bad=ended.bad + last.bad,
            cached=ended.cached + last.cached,
            traffic=traffic,
        )
        handle.part = None
        handle.heartbeat = Heartbeat()

    def _update_progress(self) -> None:
        """Update what the display shows, from the last heartbeat of each worker."""
        heartbeats = [self._ended_parts, *(handle.heartbeat for handle in self._handles)]
        progress = self.progress
        progress.rows = self._rows_before + sum(heartbeat.rows for heartbeat in heartbeats)
        progress.bad = sum(heartbeat.bad for heartbeat in heartbeats)
        progress.cached = sum(heartbeat.cached for heartbeat in heartbeats)
        progress.traffic = joined([heartbeat.traffic for heartbeat in heartbeats])


def shares(concurrency: int, workers: int) -> list[int]:
    """How many calls at once each worker may have in flight."""
    whole, rest = divmod(concurrency, workers)
    return [whole + (number < rest) for number in range(workers)]


def _too_often(what: str, when: str, worker: str, why: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        "E0510",
        f"{MOST_FAILURES} workers in a row {what} {when}.",
        where=f"the last was {worker}",
        why=shorten(why, 200),
        fix="see that the machine has memory enough (fewer --workers take less)",
    )


def _ignore(_: str) -> None:
    """What is told to nobody."""


def _mark_as_seen(answer: asyncio.Future[Any]) -> None:
    if not answer.cancelled():
        answer.exception()
