"""Sentences of any text: the splitter's, with whatever it cannot take put right before or after."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import boundaries, is_fault
from support.examples import examples


def parts(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in boundaries(text)]


def test_abbreviations_and_decimals_end_no_sentence() -> None:
    assert parts("Dr. Smith paid 3.50 dollars. He left.") == [
        "Dr. Smith paid 3.50 dollars.",
        "He left.",
    ]


# The splitter itself ends the process's thread at each of these (sentencex 1.0.32).
@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2028", "\u0085", "\u2003", "\u202f"])
@pytest.mark.parametrize(
    "text", ["plan B{}.", "U.S{}.", "A{}. Smith wrote it.", "It was plan B{}. Then he left."]
)
def test_white_space_of_any_width_behind_a_capital_is_taken(text: str, space: str) -> None:
    given = text.format(space)
    assert "".join("".join(parts(given)).split()) == "".join(given.split())


def test_an_unpaired_surrogate_is_taken_and_moves_nothing() -> None:
    assert parts("One \ud800 two. Three.") == ["One \ud800 two.", "Three."]


class PanicException(BaseException):
    """As native code raises it."""


def test_where_the_splitter_fails_sentences_end_at_their_marks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(language: str, text: str) -> NoReturn:
        raise PanicException("end byte index 7 is not a char boundary")

    monkeypatch.setitem(sys.modules, "sentencex", SimpleNamespace(get_sentence_boundaries=broken))
    assert parts("He came. He saw!\nHe left") == ["He came.", "He saw!", "He left"]


def test_a_wish_to_end_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(language: str, text: str) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setitem(
        sys.modules, "sentencex", SimpleNamespace(get_sentence_boundaries=interrupted)
    )
    with pytest.raises(KeyboardInterrupt):
        boundaries("He came.")
    assert [
        is_fault(error) for error in (ValueError(), PanicException(), SystemExit(), GeneratorExit())
    ] == [
        True,
        True,
        False,
        False,
    ]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.text(st.characters() | st.sampled_from("ABc .!?\n\u00a0\u3000\u2028\x85é漢。"), max_size=40)
)
def test_any_text_has_boundaries_in_order_inside_it(text: str) -> None:
    found = boundaries(text)
    assert all(0 <= start <= end <= len(text) for start, end in found)
    assert found == sorted(found)
