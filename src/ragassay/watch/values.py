"""What a watch found: the values of its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ragassay.report.tables import Block, Reported
from ragassay.watch.drift import DriftLine, Shifted
from ragassay.watch.figures import Rated, Window
from ragassay.watch.labelling import Labelled
from ragassay.watch.map import TrafficMap
from ragassay.watch.trust import Certified


@dataclass(frozen=True, slots=True)
class Spent:
    """A budget and what was spent of it in its window."""

    budget: str
    unit: str
    spent: float
    amount: float


@dataclass(frozen=True, slots=True)
class Standing:
    """How a mark stands. mean: over the sessions since it was armed, None before the first.
    evidence: against the mark, alarmed at `needed`; while an alert stands, that it holds again.
    raised: alerts so far. since: ISO 8601 UTC, when it was armed or the alert raised.
    """

    mark: str
    mean: float | None
    sessions: int
    since: str
    evidence: float
    needed: float
    raised: int
    standing: bool


@dataclass(frozen=True, slots=True)
class Traffic(Reported):
    """A watch at one moment.

    at: ISO 8601 UTC. since: when it began. sampled is always judged + dropped + pending, here of
    all rows that it ever came to. guarantee: of the alarms on marks. outage: why the
    judge cannot be asked now, "" where it can. last_run: name of the
    run that judged last, "" before the first.
    """

    name: str
    judge: str
    metrics: tuple[str, ...]
    at: str
    since: str
    window_s: float
    sample: float
    arrived: int
    sampled: int
    judged: int
    dropped: Mapping[str, int]
    pending: int
    window: Window
    last_row: str
    budgets: tuple[Spent, ...]
    guarantee: str
    marks: tuple[Standing, ...]
    alerts: tuple[Mapping[str, Any], ...]
    drift: tuple[DriftLine, ...]
    shifted: Shifted | None
    drift_note: str
    certificates: tuple[Certified, ...]
    ratings: tuple[Rated, ...]
    labels: tuple[Labelled, ...]
    notes: tuple[str, ...]
    outage: str = ""
    last_run: str = ""
    map: TrafficMap | None = None

    def blocks(self) -> Iterable[Block]:
        from ragassay.watch.report import blocks

        return blocks(self)
