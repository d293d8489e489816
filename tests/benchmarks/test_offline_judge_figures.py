"""Are the figures of the offline judge's benchmark what their names say? Small cases worked by
hand.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from benchmarks.offline_judge import pages
from benchmarks.offline_judge.figures import (
    MEASURES,
    Draws,
    Sample,
    best_cut,
    calibration_error_by_chance,
    mean_over,
    measures,
    shown,
)
from benchmarks.offline_judge.rivals import TEN, ten, unigrams

from ragassay.core import MatchCall
from ragassay.scoring.bootstrap import interval


def test_each_measure_is_what_a_reader_works_out_by_hand() -> None:
    y = np.array([1, 1, 1, 0, 0])
    p = np.array([0.9, 0.6, 0.2, 0.6, 0.1])
    found = {name: float(value[0]) for name, value in measures(y, p, 0.5, np.ones((1, 5))).items()}
    assert set(found) == set(MEASURES)
    # Right: 2 of 3 and 1 of 2.
    assert found["balanced_accuracy"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    # Of the 6 pairs 4 are in order (0.9 over both, 0.6 and 0.2 over 0.1), one is a tie, 0.2 under
    # 0.6 is wrong.
    assert found["auroc"] == pytest.approx(4.5 / 6)
    # Two are called unsupported, one of them is: precision 1/2, recall 1/2.
    assert found["f1_hallucinated"] == pytest.approx(1 / 2)
    assert found["f1"] == pytest.approx(2 / 3)
    # Bins 9, 6, 2 and 1 hold 1, 2, 1 and 1 rows: |1 - .9|, |1 - 1.2|, |1 - .2|, |0 - .1| over five
    # rows.
    assert found["ece"] == pytest.approx((0.1 + 0.2 + 0.8 + 0.1) / 5)
    # Observed 3/5; by chance 3/5 * 3/5 + 2/5 * 2/5 = 13/25.
    assert found["kappa"] == pytest.approx((15 / 25 - 13 / 25) / (1 - 13 / 25))


def test_few_rows_have_a_calibration_error_by_chance_alone() -> None:
    # Sure of every row, and right: no error.
    assert calibration_error_by_chance(np.array([0.0, 1.0, 1.0])) == 0.0
    # One row at .5 is half off, whatever its label.
    assert calibration_error_by_chance(np.array([0.5])) == pytest.approx(0.5)
    # Two in one bin: 0, 1 or 2 of them say yes, so that it is .5, 0, .5 off: a quarter in the mean.
    assert calibration_error_by_chance(np.array([0.5, 0.5]), 4000) == pytest.approx(0.25, abs=0.02)


def test_a_weight_of_two_counts_a_row_twice() -> None:
    y, p = np.array([1, 0, 1, 0]), np.array([0.8, 0.7, 0.3, 0.2])
    weighted = measures(y, p, 0.5, np.array([[2.0, 1.0, 1.0, 0.0]]))
    doubled = measures(np.array([1, 1, 0, 1]), np.array([0.8, 0.8, 0.7, 0.3]), 0.5, np.ones((1, 4)))
    for name in MEASURES:
        assert weighted[name][0] == pytest.approx(doubled[name][0]), name


def test_intervals_draw_whole_groups() -> None:
    # Two groups, each of one kind: every draw has both classes in equal numbers, or only one of
    # them and then no figure.
    labels, groups = [1, 0, 1, 0] * 5, ["a", "a", "b", "b"] * 5
    p = np.array([0.9, 0.1, 0.4, 0.1] * 5)
    draws = Sample(labels, groups).draws(p, 0.5)
    # Group a alone is all right, group b alone has half; both together, in half of the draws, three
    # quarters.
    assert set(draws["balanced_accuracy"].round(9)) == {0.5, 0.75, 1.0}
    assert draws["balanced_accuracy"][1:].std() == pytest.approx(0.25 / 2**0.5, abs=0.01)
    found = shown(draws)
    assert found["balanced_accuracy"] == pytest.approx(0.75)
    # Two groups are next to nothing to go by.
    low, high = found["balanced_accuracy_interval"]
    assert low < 0.05
    assert high > 0.95


def test_intervals_are_those_of_the_package() -> None:
    dice = np.random.default_rng(0)
    labels, p = dice.integers(0, 2, 200), dice.random(200)
    draws = Sample(labels.tolist(), [str(i // 5) for i in range(200)]).draws(p, 0.5)
    assert draws.freedom == pytest.approx(39)
    auroc = interval(float(draws["auroc"][0]), float(draws["auroc"][1:].std(ddof=1)), 39, 0.0, 1.0)
    assert shown(draws)["auroc_interval"] == pytest.approx([auroc.low, auroc.high])
    kappa = interval(float(draws["kappa"][0]), float(draws["kappa"][1:].std(ddof=1)), 39, -1.0, 1.0)
    assert shown(draws)["kappa_interval"] == pytest.approx([kappa.low, kappa.high])
    assert kappa.method.endswith("Fisher z")


def test_the_mean_of_equal_sets_has_the_freedom_of_all_and_half_the_spread_of_one() -> None:
    dice = np.random.default_rng(1)
    sets = [
        Draws({"auroc": np.concatenate([[0.8], 0.8 + 0.04 * dice.normal(size=4000)])}, 9.0)
        for _ in range(4)
    ]
    found = mean_over(sets, ["auroc"])["auroc_interval"]
    expected = interval(0.8, 0.02, 36.0, 0.0, 1.0)
    assert found == pytest.approx([expected.low, expected.high], abs=0.003)


def test_a_judge_that_always_says_the_same_has_nothing_to_be_unsure_of() -> None:
    found = shown(Sample([1, 0] * 20, [str(i) for i in range(40)]).draws(np.ones(40), 0.5))
    assert (found["balanced_accuracy"], found["balanced_accuracy_interval"]) == (0.5, [0.5, 0.5])
    assert (found["kappa"], found["kappa_interval"]) == (0.0, [0.0, 0.0])


def test_a_measure_without_one_of_the_classes_has_no_value() -> None:
    found = shown(Sample([1, 1], ["a", "b"]).draws(np.array([0.9, 0.8]), 0.5))
    assert found["balanced_accuracy"] is None
    assert found["auroc"] is None


def test_the_mean_over_sets_weighs_a_small_set_like_a_large_one() -> None:
    small = Sample([1, 0], ["a", "b"]).draws(np.array([0.9, 0.1]), 0.5)
    large = Sample([1, 0] * 20, [str(i) for i in range(40)]).draws(np.array([0.1, 0.9] * 20), 0.5)
    assert mean_over([small, large])["balanced_accuracy"] == pytest.approx(0.5)


def test_the_best_cut_is_one_for_all_sets() -> None:
    low = (np.array([0, 0, 1, 1]), np.array([0.1, 0.2, 0.3, 0.4]))
    high = (np.array([0, 0, 1, 1]), np.array([0.1, 0.25, 0.6, 0.7]))
    assert 0.25 < best_cut([low, high]) <= 0.3


def test_the_lexical_figures_see_what_they_are_named_after() -> None:
    passage = "The mill has 40 workers. It was built by Anna Holm in 1880."
    same = dict(
        zip(
            TEN,
            ten(MatchCall("support", "It was built by Anna Holm in 1880.", (passage,))),
            strict=True,
        )
    )
    assert [same[name] for name in TEN[:7]] == [1.0] * 7
    assert same["negated on one side only"] == 0.0
    other = MatchCall("support", "It was not built by Anna Krag in 1890.", (passage,))
    changed = dict(zip(TEN, ten(other), strict=True))
    assert changed["numbers found"] == 0.0
    assert changed["names found"] == 0.5
    assert changed["negated on one side only"] == 1.0
    assert unigrams(other) == pytest.approx(6 / 9)


def test_only_the_marked_places_of_a_page_are_written() -> None:
    text = "Before.\n<!-- offline judge: bars -->\nold\n<!-- end -->\nAfter.\n"
    bar = {
        "what": "speed",
        "side": "at least",
        "mark": 15.0,
        "aim": None,
        "figure": 20.0,
        "interval": None,
        "reached": True,
    }
    new = pages.filled(text, {"bars": [bar]})
    assert new.startswith("Before.\n<!-- offline judge: bars -->\n")
    assert new.endswith("<!-- end -->\nAfter.\n")
    assert "old" not in new
    assert "| speed | at least 15.0 | 20.0 | reached |" in new
    assert pages.filled(new, {"bars": [bar]}) == new
