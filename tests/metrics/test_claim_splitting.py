"""Where the claims of a response stand, and which pieces are none."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Sample
from ragassay.judges.text_rules.trivial import trivial
from ragassay.metrics import split_claims
from ragassay.metrics.graph.claims import MAX_CLAIMS, under_headings, without_bare_answers
from ragassay.metrics.graph.statements import statements_of


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
        (
            "- one is red\n* two is blue. It costs 3.\n3) three",
            ["one is red", "two is blue.", "It costs 3.", "three"],
        ),
        ("1. It is\n   very long.\n2. It is short.", ["It is\n   very long.", "It is short."]),
        ("First 1. Red is hot. 2. Blue is cold.", ["First 1.", "Red is hot.", "2. Blue is cold."]),
        ("> It is quoted.", ["It is quoted."]),
        ("| name | cost |\n|---|---|\n| pen | 3 |\n| ink | 4 |", ["| pen | 3 |", "| ink | 4 |"]),
        ("It runs:\n```\nx = 1. y = 2.\n```\nIt stops.", ["It stops."]),
        ("```\nnever closed. It goes on.", ["never closed.", "It goes on."]),
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
        ("Could you tell me, which city do you mean?", "question"),
        ("Is there anything else I can help you with?", "question"),
        ("Do you want details on Paris, Rome or Berlin?", "question"),
        ("Let me know if you need more information about the Eiffel Tower.", "politeness"),
        ("If you need any more details about the refund policy, please let me know!", "politeness"),
        ("Sure, happy to help \U0001f60a", "politeness"),
        ("To install the package, follow these steps:", "lead-in"),
        ("Advantages:", "lead-in"),
        ("Based on the provided passages, here is how to grill a steak:", "lead-in"),
        (
            "In conclusion, based on the given documents, the benefits of a garden include:",
            "lead-in",
        ),
        ("Let me walk you through this step by step.", "lead-in"),
        ("I have reviewed the passages carefully.", "lead-in"),
        ("Your question is about the warranty of the lamp.", "the question again"),
        ("If anything is unclear, just ask.", "politeness"),
        ("That should answer your question.", "politeness"),
        ("This answer is based on the provided documents.", "about the answer"),
    ],
)
def test_a_trivial_piece_is_dropped_and_stays_visible_with_its_reason(
    text: str, reason: str
) -> None:
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
        "OK 巴黎是德国的首都。",
        "Sure Париж столица Германии.",
        "要点：巴黎是德国的首都：",
        "https://example.org巴黎是德国的首都。",
        "Let me know, the dose is 500 mg every hour and the patient lives in Berlin.",
        "Let me know if you want to hear why Paris is the capital of Germany.",
        "I hope this helps: Paris is in Germany.",
        "If you have any questions, the refund takes 90 days and costs 500 dollars",
        "If you have any questions, stop all medicine at once.",
        "Feel free to contact us on 5551234.",
        "The dose is 500 mg, isn't it?",
        "Paris is the capital of Germany, right?",
        "Did you know that Paris is in Germany?",
        "When you ask, the capital is Berlin?",
        "Based on the passages, Paris is the capital of Germany:",
        "Here is why Paris lives in Germany:",
        "The patient must stop taking the medicine and never return to Berlin:",
        "Let me add that children pay half.",
        "Let me walk you through it: the fee is 3 euros.",
        "If you need help, press the red button.",
        "That covers all products.",
        "I found you.",
    ],
)
def test_what_may_be_a_claim_is_kept(text: str) -> None:
    assert kept(text) == [text]


@pytest.mark.parametrize(
    ("heading", "claim"),
    [
        ("# Paris is in Germany", "Paris is in Germany"),
        ("Paris is in Germany\n---", "Paris is in Germany"),
        ("**Paris is in Germany**", "**Paris is in Germany**"),
        ("## The dose: 500 mg every hour", "The dose: 500 mg every hour"),
        ("# Take all of it.", "Take all of it."),
        ("# 巴黎是德国的首都", "巴黎是德国的首都"),
        ("| Paris is in Germany | cost |\n|---|---|", "| Paris is in Germany | cost |"),
        ("## Overview", None),
        ("## What is RAG?", None),
        ("## What is RAG", None),
        ("### Step 2: Install", None),
        ("| Name | Cost |\n|---|---|", None),
    ],
)
def test_a_heading_that_says_something_is_a_claim(heading: str, claim: str | None) -> None:
    assert kept(f"It is red.\n\n{heading}\n\nIt is blue.") == [
        "It is red.",
        *([claim] if claim else []),
        "It is blue.",
    ]


@pytest.mark.parametrize(
    ("fenced", "claims"),
    [
        ("```\nParis is in\nGermany.\n```", ["Paris is in\nGermany."]),
        ("```text\nx = 1\n\nParis is in Germany.\n```", ["Paris is in Germany."]),
        ("``` Paris is in Germany\nx = 1\n```", ["Paris is in Germany"]),
        ("```python\nfor x in y:\n    print(x)\n```", []),
        ("````\n```\nx = 1\n````", []),
        ("~~~\nParis is in Germany.", ["Paris is in Germany."]),
        ("```\nx = 1\n\nParis is in Germany.", ["x = 1", "Paris is in Germany."]),
    ],
)
def test_prose_between_fences_and_all_text_after_an_open_one_are_claims(
    fenced: str, claims: list[str]
) -> None:
    found = [text.removeprefix("``` ") for text in kept(f"It is red.\n\n{fenced}")]
    assert found == ["It is red.", *claims]


@pytest.mark.parametrize(
    "response",
    ["```\nx = 1\n```", "# Paris", "Sure!\n\n# Paris", "```\nrm -rf /\n```\nI hope this helps."],
)
def test_an_answer_of_nothing_but_code_or_headings_is_judged(response: str) -> None:
    assert len(kept(response)) == 1


@pytest.mark.parametrize("unit", ["It is red.\n\n", "- a\n", "It is. "])
def test_past_the_most_claims_the_rest_is_one_claim_and_nothing_is_lost(unit: str) -> None:
    response = unit * 5_000 + "Paris is in Germany."
    pieces = split_claims(response)
    assert len(pieces) == MAX_CLAIMS + 2
    assert pieces[-1].text.endswith("Paris is in Germany.")
    assert (pieces[-1].end, pieces[-1].dropped) == (len(response), "")


def test_a_claim_behind_thousands_of_dropped_pieces_is_still_judged() -> None:
    assert kept("Sure!\n\n" * 20_000 + "Paris is in Germany.")[-1].endswith("Paris is in Germany.")


def test_a_paragraph_longer_than_a_window_is_cut_into_the_same_sentences() -> None:
    sentences = [f"Dr. Lee paid $3.5 million in round {n}. [{n}]" for n in range(900)]
    assert kept(" ".join(sentences)) == sentences


TEXT = st.lists(
    st.sampled_from(
        [
            "It is red.",
            " ",
            "\n",
            "\n\n",
            "\r\n",
            "- ",
            "1. ",
            "> ",
            "# ",
            "| a | b |",
            "|---|---|",
            "```",
            "**Bold**",
            "[1]",
            "Dr. ",
            "3.5",
            "e.g. ",
            "!",
            "?",
            ":",
            "“Quoted.”",
            "😀",
            "e\u0301",
            "\u2028",
            "\x00",
            "\ud800",
            "。",
            "---",
            "===",
            "\t",
        ]
    ),
    max_size=25,
).map("".join)


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "( ",
        "* ",
        "| ",
        "> ",
        "1. ",
        "[1] ",
        "```\n",
        "```a\n",
        "a. ",
        "\n",
        "**",
        "http://",
        "if you have any ",
        "“",
        "'",
        "a\n\n",
        "- a\n",
        "#\n",
        "# a b\n",
        "Sure!\n",
        "“a. ",
        "「",
        "a|b\n-|-\n",
        "let me know about ",
        "What?\n",
    ],
)
def test_a_hostile_response_of_a_megabyte_takes_time_in_proportion(unit: str) -> None:
    began = time.process_time()
    split_claims(unit * (1_000_000 // len(unit)))
    assert time.process_time() - began < 4  # about 0.7 s at most on a quiet machine


def test_fences_that_nothing_closes_are_looked_for_once() -> None:
    began = time.process_time()
    split_claims("\n".join("`" * n for n in range(1_400, 3, -1)))
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("(Passage 1)", "citation"),
        ("(passages 1 and 2).", "citation"),
        ("[Source 3]", "citation"),
        ("(see Document 12, 13)", "citation"),
        ("(Passage 1 says that it opened)", ""),
        ("Passage 1 is wrong.", ""),
    ],
)
def test_a_bare_reference_to_a_passage_makes_no_claim(text: str, dropped: str) -> None:
    *_, last = split_claims(f"Bring a pot of water to a boil. {text}")
    assert (last.text, last.dropped) == (text, dropped)


@pytest.mark.timing
@pytest.mark.parametrize(
    "text", ["(Passage 1" + " and 1" * 60, "(Passage 1" + ", ," * 120, "(Passage 1) " * 30 + "x"]
)
def test_a_reference_that_never_closes_costs_no_time(text: str) -> None:
    started = time.perf_counter()
    assert trivial(text) == ""
    assert time.perf_counter() - started < 0.5


COVER = "The policy excludes [1]:\n- racing\n- diving. It is risky.\n\nIt costs 9 euros."


def test_what_only_a_list_completes_is_no_claim_and_its_items_are_read_with_it() -> None:
    pieces = split_claims(COVER)
    assert [(piece.text, piece.dropped) for piece in pieces] == [
        ("The policy excludes [1]:", "list heading"),
        ("racing", ""),
        ("diving.", ""),
        ("It is risky.", ""),
        ("It costs 9 euros.", ""),
    ]
    headings = under_headings(COVER, pieces)
    assert {COVER[at:].split()[0]: words for at, words in headings.items()} == {
        "racing": "The policy excludes",
        "diving.": "The policy excludes",
    }


@pytest.mark.parametrize(
    "response",
    [
        "It is covered: racing is not.",
        "The 3 things that are covered:\n- racing\n- diving",
        "It excludes:\nracing and diving",
        "It says:",
    ],
)
def test_a_colon_that_opens_no_list_or_a_heading_that_counts_leaves_a_claim(response: str) -> None:
    assert under_headings(response, split_claims(response)) == {}
    assert kept(response)


@pytest.mark.parametrize(
    ("response", "claims"),
    [
        ("Yes, within limits. Five days carry over.", ["Five days carry over."]),
        ("Not by default. It comes with Enterprise.", ["It comes with Enterprise."]),
        ("It's best not to. It is not safe.", ["It is not safe."]),
        ("Yes.", ["Yes."]),
        ("No, it closed. It burned.", ["No, it closed.", "It burned."]),
        ("Yes, it is covered. It costs 9 euros.", ["Yes, it is covered.", "It costs 9 euros."]),
        ("Usually on Mondays. It is red.", ["Usually on Mondays.", "It is red."]),
    ],
)
def test_a_mere_yes_or_no_beside_claims_is_none(response: str, claims: list[str]) -> None:
    pieces = without_bare_answers(split_claims(response))
    assert [piece.text for piece in pieces if not piece.dropped] == claims


def test_a_mere_yes_or_no_beside_other_statements_of_a_reference_is_none():
    def statements(reference: str) -> tuple[str, ...]:
        return statements_of(Sample("a", question="Is it open?", reference=reference))

    assert statements("Yes. It opens at nine.") == ("It opens at nine.",)
    assert statements("Yes.") == ("Yes.",), "alone it is the answer"
    assert statements("Yes, from nine on.") == ("Yes, from nine on.",)
