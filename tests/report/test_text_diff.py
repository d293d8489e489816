"""Two texts side by side: joined, the pieces are the texts again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragassay.report.text_diff import MOST_WORDS, Piece, text_diff


def test_what_only_one_has_is_marked_in_it_alone() -> None:
    left, right = text_diff("for two years.", "for nine years.")
    assert left == [Piece("for ", True), Piece("two", False), Piece(" years.", True)]
    assert right == [Piece("for ", True), Piece("nine", False), Piece(" years.", True)]


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_pieces_are_the_texts_again_and_what_is_the_same_is_in_both(a: str, b: str) -> None:
    left, right = text_diff(a, b)
    assert "".join(piece.text for piece in left) == a
    assert "".join(piece.text for piece in right) == b
    same = [[piece.text for piece in side if piece.same] for side in (left, right)]
    assert "".join(same[0]) == "".join(same[1])


def test_long_texts_are_compared_by_lines_and_the_longest_not_at_all() -> None:
    lines = [f"line {n} of many words\n" for n in range(MOST_WORDS // 2)]
    other = [*lines[:5], "changed\n", *lines[6:]]
    left, right = text_diff("".join(lines), "".join(other))
    assert [piece.text for piece in left if not piece.same] == [lines[5]]
    assert [piece.text for piece in right if not piece.same] == ["changed\n"]
    longest = "x\n" * (2 * MOST_WORDS + 1)
    assert text_diff(longest, longest + "y") == (
        [Piece(longest, False)],
        [Piece(longest + "y", False)],
    )
