"""How is a run driven over Ray? Parts are handed to workers, one at a time each; who dies is
replaced; what is done is merged.

The driver is the only one that knows the whole: the rows that are left, the caps, the ledger and
the state of the run. Workers are Ray actors, one CPU each. All that they are told and say goes
through calls of their methods; a beat, a few times a second, brings what the progress display and
the budget need.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import time
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ragassay.core import (
    EnvironmentFailure,
    Ledger,
    Manifest,
    RagAssayError,
    RunState,
    SetupError,
    shorten,
)
from ragassay.distributed.messages import Heartbeat, Job, PartResult, Ready, joined
from ragassay.distributed.parts import (
    LEDGER_FILE,
    TOKEN,
    Part,
    PartsLedger,
    Rows,
    cut,
    folder_of,
    merge_part,
    remove,
    replies_of,
    size_of_parts,
    writing,
)
from ragassay.distributed.worker import Worker
from ragassay.runs import Outcome, Progress, boot_id
from ragassay.version import __version__

if TYPE_CHECKING:
    from ragassay.core import BadRow, Sample
    from ragassay.distributed.lease import Lease, SharedBudget
    from ragassay.runs import ReplyLog
    from ragassay.runs.plan import Plan
    from ragassay.store import Store

BEAT = 0.25
SILENT = 20.0
"""Seconds without an answer from a worker from which it is told; again each time they have doubled.
"""

DEATHS = 3
"""Workers that may die in a row on one part without finishing a row of it."""

LATE = 30.0
"""Seconds that the first workers wait for the others before they begin."""

GRACE = 20.0
"""Seconds that workers get to end when the run is stopped."""


@dataclass(slots=True)
class _WorkerHandle:
    """A worker as the driver sees it. share: of the calls at once; beat: of the part in hand."""

    number: int
    share: int
    hiring: asyncio.Task[None] | None = None
    actor: Any = None
    where: str = ""
    part: Part | None = None
    beat: Heartbeat = field(default_factory=Heartbeat)
    told: float = SILENT


class RayEngine:
    """Drives a plan over Ray; stands where an Engine stands. One instance, one run.

    budget: keeps the caps. log: the run's own log of calls, which gets the replies of parts that do
    not come to their end; share_replies: whether workers may use its replies. save: writes the budget's
    ledger to disk, before leave is given. Raises SetupError E0105 without Ray, E0110 where a worker
    cannot make the same set-up, EnvironmentFailure E0510 where Ray or its workers fail.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        manifest: Manifest,
        budget: SharedBudget,
        done: Container[int],
        *,
        log: ReplyLog,
        share_replies: bool,
        save: Callable[[], None],
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._plan, self._store, self._manifest, self._budget = plan, store, manifest, budget
        self._save, self._tell = save, tell or (lambda _: None)
        self._reads = plan.dataset.cuttable
        self._folder, self._journals = folder_of(store, manifest.run_id)
        self._log, self._lends = log, share_replies
        self._hands: list[_WorkerHandle] = []
        self._parts: Iterator[tuple[Part, Rows | None]] = iter(())
        self._cutting, self._merging, self._saving = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self._given = self._saved = 0  # how often leave was given, and how much of that is on disk
        self._merges: set[asyncio.Task[None]] = set()
        self._ended = Heartbeat()  # of all parts that have ended
        self._done, self._before = done, 0
        self._book: PartsLedger | None = None
        self._state, self._reason = RunState.RUNNING, ""
        self._stopped = asyncio.Event()
        self._fatal: BaseException | None = None
        self._ray: Any = None
        self.progress = Progress(manifest.rows, ledger=budget.ledger)
        self.without_usage = 0

    def stop(self, state: RunState = RunState.INTERRUPTED, reason: str = "") -> None:
        """Stop cleanly: no new part, no new call; what is in flight is finished and kept. Call from
        the loop.
        """
        if self._state is RunState.RUNNING:
            default = (
                self._budget.stop_reason() if state is RunState.BUDGET else "stopped by the user"
            )
            self._state, self._reason = state, reason or default
        if state is not RunState.BUDGET:  # the others still use up what is left of a cap
            self._stopped.set()

    async def run(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> Outcome:
        """Drive all rows that are not done; `rows` are those, and are read only where workers
        cannot.

        Raises RagAssayError when the set-up or the machine fails.
        """
        self._before = self.progress.rows
        self._ray, ours = await asyncio.to_thread(
            start, self._plan.options.workers
        )  # beside the display and Ctrl-C
        try:
            self._make_hands(rows)
            with writing(self._folder):
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                (self._folder / TOKEN).write_text(self._store.token)
                self._book = PartsLedger(self._budget.ledger(), owner=self._store.token)
                self._book.write(self._folder)
            try:
                await self._drive()
            finally:
                remove(self._folder)
        finally:
            if ours:
                await asyncio.to_thread(self._ray.shutdown)
                _let_print(self._ray, True)
        if self._fatal is not None:
            raise self._fatal
        if self._state is RunState.RUNNING:
            left = self._manifest.rows - len(
                await asyncio.to_thread(self._store.done, self._manifest.run_id)
            )
            self._state = RunState.FINISHED
            if left > 0:  # whatever went wrong: a run that lacks rows is not called finished
                self._state, self._reason = (
                    RunState.INTERRUPTED,
                    f"the workers left {left:,} rows undone",
                )
        return Outcome(self._state, self._reason, self._budget.ledger())

    def _make_hands(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> None:
        options = self._plan.options
        workers = min(options.workers or _cpus(self._ray), options.concurrency)
        self._hands = [
            _WorkerHandle(number, share)
            for number, share in enumerate(shares(options.concurrency, workers), 1)
        ]
        self._budget.workers = workers
        self._parts = self._cut(size_of_parts(self._manifest.rows, workers), rows)

    async def _drive(self) -> None:
        stopping = asyncio.create_task(self._stop_workers())
        crew: list[asyncio.Task[None]] = []
        try:
            await self._muster()
            crew = [asyncio.create_task(self._work(hand)) for hand in self._hands]
            while left := [task for task in crew if not task.done()]:
                await asyncio.wait(left, timeout=BEAT, return_when=asyncio.FIRST_EXCEPTION)
                self._count()
                for task in crew:
                    if (
                        task.done()
                        and not task.cancelled()
                        and (error := task.exception()) is not None
                    ):
                        self._abort(error)
        finally:
            ending = [
                stopping,
                *crew,
                *(hand.hiring for hand in self._hands if hand.hiring is not None),
            ]
            for task in ending:
                task.cancel()
            await asyncio.gather(*ending, return_exceptions=True)
            for hand in self._hands:
                await self._dismiss(hand, kindly=True)
            await asyncio.gather(*self._merges, return_exceptions=True)
            self._count()

    def _abort(self, error: BaseException) -> None:
        if self._fatal is None:
            self._fatal = error
            self.stop(RunState.FAILED, shorten(str(error), 500))

    async def _stop_workers(self) -> None:
        """Once the run is stopped: tell all workers, and end those that do not end by themselves."""
        await self._stopped.wait()
        for hand in self._hands:
            if hand.actor is not None and hand.part is not None:
                hand.actor.stop.remote()
        await asyncio.sleep(GRACE)
        for hand in self._hands:
            if hand.part is not None:
                await self._dismiss(hand)

    # -- one worker after the other, one part after the other

    async def _muster(self) -> None:
        """All workers make the set-up before the first of them is given rows, so that a mistake in
        it costs nothing; those that Ray cannot place for the while come later.
        """
        for hand in self._hands:
            hand.hiring = asyncio.create_task(self._hire(hand))
        waiting = {hand.hiring for hand in self._hands if hand.hiring is not None}
        late: float | None = None
        while waiting and not self._stopped.is_set():
            ready, waiting = await asyncio.wait(
                waiting, timeout=0.5, return_when=asyncio.FIRST_COMPLETED
            )
            for task in ready:
                if not task.cancelled():
                    task.result()
            now = time.monotonic()
            late = late or (now + LATE if ready else None)
            if late is not None and now > late:
                return

    async def _work(self, hand: _WorkerHandle) -> None:
        """What happens to one worker: it is driven through parts until there is none."""
        if hand.hiring is not None:
            await hand.hiring
        while self._state is RunState.RUNNING:
            async with self._cutting:
                found = await asyncio.to_thread(next, self._parts, None)
            if found is None:
                return
            await self._do(hand, *found)

    async def _do(self, hand: _WorkerHandle, part: Part, rows: Rows | None) -> None:
        """One part, by as many workers as it takes."""
        deaths, most = 0, 0
        handed = None if rows is None else await asyncio.to_thread(self._ray.put, rows)
        lease, spent, sent = self._budget.open(part.name), Ledger(), 0
        ended: PartResult | None = None
        ran = False  # a worker was at it, and has not said what it came to
        try:
            await self._keep(lease)
            while ended is None and self._state is RunState.RUNNING:
                try:
                    await self._hire(hand)
                    if hand.actor is None:
                        break
                    hand.part, hand.beat = part, Heartbeat()
                    ran = True
                    ended = await self._follow(hand, part, handed, lease, spent)
                except self._ray.exceptions.RayActorError as error:
                    lease, spent = self._budget.worker_died(part.name, hand.share)
                    ran = False
                    deaths = 1 if hand.beat.rows > most else deaths + 1
                    most = max(most, hand.beat.rows)
                    await self._bury(hand, part, deaths, error)
                if ended is not None and self._gave_up(ended):
                    deaths = 1 if ended.beat.rows > most else deaths + 1
                    most = max(most, ended.beat.rows)
                    async with self._merging:  # which writes the log too, in a thread
                        await asyncio.to_thread(self._log.keep, ended.replies)
                    if deaths >= DEATHS:
                        raise self._too_often(
                            "heard nothing from the driver", f"on {part}", hand, ended.reason
                        )
                    self._tell(
                        f"worker {hand.number}{hand.where} had heard nothing from here: it goes on"
                        f" with {part}"
                    )
                    lease, spent = (
                        self._budget.reopen(part.name, ended.beat.use),
                        ended.beat.use.ledger,
                    )
                    ended, ran = None, False
        finally:
            if ended is None and ran:
                _, spent = self._budget.worker_died(part.name, hand.share)
                await self._dismiss(
                    hand
                )  # nothing may be written into the part while it is taken in
            if ended is not None:
                hand.beat, spent, sent = ended.beat, ended.beat.use.ledger, ended.beat.use.sent
            self._budget.close(
                part.name, spent, max(sent, spent.confirmed.calls + spent.uncertain_calls)
            )
            self._close_part(hand)
            self._merge(part, spent, ended)
        if ended is not None and ended.error is not None:
            raise ended.error
        if ended is not None and ended.state is RunState.BUDGET:
            self.stop(RunState.BUDGET, ended.reason)

    def _gave_up(self, ended: PartResult) -> bool:
        """Whether a worker took this driver for dead, and left rows of its part undone."""
        return (
            ended.error is None
            and ended.state is RunState.INTERRUPTED
            and self._state is RunState.RUNNING
        )

    async def _follow(
        self, hand: _WorkerHandle, part: Part, rows: Any, lease: Lease, spent: Ledger
    ) -> PartResult:
        """Let the worker drive the part, and carry beats and leave to and fro."""
        running = self._sent(hand.actor.run_part.remote(part, rows, lease, spent))
        heard = time.monotonic()
        hand.told = SILENT
        giving: asyncio.Task[None] | None = (
            None  # beside the beats: a slow disk must not make the worker think us dead
        )

        async def give(more: Lease) -> None:
            await self._keep(more)
            if hand.actor is not None and not running.done():
                hand.actor.allow.remote(more)

        try:
            while not running.done():
                await asyncio.wait({running}, timeout=BEAT)
                if running.done():
                    break
                beating = self._sent(hand.actor.beat.remote())
                while not running.done() and not beating.done():
                    await asyncio.wait(
                        {running, beating}, timeout=1.0, return_when=asyncio.FIRST_COMPLETED
                    )
                    if (silent := time.monotonic() - heard) >= hand.told:
                        hand.told = 2 * silent
                        self._tell(
                            f"worker {hand.number}{hand.where} has not answered for {silent:.0f} s:"
                            f" {part}"
                        )
                if not beating.done() or beating.exception() is not None:
                    continue
                heard, hand.told, hand.beat = time.monotonic(), SILENT, beating.result()
                for line in hand.beat.tales:
                    self._tell(f"worker {hand.number}: {line}")
                if giving is not None:
                    if not giving.done():
                        continue
                    giving.result()
                    giving = None
                if (more := self._budget.report(part.name, hand.beat.use)) is not None:
                    giving = asyncio.create_task(give(more))
            ended: PartResult = running.result()
            return ended
        finally:
            if giving is not None:
                giving.cancel()
                await asyncio.gather(giving, return_exceptions=True)

    async def _keep(self, lease: Lease) -> None:
        """Leave to spend is on disk before it is given."""
        if lease.calls is None and lease.cost is None:
            return
        self._given = mine = self._given + 1
        async with self._saving:
            if self._saved < mine:  # else it went to disk with another one's
                upto = self._given
                await asyncio.to_thread(self._save)
                self._saved = upto

    async def _hire(self, hand: _WorkerHandle) -> None:
        """Start a worker where there is none, and another where it dies before it is ready."""
        deaths = 0
        while hand.actor is None and self._state is RunState.RUNNING:
            try:
                await self._start_worker(hand)
            except self._ray.exceptions.RayActorError as error:
                deaths += 1
                await self._bury(hand, None, deaths, error)

    async def _start_worker(self, hand: _WorkerHandle) -> None:
        """A process that makes its set-up before it is given anything to do."""
        job = Job(
            version=__version__,
            manifest=self._manifest,
            options=self._plan.options.to_json(),
            store=self._store.address,
            folder=self._folder,
            journals=self._journals,
            token=self._store.token,
            boot=boot_id(),
            replies=self._log.prefix if self._lends else None,
            concurrency=hand.share,
            home=os.getcwd(),
            size=os.path.getsize(self._manifest.source) if self._reads else 0,
        )
        actor_class = self._ray.remote(num_cpus=1, max_restarts=0)(Worker)
        hand.actor = actor_class.remote(job)
        ready = self._sent(hand.actor.prepare.remote(self._reads))
        waited = SILENT
        begun = time.monotonic()
        while not ready.done():
            await asyncio.wait({ready}, timeout=1.0)
            if self._stopped.is_set():
                await self._dismiss(hand)
                return
            if (silent := time.monotonic() - begun) > waited:
                waited = 2 * silent
                self._tell(
                    f"worker {hand.number} has not started for {silent:.0f} s: Ray has no free CPU"
                    " for it yet"
                )
        said: Ready | RagAssayError = ready.result()
        if isinstance(said, RagAssayError):
            raise said
        hand.where = f" (process {said.pid} on {said.host})"
        if not said.here and self._book is not None:  # what it spends is in no log on this machine
            async with self._merging:
                self._book = None
                await asyncio.to_thread((self._folder / LEDGER_FILE).unlink, missing_ok=True)

    async def _bury(
        self, hand: _WorkerHandle, part: Part | None, deaths: int, error: Exception
    ) -> None:
        """A worker has died, of its part or while it started. Raises EnvironmentFailure when that
        happens too often.
        """
        where, of = hand.where, "while starting" if part is None else f"on {part}"
        await self._dismiss(hand)
        if self._state is not RunState.RUNNING:
            return
        if deaths >= DEATHS:
            raise self._too_often("died", of, hand, str(error).strip().splitlines()[0], where)
        self._tell(
            f"worker {hand.number}{where} died {of}; another one goes on: only calls in flight are"
            " lost"
        )

    def _too_often(
        self, what: str, of: str, hand: _WorkerHandle, why: str, where: str = ""
    ) -> EnvironmentFailure:
        return EnvironmentFailure(
            "E0510",
            f"{DEATHS} workers in a row {what} {of}.",
            where=f"the last was worker {hand.number}{where or hand.where}",
            why=shorten(why, 200),
            fix="see that the machine has memory enough (fewer --workers take less)",
        )

    async def _dismiss(self, hand: _WorkerHandle, kindly: bool = False) -> None:
        """End a worker's process. kindly: let it close what it has open."""
        actor, hand.actor, hand.where = hand.actor, None, ""
        if actor is None:
            return
        if kindly:
            with suppress(Exception):
                await asyncio.wait_for(self._sent(actor.close.remote()), 5.0)
        with suppress(Exception):
            self._ray.kill(actor)

    def _sent(self, reference: Any) -> asyncio.Future[Any]:
        """What a worker will answer; nobody has to wait for it."""
        answer = asyncio.wrap_future(reference.future())
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        return answer

    # -- parts in, results out

    def _cut(
        self, size: int, rows: Iterator[tuple[int, Sample | BadRow]]
    ) -> Iterator[tuple[Part, Rows | None]]:
        """The parts; with their rows, where workers cannot read these by themselves."""
        for part in cut(self._manifest.rows, size, self._done):
            yield part, None if self._reads else list(itertools.islice(rows, part.rows))

    def _merge(self, part: Part, spent: Ledger, ended: PartResult | None) -> None:
        """Take what a part came to into the run, beside the parts that go on."""
        folder = self._folder / part.name

        def take() -> None:
            if self._journals:
                merge_part(self._store, self._manifest.run_id, folder)
            if self._book is not None:
                self._book = self._book.enter(self._folder, part.name, spent)
            if (
                ended is None or ended.state is not RunState.FINISHED
            ):  # not all its replies are judged
                self._log.keep(replies_of(folder) | (ended.replies if ended is not None else {}))
            shutil.rmtree(folder, ignore_errors=True)

        async def work() -> None:
            async with self._merging:  # one writer at a time
                await asyncio.to_thread(take)

        def over(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()) is not None:
                self._abort(error)

        task = asyncio.create_task(work())
        task.add_done_callback(over)
        self._merges.add(task)

    def _close_part(self, hand: _WorkerHandle) -> None:
        beat, ended = hand.beat, self._ended
        self.without_usage = max(self.without_usage, beat.without_usage)
        self._ended = Heartbeat(
            rows=ended.rows + beat.rows,
            bad=ended.bad + beat.bad,
            cached=ended.cached + beat.cached,
            traffic=joined([ended.traffic, beat.traffic]),
        )
        self._ended.traffic.in_flight = 0
        self._ended.traffic.waits.clear()
        self._ended.traffic.limit = self._ended.traffic.ceiling = 0
        self._ended.traffic.down = None
        hand.part, hand.beat = None, Heartbeat()

    def _count(self) -> None:
        """What the progress display is to show now."""
        beats = [self._ended, *(hand.beat for hand in self._hands)]
        progress = self.progress
        progress.rows = self._before + sum(beat.rows for beat in beats)
        progress.bad = sum(beat.bad for beat in beats)
        progress.cached = sum(beat.cached for beat in beats)
        progress.traffic = joined([beat.traffic for beat in beats])


def shares(concurrency: int, workers: int) -> list[int]:
    """How many calls at once each worker may have in flight."""
    whole, rest = divmod(concurrency, workers)
    return [whole + (number < rest) for number in range(workers)]


def load() -> Any:
    """Ray. Raises SetupError (E0105) with the command that installs it."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = (
        "0"  # Ray reports its use to its makers where nobody forbids it
    )
    try:
        import ray
    except ImportError as error:
        raise SetupError(
            "E0105",
            "--engine ray needs Ray, which is not installed.",
            where="--engine ray",
            why=shorten(str(error)),
            fix="pip install 'ragassay[ray]'",
        ) from error
    return ray


def start(workers: int | None) -> tuple[Any, bool]:
    """Ray, connected to the cluster that RAY_ADDRESS names, else to one of this machine; and
    whether it is ours to end.

    A program that is connected already stays so. Raises EnvironmentFailure E0510.
    """
    ray = load()
    if ray.is_initialized():
        return ray, False
    address = os.environ.get("RAY_ADDRESS") or "local"
    local = (
        {"num_cpus": workers or os.cpu_count(), "include_dashboard": False}
        if address == "local"
        else {}
    )
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except Exception as error:  # Ray raises anything at all here
        with suppress(Exception):
            ray.shutdown()
        raise EnvironmentFailure(
            "E0510",
            "Ray cannot be started or reached.",
            where=f"RAY_ADDRESS={address}",
            why=shorten(str(error).strip(), 300),
            fix="see `ray status`, or unset RAY_ADDRESS to run on this machine alone",
        ) from error
    _let_print(ray, False)
    return ray, True


def _let_print(ray: Any, allowed: bool) -> None:
    """Whether Ray may print on our stdout, as it does of dead workers: there `--json` promises JSON
    and nothing else.

    Ray has no public switch for it; where the inner one is gone it prints.
    """
    inner: Any = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(inner, "_worker_logs_enabled"):
        inner._worker_logs_enabled = allowed


def _cpus(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))
