"""The scales of labels: guessed, fixed by the first import, and never moved by a slip."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ragassay.core import DataError, HumanLabel
from ragassay.runs.label_scales import (
    few_that_decide,
    scale_of_import,
    scale_of_labels,
    scale_words,
)

PASS_OR_FAIL = (0.0, 1.0)
GRADES = (0.0, 1.0, 2.0, 3.0)


def labels(values: Sequence[float], scale: tuple[float, ...] = ()) -> list[HumanLabel]:
    return [HumanLabel(f"r{n}", "m", "", value, scale=scale) for n, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "slips"),
    [
        ([0, 1] * 50, set()),
        ([0, 1] * 49 + [2, 1], {2}),  # 1 of 100
        ([0, 1] * 45 + [3] * 10, {3}),  # 10 of 100
        ([0, 1] * 44 + [2, 3] * 6, set()),  # 12 of 100
        ([0, 1, 1, 2], set()),  # too few to tell a slip
        ([0, 3, 3], set()),  # nobody gave the 1: no labels of 0 and 1
        ([1] * 20 + [2], set()),  # which of two responses is better
    ],
)
def test_few_labels_decide_on_no_scale(values: list[float], slips: set[float]) -> None:
    assert few_that_decide([float(value) for value in values]) == slips


def test_a_slip_is_named_and_refused() -> None:
    with pytest.raises(DataError, match="1 of 100 labels") as error:
        scale_of_labels(labels([0, 1] * 49 + [2, 1]), (), "two.csv")
    assert error.value.code == "E0313"
    assert "r98 has 2; the others are 0, 1" in error.value.why
    assert "--scale 0,1,2,3" in error.value.fix
    assert scale_of_labels(labels([0, 1] * 49 + [2, 1]), GRADES, "two.csv") == GRADES


def test_the_first_import_fixes_the_scale() -> None:
    first = labels([0, 1] * 6)
    assert scale_of_import(first, [], (), "a.csv") == PASS_OR_FAIL
    before = labels([0, 1] * 6, PASS_OR_FAIL)
    # Most of the new ones are grades, but those before are not.
    with pytest.raises(DataError, match="3 of 4 labels are not on the scale"):
        scale_of_import(labels([0, 2, 2, 3]), before, (), "b.csv")
    with pytest.raises(DataError, match="another scale") as error:
        scale_of_import(labels([0, 1], GRADES), before, (), "sheet.csv")
    assert "0, 1, 2, 3 here, 0, 0.5, 1 before" in error.value.why
    assert scale_of_import(labels([0, 0.5]), before, (), "c.csv") == (0.0, 0.5, 1.0)
    # A scale that was named holds also where nobody gave its upper grades yet.
    graded = labels([0, 1] * 6, GRADES)
    assert scale_of_import(labels([0, 2]), graded, (), "d.csv") == GRADES
    assert scale_of_labels(graded, (), "the labels") == GRADES


def test_too_few_labels_fix_no_scale() -> None:
    assert scale_of_import(labels([1]), [], (), "one") == ()
    assert scale_of_import(labels([2, 3] * 5), labels([1]), (), "more") == GRADES


def test_labels_of_two_scales_are_refused() -> None:
    with pytest.raises(DataError, match="two scales"):
        scale_of_labels([*labels([0, 1], PASS_OR_FAIL), *labels([3], GRADES)], (), "the labels")


def test_scale_and_cut_in_words() -> None:
    assert scale_words(GRADES) == "scale: 0, 1, 2, 3; a row passes from a label of 2 on"
    assert scale_words((1.0, 2.0, 3.0, 4.0)).endswith("is said with --cut")
