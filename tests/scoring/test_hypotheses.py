"""Tests of pairs, rates and many looks: statsmodels as the reference, hand-worked figures, error
rates by simulation.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as their_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from ragassay.scoring import holm
from ragassay.scoring.hypotheses import (
    benjamini_hochberg,
    clustered_mcnemar,
    equivalent_means,
    equivalent_rates,
    mcnemar,
)
from support.examples import examples
from support.present import present

pvalues = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@settings(max_examples=examples(50), deadline=None)
@given(pvalues)
def test_benjamini_and_hochbergs_correction_agrees_with_statsmodels(p):
    assert benjamini_hochberg(p) == pytest.approx(
        list(multipletests(p, method="fdr_bh")[1]), abs=1e-10
    )


@pytest.mark.slow
@settings(max_examples=examples(50), deadline=None)
@given(pvalues)
def test_holms_correction_agrees_with_statsmodels(p):
    assert holm(p) == pytest.approx(list(multipletests(p, method="holm")[1]), abs=1e-10)


def test_without_tests_there_is_nothing_to_correct():
    assert benjamini_hochberg([]) == []


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_the_exact_test_of_mcnemar_agrees_with_statsmodels(wins, losses):
    wanted = their_mcnemar([[3, wins], [losses, 5]], exact=True).pvalue if wins + losses else 1.0
    test = mcnemar(wins, losses)
    assert test.exact == pytest.approx(wanted, abs=1e-10)
    assert test.mid_p <= test.exact


def test_mid_p_takes_off_half_of_the_outcomes_own_chance():
    # 6 : 0 of a fair coin: exact 2 / 64, mid-p 2 / 64 - 1 / 64
    assert (mcnemar(6, 0).exact, mcnemar(6, 0).mid_p) == pytest.approx((2 / 64, 1 / 64))
    assert mcnemar(4, 4).mid_p == 1.0
    assert mcnemar(0, 0).exact == 1.0
    assert mcnemar(40_000, 40_600).exact == pytest.approx(
        stats.binomtest(40_000, 80_600).pvalue, abs=1e-10
    )


def test_counts_below_zero_are_refused():
    with pytest.raises(ValueError, match="counts"):
        mcnemar(-1, 2)


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 30), st.integers(0, 30))
def test_clusters_of_one_row_are_rows(wins, losses):
    alone, clustered = mcnemar(wins, losses), clustered_mcnemar([(1, 0)] * wins + [(0, 1)] * losses)
    assert (clustered.exact, clustered.mid_p) == pytest.approx(
        (alone.exact, alone.mid_p), abs=1e-10
    )


def test_signs_of_clusters_are_gone_through_by_hand():
    # Gaps 3, 2, -1: sum 4. Of the eight sums +-3 +-2 +-1, |6| twice, |4| twice: exact 4 / 8, mid-p
    # 2 / 8 + 1 / 8.
    test = clustered_mcnemar([(3, 0), (4, 2), (0, 1), (1, 1)])
    assert (test.wins, test.losses, test.clusters) == (8, 4, 4)
    assert (test.exact, test.mid_p) == pytest.approx((0.5, 0.375))


def test_many_clusters_are_tested_by_chi_squared():
    rng = np.random.default_rng(1)
    clusters = list(
        zip(rng.integers(0, 40, 500).tolist(), rng.integers(0, 38, 500).tolist(), strict=True)
    )
    d = np.array([w - lost for w, lost in clusters])
    test = clustered_mcnemar(clusters)
    assert test.exact == pytest.approx(stats.chi2.sf(d.sum() ** 2 / (d**2).sum(), 1), rel=1e-9)
    assert "asymptotic" in test.method


@pytest.mark.parametrize("icc", [0.0, 0.4])
def test_the_clustered_test_errs_no_more_than_it_says(icc):
    rng, alarms, times = np.random.default_rng(4), 0, 600
    for _ in range(times):
        size = np.array([30, 20, 10] + [5] * 12)
        chance = rng.beta(0.2 / icc - 0.2, 0.8 / icc - 0.8, len(size)) if icc else 0.2
        differ = rng.binomial(size, chance)
        wins = np.where(rng.random(len(size)) < 0.5, differ, 0)  # a cluster's rows all go one way
        alarms += (
            clustered_mcnemar(zip(wins.tolist(), (differ - wins).tolist(), strict=True)).exact
            < 0.05
        )
    assert alarms / times <= 0.07


@settings(max_examples=examples(50), deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=30),
    st.floats(0.01, 0.9),
)
def test_equivalence_of_means_is_never_claimed_sooner_than_by_statsmodels(rows, margin):
    a, b = (np.array(side) for side in zip(*rows, strict=True))
    if np.std(b - a) > 1e-6:
        result = equivalent_means([(x, y, None) for x, y in rows], margin)
        assert result.p >= min(0.5, ttost_paired(b, a, -margin, margin)[0]) - 1e-9
        assert result.equivalent == (present(result.p) < 0.05)


@pytest.mark.parametrize(
    ("n", "spread", "margin"), [(50, 0.1, 0.03), (200, 0.1, 0.02), (200, 0.3, 0.05)]
)
def test_where_many_rows_differ_equivalence_is_that_of_statsmodels(n, spread, margin):
    rng = np.random.default_rng(n)
    a = np.clip(rng.normal(0.5, 0.1, n), 0, 1)
    b = np.clip(a + rng.normal(0, spread, n), 0, 1)
    result = equivalent_means([(x, y, None) for x, y in zip(a, b, strict=True)], margin)
    wanted = ttost_paired(b, a, -margin, margin)[0]
    assert wanted < 0.5
    assert result.p == pytest.approx(wanted, abs=1e-10)


@pytest.mark.slow
def test_few_rows_that_all_differ_one_way_are_not_soon_equivalent():
    rng, n, margin, times = np.random.default_rng(6), 50, 0.06, 400
    lost = rng.binomial(n, margin, times)  # the true difference is the margin itself
    results = [
        equivalent_means([(1.0, 0.0, None)] * k + [(1.0, 1.0, None)] * (n - k), margin)
        for k in lost
    ]
    assert sum(one.equivalent for one in results) / times <= 0.05 + 2 * 0.011
    assert not equivalent_means([(1.0, 0.0, None)] + [(1.0, 1.0, None)] * 49, margin).equivalent


def test_equivalence_without_spread_is_bounded_by_the_clusters_seen():
    # 60 equal rows: a share u = 1 - .05 ** (1/60) = .0487 may differ, by at most 1; p = (1 - .05)
    # ** 60 = .046
    result = equivalent_means([(1.0, 1.0, None)] * 60, 0.05)
    assert result.equivalent
    assert result.p == pytest.approx(0.95**60)
    assert not equivalent_means([(1.0, 1.0, None)] * 50, 0.05).equivalent
    assert not equivalent_means([(1.0, 1.0, "one")] * 50, 0.05).equivalent


def test_nothing_is_never_equivalent():
    assert not equivalent_means([], 0.1).equivalent
    assert not equivalent_rates([], [(3, 4)], 0.1).equivalent
    assert equivalent_means([(3.0, 3.0, None)], 0.1, low=None, high=None).p is None


def test_equivalence_of_rates_is_newcombes_interval():
    # 56 of 70 and 48 of 80: Newcombe (1998), table II (a), method 10: [.0524, .3339] at 95 %
    result = equivalent_rates(
        [(1, 1)] * 48 + [(0, 1)] * 32, [(1, 1)] * 56 + [(0, 1)] * 14, 0.4, alpha=0.025
    )
    assert (present(result.interval).low, present(result.interval).high) == pytest.approx(
        (0.0524, 0.3339), abs=5e-5
    )
    assert result.equivalent
    assert present(result.p) < 0.025
    assert not equivalent_rates(
        [(1, 1)] * 48 + [(0, 1)] * 32, [(1, 1)] * 56 + [(0, 1)] * 14, 0.33, alpha=0.025
    ).equivalent


def test_rates_further_apart_than_the_margin_are_not_equivalent():
    far = equivalent_rates([(5, 10)] * 10, [(9, 10)] * 10, 0.1)
    assert not far.equivalent
    # The data speak against equivalence: p is near 1, and not merely one half.
    assert present(far.p) > 0.99
    # At the margin itself the test is undecided.
    at_margin = equivalent_rates([(5, 10)] * 10, [(9, 10)] * 10, 0.4)
    assert at_margin.p == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("margin", "alpha"), [(0.0, 0.05), (-1.0, 0.05), (math.inf, 0.05), (0.1, 0.0), (0.1, 0.5)]
)
def test_an_impossible_margin_or_level_is_refused(margin, alpha):
    for test in (
        lambda: equivalent_means([(0, 1, None)], margin, alpha),
        lambda: equivalent_rates([(1, 2)], [(1, 2)], margin, alpha),
    ):
        with pytest.raises(ValueError, match=r"margin|alpha"):
            test()
