"""Quotes are located in the contexts, verbatim or nearly so, with exact offsets."""

from __future__ import annotations

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ragassay.core import Evidence
from ragassay.judges.llm.quotes import Finder, Normal, find

A = "The bridge, opened to traffic in 1932, has a span of 503 metres."
B = "The  town’s market —\nheld on “Saturdays” — closes at NOON."


def found(quote: str, passage: int | None = None) -> list[tuple[int, str]]:
    return [(e.context, e.quote) for e in find(quote, (A, B), passage)]


CASES = {
    "exact": ("opened to traffic in 1932", [(0, "opened to traffic in 1932")]),
    "with quote marks around it": ('"opened to traffic"', [(0, "opened to traffic")]),
    "other case": ("THE BRIDGE", [(0, "The bridge")]),
    "joined spaces": ("The town's market", [(1, "The  town’s market")]),
    "line break and dash": ("market - held on", [(1, "market —\nheld on")]),
    "typography": ('town\'s market — held on "Saturdays" — closes at noon', [(1, B[5:-1])]),
    "ellipsis": (
        "The bridge ... span of 503 metres",
        [(0, "The bridge"), (0, "span of 503 metres")],
    ),
    "bracketed ellipsis": ("opened [...] 503 metres", [(0, "opened"), (0, "503 metres")]),
    "ellipsis between quote marks": (
        '"The bridge" \u00a0...\u00a0 "503 metres"',
        [(0, "The bridge"), (0, "503 metres")],
    ),
    "ellipsis at the ends": ("…opened to traffic…", [(0, "opened to traffic")]),
    "pieces in the wrong order": ("503 metres ... The bridge", []),
    "pieces of two contexts": ("The bridge ... closes at NOON", []),
    "changed number": ("opened to traffic in 1933", []),
    "too short": ("a", []),
    "empty": ("", []),
    "only dots": ("...", []),
    "nowhere": ("the tunnel", []),
}


@pytest.mark.parametrize(("quote", "expected"), CASES.values(), ids=CASES)
def test_a_quote_is_found_where_it_stands(quote: str, expected: list[tuple[int, str]]) -> None:
    assert found(quote) == expected


def test_the_passage_that_is_named_comes_first_and_the_others_still_count() -> None:
    contexts = ("It is red.", "It is red.")
    assert [e.context for e in find("is red", contexts)] == [0]
    assert [e.context for e in find("is red", contexts, 1)] == [1]
    assert [e.context for e in find("is red", contexts, 7)] == [0]
    assert found("span of 503", 1) == [(0, "span of 503")]


def test_no_contexts_hold_no_quote() -> None:
    assert find("anything", ()) == ()


@given(st.text(min_size=3), st.data())
def test_a_stretch_of_a_context_is_found_with_offsets_that_give_its_text(
    context: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(context) - 3))
    end = data.draw(st.integers(start + 3, len(context)))
    quote = context[start:end]
    assume(quote.strip(" \t\r\n\"'“”„«»‘’") == quote)
    (evidence,) = find(quote, ("", context))
    assert evidence.quote == quote == context[evidence.start : evidence.end]


@given(st.text(), st.lists(st.text(), max_size=4))
def test_evidence_is_always_verbatim_text_of_its_context(quote: str, contexts: list[str]) -> None:
    for e in find(quote, contexts):
        assert e == Evidence(e.context, e.start, e.end, contexts[e.context][e.start : e.end])
        assert 0 <= e.start < e.end <= len(contexts[e.context])


@given(st.text(min_size=1), st.data())
def test_a_normalised_span_maps_back_to_text_that_normalises_to_it(
    text: str, data: st.DataObject
) -> None:
    normal = Normal(text)
    assume(normal.text)
    start = data.draw(st.integers(0, len(normal.text) - 1))
    end = data.draw(st.integers(start + 1, len(normal.text)))
    piece = normal.text[start:end]
    assume(piece == piece.strip())
    low, high = normal.span(start, end)
    assert piece in Normal(text[low:high]).text


@pytest.mark.timing
@pytest.mark.slow
def test_the_search_is_linear_in_the_contexts() -> None:
    def seconds(n: int) -> float:
        finder = Finder(("ab " * n, "ba " * n))
        start = time.process_time()
        assert finder.find("AB BA AB ... nowhere") == ()
        return time.process_time() - start

    small = min(seconds(20_000) for _ in range(3))
    assert min(seconds(200_000) for _ in range(2)) < 25 * small + 0.05


HOSTILE = {
    "spaces": "ab" + " " * 1_000_000 + "cd",
    "spaces within the limit": "ab" + " " * 19_000 + "cd",
    "dots": ".." * 500_000 + "a",
    "dots within the limit": "ab" + ". " * 9_000 + "cd",
    "brackets": "[" * 19_000 + "...",
    "ellipses": "ab…" * 6_000,
    "open ellipses": "[... " * 3_900,
}


@pytest.mark.timing
@pytest.mark.parametrize("quote", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_quote_is_refused_in_little_time(quote: str) -> None:
    finder = Finder((A, B, "ab " * 10_000))
    start = time.process_time()
    assert finder.find(quote) == ()
    assert time.process_time() - start < 0.2


def test_a_quote_of_more_than_20_000_characters_is_not_found_even_where_it_stands() -> None:
    context = "word " * 5_000
    assert find(context[:19_999], (context,))
    assert find(context[:20_001], (context,)) == ()
