"""Where the claims of a response stand, and which pieces are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.metrics import split_claims


def kept(response: str) -> list[str]:
    return [piece.text for piece in split_claims(response) if not piece.dropped]


def dropped(response: str) -> list[tuple[str, str]]:
    return [(piece.text, piece.dropped) for piece in split_claims(response) if piece.dropped]


@pytest.mark.parametrize(
    ("response", "claims"),
    [
        (
            "Dr. Lee paid $3.5 million to the U.S. Army. It left.",
            ["Dr. Lee paid $3.5 million to the U.S. Army.", "It left."],
        ),
        (
            "It opened in 1999.[2] It closed. [1][3] It burned.",
            ["It opened in 1999.[2]", "It closed. [1][3]", "It burned."],
        ),
        ("# Answer\n\nIt is red.", ["It is red."]),
        ("Colours\n-------\nIt is red.", ["It is red."]),
        ("- one is red\n* two is blue. It costs 3.\n3) three", ["one is red", "two is blue.", "It costs 3.", "three"]),
        ("1. It is\n   very long.\n2. It is short.", ["It is\n   very long.", "It is short."]),
        ("First 1. Red is hot. 2. Blue is cold.", ["First 1.", "Red is hot.", "2. Blue is cold."]),
        ("> It is quoted.", ["It is quoted."]),
        ("| name | cost |\n|---|---|\n| pen | 3 |\n| ink | 4 |", ["| pen | 3 |", "| ink | 4 |"]),
        ("It runs:\n```\nx = 1. y = 2.\n```\nIt stops.", ["It stops."]),
        ("```\nnever closed. It goes on.", []),
        ("**Paris**", ["**Paris**"]),
        ("**Paris**\n\nIt is the capital.", ["**Paris**", "It is the capital."]),
        ("It is old.\n\n**History**\n\nIt burned.", ["It is old.", "It burned."]),
        ("One line\nof one sentence.\n\nAnother.", ["One line\nof one sentence.", "Another."]),
        ("It is red.\r\nIt is blue.", ["It is red.", "It is blue."]),
        ("42", ["42"]),
        ("Yes", ["Yes"]),
        ("", []),
        (" \n\t\n", []),
        ("巴黎是首都。它很大。", ["巴黎是首都。", "它很大。"]),
    ],
)
def test_a_response_is_cut_into_its_claims(response: str, claims: list[str]) -> None:
    assert kept(response) == claims


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Sure!", "politeness"),
        ("Hello there,", "politeness"),
        ("I hope this helps.", "politeness"),
        ("Let me know if you have any further questions!", "politeness"),
        ("If you have any questions, just ask.", "politeness"),
        ("Great question!", "politeness"),
        ("Thank you for your question.", "politeness"),
        ("I'm sorry.", "politeness"),
        ("Sure, here is a summary of the answer:", "lead-in"),
        ("Here's what I found.", "lead-in"),
        ("The main points are:", "lead-in"),
        ("Would you like to know more?", "question"),
        ("Sources: [1], [2]", "citation"),
        ("https://example.org/page", "citation"),
        ("***", "no words"),
        ("## Overview", "heading"),
    ],
)
def test_a_trivial_piece_is_dropped_and_stays_visible_with_its_reason(text: str, reason: str) -> None:
    assert dropped(text) == [(text, reason)]


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I'm sorry, but the documents do not say when it opened.",
        "Sorry, we are closed on Mondays.",
        "Sure, it opens at nine.",
        "The city has 3 parks:",
        "Here is the capital: Paris.",
        "Thank you letters cost 2 euros.",
        "No.",
        "Good morning America is a show.",
        "[REDACTED] signed the treaty.",
    ],
)
def test_what_may_be_a_claim_is_kept(text: str) -> None:
    assert kept(text) == [text]


TEXT = st.lists(
    st.sampled_from(
        ["It is red.", " ", "\n", "\n\n", "\r\n", "- ", "1. ", "> ", "# ", "| a | b |", "|---|---|", "```", "**Bold**",
         "[1]", "Dr. ", "3.5", "e.g. ", "!", "?", ":", "“Quoted.”", "😀", "e\u0301", "\u2028", "\x00", "\ud800", "。",
         "---", "===", "\t"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


@given(TEXT | st.text(st.characters(), max_size=80))
def test_pieces_stand_exactly_in_the_response_in_order_and_do_not_overlap(response: str) -> None:
    at = 0
    for piece in split_claims(response):
        assert response[piece.start : piece.end] == piece.text
        assert piece.text == piece.text.strip() != ""
        assert piece.start >= at
        at = piece.end


@given(TEXT)
def test_no_letter_or_figure_outside_a_list_number_is_lost(response: str) -> None:
    covered = {i for piece in split_claims(response) for i in range(piece.start, piece.end)}
    missing = "".join(c for i, c in enumerate(response) if i not in covered and c.isalpha())
    assert missing == ""


@pytest.mark.parametrize(
    "unit", ["a", "( ", "* ", "| ", "> ", "1. ", "[1] ", "```\n", "a. ", "\n", "**", "http://", "if you have any "]
)
def test_a_long_hostile_response_takes_time_in_proportion(unit: str) -> None:
    began = time.process_time()
    split_claims(unit * (200_000 // len(unit)))
    assert time.process_time() - began < 3
