"""The noise floor from a baseline that answers some rows twice."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ragassay.tuning.aim import Aim
from ragassay.tuning.noise import noise_floor
from ragassay.tuning.values import Answers

TRUTH = np.arange(50) % 2 == 0


def answers(passes, lost=()):
    score = np.array(passes, dtype=float)
    score[list(lost)] = np.nan
    return Answers(score, np.array(passes, dtype=bool) & np.isfinite(score))


def test_the_floor_follows_the_share_of_verdicts_that_change():
    second = TRUTH.copy()
    second[:5] ^= True
    floor = noise_floor(Aim("accuracy"), TRUTH, answers(TRUTH), answers(second))
    assert (floor.rows, floor.flips) == (50, 5)
    assert floor.flip_rate == pytest.approx(5.5 / 51)
    # An error more is a hundredth of accuracy on 100 rows: 1.2816 * sqrt(.1078 / 100)
    assert floor.smallest_gain(100) == pytest.approx(1.2816 * math.sqrt(5.5 / 51 / 100), rel=0.05)
    assert floor.smallest_gain(100, effect=4) == pytest.approx(2 * floor.smallest_gain(100))
    assert floor.sentence().startswith(
        "asked twice, the judge changed its verdict on 5 of 50 rows; on 100 rows gains below 0.04"
    )


def test_a_judge_that_never_changed_on_few_rows_may_still_do_so():
    floor = noise_floor(Aim("accuracy"), TRUTH, answers(TRUTH), answers(TRUTH))
    assert floor.flips == 0
    assert floor.smallest_gain(100) > 0.01


def test_costly_errors_raise_the_floor():
    second = TRUTH.copy()
    second[:5] ^= True
    plain = noise_floor(Aim("cost"), TRUTH, answers(TRUTH), answers(second))
    costly = noise_floor(Aim("cost", false_pass=3), TRUTH, answers(TRUTH), answers(second))
    # Half of the rows can be passed falsely: sqrt((1 + 9) / 2) as much.
    assert costly.row_error == pytest.approx(math.sqrt(5) * plain.row_error)


def test_rows_that_were_not_judged_twice_do_not_count():
    floor = noise_floor(Aim("f1"), TRUTH, answers(TRUTH), answers(TRUTH, lost=range(10)))
    assert floor.rows == 40
    with pytest.raises(ValueError, match="no row was judged twice"):
        noise_floor(Aim("f1"), TRUTH, answers(TRUTH), answers(TRUTH, lost=range(50)))
    assert floor.smallest_gain(0) == math.inf


def test_equals_lie_above_the_floor_one_time_in_ten():
    """Two answers of one judge that flips 15 % of its verdicts, compared on 200 rows."""
    rng = np.random.default_rng(1)
    truth = rng.random(200) < 0.5
    right = truth ^ (rng.random(200) < 0.2)
    aim = Aim("accuracy")
    above = 0
    for _ in range(400):
        sides = [answers(right ^ (rng.random(200) < 0.081)) for _ in range(2)]
        floor = noise_floor(aim, truth, *sides)
        gain = aim.score(truth, sides[1].passes) - aim.score(truth, sides[0].passes)
        above += gain > floor.smallest_gain(200)
    assert above / 400 == pytest.approx(0.1, abs=0.045)  # three standard errors
