"""A run driven from its start or resume to its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from ragassay.core import Ledger, Manifest, RagAssayError, RunState, memory_failure
from ragassay.runs.commands import resume_command
from ragassay.runs.garbage import RARER_COLLECTIONS
from ragassay.runs.ledger_recovery import ledger_of_log, spent_before, without_waiting_batches
from ragassay.runs.plan import Plan
from ragassay.runs.run import Run
from ragassay.runs.run_state import StateWriter
from ragassay.runs.signals import stop_on_signals
from ragassay.runs.ticker import Tell, Watch, harmless, tick

if TYPE_CHECKING:
    from ragassay.core import BadRow, Sample
    from ragassay.runs.engine import Outcome
    from ragassay.runs.progress import Progress
    from ragassay.runs.reply_log import Replies, ReplyLog
    from ragassay.store import IndexSet, Store, StoredRun


class RunBudget(Protocol):
    """What a run may spend and has spent, as its session needs it."""

    def ledger(self) -> Ledger:
        """What is spent so far."""

    def snapshot(self) -> Ledger:
        """What is spent so far, with the calls in flight as uncertain."""


class Driver(Protocol):
    """What drives the rows of a run: the engine of this process, or one over several processes."""

    progress: Progress

    @property
    def without_usage(self) -> int:
        """How many replies said nothing about tokens."""

    def stop(self, state: RunState = RunState.INTERRUPTED, reason: str = "") -> None:
        """Stop cleanly; called from the event loop."""

    async def run(self, rows: Iterator[tuple[int, Sample | BadRow]]) -> Outcome:
        """Drive all rows that are not done."""


class Leftovers(Protocol):
    """What the workers of a killed driver left."""

    @property
    def ledger(self) -> Ledger | None:
        """What the run had spent by the logs of its parts, None where that is not known."""

    @property
    def replies(self) -> Replies:
        """Replies that had arrived."""

    def remove(self) -> None:
        """Remove them from the disk, once what they say is stored elsewhere."""


class Distribution(Protocol):
    """Runs over several processes: `ragassay.distributed`, which whoever starts a session hands in,
    because it is built on runs.
    """

    def recover_parts(self, store: Store, run_id: str, writer: str) -> Leftovers:
        """Take in what the workers of a killed driver left."""

    def open_driver(
        self,
        plan: Plan,
        store: Store,
        manifest: Manifest,
        base: Ledger,
        done: IndexSet,
        *,
        log: ReplyLog,
        share_replies: bool,
        save: Callable[[], None],
        tell: Tell | None,
    ) -> tuple[RunBudget, Driver]:
        """What drives the run over several processes, and the budget that they share."""


async def drive(
    plan: Plan,
    store: Store,
    manifest: Manifest,
    before: StoredRun | None,
    retry_failed: bool,
    watch: Watch | None,
    tell: Tell | None = None,
    *,
    distribution: Distribution,
) -> Run:
    """Drive a run, which the store has acquired, to its end. before: how it stood, where it is
    resumed.
    """
    from ragassay.dispatch import LocalBudget
    from ragassay.runs import ReplyLog, RunContext, Watchdog

    watch = harmless(watch, tell)
    run_id, options = manifest.run_id, plan.options
    go_on = resume_command(run_id, store.location)
    if before is not None and manifest != before.manifest:
        store.put_manifest(manifest)
    standing = StateWriter(store, run_id, 0.0 if before is None else before.seconds)
    try:
        log = ReplyLog(
            store.beside(f"ragassay-{run_id}.replies")
        )  # not longer than a store's own name may be
        ticker: asyncio.Task[None] | None = None
        needless = False

        def save_snapshot() -> None:
            standing.save(RunState.RUNNING, "", budget.snapshot)

        try:
            left = distribution.recover_parts(
                store, run_id, "" if before is None else before.writer
            )
            base = (
                Ledger()
                if before is None
                else spent_before(before, store, left.ledger or ledger_of_log(log, before))
            )
            if plan.batches is not None:
                base = await without_waiting_batches(
                    plan.batches, store, run_id, base, retry_failed, tell
                )
            spent: Callable[[], Ledger] = lambda: base  # noqa: E731
            standing.save(RunState.RUNNING, "", spent)
            # Only now, with the ledger in the store, may what it was read from go.
            over_ray = options.engine == "ray"  # whose workers have logs of their own
            log.begin(
                None if over_ray else base,
                owner=store.token,
                anew=over_ray and log.ledger is not None,
            )
            if retry_failed:
                log.forget()
            else:
                log.keep(left.replies)
            left.remove()
            if retry_failed:
                store.reopen_failed(run_id)
            done = store.done(run_id)
            budget: RunBudget
            engine: Driver
            if over_ray:
                budget, engine = distribution.open_driver(
                    plan,
                    store,
                    manifest,
                    base,
                    done,
                    log=log,
                    share_replies=not retry_failed,
                    save=save_snapshot,
                    tell=tell,
                )
            else:
                own_budget = LocalBudget(
                    plan.model.price,
                    max_calls=options.max_calls,
                    max_cost=options.max_cost,
                    base=base,
                )
                budget = own_budget
                context = RunContext(
                    run_id=run_id,
                    rows=manifest.rows,
                    resumed=before is not None,
                    new_judges=_new_judges(plan, store, resumed=before is not None),
                    answered={} if plan.application is None else store.answered(run_id),
                )
                engine = plan.engine(
                    context,
                    store=store,
                    budget=own_budget,
                    log=log,
                    save_ledger=lambda ledger: standing.save(RunState.RUNNING, "", lambda: ledger),
                )
            spent = budget.ledger
            engine.progress.rows = len(done)
            todo = plan.rows(done)
            parked = plan.batches if plan.batches is not None and not options.wait else None
            ticker = asyncio.create_task(tick(engine, watch, save_snapshot, parked))
            watchdog = (
                nullcontext()
                if tell is None or plan.batches is not None
                else Watchdog(engine.progress, tell)
            )
            with (
                stop_on_signals(engine, go_on, tell, plan.batches is not None),
                watchdog,
                RARER_COLLECTIONS.during_run(),
            ):
                outcome = await engine.run(todo)
        except RagAssayError as error:
            if standing.begun:
                with suppress(RagAssayError):  # the store itself may be what failed
                    standing.save(RunState.FAILED, str(error), spent)
                    needless = log.holds_no_reply
            error.fix = (
                f"{error.fix}; then go on with: {go_on}" if error.fix else f"go on with: {go_on}"
            )
            raise
        except BaseException as error:
            failure = memory_failure(error)
            if standing.begun:
                with suppress(RagAssayError):
                    state = RunState.INTERRUPTED if failure is None else RunState.FAILED
                    standing.save(state, type(error).__name__, spent)
            if failure is None:
                raise
            failure.fix += (
                f"; then go on with: {go_on} --concurrency {max(1, options.concurrency // 4)}"
            )
            raise failure from error
        finally:
            if ticker is not None:
                ticker.cancel()
                await asyncio.gather(ticker, return_exceptions=True)
            await plan.close()
            log.close(finished=needless)
        if plan.batches is not None and isinstance(budget, LocalBudget):
            budget.add_unclaimed(plan.batches.unclaimed())
            outcome = replace(outcome, ledger=budget.ledger())
        standing.save(outcome.state, outcome.reason, lambda: outcome.ledger)
        log.close(finished=outcome.state is RunState.FINISHED or log.holds_no_reply)
        silent = engine.without_usage
        if tell is not None and silent:
            tell(
                f"{silent} replies said nothing about tokens: tokens are counted without them, and"
                " what they may have cost at most counts as uncertain"
            )
        if watch is not None:
            watch(engine.progress)
    finally:
        with suppress(RagAssayError):
            store.release(run_id)
    return Run(store, run_id)


def _new_judges(plan: Plan, store: Store, *, resumed: bool) -> frozenset[str]:
    """The fingerprints of which a run that begins need not look up anything. Resumed runs have
    judgments of their own.
    """
    prints = tuple(dict.fromkeys(plan.info.fingerprints.values()))
    if plan.options.cache:
        return frozenset(store.unknown_judges(prints))
    return frozenset() if resumed else frozenset(prints)
