"""Intervals, tests and quantiles: hand-worked figures, scipy as the reference, and coverage by simulation."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from ragassay.scoring import (
    MeanAccumulator,
    clustered_rate_interval,
    gap_to_rest,
    holm,
    normal_quantile,
    paired_difference,
    rate_interval,
    t_p_value,
    t_quantile,
)
from ragassay.scoring.intervals import _beta


def accumulate(values, clusters=None, low=0.0, high=1.0):
    out = MeanAccumulator(low, high)
    for i, value in enumerate(values):
        out.add(value, clusters[i] if clusters else None)
    return out


@pytest.mark.parametrize("df", [1, 2, 3, 4.5, 7, 19, 29, 99, 1000, 12345.6, 1e6])
@pytest.mark.parametrize("t", [0.0, 0.01, 0.7, 1.0, 2.5, 6.0, 40.0])
def test_the_t_p_value_agrees_with_scipy(t, df):
    assert t_p_value(t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-10, abs=1e-12)
    assert t_p_value(-t, df) == t_p_value(t, df)


@pytest.mark.parametrize("t", [1e-8, 0.001, 1.0, 1e6])
def test_with_one_degree_of_freedom_the_p_value_is_an_arc_tangent(t):
    assert t_p_value(t, 1) == pytest.approx(2 / math.pi * math.atan(1 / t), rel=1e-13)


@pytest.mark.parametrize("df", [1, 2, 3.3, 9, 29, 120, 5000, 1e6])
@pytest.mark.parametrize("p", [0.001, 0.025, 0.3, 0.5, 0.8, 0.975, 0.9995, 0.9999999])
def test_the_t_quantile_agrees_with_scipy(p, df):
    assert t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("p", [1e-9, 0.025, 0.5, 0.9, 0.99999])
def test_the_normal_quantile_agrees_with_scipy(p):
    assert normal_quantile(p) == pytest.approx(stats.norm.ppf(p), rel=1e-12, abs=1e-12)


@given(st.floats(0.3, 3000), st.floats(0.3, 3000), st.floats(0.0, 1.0))
def test_the_incomplete_beta_agrees_with_scipy(a, b, x):
    assert _beta(a, b, x, 1 - x) == pytest.approx(special.betainc(a, b, x), rel=1e-9, abs=1e-11)


def test_a_quantile_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        t_quantile(1.0, 3)
    with pytest.raises(ValueError, match="positive"):
        t_p_value(1.0, 0)


def test_the_mean_of_rows_of_their_own_has_the_textbook_t_interval():
    # mean 0.5; squares .09 + .01 + .01 + .09 = .2; s2 = .2/3; error = sqrt(.2/3/4) = .1290994; t(.975, 3) = 3.182446
    result = accumulate([0.2, 0.4, 0.6, 0.8]).result()
    assert (result.n, result.clusters) == (4, 4)
    assert result.mean == pytest.approx(0.5)
    assert result.interval.low == pytest.approx(0.5 - 3.182446 * 0.1290994, abs=1e-6)
    assert result.interval.high == pytest.approx(0.5 + 3.182446 * 0.1290994, abs=1e-6)
    assert result.interval.method == "t"


def test_rows_that_share_a_cluster_count_as_one_look_at_the_world():
    # Two clusters: deviations from .5 sum to -.4 and +.4; variance = 2/1 * (.16 + .16) / 16 = .04, error .2;
    # t(.975, 1) = 12.706, so the interval is clipped to [0, 1].
    pooled = accumulate([0.2, 0.4, 0.6, 0.8], ["a", "a", "b", "b"])
    assert pooled.variance == pytest.approx(0.04)
    assert pooled.result().clusters == 2
    assert (pooled.result().interval.low, pooled.result().interval.high) == (0.0, 1.0)
    assert pooled.result().interval.method == "cluster-robust t"


def test_a_cluster_of_one_row_each_is_the_same_as_no_cluster():
    values = [0.11, 0.52, 0.93, 0.34, 0.75]
    alone, named = accumulate(values).result(), accumulate(values, list("abcde")).result()
    assert named.interval.low == pytest.approx(alone.interval.low)
    assert named.interval.method == alone.interval.method == "t"


def test_named_clusters_and_lone_rows_mix():
    # Values 0, .5 (cluster a), .9 and .2 alone. mean .4; cluster totals of deviations: -.3, .5, -.2;
    # squares .09 + .25 + .04 = .38; variance = 3/2 * .38 / 16 = .035625
    mixed = accumulate([0.0, 0.5, 0.9, 0.2], ["a", "a", None, None])
    assert mixed.variance == pytest.approx(0.035625)
    assert mixed.clusters == 3


def test_no_values_have_no_mean_and_no_interval():
    result = MeanAccumulator().result()
    assert (result.n, result.mean, result.interval) == (0, None, None)


@pytest.mark.parametrize("value", [0.0, 0.4, 2 / 3, 1.0])
@pytest.mark.parametrize("n", [1, 3, 50])
def test_equal_values_never_give_an_interval_without_width(value, n):
    interval = accumulate([value] * n).result().interval
    assert 0.0 <= interval.low <= value <= interval.high <= 1.0
    assert interval.high - interval.low > 0.02
    assert interval.method in {"Wilson", "exact bound, all values equal"}


def test_equal_values_are_bounded_by_the_share_that_may_have_been_missed():
    # u = 1 - .025 ** (1/10) = .308497; low = .4 - u * .4, high = .4 + u * .6
    interval = accumulate([0.4] * 10).result().interval
    assert interval.low == pytest.approx(0.4 - 0.308497 * 0.4, abs=1e-6)
    assert interval.high == pytest.approx(0.4 + 0.308497 * 0.6, abs=1e-6)


def test_values_that_differ_are_never_called_equal():
    # One cluster: u = .975, mean .5: [.5 - .975 * .5, .5 + .975 * .5]
    one = accumulate([0.2, 0.8], ["doc", "doc"]).result().interval
    assert (one.low, one.high) == pytest.approx((0.0125, 0.9875))
    assert one.method == "exact bound, one cluster"
    # Three clusters of equal means, although .1 + .9 and .3 + .7 round differently: u = 1 - .025 ** (1/3) = .707598
    values, clusters = [0.1, 0.9, 0.3, 0.7, 0.4, 0.6], ["a", "a", "b", "b", "c", "c"]
    means = accumulate(values, clusters).result().interval
    assert (means.low, means.high) == pytest.approx((0.146201, 0.853799), abs=1e-6)
    assert means.method == "exact bound, all cluster means equal"
    assert accumulate([0.4, 0.4], ["a", "a"]).result().interval.method == "exact bound, all values equal"


def test_rounding_is_no_difference():
    # Both clusters hold the differences +.1, +.2 and -.3, in an order that leaves 1e-17.
    pairs = [(0.0, d, c) for c in "ab" for d in (0.1, 0.2, -0.3)]
    assert paired_difference(pairs).p == 1.0


def test_unequal_clusters_leave_fewer_degrees_of_freedom():
    # Sizes 4, 1, 1: Kish 36 / 18 = 2, so t has 1 degree of freedom; equal sizes keep G - 1.
    out = accumulate([0.50, 0.51, 0.49, 0.50, 0.48, 0.53], ["a", "a", "a", "a", "b", "c"])
    reach = stats.t.ppf(0.975, 1) * math.sqrt(out.variance)
    assert out.effective == 2.0
    assert out.result().interval.high == pytest.approx(out.mean + reach)
    assert accumulate([0.1] * 12, list("aabbccddeeff")).effective == 6.0


def test_equal_rows_of_one_cluster_are_worth_one_row():
    many, one = accumulate([0.4] * 50, ["doc"] * 50).result().interval, accumulate([0.4]).result().interval
    assert (many.low, many.high) == pytest.approx((one.low, one.high))


def test_an_unbounded_metric_without_spread_gets_no_interval():
    assert accumulate([3.0, 3.0], high=None).result().interval is None
    assert accumulate([3.0], high=None).result().interval is None


def test_zeros_and_ones_get_the_interval_of_a_rate():
    got, wanted = accumulate([1.0, 0.0, 1.0, 1.0]).result().interval, rate_interval(3, 4)
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high))
    assert got.method == "Wilson"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_refused(value):
    with pytest.raises(ValueError, match="averaged"):
        MeanAccumulator().add(value)


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (7, 7), (37, 48), (1, 2), (500, 1000)])
def test_the_rate_interval_is_wilsons(successes, n):
    wanted = stats.binomtest(successes, n).proportion_ci(method="wilson")
    got = rate_interval(successes, n)
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_a_rate_of_nothing_has_no_interval_and_an_impossible_one_is_refused():
    assert rate_interval(0, 0) is None
    assert clustered_rate_interval([(0, 0)]) is None
    with pytest.raises(ValueError, match="not a rate"):
        rate_interval(3, 2)


def test_a_clustered_rate_is_wider_than_the_same_rate_of_lone_rows():
    # Ten clusters of ten, each all right or all wrong: no more is known than from ten rows.
    clustered, lone = clustered_rate_interval([(10, 10)] * 6 + [(0, 10)] * 4), rate_interval(60, 100)
    assert clustered.high - clustered.low > 2.5 * (lone.high - lone.low)
    assert clustered.method == "cluster-robust Wilson"


def test_a_clustered_rate_of_all_right_is_bounded_by_its_clusters():
    # As Wilson's of 4 of 4: low = 4 / (4 + 1.959964 ** 2) = .510109
    interval = clustered_rate_interval([(5, 5)] * 4)
    assert interval.low == pytest.approx(0.510109, abs=1e-6)
    assert interval.high == 1.0


def test_a_clustered_rate_counts_at_least_the_effective_clusters_and_at_most_the_rows():
    # 2 of 3 rows in clusters of 2 and 1: Kish 9 / 5 = 1.8. Spread: (.667)^2 + (.667)^2 = .889, variance 2 * .889 / 9
    # = .1975, rows .2222 / .1975 = 1.125, less than 1.8, so n* = 1.8: shrink = 1 + 3.841459 / 1.8 = 3.134144,
    # centre (2/3 + 3.841459 / 3.6) / 3.134144 = .553178,
    # reach 1.959964 / 3.134144 * sqrt(.2222 / 1.8 + 3.841459 / 12.96) = .405214
    interval = clustered_rate_interval([(2, 2), (0, 1)])
    assert (interval.low, interval.high) == pytest.approx((0.147964, 0.958392), abs=2e-6)
    # Every cluster at the same rate: no more than the rows.
    even, lone = clustered_rate_interval([(1, 2)] * 8), rate_interval(8, 16)
    assert (even.low, even.high) == pytest.approx((lone.low, lone.high))


def test_the_same_rate_is_surer_the_more_clusters_it_comes_from():
    def width(clusters):
        interval = clustered_rate_interval(clusters)
        return interval.high - interval.low

    one, two, three = width([(2, 3)]), width([(2, 2), (0, 1)]), width([(1, 1), (1, 1), (0, 1)])
    assert one > two > three
    assert one < 0.9


def test_the_accumulator_and_the_rate_agree_on_clusters():
    values, clusters = [1.0, 1.0, 0.0, 1.0, 0.0, 0.0], ["a", "a", "a", "b", "b", "c"]
    got, wanted = accumulate(values, clusters).result().interval, clustered_rate_interval([(2, 3), (1, 2), (0, 1)])
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high))


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([None, "a", "b", "c"])), min_size=1, max_size=30))
def test_an_interval_holds_its_mean_and_keeps_to_the_range(rows):
    result = accumulate([v for v, _ in rows], [c for _, c in rows]).result()
    assert -1e-12 <= result.interval.low <= result.mean + 1e-12
    assert result.mean - 1e-12 <= result.interval.high <= 1 + 1e-12


@given(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([None, "a", "b"])), min_size=2, max_size=20), st.randoms())
def test_the_order_of_rows_does_not_matter(rows, order):
    shuffled = list(rows)
    order.shuffle(shuffled)
    one, other = (accumulate([v for v, _ in r], [c for _, c in r]).result() for r in (rows, shuffled))
    assert one.mean == pytest.approx(other.mean)
    assert one.interval.low == pytest.approx(other.interval.low, abs=1e-7)


def test_a_paired_difference_is_the_paired_t_test():
    a, b = [0.2, 0.5, 0.4, 0.9, 0.3], [0.4, 0.6, 0.4, 0.8, 0.9]
    result = paired_difference([(x, y, None) for x, y in zip(a, b, strict=True)])
    wanted = stats.ttest_rel(b, a)
    assert result.p == pytest.approx(wanted.pvalue, rel=1e-9)
    assert result.difference == pytest.approx(0.16)
    assert (result.wins, result.ties, result.losses) == (3, 1, 1)
    low, high = wanted.confidence_interval(0.95)
    assert (result.interval.low, result.interval.high) == pytest.approx((low, high))


def test_runs_that_agree_on_every_row_show_no_difference_and_still_a_bound():
    # u = 1 - .025 ** (1/48) = .073972: at most that share of rows could differ, by at most 1
    result = paired_difference([(0.5, 0.5, None)] * 48)
    assert (result.difference, result.p, result.ties) == (0.0, 1.0, 48)
    assert (result.interval.low, result.interval.high) == pytest.approx((-0.073972, 0.073972), abs=1e-6)
    assert result.minimum_detectable is None


def test_the_same_shift_on_every_row_is_judged_by_the_sign_test():
    # two-sided sign test of 5 of 5: 2 / 32
    assert paired_difference([(0.0, 0.5, None)] * 5).p == pytest.approx(2 / 32)


def test_nothing_to_pair_gives_no_difference():
    result = paired_difference([])
    assert (result.n, result.difference, result.interval, result.p) == (0, None, None, None)


def test_the_minimum_detectable_difference_is_found_with_the_power_it_promises():
    rng, n, sd = random.Random(7), 40, 0.2
    promised = paired_difference([(0.5, 0.5 + rng.gauss(0, sd), None) for _ in range(4000)], low=None, high=None)
    size = promised.minimum_detectable * math.sqrt(4000 / n)
    found = 0
    for _ in range(500):
        pairs = [(0.5, 0.5 + rng.gauss(size, sd), None) for _ in range(n)]
        p = paired_difference(pairs, low=None, high=None).p
        found += p is not None and p < 0.05
    assert 0.74 <= found / 500 <= 0.86


def test_the_gap_to_the_rest_is_the_difference_of_means():
    part, whole = accumulate([0.1, 0.3]), accumulate([0.1, 0.3, 0.6, 0.8, 1.0])
    gap, p = gap_to_rest(part, whole)
    assert gap == pytest.approx(0.2 - 0.8)
    # spread about the common mean: s2 = .532/4 = .133; error = sqrt(.133 * (1/2 + 1/3)); t = .6/.332916, 3 df
    assert p == pytest.approx(2 * stats.t.sf(0.6 / math.sqrt(0.133 * 5 / 6), 3), rel=1e-9)


def test_a_handful_of_equal_rows_proves_little():
    # Exact (Fisher): 2 of 42 rows drawn are both among the 4 failures: 6 / 861 = .007
    part, whole = accumulate([0.0, 0.0]), accumulate([0.0] * 4 + [1.0] * 38)
    _, p = gap_to_rest(part, whole)
    assert p == pytest.approx(1 / 861)  # the rarest that 2 of 42 can be


def test_a_gap_without_rows_to_compare_with_is_absent():
    whole = accumulate([0.1, 0.3], ["a", "b"])
    assert gap_to_rest(whole, whole) == (None, None)
    assert gap_to_rest(accumulate([0.1], ["a"]), whole) == (pytest.approx(-0.2), None)
    assert gap_to_rest(accumulate([0.5, 0.5]), accumulate([0.5] * 5)) == (0.0, 1.0)


def test_holms_correction_is_worked_by_hand():
    # sorted .01, .02, .03, .04 times 4, 3, 2, 1 = .04, .06, .06, .04 -> running maximum .04, .06, .06, .06
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize("sizes", [None, 5])
def test_about_95_of_100_intervals_hold_the_true_mean(sizes):
    """1,500 data sets of 30 lone rows, or of 30 clusters of five rows that share half of their spread."""
    rng, held, times = random.Random(20261120), 0, 1500
    for _ in range(times):
        out = MeanAccumulator(None, None)
        for cluster in range(30):
            shared = rng.gauss(0, 1) if sizes else 0.0
            for _ in range(sizes or 1):
                out.add(0.3 + shared + rng.gauss(0, 1), f"c{cluster}" if sizes else None)
        interval = out.result().interval
        held += interval.low <= 0.3 <= interval.high
    assert 0.93 <= held / times <= 0.97


@pytest.mark.parametrize("shared", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("sizes", [[50] + [5] * 9, [40, 30, 20] + [2] * 7, [1, 2, 4, 8, 16, 32, 64], [100] + [1] * 20])
def test_clusters_of_very_unequal_sizes_hold_the_true_mean_nine_times_of_ten(sizes, shared):
    """shared: the share of the spread that a cluster's rows have in common. Reached: 0.90 to 0.99 (95 is aimed at)."""
    rng, held, times = random.Random(11), 0, 500
    for _ in range(times):
        out = MeanAccumulator(None, None)
        for cluster, size in enumerate(sizes):
            own = 0.3 + rng.gauss(0, math.sqrt(shared))
            for _ in range(size):
                out.add(own + rng.gauss(0, 1) * math.sqrt(1 - shared), f"c{cluster}")
        interval = out.result().interval
        held += interval.low <= 0.3 <= interval.high
    # 0.90, less two standard errors of 500 draws: the worst of these reaches 0.902 in 3,000.
    assert held / times >= 0.90 - 2 * math.sqrt(0.9 * 0.1 / times)


@pytest.mark.parametrize("sizes", [[9, 9], [5] * 4, [3] * 6, [20] * 5])
@pytest.mark.parametrize("shared", [0.0, 0.2, 0.6])
def test_the_rate_of_few_clusters_holds_the_true_rate_nine_times_of_ten(sizes, shared):
    """Beta-binomial clusters around 0.5 and 0.8; reached: 0.90 to 0.99."""
    rng, held, times = random.Random(5), 0, 600
    for trial in range(times):
        rate = (0.5, 0.8)[trial % 2]
        spread = (1 - shared) / shared if shared else None
        clusters = []
        for size in sizes:
            own = rng.betavariate(rate * spread, (1 - rate) * spread) if spread else rate
            clusters.append((sum(rng.random() < own for _ in range(size)), size))
        interval = clustered_rate_interval(clusters)
        held += interval.low <= rate <= interval.high
    assert held / times >= 0.90


def test_the_gap_test_raises_few_false_alarms():
    rng, alarms = random.Random(3), 0
    for _ in range(1000):
        whole, part = MeanAccumulator(), MeanAccumulator()
        for row in range(40):
            value = float(rng.random() < 0.85)
            whole.add(value)
            if row < 6:
                part.add(value)
        _, p = gap_to_rest(part, whole)
        alarms += p is not None and p < 0.05
    assert alarms / 1000 <= 0.07
