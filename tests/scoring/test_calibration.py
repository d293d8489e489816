"""Maps of a score, the Brier score in parts, and whether a new cut is better: hand-worked and
against scikit-learn.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import _sigmoid_calibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, cohen_kappa_score, f1_score

from ragassay.scoring import calibration
from ragassay.scoring.calibration import (
    best_cut,
    calibrate,
    change_cut,
    decompose,
    fit,
    folds_of,
    out_of_fold,
)
from support.examples import examples


def world(n: int, seed: int, clusters: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores whose square is the true probability: too high throughout."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0, 1, n)
    truth = rng.random(n) < score**2
    return score, truth, rng.integers(0, clusters, n) if clusters else np.arange(n)


def test_platt_is_scikit_learns_sigmoid() -> None:
    for seed, scale in ((1, 1.0), (2, 100.0), (3, 0.01)):
        score, truth, _ = world(300, seed)
        a, b = _sigmoid_calibration(score * scale, truth.astype(float))
        theirs = 1 / (1 + np.exp(a * score * scale + b))
        assert fit("platt", score * scale, truth)(score * scale) == pytest.approx(
            theirs, abs=2e-4
        )  # its own tolerance
        # At the optimum the gradient of the smoothed likelihood is 0: ours is nearer to it than any
        # tolerance.
        target = np.where(truth, (truth.sum() + 1) / (truth.sum() + 2), 1 / ((~truth).sum() + 2))
        p = fit("platt", score * scale, truth)(score * scale)
        assert abs((p - target).sum()) < 1e-9
        assert abs(((p - target) * score).sum()) < 1e-9


def test_isotonic_is_scikit_learns() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        score, truth, _ = world(200, seed)
        score = np.round(score, 2)  # with ties
        theirs = IsotonicRegression(out_of_bounds="clip").fit(score, truth.astype(float))
        new = rng.uniform(-0.2, 1.2, 500)
        assert fit("isotonic", score, truth)(new) == pytest.approx(theirs.predict(new), abs=1e-10)


def test_beta_is_a_logistic_regression_on_the_logarithms() -> None:
    score, truth, _ = world(500, 4)
    x = np.column_stack([np.log(score), -np.log1p(-score)])
    theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(
        x, truth
    )
    ours = fit("beta", score, truth)
    assert ours.parameters == pytest.approx((*theirs.coef_[0], theirs.intercept_[0]), abs=1e-5)
    assert ours(score) == pytest.approx(theirs.predict_proba(x)[:, 1], abs=1e-6)


@given(seed=st.integers(0, 10_000), flip=st.booleans())
@settings(max_examples=examples(40), deadline=None)
def test_beta_and_isotonic_never_fall_and_stay_probabilities(seed: int, flip: bool) -> None:
    rng = np.random.default_rng(seed)
    score = rng.choice([0.0, 0.2, 0.5, 0.9, 1.0], 40)
    truth = (rng.random(40) < 0.5) ^ (flip & (score > 0.5))
    if truth.all() or not truth.any():
        return
    grid = np.linspace(0, 1, 101)
    for kind in ("beta", "isotonic"):
        mapped = fit(kind, score, truth)(grid)
        assert (np.diff(mapped) >= -1e-12).all()
        assert ((mapped >= 0) & (mapped <= 1)).all()


def test_classes_that_the_score_separates_give_finite_maps() -> None:
    score, truth = np.array([0.1, 0.2, 0.8, 0.9]), np.array([False, False, True, True])
    for kind in ("platt", "isotonic", "beta"):
        mapped = fit(kind, score, truth)(score)
        assert np.isfinite(mapped).all()
        assert mapped[0] < 0.5 < mapped[3]
    # Platt's targets are 3/4 and 1/4 here, and no more can be said from two rows a class.
    assert fit("platt", score, truth)(np.array([0.5]))[0] == pytest.approx(0.5)


def test_one_class_gives_no_calibrator_and_the_reason() -> None:
    with pytest.raises(ValueError, match="both needed"):
        fit("platt", np.array([0.1, 0.9]), np.array([True, True]))
    result = calibrate(np.array([0.1, 0.9, 0.3]), np.array([True, True, True]))
    assert result.calibrator is None
    assert "both needed" in result.reason


def test_folds_keep_clusters_whole_and_are_of_about_one_size() -> None:
    cluster = np.repeat(np.arange(40), 5)
    fold = folds_of(cluster, 5, 0)
    assert all(len(set(fold[cluster == c])) == 1 for c in range(40))
    assert np.bincount(fold).tolist() == [40] * 5
    assert (folds_of(cluster, 5, 0) == fold).all()
    assert (folds_of(cluster, 5, 1) != fold).any()


def test_a_row_is_mapped_by_rows_of_other_folds_only() -> None:
    score, truth, cluster = world(200, 5, 20)
    before = out_of_fold("isotonic", score, truth, cluster, seed=3)
    own = folds_of(cluster, 5, 3) == 2
    changed = truth.copy()
    changed[own] = ~changed[own]
    assert out_of_fold("isotonic", score, changed, cluster, seed=3)[own] == pytest.approx(
        before[own], abs=0
    )


def test_calibration_mends_scores_that_are_too_high() -> None:
    score, truth, cluster = world(1500, 6, 150)
    for kind in ("platt", "isotonic", "beta"):
        result = calibrate(score, truth, cluster, kind=kind, draws=200)
        assert result.before is not None
        assert result.after is not None
        assert result.gain is not None
        assert result.before.ece.value == pytest.approx(1 / 6, abs=0.04)  # the mean of s - s^2
        assert result.after.ece.value is not None
        assert result.after.ece.value < 0.05
        assert result.gain.interval is not None
        assert result.gain.interval.high < 0
        assert result.before.brier.value == pytest.approx(brier_score_loss(truth, score), abs=1e-12)


def test_the_parts_of_the_brier_score_add_up_to_it() -> None:
    score, truth, _ = world(400, 7)
    parts = decompose(score, truth)
    assert parts.reliability - parts.resolution + parts.uncertainty + parts.within == pytest.approx(
        parts.brier, abs=1e-12
    )
    # By hand: said .2, .2 with one pass, and .8, .8 with two: bins .2 -> 1/2, .8 -> 1; rate 3/4.
    parts = decompose(np.array([0.2, 0.2, 0.8, 0.8]), np.array([True, False, True, True]))
    assert parts.reliability == pytest.approx((0.3**2 + 0.2**2) / 2)
    assert parts.resolution == pytest.approx((0.25**2 + 0.25**2) / 2)
    assert (parts.uncertainty, parts.within) == pytest.approx((0.1875, 0.0))


@pytest.mark.slow
def test_the_best_cut_is_the_one_that_trying_all_of_them_finds() -> None:
    score, truth, _ = world(300, 8)
    tried = np.unique(score)
    for figure, theirs in (("kappa", cohen_kappa_score), ("f1", f1_score)):
        cut = best_cut(score, truth, figure=figure)
        best = max(theirs(truth, score >= t) for t in tried)
        assert theirs(truth, score >= cut) == pytest.approx(best, abs=1e-12)
    # A wrong pass that costs nine wrong fails: from a probability of 0.9, s^2 >= 0.9, on.
    score, truth, _ = world(20_000, 9)
    assert best_cut(score, truth, figure="cost", costs=(9.0, 1.0)) == pytest.approx(
        0.9**0.5, abs=0.03
    )


def test_of_equally_good_cuts_the_nearest_to_the_old_one_is_kept() -> None:
    score, truth = np.array([0.0, 0.1, 0.9, 1.0]), np.array([False, False, True, True])
    assert best_cut(score, truth, near=0.5) == pytest.approx(0.5)
    score, truth = np.array([0.0, 0.4, 0.6, 1.0]), np.array([False, True, False, True])
    assert best_cut(score, truth, near=0.9) == pytest.approx(0.8)
    assert best_cut(score, truth, near=0.1) == pytest.approx(0.2)


def test_a_much_better_cut_is_adopted_and_one_that_is_as_good_is_not() -> None:
    score, truth, cluster = world(1200, 10, 120)
    bad = change_cut(score, truth, 0.1, cluster, figure="kappa", draws=300)
    assert bad.adopt
    assert bad.interval is not None
    assert bad.interval.low > 0
    assert bad.cut is not None
    assert bad.cut > 0.5
    assert len(bad.cuts) == 5
    good = change_cut(score, truth, bad.cut, cluster, figure="kappa", draws=300)
    assert not good.adopt
    cost = change_cut(score, truth, 0.1, cluster, figure="cost", costs=(5.0, 1.0))
    assert cost.adopt
    assert cost.interval is not None
    assert cost.interval.high < 0


def test_noise_is_seldom_adopted() -> None:
    adopted = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        score, truth = rng.random(150), rng.random(150) < 0.5
        adopted += change_cut(score, truth, 0.5, figure="balanced_accuracy", draws=200).adopt
    assert adopted <= 6  # 2.5 % are due


def test_a_cut_or_map_that_cannot_be_measured_has_a_reason_and_no_number() -> None:
    one = change_cut(np.array([0.1, 0.9]), np.array([True, False]), 0.5, np.array([7, 7]))
    assert (one.adopt, one.difference) == (False, None)
    assert "two clusters" in one.reason
    same = change_cut(np.linspace(0, 1, 20), np.ones(20, bool), 0.5)
    assert (same.adopt, same.cut) == (False, None)
    assert "both needed" in same.reason
    with pytest.raises(ValueError, match="finite"):
        best_cut(np.array([np.nan, 1.0]), np.array([True, False]))
    with pytest.raises(ValueError, match="no cut can be chosen by"):
        best_cut(np.array([0.0, 1.0]), np.array([True, False]), figure="spearman")
    assert (
        calibration.calibrate(
            np.array([3.0, 1.0, 2.0, 0.5] * 5), np.array([True, False] * 10)
        ).before
        is None
    )
