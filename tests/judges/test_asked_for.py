"""A question asks for a kind of thing, and a response that names none of it answers another one."""

from __future__ import annotations

import pytest

from ragassay.judges.text_rules.asked_for import missing_kind

BESIDE = [
    (
        "How much does the ferry to Alsen cost?",
        "The ferry to Alsen leaves at 8:15 and takes an hour.",
    ),
    (
        "What is the price of the blue tent?",
        "The blue tent sleeps four people and weighs 3 kilograms.",
    ),
    (
        "What does a swimming lesson cost?",
        "The lesson takes 45 minutes and is taught by two trainers.",
    ),
    (
        "Which colours does the lamp come in?",
        "The lamp is 40 centimetres high and takes 3 bulbs.",
    ),
    (
        "When does the bakery open on weekdays?",
        "The bakery sells rye bread, rolls and plum cake.",
    ),
    (
        "How long does the battery last?",
        "The battery is made of lithium cells from Norway.",
    ),
    (
        "How many pages does the report have?",
        "The report was written by the city council of Lund.",
    ),
    (
        "How heavy is the tent?",
        "The tent is sewn from waxed cotton in Portugal.",
    ),
    (
        "What time does the museum close?",
        "The museum shows paintings from Spain and Portugal.",
    ),
]
TO_IT = [
    (
        "How much does the ferry to Alsen cost?",
        "The ferry to Alsen is free for residents and guests.",
    ),
    (
        "What is the price of the blue tent?",
        "You can have the blue tent for 80 euros in our shop.",
    ),
    (
        "What does a swimming lesson cost?",
        "A lesson of 45 minutes is included in the season ticket.",
    ),
    (
        "Which colours does the lamp come in?",
        "The 3 versions of the lamp are sand, slate and mint.",
    ),
    (
        "In which colours is the chair sold?",
        "You can buy the chair in Nordic Mist and Desert Dune.",
    ),
    (
        "When does the bakery open on weekdays?",
        "The bakery opens as soon as the first bread is done.",
    ),
    (
        "How long does the battery last?",
        "The battery lasts for the whole life of the watch.",
    ),
    (
        "How many pages does the report have?",
        "The report has several pages on each of the districts.",
    ),
    (
        "How heavy is the tent?",
        "The tent is so light that a child can carry it.",
    ),
    (
        "Who wrote the report of the council?",
        "The report was written by the city council of Lund.",
    ),
    (
        "How much does it cost, and when does it run?",
        "The tram to the harbour runs at noon each day.",
    ),
]


@pytest.mark.parametrize(("question", "response"), BESIDE)
def test_a_response_without_the_kind_of_thing_that_is_asked_for(
    question: str, response: str
) -> None:
    assert missing_kind(question, response)


@pytest.mark.parametrize(("question", "response"), TO_IT)
def test_a_response_that_may_name_what_is_asked_for(question: str, response: str) -> None:
    assert not missing_kind(question, response)
