"""Drift is told of by the order in which sessions came, however long rows wait for a judge."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragassay.store import Store
from ragassay.store.watches import DROPPED, JUDGED, OPEN, PENDING, UNSAMPLED, Judging, WatchRow
from ragassay.watch import sampling
from ragassay.watch.counting import Alert, Counter
from ragassay.watch.settings import make_settings
from ragassay.watch.state import State
from watch.conftest import NOON

HOUR = 3_600.0


class Stream:
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

    def stored(self, alert: Alert) -> dict[str, object]:
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


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Callable[[int], Stream]]:
    stores: list[Store] = []

    def begun(seed: int) -> Stream:
        stores.append(Store.open(tmp_path / f"{seed}.db"))
        return Stream(stores[-1], seed)

    yield begun
    for store in stores:
        store.close()


def test_rows_that_wait_long_for_a_judge_because_they_are_suspicious_are_no_drift(
    stream: Callable[[int], Stream],
) -> None:
    for seed in range(2):
        steady = stream(seed)
        for _ in range(72):
            steady.hour()
        assert steady.alerts == [], f"seed {seed}"
        assert steady.state.drift.sessions == 72 * 40


def test_what_does_drift_is_told_of_within_hours_whatever_waits(
    stream: Callable[[int], Stream],
) -> None:
    shifted = stream(1)
    for _ in range(48):
        shifted.hour()
    hours = 0
    while not shifted.alerts and hours < 24:
        shifted.hour(shift=0.8)
        hours += 1
    assert shifted.alerts == ["response length"]
    assert hours < 24


def test_a_watch_that_begins_again_stands_where_it_stood(stream: Callable[[int], Stream]) -> None:
    running = stream(2)
    for _ in range(30):
        running.hour()
    before = {name: alarm.evidence for name, alarm in running.counter.drift.alarms.items()}
    again = Counter(running.records, running.settings, State.of(running.state.to_json()))
    assert sorted(before) == ["response length", "score of groundedness"]
    for name, alarm in again.drift.alarms.items():
        assert alarm.evidence.capital == pytest.approx(before[name].capital)
        assert alarm.evidence.seen == before[name].seen


def test_rows_that_get_the_ids_of_deleted_ones_are_taken(stream: Callable[[int], Stream]) -> None:
    kept = stream(3)
    kept.hour()
    for row in kept.records.pending("traffic", 100):
        kept.records.settle("traffic", [kept.judged(row)])
    kept.counter.step(kept.stored)
    drift = kept.state.drift
    assert drift.sessions == 40
    kept.counter.drift.restart(10_000, kept.state.now)
    long_after = int((kept.state.now + HOUR) * 1000)
    while kept.records.drop_before("traffic", long_after, 10_000, drift.begun, lambda _: {}):
        pass
    assert not kept.records.totals("traffic")
    kept.counter.keep_to_ids()
    kept.hour()
    assert drift.sessions == 40


def test_a_session_is_taken_once_it_rests_and_the_later_ones_wait_for_it(
    stream: Callable[[int], Stream],
) -> None:
    waits = stream(4)
    now = waits.state.now = NOON + HOUR
    named = sampling.session_key("a user", b"", 0)

    def row(trace: int, session: bytes, ago: float, length: float) -> WatchRow:
        return WatchRow(
            0, trace.to_bytes(16, "big"), 1, session, int((now - ago) * 1000), UNSAMPLED, "", 0.1,
            OPEN, 0, {"scalars": {"response length": length}},
        )  # fmt: skip

    def lone(trace: int, ago: float) -> WatchRow:
        return row(trace, sampling.session_key(None, trace.to_bytes(16, "big"), 1), ago, 1.0)

    rows = [row(1, named, 50.0, 1.0), lone(2, 45.0), row(3, named, 40.0, 5.0), lone(4, 30.0)]
    waits.records.take_in("traffic", {}, rows)
    waits.counter.step(waits.stored)
    drift = waits.state.drift
    assert (drift.sessions, drift.taken) == (1, 2), "the fourth waits for the session before it"
    waits.state.now += 30.0
    waits.counter.step(waits.stored)
    assert (drift.sessions, drift.taken) == (3, 4)
