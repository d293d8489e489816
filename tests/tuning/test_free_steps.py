"""Steps that cost no call: when a cut moves, and what both orders of a pair leave."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.tuning.aim import Aim, Mark
from ragassay.tuning.free_steps import both_orders, recut
from ragassay.tuning.values import Answers

KAPPA = Aim("kappa")


def graded(seed, clusters=30, size=10, shift=0.0, clear=1.5):
    """A judge on a scale of 0 to 3 whose points lie `shift` too high; half of the rows pass."""
    rng = np.random.default_rng(seed)
    n = clusters * size
    truth = rng.random(n) < 0.5
    seen = rng.normal(size=n) + clear * (truth - 0.5) + shift
    score = np.searchsorted([-1.0, 0.0, 1.0], seen).astype(float)
    return truth, np.repeat(np.arange(clusters), size), Answers(score, score >= 2)


def test_a_cut_moves_where_the_judge_passes_far_more_than_people():
    truth, cluster, answers = graded(1, shift=1.0)
    step = recut(KAPPA, truth, cluster, answers, cut=2)
    assert step.moved
    assert step.new == 2.5
    assert step.gain is not None
    assert step.gain > 0.05
    assert step.reason == "it moves: the judge passes 81% of the rows, people 51%"
    assert step.passes(answers).sum() == (answers.score >= 3).sum()


def test_a_cut_stays_where_the_pass_rates_are_alike_whatever_chance_offers():
    for seed in range(20):
        truth, cluster, answers = graded(seed, clusters=12, size=5, clear=0.7)
        step = recut(KAPPA, truth, cluster, answers, cut=2)
        assert not step.moved or abs(answers.passes.mean() - truth.mean()) > 0.1
        if not step.moved:
            assert step.reason.startswith("it stays")
            assert (step.passes(answers) == answers.passes).all()


def test_with_a_mark_the_gain_itself_must_lie_beyond_chance():
    truth, cluster, answers = graded(3, clusters=120, clear=2.0, shift=0.7)
    aim = Aim("recall", mark=Mark("precision", 0.87))
    step = recut(aim, truth, cluster, answers, cut=2)
    assert step.new == 2.5
    assert step.reason == "it moves: the gain lies beyond chance"


def test_costs_move_the_cut_to_the_side_of_the_cheaper_error():
    truth, cluster, answers = graded(4, clusters=60)
    assert recut(Aim("cost", false_pass=5), truth, cluster, answers, cut=2).new == 2.5
    assert recut(Aim("cost", false_fail=5), truth, cluster, answers, cut=2).new == 0.5


def test_rows_without_a_score_are_left_out_and_pass_nothing():
    truth, cluster, answers = graded(1, shift=1.0)
    score = answers.score.copy()
    score[:7] = np.nan
    partly = Answers(score, answers.passes & np.isfinite(score))
    step = recut(KAPPA, truth, cluster, partly, cut=2)
    assert step.rows == 293
    assert not step.passes(partly)[:7].any()


@pytest.mark.parametrize("truth", [np.ones(40, bool), np.arange(40) % 2 == 0])
def test_one_class_or_one_cluster_leaves_the_cut(truth):
    cluster = np.zeros(40, dtype=int)
    score = np.linspace(0, 1, 40)
    step = recut(KAPPA, truth, cluster, Answers(score, score >= 0.5), cut=0.5)
    assert (step.moved, step.gain) == (False, None)


def test_a_rising_map_of_the_score_changes_no_verdict_that_a_cut_cannot():
    truth, cluster, answers = graded(1, shift=1.0)
    mapped = Answers(np.exp(answers.score), answers.passes)
    plain = recut(KAPPA, truth, cluster, answers, cut=2)
    other = recut(KAPPA, truth, cluster, mapped, cut=float(np.exp(2)))
    assert (plain.passes(answers) == other.passes(mapped)).all()


def test_pairs_keep_the_verdicts_on_which_both_orders_agree():
    truth = np.array([True, True, False, False, True])
    first = Answers(np.array([1.0, 1, 0, 1, np.nan]), np.array([True, True, False, True, False]))
    swapped = Answers(np.array([1.0, 0, 0, 0, 1]), np.array([True, False, False, False, True]))
    found = both_orders(truth, first, swapped)
    assert found.answers.judged.tolist() == [True, False, True, False, False]
    assert found.share == pytest.approx(0.4)
    assert found.right_first == pytest.approx(3 / 4)
    assert found.right_both == 1.0
