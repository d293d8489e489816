"""Cluster-bootstrap draws and the intervals made of them: fixed draws, added rows, bounds, and laws
of every interval.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.scoring import bootstrap
from ragassay.scoring.intervals import t_quantile
from support.present import present


def test_each_draw_takes_as_many_clusters_as_there_are_whatever_the_block():
    whole = np.concatenate(list(bootstrap.weights(7, 40, 3, 40)))
    parts = np.concatenate(list(bootstrap.weights(7, 40, 3, 9)))
    assert whole.shape == (40, 7)
    assert (whole.sum(1) == 7).all()
    assert np.array_equal(whole, parts)
    assert not np.array_equal(whole, np.concatenate(list(bootstrap.weights(7, 40, 4, 40))))


def test_a_cluster_is_drawn_once_on_average_with_the_variance_of_a_multinomial():
    drawn = next(bootstrap.weights(5, 20_000, 0, 20_000))
    assert drawn.mean(0) == pytest.approx(np.ones(5), abs=0.03)
    assert drawn.var(0) == pytest.approx(np.full(5, 0.8), abs=0.05)  # n p (1 - p), n = 5, p = 1/5


def test_added_rows_are_half_a_row_on_average_times_the_design_effect():
    added = bootstrap.added_rows((20_000, 2, 4), np.array([1.0, 3.0])[:, None], 0)
    assert added.mean((0, 2)) == pytest.approx([0.5, 1.5], abs=0.02)


def test_effective_clusters_are_kishs():
    assert bootstrap.effective(np.array([3.0, 3.0, 3.0])) == pytest.approx(3)
    assert bootstrap.effective(np.array([8.0, 1.0, 1.0])) == pytest.approx(100 / 66)
    assert bootstrap.effective(np.array([])) == 0


def test_the_spread_leaves_out_draws_without_a_figure_and_is_none_where_most_are():
    draws = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan], [2.0, 1.0]])
    spread = bootstrap.spread(draws)
    assert spread[0] == pytest.approx(1.0)
    assert math.isnan(spread[1])


def test_the_logit_interval_by_hand():
    # share .8, deviation .05, 20 effective clusters: t(19) = 2.093, times sqrt(20 / 19), over .8 *
    # .2
    interval = bootstrap.interval(0.8, 0.05, 19, 0.0, 1.0)
    reach = t_quantile(0.975, 19) * math.sqrt(20 / 19) * 0.05 / 0.16
    ends = [1 / (1 + math.exp(-(math.log(4) + sign * reach))) for sign in (-1, 1)]
    assert (interval.low, interval.high) == pytest.approx(ends)
    assert interval.method == "cluster bootstrap t, logit"


def test_on_the_range_from_minus_one_to_one_the_scale_is_fishers_z():
    interval = bootstrap.interval(0.6, 0.1, 30, -1.0, 1.0, clustered=False)
    reach = t_quantile(0.975, 30) * math.sqrt(31 / 30) * 0.1 / (1 - 0.36)
    assert (interval.low, interval.high) == pytest.approx(
        (math.tanh(math.atanh(0.6) - reach), math.tanh(math.atanh(0.6) + reach))
    )
    assert interval.method == "bootstrap t, Fisher z"


def test_without_spread_the_bound_is_on_clusters_that_may_have_been_missed():
    # ten clusters, all at 1: 1 - .025 ** .1 = .3085 of the clusters may be at the other end
    interval = bootstrap.interval(1.0, 0.0, 9, 0.0, 1.0)
    assert interval.low == pytest.approx(0.025**0.1)
    assert interval.high == 1.0
    assert interval.method == "exact bound, no spread"


@given(
    st.floats(0, 1), st.floats(0, 3), st.floats(1, 1000), st.sampled_from([(0.0, 1.0), (-1.0, 1.0)])
)
def test_every_interval_is_finite_in_range_and_holds_its_value(share, deviation, freedom, ends):
    low, high = ends
    value = low + share * (high - low)
    interval = bootstrap.interval(value, deviation, freedom, low, high)
    assert low <= interval.low <= value <= interval.high <= high


def test_more_clusters_or_less_spread_make_an_interval_narrower():
    def width(deviation, freedom):
        interval = bootstrap.interval(0.7, deviation, freedom, 0.0, 1.0)
        return interval.high - interval.low

    assert width(0.05, 5) > width(0.05, 50) > width(0.02, 50)


@pytest.mark.slow
def test_a_perfectly_calibrated_score_has_an_interval_that_reaches_zero():
    rng = np.random.default_rng(0)
    covered = 0
    for trial in range(200):
        seen = rng.normal(size=10) * 0.02  # the true gaps are 0
        draws = seen + rng.normal(size=(400, 10)) * 0.02
        interval = present(bootstrap.gap_interval(seen, draws, 200))
        assert interval.low <= np.abs(seen).sum() <= interval.high, trial
        covered += interval.low == 0
    assert covered >= 186  # 95 % of 200 is 190, less two standard errors


def test_a_gap_far_from_zero_has_the_interval_of_its_size():
    rng = np.random.default_rng(1)
    gaps = np.array([0.3] + [0.0] * 9)
    noise = np.zeros((4000, 10))
    noise[:, 0] = rng.normal(size=4000) * 0.02
    interval = present(bootstrap.gap_interval(gaps, gaps + noise, 1e6))
    ends = (0.3 - 1.96 * 0.02, 0.3 + 1.96 * 0.02)
    assert (interval.low, interval.high) == pytest.approx(ends, abs=0.003)


def test_no_gap_at_all_still_has_an_upper_end():
    draws = np.random.default_rng(2).normal(size=(400, 10)) * 0.01
    interval = present(bootstrap.gap_interval(np.zeros(10), draws, 20))
    assert interval.low == 0
    assert 0.05 < interval.high < 0.2


def test_too_few_clusters_for_the_bins_give_no_interval_of_their_gaps():
    noise = np.random.default_rng(3).normal(size=(400, 10)) * 0.02
    # K / sqrt(bins) - 1 degrees of freedom: 8 / 3.16 - 1 = 1.5, 10 / 3.16 - 1 = 2.2
    assert bootstrap.gap_interval(np.full(10, 0.02), noise, 8 - 1) is None
    assert bootstrap.gap_interval(np.full(10, 0.02), noise, 10 - 1) is not None


def test_gaps_smaller_than_their_noise_reach_from_zero_to_what_noise_makes():
    noise = np.random.default_rng(4).normal(size=(4000, 10)) * 0.02
    interval = present(bootstrap.gap_interval(np.full(10, 1e-4), noise, 1e6))
    assert interval.low == 0
    # sum of ten |N(0, .02)|: mean .16, standard deviation .02 * sqrt(10 (1 - 2 / pi)) = .038
    assert interval.high == pytest.approx(0.16 + 1.96 * 0.038, abs=0.01)
