"""Which texts give an answer away, and which responses state it."""

from __future__ import annotations

import pytest

from ragassay.stress.answer import Answer, other_years

# question, answer, passage that gives it away
LEAKS = [
    ("When did it open?", "1937", "It opened in nineteen thirty-seven."),
    ("When did it open?", "1937", "They were proud of it in '37."),
    ("When did it open?", "1937", "It opened on 3 May 1937."),
    ("How much was it?", "44 billion", "They paid $44bn for it."),
    ("How much was it?", "$44bn", "They paid 44 billion dollars."),
    ("How many people live there?", "12,000", "There are 12000 of them."),
    ("How many people live there?", "12,000", "About twelve thousand people."),
    ("Who wrote it?", "Anna Smith", "It is by Smith."),
    ("Who wrote it?", "Anna Smith", "SMITH, Anna: collected letters."),
    ("Where is it?", "Paris", "It stands in paris, by the river."),
    ("Which body decides?", "United Nations", "The UN decides."),
    ("What do plants use?", "photosynthesis", "Plants live by photosynthesis."),
    (
        "Why does the sky look blue?",
        "Air scatters short waves of light more than long waves",
        "Short light waves are scattered by air, and long waves less.",
    ),
    ("How many bridges are there?", "three", "There are 3 bridges in the town."),
]


@pytest.mark.parametrize(("question", "answer", "passage"), LEAKS)
def test_a_passage_that_says_the_answer_in_any_form_gives_it_away(
    question: str, answer: str, passage: str
) -> None:
    assert Answer(question, answer).leaks_in(passage)


FIT = [
    ("When did the bridge open?", "1937", "The bridge opened in 1938."),
    ("How much was it?", "44 billion", "They paid 44 million."),
    ("Who wrote it?", "Anna Smith", "It is by Anna Jones, of whom little is known."),
    ("Where is it?", "Paris", "It stands in London."),
    # A small count elsewhere says nothing about what is asked for.
    ("How many bridges are there?", "three", "She had 3 cats."),
    ("What do plants use?", "photosynthesis", "Plants live on light."),
]


@pytest.mark.parametrize(("question", "answer", "passage"), FIT)
def test_a_passage_that_says_something_else_does_not(
    question: str, answer: str, passage: str
) -> None:
    assert not Answer(question, answer).leaks_in(passage)


def test_what_the_question_names_is_no_part_of_the_answer() -> None:
    answer = Answer(
        "Did Smith or Jones open it in 1937?", "Smith opened it in 1937, on 4 May 1938."
    )
    assert [answer.text[d.start : d.end] for d in answer.dates] == ["4 May 1938"]
    assert Answer("Was it Smith or Jones?", "Smith").is_named_in_question


@pytest.mark.parametrize("answer", ["yes", "No.", "no"])
def test_a_yes_or_no_cannot_be_searched_for(answer: str) -> None:
    assert not Answer("Did it open in 1937?", answer).is_checkable


STATED = [
    ("1937", "It was in 1937.", True),
    ("1937", "In nineteen thirty-seven, they say.", True),
    ("1937", "It was in 1938.", False),
    ("1937", "", False),
    ("4 May 1937 in Paris", "In Paris, on 4 May 1937.", True),
    # One of two values is not the answer.
    ("4 May 1937 in Paris", "On 4 May 1937.", False),
]


@pytest.mark.parametrize(("answer", "response", "stated"), STATED)
def test_a_response_states_an_answer_with_all_its_values(
    answer: str, response: str, stated: bool
) -> None:
    assert Answer("When and where did it open?", answer).is_stated_in(response) is stated


def test_years_are_read_as_they_are_spoken() -> None:
    assert list(other_years("nineteen oh five and eighteen twelve")) == [1905, 1812]
    assert list(other_years("don't say '9 or 37'")) == []


def test_a_last_name_that_joins_words_elsewhere_gives_the_answer_away() -> None:
    answer = Answer("Who ordered the Forbidden City to be built?", "Zhu Di")
    assert answer.leaks_in("Some say Di.")
    assert not answer.leaks_in("The piece is called Corso di Porta Nuova.")
    # A word that says nothing alone is no name.
    assert not Answer("Which album has it?", "Hold On").leaks_in("On the whole it was liked.")
    assert not Answer("Who ruled in 1512?", "Selim I").leaks_in("I do not know.")
