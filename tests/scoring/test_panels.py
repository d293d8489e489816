"""Repeated judgments and panels: hand-worked numbers, and statsmodels, numpy and itertools as
references.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from ragassay.scoring.panels import agreeing, effective_judges, independent, panel, repeatability
from support.present import present

NAN = np.nan


def test_flips_are_counted_by_hand() -> None:
    # Unanimous, 2 of 3, 1 of 2 with a gap, one verdict only, none.
    samples = np.array([[1, 1, 1], [1, 0, 1], [0, NAN, 1], [NAN, 1, NAN], [NAN, NAN, NAN]])
    result = repeatability(samples, truth=np.array([True, True, True, False, False]))
    assert (result.n, result.alone, result.lost, result.samples) == (3, 2, 6, 3)
    assert result.flip_rate.value == pytest.approx(2 / 3)
    assert result.two_differ.value == pytest.approx((0 + 2 / 3 + 1) / 3)
    assert result.gain is not None
    assert result.gain.mean_a == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)
    assert result.gain.mean_b == pytest.approx((1 + 1 + 1 / 2) / 3)


def test_kappa_between_samples_is_fleiss() -> None:
    rng = np.random.default_rng(0)
    samples = (rng.random((80, 5)) < rng.random((80, 1))).astype(float)
    result = repeatability(samples, draws=300)
    theirs = fleiss_kappa(aggregate_raters(samples.astype(int))[0])
    assert result.kappa.value == pytest.approx(theirs, abs=1e-10)
    assert result.kappa.interval is not None
    assert result.kappa.interval.low < theirs < result.kappa.interval.high


def test_a_judge_that_always_repeats_itself_never_flips_and_the_interval_says_how_sure() -> None:
    samples = np.repeat((np.arange(50) % 2).astype(float)[:, None], 3, axis=1)
    result = repeatability(samples)
    assert (result.flip_rate.value, result.two_differ.value, result.kappa.value) == (0.0, 0.0, 1.0)
    assert result.flip_rate.interval is not None
    assert 0.05 < result.flip_rate.interval.high < 0.1


def test_repeatability_that_is_not_defined_has_a_reason_and_no_number() -> None:
    nothing = repeatability(np.full((4, 3), NAN))
    assert (nothing.flip_rate.value, nothing.kappa.value, nothing.lost) == (None, None, 12)
    assert "no row" in nothing.flip_rate.reason
    constant = repeatability(np.ones((30, 3)))
    assert constant.kappa.value is None
    assert "beyond chance" in constant.kappa.reason
    assert "only 3 clusters" in repeatability(np.ones((30, 3)), np.arange(30) % 3).flip_rate.reason
    with pytest.raises(ValueError, match="1 \\(pass\\)"):
        repeatability(np.array([[0.5, 1.0]]))


def judges(
    n: int, rights: tuple[float, ...], seed: int, shared: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.5
    hard = rng.random(n)
    wrong = np.column_stack(
        [np.where(rng.random(n) < shared, hard, rng.random(n)) < 1 - right for right in rights]
    )
    return (truth[:, None] ^ wrong).astype(float), truth


def test_error_correlation_is_numpys_and_its_interval_holds_the_truth() -> None:
    votes, truth = judges(3000, (0.8, 0.8, 0.8), 1, shared=1.0)
    result = panel(votes, truth, ["a", "b", "c"], draws=200)
    assert result.mean_correlation.value == pytest.approx(1.0)
    assert result.effective.value == pytest.approx(1.0)
    votes, truth = judges(500, (0.7, 0.8, 0.9), 2, shared=0.5)
    result = panel(votes, truth, ["a", "b", "c"], draws=300)
    theirs = np.corrcoef((votes != truth[:, None]).T)
    for i, j in itertools.combinations(range(3), 2):
        assert result.correlation[i][j] == pytest.approx(theirs[i, j], abs=1e-10)
    mean = float(theirs[np.triu_indices(3, 1)].mean())
    assert result.mean_correlation.value == pytest.approx(mean, abs=1e-10)
    assert result.effective.value == pytest.approx(3 / (1 + 2 * mean), abs=1e-10)
    assert result.effective_eigen == pytest.approx(9 / (theirs**2).sum(), abs=1e-10)
    assert result.best == "c"
    interval = present(result.effective.interval)
    assert interval.low < present(result.effective.value) < interval.high


def test_independent_judges_are_worth_their_number_and_reach_what_condorcet_promises() -> None:
    votes, truth = judges(6_000, (0.7,) * 5, 3)
    result = panel(votes, truth, list("abcde"), draws=200)
    assert result.effective.value == pytest.approx(5, rel=0.1)
    promised = sum(
        0.7 ** sum(r) * 0.3 ** (5 - sum(r))
        for r in itertools.product((0, 1), repeat=5)
        if sum(r) >= 3
    )
    assert result.independent == pytest.approx(promised, abs=0.02)
    assert result.real == pytest.approx(promised, abs=0.02)
    majority, weighted = result.rules
    assert majority.gain.interval is not None
    assert majority.gain.interval.low > 0
    assert weighted.accuracy == pytest.approx(majority.accuracy, abs=0.01)


def test_ties_are_worth_half_in_expectation_and_in_fact() -> None:
    truth = np.array([True, True, True, True])
    votes = np.array([[1, 0], [1, 0], [1, 1], [0, 0]]).astype(bool)
    assert independent(votes, truth) == pytest.approx(0.75 * 0.25 + (0.75 * 0.75 + 0.25 * 0.25) / 2)
    result = panel(votes.astype(float), truth, ["a", "b"], draws=100)
    assert result.real == 0.5


def test_weighted_votes_find_the_expert_among_random_judges() -> None:
    votes, truth = judges(1500, (0.95, 0.52, 0.52, 0.52, 0.52), 4)
    result = panel(votes, truth, list("abcde"), draws=200)
    majority, weighted = result.rules
    assert weighted.accuracy > majority.accuracy + 0.1
    assert result.best == "a"
    assert majority.gain.difference is not None
    assert majority.gain.difference < 0  # the vote is worse than its best member


def test_rows_with_a_gap_are_left_out_and_counted() -> None:
    votes, truth = judges(100, (0.8, 0.7), 5)
    votes[:10, 0] = NAN
    result = panel(votes, truth, ["a", "b"], draws=100)
    assert (result.n, result.dropped) == (90, 10)
    with pytest.raises(ValueError, match="no row"):
        panel(np.full((3, 2), NAN), np.ones(3, bool), ["a", "b"])
    with pytest.raises(ValueError, match="two judges"):
        panel(np.ones((3, 1)), np.ones(3, bool), ["a"])


def test_a_judge_without_an_error_has_no_correlation() -> None:
    votes, truth = judges(200, (0.8, 0.7), 6)
    perfect = np.column_stack([votes, truth.astype(float)])
    result = panel(perfect, truth, ["a", "b", "c"], draws=100)
    assert result.correlation[0][2] is None
    assert result.mean_correlation.value == pytest.approx(result.correlation[0][1])
    nobody = panel(np.column_stack([truth, truth]).astype(float), truth, ["a", "b"], draws=100)
    assert (nobody.mean_correlation.value, nobody.effective.value) == (None, None)
    assert nobody.effective_eigen is None


def test_a_mean_of_scores_is_a_rule_of_its_own() -> None:
    truth = np.array([True, False, True, False] * 10)
    scores = np.column_stack(
        [np.where(truth, 1.0, 0.4), np.where(truth, 0.4, 0.2), np.where(truth, 0.4, 0.2)]
    )
    result = panel((scores >= 0.5).astype(float), truth, list("abc"), scores=scores, draws=100)
    assert [rule.name for rule in result.rules] == ["majority", "mean", "weighted"]
    assert [rule.accuracy for rule in result.rules][:2] == [0.5, 1.0]


def test_agreement_of_the_votes_is_a_confidence() -> None:
    majority, share = agreeing(np.array([[1, 1, 0], [0, NAN, 0], [1, 0, NAN], [NAN, NAN, NAN]]))
    assert majority.tolist() == [1.0, 0.0, 0.5, 0.5]
    assert share.tolist() == pytest.approx([2 / 3, 1.0, 0.5, 0.0])


def test_negative_correlation_makes_a_panel_worth_more_than_its_number() -> None:
    assert effective_judges(4, -0.1) == pytest.approx(4 / 0.7)
    assert effective_judges(4, 1.0) == 1.0
