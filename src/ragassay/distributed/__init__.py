"""Runs over several processes or machines: Ray places the workers, each drives parts of the rows.

The door is light: Ray is imported when a run starts over it, and never for recovering what such a
run left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ragassay.distributed.lease import SharedBudget
from ragassay.distributed.parts import recover_parts

if TYPE_CHECKING:
    from ragassay.core import Ledger, Manifest
    from ragassay.distributed.driver import RayEngine
    from ragassay.runs import ReplyLog
    from ragassay.runs.plan import Plan
    from ragassay.store import IndexSet, Store

__all__ = ["SharedBudget", "RayEngine", "recover_parts", "open_driver"]


def open_driver(
    plan: Plan,
    store: Store,
    manifest: Manifest,
    base: Ledger,
    done: IndexSet,
    *,
    log: ReplyLog,
    share_replies: bool,
    save: Callable[[], None],
    tell: Callable[[str], None] | None,
) -> tuple[SharedBudget, RayEngine]:
    """What drives the run over Ray, and the budget that its workers share. Arguments as for
    RayEngine; base: what the run had spent before.
    """
    from ragassay.distributed.driver import RayEngine

    options = plan.options
    budget = SharedBudget(max_calls=options.max_calls, max_cost=options.max_cost, base=base)
    engine = RayEngine(
        plan,
        store,
        manifest,
        budget,
        done,
        log=log,
        share_replies=share_replies,
        save=save,
        tell=tell,
    )
    return budget, engine


def __getattr__(name: str) -> object:
    if name == "RayEngine":
        from ragassay.distributed.driver import RayEngine

        return RayEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
