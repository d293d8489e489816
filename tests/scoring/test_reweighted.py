"""Means of all rows from a sample with known chances."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.scoring.reweighted import reweighted_mean


def test_a_row_stands_for_as_many_as_its_chance_says() -> None:
    # One row of chance .1 that passes, two of chance .5 that fail: 10 / (10 + 2 + 2).
    found = reweighted_mean([1, 0, 0], [0.1, 0.5, 0.5], [0, 1, 2])
    assert found.value == pytest.approx(10 / 14)
    assert (found.n, found.sessions, found.rows) == (3, 3, 14.0)


def test_the_variance_is_that_of_the_design_by_hand() -> None:
    # Values 1, 0, 1, 0 of chance 1/2 in sessions of their own: mean 1/2, e = +-1/2, and each adds
    # e^2 (1/p - 1) / p = .25 * 1 / .5 = .5; over (sum of weights 8)^2: 4 * .5 / 64 = 1/32.
    alone = reweighted_mean([1, 0, 1, 0], [0.5] * 4, [0, 1, 2, 3])
    # In two sessions of equal rows the pair adds 2 e e (1/p - 1) / p as well: twice as much.
    paired = reweighted_mean([1, 1, 0, 0], [0.5] * 4, [0, 0, 1, 1])
    assert alone.interval is not None
    assert paired.interval is not None
    assert paired.interval.high - paired.interval.low > alone.interval.high - alone.interval.low


def test_all_rows_judged_leave_nothing_open_and_one_session_gives_no_band() -> None:
    whole = reweighted_mean([1, 0], [1.0, 1.0], [0, 1])
    assert whole.interval is not None
    assert (whole.interval.low, whole.interval.high) == (0.5, 0.5)
    assert reweighted_mean([1, 0], [0.5, 0.5], [0, 0]).interval is None
    nothing = reweighted_mean([], [], [])
    assert (nothing.value, nothing.interval, nothing.n) == (None, None, 0)


def test_values_that_are_all_alike_leave_room_for_what_was_not_seen() -> None:
    found = reweighted_mean([1.0] * 5, [0.1] * 5, range(5))
    assert found.value == 1.0
    assert found.interval is not None
    assert found.interval.low < 0.7


@pytest.mark.parametrize(
    ("values", "chances", "sessions"),
    [([2.0], [0.5], [0]), ([1.0], [0.0], [0]), ([1.0], [1.5], [0]), ([1.0], [0.5], [0, 1])],
)
def test_what_is_no_sample_is_refused(values: list, chances: list, sessions: list) -> None:
    with pytest.raises(ValueError):
        reweighted_mean(values, chances, sessions)


def test_the_band_covers_the_days_rate_as_often_as_it_says() -> None:
    rng = np.random.default_rng(11)
    covered, days = 0, 300
    for _ in range(days):
        size = rng.integers(1, 6, 1_000)
        code = np.repeat(np.arange(1_000), size)
        good = (rng.random(len(code)) < rng.beta(8, 2, 1_000)[code]).astype(float)
        chance = np.where(rng.random(len(code)) < np.where(good == 1, 0.05, 0.4), 0.5, 0.1)
        inside = rng.random(1_000)[code] < chance
        found = reweighted_mean(good[inside], chance[inside], code[inside])
        assert found.interval is not None
        covered += found.interval.low <= good.mean() <= found.interval.high
    # 95 % of 300 with a standard deviation of 1.3 points: four of them either way.
    assert 0.90 <= covered / days <= 1.0


def test_the_interval_of_a_share_by_hand() -> None:
    # 8 of 10 rows of chance .5 pass, and 9 of 10 of chance .2: they stand for 20 and 50 rows, so
    # the share is (20 * .8 + 50 * .9) / 70. Wilson's intervals of .8 from 10 / .5 = 20 rows and of
    # .9 from 10 / .8 = 12.5, on t with 19 degrees, 2.093024.
    y = [1] * 8 + [0] * 2 + [1] * 9 + [0]
    found = reweighted_mean(y, [0.5] * 10 + [0.2] * 10, range(20))
    mean = 61 / 70
    assert found.value == pytest.approx(mean)
    t = 2.093024

    def wilson(m: float, n: float) -> tuple[float, float]:
        centre, reach = m + t**2 / (2 * n), t * (m * (1 - m) / n + t**2 / (4 * n**2)) ** 0.5
        return (centre - reach) / (1 + t**2 / n), (centre + reach) / (1 + t**2 / n)

    (low_5, high_5), (low_2, high_2) = wilson(0.8, 20), wilson(0.9, 12.5)
    of_weights = ((0.8 - mean) ** 2 * 10 * 0.5 / 0.25 + (0.9 - mean) ** 2 * 10 * 0.8 / 0.04) / 70**2
    below = (2 / 7 * (0.8 - low_5)) ** 2 + (5 / 7 * (0.9 - low_2)) ** 2 + t**2 * of_weights
    above = (2 / 7 * (high_5 - 0.8)) ** 2 + (5 / 7 * (high_2 - 0.9)) ** 2 + t**2 * of_weights
    assert found.interval is not None
    assert found.interval.low == pytest.approx(mean - below**0.5, abs=1e-6)
    assert found.interval.high == pytest.approx(mean + above**0.5, abs=1e-6)


@pytest.mark.parametrize(("rows", "rate"), [(1_400, 0.97), (1_000, 0.98), (200, 0.85)])
def test_few_failures_that_weigh_much_are_not_taken_for_none(rows: int, rate: float) -> None:
    rng = np.random.default_rng(rows)
    above = below = 0
    for _ in range(400):
        y = (rng.random(rows) < rate).astype(float)
        suspicious = rng.random(rows) < np.where(y == 1, 0.05, 0.4)
        chance = np.where(suspicious, 0.5, 0.1)
        inside = rng.random(rows) < chance
        interval = reweighted_mean(y[inside], chance[inside], np.arange(rows)[inside]).interval
        assert interval is not None
        above += interval.low > y.mean()
        below += interval.high < y.mean()
    # 16 % of the days lay below the band where their variance alone made it.
    assert above <= 12
    assert above + below <= 32
