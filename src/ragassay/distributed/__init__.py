"""Runs over several processes or machines: Ray places the workers, each drives parts of the rows.

The door is light: Ray is imported when a run starts over it, and never for recovering what such a
run left behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.distributed.lease import SharedBudget
from ragassay.distributed.parts import recover_parts
from ragassay.lazy import lazy_names

if TYPE_CHECKING:
    from ragassay.distributed.driver import RayEngine
    from ragassay.runs.distribution import DistributedRun

__all__ = ["RayEngine", "SharedBudget", "open_driver", "recover_parts"]

__getattr__ = lazy_names(__name__, {"driver": ("RayEngine",)})


def open_driver(run: DistributedRun) -> tuple[SharedBudget, RayEngine]:
    """The driver of the run over Ray, and the budget that its workers share."""
    from ragassay.distributed.driver import RayEngine

    options = run.plan.options
    budget = SharedBudget(max_calls=options.max_calls, max_cost=options.max_cost, base=run.base)
    return budget, RayEngine(run, budget)
