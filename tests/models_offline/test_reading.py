"""Sentences keep exact offsets, in any text, in linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.models.offline.reading import LONGEST_UNIT, PassageIndexes, read, stem, tokens, units

WEIRD = st.text(st.characters(), max_size=200) | st.text(
    "ab. \n\u2028!?0'’\u0301😀\ud800", max_size=200
)


@given(WEIRD)
def test_units_are_in_order_disjoint_trimmed_and_hold_every_visible_character(text: str) -> None:
    places = list(units(text))
    last = 0
    for start, end in places:
        assert last <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        assert end - start <= LONGEST_UNIT
        assert not text[last:start].strip()
        last = end
    assert not text[last:].strip()


def test_sentences_are_found() -> None:
    text = "Dr. Smith met 3.5 million people.  He left!\n\nNobody came."
    assert [text[a:b] for a, b in units(text)] == [
        "Dr. Smith met 3.5 million people.",
        "He left!",
        "Nobody came.",
    ]


@given(st.lists(WEIRD, max_size=4))
def test_a_shelf_points_at_verbatim_text_of_the_right_passage(passages: list[str]) -> None:
    passage_index = read(passages)
    for unit, (passage, start, end) in enumerate(passage_index.places.tolist()):
        assert passage_index.text(unit) == passages[passage][start:end] != ""
    assert len(passage_index.keys) == len(passage_index.unit_of)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("nations", "nation"),
        ("cities", "city"),
        ("played", "playing"),
        ("Smith's", "Smith"),
        ("5,000", "5000"),
        ("two", "2"),
    ],
)
def test_forms_of_one_word_have_one_key(one: str, other: str) -> None:
    assert [t.key for t in tokens(one)] == [t.key for t in tokens(other)]


def test_short_words_keep_their_letters() -> None:
    assert [stem(w) for w in ("is", "gas", "red", "king", "bus")] == [
        "is",
        "gas",
        "red",
        "king",
        "bus",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["a", ".", " ", "Ab. ", "\n", "\u0301", '"(', "😀", "word and word. "]
)
def test_a_long_text_of_any_kind_is_read_in_linear_time(piece: str) -> None:
    def seconds(count: int) -> float:
        text = piece * (count // len(piece))
        started = time.process_time()
        read((text,))
        return time.process_time() - started

    seconds(1000)
    small, large = seconds(100_000), seconds(1_000_000)
    # Ten times the text: linear is ten times the time; a quadratic reader would need a hundred
    # times.
    assert large < 30 * small + 0.2


def test_shelves_stay_within_their_room() -> None:
    passage_indexes = PassageIndexes(characters=1000)
    for i in range(50):
        passage_indexes.read((f"{i} " * 100,))
    assert sum(s.size for s, _ in passage_indexes._stored._results.values()) <= 1000
    assert passage_indexes.read(("x" * 5000,)) is passage_indexes.read(("x" * 5000,))
