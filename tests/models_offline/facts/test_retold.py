"""A claim is shown to the network with its amounts and dates as the passages write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.offline.facts.retold import Retold, retold
from ragassay.models.offline.facts.text_facts import read_facts

CASES = {
    "period": (
        "It is open for 42 days.",
        "It must be thrown away six weeks after opening.",
        "It is open for six weeks.",
    ),
    "length": ("It is 1,500 metres.", "It is 1.5 km long.", "It is 1.5 km."),
    "share": ("20 % came.", "One in five came.", "One in five came."),
    "date": ("It closes on January 31.", "It closes on 31 January.", "It closes on 31 January."),
    "money": ("It costs 31 dollars.", "It costs $31.", "It costs $31."),
}


@pytest.mark.parametrize("name", CASES)
def test_an_equal_amount_is_told_as_the_passage_tells_it(name: str) -> None:
    claim, passage, expected = CASES[name]
    assert retold(read_facts(claim), [read_facts(passage)]).text == expected


@pytest.mark.parametrize(
    ("claim", "passage"),
    [
        ("It is open for 42 days.", "It must be thrown away seven weeks after opening."),
        ("It costs 31 euros.", "It costs $31."),
        ("It weighs six weeks.", "It is open for six weeks."),
    ],
)
def test_what_differs_or_stands_there_already_is_left_alone(claim: str, passage: str) -> None:
    assert retold(read_facts(claim), [read_facts(passage)]).text == claim


def test_a_place_in_the_retold_text_is_found_again_in_the_claim() -> None:
    claim = "It lasts 42 days in all."
    told = retold(read_facts(claim), [read_facts("It lasts six weeks.")])
    start = told.text.index("in all")
    first, last = told.in_claim(start, start + len("in all"))
    assert claim[first:last] == "in all"
    start = told.text.index("six weeks")
    first, last = told.in_claim(start, start + len("six"))
    assert claim[first:last] == "42 days"


@given(st.text(max_size=40), st.data())
def test_a_claim_that_is_not_retold_keeps_its_places(text: str, data: st.DataObject) -> None:
    told = Retold(text, ())
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assert told.text == text
    assert told.in_claim(start, end) == (start, end)
