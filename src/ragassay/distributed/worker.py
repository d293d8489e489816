"""The worker of a distributed run: one process that drives one part of the rows after another.

Nothing here knows of Ray: the driver calls these methods wherever the worker is. `run_part` lasts
as long as its part; the others answer at once, beside it. A worker makes the run's set-up for
itself, and ends its part when it does not hear from its driver for a while.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.core import BadRow, Ledger, RagAssayError, RunState, Sample, SetupError, shorten
from ragassay.dispatch import Rate, output_limit_of
from ragassay.distributed.lease import Lease, LeasedBudget
from ragassay.distributed.messages import Heartbeat, Job, PartResult, Ready, frozen
from ragassay.distributed.parts import (
    LOG,
    TOKEN,
    Part,
    PartStore,
    Rows,
    elsewhere,
    part_lock,
    replies_of,
    writing,
)
from ragassay.runs import ReplyLog, RunContext, Watchdog, boot_id
from ragassay.runs.chat_models import chat_models
from ragassay.runs.options import Options
from ragassay.runs.plan import make_setup, open_dataset
from ragassay.runs.preflight import key_of
from ragassay.version import __version__

if TYPE_CHECKING:
    from ragassay.datasets import Dataset
    from ragassay.runs import Engine, Outcome, Replies
    from ragassay.runs.plan import Setup
    from ragassay.store import Store

SILENCE = 60.0
"""Seconds without a word from the driver after which a worker takes it for dead."""


class Worker:
    """One process of a distributed run."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._setup: Setup | None = None
        self._store: Store | None = None
        self._dataset: Dataset | None = None
        self._sees_folder = False
        self._run_replies: Replies = {}  # of the run's own log
        self._engine: Engine | None = None
        self._budget: LeasedBudget | None = None
        self._heard_at = time.monotonic()
        self._answered_before = 0  # calls of earlier parts
        self._rows_before = 0  # rows of this part that earlier workers have done
        self._last_heartbeat = Heartbeat()
        self._messages: list[str] = []

    async def prepare(self, reads_rows: bool) -> Ready | RagAssayError:
        """Make the set-up, before anything is paid, and compare it with the driver's. reads_rows:
        this worker reads the rows of its parts from the source itself.
        """
        try:
            self._prepare(reads_rows)
        # Returned and not raised: Ray would wrap it in an error of its own.
        except RagAssayError as error:
            error.where = f"{error.where} (in a worker on {socket.gethostname()})".strip()
            return error
        return Ready(socket.gethostname(), os.getpid(), self._sees_folder)

    def _prepare(self, reads_rows: bool) -> None:
        from ragassay.store import Store

        job = self._job
        if job.version != __version__:
            raise _differs(
                "RagAssay", f"{__version__} here, {job.version} where the run was started"
            )
        # The token alone may also be seen over a network file system, on which neither locks nor
        # mapped files can be relied on.
        self._sees_folder = self._same_driver(job.folder) and job.boot == boot_id()
        if job.journals and not self._sees_folder:
            raise SetupError(
                "E0110",
                "A worker does not see the folder of the store.",
                where=str(job.folder),
                why="with a SQLite store the workers must be on one machine with it",
                fix="use a PostgreSQL store for several machines: --store postgresql://...",
            )
        _go_to(job.current_folder)
        options = replace(Options.from_json(job.options), concurrency=job.concurrency)
        setup = make_setup(options, None)
        self._compare(setup)
        known = {model.key: model for model in job.manifest.judge.models}
        for model in chat_models(setup.model):
            learnt = known.get(key_of(model))
            if learnt is not None:
                model.remember(learnt.capabilities)
        if reads_rows:
            self._compare_source()
            self._dataset = open_dataset(job.manifest.source, options)
        self._setup = setup
        self._store = Store.open(job.store)
        if job.replies is not None:
            self._run_replies = ReplyLog(job.replies).replies

    def _compare(self, setup: Setup) -> None:
        """Raises SetupError where this set-up is not that of the run."""
        manifest = self._job.manifest
        metrics = tuple(map(str, setup.metrics))
        if metrics != manifest.metrics:
            raise _differs("the metrics", ", ".join(metrics))
        if dict(setup.info.fingerprints) != dict(manifest.judge.fingerprints):
            raise _differs(
                "the judge", "a rubric file, the model or the installation is not the same"
            )

    def _compare_source(self) -> None:
        """Raises SetupError where the file of rows is not that of the run."""
        source = self._job.manifest.source
        if not os.path.isfile(source) or os.path.getsize(source) != self._job.source_size:
            raise _differs("the rows", f"{source} is not there, or is another file")

    async def run_part(
        self, part: Part, rows: Rows | None, lease: Lease, base: Ledger
    ) -> PartResult:
        """Drive a part to its end. rows: those that are to be done, where this worker does not read
        them itself. base: the most that earlier workers have spent on the part; a log that they
        left is more exact.
        """
        folder = self._job.folder / part.name
        try:
            if not self._sees_folder:
                folder = elsewhere(self._job.manifest.run_id, part)
            else:
                with writing(folder):
                    folder.mkdir(exist_ok=True, mode=0o700)
            result = await self._run_part(part, folder, rows, lease, base)
        except RagAssayError as error:
            result = PartResult(RunState.FAILED, str(error), self._heartbeat(), error)
        finally:
            # From now on heartbeats repeat the last one, until the next part begins.
            self._last_heartbeat = self._heartbeat()
            self._engine = None
            self._budget = None
        if not self._sees_folder:
            if result.state is not RunState.FINISHED:
                result = replace(result, replies=replies_of(folder))
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another part is still at work there
                folder.parent.rmdir()
        return result

    async def _run_part(
        self, part: Part, folder: Path, rows: Rows | None, lease: Lease, base: Ledger
    ) -> PartResult:
        job, setup, whole = self._job, self._setup, self._store
        assert setup is not None
        assert whole is not None
        with ExitStack() as lock:
            journal: PartStore | None = None
            log: ReplyLog | None = None
            try:
                # Each part is written by one worker at a time: the lock is the journal's, or a
                # file.
                if job.journals:
                    journal = PartStore(folder, whole, job.manifest)
                else:
                    lock.enter_context(part_lock(folder))
                log = ReplyLog(folder / LOG)
                base = self._begin_log(log, folder, base, Rate.of(setup.model.price))
                todo = self._todo(part, rows, whole if journal is None else journal.own)
                self._budget = LeasedBudget(
                    setup.model.price, lease, base, output_limit_of(setup.model), log.costs
                )
                self._engine = setup.engine(
                    self._context(part, setup, whole, journal),
                    store=journal or whole,
                    budget=self._budget,
                    log=log,
                )
                outcome = await self._drive(self._engine, todo)
                heartbeat = self._heartbeat()
                self._answered_before = self._engine.progress.traffic.answered
                return PartResult(outcome.state, outcome.reason, heartbeat)
            finally:
                if log is not None:
                    log.close(finished=False)
                if journal is not None:
                    await asyncio.to_thread(journal.close)

    def _begin_log(self, log: ReplyLog, folder: Path, base: Ledger, rate: Rate | None) -> Ledger:
        """Go on with the part's log; returns the ledger from which it goes on."""
        if self._same_driver(folder):
            if log.ledger is not None and log.ledger.confirmed.calls >= base.confirmed.calls:
                base = log.ledger
            log.begin(base, rate=rate)
        else:
            # Left by a killed driver. What was spent counts in the whole run's ledger already; only
            # the replies are of use, and not even they where rows are judged again.
            if self._job.replies is None:
                log.forget()
            log.begin(base, anew=log.ledger is not None, rate=rate)
            (folder / TOKEN).write_text(self._job.token)
        log.borrow(self._run_replies)
        return base

    def _todo(
        self, part: Part, rows: Rows | None, store: Store
    ) -> Iterator[tuple[int, Sample | BadRow]]:
        """The rows of the part that are not done."""
        done = store.done(self._job.manifest.run_id, range(part.start, part.stop))
        self._rows_before = sum(index not in part.done for index in done)
        if rows is None:
            assert self._dataset is not None
            rows_of_part = self._dataset.between(part.start, part.stop)
        else:
            rows_of_part = iter(rows)
        return (
            (index, row)
            for index, row in rows_of_part
            if index not in part.done and index not in done
        )

    def _context(
        self, part: Part, setup: Setup, whole: Store, journal: PartStore | None
    ) -> RunContext:
        run_id = self._job.manifest.run_id
        answered: dict[int, Sample] = {}
        if setup.application is not None:
            indices = range(part.start, part.stop)
            own = whole if journal is None else journal.own
            answered = whole.answered(run_id, indices) | own.answered(run_id, indices)
        return RunContext(run_id=run_id, rows=part.rows, answered=answered)

    async def _drive(self, engine: Engine, rows: Iterator[tuple[int, Sample | BadRow]]) -> Outcome:
        # A server that has answered this worker is not taken for one that cannot be reached.
        engine.progress.traffic.answered = self._answered_before
        self._heard_at = time.monotonic()
        listening = asyncio.create_task(self._listen(engine))
        try:
            with Watchdog(engine.progress, self._add_message):
                return await engine.run(rows)
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    async def _listen(self, engine: Engine) -> None:
        while True:
            await asyncio.sleep(1.0)
            if time.monotonic() - self._heard_at > SILENCE:
                engine.stop(RunState.INTERRUPTED, "the driver is gone")

    def _add_message(self, message: str) -> None:
        # Not the list's own method: a heartbeat puts another list in its place.
        self._messages.append(message)

    def _same_driver(self, folder: Path) -> bool:
        """Whether the log in a part's folder was written for the driver that this worker has."""
        try:
            return (folder / TOKEN).read_text() == self._job.token
        except OSError:
            return False

    async def heartbeat(self) -> Heartbeat:
        """How the part stands."""
        self._heard_at = time.monotonic()
        return self._heartbeat()

    async def extend_lease(self, lease: Lease) -> None:
        """A larger lease for the part."""
        if self._budget is not None:
            self._budget.extend(lease)

    async def stop(self) -> None:
        """End the part: no further call, those in flight are finished and stored."""
        if self._engine is not None:
            self._engine.stop()

    async def close(self) -> None:
        """Let go of connections and the store."""
        if self._setup is not None:
            await self._setup.close()
        if self._store is not None:
            self._store.close()

    def _heartbeat(self) -> Heartbeat:
        engine, budget = self._engine, self._budget
        if engine is None or budget is None:
            return self._last_heartbeat
        progress = engine.progress
        traffic = frozen(progress.traffic)
        traffic.answered -= self._answered_before
        messages, self._messages = self._messages, []
        return Heartbeat(
            rows=self._rows_before + progress.rows,
            bad=progress.bad,
            cached=progress.cached,
            use=budget.use(),
            traffic=traffic,
            messages=tuple(shorten(message, 300) for message in messages),
            without_usage=engine.without_usage,
        )


def _go_to(folder: str) -> None:
    """Go to the driver's current folder, to import modules of the user's from there."""
    if os.path.isdir(folder) and os.getcwd() != folder:
        os.chdir(folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _differs(what: str, why: str) -> SetupError:
    return SetupError(
        "E0110",
        f"A worker of the distributed run does not have the same set-up: {what}.",
        why=why,
        fix=(
            "have the same versions, rubric files, modules and rows on every machine, and"
            " import metrics by name"
        ),
    )
