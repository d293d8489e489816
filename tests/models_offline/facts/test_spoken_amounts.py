"""Amounts that several words tell are read with their value and unit."""

from __future__ import annotations

import pytest

from ragassay.models.offline.facts.quantities import quantities
from ragassay.models.offline.facts.same_quantity import same_quantity

SHARES = {
    "one in five of them": 20.0,
    "1 in 10,000 patients": 0.01,
    "three in a hundred": 3.0,
    "four out of five people": 80.0,
}
SECONDS_OF_A_YEAR = 31_556_952.0
PERIODS = {
    "a year and a half": 1.5 * SECONDS_OF_A_YEAR,
    "half a year": 0.5 * SECONDS_OF_A_YEAR,
    "an hour and a quarter": 4_500.0,
    "three and a half hours": 12_600.0,
}


@pytest.mark.parametrize(("text", "percent"), SHARES.items())
def test_so_many_of_so_many_are_a_share(text: str, percent: float) -> None:
    (found,) = quantities(text)
    assert found.measure == "percent"
    assert found.low == pytest.approx(percent)


@pytest.mark.parametrize(("text", "seconds"), PERIODS.items())
def test_a_period_may_have_a_half_or_a_quarter_behind_it(text: str, seconds: float) -> None:
    (found,) = quantities(text)
    assert found.measure == "time"
    assert found.low == pytest.approx(seconds)


def test_the_third_quarter_is_q3() -> None:
    short, long = quantities("Q3")[0], quantities("the third quarter")[0]
    assert (short.measure, short.low) == (long.measure, long.low) == ("ordinal", 3.0)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("You should not take more than 80 mg.", "at most"),
        ("You should take more than 80 mg.", "more than"),
        ("No later than two hours before it starts.", ""),
    ],
)
def test_a_negation_turns_a_bound_and_before_takes_it_away(text: str, bound: str) -> None:
    assert quantities(text)[0].bound == bound


CHANGES = {
    ("rose by 100%", "doubled"): True,
    ("grew by 200 percent", "has tripled"): True,
    ("fell by 50%", "was halved"): True,
    ("was cut in half", "fell by 50 %"): True,
    ("rose by 50%", "doubled"): False,
    ("rose by 120%", "more than doubled"): None,
    ("a margin of 50%", "doubled"): None,
    ("rose by 100 people", "doubled"): None,
}


@pytest.mark.parametrize(("texts", "same"), CHANGES.items())
def test_a_verb_tells_by_how_much_something_changed(
    texts: tuple[str, str], same: bool | None
) -> None:
    (one,), (other,) = map(quantities, texts)
    assert same_quantity(one, other) is same
    assert same_quantity(other, one) is same


PARTS = {
    ("two thirds of the staff", "66%"): True,
    ("two-thirds of the staff", "66.7%"): True,
    ("two thirds of the staff", "67%"): True,
    ("a third of users", "33%"): True,
    ("three quarters of users", "75%"): True,
    ("two thirds of the staff", "65%"): None,
    ("three quarters of users", "74%"): None,
}


@pytest.mark.parametrize(("texts", "same"), PARTS.items())
def test_a_part_of_a_whole_is_its_share_in_percent(
    texts: tuple[str, str], same: bool | None
) -> None:
    (part,), (share,) = map(quantities, texts)
    assert same_quantity(part, share) is same


def test_a_part_of_a_unit_is_read_with_it() -> None:
    assert quantities("three quarters of an hour")[0].low == pytest.approx(2700.0)
    assert quantities("for three quarters in a row")[0].measure == "time"
