"""A cheap judge first: when its verdict is taken, when the expensive one is asked, and what is said
of it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from ragassay.core import (
    Ask,
    CallFailed,
    ChatCall,
    Judgment,
    Keep,
    MatchReply,
    Recall,
    Request,
    Status,
)
from ragassay.judges import (
    CascadeJudge,
    LLMJudge,
    OfflineJudge,
    Point,
    RubricRegistry,
    Scale,
    composition,
)
from ragassay.judges.composed.cascade import ESCALATED, confidence

RUBRICS = RubricRegistry.default()
GRADES = Scale(tuple(Point(n, n / 3, f"grade {n}") for n in range(4)), 2)
TEN = Scale(tuple(Point(n, n / 10, f"grade {n}") for n in range(11)), 6)
YES = Scale((Point("no", 0.0, ""), Point("yes", 1.0, "")), "yes")
KINDS = Scale((Point("a", 0.0, ""), Point("b", 1.0, "")), None, ("b",))
JUDGE = CascadeJudge(
    "cascade:offline>openai:m@0.85",
    OfflineJudge("v1", {}, RUBRICS, {"relevance": 0.4}),
    LLMJudge("openai:m", RUBRICS),
    0.85,
    RUBRICS,
)


def request(n: int) -> Request:
    return Request(
        "chunk_relevance",
        {"question": "When was the bridge built?", "context": f"It was built in 19{n}."},
    )


@pytest.mark.parametrize(
    ("rating", "probability", "scale", "expected"),
    [
        (3, None, GRADES, 1.0),
        (2, None, GRADES, 0.5),
        (1, None, GRADES, 0.5),
        (0, None, GRADES, 1.0),
        (6, None, TEN, 0.2),
        (10, None, TEN, 1.0),
        (5, None, TEN, 1 / 6),
        (0, None, TEN, 1.0),
        ("yes", None, YES, None),
        ("no", None, YES, None),
        ("b", None, KINDS, None),
        (2, 0.7, GRADES, 0.7),
        (1, 0.3, GRADES, 0.7),
    ],
)
def test_confidence_is_the_probability_of_the_verdict_else_the_distance_from_the_pass_mark(
    rating: int | str, probability: float | None, scale: Scale, expected: float
) -> None:
    judgment = Judgment(
        "k",
        "f",
        "r@1",
        Status.JUDGED,
        rating=rating,
        value=scale.value(rating),
        passes=scale.passes(rating),
        probability=probability,
    )
    assert confidence(judgment, scale) == pytest.approx(expected)


def test_without_a_verdict_there_is_no_confidence() -> None:
    assert confidence(Judgment("k", "f", "r@1", Status.FAILED, probability=0.9), GRADES) is None


def play(judge: CascadeJudge, requests: tuple[Request, ...], probability: dict[str, float]) -> Any:
    """Play the runner: the offline model answers by the passage, the chat model is down."""
    settled, beside, asked = list[tuple[int, Judgment]](), list[Judgment](), list[ChatCall]()
    flow: Generator[Any, Any, Any] = judge.answer(requests)
    try:
        step = next(flow)
        while True:
            sent: tuple[Any, ...] = ()
            if isinstance(step, Keep):
                if step.beside:
                    beside += step.judgments
                else:
                    settled += [(len(asked), j) for j in step.judgments]
            elif isinstance(step, Ask):
                asked += [call for call in step.calls if isinstance(call, ChatCall)]
                sent = tuple(
                    CallFailed("server", "down")
                    if isinstance(call, ChatCall)
                    else MatchReply(probability.get(call.passages[0], 0.5))
                    for call in step.calls
                )
            else:
                assert isinstance(step, Recall)
            step = flow.send(sent)
    except StopIteration as end:
        settled += [(len(asked), j) for j in end.value]
    return settled, beside, asked


def test_a_sure_verdict_is_taken_before_the_expensive_judge_is_asked_about_the_rest() -> None:
    first, second, third = request(10), request(20), request(30)
    settled, beside, asked = play(
        JUDGE,
        (first, second, third),
        {
            str(first.inputs["context"]): 0.95,
            str(second.inputs["context"]): 0.5,
            str(third.inputs["context"]): 0.1,
        },
    )
    by_key = {j.key: (calls, j) for calls, j in settled}
    assert len(settled) == 3
    assert (by_key[first.key][0], by_key[first.key][1].rating) == (0, "yes")
    assert (by_key[third.key][0], by_key[third.key][1].rating) == (0, "no")
    calls, unsure = by_key[second.key]
    assert (calls, unsure.status, unsure.rating) == (
        1,
        Status.FAILED,
        None,
    )  # the cheap verdict is no stopgap
    assert unsure.flags == (ESCALATED,)
    assert "too unsure (0.50)" in unsure.rationale
    assert [call.model for call in asked] == ["openai:m"]
    assert len(beside) == 4
    assert {j.judge for _, j in settled} == {JUDGE.fingerprint("chunk_relevance")}
    assert "confidence 0.95" in by_key[first.key][1].rationale


def test_what_cannot_be_judged_cheaply_goes_to_the_expensive_one_at_once() -> None:
    for rubric, inputs in (
        ("claims", {"question": "q", "response": "The bridge was built in 1932."}),
        ("safety", {"question": "q", "response": "The bridge was built in 1932."}),
    ):
        settled, beside, asked = play(JUDGE, (Request(rubric, inputs),), {})
        assert len(asked) == len(settled) == len(beside) == 1
        assert JUDGE.rubric_version(rubric) == LLMJudge("openai:m", RUBRICS).rubric_version(rubric)


@pytest.mark.parametrize("statement", ["Paris", "\u20bf"])
def test_a_rule_about_words_is_sure_of_nothing(statement: str) -> None:
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": "q?",
        "response": "It is certainly not Paris but Lyon.",
        "statements": (statement,),
    }
    settled, _, asked = play(
        CascadeJudge("c", JUDGE.cheap, JUDGE.expensive, 0.1, RUBRICS),
        (Request("correctness", inputs),),
        {},
    )
    assert len(asked) == 1
    assert (
        settled[0][1].status is Status.FAILED
    )  # the expensive one is down, and the cheap verdict is no stopgap


def test_the_threshold_is_part_of_the_fingerprint_only_where_it_decides() -> None:
    other = CascadeJudge(JUDGE.uri, JUDGE.cheap, JUDGE.expensive, 0.9, RUBRICS)
    assert other.fingerprint("chunk_relevance") != JUDGE.fingerprint("chunk_relevance")
    assert other.fingerprint("claims") == JUDGE.fingerprint("claims")


def test_a_cascades_uri_names_two_judges_and_the_confidence() -> None:
    composed = composition("cascade:offline > openai:my@model@0.85")
    assert composed is not None
    assert (composed.rule, composed.members, composed.threshold) == (
        "cascade",
        ("offline", "openai:my@model"),
        0.85,
    )


@pytest.mark.parametrize(
    "uri",
    [
        "cascade:offline,openai:my/model",
        "cascade:offline>openai:my/model",
        "cascade:offline, openai:my/model@0.9",
    ],
)
def test_a_comma_stands_for_the_arrow_and_without_a_confidence_it_is_nine_tenths(uri: str) -> None:
    composed = composition(uri)
    assert composed is not None
    assert (composed.members, composed.threshold) == (("offline", "openai:my/model"), 0.9)
