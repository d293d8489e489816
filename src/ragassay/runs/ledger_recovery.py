"""What a run had spent when it stopped or was killed, so that its caps hold over every resume."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ragassay.core import CallError, Ledger, ProviderError, RunState
from ragassay.runs.commands import resume_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from ragassay.models.batch import BatchModel
    from ragassay.runs.reply_log import ReplyLog
    from ragassay.store import Store, StoredRun


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
    if logged is not None and logged.confirmed.calls >= saved.confirmed.calls:
        return replace(
            logged,
            cached_judgments=saved.cached_judgments,
            retries=saved.retries,
            saved_cost=saved.saved_cost,
        )
    # No log outlived the kill (the machine went down, or was another one): the ledger counts calls
    # in flight as uncertain, and the judgments say which of them arrived.
    spent = store.spend(before.run_id)
    late = spent.calls - saved.confirmed.calls
    if late <= 0:
        return saved
    price = saved.uncertain_cost / saved.uncertain_calls if saved.uncertain_calls else 0.0
    # Without a cap the ledger is written once a second: as many as were in flight then may be so
    # again.
    capped = any(before.manifest.options.get(cap) is not None for cap in ("max_calls", "max_cost"))
    uncertain = max(0, saved.uncertain_calls - late) if capped else saved.uncertain_calls
    return replace(
        saved, confirmed=spent, uncertain_calls=uncertain, uncertain_cost=price * uncertain
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
            f"{waiting:,} calls are at the provider already: their answers are collected, not"
            " bought again"
        )
    left = base.uncertain_calls - waiting
    return replace(
        base,
        uncertain_calls=left,
        uncertain_cost=base.uncertain_cost * left / (left + waiting or 1),
    )
