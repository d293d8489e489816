"""What the reader of facts cannot see is named: code, numbers it cannot place, sums."""

from __future__ import annotations

import pytest

from ragassay.models.offline.facts.finding import ABSENT, CONFLICT, Finding
from ragassay.models.offline.facts.text_facts import read_facts
from ragassay.models.offline.facts.unreadable import CODE, SUM, TABLE, is_code, unreadable

PRICES = """\
| Plan | Storage | Share | Price |
|---|---|---|---|
| Basic | 50 GB | 10 GB | $5 |
| Plus | 200 GB | 40 GB | $9 |
"""


def told(claim: str, *passages: str, question: str = "", absent: str = "") -> str:
    findings = []
    if absent:
        start = claim.index(absent)
        findings.append(Finding("number", ABSENT, start, start + len(absent), absent))
    return unreadable(
        read_facts(claim), read_facts(question), [read_facts(p) for p in passages], findings
    )


@pytest.mark.parametrize(
    "text",
    [
        "```\nx = 1\n```",
        "def total(values):\n    return sum(values)",
        "for (i = 0; i < 3; i++) {\n  total += i;\n}",
        "SELECT name FROM users WHERE id = 3",
    ],
)
def test_statements_of_a_program_are_code(text: str) -> None:
    assert is_code(text)
    assert told(text, "It adds three numbers.") == CODE


@pytest.mark.parametrize(
    "text",
    [
        "Use --judge openai:MODEL to name a language model.",
        "The class of 1998 was large; the import of wheat fell.",
        "Call run.scores (an Arrow table) for the figures.",
    ],
)
def test_sentences_about_a_program_are_none(text: str) -> None:
    assert not is_code(text)


def test_a_number_of_a_table_is_placed_by_its_row_and_its_column_or_its_unit() -> None:
    assert told("The Plus plan costs $9.", PRICES) == ""
    assert told("The storage of Plus is 200 GB.", PRICES) == ""
    assert told("Plus has 40 GB.", PRICES) == TABLE
    assert told("It costs $9.", PRICES) == TABLE
    assert told("It costs $9.", PRICES, question="What is the price of Plus?") == ""


def test_a_number_that_stands_in_a_sentence_too_needs_no_table() -> None:
    assert told("It costs $9.", PRICES, "Plus is $9 a month.") == ""


def test_a_total_of_several_numbers_is_not_computed() -> None:
    passage = "North makes 300 tonnes. South makes 240 tonnes. West makes 410 tonnes."
    claim = "The three plants make 950 tonnes together."
    assert told(claim, passage, absent="950 tonnes") == SUM
    # A total that the passages give is read there.
    assert told(claim, f"{passage} Together that is 950 tonnes.", absent="950 tonnes") == ""


def test_what_the_passages_deny_is_judged() -> None:
    claim = read_facts("It costs $9.")
    conflict = Finding("number", CONFLICT, 9, 11, "$9", "$5")
    assert unreadable(claim, read_facts(""), [read_facts(PRICES)], [conflict]) == ""
