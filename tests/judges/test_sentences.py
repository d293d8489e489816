"""Where the sentences of a passage are: nothing lost, nothing twice, exact offsets, linear time."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.judges.text_rules.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two!  Three?", ["One.", "Two!", "Three?"]),
        ("# Title\n- first\n\n| a | b |\n|---|---|\n", ["# Title", "- first", "| a | b |"]),
        ("1. Open it. 2. Shut it.", ["1. Open it.", "2. Shut it."]),
        ("No. It was Dr. Smith, at 3.5 km.", ["No.", "It was Dr. Smith, at 3.5 km."]),
        ("no full stop", ["no full stop"]),
        (" \n--- ... !\n", []),
        ("", []),
        ("\ud800 lone. Next one.", ["\ud800 lone.", "Next one."]),
    ],
)
def test_lines_and_sentences_are_found(text: str, found: list[str]) -> None:
    assert cut(text) == found


@given(st.text(st.characters() | st.sampled_from(".!? \n1aB"), max_size=300))
def test_every_letter_and_digit_is_in_exactly_one_sentence(text: str) -> None:
    spans = sentences(text)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(b <= c for (_, b), (c, _) in pairwise(spans))
    assert "".join(c for c in text if c.isalnum()) == "".join(
        c for part in cut(text) for c in part if c.isalnum()
    )
    assert all(part == part.strip() for part in cut(text))


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["word ", "One more. ", "x\n", "1. ", ". ", " "])
def test_a_megabyte_takes_a_second_or_two(piece: str) -> None:
    started = time.process_time()
    sentences(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 15  # 2 s at most on a quiet machine
