"""Intervals, tests and quantiles: hand-worked figures, scipy as the reference, and coverage by
simulation.
"""

from __future__ import annotations

import math
import random

import numpy as np
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
from ragassay.scoring.intervals import (
    _beta,
    _critical,
    _exceeds,
    beta_quantile,
    exact_rate_interval,
    incomplete_beta,
    legendre,
)
from support.present import present


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
    # mean 0.5; squares .09 + .01 + .01 + .09 = .2; s2 = .2/3; error = sqrt(.2/3/4) = .1290994;
    # t(.975, 3) = 3.182446
    result = accumulate([0.2, 0.4, 0.6, 0.8]).result()
    assert (result.n, result.clusters) == (4, 4)
    assert result.mean == pytest.approx(0.5)
    assert result.interval.low == pytest.approx(0.5 - 3.182446 * 0.1290994, abs=1e-6)
    assert result.interval.high == pytest.approx(0.5 + 3.182446 * 0.1290994, abs=1e-6)
    assert result.interval.method == "t"


def test_rows_that_share_a_cluster_count_as_one_look_at_the_world():
    # Two clusters: deviations from .5 sum to -.4 and +.4; variance = 2/1 * (.16 + .16) / 16 = .04,
    # error .2; t(.975, 1) = 12.706, so the interval is clipped to [0, 1].
    pooled = accumulate([0.2, 0.4, 0.6, 0.8], ["a", "a", "b", "b"])
    assert pooled.variance == pytest.approx(0.04)
    assert pooled.result().clusters == 2
    assert (pooled.result().interval.low, pooled.result().interval.high) == (0.0, 1.0)
    assert pooled.result().interval.method == "cluster-robust t"


def test_a_cluster_of_one_row_each_is_the_same_as_no_cluster():
    values = [0.11, 0.52, 0.93, 0.34, 0.75]
    alone, named = accumulate(values).result(), accumulate(values, list("abcde")).result()
    assert named.interval.low == pytest.approx(alone.interval.low)
    assert named.interval.method == alone.interval.method
    assert accumulate([0.2, 0.4, 0.6, 0.8], list("abcd")).result().interval.method == "t"


def test_named_clusters_and_lone_rows_mix():
    # Values 0, .5 (cluster a), .9 and .2 alone. mean .4; cluster totals of deviations: -.3, .5,
    # -.2; squares over 1 - share of the rows: .09 / (1/2) + .25 / (3/4) + .04 / (3/4) = .566667;
    # over 16 = .0354167
    mixed = accumulate([0.0, 0.5, 0.9, 0.2], ["a", "a", None, None])
    assert mixed.variance == pytest.approx(0.566667 / 16, abs=1e-6)
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
    # Three clusters of equal means, although .1 + .9 and .3 + .7 round differently: u = 1 - .025 **
    # (1/3) = .707598
    values, clusters = [0.1, 0.9, 0.3, 0.7, 0.4, 0.6], ["a", "a", "b", "b", "c", "c"]
    means = accumulate(values, clusters).result().interval
    assert (means.low, means.high) == pytest.approx((0.146201, 0.853799), abs=1e-6)
    assert means.method == "exact bound, all cluster means equal"
    assert (
        accumulate([0.4, 0.4], ["a", "a"]).result().interval.method
        == "exact bound, all values equal"
    )


def test_a_mean_near_the_end_of_its_range_reaches_as_far_as_a_rate_would():
    # 97 rows of 1, three of 0.5: t would stop at .985 - 1.984 * .0086 = .968; three such rows are
    # not so sure.
    near = accumulate([1.0] * 97 + [0.5] * 3).result().interval
    plain = MeanAccumulator(-1.0, 1.0, signed=True)
    for value in [1.0] * 97 + [0.5] * 3:
        plain.add(value)
    assert near.low < present(plain.result().interval).low - 0.01
    assert near.high == pytest.approx(1.0, abs=0.005)
    assert near.method == "t, Wilson's far end"


@pytest.mark.parametrize("truth", [0.9, 0.98])
@pytest.mark.parametrize("n", [30, 100])
def test_a_skewed_mean_holds_the_true_mean(n, truth):
    """Most rows 1, a few a half: plain t holds it 0.56 (n = 30) to 0.94 of the time."""
    rng, covered, times = np.random.default_rng(3), 0, 800
    for _ in range(times):
        interval = (
            accumulate(np.where(rng.random(n) < 2 * (1 - truth), 0.5, 1.0).tolist())
            .result()
            .interval
        )
        covered += interval.low <= truth <= interval.high
    assert covered / times >= 0.93


def test_a_difference_that_few_rows_carry_reaches_as_far_as_their_rate_would():
    # 2 of 100 rows gained: t would stop at .02 + 1.984 * .01407 = .0479; Wilson's interval of 2 in
    # 100 at .0700, of 0 in 100 at .0370, its low end of 2 in 100 at .0055: .02 + hypot(.05, 0) =
    # .07; .02 - hypot(.0145, .037) = -.0197.
    result = paired_difference([(0.0, 1.0, None)] * 2 + [(1.0, 1.0, None)] * 98)
    assert (present(result.interval).low, present(result.interval).high) == pytest.approx(
        (-0.0197, 0.0700), abs=1e-4
    )
    assert present(result.p) > 0.05
    # Where t leaves 0 out, so does the interval that is shown.
    sure = paired_difference([(0.0, 1.0, None)] * 5 + [(1.0, 1.0, None)] * 25)
    assert present(sure.p) < 0.05
    assert present(sure.interval).low > 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.5, 1.0]),
            st.sampled_from([0.0, 0.5, 1.0]),
            st.sampled_from([None, "a", "b"]),
        ),
        max_size=30,
    )
)
def test_the_interval_of_a_difference_leaves_out_0_exactly_when_p_is_small(rows):
    result = paired_difference(rows)
    if result.minimum_detectable is not None:  # there is spread to test by
        outside = present(result.interval).low > 0 or present(result.interval).high < 0
        assert outside == (present(result.p) < 0.05)


def test_rounding_is_no_difference():
    # Both clusters hold the differences +.1, +.2 and -.3, in an order that leaves 1e-17.
    pairs = [(0.0, d, c) for c in "ab" for d in (0.1, 0.2, -0.3)]
    assert paired_difference(pairs).p == 1.0


def test_unequal_clusters_widen_the_interval_beyond_that_of_as_many_equal_ones():
    out = accumulate(
        [0.50, 0.51, 0.49, 0.50, 0.48, 0.53], ["a", "a", "a", "a", "b", "c"], None, None
    )
    assert out.effective == 2.0  # Kish: 36 / 18
    reach = out.result().interval.high - out.mean
    assert reach > 1.5 * stats.t.ppf(0.975, 2) * math.sqrt(out.variance)
    even = accumulate([0.1, 0.3, 0.2, 0.6, 0.5, 0.4] * 2, list("aabbccddeeff"), None, None)
    assert even.effective == 6.0
    assert even.result().interval.high == pytest.approx(
        even.mean + stats.t.ppf(0.975, 5) * math.sqrt(even.variance)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [((5, 1), (20, 1), (40, 1)), ((1, 30), (100, 2)), ((1, 1), (2, 1), (4, 1), (8, 1), (16, 1))],
)
@pytest.mark.parametrize("t", [0.5, 1.5, 3.0, 8.0])
def test_the_tail_of_a_mean_over_unequal_clusters_is_that_of_its_quadratic_form(shape, t):
    """Drawn: the error of the mean and, apart from it, the deviations of clusters whose rows are
    all alike.
    """
    rng = np.random.default_rng(7)
    m = np.array([size for size, number in shape for _ in range(number)], dtype=float)
    draws = 200_000
    deviations = rng.normal(size=(draws, len(m))) * m
    deviations -= np.outer(deviations.sum(axis=1), m / m.sum())
    variance = (deviations**2 / (1 - m / m.sum())).sum(axis=1)
    error = rng.normal(size=draws) * math.sqrt((m**2).sum())
    assert _exceeds(t, shape) == pytest.approx(np.mean(error**2 > t * t * variance), abs=0.004)


@pytest.mark.parametrize("clusters", [2, 3, 6, 30])
@pytest.mark.parametrize("t", [1.0, 2.3, 8.0])
def test_for_clusters_of_one_size_the_tail_is_students(clusters, t):
    # Two sizes that are one, which no count of rows can be: no shortcut to the t distribution.
    nearly = ((5, clusters - 1), (5 + 1e-9, 1))
    exceeding = _exceeds(t, nearly)  # type: ignore[arg-type]
    assert exceeding == pytest.approx(2 * stats.t.sf(t, clusters - 1), abs=1e-10)
    assert _exceeds(t, ((5, clusters),)) == pytest.approx(
        2 * stats.t.sf(t, clusters - 1), abs=1e-12
    )


@given(
    st.lists(st.tuples(st.integers(1, 200), st.integers(1, 5)), min_size=1, max_size=6),
    st.floats(0.05, 0.995),
)
def test_the_limit_leaves_out_what_it_says(sizes, level):
    shape = tuple(sorted(dict(sizes).items()))
    if sum(number for _, number in shape) > 1:
        assert _exceeds(_critical(level, shape), shape) == pytest.approx(1 - level, abs=1e-9)


def test_legendres_points_integrate_polynomials():
    for k in (0, 1, 7, 30):
        assert sum(w * x**k for x, w in legendre(32)) == pytest.approx(
            (math.pi / 2) ** (k + 1) / (k + 1), rel=1e-12
        )


@given(
    st.floats(0.03, 3000),
    st.floats(0.03, 3000),
    st.sampled_from([0.001, 0.025, 0.3, 0.5, 0.975, 0.9995]),
)
def test_the_beta_quantile_agrees_with_scipy(a, b, p):
    assert beta_quantile(p, a, b) == pytest.approx(stats.beta.ppf(p, a, b), abs=1e-10)


@given(st.floats(0.3, 3000), st.floats(0.3, 3000), st.floats(0.0, 1.0))
def test_the_public_incomplete_beta_is_the_distribution_of_beta(a, b, x):
    assert incomplete_beta(a, b, x) == pytest.approx(stats.beta.cdf(x, a, b), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize(("p", "a", "b"), [(0.0, 1, 1), (1.0, 1, 1), (0.5, 0, 1), (0.5, 1, -1)])
def test_a_beta_quantile_of_nothing_is_refused(p, a, b):
    with pytest.raises(ValueError, match="beta quantile"):
        beta_quantile(p, a, b)


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (7, 7), (37, 48), (1, 2), (500, 1000)])
def test_the_exact_rate_interval_is_clopper_and_pearsons(successes, n):
    wanted = stats.binomtest(successes, n).proportion_ci(method="exact")
    got = present(exact_rate_interval(successes, n))
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high), abs=1e-10)
    assert exact_rate_interval(0, 0) is None
    with pytest.raises(ValueError, match="not a rate"):
        exact_rate_interval(3, 2)


def test_equal_rows_of_one_cluster_are_worth_one_row():
    many, one = (
        accumulate([0.4] * 50, ["doc"] * 50).result().interval,
        accumulate([0.4]).result().interval,
    )
    assert (many.low, many.high) == pytest.approx((one.low, one.high))


def test_an_unbounded_metric_without_spread_gets_no_interval():
    assert accumulate([3.0, 3.0], high=None).result().interval is None
    assert accumulate([3.0], high=None).result().interval is None


def test_zeros_and_ones_get_the_interval_of_a_rate():
    got = present(accumulate([1.0, 0.0, 1.0, 1.0]).result().interval)
    wanted = present(rate_interval(3, 4))
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high))
    assert got.method == "Wilson"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_a_number_is_refused(value):
    with pytest.raises(ValueError, match="averaged"):
        MeanAccumulator().add(value)


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (7, 7), (37, 48), (1, 2), (500, 1000)])
def test_the_rate_interval_is_wilsons(successes, n):
    wanted = stats.binomtest(successes, n).proportion_ci(method="wilson")
    got = present(rate_interval(successes, n))
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_a_rate_of_nothing_has_no_interval_and_an_impossible_one_is_refused():
    assert rate_interval(0, 0) is None
    assert clustered_rate_interval([(0, 0)]) is None
    with pytest.raises(ValueError, match="not a rate"):
        rate_interval(3, 2)


def test_a_clustered_rate_is_wider_than_the_same_rate_of_lone_rows():
    # Ten clusters of ten, each all right or all wrong: no more is known than from ten rows.
    clustered = present(clustered_rate_interval([(10, 10)] * 6 + [(0, 10)] * 4))
    lone = present(rate_interval(60, 100))
    ten = present(exact_rate_interval(6, 10))
    assert (clustered.low, clustered.high) == pytest.approx((ten.low, ten.high))
    assert clustered.high - clustered.low > 2.5 * (lone.high - lone.low)
    assert clustered.method == "Clopper-Pearson on effective clusters"


def test_a_clustered_rate_of_all_right_is_bounded_by_its_clusters():
    # Exact of 4 of 4: low = .025 ** (1/4) = .397635
    interval = present(clustered_rate_interval([(5, 5)] * 4))
    assert interval.low == pytest.approx(0.397635, abs=1e-6)
    assert interval.high == 1.0


def test_a_clustered_rate_counts_at_least_the_effective_clusters():
    # 2 of 3 rows in clusters of 2 and 1: Kish 9 / 5 = 1.8 rows, 1.2 of them right; beta quantiles
    # by scipy.
    interval = present(clustered_rate_interval([(2, 2), (0, 1)]))
    wanted = stats.beta.ppf(0.025, 1.2, 1.6), stats.beta.ppf(0.975, 2.2, 0.6)
    assert (interval.low, interval.high) == pytest.approx(wanted, abs=1e-10)


def test_a_clustered_rate_counts_at_most_the_rows():
    # Every cluster at the same rate: 16 rows, times (z / t)^2 for 7 degrees of freedom: 16 *
    # (1.959964 / 2.364624)^2 = 10.9923; at a rate of one half Wilson's reach is z / 2 / sqrt(n +
    # z^2) = .979982 / sqrt(14.8338) = .254444
    even = present(clustered_rate_interval([(1, 2)] * 8))
    assert (even.low, even.high) == pytest.approx((0.5 - 0.254444, 0.5 + 0.254444), abs=2e-6)
    assert even.method == "cluster-robust Wilson"


def test_few_clusters_that_carry_all_failures_widen_a_clustered_rate():
    # 40 failures of 2,000 rows in 25 clusters of 80: all in two clusters, or spread over twenty.
    together = present(clustered_rate_interval([(60, 80)] * 2 + [(80, 80)] * 23))
    apart = present(clustered_rate_interval([(78, 80)] * 20 + [(80, 80)] * 5))
    assert 1 - together.low > 3 * (1 - apart.low)


def test_the_same_rate_is_surer_the_more_clusters_it_comes_from():
    def width(clusters):
        interval = present(clustered_rate_interval(clusters))
        return interval.high - interval.low

    one, two, three = width([(2, 3)]), width([(2, 2), (0, 1)]), width([(1, 1), (1, 1), (0, 1)])
    assert 1.0 > one > two > three


def test_the_accumulator_and_the_rate_agree_on_clusters():
    values, clusters = [1.0, 1.0, 0.0, 1.0, 0.0, 0.0], ["a", "a", "a", "b", "b", "c"]
    got = present(accumulate(values, clusters).result().interval)
    wanted = present(clustered_rate_interval([(2, 3), (1, 2), (0, 1)]))
    assert (got.low, got.high) == pytest.approx((wanted.low, wanted.high))


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([None, "a", "b", "c"])), min_size=1, max_size=30
    )
)
def test_an_interval_holds_its_mean_and_keeps_to_the_range(rows):
    result = accumulate([v for v, _ in rows], [c for _, c in rows]).result()
    assert -1e-12 <= result.interval.low <= result.mean + 1e-12
    assert result.mean - 1e-12 <= result.interval.high <= 1 + 1e-12


@given(
    st.lists(
        st.tuples(st.floats(0, 1), st.sampled_from([None, "a", "b"])), min_size=2, max_size=20
    ),
    st.randoms(),
)
def test_the_order_of_rows_does_not_matter(rows, order):
    shuffled = list(rows)
    order.shuffle(shuffled)
    one, other = (
        accumulate([v for v, _ in r], [c for _, c in r]).result() for r in (rows, shuffled)
    )
    assert one.mean == pytest.approx(other.mean)
    assert one.interval.low == pytest.approx(other.interval.low, abs=1e-7)


def test_a_paired_difference_is_the_paired_t_test():
    a, b = [0.2, 0.5, 0.4, 0.9, 0.3], [0.4, 0.6, 0.4, 0.8, 0.9]
    result = paired_difference(
        [(x, y, None) for x, y in zip(a, b, strict=True)], low=None, high=None
    )
    wanted = stats.ttest_rel(b, a)
    assert result.p == pytest.approx(wanted.pvalue, rel=1e-9)
    assert result.difference == pytest.approx(0.16)
    assert (result.wins, result.ties, result.losses) == (3, 1, 1)
    low, high = wanted.confidence_interval(0.95)
    assert (present(result.interval).low, present(result.interval).high) == pytest.approx(
        (low, high)
    )


def test_runs_that_agree_on_every_row_show_no_difference_and_still_a_bound():
    # u = 1 - .025 ** (1/48) = .073972: at most that share of rows could differ, by at most 1
    result = paired_difference([(0.5, 0.5, None)] * 48)
    assert (result.difference, result.p, result.ties) == (0.0, 1.0, 48)
    assert (present(result.interval).low, present(result.interval).high) == pytest.approx(
        (-0.073972, 0.073972), abs=1e-6
    )
    assert result.minimum_detectable is None


def test_the_same_shift_on_every_row_is_judged_by_the_sign_test():
    # two-sided sign test of 5 of 5: 2 / 32
    assert paired_difference([(0.0, 0.5, None)] * 5).p == pytest.approx(2 / 32)


def test_nothing_to_pair_gives_no_difference():
    result = paired_difference([])
    assert (result.n, result.difference, result.interval, result.p) == (0, None, None, None)


def test_the_minimum_detectable_difference_is_found_with_the_power_it_promises():
    rng, n, sd = random.Random(7), 40, 0.2
    promised = paired_difference(
        [(0.5, 0.5 + rng.gauss(0, sd), None) for _ in range(4000)], low=None, high=None
    )
    size = present(promised.minimum_detectable) * math.sqrt(4000 / n)
    detected = 0
    for _ in range(500):
        pairs = [(0.5, 0.5 + rng.gauss(size, sd), None) for _ in range(n)]
        p = paired_difference(pairs, low=None, high=None).p
        detected += p is not None and p < 0.05
    assert 0.74 <= detected / 500 <= 0.86


def test_the_gap_to_the_rest_is_the_difference_of_means():
    part, whole = accumulate([0.1, 0.3]), accumulate([0.1, 0.3, 0.6, 0.8, 1.0])
    gap, p = gap_to_rest(part, whole)
    assert gap == pytest.approx(0.2 - 0.8)
    # spread about the common mean: s2 = .532/4 = .133; error = sqrt(.133 * (1/2 + 1/3)); t =
    # .6/.332916, 3 df
    assert p == pytest.approx(2 * stats.t.sf(0.6 / math.sqrt(0.133 * 5 / 6), 3), rel=1e-9)


@given(
    st.lists(
        st.lists(
            st.tuples(st.floats(-1e3, 1e3), st.sampled_from([None, None, "a", "b", "c"])),
            max_size=6,
        ),
        max_size=5,
    )
)
def test_parts_joined_are_as_if_one_had_taken_all_values(parts):
    joined = MeanAccumulator.joined(
        accumulate(*zip(*part, strict=True)) if part else accumulate([]) for part in parts
    )
    every = [pair for part in parts for pair in part]
    whole = accumulate(*zip(*every, strict=True)) if every else accumulate([])
    assert (joined.n, joined.clusters, joined.shape) == (whole.n, whole.clusters, whole.shape)
    for one, other in ((joined.mean, whole.mean), (joined.variance, whole.variance)):
        assert one == (None if other is None else pytest.approx(other, rel=1e-6, abs=1e-6))
    assert (joined._min, joined._max, joined._binary) == (whole._min, whole._max, whole._binary)


def test_a_handful_of_equal_rows_proves_little():
    # Exact (Fisher): 2 of 42 rows drawn are both among the 4 failures: 6 / 861 = .007
    part, whole = accumulate([0.0, 0.0]), accumulate([0.0] * 4 + [1.0] * 38)
    _, p = gap_to_rest(part, whole)
    assert p == pytest.approx(1 / 861)  # the rarest that 2 of 42 can be


def test_a_gap_without_rows_to_compare_with_is_absent():
    whole = accumulate([0.1, 0.3], ["a", "b"])
    assert gap_to_rest(whole, whole) == (None, None)
    gap, p = gap_to_rest(accumulate([0.1], ["a"]), whole)
    assert gap == pytest.approx(-0.2)
    assert p is None
    assert gap_to_rest(accumulate([0.5, 0.5]), accumulate([0.5] * 5)) == (0.0, 1.0)


def test_holms_correction_is_worked_by_hand():
    # sorted .01, .02, .03, .04 times 4, 3, 2, 1 = .04, .06, .06, .04 -> running maximum .04, .06,
    # .06, .06
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [None, 5])
def test_about_95_of_100_intervals_hold_the_true_mean(sizes):
    """1,500 data sets of 30 lone rows, or of 30 clusters of five rows that share half of their
    spread.
    """
    rng, covered, times = random.Random(20261120), 0, 1500
    for _ in range(times):
        out = MeanAccumulator(None, None)
        for cluster in range(30):
            shared = rng.gauss(0, 1) if sizes else 0.0
            for _ in range(sizes or 1):
                out.add(0.3 + shared + rng.gauss(0, 1), f"c{cluster}" if sizes else None)
        interval = present(out.result().interval)
        covered += interval.low <= 0.3 <= interval.high
    assert 0.93 <= covered / times <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.1, 0.5, 1.0])
@pytest.mark.parametrize(
    "sizes",
    [
        [30, 10],
        [40, 20, 5],
        [50] + [5] * 9,
        [1, 2, 4, 8, 16, 32, 64],
        [60] * 3 + [2] * 30,
        [100, 100] + [1] * 30,
    ],
)
def test_clusters_of_very_unequal_sizes_hold_the_true_mean(sizes, shared):
    """shared: the share of the spread that a cluster's rows have in common. Reached in 6,000: 0.95
    to 1.00.
    """
    rng, covered, times = random.Random(11), 0, 400
    for _ in range(times):
        out = MeanAccumulator(None, None)
        for cluster, size in enumerate(sizes):
            own = 0.3 + rng.gauss(0, math.sqrt(shared))
            for _ in range(size):
                out.add(own + rng.gauss(0, 1) * math.sqrt(1 - shared), f"c{cluster}")
        interval = present(out.result().interval)
        covered += interval.low <= 0.3 <= interval.high
    assert covered / times >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [[9, 9], [5] * 4, [3] * 6, [20] * 5, [30, 10], [100, 100] + [1] * 30, [80] * 25]
)
@pytest.mark.parametrize("shared", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("rate", [0.05, 0.5, 0.8])
def test_the_rate_of_clusters_holds_the_true_rate(sizes, shared, rate):
    """Beta-binomial clusters; reached in 4,000: 0.94 to 1.00."""
    rng, covered, times = np.random.default_rng(5), 0, 500
    spread = (1 - shared) / shared if shared else None
    for _ in range(times):
        own = rng.beta(rate * spread, (1 - rate) * spread, len(sizes)) if spread else rate
        interval = present(
            clustered_rate_interval(zip(rng.binomial(sizes, own).tolist(), sizes, strict=True))
        )
        covered += interval.low <= rate <= interval.high
    assert covered / times >= 0.93


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
