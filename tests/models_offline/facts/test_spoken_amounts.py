"""Amounts that several words tell are read with their value and unit."""

from __future__ import annotations

import pytest

from ragassay.models.offline.facts.quantities import quantities

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
