"""Steady traffic under a watch whose judge has no room for all that is sampled, hour by hour."""

from __future__ import annotations

import random
from typing import Any

from ragassay.store import Store
from ragassay.store.watches import DROPPED, JUDGED, OPEN, PENDING, UNSAMPLED, Judging, WatchRow
from ragassay.watch import sampling
from ragassay.watch.counting import Alert, Counter
from ragassay.watch.settings import make_settings
from ragassay.watch.state import State

NOON = 1_795_348_800.0
"""A Unix time: noon of a day in UTC."""
HOUR = 3_600.0


class SteadyTraffic:
    """Traffic of so many rows an hour, 30 % of them suspicious, which have shorter responses and
    are all sampled; the judge has room for a third of what is sampled, and the rest is dropped
    after half a day.
    """

    def __init__(self, store: Store, seed: int, rows: int = 40) -> None:
        self.records = store.watch_records
        self.settings = make_settings(
            name="traffic", sample=0.1, factor=10.0, seed=seed, budget=[], marks=[],
            false_alarms=0.05, alert_to=[], allow_private=False, label_share=0.0,
            window_s=86_400.0, session_quiet_s=60.0, patience_s=86_400.0, keep_days=30.0,
            collector="", judging={"metrics": "groundedness"},
        )  # fmt: skip
        self.state = State(NOON, NOON)
        self.counter = Counter(self.records, self.settings, self.state)
        self.random = random.Random(seed)
        self.rows, self.come = rows, 0
        self.alerts: list[str] = []

    def hour(self, shift: float = 0.0) -> None:
        """An hour of traffic, of judging, and a step."""
        self.state.now += HOUR
        self.records.take_in("traffic", {}, [self.row(shift) for _ in range(self.rows)])
        self.state.cursor += 1
        waiting = sorted(
            self.records.waiting("traffic"),
            key=lambda row: sampling.place(row[1], self.settings.seed, "order"),
        )
        chosen = self.records.numbered(
            "traffic", [number for number, _ in waiting[: self.rows // 8]]
        )
        self.records.settle("traffic", [self.judged(row) for row in chosen])
        late = [row for row in self.records.pending("traffic", 10_000) if self.age(row) > 12 * HOUR]
        self.records.settle(
            "traffic", [Judging(row.id, DROPPED, "waited too long", row.figures) for row in late]
        )
        self.alerts += [each.about for each in self.counter.step(self.stored)]

    def age(self, row: WatchRow) -> float:
        return self.state.now - row.received / 1000

    def stored(self, alert: Alert) -> dict[str, Any]:
        return alert.to_json("traffic", self.state.now)

    def row(self, shift: float) -> WatchRow:
        self.come += 1
        suspicious = self.random.random() < 0.3
        length = self.random.gauss(2.0 if suspicious else 4.0, 0.5) + shift
        trace = self.come.to_bytes(16, "big")
        session = sampling.session_key(None, trace, 1)
        chance = sampling.chance_of(0.1, 10.0, suspicious)
        inside = sampling.place(session, self.settings.seed, "sample") < chance
        return WatchRow(
            id=0, trace=trace, number=1, session=session,
            received=int((self.state.now - self.random.random() * HOUR) * 1000),
            state=PENDING if inside else UNSAMPLED, reason="", chance=chance, stage=OPEN, batch=0,
            figures={"scalars": {"response length": length}},
        )  # fmt: skip

    def judged(self, row: WatchRow) -> Judging:
        score = self.random.random() * (0.5 if row.chance == 1.0 else 1.0)
        return Judging(row.id, JUDGED, "", {**row.figures, "scores": {"groundedness": score}})
