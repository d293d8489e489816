"""The windows of long passages: whole sentences, in order, nothing lost."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.models.local.windows import Piece, fitting, pieces_of, windows_of
from support.examples import examples


def words(texts: Sequence[str]) -> list[int]:
    """A token a word."""
    return [len(text.split()) for text in texts]


def read(passages: Sequence[str], room: int) -> list[list[str]]:
    """The texts of each window."""
    pieces = fitting(passages, pieces_of(passages, words), room, words)
    windows = windows_of(pieces, room)
    return [[passages[p.passage][p.start : p.end] for p in window] for window in windows]


def test_short_passages_are_one_window() -> None:
    assert read(["One two.", "Three four five."], 10) == [["One two.", "Three four five."]]


def test_a_passage_that_fits_into_a_window_is_not_divided() -> None:
    passages = ["One two three.", "Four five. Six seven."]
    # 3 + 2 would fit into 5, but then the second passage would be cut.
    assert read(passages, 5) == [["One two three."], ["Four five. Six seven."]]


def test_a_longer_passage_fills_the_windows_in_order() -> None:
    passages = ["One two. Three four. Five six. Seven.", "Eight."]
    assert read(passages, 4) == [["One two. Three four."], ["Five six. Seven.", "Eight."]]


def test_a_sentence_longer_than_a_window_is_cut_at_white_space() -> None:
    (first, *rest) = read(["one two three four five six"], 3)
    assert [len(text.split()) for window in [first, *rest] for text in window] == [3, 3]


def test_empty_passages_have_no_window() -> None:
    assert read(["", " \n "], 5) == []


@given(
    st.lists(st.text(alphabet="ab. \n", max_size=60), max_size=5),
    st.integers(2, 12),
)
@settings(max_examples=examples(200), deadline=None)
def test_each_letter_is_in_one_window_in_order_and_none_is_too_long(
    passages: list[str], room: int
) -> None:
    pieces = fitting(passages, pieces_of(passages, words), room, words)
    windows = windows_of(pieces, room)
    flat = [piece for window in windows for piece in window]
    assert [(p.passage, p.start) for p in flat] == sorted((p.passage, p.start) for p in flat)
    for number, passage in enumerate(passages):
        taken = "".join(passage[p.start : p.end] for p in flat if p.passage == number)
        assert "".join(taken.split()) == "".join(passage.split())
    for window in windows:
        assert sum(piece.tokens for piece in window) <= room


def test_pieces_of_one_passage_in_a_window_are_one() -> None:
    (window,) = windows_of([Piece(0, 0, 3, 1), Piece(0, 4, 8, 1), Piece(1, 0, 2, 1)], 5)
    assert window == [Piece(0, 0, 8, 2), Piece(1, 0, 2, 1)]
