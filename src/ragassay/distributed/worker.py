"""What does one worker process do? It makes the run's set-up for itself, and drives one part of the
rows after another.

Nothing here knows of Ray: the driver calls these methods wherever the worker is. `run_part` lasts
as long as its part; the others answer at once, beside it. A worker that does not hear from its
driver for a while ends its part.
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
from ragassay.runs.options import Options
from ragassay.runs.plan import make_setup, open_dataset
from ragassay.version import __version__

if TYPE_CHECKING:
    from ragassay.datasets import Dataset
    from ragassay.runs import Engine, Replies
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
        self._here = False
        self._lent: Replies = {}
        self._engine: Engine | None = None
        self._budget: LeasedBudget | None = None
        self._lease = Lease()
        self._heard = time.monotonic()
        self._answered = self._before = 0
        self._last = Heartbeat()
        self._tales: list[str] = []

    async def prepare(self, reads: bool) -> Ready | RagAssayError:
        """Make the set-up, before anything is paid, and compare it with the driver's. reads: this
        worker reads the rows of its parts from the source itself.
        """
        try:
            self._prepare(reads)
        except RagAssayError as error:
            error.where = f"{error.where} (in a worker on {socket.gethostname()})".strip()
            return error
        return Ready(socket.gethostname(), os.getpid(), self._here)

    def _prepare(self, reads: bool) -> None:
        from ragassay.store import Store

        job = self._job
        if job.version != __version__:
            raise self._differs(
                "RagAssay", f"{__version__} here, {job.version} where the run was started"
            )
        self._here = self._same_driver(job.folder) and job.boot == boot_id()
        if job.journals and not self._here:
            raise SetupError(
                "E0110",
                "A worker does not see the folder of the store.",
                where=str(job.folder),
                why="with a SQLite store the workers must be on one machine with it",
                fix="use a PostgreSQL store for several machines: --store postgresql://...",
            )
        if os.path.isdir(job.home) and os.getcwd() != job.home:
            os.chdir(job.home)
        if job.home not in sys.path:
            sys.path.insert(0, job.home)
        options = replace(Options.from_json(job.options), concurrency=job.concurrency)
        setup = make_setup(options, None)
        if tuple(map(str, setup.metrics)) != job.manifest.metrics:
            raise self._differs("the metrics", ", ".join(map(str, setup.metrics)))
        if dict(setup.info.fingerprints) != dict(job.manifest.judge.fingerprints):
            raise self._differs(
                "the judge", "a rubric file, the model or the installation is not the same"
            )
        if reads:
            if (
                not os.path.isfile(job.manifest.source)
                or os.path.getsize(job.manifest.source) != job.size
            ):
                raise self._differs(
                    "the rows", f"{job.manifest.source} is not there, or is another file"
                )
            self._dataset = open_dataset(job.manifest.source, options)
        self._setup, self._store = setup, Store.open(job.store)
        if job.replies is not None:
            self._lent = ReplyLog(job.replies).replies

    def _differs(self, what: str, why: str) -> SetupError:
        return SetupError(
            "E0110",
            f"A worker of the distributed run does not have the same set-up: {what}.",
            why=why,
            fix=(
                "have the same versions, rubric files, modules and rows on every machine, and"
                " import metrics by name"
            ),
        )

    async def run_part(
        self, part: Part, rows: Rows | None, lease: Lease, base: Ledger
    ) -> PartResult:
        """Drive a part to its end. rows: the rows to do, where they are handed over and not read
        here. base: what workers before this one have spent on it at most, where they left no log
        that knows better.
        """
        folder = self._job.folder / part.name
        try:
            if not self._here:
                folder = elsewhere(self._job.manifest.run_id, part)
            else:
                with writing(folder):
                    folder.mkdir(exist_ok=True, mode=0o700)
            ended = await self._run_part(part, folder, rows, lease, base)
        except RagAssayError as error:
            ended = PartResult(RunState.FAILED, str(error), self._beat(), error)
        finally:
            self._last = self._beat()
            self._engine = self._budget = None
        if not self._here:
            if ended.state is not RunState.FINISHED:
                ended = replace(ended, replies=replies_of(folder))
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another part is still at work there
                folder.parent.rmdir()
        return ended

    async def _run_part(
        self, part: Part, folder: Path, rows: Rows | None, lease: Lease, base: Ledger
    ) -> PartResult:
        job, setup, whole, run_id = self._job, self._setup, self._store, self._job.manifest.run_id
        assert setup is not None
        assert whole is not None
        journal: PartStore | None = None
        log: ReplyLog | None = None
        holding = ExitStack()
        try:
            if job.journals:
                journal = PartStore(folder, whole, job.manifest)
            else:
                holding.enter_context(part_lock(folder))
            log = ReplyLog(folder / LOG)
            if self._same_driver(folder):
                if log.ledger is not None and log.ledger.confirmed.calls >= base.confirmed.calls:
                    base = log.ledger
                log.begin(base)
            else:  # what a killed run left here counts in the whole run's ledger already: only its replies are of use
                if job.replies is None:
                    log.forget()
                log.begin(base, anew=log.ledger is not None)
                (folder / TOKEN).write_text(job.token)
            log.borrow(self._lent)
            here = range(part.start, part.stop)
            own = whole if journal is None else journal.own
            done = own.done(run_id, here)
            self._before = sum(index not in part.done for index in done)
            prepared: dict[int, Sample] = {}
            if setup.application is not None:
                prepared = whole.answered(run_id, here) | own.answered(run_id, here)
            self._budget = budget = LeasedBudget(setup.model.price, lease, base)
            context = RunContext(run_id=run_id, rows=part.rows, answered=prepared)
            self._engine = engine = setup.engine(
                context, store=journal or whole, budget=budget, log=log
            )
            # A server that has answered this worker is not taken for one that cannot be reached.
            engine.progress.traffic.answered = self._answered
            self._heard = time.monotonic()
            listening = asyncio.create_task(self._listen(engine))
            try:
                todo = (
                    item
                    for item in self._rows(part, rows)
                    if item[0] not in part.done and item[0] not in done
                )
                with Watchdog(engine.progress, lambda tale: self._tales.append(tale)):
                    outcome = await engine.run(todo)
            finally:
                listening.cancel()
                with suppress(asyncio.CancelledError):
                    await listening
            beat = self._beat()
            self._answered = engine.progress.traffic.answered
            return PartResult(outcome.state, outcome.reason, beat)
        finally:
            if log is not None:
                log.close(finished=False)
            if journal is not None:
                await asyncio.to_thread(journal.close)
            holding.close()

    def _same_driver(self, folder: Path) -> bool:
        """Whether the log in a part's folder was written for the driver that this worker has."""
        try:
            return (folder / TOKEN).read_text() == self._job.token
        except OSError:
            return False

    def _rows(self, part: Part, rows: Rows | None) -> Iterator[tuple[int, Sample | BadRow]]:
        if rows is not None:
            return iter(rows)
        assert self._dataset is not None
        return self._dataset.between(part.start, part.stop)

    async def _listen(self, engine: Engine) -> None:
        while True:
            await asyncio.sleep(1.0)
            if time.monotonic() - self._heard > SILENCE:
                engine.stop(RunState.INTERRUPTED, "the driver is gone")

    async def beat(self) -> Heartbeat:
        """How the part stands."""
        self._heard = time.monotonic()
        return self._beat()

    async def allow(self, lease: Lease) -> None:
        """More leave for the part."""
        if self._budget is not None:
            self._budget.extend(lease)

    async def stop(self) -> None:
        """End the part: no further call, those in flight are finished and kept."""
        if self._engine is not None:
            self._engine.stop()

    async def close(self) -> None:
        """Let go of connections and the store."""
        if self._setup is not None:
            await self._setup.close()
        if self._store is not None:
            self._store.close()

    def _beat(self) -> Heartbeat:
        engine, budget = self._engine, self._budget
        if engine is None or budget is None:
            return self._last
        progress = engine.progress
        traffic = frozen(progress.traffic)
        traffic.answered -= self._answered
        tales, self._tales = self._tales, []
        return Heartbeat(
            rows=self._before + progress.rows,
            bad=progress.bad,
            cached=progress.cached,
            use=budget.use(),
            traffic=traffic,
            tales=tuple(shorten(tale, 300) for tale in tales),
            without_usage=engine.without_usage,
        )
