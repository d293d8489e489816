"""Steps that cost no call: when a cut moves, and what both orders of a pair leave."""

from __future__ import annotations

import numpy as np
import pytest

from ragassay.tuning.aim import Aim, Mark
from ragassay.tuning.free_steps import both_orders, order_figures, orders_step, recut
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


def pairs_in_both_orders():
    """Five pairs: right in both orders, in the first alone, right, wrong in the first alone, and
    one that has no verdict in the first order.
    """
    truth = np.array([True, True, False, False, True])
    first = Answers(np.array([1.0, 1, 0, 1, np.nan]), np.array([True, True, False, True, False]))
    swapped = Answers(np.array([1.0, 0, 0, 0, 1]), np.array([True, False, False, False, True]))
    return truth, first, swapped


def test_pairs_keep_the_verdicts_on_which_both_orders_agree_and_are_undecided_elsewhere():
    truth, first, swapped = pairs_in_both_orders()
    found = both_orders(truth, first, swapped)
    assert found.judged.tolist() == [True, True, True, True, False]
    assert found.undecided is not None
    assert found.undecided.tolist() == [False, True, False, True, False]
    # tp, fp, fn, tn: pairs 0 and 2 are right; 1 is half tp and half fn, 3 half fp and half tn.
    assert found.table(truth).tolist() == [1.5, 0.5, 0.5, 1.5]


def test_the_figures_of_both_orders_are_of_the_pairs_that_both_judged():
    found = order_figures(*pairs_in_both_orders())
    assert found.pairs == 4
    assert found.agreed == pytest.approx(2 / 4)
    assert found.right_first == pytest.approx(3 / 4)
    assert found.right_agreed == 1.0
    # Two whole and two halves: the mean of 3/4 right in the first order and 3/4 in the second.
    assert found.right_all == pytest.approx(3 / 4)
    # Of agreed pairs the winner was shown first once; pairs 1 and 3 go to the first one twice.
    assert found.first_shown == pytest.approx((0.5 + 1 + 0.5 + 1) / 4)


def test_a_pair_without_a_winner_in_one_order_is_undecided():
    truth = np.array([True, False])
    # 0.5 in the first order: half right there, and in the table as well.
    tie = np.array([False, True])
    first = Answers(np.array([1.0, 0.5]), np.array([True, True]), undecided=tie)
    swapped = Answers(np.array([1.0, 0.0]), np.array([True, False]))
    found = order_figures(truth, first, swapped)
    assert (found.agreed, found.right_first, found.right_all) == (0.5, 0.75, 0.75)
    assert first.table(truth).tolist() == [1.0, 0.5, 0.0, 0.5]
    # Pair 1 has one winner, of the second order, where the second response was shown first.
    assert found.first_shown == pytest.approx((0.5 + 1) / 2)


def verdicts(passes):
    return Answers(passes.astype(np.float64), passes)


def test_both_orders_are_a_step_only_where_they_gain_over_all_pairs():
    """80 pairs, of which the judge takes the first shown in every second one."""
    number = np.arange(80)
    is_biased = number % 2 == 0
    for place_costs, taken in ((True, True), (False, False)):
        # People prefer the second response of biased pairs, or either one in turn.
        truth = np.where(is_biased, not place_costs and number % 4 == 0, number % 4 == 1)
        right = np.asarray(truth, bool)
        first = np.where(is_biased, True, right)
        swapped = np.where(is_biased, False, right)
        step = orders_step(
            Aim("accuracy"),
            right,
            number,
            verdicts(first),
            verdicts(swapped),
        )
        assert step.figures.right_agreed == 1.0
        assert step.taken is taken
        assert step.gain.difference == pytest.approx(0.25 if place_costs else 0.0)


def test_no_abstaining_can_raise_the_value_above_the_mean_of_both_orders():
    rng = np.random.default_rng(5)
    for _ in range(50):
        truth, first, swapped = (rng.random(40) < 0.5 for _ in range(3))
        found = both_orders(truth, verdicts(first), verdicts(swapped)).table(truth)
        mean = ((first == truth).mean() + (swapped == truth).mean()) / 2
        assert (found[0] + found[3]) / found.sum() == pytest.approx(mean)
