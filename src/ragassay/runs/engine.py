"""How a run is driven: rows in, flows advanced together, equal requests asked once, every judgment
durable before use.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from typing import cast

from ragassay.core import (
    Ask,
    BadRow,
    CallFailed,
    Diagnosis,
    JudgeFlow,
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
    is_fault,
    memory_failure,
    message_of,
    shorten,
)
from ragassay.dispatch.batched import ROWS_AT_ONCE, BatchedDispatcher
from ragassay.dispatch.budget import LocalBudget
from ragassay.dispatch.dispatcher import CallPolicy, Dispatcher, Stopped
from ragassay.judges import Judge
from ragassay.metrics import Metric, MetricFlow, is_users_own
from ragassay.models import Model
from ragassay.runs.journal import Journal, JournalStore, Pair, text_size
from ragassay.runs.progress import Progress, RowActivity
from ragassay.runs.user_code import UserCode, UserCodeTimeout

Diagnose = Callable[[Sample, Sequence[Score]], Diagnosis]
Prepare = Callable[[Sample, Callable[[Sample], Awaitable[None]]], Awaitable[Sample]]
"""Runs the application on a row: the row with its response, contexts, latency or error. Does not
raise by itself; it awaits the function it is given, which makes the answer durable, before it takes
the next row.
"""

RECENT = 1024
"""Judgments kept in memory, so that rows that share contexts do not go to the disk for what was
just judged.
"""

GRACE = 4.0
"""Seconds that calls in flight get to finish when a run is stopped: their answers are paid for."""


HEAP, HEAP_SIZE = 16, 1 << 20
"""Rows that are driven together where no model is asked, and characters from which a heap takes no
further row.
"""

HELD = 1 << 25
"""Characters of rows in hand from which no further row is taken."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    state: RunState
    reason: str
    ledger: Ledger


@dataclass(slots=True)
class _Group:
    """Requests of one rubric that a judge answers together. open: those not settled yet, by key."""

    rubric: str
    open: dict[str, Pair]


_Waiting = tuple[int, int, MetricFlow, list[tuple[Pair, Request]]]
"""(place of the row in its heap, of the metric, the metric's flow, what it asked for)"""


class Engine:
    """Drives metrics over rows with one judge and one model. One instance, one run.

    rows: (index, row) pairs, read as they are needed. Memory follows what is in flight. A row's
    failure is a record; a failure of the set-up or of the store ends the run and is raised, with
    everything judged so far kept.
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
        budget: LocalBudget,
        policy: CallPolicy,
        concurrency: int = 32,
        cache: bool = True,
        total: int = 0,
        save_ledger: Callable[[Ledger], None] | None = None,
        prepare: Prepare | None = None,
        prepared: Mapping[int, Sample] | None = None,
        metric_timeout: float = 120.0,
        new: Collection[str] = (),
        patient: bool = False,
        begun: bool = False,
    ) -> None:
        """prepare: what is done to a row before it is measured; its result is durable before it is
        used. prepared: rows (by index) on which that was done already, in an earlier part of the
        run. metric_timeout: seconds that a metric of the user's own may take for a row, without the
        time in which it waits for the judge. new: as for `Journal`. begun: an earlier part of the
        run may have bought judgments. patient: the model's calls wait in batches, so many rows are
        in hand at once and a stop waits for none.
        """
        self._metrics, self._judge, self._diagnose, self._budget = (
            tuple(metrics),
            judge,
            diagnose,
            budget,
        )
        self._journal = Journal(
            store,
            run_id,
            own_run_only=not cache,
            save_ledger=save_ledger,
            new=new,
            on_failure=self._abort,
        )
        self._prepare, self._prepared = prepare, dict(prepared or {})
        self._own = frozenset(n for n, metric in enumerate(self._metrics) if is_users_own(metric))
        self._own_code, self._metric_timeout = UserCode(), metric_timeout
        self._model = model
        # Rows are the unit of admission, calls the unit of concurrency: enough rows to keep all
        # calls busy.
        self._rows_at_once = max(ROWS_AT_ONCE if patient else 8, 2 * concurrency)
        self._grace, self._room_every = (0.0, 1.0) if patient else (GRACE, 0.01)
        self._dispatch = (BatchedDispatcher if patient else Dispatcher)(
            model,
            budget,
            policy,
            concurrency,
            on_budget=lambda: self.stop(RunState.BUDGET),
            intent=None if save_ledger is None else self._journal.intent,
        )
        self.progress = Progress(
            total,
            traffic=self._dispatch.traffic,
            ledger=budget.ledger,
            storage=lambda: str(getattr(store, "waiting", "")),
        )
        self._fingerprints: dict[str, str] = {}
        self._inflight: dict[Pair, asyncio.Future[Judgment]] = {}
        self._recent: OrderedDict[Pair, Judgment] = OrderedDict()
        self._groups: set[asyncio.Task[None]] = set()
        self._heap, self._held, self._asked = 1, 0, 0
        self._begun = begun
        self._takes_heaps = prepare is None and not self._own
        self._doing: dict[tuple[str, tuple[int, ...]], str] = {}
        self._state = RunState.RUNNING
        self._reason = ""
        self._fatal: BaseException | None = None

    @property
    def without_usage(self) -> int:
        """How many replies said nothing about tokens."""
        return int(getattr(self._model, "replies_without_usage", 0))

    def stop(self, state: RunState = RunState.INTERRUPTED, reason: str = "") -> None:
        """Stop cleanly: admit no row, make no call; what is in flight is finished and kept. Call
        from the loop.
        """
        if self._state is RunState.RUNNING:
            default = (
                self._budget.stop_reason() if state is RunState.BUDGET else "stopped by the user"
            )
            self._state, self._reason = state, reason or default
        if (
            state is not RunState.BUDGET
        ):  # with a cap reached, the dispatcher itself refuses, and says so per request
            self._dispatch.stop()

    async def run(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> Outcome:
        """Drive all rows. Raises RagAssayError when the set-up or the machine fails."""
        async with self._journal:
            workers = [asyncio.create_task(self._worker(rows)) for _ in range(self._rows_at_once)]
            try:
                await self._until_done(workers)
            finally:
                for task in (*workers, *self._groups):
                    task.cancel()
                await asyncio.gather(*workers, *self._groups, return_exceptions=True)
                self._dispatch.close()
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
                deadline = deadline or loop.time() + self._grace
            done, left = await asyncio.wait(left, timeout=0.1, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                if (error := task.exception()) is not None:
                    self._abort(error)
            if deadline is not None and loop.time() > deadline:
                return
        # Answers that were under way when their row gave up are still paid for: let them reach the
        # disk.
        if self._groups:
            await asyncio.wait(
                self._groups, timeout=None if deadline is None else max(0.0, deadline - loop.time())
            )

    def _abort(self, error: BaseException) -> None:
        if self._fatal is None:
            self._fatal = error
            self.stop(RunState.FAILED, shorten(str(error), 500))

    async def _worker(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> None:
        while self._state is RunState.RUNNING:
            while self._held > HELD and self._state is RunState.RUNNING:
                await asyncio.sleep(
                    self._room_every
                )  # rows of many megabytes: what is in hand must fit the memory
            heap, size = self._take(rows)
            if not heap:
                return
            asked = self._asked
            self._held += size
            try:
                await self._dispatch.turn()
                if (
                    self._state is not RunState.RUNNING
                ):  # stopped meanwhile: no row is begun, and no application asked
                    return
                results = await self._measure(heap)
            except Stopped:
                return
            finally:
                self._held -= size
                for index, _ in heap:
                    self.progress.places.pop(index, None)
            await self._journal.rows(results)
            self.progress.rows += len(results)
            # Nothing was asked of a model for these rows: more of them are taken together, and
            # share what it costs to wait for the disk. Where calls are made, rows go one by one, so
            # that none waits for another's answer.
            self._heap = (
                min(2 * self._heap, HEAP) if self._asked == asked and self._takes_heaps else 1
            )
            await asyncio.sleep(
                0
            )  # rows answered from the cache must not starve the display and Ctrl-C

    def _take(
        self, rows: Iterator[tuple[int, Sample | BadRow]]
    ) -> tuple[list[tuple[int, Sample | BadRow]], int]:
        """The next rows that are driven together, and their characters: as many as there is reason
        to, few where they are large.
        """
        heap: list[tuple[int, Sample | BadRow]] = []
        size = 0
        while (
            len(heap) < self._heap and size < HEAP_SIZE and (item := next(rows, None)) is not None
        ):
            heap.append(item)
            size += text_size(item[1])
        return heap, size

    async def _measure(self, heap: Sequence[tuple[int, Sample | BadRow]]) -> list[RowResult]:
        """What comes of the rows, in their order."""
        results: list[RowResult] = []
        samples: list[tuple[int, Sample]] = []
        now = time.monotonic()
        for index, row in heap:
            if isinstance(row, BadRow):
                results.append(RowResult(index, None, bad=row))
                self.progress.bad += 1
                continue
            self.progress.places[index] = RowActivity(row.id, "the application", now)
            samples.append(
                (index, row if self._prepare is None else await self._prepare_row(index, row))
            )
        for (index, sample), (scores, capped) in zip(
            samples, await self._score(samples), strict=True
        ):
            results.append(
                RowResult(index, sample, scores, self._diagnose(sample, scores), done=not capped)
            )
        return results

    async def _prepare_row(self, index: int, row: Sample) -> Sample:
        """The row as the application answered it: its answer is paid for as well, and kept before
        anything rests on it.
        """
        if (known := self._prepared.pop(index, None)) is not None:
            return known
        assert self._prepare is not None

        async def keep(answered: Sample) -> None:
            await self._journal.answered(RowResult(index, answered, done=False))

        return await self._prepare(row, keep)

    async def _score(
        self, samples: Sequence[tuple[int, Sample]]
    ) -> list[tuple[tuple[Score, ...], bool]]:
        """Advance all flows of the rows together, so that what several metrics ask is asked once.

        Of each row its scores, and whether a cap kept a judgment from it: then it is to be done
        again.
        """
        scores: list[list[Score | None]] = [[None] * len(self._metrics) for _ in samples]
        capped = [False] * len(samples)
        left = [dict.fromkeys(self._own, self._metric_timeout) for _ in samples]
        waiting: list[_Waiting] = []

        def note(row: int, position: int, step: Step) -> None:
            if isinstance(step, Score):
                scores[row][position] = step
            else:
                flow, asked = step
                waiting.append(
                    (row, position, flow, [(self._pair(request), request) for request in asked])
                )

        async def advance(
            steps: list[tuple[int, int, MetricFlow | None, tuple[Judgment, ...]]],
        ) -> None:
            slow: list[tuple[int, int]] = []
            running: list[Awaitable[Step]] = []
            for row, position, flow, answers in steps:
                sample = samples[row][1]
                self.progress.at = self._metrics[position], sample.id
                if position in self._own:
                    slow.append((row, position))
                    running.append(self._own_step(position, sample, flow, answers, left[row]))
                else:
                    note(row, position, step_of(self._metrics[position], sample, flow, answers))
            self.progress.at = None
            if slow:
                self._say(samples, slow, "the user's own")
                for (row, position), step in zip(slow, await asyncio.gather(*running), strict=True):
                    note(row, position, step)
                waiting.sort(
                    key=lambda one: one[:2]
                )  # what is asked together does not depend on which thread was first

        await advance(
            [(row, at, None, ()) for row in range(len(samples)) for at in range(len(self._metrics))]
        )
        while waiting:
            wave, waiting = waiting, []
            self._say(
                samples, [(row, position) for row, position, *_ in wave], "the judge's answer for"
            )
            known = await self._resolve(wave)
            lost = {
                pair for pair, judgment in known.items() if judgment.status is Status.OVER_BUDGET
            }
            for row, *_, pairs in wave:
                capped[row] = capped[row] or any(pair in lost for pair, _ in pairs)
            await self._dispatch.turn()
            await advance(
                [
                    (row, at, flow, tuple([known[pair] for pair, _ in pairs]))
                    for row, at, flow, pairs in wave
                ]
            )
        return [
            (tuple([score for score in each if score is not None]), kept)
            for each, kept in zip(scores, capped, strict=True)
        ]

    def _say(
        self, samples: Sequence[tuple[int, Sample]], at: Sequence[tuple[int, int]], what: str
    ) -> None:
        """Note what the rows wait for: (place of the row in its heap, of the metric)."""
        positions: dict[int, tuple[int, ...]] = {}
        for row, position in at:
            positions[row] = (*positions.get(row, ()), position)
        now = time.monotonic()
        for row, waiting in positions.items():
            if (doing := self._doing.get((what, waiting))) is None:
                names = ", ".join(str(self._metrics[position]) for position in waiting)
                doing = self._doing[what, waiting] = f"{what} {names}"
            place = self.progress.places[samples[row][0]]
            place.since, place.reported, place.doing = now, 0.0, doing

    async def _own_step(
        self,
        position: int,
        sample: Sample,
        flow: MetricFlow | None,
        answers: tuple[Judgment, ...],
        left: dict[int, float],
    ) -> Step:
        """A step of a metric of the user's own, away from the event loop; left: seconds that it may
        still take.
        """
        metric, started = self._metrics[position], 0.0

        def work() -> Step:
            nonlocal started
            started = time.monotonic()
            return step_of(metric, sample, flow, answers)

        try:
            return await self._own_code.run(work, left[position])
        except UserCodeTimeout as error:
            why = str(error) or f"it did not return within {self._metric_timeout:g} s"
            return Score(
                str(metric),
                Status.FAILED,
                verdict=Verdict.UNDECIDED,
                reason=f"no score of the metric: {why}",
            )
        except Exception as error:  # RagAssayErrors as well: they are the user's code's, and no fault of the set-up
            return _broken(metric, error)
        finally:
            left[position] -= time.monotonic() - started if started else 0.0

    def _pair(self, request: Request) -> Pair:
        fingerprint = self._fingerprints.get(request.rubric)
        if fingerprint is None:
            fingerprint = self._fingerprints[request.rubric] = self._judge.fingerprint(
                request.rubric
            )
        return fingerprint, request.key

    async def _resolve(self, wave: Sequence[_Waiting]) -> dict[Pair, Judgment]:
        """The Judgments that a wave asks for: from memory, from a twin in flight, from the store,
        or from the judge.

        The judge is given the Requests of one row at a time: what stands in one prompt never
        depends on which rows are driven together.
        """
        requests = {pair: request for *_, pairs in wave for pair, request in pairs}
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
            # What the run had bought before it was stopped is in its ledger already, and saves it
            # nothing.
            bought = (
                await self._journal.bought(list(stored))
                if self._begun and stored
                else frozenset[Pair]()
            )
            for pair, judgment in stored.items():
                # What was paid before is not paid again: a Judgment from the cache costs this run
                # nothing.
                if pair not in bought:
                    self._budget.save(judgment.spend)
                self._settle(pair, replace(judgment, spend=Spend()))
            self._count_cached(len(stored) - len(bought))
            asked: dict[int, dict[str, tuple[Pair, Request]]] = {}
            left = {pair for pair in mine if pair not in stored}
            for row, *_, pairs in wave:
                for pair, _ in pairs:
                    if pair in left:
                        left.discard(pair)
                        asked.setdefault(row, {})[pair[1]] = pair, mine[pair]
            try:
                await self._begin(asked.values())
            except BaseException as error:
                for pair in mine:
                    self._fail(pair, error)
                raise
        if waits:
            if pending := [future for future in waits.values() if not future.done()]:
                await asyncio.wait(pending)
            found.update({pair: future.result() for pair, future in waits.items()})
            # Asked by another row at this moment or a moment ago: reused either way, so that no
            # figure depends on the order.
            self._count_cached(sum(found[pair].judged for pair in waits if pair not in mine))
        return found

    def _count_cached(self, n: int) -> None:
        self.progress.cached += n
        self._budget.cached += n

    async def _begin(self, rows: Iterable[dict[str, tuple[Pair, Request]]]) -> None:
        """Have the judge answer the Requests of each row, by key, each group on its own; what it
        settles at once is kept together.
        """
        at_once: list[tuple[_Group, Sequence[Judgment]]] = []
        for asked in rows:
            for requests in self._judge.batches([request for _, request in asked.values()]):
                await self._dispatch.turn()  # a prompt takes long to write
                group = _Group(
                    requests[0].rubric, {request.key: asked[request.key][0] for request in requests}
                )
                try:
                    flow = self._judge.answer(requests)
                    first = next(flow)
                except StopIteration as end:
                    at_once.append((group, end.value))
                except BaseException as error:
                    if not is_fault(error):
                        raise
                    self._spawn(self._answer(group, None, error))
                else:
                    self._spawn(self._answer(group, flow, first))
        if at_once:
            self._spawn(self._keep(at_once))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._groups.add(task)
        task.add_done_callback(self._groups.discard)

    async def _keep(self, settled: list[tuple[_Group, Sequence[Judgment]]]) -> None:
        """Settle what flows returned without asking anything: one hand-over to the journal for all
        of them.
        """
        try:
            kept: list[Judgment] = []
            for group, judgments in settled:
                kept += judgments
                told = {judgment.key for judgment in judgments}
                left = [pair for key, pair in group.open.items() if key not in told]
                kept += [
                    self._lost(group.rubric, pair, "the judge gave no verdict") for pair in left
                ]
            await self._journal.put(kept)
        except (RagAssayError, asyncio.CancelledError) as error:
            for group, _ in settled:
                self._give_up(group, error)
        except (
            Exception
        ):  # one of them returned what is no judgment: each is settled, or lost, by itself
            for group, judgments in settled:
                self._spawn(self._answer(group, None, tuple(judgments)))
        else:
            by_key = {judgment.key: judgment for judgment in kept}
            for group, _ in settled:
                for key, pair in group.open.items():
                    self._settle(pair, by_key[key])

    async def _answer(self, group: _Group, flow: JudgeFlow | None, step: object) -> None:
        """Drive the judge's flow for one group; whatever happens, every Request of the group is
        settled.

        step: what the flow has yielded first; without a flow, what it returned or raised.
        """

        async def settle(judgments: Sequence[Judgment]) -> None:
            await self._journal.put(judgments)
            for judgment in judgments:
                pair = group.open.pop(judgment.key, None)
                if pair is not None:
                    self._settle(pair, judgment)

        try:
            try:
                if isinstance(step, BaseException):
                    raise step
                while flow is not None:
                    if isinstance(step, Keep):
                        await (self._journal.put if step.beside else settle)(step.judgments)
                        step = flow.send(())
                    elif isinstance(step, Recall):
                        known = await self._journal.lookup(step.pairs)
                        step = flow.send(cast(tuple[Reply, ...], tuple(known.values())))
                    else:
                        step = flow.send(await self._ask(cast(Ask, step)))
                await settle(cast(tuple[Judgment, ...], step))
            except StopIteration as end:
                await settle(end.value)
            if group.open:
                await settle(
                    [
                        self._lost(group.rubric, pair, "the judge gave no verdict")
                        for pair in group.open.values()
                    ]
                )
        except (Stopped, RagAssayError, asyncio.CancelledError) as error:
            self._give_up(group, error)
        except (
            BaseException
        ) as error:  # a judge's own fault is these requests' failure, not the run's end
            if not is_fault(error):
                self._give_up(group, error)
                raise
            if (failure := memory_failure(error)) is not None:
                self._give_up(group, failure)
                return
            reason = f"the judge raised {type(error).__name__}: {shorten(str(error), 200)}"
            lost = [self._lost(group.rubric, pair, reason) for pair in group.open.values()]
            try:
                await settle(lost)
            except RagAssayError as second:
                self._give_up(group, second)

    def _give_up(self, group: _Group, error: BaseException) -> None:
        for pair in group.open.values():
            self._fail(pair, Stopped() if isinstance(error, asyncio.CancelledError) else error)
        if isinstance(error, RagAssayError):
            self._abort(error)

    async def _ask(self, step: Ask) -> tuple[Reply, ...]:
        self._asked += 1
        if len(step.calls) == 1:
            return (await self._dispatch.call(step.calls[0]),)
        tasks = [asyncio.ensure_future(self._dispatch.call(call)) for call in step.calls]
        try:
            ended, left = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in ended:
                if isinstance(error := task.exception(), RagAssayError):
                    self._abort(error)
            if left:  # whatever becomes of one: the others are paid for, and their answers are kept
                await asyncio.wait(left)
        finally:
            for task in (
                tasks
            ):  # where this group is out of time, each is settled before the ledger is written
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, Stopped):
                raise end
        if not any(isinstance(end, Stopped) for end in ends):
            return tuple(cast(list[Reply], ends))
        if all(isinstance(end, Stopped) for end in ends):
            raise Stopped
        unsent = CallFailed(
            "over_budget", "the run was stopped before this call"
        )  # so the row is done again
        return tuple(unsent if isinstance(end, Stopped) else cast(Reply, end) for end in ends)

    def _lost(self, rubric: str, pair: Pair, reason: str) -> Judgment:
        return Judgment(
            pair[1], pair[0], self._judge.rubric_version(rubric), Status.FAILED, reason=reason
        )

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


def step_of(
    metric: Metric, sample: Sample, flow: MetricFlow | None, answers: tuple[Judgment, ...]
) -> Step:
    """Advance a flow (None: begin it). A metric's own fault is that metric's failed score, not the
    run's end.
    """
    try:
        if flow is None:
            flow = metric.flow(sample)
            asked = next(flow)
        else:
            asked = flow.send(answers)
        if not isinstance(asked, tuple) or not all(
            isinstance(request, Request) for request in asked
        ):
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
    """The Score a metric returned, or a failed one in its place when it is none or holds what it
    must not.
    """
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
    inside = (
        abs(value) <= MOST
        and declared.low <= value
        and (declared.high is None or value <= declared.high)
    )
    if not inside or score.status is not Status.JUDGED:
        raise ValueError(
            f"the value {value!r} with the status {score.status} is no score of its range"
        )
