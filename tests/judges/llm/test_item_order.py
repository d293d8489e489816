"""Entries without ids: the items are those that the entries name, else those in the order of the
prompt, and where neither is certain none is read.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from ragassay.core import Request
from ragassay.judges import LLMJudge, RubricRegistry
from ragassay.judges.llm.reply import parse
from ragassay.testing import Body, LLMServer, answer_by_words
from support.driving import drive

RUBRICS = RubricRegistry.default()
ANSWER = RUBRICS.get("answer_relevance")
A, B = "9c1e07ab", "11aa22bb"
TEXTS = {A: "It opened in 1937.", B: "It is 90 km long."}


def read(entries: object) -> dict[str, object]:
    verdicts = parse(json.dumps(entries), ANSWER, [A, B], data=TEXTS.values(), item_texts=TEXTS)
    return {name: verdict.rating for name, verdict in verdicts.items()}


def entry(rating: int, **more: object) -> dict[str, object]:
    return {**more, "reasoning": "So.", "rating": rating}


# The entries are sorted by another rule than the prompt's: the first is about the second item.
NAMED: dict[str, list[dict[str, Any]]] = {
    "by their text": [entry(0, claim=TEXTS[B]), entry(3, claim=TEXTS[A])],
    "by their text with other blanks": [
        entry(0, claim=" It is  90\nkm long. "),
        entry(3, claim=TEXTS[A]),
    ],
    "by number": [entry(0, index=2), entry(3, index=1)],
    "by number as text": [entry(0, claim="2"), entry(3, claim="1")],
    "by number behind a word": [entry(0, item="claim 2"), entry(3, item="Claim #1")],
    "by number in the place of the id": [entry(0, id=2), entry(3, id=1)],
    "by two names": [entry(0, no=2, claim=TEXTS[B]), entry(3, no=1, claim=TEXTS[A])],
}
UNCERTAIN: dict[str, list[dict[str, Any]]] = {
    "mistyped ids": [entry(0, tag="11aa22bc"), entry(3, tag="9c1e07ac")],
    "texts that are not the items'": [entry(0, claim="It is long."), entry(3, claim="It opened.")],
    "a text that is not the item's": [entry(0, claim="It is long."), entry(3, claim=TEXTS[A])],
    "one text twice": [entry(0, claim=TEXTS[A]), entry(3, claim=TEXTS[A])],
    "numbers from 0": [entry(0, index=1), entry(3, index=0)],
    "one number twice": [entry(0, index=1), entry(3, index=1)],
    "a number beyond the items": [entry(0, index=3), entry(3, index=1)],
    "a number for one of them": [entry(0, index=2), entry(3)],
    "two names that differ": [entry(0, no=1, claim=TEXTS[B]), entry(3, no=2, claim=TEXTS[A])],
    "an object that may name them": [entry(0, about={"n": 2}), entry(3, about={"n": 1})],
}
IN_ORDER: dict[str, list[dict[str, Any]]] = {
    "nothing else": [entry(3), entry(0)],
    "blank ids": [entry(3, id=""), entry(0, id=None)],
    "reasons under another name": [entry(3, explanation="It is."), entry(0, explanation="No.")],
    "how sure it is": [entry(3, confidence=0.9), entry(0, confidence=0.2)],
    "a note in bits": [entry(3, checked=True), entry(0, checked=True)],
}


@pytest.mark.parametrize("name", NAMED)
def test_items_that_the_entries_name_are_found_wherever_they_stand(name: str) -> None:
    assert read({"verdicts": NAMED[name]}) == {A: 3, B: 0}
    assert read(NAMED[name][::-1]) == {A: 3, B: 0}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_could_name_items_and_does_not_clearly_gives_no_verdict(name: str) -> None:
    assert read({"verdicts": UNCERTAIN[name]}) == {}
    assert read(UNCERTAIN[name][::-1]) == {}


@pytest.mark.parametrize("name", IN_ORDER)
def test_entries_that_name_nothing_stand_in_the_order_of_the_prompt(name: str) -> None:
    assert read({"verdicts": IN_ORDER[name]}) == {A: 3, B: 0}


def test_numbers_under_a_name_that_says_nothing_may_name_items_unless_they_are_in_order() -> None:
    assert read([entry(0, x=2), entry(3, x=1)]) == {}
    assert read([entry(3, x=1), entry(0, x=2)]) == {A: 3, B: 0}


def test_items_of_one_text_are_not_told_apart_by_it() -> None:
    texts = {A: "It opened.", B: "It opened."}
    entries = [entry(0, claim="It opened."), entry(3, claim="It opened.")]
    assert parse(json.dumps(entries), ANSWER, [A, B], item_texts=texts) == {}


def test_a_judge_behind_a_server_that_sorts_claims_by_their_text_is_read_by_them() -> None:
    contexts = ("The bridge opened in 1937. Trams cross it daily.",)
    claims = ("Trams cross it daily.", "The bridge opened in 1937.", "Dogs travel for free.")
    shared: dict[str, Any] = {"question": "What?", "response": "So.", "contexts": contexts}
    requests = tuple(Request("groundedness", {**shared, "claim": claim}) for claim in claims)

    def by_text(body: Body) -> str:
        own = answer_by_words(body)
        assert isinstance(own, dict)
        prompt = str(body["messages"][-1]["content"])
        entries = []
        for each in own["verdicts"]:
            behind = prompt[prompt.index(each["id"]) :]
            each["claim"] = next(
                claim for claim in sorted(claims, key=behind.find) if claim in behind
            )
            del each["id"]
            entries.append(each)
        return json.dumps({"verdicts": sorted(entries, key=lambda each: str(each["claim"]))})

    judge = LLMJudge("openai:mock", RUBRICS, controls="off")
    with LLMServer(keep_bodies=False) as server:
        ((honest, _),) = drive([(judge, requests)], server.url)
        server.script(answer=by_text)
        ((found, calls),) = drive([(judge, requests)], server.url)
    assert len(calls) == 1
    ratings = {judgment.key: judgment.rating for judgment in honest}
    assert {judgment.key: judgment.rating for judgment in found} == ratings
    assert len(set(ratings.values())) > 1
