"""Evidence that grows with a stream, and alarms with a known chance of being false."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.scoring.evidence import (
    FALLS,
    DriftAlarm,
    Evidence,
    MarkAlarm,
    Observed,
    Ranked,
    factors_below,
    factors_of_p,
    session_gap,
)


def test_the_capital_of_one_bet_is_that_of_hand_arithmetic() -> None:
    # Shares: 1 - .5 / log2 3 = .6845 with the first observation, then .5 / log2 3 - .5 / log2 4
    # = .3155 - .25 = .0655; the rest, .25, waits.
    evidence = Evidence.fresh("ever", 0.05, 1)
    evidence.add([2.0])
    assert evidence.value == pytest.approx(2 * 0.68454 + 0.31546, abs=1e-4)
    evidence.add([3.0])
    assert evidence.value == pytest.approx((1.36907 + 0.06546) * 3 + 0.25, abs=1e-4)
    # Shiryaev-Roberts: (0 + 1) * 2 = 2, (2 + 1) * 3 = 9.
    between = Evidence.fresh("between", 10.0, 1)
    between.add([2.0])
    between.add([3.0])
    assert between.value == pytest.approx(9.0)
    assert not between.alarmed


@given(st.integers(1, 400))
def test_bets_that_win_nothing_leave_the_capital_as_it_was(count: int) -> None:
    evidence = Evidence.fresh("ever", 0.05, 3)
    for _ in range(count):
        evidence.add([1.0, 1.0, 1.0])
    assert evidence.value == pytest.approx(1.0)


@given(st.floats(0.001, 0.999))
def test_a_bet_on_a_fall_is_fair_where_the_mean_is_the_mark(mark: float) -> None:
    # A session of one row that passes with probability `mark`.
    wins, losses = factors_below(1 - mark, mark), factors_below(-mark, mark)
    for win, loss in zip(wins, losses, strict=True):
        assert win >= 0
        assert mark * win + (1 - mark) * loss == pytest.approx(1.0)


def test_bets_on_p_values_are_fair_and_never_lose_more_than_they_have() -> None:
    grid = (np.arange(100_000) + 0.5) / 100_000
    factors = np.array([factors_of_p(p) for p in grid])
    assert factors.min() >= 0
    assert factors.mean(axis=0) == pytest.approx(np.ones(factors.shape[1]), abs=1e-6)


def test_a_session_speaks_with_all_its_rows_and_an_observed_one_for_its_chance() -> None:
    rows = [Observed(1.0, 0.1), Observed(0.0, 0.5)]
    # (1 - .8) * .1 / .1 + (0 - .8) * .1 / .5 = .2 - .16 = .04, over 4 rows.
    assert session_gap(rows, 4, 0.8, 0.1) == pytest.approx(0.01)


def test_the_gap_of_a_sampled_session_is_the_least_chance_times_its_true_one() -> None:
    rng = np.random.default_rng(0)
    values, chances = np.array([1.0, 0.0, 1.0]), np.array([0.2, 0.8, 0.2])
    gaps = []
    for number in rng.random(40_000).tolist():
        inside = [
            Observed(value, chance)
            for value, chance in zip(values, chances, strict=True)
            if number < chance
        ]
        gaps.append(session_gap(inside, 3, 0.5, 0.2))
    # True gap 2/3 - 1/2 = 1/6; times 0.2 = 0.0333.
    assert np.mean(gaps) == pytest.approx(0.2 / 6, abs=0.003)


def test_few_streams_at_the_mark_ever_alarm() -> None:
    rng = np.random.default_rng(7)
    alarmed = 0
    for _ in range(200):
        alarm = MarkAlarm.fresh(0.8, "ever", 0.05)
        sessions = rng.binomial(3, 0.8, 300).tolist()
        for passed in sessions:
            rows = [Observed(1.0)] * passed + [Observed(0.0)] * (3 - passed)
            if alarm.add(rows, 3):
                alarmed += 1
                break
    # 5 % at most; 200 streams that alarm with 5 % give more than 17 one time in 100.
    assert alarmed <= 17


def test_a_fall_is_found_soon_also_after_a_long_good_time() -> None:
    good, bad = [Observed(1.0)], [Observed(0.0)]
    for guarantee, level, soonest in (("ever", 0.05, 14), ("between", 10_000.0, 12)):
        alarm = MarkAlarm.fresh(0.8, guarantee, level)  # type: ignore[arg-type]
        for _ in range(3_000):
            assert not alarm.add(good, 1)
        waited = next(n for n in range(1, 1_000) if alarm.add(bad, 1))
        assert waited <= soonest


def test_a_mark_of_one_is_watched_and_one_that_promises_nothing_is_refused() -> None:
    alarm = MarkAlarm.fresh(1.0, "ever", 0.05)
    for _ in range(1_000):
        assert not alarm.add([Observed(1.0)], 1)
    # It is watched as 0.999, which one failure in a thousand does not break.
    assert [alarm.add([Observed(0.0)], 1) for _ in range(3)][-1]
    for mark in (0.0, 1.1, math.nan):
        with pytest.raises(ValueError):
            MarkAlarm.fresh(mark, "ever", 0.05)
    for guarantee, level in (("ever", 1.0), ("ever", 0.0), ("between", 1.0)):
        with pytest.raises(ValueError):
            Evidence.fresh(guarantee, level, len(FALLS))  # type: ignore[arg-type]


def test_p_values_rank_among_the_same_hour_only_and_split_ties() -> None:
    ranked = Ranked()
    assert ranked.p(5.0, 3, 0.25) == 0.25
    assert ranked.p(7.0, 4, 0.75) == 0.75, "another hour has seen nothing yet"
    assert ranked.p(6.0, 3, 0.5) == 0.25  # (0 larger + .5 * itself) / 2
    assert ranked.p(5.0, 3, 0.5) == pytest.approx((1 + 0.5 * 2) / 3)


def test_a_daily_season_is_no_drift_and_a_shift_is() -> None:
    rng = np.random.default_rng(3)
    alarm = DriftAlarm.fresh(0.05)
    hours = np.tile(np.arange(24), 40)
    values = rng.normal(size=len(hours)) + 5 * np.sin(hours / 24 * 2 * np.pi)
    told = [alarm.add(v, h, t) for v, h, t in zip(values, hours, rng.random(960), strict=True)]
    assert not any(told)
    later = rng.normal(2.0, 1.0, 480) + 5 * np.sin(hours[:480] / 24 * 2 * np.pi)
    found = [alarm.add(v, h, 0.5) for v, h in zip(later, hours[:480], strict=True)]
    assert any(found)
    with pytest.raises(ValueError):
        alarm.add(math.nan, 0, 0.5)
