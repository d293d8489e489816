"""Answers changed by rules, and the passages that then say something false."""

from __future__ import annotations

import random
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.stress.answer import Answer
from ragassay.stress.swaps import Alternative, Change, changed, changes

OTHERS = [
    Alternative("Berta Jones", "who"),
    Alternative("London", "where"),
    Alternative("Oslo", "where"),
    Alternative("Lake Tana"),
    Alternative("respiration", "what", is_name=False),
]


def first(question: str, answer: str) -> Change | None:
    return next(changes(Answer(question, answer), OTHERS, random.Random(0)), None)


@pytest.mark.parametrize(
    ("question", "answer", "passage"),
    [
        ("When did it open?", "1937", "It opened in 1937, in May 1937."),
        ("When did it open?", "in May", "It opened in May."),
        ("How many live there?", "12,000", "Some 12,000 people live there."),
        ("How much was it?", "44 billion", "They paid $44bn, that is 44 billion dollars."),
        ("How many are there?", "three", "There are three of them."),
        ("Who wrote it?", "Anna Smith", "Anna Smith wrote it. Smith was ill then."),
        ("Where is it?", "Paris", "It is in Paris."),
        ("What do plants use?", "photosynthesis", "By Photosynthesis they live."),
    ],
)
def test_a_changed_passage_says_another_answer_and_not_the_true_one(
    question: str, answer: str, passage: str
) -> None:
    right = Answer(question, answer)
    change = first(question, answer)
    assert change is not None
    text = changed(passage, right, change)
    assert text is not None
    assert not right.leaks_in(text)
    assert Answer(question, change.new).is_stated_in(text)


def test_a_name_is_changed_to_one_that_answers_such_a_question() -> None:
    change = first("Where is it?", "Paris")
    assert change is not None
    assert change.new in ("London", "Oslo")
    change = first("Who wrote it?", "Anna Smith")
    assert change is not None
    assert change.new == "Berta Jones"


def test_every_form_of_a_number_is_changed_by_the_same_factor() -> None:
    right = Answer("How much was it?", "44 billion")
    text = changed("They paid $44bn: 44 billion.", right, Change("44 billion", "66 billion", ""))
    assert text == "They paid $66bn: 66 billion."


def test_what_is_not_there_is_not_changed() -> None:
    right = Answer("When did it open?", "1937")
    assert changed("It is a bridge.", right, Change("1937", "1940", "1940")) is None


def test_a_long_answer_without_a_value_has_no_other() -> None:
    answer = "Because the light that comes to us is scattered by the air"
    assert first("Why is the sky blue?", answer) is None


@given(st.integers(1100, 2050), st.integers(0, 1000))
def test_changed_years_differ_from_the_year_and_from_each_other(year: int, seed: int) -> None:
    found = list(changes(Answer("When was it?", str(year)), OTHERS, random.Random(seed)))
    texts = [change.new for change in found]
    assert str(year) not in texts
    assert len(set(texts)) == len(texts) >= 8


@given(st.integers(2, 10**9), st.integers(0, 100))
def test_changed_numbers_are_not_the_number(number: int, seed: int) -> None:
    answer = Answer("How many are there?", f"{number:,} things")
    for change in islice(changes(answer, OTHERS, random.Random(seed)), 5):
        assert change.new != change.old
