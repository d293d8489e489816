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
