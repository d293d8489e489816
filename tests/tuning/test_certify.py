"""The certificate of finalists on sealed rows: hand-worked tests, and what is printed."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.tuning.aim import Aim, Kept, Mark
from ragassay.tuning.certify import Certification, Pair, certify, gain_of, jackknife
from ragassay.tuning.values import Answers

ACCURACY = Aim("accuracy")


def answers(passes, score=None):
    passes = np.array(passes, dtype=bool)
    return Answers(passes.astype(float) if score is None else np.array(score, dtype=float), passes)


def right_on(truth, wrong):
    """Verdicts that are wrong on these rows alone."""
    passes = np.array(truth, dtype=bool)
    passes[list(wrong)] ^= True
    return answers(passes)


def alternating(n):
    return np.arange(n) % 2 == 0


def test_independent_rows_get_mcnemars_exact_test():
    # 9 rows are righted and 1 is spoilt: P(X >= 9) of 10 fair coins = 11 / 1024.
    truth = alternating(100)
    base, better = right_on(truth, range(10)), right_on(truth, [0, 50])
    gain = gain_of(ACCURACY, Pair.of(truth, np.arange(100), base, better))
    assert gain.difference == pytest.approx(0.08)
    assert gain.method.startswith("McNemar")
    swaps = 11 / 1024
    # The jackknife's t is 0.08 / .0307 on 99 degrees of freedom: p = .0053, and the larger counts.
    assert gain.p == pytest.approx(swaps)


def test_few_clusters_are_swapped_in_every_way():
    # Each of 6 clusters gains one row: of 64 ways to swap only the one seen gains as much.
    truth = alternating(60)
    cluster = np.repeat(np.arange(6), 10)
    base, better = right_on(truth, range(0, 60, 10)), right_on(truth, [])
    gain = gain_of(ACCURACY, Pair.of(truth, cluster, base, better))
    assert gain.p == pytest.approx(1 / 64)
    assert gain.method.startswith("all swaps of clusters")
    # As rows of their own these were six wins and no loss as well; as one cluster, nothing.
    alone = gain_of(ACCURACY, Pair.of(truth, np.zeros(60, dtype=int), base, better))
    assert alone.p == 1
    assert alone.interval is None


def test_many_clusters_are_swapped_at_random_and_the_seed_repeats_it():
    rng = np.random.default_rng(3)
    truth = rng.random(200) < 0.5
    cluster = np.repeat(np.arange(40), 5)
    base, better = right_on(truth, range(0, 200, 5)), right_on(truth, range(0, 200, 9))
    pair = Pair.of(truth, cluster, base, better)
    first = gain_of(Aim("f1"), pair, draws=999, seed=1)
    assert first == gain_of(Aim("f1"), pair, draws=999, seed=1)
    assert "999 random swaps" in first.method
    assert first.p < 0.05


def test_the_jackknife_of_accuracy_is_the_standard_error_of_a_mean():
    # Differences of rows: 9 times 1, once -1, 90 times 0; their standard deviation / 10.
    truth = alternating(100)
    pair = Pair.of(truth, np.arange(100), right_on(truth, range(10)), right_on(truth, [0, 50]))
    differences = np.array([0.0] * 91 + [1.0] * 9)
    differences[0] = -1.0
    assert jackknife(ACCURACY.value, pair) == pytest.approx(differences.std(ddof=1) / 10)


def test_a_candidate_that_is_no_better_has_nothing_to_test():
    truth = alternating(50)
    gain = gain_of(
        ACCURACY, Pair.of(truth, np.arange(50), right_on(truth, []), right_on(truth, [1]))
    )
    assert gain.p == 1


def test_holm_asks_the_best_of_three_for_a_third_of_the_level():
    # One win and one loss, and twenty wins: (1/2)^20, times two for two finalists. The jackknife's
    # t is the larger p here: .1 on a standard error of .0213.
    truth = alternating(200)
    base = right_on(truth, range(40))
    good = right_on(truth, range(20))
    chance = right_on(truth, [*range(39), 60])
    found = certify(ACCURACY, truth, np.arange(200), base, [("chance", chance), ("good", good)])
    assert [one.p for one in found.finalists] == [1.0, pytest.approx(2 * 0.5**20, abs=1e-5)]
    assert found.chosen == 1
    assert found.printed == 1
    assert found.finalists[0].objections[0].startswith("the gain may be chance")


def test_of_two_certified_finalists_the_first_is_shipped_though_the_second_looks_better():
    truth = alternating(200)
    base = right_on(truth, range(40))
    found = certify(
        ACCURACY,
        truth,
        np.arange(200),
        base,
        [("first", right_on(truth, range(15))), ("second", right_on(truth, range(10)))],
    )
    assert [one.certified for one in found.finalists] == [True, True]
    assert found.chosen == 0
    assert found.gain == pytest.approx(0.125, abs=0.005)
    assert found.gain == found.finalists[0].gain.difference - found.bias


def test_without_a_certificate_the_first_ones_gain_is_printed_and_nothing_is_chosen():
    truth = alternating(100)
    base = right_on(truth, range(20))
    found = certify(ACCURACY, truth, np.arange(100), base, [("a", right_on(truth, range(17)))])
    assert found.chosen is None
    assert found.printed == 0
    assert found.gain == pytest.approx(0.03)
    assert found.bias == 0


def test_verdicts_of_one_judge_alone_count_for_neither_and_lost_ones_are_an_objection():
    truth = alternating(100)
    base, better = right_on(truth, range(30)), right_on(truth, [])
    score = better.score.copy()
    score[-5:] = np.nan
    fewer = Answers(score, better.passes & np.isfinite(score))
    found = certify(ACCURACY, truth, np.arange(100), base, [("a", fewer)]).finalists[0]
    assert found.rows == 95
    assert found.objections == ("it gives no verdict on 5.0% of the rows that the baseline judges",)


def test_what_was_to_be_kept_must_hold_beyond_chance():
    truth = alternating(400)
    passed = np.flatnonzero(truth)
    failed = np.flatnonzero(~truth)
    base = right_on(truth, failed[:80])
    # 60 false passes go, and 10 of 200 passes are lost: recall 1 -> .95.
    stricter = right_on(truth, [*failed[:20], *passed[:10]])
    aim = Aim("accuracy", kept=(Kept("recall", 0.05),))
    found = certify(aim, truth, np.arange(400), base, [("strict", stricter)]).finalists[0]
    (kept,) = found.kept
    assert (kept.before, kept.after, kept.holds) == (1.0, 0.95, False)
    assert found.objections[0].startswith("recall may have fallen by 0.0")
    wide = Aim("accuracy", kept=(Kept("recall", 0.1),))
    assert certify(wide, truth, np.arange(400), base, [("strict", stricter)]).chosen == 0


def test_a_mark_must_be_reached_on_the_sealed_rows():
    truth = alternating(400)
    failed = np.flatnonzero(~truth)
    base = right_on(truth, failed[:100])  # precision 200 / 300
    better = right_on(truth, failed[:50])  # 200 / 250
    found = certify(
        Aim("f1", mark=Mark("precision", 0.85)), truth, np.arange(400), base, [("b", better)]
    )
    assert found.chosen is None
    (missed,) = found.finalists
    assert missed.objections == ("precision is 0.800; 0.85 is asked",)
    # 200 of 250: 1.966 standard errors of sqrt(.8 * .2 / 250) on each side.
    assert missed.mark_interval is not None
    assert missed.mark_interval.low == pytest.approx(0.75, abs=0.001)
    assert missed.mark_interval.high == pytest.approx(0.85, abs=0.001)


def test_confusion_figures_and_what_another_cut_would_have_given_are_shown():
    truth = alternating(200)
    failed = np.flatnonzero(~truth)
    score = np.where(truth, 0.9, 0.2)
    score[failed[:40]] = 0.6
    base = Answers(score, score >= 0.5)  # 40 false passes; a cut at .7 makes none
    better = right_on(truth, failed[:10])
    found = certify(ACCURACY, truth, np.arange(200), base, [("b", better)], recut=score >= 0.7)
    shown = found.finalists[0]
    assert shown.before.table == (100, 40, 0, 60)
    assert shown.after.table == (100, 10, 0, 90)
    assert shown.before.figures["precision"] == pytest.approx(100 / 140)
    assert shown.before.figures["auc"] == 1.0
    # z(100.5 / 101) - z(40.5 / 101) = 2.578 + .252
    assert shown.before.figures["d_prime"] == pytest.approx(2.83, abs=0.01)
    assert found.recut is not None
    assert found.recut.gain.difference == pytest.approx(0.2)
    # .2 of the .15 that the candidate gains
    assert found.share_by_recut == pytest.approx(4 / 3)


def test_more_than_three_finalists_are_refused():
    truth = alternating(40)
    base = right_on(truth, [0])
    with pytest.raises(ValueError, match="one to 3 finalists"):
        certify(ACCURACY, truth, np.arange(40), base, [("x", base)] * 4)


@pytest.mark.slow
def test_the_printed_gain_is_free_of_the_picking():
    """Two equally good, independent finalists: the one that is printed is the first, or the second
    where only that is certified, so its raw gain is too large."""
    rng = np.random.default_rng(5)
    n, up, down = 300, 0.13, 0.08
    raw, honest = [], []
    for _ in range(200):
        truth = rng.random(n) < 0.5
        wrong = rng.random(n) < 0.3
        base = answers(truth ^ wrong)
        finalists = []
        for name in ("a", "b", "c"):
            u = rng.random(n)
            flips = np.where(wrong, u < up / 0.3, u < down / 0.7)
            finalists.append((name, answers(truth ^ (wrong ^ flips))))
        found = certify(ACCURACY, truth, np.arange(n), base, finalists, draws=99)
        assert isinstance(found, Certification)
        raw.append(found.finalists[found.printed].gain.difference - 0.05)
        honest.append(found.gain - 0.05)
    # Standard error of either mean: about .0019.
    assert np.mean(raw) > 0.005
    assert abs(np.mean(honest)) < 0.006
