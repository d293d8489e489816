"""Drift is told of by the order in which sessions came, however long rows wait for a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ragassay.store import Store
from ragassay.store.watches import OPEN, UNSAMPLED, WatchRow
from ragassay.watch import sampling
from ragassay.watch.counting import Counter
from ragassay.watch.state import State
from support.steady_traffic import HOUR, NOON, SteadyTraffic

Begun = Callable[[int], SteadyTraffic]
"""Begins a stream with a seed."""


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Begun]:
    stores: list[Store] = []

    def begun(seed: int) -> SteadyTraffic:
        stores.append(Store.open(tmp_path / f"{seed}.db"))
        return SteadyTraffic(stores[-1], seed)

    yield begun
    for store in stores:
        store.close()


def test_rows_that_wait_long_for_a_judge_because_they_are_suspicious_are_no_drift(
    stream: Begun,
) -> None:
    for seed in range(2):
        steady = stream(seed)
        for _ in range(72):
            steady.hour()
        assert steady.alerts == [], f"seed {seed}"
        assert steady.state.drift.sessions == 72 * 40


def test_what_does_drift_is_told_of_within_hours_whatever_waits(
    stream: Begun,
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


def test_a_watch_that_begins_again_stands_where_it_stood(
    stream: Begun,
) -> None:
    running = stream(2)
    for _ in range(30):
        running.hour()
    before = {name: alarm.evidence for name, alarm in running.counter.drift.alarms.items()}
    again = Counter(running.records, running.settings, State.of(running.state.to_json()))
    assert sorted(before) == ["response length", "score of groundedness"]
    for name, alarm in again.drift.alarms.items():
        assert alarm.evidence.capital == pytest.approx(before[name].capital)
        assert alarm.evidence.seen == before[name].seen


def test_rows_that_get_the_ids_of_deleted_ones_are_taken(
    stream: Begun,
) -> None:
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
    stream: Begun,
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
