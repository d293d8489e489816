"""Entities by rule: what is one, what is none, and when one is found elsewhere."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.scoring import entities, entities_present, entity_recall


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # names
        ("We saw the Eiffel Tower in Paris.", ("Eiffel Tower", "Paris")),
        (
            "The University of the Arts hired Leonardo da Vinci.",
            ("University of the Arts", "Leonardo da Vinci"),
        ),
        ("Marie Curie's husband was Pierre Curie.", ("Marie Curie", "Pierre Curie")),
        ("It was J. R. R. Tolkien who wrote it.", ("J R R Tolkien",)),
        ("They are NASA and the U.S. Army, not IBM.", ("NASA", "U.S. Army", "IBM")),
        ("my iPhone prints in 3D", ("iPhone", "3D")),
        ("Über Zürich spricht Émile.", ("Über Zürich", "Émile")),
        # sentence openers
        ("Water boils. Sales rose.", ()),
        ("Paris grows. I like Paris.", ("Paris",)),  # the second shows what the first is
        ("Paris.", ("Paris",)),  # all there is
        ("In Rome it rained. However, Berlin stayed dry.", ("Rome", "Berlin")),
        ("I think I'm late. You are not.", ()),
        ("- Apples are red\n- Pears are not", ()),
        # numbers, units, dates
        ("It costs $5 million, or €3,000.50, up 40%.", ("$5 million", "€3,000.50", "40%")),
        ("A 5-year plan for 312 metres at 100 °C.", ("5-year", "312 metres", "100 °C")),
        (
            "On May 3, 2020 or 2020-05-03, 3rd of May 2020, March 1999.",
            ("May 3, 2020", "2020-05-03", "3rd of May 2020", "March 1999"),
        ),
        (
            "1. The first, 2nd of 7 [2][3, 4].",
            ("2nd", "7"),
        ),  # list numbers and citation marks are none
        ("東京タワーは1958年", ("1958",)),
        # titles and speech
        ('She read “The Old Man and the Sea”, then "Emma".', ("The Old Man and the Sea", "Emma")),
        ('"We will all go to Paris one day," said Bob.', ("Paris", "Bob")),
        ("Il a lu « Les Misérables » hier.", ("Les Misérables",)),
        # each once, in order
        ("Rome, then Paris, then Rome again.", ("Rome", "Paris")),
        ("", ()),
        ("no entity at all, none", ()),
    ],
)
def test_the_entities_of_a_text(text: str, expected: tuple[str, ...]) -> None:
    assert entities(text) == expected


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ("Eiffel Tower", "the EIFFEL\n  tower"),
        ("Café Müller", "cafe muller"),
        ("Cafe\u0301", "Café"),
        ("Łódź", "Lodz"),
        ("1,000 km", "1000 km"),
        ("1000", "1,000"),
        ("1,234,567", "1 234 567".replace(" ", "\u202f")),
        ("40%", "40 percent"),
        ("3.5", "about 3.5."),
        ("France", "France's president"),
        ("Jean-Paul", "Jean Paul"),
        ("U.S.", "the US army"),
        ("AT&T", "at AT&T today"),
        ("東京", "私は東京に住む"),
        ("“Emma”", "Emma"),
    ],
)
def test_an_entity_is_found_under_another_spelling(entity: str, text: str) -> None:
    assert entity_recall([entity], [text]) == 1.0


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        ("art", "a party"),  # whole words only
        ("5", "3.5 or 50"),
        ("Eiffel Tower", "Eiffel built a Tower"),
        ("US", "he told us"),  # a short acronym keeps its case
        ("WHO", "who is it"),
        ("Paris", ""),
    ],
)
def test_an_entity_is_not_found_in_what_only_looks_like_it(entity: str, text: str) -> None:
    assert entity_recall([entity], [text]) == 0.0


def test_recall_is_the_share_of_different_entities_found_in_any_text() -> None:
    # Paris and paris are one; Rome is in the second text, Berlin in none: 2 of 3.
    assert entity_recall(
        ["Paris", "paris", "Rome", "Berlin", "?"], ["in Paris", "to Rome"]
    ) == pytest.approx(2 / 3)
    assert entity_recall(["Paris"], []) == 0.0
    assert entity_recall([], ["Paris"]) is None
    assert entity_recall(["", "?!"], ["Paris"]) is None


def test_each_entity_is_answered_for_in_its_place() -> None:
    wanted = ["Paris", "?!", "PARIS", "US", "Rome", "Paris"]
    # PARIS is five capitals, so that its case does not count; US is two, so that its case does.
    assert entities_present(wanted, ["paris", "they told us"]) == (
        True,
        None,
        True,
        False,
        False,
        True,
    )
    assert entities_present([], ["Paris"]) == ()
    assert entities_present(["Paris"], []) == (False,)


def test_an_entity_does_not_span_two_texts() -> None:
    assert entity_recall(["Eiffel Tower"], ["by Eiffel", "Tower of London"]) == 0.0


TEXT = st.text(st.sampled_from("Ab c.De'1,0$%“”\"[]-\nM年é\u0301"), max_size=60) | st.text(
    max_size=60
)


@given(TEXT, TEXT)
def test_every_entity_of_a_text_is_found_in_that_text_and_more_texts_never_lower_the_recall(
    text: str, more: str
) -> None:
    found = entities(text)
    assert len(set(found)) == len(found)
    assert all(entity.strip() == entity and entity for entity in found)
    recall = entity_recall(found, [text])
    assert recall is None or 0 <= recall <= 1
    for entity, there in zip(found, entities_present(found, [text]), strict=True):
        assert there is (
            None
            if entity_recall([entity], [text]) is None
            else entity_recall([entity], [text]) == 1
        )
    wider = entity_recall(found, [text, more])
    assert wider is None if recall is None else (wider or 0.0) >= recall


def test_the_entities_of_real_sentences_are_found_in_them() -> None:
    text = (
        "In 1889 Gustave Eiffel's company finished the Eiffel Tower, 312 metres tall, for the"
        " World's Fair in Paris. It cost 7.8 million francs. The U.S. press called it “A Tower of"
        " Iron”. On 31 March 1889 it opened."
    )
    found = entities(text)
    assert found == (
        "1889",
        "Gustave Eiffel",
        "Eiffel Tower",
        "312 metres",
        "World",
        "Fair",
        "Paris",
        "7.8 million",
        "U.S.",
        "A Tower of Iron",
        "31 March 1889",
    )
    assert entity_recall(found, [text]) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "1,",
        "A ",
        "A",
        '"',
        "1",
        "A.",
        "[1,",
        "a'",
        "May ",
        "e\u0301\u0316",
        "Of of ",
        "\n",
        "“A",
        "1 ",
        "$",
        "\t",
    ],
)
def test_time_is_linear_in_a_long_hostile_text(unit: str) -> None:
    text = unit * (200_000 // len(unit)) + "D"
    started = time.process_time()
    entities(text)
    entity_recall([text[:60]], [text])
    assert time.process_time() - started < 5
