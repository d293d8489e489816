"""What a run had spent when it stopped or was killed, so that its caps hold over every resume."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ragassay.core import CallError, Ledger, ProviderError, RunState
from ragassay.core.counting import count
from ragassay.dispatch import add_ledgers
from ragassay.judges.composed.members import runs_here
from ragassay.runs.commands import resume_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragassay.models.batch import BatchModel
    from ragassay.runs.reply_log import ReplyLog
    from ragassay.store import Store, StoredRun


AVERAGE_AND_MORE = 1.4
"""Times the average cost of a call: what a call without a log of it is estimated at."""


def ledger_of_log(log: ReplyLog, before: StoredRun) -> Ledger | None:
    """What the run's log of calls on this machine says was spent; None where the run was worked on
    elsewhere since.
    """
    return log.ledger if log.owner == before.writer else None


def spent_before(before: StoredRun, store: Store, logged: Ledger | None) -> Ledger:
    """What a run had spent when it stopped or was killed. logged: what its logs of calls say."""
    saved = before.ledger
    if before.state is not RunState.RUNNING:  # it ended by itself, and wrote down what it came to
        return saved
    if runs_here(before.manifest.judge.uri):  # a ledger has the calls that cost something
        return saved
    if logged is not None and logged.confirmed.calls >= saved.confirmed.calls:
        return replace(
            logged,
            cached_judgments=saved.cached_judgments,
            retries=saved.retries,
            saved_cost=saved.saved_cost,
        )
    # No log outlived the kill (the machine went down, or was another one): the ledger counts calls
    # in flight as uncertain, and the judgments say which of them arrived.
    judged = add_ledgers(Ledger(confirmed=store.spend(before.run_id)), Ledger(saved.preflight))
    spent = judged.confirmed
    late = max(0, spent.calls - saved.confirmed.calls)
    if late:
        saved = replace(saved, confirmed=spent)
    # Without a cap the ledger is written once a second: as many as were in flight then may be so
    # again, or some more, where it was written as one had just ended.
    capped = any(before.manifest.options.get(cap) is not None for cap in ("max_calls", "max_cost"))
    arrived = late if capped else 0
    if saved.cut_off_calls:
        calls = max(0, saved.cut_off_calls - arrived)
        if not capped:
            calls += 1 + calls // 10
        return _with_calls_cut_off(saved, calls)
    if not late:
        return saved
    price = saved.uncertain_cost / saved.uncertain_calls if saved.uncertain_calls else 0.0
    uncertain = max(0, saved.uncertain_calls - arrived)
    return replace(saved, uncertain_calls=uncertain, uncertain_cost=price * uncertain)


def _with_calls_cut_off(ledger: Ledger, calls: int) -> Ledger:
    """The ledger with so many calls cut off, of those that it holds at their worst case: at what
    its other calls cost on average and some more, since all kinds of calls are in that average.
    """
    each = ledger.cut_off_cost / ledger.cut_off_calls
    confirmed = ledger.confirmed
    if confirmed.cost and confirmed.calls:
        each = min(each, AVERAGE_AND_MORE * confirmed.cost / confirmed.calls)
    fewer = ledger.cut_off_calls - calls
    cost = calls * each
    return replace(
        ledger,
        uncertain_calls=ledger.uncertain_calls - fewer,
        uncertain_cost=max(0.0, ledger.uncertain_cost - ledger.cut_off_cost) + cost,
        cut_off_calls=calls,
        cut_off_cost=cost,
    )


async def without_waiting_batches(
    batches: BatchModel,
    store: Store,
    run_id: str,
    base: Ledger,
    again: bool,
    tell: Callable[[str], None] | None,
) -> Ledger:
    """The ledger without what is at the provider: that is reserved anew as it is asked for, and not
    bought again.
    """
    try:
        waiting = min(await batches.begin(run_id, store, again=again), base.uncertain_calls)
    except CallError as error:
        raise ProviderError(
            "E0412",
            "The provider does not say which batches it has.",
            where=batches.uri,
            why=error.message,
            fix=f"when it does again, go on with: {resume_command(run_id, store.location)}",
        ) from None
    if waiting and tell is not None:
        tell(
            f"{count(waiting, 'call is', 'calls are')} at the provider already: their answers are"
            " collected, not bought again"
        )
    return _without_calls(base, waiting)


def _without_calls(ledger: Ledger, calls: int) -> Ledger:
    """The ledger without so many of its uncertain calls: those that were cut off come first, since
    the end of the process has cut off what waits at a provider.
    """
    cut_off = min(calls, ledger.cut_off_calls)
    cut_off_cost = ledger.cut_off_cost * cut_off / max(1, ledger.cut_off_calls)
    other_cost = ledger.uncertain_cost - ledger.cut_off_cost
    others = ledger.uncertain_calls - ledger.cut_off_calls
    lost_cost = other_cost * (calls - cut_off) / max(1, others)
    return replace(
        ledger,
        uncertain_calls=ledger.uncertain_calls - calls,
        uncertain_cost=max(0.0, ledger.uncertain_cost - cut_off_cost - lost_cost),
        cut_off_calls=ledger.cut_off_calls - cut_off,
        cut_off_cost=ledger.cut_off_cost - cut_off_cost,
    )
