"""Budgets of a watch: how much judging may cost within any hour or day.

A window slides: what was spent in the last 24 hours counts, at any moment, so that no calendar day
can hold more either. A batch that goes on, and one whose time lies ahead because a clock was set
back, count as spent now.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragassay.core import SetupError
from ragassay.store.watches import WatchBatch

Unit = Literal["dollars", "calls", "rows"]

_SECONDS = {"minute": 60.0, "hour": 3_600.0, "day": 86_400.0}
LONGEST_S = _SECONDS["day"]
"""Seconds of the longest window."""
_FORM = re.compile(
    r"\s*\$?(?P<amount>\d+(\.\d*)?|\.\d+)\s*(?P<unit>dollars?|usd|calls?|rows?)?\s*"
    r"(/|per)\s*(?P<window>minute|hour|day)\s*",
    re.I,
)
_HOW = "'5/day' (US dollars), '500 calls/hour' or '100 rows/minute'"


@dataclass(frozen=True, slots=True)
class Budget:
    """So many dollars, calls or rows in any window of so many seconds."""

    amount: float
    unit: Unit
    window: str

    @property
    def seconds(self) -> float:
        """Length of the window."""
        return _SECONDS[self.window]

    def __str__(self) -> str:
        if self.unit == "dollars":
            return f"${self.amount:g}/{self.window}"
        return f"{self.amount:g} {self.unit}/{self.window}"


@dataclass(frozen=True, slots=True)
class Room:
    """What may still be spent now; None for no limit. full: the budgets that leave nothing."""

    dollars: float | None
    calls: int | None
    rows: int | None
    full: tuple[Budget, ...]


def read_budget(text: str) -> Budget:
    """A budget of "5/day". Raises SetupError E1301 for anything else."""
    match = _FORM.fullmatch(text)
    if match is None or not math.isfinite(float(match["amount"])):
        raise SetupError(
            "E1301",
            "This is no budget.",
            where="--budget",
            why=text[:60],
            fix=f"write {_HOW}",
        )
    unit = (match["unit"] or "dollars").lower()
    units: dict[str, Unit] = {"c": "calls", "r": "rows"}
    return Budget(float(match["amount"]), units.get(unit[0], "dollars"), match["window"].lower())


def spent(budget: Budget, batches: Iterable[WatchBatch], now: float) -> float:
    """What was spent in the budget's window that ends now."""
    total = 0.0
    for batch in batches:
        ended = now if batch.ended is None else batch.ended
        if ended <= now - budget.seconds and batch.created <= now:
            continue
        amounts = {
            "dollars": batch.cost or 0.0,
            "calls": float(batch.calls),
            "rows": float(batch.rows),
        }
        total += amounts[budget.unit]
    return total


def room(budgets: Sequence[Budget], batches: Sequence[WatchBatch], now: float) -> Room:
    """What all budgets together leave."""
    left: dict[str, float] = {}
    full = []
    for budget in budgets:
        amount = max(0.0, budget.amount - spent(budget, batches, now))
        whole = amount if budget.unit == "dollars" else math.floor(amount)
        left[budget.unit] = min(whole, left.get(budget.unit, math.inf))
        if whole <= 0:
            full.append(budget)
    calls, rows = left.get("calls"), left.get("rows")
    return Room(
        left.get("dollars"),
        None if calls is None else int(calls),
        None if rows is None else int(rows),
        tuple(full),
    )
