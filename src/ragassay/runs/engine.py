"""The engine of a run: rows are taken as they are needed, scored, and their results stored.

The engine decides which rows are in work and when the run ends. What is done with a row is the
RowScorer's, where its Judgments come from the JudgmentLookup's, and how a call is made the
Dispatcher's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

from ragassay.core import Ledger, RunState, Sample, shorten
from ragassay.dispatch import (
    ROWS_AT_ONCE,
    BatchedDispatcher,
    CallPolicy,
    Dispatcher,
    LocalBudget,
    Stopped,
)
from ragassay.judges import Judge
from ragassay.models import Model
from ragassay.runs.journal import ClaimStore, Journal, JournalStore, text_size
from ragassay.runs.judge_runner import JudgeRunner
from ragassay.runs.judgment_lookup import JudgmentLookup
from ragassay.runs.pending import PendingJudgments
from ragassay.runs.progress import Progress
from ragassay.runs.row_scorer import IndexedRow, Measurement, RowScorer
from ragassay.runs.shared_purchases import SharedPurchases

GRACE = 4.0
"""Seconds that calls in flight get to finish when a run is stopped: their answers are paid for."""

BLOCK_ROWS = 16
BLOCK_SIZE = 1 << 20
"""The most rows that are scored together where no model is asked, and the characters from which a
block takes no further row.
"""

MOST_IN_WORK = 1 << 25
"""Characters of rows in work from which no further row is taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How a run is driven. policy: how hard to try a call. concurrency: calls at once, at most.
    cache: whether judgments of other runs are used. keep_replies: whether calls and replies are
    stored. batched: the model's calls wait in batches, so
    many rows are in work at once and a stop waits for none.
    """

    policy: CallPolicy
    concurrency: int = 32
    cache: bool = True
    keep_replies: bool = False
    batched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What an engine has to know of its run. rows: how many it has in all. resumed: an earlier part
    of the run may have bought judgments. new_judges: as for `Journal`. answered: rows, by index,
    that the application answered in an earlier part of the run. shared_judges: fingerprints whose
    questions are bought together with other runs of the store; the store is a `ClaimStore` then.
    """

    run_id: str
    rows: int = 0
    resumed: bool = False
    new_judges: frozenset[str] = frozenset()
    answered: Mapping[int, Sample] = field(default_factory=dict)
    shared_judges: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    state: RunState
    reason: str
    ledger: Ledger


class Engine:
    """Drives a measurement over rows with one model. One instance, one run.

    Memory follows what is in flight. A row's failure is a record; a failure of the set-up or of the
    store ends the run and is raised, with everything judged so far stored. save_ledger: writes a
    ledger to disk; without it a cap holds only as long as the process lives.
    """

    def __init__(
        self,
        measurement: Measurement,
        settings: EngineSettings,
        run: RunContext,
        *,
        model: Model,
        store: JournalStore,
        budget: LocalBudget,
        save_ledger: Callable[[Ledger], None] | None = None,
    ) -> None:
        self._model = model
        self._budget = budget
        claims = cast(ClaimStore, store) if run.shared_judges else None
        self._journal = Journal(
            store,
            run.run_id,
            own_run_only=not settings.cache,
            save_ledger=save_ledger,
            new_judges=run.new_judges,
            on_failure=self._abort,
            claims=claims,
        )
        dispatcher_class = BatchedDispatcher if settings.batched else Dispatcher
        self._dispatcher = dispatcher_class(
            model,
            budget,
            settings.policy,
            settings.concurrency,
            on_budget=self._stop_at_a_cap,
            write_intent=None if save_ledger is None else self._journal.write_intent,
        )
        self.progress = Progress(
            run.rows,
            traffic=self._dispatcher.traffic,
            ledger=budget.ledger,
            storage=lambda: str(getattr(store, "waiting", "")),
        )
        pending = PendingJudgments()
        self._judging = self._make_judging(measurement.judge, settings, pending)
        self._shared = self._make_shared(claims, run, pending, settings.policy.patience)
        self._scorer = self._make_scorer(measurement, run, pending)
        # Rows are the unit of admission, calls the unit of concurrency: enough rows to keep all
        # calls busy.
        least = ROWS_AT_ONCE if settings.batched else 8
        self._rows_at_once = max(least, 2 * settings.concurrency)
        # Calls in a batch may take a day: a resume collects them, and a stop waits for none.
        self._grace = 0.0 if settings.batched else GRACE
        # Thousands of rows wait in a batched run: looked at often, they alone would load the loop.
        self._look_for_room = 1.0 if settings.batched else 0.01
        self._block_rows = 1
        self._in_work = 0  # characters of the rows that are in work
        self._state = RunState.RUNNING
        self._reason = ""
        self._fatal: BaseException | None = None

    def _make_judging(
        self, judge: Judge, settings: EngineSettings, pending: PendingJudgments
    ) -> JudgeRunner:
        return JudgeRunner(
            judge,
            self._journal,
            self._dispatcher,
            pending,
            self._abort,
            keep_replies=settings.keep_replies,
        )

    def _make_shared(
        self,
        claims: ClaimStore | None,
        run: RunContext,
        pending: PendingJudgments,
        patience: float,
    ) -> SharedPurchases:
        return SharedPurchases(
            claims,
            run.run_id,
            run.shared_judges,
            self._journal,
            pending,
            traffic=self._dispatcher.traffic,
            stopping=lambda: self._state is not RunState.RUNNING,
            patience=patience,
        )

    def _make_scorer(
        self, measurement: Measurement, run: RunContext, pending: PendingJudgments
    ) -> RowScorer:
        lookup = JudgmentLookup(
            measurement.judge,
            self._journal,
            self._judging,
            pending,
            self._budget,
            self.progress,
            self._shared,
            resumed=run.resumed,
        )
        return RowScorer(
            measurement, run.answered, lookup, self._dispatcher, self._journal, self.progress
        )

    @property
    def without_usage(self) -> int:
        """How many replies said nothing about tokens."""
        return int(getattr(self._model, "replies_without_usage", 0))

    def stop(self, state: RunState = RunState.INTERRUPTED, reason: str = "") -> None:
        """Stop cleanly: admit no row, make no call; what is in flight is finished and stored. Call
        from the loop.
        """
        self._end_as(state, reason or "stopped by the user")
        self._dispatcher.stop()

    def _stop_at_a_cap(self) -> None:
        # The dispatcher itself refuses calls then, and says so per request; cheaper ones may pass.
        if self._state is RunState.RUNNING:
            self._end_as(RunState.BUDGET, self._budget.stop_reason())

    def _abort(self, error: BaseException) -> None:
        if self._fatal is None:
            self._fatal = error
            self.stop(RunState.FAILED, shorten(str(error), 500))

    def _end_as(self, state: RunState, reason: str) -> None:
        """Note how the run ends; the first reason counts, and what follows from it does not."""
        if self._state is RunState.RUNNING:
            self._state = state
            self._reason = reason

    async def run(self, rows: Iterator[IndexedRow]) -> Outcome:
        """Drive all rows: (index, row) pairs, read as they are needed. Raises RagAssayError when
        the set-up or the machine fails.
        """
        async with self._journal, self._shared:
            workers = [asyncio.create_task(self._work(rows)) for _ in range(self._rows_at_once)]
            try:
                await self._until_done(workers)
            finally:
                tasks = (*workers, *self._judging.tasks)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                self._dispatcher.close()
                self._scorer.close()
        if self._fatal is not None:
            raise self._fatal
        if self._state is RunState.RUNNING:
            self._state = RunState.FINISHED
        if self._state is RunState.BUDGET:  # with the amounts as they are in the end
            self._reason = self._budget.stop_reason()
        return Outcome(self._state, self._reason, self._budget.ledger())

    async def _until_done(self, workers: list[asyncio.Task[None]]) -> None:
        left = set(workers)
        deadline: float | None = None
        loop = asyncio.get_running_loop()
        while left:
            if self._state is RunState.INTERRUPTED or self._fatal is not None:
                deadline = deadline or loop.time() + self._grace
            # Not longer, or a stop would be noticed late.
            done, left = await asyncio.wait(left, timeout=0.1, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                error = task.exception()
                if error is not None:
                    self._abort(error)
            if deadline is not None and loop.time() > deadline:
                return
        # Answers that were under way when their row gave up are still paid for: let them reach the
        # disk.
        if self._judging.tasks:
            timeout = None if deadline is None else max(0.0, deadline - loop.time())
            await asyncio.wait(self._judging.tasks, timeout=timeout)

    async def _work(self, rows: Iterator[IndexedRow]) -> None:
        """One of the workers that take rows, block by block, until there are none."""
        while self._state is RunState.RUNNING:
            # Rows of many megabytes: what is in work must fit the memory.
            while self._in_work > MOST_IN_WORK and self._state is RunState.RUNNING:
                await asyncio.sleep(self._look_for_room)
            block, size = self._take(rows)
            if not block:
                return
            asked = self._judging.asked
            self._in_work += size
            try:
                await self._dispatcher.turn()
                if self._state is not RunState.RUNNING:
                    return  # stopped meanwhile: no row is begun, and no application asked
                results = await self._scorer.score(block)
            except Stopped:
                return
            finally:
                self._in_work -= size
                for index, _ in block:
                    self.progress.activities.pop(index, None)
            await self._journal.put_rows(results)
            self.progress.rows += len(results)
            self._set_block_rows(asked_nothing=self._judging.asked == asked)
            # Rows answered from the cache must not starve the display and Ctrl-C.
            await asyncio.sleep(0)

    def _set_block_rows(self, *, asked_nothing: bool) -> None:
        """Where nothing was asked of a model, more rows are taken together, and share what it costs
        to wait for the disk. Where calls are made, rows go one by one, so that none waits for
        another's answer.
        """
        if asked_nothing and self._scorer.takes_blocks:
            self._block_rows = min(2 * self._block_rows, BLOCK_ROWS)
        else:
            self._block_rows = 1

    def _take(self, rows: Iterator[IndexedRow]) -> tuple[list[IndexedRow], int]:
        """The next rows that are scored together, and their characters; fewer rows where they are
        large.
        """
        block: list[IndexedRow] = []
        size = 0
        while len(block) < self._block_rows and size < BLOCK_SIZE:
            item = next(rows, None)
            if item is None:
                break
            block.append(item)
            size += text_size(item[1])
        return block, size
