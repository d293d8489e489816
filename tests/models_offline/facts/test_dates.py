"""Dates, weekdays and times of day are read as far as a text names them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.offline.facts.dates import Date, dates


def only(text: str) -> Date:
    (date,) = dates(text)
    return date


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("on 3 May 1937", {"years": (1937, 1937), "month": 5, "day": 3}),
        ("on May 3rd, 1937", {"years": (1937, 1937), "month": 5, "day": 3}),
        ("on the 3rd of May", {"month": 5, "day": 3}),
        ("1937-05-03", {"years": (1937, 1937), "month": 5, "day": 3}),
        ("in May 1937", {"years": (1937, 1937), "month": 5}),
        ("in 1937", {"years": (1937, 1937)}),
        ("in the 1930s", {"years": (1930, 1939)}),
        ("in the 19th century", {"years": (1800, 1900)}),
        ("on Mondays", {"weekday": 1}),
        ("at ten past three", {"minutes": 190}),
        ("at a quarter to four", {"minutes": 225}),
        ("at 9 pm", {"minutes": 1260}),
        ("at 9:30", {"minutes": 570}),
        ("at noon", {"minutes": 720}),
        ("at half past nine", {"minutes": 570}),
    ],
)
def test_a_date_is_read_in_the_parts_that_it_names(text: str, parts: dict[str, object]) -> None:
    assert only(text).parts() == parts


@pytest.mark.parametrize("text", ["It may rain.", "1937 km", "room 1937b", "$1,937", "page 3 of 5"])
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert dates(text) == []


@pytest.mark.parametrize(
    ("one", "other", "agrees"),
    [
        ("in 1937", "on 3 May 1937", True),
        ("in the 1930s", "in 1937", True),
        ("in 1938", "on 3 May 1937", False),
        ("on 4 May", "on 3 May 1937", False),
        ("at 9 pm", "at 21:00", True),
        ("at 9:00", "at 9 pm", True),
        ("at 9 am", "at 9 pm", False),
        ("on Monday", "in 1937", False),
    ],
)
def test_dates_agree_where_all_that_both_name_is_equal(one: str, other: str, agrees: bool) -> None:
    assert only(one).agrees(only(other)) is agrees


def test_dates_that_name_nothing_in_common_do_not_differ() -> None:
    assert not only("on Monday").differs(only("in 1937"))


@given(st.text(max_size=200))
def test_any_text_is_read_and_every_place_lies_in_it(text: str) -> None:
    for date in dates(text):
        assert 0 <= date.start < date.end <= len(text)
        assert date.parts()
