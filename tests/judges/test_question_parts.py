"""A question that asks several things is read part by part, and an answer that leaves one open is
told so.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragassay.core import Ask, Judgment, MatchCall, MatchReply, Reply, Request
from ragassay.judges import OfflineJudge, RubricRegistry
from ragassay.judges.text_rules.question_parts import MOST_PARTS, question_parts

JUDGE = OfflineJudge("1", {}, RubricRegistry.default(), {"answer": 0.5})


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Who designed the bridge and when was it opened?", 2),
        ("Who designed the bridge, and is it open?", 2),
        ("How long is it? How wide is it?", 2),
        ("What is the price and how can I pay and where can I park?", 3),
        ("Is Paris big and is Lyon small?", 2),
        ("What is made here and is sold there?", 1),
        ("Which towns do salt and pepper come from?", 1),
        ("Who lives and works here?", 1),
        ("What are the fees and the opening hours?", 1),
        ("Tell me about the tower and when it was built.", 1),
        ("", 1),
        ("?", 1),
    ],
)
def test_a_question_has_as_many_parts_as_it_asks(question: str, parts: int) -> None:
    assert len(question_parts(question)) == parts


def test_a_part_keeps_its_words_and_what_leads_to_it() -> None:
    assert question_parts("I am 70. Do I pay, and is there a discount?") == (
        "I am 70. Do I pay?",
        "Is there a discount?",
    )
    assert question_parts("When did it close and why?") == (
        "When did it close?",
        "Why did it close?",
    )


@given(st.text(max_size=200))
def test_any_text_has_between_one_and_the_most_parts(question: str) -> None:
    parts = question_parts(question)
    assert 1 <= len(parts) <= MOST_PARTS
    if len(parts) == 1:
        assert parts == (question,)


def judged(question: str, *probabilities: float) -> tuple[list[str], Judgment]:
    """The questions that are asked of the model, and the Judgment with these replies."""
    request = Request("answer_relevance", {"question": question, "response": "It was opened."})
    flow = JUDGE.answer((request,))
    step = next(flow)
    assert isinstance(step, Ask)
    asked = [call.text for call in step.calls if isinstance(call, MatchCall)]
    replies: tuple[Reply, ...] = tuple(MatchReply(probability) for probability in probabilities)
    with pytest.raises(StopIteration) as ended:
        flow.send(replies)
    (judgment,) = ended.value.value
    return asked, judgment


TWO = "Who designed the bridge and when was it opened?"
THREE = "Who designed it? When was it opened? Is it open?"


def test_the_whole_question_and_each_part_are_asked() -> None:
    asked, judgment = judged(TWO, 0.9, 0.9, 0.3)
    assert asked == [TWO, "Who designed the bridge?", "When was it opened?"]
    assert (judgment.rating, judgment.passes) == (3, True)
    asked, _ = judged("When was it opened?", 0.9)
    assert asked == ["When was it opened?"]


@pytest.mark.parametrize(
    ("question", "probabilities", "rating"),
    [
        (TWO, (0.9, 0.9, 0.24), 1),
        (TWO, (0.9, 0.1, 0.1), 0),
        (TWO, (0.1, 0.9, 0.9), 0),
        (THREE, (0.9, 0.9, 0.9, 0.1), 2),
        (THREE, (0.9, 0.9, 0.1, 0.1), 1),
    ],
    ids=["half", "no part", "not the whole", "two of three", "one of three"],
)
def test_an_answer_is_rated_by_how_many_parts_it_answers(
    question: str, probabilities: tuple[float, ...], rating: int
) -> None:
    _, judgment = judged(question, *probabilities)
    assert judgment.rating == rating
    assert judgment.passes is (rating >= 2)


def test_the_part_that_is_left_open_is_named() -> None:
    _, judgment = judged(TWO, 0.9, 0.9, 0.1)
    assert judgment.rationale.startswith(
        'Of the 2 parts of the question, "When was it opened?" is not answered.'
    )
