"""Who runs a plan over several processes or machines: Ray places the workers, each drives parts of
the rows.

The door is light: Ray is imported when a run starts over it, and never for absorbing what such a
run left behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.distributed.lease import SharedBudget
from ragassay.distributed.parts import recover_parts

if TYPE_CHECKING:
    from ragassay.distributed.driver import RayEngine

__all__ = ["SharedBudget", "RayEngine", "recover_parts"]


def __getattr__(name: str) -> object:
    if name == "RayEngine":
        from ragassay.distributed.driver import RayEngine

        return RayEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
