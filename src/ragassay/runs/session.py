"""A run driven from its start, or from a resume, to its end.

What an earlier part of the run left is recovered, the rows are driven, and the end is stored,
whatever ends the run. Nothing is removed before what replaces it is stored.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ragassay.core import (
    MEASURING,
    EnvironmentFailure,
    Ledger,
    Manifest,
    RagAssayError,
    RunState,
    memory_failure,
)
from ragassay.core.counting import count
from ragassay.dispatch import run_errors
from ragassay.runs.chat_models import chat_models
from ragassay.runs.commands import resume_command
from ragassay.runs.distribution import DistributedRun
from ragassay.runs.garbage import RARER_COLLECTIONS
from ragassay.runs.ledger_recovery import ledger_of_log, spent_before, without_waiting_batches
from ragassay.runs.run import Run
from ragassay.runs.run_state import StateWriter
from ragassay.runs.signals import stop_on_signals
from ragassay.runs.ticker import harmless, ticking

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragassay.dispatch import Budget
    from ragassay.runs.distribution import Distribution, Driver, Leftovers
    from ragassay.runs.engine import Outcome
    from ragassay.runs.plan import Plan
    from ragassay.runs.reply_log import ReplyLog
    from ragassay.runs.ticker import Tell, Watch
    from ragassay.store import IndexSet, Store, StoredRun


class Session:
    """Drives one run, which the store has acquired, to its end. One instance, one `run`.

    before: how the run stood, where it is resumed. retry_failed: rows are done again in which a
    judgment failed. watch and tell: as for `ragassay.evaluate`.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        manifest: Manifest,
        *,
        distribution: Distribution,
        before: StoredRun | None = None,
        retry_failed: bool = False,
        watch: Watch | None = None,
        tell: Tell | None = None,
    ) -> None:
        self._plan = plan
        self._store = store
        self._manifest = manifest
        self._distribution = distribution
        self._before = before
        self._retry_failed = retry_failed
        self._watch = harmless(watch, tell)
        self._tell = tell
        self._resume_command = _command_to_go_on(manifest, store)
        seconds_before = 0.0 if before is None else before.seconds
        self._state = StateWriter(store, manifest.run_id, seconds_before)
        self._ledger: Callable[[], Ledger] = Ledger
        """What the run has spent so far, as well as it is known at this point."""
        self._snapshot: Callable[[], Ledger] = Ledger
        """The same with the calls in flight as uncertain, as a kill would leave them."""
        self._driver: Driver | None = None
        self._stopped = False

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._manifest.run_id

    @property
    def store(self) -> Store:
        """The store that has the run."""
        return self._store

    def stop(self) -> None:
        """Stop cleanly: nothing more is asked, and what is under way is kept. Called from the event
        loop; also before the rows are driven, which they then are not.
        """
        self._stopped = True
        if self._driver is not None:
            self._driver.stop()

    @property
    def _over_ray(self) -> bool:
        return self._plan.options.engine == "ray"

    async def run(self) -> Run:
        """Drive the run and return it. Raises RagAssayError, with the command that goes on, where
        the set-up or the machine fails.
        """
        run_id = self._manifest.run_id
        if self._before is not None and self._manifest != self._before.manifest:
            self._store.put_manifest(self._manifest)
        try:
            await self._run_to_its_end()
        finally:
            with suppress(RagAssayError):
                self._store.release(run_id)
        return Run(self._store, run_id)

    async def _run_to_its_end(self) -> None:
        from ragassay.runs.reply_log import ReplyLog

        # The name is no longer than a store's own may be.
        log = ReplyLog(self._store.beside(f"ragassay-{self._manifest.run_id}.replies"))
        log_may_go = False
        try:
            base = await self._preflight(await self._recover(log), log)
            done = self._store.done(self._manifest.run_id)
            budget, driver = self._open_driver(base, done, log)
            self._ledger = budget.ledger
            self._snapshot = budget.snapshot
            outcome = await self._drive_rows(driver, done)
        except RagAssayError as error:
            if self._save_failure(RunState.FAILED, str(error)):
                # Its ledger is in the store now; without replies nothing else is in it.
                log_may_go = log.holds_no_reply
            self._add_resume_command(error)
            raise
        except BaseException as error:
            # Ctrl-C and cancellation as well: the store must not say that the run goes on.
            starved = memory_failure(error)
            state = RunState.INTERRUPTED if starved is None else RunState.FAILED
            if self._save_failure(state, type(error).__name__):
                log_may_go = log.holds_no_reply
            if starved is None:
                self._tell_how_to_go_on(error)
                raise
            self._add_smaller_resume_command(starved)
            raise starved from error
        finally:
            await self._plan.close()
            log.close(finished=log_may_go)
        self._finish(outcome, driver, budget, log)

    # -- what an earlier part of the run left

    async def _recover(self, log: ReplyLog) -> Ledger:
        """The ledger with which the run begins or goes on. It is stored, and what it was read from
        is removed. Raises RagAssayError.
        """
        writer = "" if self._before is None else self._before.writer
        leftovers = self._distribution.recover_parts(self._store, self._manifest.run_id, writer)
        base = await self._ledger_so_far(leftovers, log)
        self._ledger = lambda: base
        self._state.save(RunState.RUNNING, "", self._ledger)
        # Only now, with the ledger in the store, may what it was read from go.
        self._begin_log(log, base)
        if self._retry_failed:
            log.forget()
        else:
            log.keep(leftovers.replies)
        leftovers.remove()
        if self._retry_failed:
            self._store.reopen_failed(self._manifest.run_id)
        return base

    async def _ledger_so_far(self, leftovers: Leftovers, log: ReplyLog) -> Ledger:
        """What the run has spent, without the calls that wait at a provider."""
        base = Ledger()
        if self._before is not None:
            logged = leftovers.ledger or ledger_of_log(log, self._before)
            base = spent_before(self._before, self._store, logged)
        if self._plan.batches is None:
            return base
        return await without_waiting_batches(
            self._plan.batches,
            self._store,
            self._manifest.run_id,
            base,
            self._retry_failed,
            self._tell,
        )

    def _begin_log(self, log: ReplyLog, base: Ledger) -> None:
        from ragassay.dispatch import Rate

        if self._over_ray:
            # Its workers have logs of their own, which count what is spent.
            log.begin(None, owner=self._store.token, anew=log.ledger is not None)
        else:
            log.begin(base, owner=self._store.token, rate=Rate.of(self._plan.model.price))

    # -- the models

    async def _preflight(self, base: Ledger, log: ReplyLog) -> Ledger:
        """Learn what the judge's models and their servers can do, before the rows cost money. The
        ledger with what that cost. Raises RagAssayError.
        """
        models = chat_models(self._plan.model)
        if not models:
            return base
        from ragassay.runs.preflight import Preflight, known_model

        preflight = Preflight(self._plan.options, self._store, base, self._tell, log)
        self._ledger = preflight.ledger
        nothing_before = log.holds_no_reply
        ledger = await preflight.run(models, self._expected_calls())
        if nothing_before:
            log.replies_are_used()
        if ledger != base:
            self._state.save(RunState.RUNNING, "", self._ledger)
        known = tuple(known_model(model, self._store) for model in models)
        judge = replace(self._manifest.judge, models=known)
        if judge != self._manifest.judge:
            self._manifest = replace(self._manifest, judge=judge)
            self._store.put_manifest(self._manifest)
        return ledger

    def _expected_calls(self) -> int:
        """About as many calls as the rows may take: one a row and judged metric."""
        judged = [metric for metric in self._plan.metrics if metric.declaration.judged]
        return self._manifest.rows * len(judged)

    def _save_models(self) -> None:
        models = chat_models(self._plan.model)
        if models:
            from ragassay.runs.preflight import save_models

            save_models(self._store, models)

    # -- the rows

    def _open_driver(self, base: Ledger, done: IndexSet, log: ReplyLog) -> tuple[Budget, Driver]:
        """What drives the rows, in this process or over several, and the budget it keeps."""
        if self._over_ray:
            run = DistributedRun(
                plan=self._plan,
                store=self._store,
                manifest=self._manifest,
                base=base,
                done=done,
                log=log,
                # A row that is done again must not be judged from the reply that failed it.
                share_replies=not self._retry_failed,
                save=self._save_snapshot,
                tell=self._tell,
            )
            return self._distribution.open_driver(run)
        return self._open_engine(base, log)

    def _open_engine(self, base: Ledger, log: ReplyLog) -> tuple[Budget, Driver]:
        from ragassay.dispatch import LocalBudget, output_limit_of
        from ragassay.runs.engine import RunContext

        plan = self._plan
        budget = LocalBudget(
            plan.model.price,
            max_calls=plan.options.max_calls,
            max_cost=plan.options.max_cost,
            base=base,
            output_limit=output_limit_of(plan.model),
            costs=log.costs,
            batched=plan.batches is not None,
        )
        run_id = self._manifest.run_id
        context = RunContext(
            run_id=run_id,
            rows=self._manifest.rows,
            resumed=self._before is not None,
            new_judges=self._new_judges(),
            answered={} if plan.application is None else self._store.answered(run_id),
            shared_judges=self._shared_judges(),
        )
        engine = plan.engine(
            context, store=self._store, budget=budget, log=log, save_ledger=self._save_ledger
        )
        return budget, engine

    def _new_judges(self) -> frozenset[str]:
        """The fingerprints of which nothing can be stored that this run may use. A run that goes on
        has judgments of its own.
        """
        fingerprints = frozenset(self._plan.info.fingerprints.values())
        if self._plan.options.cache:
            return frozenset(self._store.unknown_judges(fingerprints))
        return frozenset() if self._before is not None else fingerprints

    def _shared_judges(self) -> frozenset[str]:
        """The fingerprints whose questions cost money, and whose judgments may be other runs'."""
        plan = self._plan
        if plan.info.sends_nothing or plan.batches is not None or not plan.options.cache:
            return frozenset()
        return frozenset(plan.info.fingerprints.values())

    async def _drive_rows(self, driver: Driver, done: IndexSet) -> Outcome:
        """Drive the rows that are not done, with progress shown, the ledger stored every second and
        signals heeded.
        """
        plan = self._plan
        self._driver = driver
        if self._stopped:
            driver.stop()
        driver.progress.rows = len(done)
        rows = plan.rows(done)
        batches_not_awaited = None if plan.options.wait else plan.batches
        batched = plan.batches is not None
        async with ticking(driver, self._watch, self._save_snapshot, batches_not_awaited):
            with (
                stop_on_signals(driver, self._resume_command, self._tell, batched),
                self._watchdog(driver),
                RARER_COLLECTIONS.during_run(),
            ):
                return await driver.run(rows)

    def _watchdog(self, driver: Driver) -> AbstractContextManager[object]:
        """Reports long waits. Batches at a provider take hours, of which nothing is said."""
        from ragassay.runs.watchdog import Watchdog

        if self._tell is None or self._plan.batches is not None:
            return nullcontext()
        return Watchdog(driver.progress, self._tell)

    # -- how the run stands, in the store

    def _save_snapshot(self) -> None:
        self._state.save(RunState.RUNNING, "", self._snapshot)

    def _save_ledger(self, ledger: Ledger) -> None:
        self._state.save(RunState.RUNNING, "", lambda: ledger)

    def _save_failure(self, state: RunState, reason: str) -> bool:
        """Store how the run failed; whether that was possible."""
        if not self._state.begun:
            return False
        with suppress(RagAssayError):  # the store itself may be what failed
            self._state.save(state, reason, self._ledger)
            return True
        return False

    def _finish(self, outcome: Outcome, driver: Driver, budget: Budget, log: ReplyLog) -> None:
        """Store how the run ended, drop what a resume would not need, and report."""
        from ragassay.dispatch import LocalBudget

        ledger = outcome.ledger
        if self._plan.batches is not None and isinstance(budget, LocalBudget):
            budget.add_unclaimed(self._plan.batches.unclaimed())
            ledger = budget.ledger()
        self._state.save(outcome.state, outcome.reason, lambda: ledger)
        self._save_models()
        log.close(finished=outcome.state is RunState.FINISHED or log.holds_no_reply)
        if self._tell is not None and driver.without_usage:
            self._tell(
                f"{count(driver.without_usage, 'reply said', 'replies said')} nothing about tokens:"
                " tokens are counted"
                " without them, and what they may have cost at most counts as uncertain"
            )
        if self._watch is not None:
            self._watch(driver.progress)

    def _tell_how_to_go_on(self, error: BaseException) -> None:
        """Before the rows are driven, or after, a Ctrl-C is nobody's to handle but Python's."""
        if self._tell is not None and isinstance(
            error, (asyncio.CancelledError, KeyboardInterrupt)
        ):
            self._tell(f"Stopped. To go on: {self._resume_command}")

    def _add_resume_command(self, error: RagAssayError) -> None:
        advice = f"go on with: {self._resume_command}"
        if error.fix.startswith(run_errors.NEW_RUN):
            error.fix += f"; where the server is mended instead, {advice}"
        else:
            error.fix = f"{error.fix}; then {advice}" if error.fix else advice

    def _add_smaller_resume_command(self, error: EnvironmentFailure) -> None:
        """With fewer calls at once a run takes less memory."""
        concurrency = max(1, self._plan.options.concurrency // 4)
        error.fix += f"; then go on with: {self._resume_command} --concurrency {concurrency}"


def _command_to_go_on(manifest: Manifest, store: Store) -> str:
    """The command that goes on with a run. One that measures a judge is a step of a command, which
    goes on as a whole.
    """
    if manifest.name.startswith(MEASURING):
        return "the same command"
    return resume_command(manifest.run_id, store.location)
