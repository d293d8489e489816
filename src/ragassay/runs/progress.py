"""The progress of a run: what a display shows of it and the watchdog looks at.

The engine writes it and never reads it; the display and the watchdog read it while the run goes on,
the watchdog from a thread of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ragassay.core import Ledger
from ragassay.dispatch import Traffic
from ragassay.metrics import Metric

SHOWN_AFTER = 10.0
"""Seconds from which a row's wait is shown."""


@dataclass(slots=True)
class RowActivity:
    """What is done for a row, and since when (monotonic seconds). reported: how long it had taken
    when the watchdog last reported it.
    """

    row: str
    doing: str
    since: float
    reported: float = 0.0


@dataclass(frozen=True, slots=True)
class Stall:
    """A row that has waited for so many seconds. doing: which metrics, and what they wait for."""

    row: str
    doing: str
    seconds: float

    def __str__(self) -> str:
        return f"row {self.row} has waited {self.seconds:.0f} s: {self.doing}"


@dataclass(slots=True)
class Progress:
    """What a display may show of a run. rows counts finished ones, bad ones included. activities:
    what is done for the rows in work, by index; computes: the metric and the row that hold the
    event loop now; storage: why the store waits, "" when it does not.
    """

    total: int
    rows: int = 0
    bad: int = 0
    cached: int = 0
    traffic: Traffic = field(default_factory=Traffic)
    ledger: Callable[[], Ledger] = Ledger
    activities: dict[int, RowActivity] = field(default_factory=dict)
    computes: tuple[Metric, str] | None = None
    storage: Callable[[], str] = str

    def stall(self, activity: RowActivity, now: float) -> Stall:
        """The wait of a row as it stands at `now` (monotonic seconds), with the reason why calls or
        writes wait.
        """
        doing = activity.doing
        why = self.traffic.waiting or self.storage()
        if why:
            doing += f" ({why})"
        return Stall(activity.row, doing, now - activity.since)

    @property
    def computing(self) -> str:
        """What holds the event loop now, "" when it is the engine's own work."""
        computes = self.computes  # read once: the watchdog asks from its own thread
        if computes is None:
            return ""
        metric, row = computes
        return f"{metric} on row {row}"

    @property
    def slowest(self) -> Stall | None:
        """The row that has waited longest, from 10 seconds on; None while a provider's batch is
        waited for, of which the display says more.
        """
        now = time.monotonic()
        slowest = min(self.activities.values(), key=_since, default=None)
        if slowest is None or now - slowest.since < SHOWN_AFTER or self.traffic.provider_status():
            return None
        return self.stall(slowest, now)


def _since(activity: RowActivity) -> float:
    return activity.since
