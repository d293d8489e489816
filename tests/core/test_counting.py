"""Numbers with their nouns, as every message to users has them."""

from __future__ import annotations

from ragassay.core.counting import count


def test_one_of_a_thing_has_the_singular_and_any_other_number_the_plural():
    assert count(1, "row") == "1 row"
    assert count(0, "row") == "0 rows"
    assert count(1204, "row") == "1,204 rows"


def test_a_noun_with_a_plural_of_its_own_or_with_its_verb_takes_both_as_given():
    assert count(2, "person", "people") == "2 people"
    assert count(1, "row has", "rows have") == "1 row has"
