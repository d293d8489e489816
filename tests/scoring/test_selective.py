"""Certified thresholds: hand-worked, against scipy, and violations counted where the truth is
known.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from ragassay.scoring.selective import STEPS, binomial_tail, certify, thresholds
from support.examples import examples


def test_the_tail_is_the_binomials() -> None:
    for n, k, p in ((10, 0, 0.1), (100, 7, 0.1), (100, 100, 0.3), (2000, 180, 0.1), (5, 4, 0.9)):
        assert binomial_tail(k, n, p) == pytest.approx(binom.cdf(k, n, p), abs=1e-10)
    assert binom.cdf(3, 40, 0.1) < binomial_tail(3.5, 40, 0.1) < binom.cdf(4, 40, 0.1)


def test_no_disagreement_among_22_rows_shows_nine_in_ten_and_among_21_it_does_not() -> None:
    # 0.9 ** 22 = 0.0985, 0.9 ** 21 = 0.109.
    for n, expected in ((22, 0.9), (21, None)):
        guarantee = certify(np.full(n, 0.9), np.ones(n, bool), alpha=0.1, delta=0.1)
        assert guarantee.threshold == expected
    assert "too few" in guarantee.reason
    assert guarantee.coverage == 0.0


def test_the_lowest_threshold_before_the_first_failure_is_taken() -> None:
    confidence = np.repeat([0.9, 0.8, 0.7, 0.6], 100)
    agrees = np.concatenate([np.arange(100) >= bad for bad in (2, 5, 60, 0)])
    guarantee = certify(confidence, agrees, alpha=0.1, delta=0.1)
    assert [step.threshold for step in guarantee.steps] == [
        0.9,
        0.8,
        0.7,
    ]  # what follows a failure is not looked at
    assert [step.agreement for step in guarantee.steps] == pytest.approx(
        [0.98, 193 / 200, 233 / 300]
    )
    assert (guarantee.threshold, guarantee.coverage) == (0.8, 0.5)
    assert guarantee.agreement == pytest.approx(0.965)
    assert guarantee.steps[1].p == pytest.approx(binom.cdf(7, 200, 0.1), abs=1e-10)


def test_a_judge_below_the_target_at_every_threshold_gets_the_reason() -> None:
    rng = np.random.default_rng(0)
    guarantee = certify(rng.random(500), rng.random(500) < 0.7, alpha=0.1)
    assert guarantee.threshold is None
    assert "not enough to show 90.0%" in guarantee.reason


def test_rows_that_repeat_within_their_cluster_count_once() -> None:
    rng = np.random.default_rng(1)
    confidence, agrees = np.repeat(rng.random(30), 20), np.repeat(np.arange(30) >= 1, 20)
    cluster = np.repeat(np.arange(30), 20)
    alone = certify(confidence, agrees, alpha=0.05)
    guarantee = certify(confidence, agrees, cluster, alpha=0.05)
    assert alone.threshold is not None
    assert guarantee.threshold is None
    assert guarantee.clusters == 30


def test_thresholds_are_the_confidences_that_occur_and_at_most_forty() -> None:
    assert thresholds(np.array([0.5, 1.0, 0.5, 0.75])).tolist() == [1.0, 0.75, 0.5]
    many = thresholds(np.random.default_rng(0).random(1000))
    assert len(many) == STEPS
    assert (np.diff(many) < 0).all()


@given(
    st.lists(
        st.tuples(st.sampled_from([0.5, 0.7, 0.9, 1.0]), st.booleans(), st.integers(0, 5)),
        max_size=60,
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_what_is_certified_is_finite_and_lies_within_what_was_seen(
    rows: list[tuple[float, bool, int]],
) -> None:
    confidence = np.array([c for c, _, _ in rows], dtype=float)
    agrees = np.array([a for _, a, _ in rows], dtype=bool)
    guarantee = certify(
        confidence, agrees, np.array([g for _, _, g in rows], dtype=np.int64), alpha=0.2, delta=0.2
    )
    assert (guarantee.threshold is None) == (guarantee.agreement is None)
    assert all(0 <= step.p <= 1 for step in guarantee.steps)
    assert guarantee.threshold is None or (guarantee.agreement or 0) >= 0.8
    assert guarantee.threshold is not None or guarantee.reason


@pytest.mark.parametrize(("n", "groups", "icc"), [(200, 200, 0.0), (600, 30, 0.3)])
def test_a_threshold_that_breaks_the_promise_is_certified_no_oftener_than_delta(
    n: int, groups: int, icc: float
) -> None:
    rng, trials, bad, blind = np.random.default_rng(7), 400, 0, 0
    for _ in range(trials):
        place = np.arange(n) if groups == n else rng.integers(0, groups, n)
        latent = np.sqrt(icc) * rng.normal(size=n)[place] + np.sqrt(1 - icc) * rng.normal(size=n)
        agrees, confidence = (
            latent >= -1.2816 + 0.01,
            rng.integers(0, 20, n) / 20,
        )  # 10.2 % disagree, at any confidence
        bad += certify(confidence, agrees, place, alpha=0.1, delta=0.1).threshold is not None
        blind += certify(confidence, agrees, None, alpha=0.1, delta=0.1).threshold is not None
    assert bad <= 0.1 * trials + 3 * (0.09 * trials) ** 0.5
    assert bad <= blind


def test_impossible_arguments_of_certify_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        certify(np.ones(3), np.ones(3, bool), alpha=0.0)
    with pytest.raises(ValueError, match="finite confidence"):
        certify(np.array([np.nan]), np.ones(1, bool))
    assert certify(np.array([]), np.array([], bool)).reason == "there are no labelled rows"
