"""The progress of a run: what a display shows of it and the watchdog looks at.

The engine writes it and never reads it; the display and the watchdog read it while the run goes on,
the watchdog from a thread of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ragassay.core import Ledger
from ragassay.dispatch.dispatcher import Traffic
from ragassay.metrics import Metric

SLOW = 10.0
"""Seconds from which a row's wait is shown."""


@dataclass(slots=True)
class RowActivity:
    """Where a row stands: what is done for it, and since when (monotonic seconds)."""

    row: str
    doing: str
    since: float
    reported: float = 0.0


@dataclass(frozen=True, slots=True)
class Stall:
    """A row that has stood at one place for so many seconds. doing: which metrics, and what they
    wait for.
    """

    row: str
    doing: str
    seconds: float

    def __str__(self) -> str:
        return f"row {self.row} has waited {self.seconds:.0f} s: {self.doing}"


@dataclass(slots=True)
class Progress:
    """What a display may show of a run. rows counts finished ones, bad ones included. places: where
    the rows in hand stand, by index; at: the metric and the row that hold the event loop now;
    storage: why the store waits, "" when it does not.
    """

    total: int
    rows: int = 0
    bad: int = 0
    cached: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    ledger: Callable[[], Ledger] = Ledger
    places: dict[int, RowActivity] = field(default_factory=dict)
    at: tuple[Metric, str] | None = None
    storage: Callable[[], str] = str

    def stall(self, place: RowActivity, now: float) -> Stall:
        """What a row's place looks like at `now` (monotonic seconds), with the reason why calls or
        writes wait.
        """
        why = self.traffic.waiting or self.storage()
        return Stall(place.row, place.doing + (f" ({why})" if why else ""), now - place.since)

    @property
    def computing(self) -> str:
        """What holds the event loop now, "" when it is the engine's own work."""
        at = self.at  # read once: the watchdog asks from its own thread
        return "" if at is None else f"{at[0]} on row {at[1]}"

    @property
    def slowest(self) -> Stall | None:
        """The row that has stood at its place longest, from 10 seconds on."""
        now = time.monotonic()
        place = min(self.places.values(), key=lambda one: one.since, default=None)
        known = place is None or now - place.since < SLOW or self.traffic.elsewhere() != ""
        return None if known or place is None else self.stall(place, now)
