"""How fast this machine is at the moment, beside a usual one."""

from __future__ import annotations

import time

USUAL_SECONDS = 0.06
"""What a sum over two million numbers takes on an idle core of a usual machine."""


def times_slower() -> float:
    """How many times the usual seconds this machine takes at the moment (the best of three)."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        sum(range(2_000_000))
        took.append(time.perf_counter() - began)
    return min(took) / USUAL_SECONDS
