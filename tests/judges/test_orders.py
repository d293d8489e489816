"""The order in which a call shows its items: by their content, as given, or the opposite."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from ragassay.core import Ask, ChatCall, Request, SetupError
from ragassay.judges import LLMJudge, RubricRegistry
from ragassay.judges.llm.orders import arranged

RUBRICS = RubricRegistry.default()
SHUFFLED = LLMJudge("openai:m", RUBRICS, controls="off")
GIVEN = replace(SHUFFLED, order="given")
OPPOSITE = replace(SHUFFLED, order="opposite")
CONTEXTS = ("The lamp draws 9 watts.", "It is made in Porto.", "It weighs one kilogram.")
CHUNKS = tuple(
    Request("context_relevance", {"question": "How heavy is it?", "context": f"Chunk {n}."})
    for n in range(6)
)


def call_of(judge: LLMJudge, *requests: Request) -> ChatCall:
    step = next(judge.answer(requests))
    assert isinstance(step, Ask)
    (call,) = step.calls
    assert isinstance(call, ChatCall)
    return call


def shown(judge: LLMJudge, *requests: Request) -> list[str]:
    return re.findall(r"Chunk \d\.", call_of(judge, *requests).messages[1].content)


def claim(text: str) -> Request:
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": "q?",
        "response": "r",
        "contexts": CONTEXTS,
        "claim": text,
    }
    return Request("groundedness", inputs)


def test_items_stand_in_an_order_of_their_own_that_is_the_same_whenever_they_are_asked() -> None:
    order = shown(SHUFFLED, *CHUNKS)
    assert sorted(order) == shown(GIVEN, *CHUNKS) == [f"Chunk {n}." for n in range(6)]
    assert order != shown(GIVEN, *CHUNKS)
    assert order == shown(SHUFFLED, *CHUNKS) == shown(SHUFFLED, *reversed(CHUNKS))


def test_an_item_less_leaves_the_others_in_their_order() -> None:
    without = [text for text in shown(SHUFFLED, *CHUNKS) if text != "Chunk 3."]
    assert shown(SHUFFLED, *CHUNKS[:3], *CHUNKS[4:]) == without


def test_the_ids_are_asked_for_in_the_order_of_the_prompt() -> None:
    call = call_of(SHUFFLED, *CHUNKS)
    user = call.messages[1].content
    assert call.schema is not None
    ids = call.schema["properties"]["verdicts"]["items"]["properties"]["id"]["enum"]  # type: ignore[index]
    assert re.findall(r"<<<context\|(\w+)>>>", user) == ids
    assert user.endswith(f"One entry for each TAG: {', '.join(ids)}")


def test_the_first_place_is_everybodys_in_turn() -> None:
    """Of 400 pairs the first one given stands first in about half: 200, give or take 3 x 10."""
    first = 0
    for n in range(400):
        pair = {str(i): replace(CHUNKS[i], inputs={"context": f"{n} {i}"}) for i in range(2)}
        first += arranged("shuffled", pair, (None, None))[0] == "0"
    assert 170 <= first <= 230


def test_another_seed_or_sample_of_a_run_is_another_order() -> None:
    orders = {
        tuple(shown(replace(SHUFFLED, parameters={"sample": n}), *CHUNKS)) for n in range(4)
    } | {tuple(shown(replace(SHUFFLED, seed=n), *CHUNKS)) for n in range(4)}
    assert len(orders) == 8


def test_opposite_is_the_shuffled_order_from_its_end_and_lists_from_theirs() -> None:
    assert shown(OPPOSITE, *CHUNKS) == shown(SHUFFLED, *CHUNKS)[::-1]
    user = call_of(OPPOSITE, claim("It is heavy.")).messages[1].content
    # A passage keeps its number, by which quotes and reasons name it.
    assert re.findall(r"<<<(passage \d)\|\w+>>>\n(.*)", user) == [
        ("passage 3", CONTEXTS[2]),
        ("passage 2", CONTEXTS[1]),
        ("passage 1", CONTEXTS[0]),
    ]
    given = call_of(SHUFFLED, claim("It is heavy.")).messages[1].content
    assert re.findall(r"<<<(passage \d)", given) == ["passage 1", "passage 2", "passage 3"]


def test_the_order_is_part_of_the_fingerprint() -> None:
    judges = (SHUFFLED, GIVEN, OPPOSITE)
    assert len({judge.fingerprint("context_relevance") for judge in judges}) == 3


def test_another_word_is_no_order() -> None:
    with pytest.raises(SetupError) as caught:
        replace(SHUFFLED, order="shufled")  # type: ignore[arg-type]
    assert "Did you mean 'shuffled'?" in str(caught.value)
