"""Typed edits: what they say is changed is changed, where they say, and nothing else is."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from training.edits import ADDING, CONTRADICTING, KEEPING, Said, Source, put
from training.offline_data import changed

CLAIMS = (
    (
        "In 1998, Anna Keller was appointed director of the Zurich Opera, which had 120 singers and"
        " 3 halls."
    ),
    (
        "After the merger, all flights to New Delhi were cancelled for 12 days because of the"
        " strike (the third in May)."
    ),
    (
        "Boris Miller defeated Ivan Petrov in the first round on 14 December 1972 at Madison Square"
        " Garden."
    ),
    (
        "The drug did not increase survival in most patients; it reduced pain by 15 percent within"
        " two weeks."
    ),
    "Approximately 1,200 people live in the town, which is situated north of Lake Garda.",
)
PASSAGE = (
    "The opera house in Geneva was led by Clara Weber from 1987 to 2003. It employed 85 singers."
    " Milan and Paris followed in March. Sarah Jones said that 40 percent of the seats were empty,"
    " and John Smith agreed."
)
OTHERS = (
    "The committee met in the old town hall of Bergen after a long winter, because of the flood.",
    "Researchers at Uppsala University published the report on a rainy Sunday with great relief.",
    "Tom Becker and Maria Lopez founded the club during the war.",
)
SOURCE = Source(PASSAGE, OTHERS)


def made(edit: str, claim: str, seed: int) -> Said | None:
    return {**CONTRADICTING, **ADDING, **KEEPING}[edit](Said(claim), SOURCE, random.Random(seed))


@pytest.mark.parametrize("edit", [*CONTRADICTING, *ADDING])
def test_a_false_edit_changes_the_claim_only_where_its_spans_are(edit: str) -> None:
    seen = 0
    for claim in CLAIMS:
        for seed in range(30):
            said = made(edit, claim, seed)
            if said is None:
                continue
            seen += 1
            assert said.text != claim
            assert said.spans
            assert all(0 <= a < b <= len(said.text) for a, b in said.spans)
            # What is left outside the spans stands in the claim, in order, and is most of it.
            rest, at = [], 0
            for a, b in sorted(said.spans):
                rest.append(said.text[at:a])
                at = max(at, b)
            rest.append(said.text[at:])
            place = 0
            for piece in (r.strip(" .,;") for r in rest):
                piece = piece.removesuffix(" and").removesuffix(" while").strip(" ,;.")
                found = claim.find(piece, place)
                assert found >= 0, (edit, said)
                place = found + len(piece)
    assert seen >= 10, f"{edit} was hardly ever possible"


@pytest.mark.parametrize("edit", list(CONTRADICTING))
def test_an_independent_comparison_finds_the_change_inside_the_spans(edit: str) -> None:
    compared = 0
    for claim in CLAIMS:
        for seed in range(10):
            said = made(edit, claim, seed)
            found = changed(claim, said.text) if said else None
            for a, b in found or ():
                compared += 1
                # The comparison goes by words and takes a word's whole neighbourhood where one is
                # gone.
                assert said is not None
                assert any(a < high + 8 and low - 8 < b for low, high in said.spans), (
                    said,
                    said.text[a:b],
                )
    assert compared >= 5


@pytest.mark.parametrize("edit", list(KEEPING))
def test_an_edit_that_keeps_the_truth_marks_nothing(edit: str) -> None:
    found = [said for claim in CLAIMS for seed in range(20) if (said := made(edit, claim, seed))]
    assert found
    assert all(said.spans == () and said.text.strip() for said in found)


@pytest.mark.parametrize("keep", ["synonym", "spelling", "surname", "dialogue"])
def test_a_span_moves_along_with_later_edits(keep: str) -> None:
    moved = 0
    for claim in CLAIMS:
        for seed in range(20):
            chance = random.Random(seed)
            wrong = CONTRADICTING["number"](Said(claim), SOURCE, chance)
            later = KEEPING[keep](wrong, SOURCE, chance) if wrong else None
            if wrong and later and later.text != wrong.text:
                (a, b), (c, d) = wrong.spans[0], later.spans[0]
                # The same words, or the ones put over them.
                if wrong.text[a:b] == later.text[c:d]:
                    moved += 1
    assert moved >= 5


def test_a_new_number_is_another_number() -> None:
    for seed in range(50):
        said = made("number", "The hall has 120 seats.", seed)
        assert said is not None
        a, b = said.spans[0]
        assert said.text[a:b] != "120"
        assert float(said.text[a:b].replace(",", "")) != 120.0
        assert said.text == f"The hall has {said.text[a:b]} seats."


def test_a_new_name_has_the_old_ones_shape_and_is_not_in_the_claim() -> None:
    for seed in range(50):
        said = made("name", "The opera was led by Anna Keller.", seed)
        assert said is not None
        a, b = said.spans[0]
        assert said.text[a:b] in {
            "Clara Weber",
            "Sarah Jones",
            "John Smith",
            "Tom Becker",
            "Maria Lopez",
        }


def test_names_joined_by_and_do_not_change_places() -> None:
    assert all(
        made("roles", "They were Clara Weber and John Smith.", seed) is None for seed in range(20)
    )
    swapped = made("roles", "Then Clara Weber hired John Smith.", 0)
    assert swapped is not None
    assert swapped.text == "Then John Smith hired Clara Weber."


def test_a_negation_comes_and_goes() -> None:
    came = made("negation", "The bridge was closed.", 0)
    gone = made("negation", "The bridge was not closed.", 0)
    assert came is not None
    assert came.text in {"The bridge was not closed.", "The bridge was never closed."}
    assert gone is not None
    assert gone.text == "The bridge was closed."


def test_an_opposite_is_taken_in_the_case_of_the_word() -> None:
    said = made("antonym", "More was gained.", 3)
    assert said is not None
    assert said.text in {"Less was gained.", "More was lost."}


def test_a_claim_with_nothing_to_edit_gives_none() -> None:
    for edit in ("number", "date", "unit", "name", "negation", "antonym", "quantifier", "roles"):
        assert made(edit, "xyz", 0) is None


def test_put_keeps_the_other_spans_in_place() -> None:
    said = Said("one two three four", ((4, 7), (14, 18)))
    later = put(said, 8, 13, "THREE AND MORE", false=True)
    assert [later.text[a:b] for a, b in later.spans] == ["two", "THREE AND MORE", "four"]


def test_changed_tells_replaced_inserted_and_missing_words() -> None:
    before = "Sales rose by 5 percent in the third quarter."
    for after, parts in (
        ("Sales fell by 5 percent in the third quarter.", ["fell"]),
        ("Sales rose by 5 percent in the very cold third quarter.", ["very cold"]),
        ("Sales rose by 5 percent in the quarter.", ["the quarter"]),
    ):
        assert [after[a:b] for a, b in changed(before, after) or ()] == parts
    assert changed(before, before) is None
