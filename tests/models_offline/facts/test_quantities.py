"""Numbers with their units, magnitudes, ranges and bounds are read wherever a text gives them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.offline.facts.number_words import value_of
from ragassay.models.offline.facts.quantities import Quantity, quantities
from ragassay.models.offline.facts.same_quantity import is_computed, same_quantity


def only(text: str) -> Quantity:
    (quantity,) = quantities(text)
    return quantity


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("seven", 7),
        ("twenty-five", 25),
        ("one hundred and five", 105),
        ("two thousand three hundred", 2300),
        ("two and a half million", 2_500_000),
        ("a dozen", 12),
        ("half a dozen", 6),
        ("two thirds", Fraction(2, 3)),
    ],
)
def test_numbers_in_words_have_their_value(words: str, value: float) -> None:
    assert value_of(words) == value


@pytest.mark.parametrize(
    ("text", "low", "measure"),
    [
        ("It is 2.7 km long.", 2700, "length"),
        ("It is 2.7 kilometres long.", 2700, "length"),
        ("a 5-mile walk", 8046.72, "length"),
        ("It weighs 3 kg.", 3, "mass"),
        ("It takes half an hour.", 1800, "time"),
        ("It takes 2 hours 35 minutes.", 9300, "time"),
        ("about 44bn dollars", 44e9, "money:usd"),
        ("$44 billion", 44e9, "money:usd"),
        ("44 billion dollars", 44e9, "money:usd"),
        ("It costs €1,250.50.", 1250.5, "money:eur"),
        ("12 percent of them", 12, "percent"),
        ("12% of them", 12, "percent"),
        ("37 °C", 37, "temperature"),
        ("98.6 degrees Fahrenheit", 37, "temperature"),
        ("three dogs", 3, "count"),
        ("1,200 people", 1200, "count"),
        ("1½ cups", 0.35488, "volume"),
        ("the 3rd floor", 3, "ordinal"),
    ],
)
def test_a_number_is_read_in_the_base_unit_of_what_it_measures(
    text: str, low: float, measure: str
) -> None:
    quantity = only(text)
    assert quantity.low == pytest.approx(low, rel=1e-4)
    assert quantity.measure == measure


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("5-7 days", 5, 7), ("between 5 and 7 days", 5, 7), ("5 to 7 days", 5, 7)],
)
def test_a_range_has_two_ends(text: str, low: float, high: float) -> None:
    quantity = only(text)
    assert (quantity.low / 86400, quantity.high / 86400) == (low, high)
    assert quantity.is_range


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("at least 5 days", "at least"),
        ("no more than 5 days", "at most"),
        ("up to 5 days", "at most"),
        ("over 5 days", "more than"),
        ("under 5 days", "less than"),
        ("5 days or more", "at least"),
        ("5 days", ""),
    ],
)
def test_a_bound_is_read_before_and_behind_the_number(text: str, bound: str) -> None:
    assert only(text).bound == bound


@pytest.mark.parametrize(
    "text", ["[12] The text.", "1. Apples and pears", "version A4 of HTML5", "x"]
)
def test_marks_of_lists_and_citations_and_parts_of_names_are_no_numbers(text: str) -> None:
    assert quantities(text) == []


@pytest.mark.parametrize(
    ("claim", "passage", "same"),
    [
        ("44 billion dollars", "$44bn", True),
        ("two weeks", "14 days", True),
        ("14 hours", "14 days", False),
        ("27 kilometres", "2.7 kilometres", False),
        ("about 10 hours", "9.5 hours", True),
        ("five miles", "8 kilometres", True),
        ("half an hour", "30 minutes", True),
        ("0.5 %", "0.5 percent", True),
        ("12 dogs", "12 cats", True),
        ("12 dogs", "14 dogs", False),
        ("12 dogs", "14 cats", None),
        ("3 kg", "3 km", None),
        ("$20", "€20", False),
        ("6 days", "5 to 7 days", None),
        ("8 days", "5 to 7 days", False),
        ("room 241", "room 214 upstairs", False),
        ("room 214", "room 214 upstairs", True),
        ("The part number is 4472", "the part number 4471 and a lid", False),
        ("No. 12", "number 12", True),
        ("Part number: 4471", "its part number is 4417", False),
        ("type 2 diabetes", "type 1 diabetes", False),
        ("Invoice #12", "invoice 21", False),
        ("page 12", "room 12", None),
        ("room 214", "214 guests", True),
        ("room 214", "241 guests", None),
    ],
)
def test_two_quantities_agree_differ_or_cannot_be_compared(
    claim: str, passage: str, same: bool | None
) -> None:
    assert same_quantity(only(claim), only(passage)) is same


def test_a_sum_a_difference_and_a_product_follow_where_the_claim_calculates() -> None:
    stated = quantities("The room costs 80 dollars and breakfast 15 dollars.")
    total = only("Both together cost 95 dollars.")
    assert is_computed("Both together cost 95 dollars.", total, [], stated)
    plain = only("It costs 95 dollars.")
    assert not is_computed("It costs 95 dollars.", plain, [], stated)
    text = "Two nights cost 160 dollars."
    nights, price = quantities(text)
    assert is_computed(text, price, [nights], stated)
    text = "Within two nights you pay 160 dollars."
    nights, price = quantities(text)
    assert not is_computed(text, price, [nights], stated)


@given(st.integers(0, 999_999_999))
def test_every_whole_number_is_read_with_and_without_its_commas(number: int) -> None:
    assert only(f"{number} people").low == only(f"{number:,} people").low == number


@given(st.text(max_size=200))
def test_any_text_is_read_and_every_place_lies_in_it(text: str) -> None:
    for quantity in quantities(text):
        assert 0 <= quantity.start < quantity.end <= len(text)
        assert quantity.low <= quantity.high


def test_two_numbers_that_and_joins_are_the_ends_of_a_range_and_no_sum() -> None:
    days = only("Repairs take between three and five days.")
    assert (days.low, days.high) == (3 * 86400, 5 * 86400)
    assert value_of("two hundred and five") == 205


@pytest.mark.parametrize(
    ("text", "bound"), [("not over 1,800 euros", "at most"), ("not below 5 degrees", "at least")]
)
def test_a_bound_may_be_said_by_denying_its_opposite(text: str, bound: str) -> None:
    assert only(text).bound == bound
