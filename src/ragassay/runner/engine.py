"""How a run is driven: rows in, flows advanced together, equal requests asked once, every judgment durable before use."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from ragassay.core import (
    Ask,
    BadRow,
    CallFailed,
    Diagnosis,
    Judgment,
    Keep,
    Ledger,
    Part,
    RagAssayError,
    Recall,
    Reply,
    Request,
    RowResult,
    RunState,
    Sample,
    Score,
    Spend,
    Status,
    Verdict,
    message_of,
    shorten,
)
from ragassay.judges import Judge
from ragassay.metrics import Metric, MetricFlow, is_users_own
from ragassay.models import Model
from ragassay.runner.budget import Budget
from ragassay.runner.dispatch import CallPolicy, Dispatcher, Stopped, Traffic
from ragassay.runner.journal import Journal, JournalStore, Pair
from ragassay.runner.own_code import OwnCode, TooLate

Diagnose = Callable[[Sample, Sequence[Score]], Diagnosis]
Prepare = Callable[[Sample, Callable[[Sample], Awaitable[None]]], Awaitable[Sample]]
"""Runs the application on a row: the row with its response, contexts, latency or error. Does not raise by itself; it awaits
the function it is given, which makes the answer durable, before it takes the next row."""

RECENT = 1024
"""Judgments kept in memory, so that rows that share contexts do not go to the disk for what was just judged."""

GRACE = 4.0
"""Seconds that calls in flight get to finish when a run is stopped: their answers are paid for."""


@dataclass(slots=True)
class Progress:
    """What a display may show of a run. rows counts finished ones, bad ones included."""

    total: int
    rows: int = 0
    bad: int = 0
    cached: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    ledger: Callable[[], Ledger] = Ledger


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    state: RunState
    reason: str
    ledger: Ledger


class Engine:
    """Drives metrics over rows with one judge and one model. One instance, one run.

    rows: (index, row) pairs, read as they are needed. Memory follows what is in flight. A row's failure is a record;
    a failure of the set-up or of the store ends the run and is raised, with everything judged so far kept.
    """

    def __init__(
        self,
        *,
        metrics: Sequence[Metric],
        judge: Judge,
        model: Model,
        store: JournalStore,
        run_id: str,
        diagnose: Diagnose,
        budget: Budget,
        policy: CallPolicy,
        concurrency: int = 32,
        cache: bool = True,
        total: int = 0,
        save_ledger: Callable[[Ledger], None] | None = None,
        prepare: Prepare | None = None,
        prepared: Mapping[int, Sample] | None = None,
        metric_timeout: float = 120.0,
    ) -> None:
        """prepare: what is done to a row before it is measured; its result is durable before it is used. prepared: rows
        (by index) on which that was done already, in an earlier part of the run. metric_timeout: seconds that a metric
        of the user's own may take for a row, without the time in which it waits for the judge."""
        self._metrics, self._judge, self._diagnose, self._budget = tuple(metrics), judge, diagnose, budget
        self._journal = Journal(store, run_id, own_run_only=not cache, save_ledger=save_ledger)
        self._prepare, self._prepared = prepare, dict(prepared or {})
        self._own = frozenset(n for n, metric in enumerate(self._metrics) if is_users_own(metric))
        self._own_code, self._metric_timeout = OwnCode(), metric_timeout
        self._concurrency = concurrency
        self._dispatch = Dispatcher(
            model,
            budget,
            policy,
            concurrency,
            on_budget=lambda: self.stop(RunState.BUDGET),
            intent=None if save_ledger is None else self._journal.intent,
        )
        self.progress = Progress(total, traffic=self._dispatch.traffic, ledger=budget.ledger)
        self._fingerprints: dict[str, str] = {}
        self._inflight: dict[Pair, asyncio.Future[Judgment]] = {}
        self._recent: OrderedDict[Pair, Judgment] = OrderedDict()
        self._groups: set[asyncio.Task[None]] = set()
        self._state = RunState.RUNNING
        self._reason = ""
        self._fatal: BaseException | None = None

    def stop(self, state: RunState = RunState.INTERRUPTED, reason: str = "") -> None:
        """Stop cleanly: admit no row, make no call; what is in flight is finished and kept. Call from the loop."""
        if self._state is RunState.RUNNING:
            default = self._budget.stop_reason() if state is RunState.BUDGET else "stopped by the user"
            self._state, self._reason = state, reason or default
        if state is not RunState.BUDGET:  # with a cap reached, the dispatcher itself refuses, and says so per request
            self._dispatch.stop()

    async def run(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> Outcome:
        """Drive all rows. Raises RagAssayError when the set-up or the machine fails."""
        async with self._journal:
            # Rows are the unit of admission, calls the unit of concurrency: enough rows to keep all calls busy.
            workers = [asyncio.create_task(self._worker(rows)) for _ in range(max(8, 2 * self._concurrency))]
            try:
                await self._until_done(workers)
            finally:
                for task in (*workers, *self._groups):
                    task.cancel()
                await asyncio.gather(*workers, *self._groups, return_exceptions=True)
                self._own_code.close()
        if self._fatal is not None:
            raise self._fatal
        if self._state is RunState.RUNNING:
            self._state = RunState.FINISHED
        return Outcome(self._state, self._reason, self._budget.ledger())

    async def _until_done(self, workers: list[asyncio.Task[None]]) -> None:
        left = set(workers)
        deadline: float | None = None
        loop = asyncio.get_running_loop()
        while left:
            if self._state is RunState.INTERRUPTED or self._fatal is not None:
                deadline = deadline or loop.time() + GRACE
            done, left = await asyncio.wait(left, timeout=0.1, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                if (error := task.exception()) is not None:
                    self._abort(error)
            if deadline is not None and loop.time() > deadline:
                return
        # Answers that were under way when their row gave up are still paid for: let them reach the disk.
        if self._groups:
            await asyncio.wait(self._groups, timeout=None if deadline is None else max(0.0, deadline - loop.time()))

    def _abort(self, error: BaseException) -> None:
        if self._fatal is None:
            self._fatal = error
            self.stop(RunState.FAILED, shorten(str(error), 500))

    async def _worker(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> None:
        while self._state is RunState.RUNNING:
            item = next(rows, None)
            if item is None:
                return
            index, row = item
            if isinstance(row, BadRow):
                result = RowResult(index, None, bad=row)
                self.progress.bad += 1
            else:
                try:
                    if self._prepare is not None:
                        row = await self._prepare_row(index, row)
                    scores, capped = await self._score(row)
                except Stopped:
                    return
                result = RowResult(index, row, scores, self._diagnose(row, scores), done=not capped)
            await self._journal.row(result)
            self.progress.rows += 1
            await asyncio.sleep(0)  # rows answered from the cache must not starve the display and Ctrl-C

    async def _prepare_row(self, index: int, row: Sample) -> Sample:
        """The row as the application answered it: its answer is paid for as well, and kept before anything rests on it."""
        if (known := self._prepared.pop(index, None)) is not None:
            return known
        assert self._prepare is not None

        async def keep(answered: Sample) -> None:
            await self._journal.answered(RowResult(index, answered, done=False))

        return await self._prepare(row, keep)

    async def _score(self, sample: Sample) -> tuple[tuple[Score, ...], bool]:
        """Advance all flows of a row together, so that what several metrics ask is asked once.

        Also says whether a cap kept a judgment from the row: then the row is to be done again.
        """
        capped = False
        scores: list[Score | None] = [None] * len(self._metrics)
        left = dict.fromkeys(self._own, self._metric_timeout)
        waiting: list[tuple[int, MetricFlow, list[tuple[Pair, Request]]]] = []

        def note(position: int, step: Step) -> None:
            if isinstance(step, Score):
                scores[position] = step
            else:
                flow, asked = step
                waiting.append((position, flow, [(self._pair(request), request) for request in asked]))

        async def advance(steps: list[tuple[int, MetricFlow | None, tuple[Judgment, ...]]]) -> None:
            slow: list[Awaitable[Step]] = []
            for position, flow, answers in steps:
                if position in self._own:
                    slow.append(self._own_step(position, sample, flow, answers, left))
                else:
                    note(position, step_of(self._metrics[position], sample, flow, answers))
            if slow:
                for position, step in zip(
                    (p for p, _, _ in steps if p in self._own), await asyncio.gather(*slow), strict=True
                ):
                    note(position, step)
                waiting.sort(key=lambda one: one[0])  # what is asked together does not depend on which thread was first

        await advance([(position, None, ()) for position in range(len(self._metrics))])
        while waiting:
            wave, waiting = waiting, []
            known = await self._resolve({pair: request for _, _, pairs in wave for pair, request in pairs})
            capped = capped or any(judgment.status is Status.OVER_BUDGET for judgment in known.values())
            await advance([(position, flow, tuple(known[pair] for pair, _ in pairs)) for position, flow, pairs in wave])
        return tuple(score for score in scores if score is not None), capped

    async def _own_step(
        self,
        position: int,
        sample: Sample,
        flow: MetricFlow | None,
        answers: tuple[Judgment, ...],
        left: dict[int, float],
    ) -> Step:
        """A step of a metric of the user's own, away from the event loop; left: seconds that it may still take."""
        metric, started = self._metrics[position], 0.0

        def work() -> Step:
            nonlocal started
            started = time.monotonic()
            return step_of(metric, sample, flow, answers)

        try:
            return await self._own_code.run(work, left[position])
        except TooLate as error:
            why = str(error) or f"it did not return within {self._metric_timeout:g} s"
            return Score(str(metric), Status.FAILED, verdict=Verdict.UNDECIDED, reason=f"no score of the metric: {why}")
        except Exception as error:  # RagAssayErrors as well: they are the user's code's, and no fault of the set-up
            return _broken(metric, error)
        finally:
            left[position] -= time.monotonic() - started if started else 0.0

    def _pair(self, request: Request) -> Pair:
        fingerprint = self._fingerprints.get(request.rubric)
        if fingerprint is None:
            fingerprint = self._fingerprints[request.rubric] = self._judge.fingerprint(request.rubric)
        return fingerprint, request.key

    async def _resolve(self, requests: dict[Pair, Request]) -> dict[Pair, Judgment]:
        """The Judgments of these Requests: from memory, from a twin in flight, from the store, or from the judge."""
        loop = asyncio.get_running_loop()
        found: dict[Pair, Judgment] = {}
        waits: dict[Pair, asyncio.Future[Judgment]] = {}
        mine: dict[Pair, Request] = {}
        for pair, request in requests.items():
            if (recent := self._recent.get(pair)) is not None:
                found[pair] = replace(recent, spend=Spend())
                self._count_cached(1)
            elif (future := self._inflight.get(pair)) is not None:
                waits[pair] = future
            else:
                mine[pair] = request
                waits[pair] = self._inflight[pair] = loop.create_future()
        if mine:
            try:
                stored = await self._journal.lookup(list(mine))
            except BaseException as error:
                for pair in mine:
                    self._fail(pair, error)
                raise
            for pair, judgment in stored.items():
                # What was paid before is not paid again: a Judgment from the cache costs this run nothing.
                self._settle(pair, replace(judgment, spend=Spend()))
            self._count_cached(len(stored))
            open_requests = {request.key: pair for pair, request in mine.items() if pair not in stored}
            for group in self._judge.batches([mine[pair] for pair in open_requests.values()]):
                task = loop.create_task(
                    self._answer(group, {key: open_requests[key] for key in (r.key for r in group)})
                )
                self._groups.add(task)
                task.add_done_callback(self._groups.discard)
        if waits:
            await asyncio.wait(waits.values())
            found.update({pair: future.result() for pair, future in waits.items()})
        return found

    def _count_cached(self, n: int) -> None:
        self.progress.cached += n
        self._budget.cached += n

    async def _answer(self, group: tuple[Request, ...], pairs: dict[str, Pair]) -> None:
        """Drive the judge's flow for one group; whatever happens, every Request of the group is settled."""
        open_pairs = dict(pairs)

        async def settle(judgments: Sequence[Judgment]) -> None:
            await self._journal.put(judgments)
            for judgment in judgments:
                pair = open_pairs.pop(judgment.key, None)
                if pair is not None:
                    self._settle(pair, judgment)

        try:
            flow = self._judge.answer(group)
            try:
                step = next(flow)
                while True:
                    if isinstance(step, Keep):
                        await (self._journal.put if step.beside else settle)(step.judgments)
                        step = flow.send(())
                    elif isinstance(step, Recall):
                        known = await self._journal.lookup(step.pairs)
                        step = flow.send(cast(tuple[Reply, ...], tuple(known.values())))
                    else:
                        step = flow.send(await self._ask(step))
            except StopIteration as end:
                await settle(end.value)
            if open_pairs:
                await settle(
                    [self._lost(group[0].rubric, pair, "the judge gave no verdict") for pair in open_pairs.values()]
                )
        except (Stopped, RagAssayError, asyncio.CancelledError) as error:
            for pair in open_pairs.values():
                self._fail(pair, Stopped() if isinstance(error, asyncio.CancelledError) else error)
            if isinstance(error, RagAssayError):
                self._abort(error)
        except Exception as error:  # a judge's own fault is these requests' failure, not the run's end
            reason = f"the judge raised {type(error).__name__}: {shorten(str(error), 200)}"
            lost = [self._lost(group[0].rubric, pair, reason) for pair in open_pairs.values()]
            try:
                await settle(lost)
            except RagAssayError as second:
                for pair in open_pairs.values():
                    self._fail(pair, second)
                self._abort(second)

    async def _ask(self, step: Ask) -> tuple[Reply, ...]:
        if len(step.calls) == 1:
            return (await self._dispatch.call(step.calls[0]),)
        tasks = [asyncio.ensure_future(self._dispatch.call(call)) for call in step.calls]
        try:
            return tuple(await asyncio.gather(*tasks))
        except Stopped:
            await asyncio.wait(tasks)  # what is under way is paid for, and its answers are kept
            ended = [task.exception() for task in tasks]
            for error in ended:
                if error is not None and not isinstance(error, Stopped):
                    raise error from None
            if None not in ended:
                raise
            unsent = CallFailed("over_budget", "the run was stopped before this call")  # so the row is done again
            return tuple(task.result() if task.exception() is None else unsent for task in tasks)

    def _lost(self, rubric: str, pair: Pair, reason: str) -> Judgment:
        return Judgment(pair[1], pair[0], self._judge.rubric_version(rubric), Status.FAILED, reason=reason)

    def _settle(self, pair: Pair, judgment: Judgment) -> None:
        future = self._inflight.pop(pair, None)
        if future is not None and not future.done():
            future.set_result(judgment)
        if judgment.judged:
            self._recent[pair] = judgment
            if len(self._recent) > RECENT:
                self._recent.popitem(last=False)

    def _fail(self, pair: Pair, error: BaseException) -> None:
        future = self._inflight.pop(pair, None)
        if future is not None and not future.done():
            future.set_exception(error)
            future.exception()  # marked as seen: a row that has given up does not come to fetch it


Step = Score | tuple[MetricFlow, tuple[Request, ...]]
"""Where a flow stands: at its end, or at what it asks."""


def step_of(metric: Metric, sample: Sample, flow: MetricFlow | None, answers: tuple[Judgment, ...]) -> Step:
    """Advance a flow (None: begin it). A metric's own fault is that metric's failed score, not the run's end."""
    try:
        if flow is None:
            flow = metric.flow(sample)
            asked = next(flow)
        else:
            asked = flow.send(answers)
        if not isinstance(asked, tuple) or not all(isinstance(request, Request) for request in asked):
            raise TypeError("a metric's flow must yield tuples of Requests")
        return flow, asked
    except StopIteration as end:
        return _checked(metric, end.value)
    except RagAssayError:
        raise
    except BaseException as error:
        return _broken(metric, error)


MOST = 1e100
"""No score is larger: its square would overflow, and with it the interval of a mean."""


def _broken(metric: Metric, error: BaseException) -> Score:
    reason = f"the metric raised {type(error).__name__}: {shorten(message_of(error), 200)}"
    return Score(str(metric), Status.FAILED, verdict=Verdict.UNDECIDED, reason=reason)


def _checked(metric: Metric, score: object) -> Score:
    """The Score a metric returned, or a failed one in its place when it is none or holds what it must not."""
    try:
        _check(metric, score)
    except Exception as error:  # whatever looking at it raises
        return _broken(metric, error)
    assert isinstance(score, Score)
    return score


def _check(metric: Metric, score: object) -> None:
    if not isinstance(score, Score):
        raise TypeError(f"it returned {type(score).__name__} where a Score is due")
    if not isinstance(score.status, Status) or not isinstance(score.verdict, Verdict | None):
        raise TypeError("the status or the verdict of its Score is none")
    if type(score.parts) is not tuple or not all(isinstance(part, Part) for part in score.parts):
        raise TypeError("the parts of its Score are no tuple of Parts")
    declared, value = metric.declaration, score.value
    if value is None:
        if score.status is Status.JUDGED:
            raise ValueError("its Score is judged and has no value")
        return
    if type(value) not in (int, float):
        raise TypeError(f"the value of its Score is a {type(value).__name__}")
    inside = abs(value) <= MOST and declared.low <= value and (declared.high is None or value <= declared.high)
    if not inside or score.status is not Status.JUDGED:
        raise ValueError(f"the value {value!r} with the status {score.status} is no score of its range")
