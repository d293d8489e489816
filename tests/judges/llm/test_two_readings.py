"""A reply that says two things of an item says nothing of it, wherever the second one stands."""

from __future__ import annotations

import json

import pytest

from ragassay.judges import RubricRegistry
from ragassay.judges.llm.reply import parse

ANSWER = RubricRegistry.default().get("answer_relevance")
CHUNK = RubricRegistry.default().get("chunk_relevance")
A, B = "9c1e07ab", "11aa22bb"


def entry(name: str, rating: object, **more: object) -> dict[str, object]:
    return {"id": name, "reasoning": "So.", "declined": False, "rating": rating} | more


def ratings(text: str) -> dict[str, object]:
    return {name: verdict.rating for name, verdict in parse(text, ANSWER, [A, B]).items()}


BOTH = [entry(A, 3), entry(B, 1)]
GOOD = json.dumps({"verdicts": BOTH})

# What takes the verdict on the first item away, and leaves that on the second.
OTHERWISE = {
    "a second list": json.dumps({"verdicts": BOTH, "corrected_verdicts": [entry(A, 0)]}),
    "a second list before it": json.dumps({"draft": [entry(A, 0)], "verdicts": BOTH}),
    "a final list": json.dumps({"verdicts": BOTH, "final_verdicts": [entry(A, 0)]}),
    "a list in capitals": json.dumps({"verdicts": BOTH, "Verdicts": [entry(A, 0)]}),
    "ratings by id": json.dumps({"verdicts": BOTH, "final": {A: 0}}),
    "a second object": GOOD + json.dumps({"corrected_verdicts": [entry(A, 0)]}),
    "a Python literal": f"{GOOD}\n{ {'verdicts': [entry(A, 0)]} }",
    "a field in capitals": json.dumps({"verdicts": [entry(A, 3, Rating=0), entry(B, 1)]}),
    "a final rating": json.dumps({"verdicts": [entry(A, 3, final_rating=0), entry(B, 1)]}),
    "a final rating as text": json.dumps({"verdicts": [entry(A, 3, final_rating="0"), BOTH[1]]}),
    "a score": json.dumps({"verdicts": [entry(A, 3, score=0), entry(B, 1)]}),
    "a verdict inside": json.dumps({"verdicts": [entry(A, 3, verdict={"rating": 0}), BOTH[1]]}),
    "a correction": f"{GOOD}\n\nCorrection: on reflection the rating of {A} must be 0, not 3.",
    "a correction with the rating in front": f"{GOOD}\n\nI revise the rating for {A}: 0.",
    "final verdicts in lines": f"Draft, to be revised:\n{GOOD}\nFinal verdicts:\n{A}: 0\n{B}: 1",
    "a line before it": f"- **{A}**: 0\n{GOOD}",
    "a table": f"{GOOD}\n| {A} | 0 |\n| {B} | 1 |",
}


@pytest.mark.parametrize("text", OTHERWISE.values(), ids=OTHERWISE)
def test_an_item_that_is_rated_twice_and_otherwise_has_no_verdict(text: str) -> None:
    assert ratings(text) == {B: 1}


AGREEING = {
    "a second list": json.dumps({"verdicts": BOTH, "final_verdicts": BOTH}),
    "a field in capitals": json.dumps({"verdicts": [entry(A, 3, Rating=3), entry(B, 1)]}),
    "a score on another scale": json.dumps({"verdicts": [entry(A, 3, score=0.97), entry(B, 1)]}),
    "how sure it is": json.dumps({"verdicts": [entry(A, 3, confidence=1), entry(B, 1)]}),
    "the scale": json.dumps({"verdicts": [entry(A, 3, rating_scale=3), entry(B, 1, max_score=3)]}),
    "the items beside it": json.dumps({"verdicts": BOTH, "items": [{"id": A, "text": "x"}]}),
    "remarks by id": json.dumps({"verdicts": BOTH, "notes": {A: "clear", B: "unclear"}}),
    "lines": f"{A}: 3\n{B}: 1\n{GOOD}",
    "passages in prose": f"{A} rests on passage 1 and was written in 1937.\n{GOOD}",
    "a word on the scale": f"Ratings from 0 to 3.\n{GOOD}\nThe scale of the rating was 0 to 3.",
    "a remark": f"{GOOD}\nThe rating of {A} is 3, as passage 0 says so.",
    "another number": f"{GOOD}\nThe verdict on {A} rests on the year 2013.",
}


@pytest.mark.parametrize("text", AGREEING.values(), ids=AGREEING)
def test_what_says_the_same_or_nothing_of_a_rating_leaves_the_verdicts(text: str) -> None:
    assert ratings(text) == {A: 3, B: 1}


def test_a_correction_without_an_id_takes_all_away_that_it_may_be_about() -> None:
    assert ratings(f"{GOOD}\nCorrection: the first rating should be 0.") == {}
    single = json.dumps({"verdicts": [entry(A, 3)]})
    assert parse(f"{single}\nFinal rating: 0", ANSWER, [A]) == {}
    assert parse(f"{single}\nFinal rating: 3", ANSWER, [A])[A].rating == 3


def test_a_named_rating_is_corrected_by_its_name() -> None:
    text = json.dumps({"verdicts": [entry(A, "yes")]})
    assert parse(f"{text}\nCorrection: the rating of {A} is no.", CHUNK, [A]) == {}
    assert parse(f"{text}\nThe rating of {A} is yes.", CHUNK, [A])[A].rating == "yes"
