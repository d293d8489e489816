"""A judge that is asked in two opposite orders: the mean counts, and what differed is marked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ragassay.core import (
    Ask,
    ChatCall,
    ChatReply,
    Judgment,
    Keep,
    Recall,
    Reply,
    Request,
    Spend,
    Status,
)
from ragassay.judges import (
    BothOrdersJudge,
    Judge,
    LLMJudge,
    PanelJudge,
    Point,
    RubricRegistry,
    Scale,
)
from ragassay.judges.composed.both_orders import _joined

RUBRICS = RubricRegistry.default()
FIRST = LLMJudge("openai:m", RUBRICS, controls="off")
SECOND = replace(FIRST, order="opposite")
BOTH = BothOrdersJudge(FIRST, SECOND, RUBRICS)
GRADES = Scale(tuple(Point(n, n / 3, f"grade {n}") for n in range(4)), 2)
YES_NO = Scale((Point("no", 0.0, ""), Point("yes", 1.0, "")), "yes")
KINDS = Scale(
    (Point("bad", 0.0, ""), Point("good", 1.0, ""), Point("best", 1.0, "")), None, ("good", "best")
)
CHUNKS = tuple(
    Request("context_relevance", {"question": "How heavy is it?", "context": f"Chunk {n}."})
    for n in range(4)
)


def judged(rating: int | str, scale: Scale = GRADES, **more: Any) -> Judgment:
    value, passes = scale.value(rating), scale.passes(rating)
    return Judgment("k", "f", "r@1", Status.JUDGED, rating, value, passes=passes, **more)


def lost(status: Status) -> Judgment:
    return Judgment("k", "f", "r@1", status, reason="no luck")


@pytest.mark.parametrize(
    ("two", "rating", "value", "passes", "flag"),
    [
        ((3, 3), 3, 1.0, True, "both_orders"),
        ((0, 0), 0, 0.0, False, "both_orders"),
        # (1 + 2/3) / 2 = 5/6, between two ratings: the lower one.
        ((3, 2), 2, 5 / 6, True, "orders_differ"),
        ((0, 1), 0, 1 / 6, False, "orders_differ"),
        # (1/3 + 2/3) / 2 = 1/2 is below the mark of 2/3.
        ((1, 2), 1, 1 / 2, False, "orders_disagree"),
        # (1/3 + 1) / 2 = 2/3 reaches it.
        ((1, 3), 2, 2 / 3, True, "orders_disagree"),
        ((3, 0), 1, 1 / 2, False, "orders_disagree"),
    ],
)
def test_the_mean_of_both_orders_is_the_value_and_decides(
    two: tuple[int, int], rating: int, value: float, passes: bool, flag: str
) -> None:
    for pair in (two, two[::-1]):
        joined = _joined([judged(rating) for rating in pair], GRADES)
        assert (joined.rating, joined.passes, joined.flags) == (rating, passes, (flag,))
        assert joined.value == pytest.approx(value)


def test_of_yes_and_no_the_half_stands_and_does_not_pass() -> None:
    joined = _joined([judged("yes", YES_NO), judged("no", YES_NO)], YES_NO)
    assert (joined.rating, joined.value, joined.passes) == ("no", 0.5, False)


def test_categories_have_no_mean_rating_so_the_one_that_fails_stands() -> None:
    for pair in (("good", "bad"), ("bad", "best")):
        joined = _joined([judged(kind, KINDS) for kind in pair], KINDS)
        assert (joined.rating, joined.value, joined.passes) == ("bad", 0.5, False)
    assert _joined([judged("best", KINDS), judged("good", KINDS)], KINDS).rating == "best"


def test_reasons_of_both_are_shown_where_they_rated_differently() -> None:
    joined = _joined(
        [judged(3, rationale="All of it."), judged(0, rationale="None of it.")], GRADES
    )
    assert joined.rationale == (
        "In two opposite orders of the texts: 3 and 0.\n[3] All of it.\n[0] None of it."
    )
    same = [judged(3, rationale="All of it."), judged(3, rationale="Indeed.")]
    assert _joined(same, GRADES).rationale == "All of it."


def test_flags_are_those_of_both_and_sources_those_of_the_side_that_won() -> None:
    joined = _joined(
        [
            judged(3, flags=("abstention", "odd"), sources=(0,)),
            judged(3, flags=("abstention", "repaired:fence"), sources=(2,)),
        ],
        GRADES,
    )
    # How a reply had to be read is no opinion: it is counted whichever it was.
    assert joined.flags == ("abstention", "repaired:fence", "both_orders")
    assert joined.sources == (0, 2)
    failing = _joined([judged(2, sources=(0,)), judged(0, sources=())], GRADES)
    assert (failing.passes, failing.sources) == (False, ())


def test_a_verdict_that_one_order_gave_alone_stands_and_says_so() -> None:
    for pair in ([judged(3), lost(Status.UNPARSED)], [lost(Status.FAILED), judged(3)]):
        joined = _joined(pair, GRADES)
        assert (joined.rating, joined.flags) == (3, ("one_order",))
    assert _joined([lost(Status.REFUSED), lost(Status.FAILED)], GRADES).status is Status.REFUSED


def test_a_cap_leaves_the_verdict_open_until_the_other_order_is_asked() -> None:
    joined = _joined([judged(3), lost(Status.OVER_BUDGET)], GRADES)
    assert joined.status is Status.OVER_BUDGET


# -- the flow


def by_place(call: ChatCall, n: int) -> Reply:
    """A judge that gives the first item 3 and every other one 1, whatever they are."""
    assert call.schema is not None
    ids = call.schema["properties"]["verdicts"]["items"]["properties"]["id"]["enum"]  # type: ignore[index]
    entries = [
        {"id": name, "reasoning": "So.", "quotes": [], "supported_by": [], "rating": 1 if at else 3}
        for at, name in enumerate(ids)
    ]
    return ChatReply(json.dumps({"verdicts": entries}), spend=Spend(1, 10, 5))


class Runner:
    """Plays the runner over a store of Judgments by address."""

    def __init__(self, answer: Callable[[ChatCall, int], Reply]) -> None:
        self.answer = answer
        self.calls: list[ChatCall] = []
        self.stored: dict[tuple[str, str], Judgment] = {}

    def run(self, judge: Judge, *requests: Request) -> dict[str, Judgment]:
        flow = judge.answer(requests)
        settled: dict[str, Judgment] = {}
        try:
            step = next(flow)
            while True:
                step = flow.send(self.serve(step, settled))
        except StopIteration as end:
            settled |= {judgment.key: judgment for judgment in end.value}
        assert settled.keys() == {request.key for request in requests}
        self.stored |= {(j.judge, j.key): j for j in settled.values()}
        return settled

    def serve(self, step: object, settled: dict[str, Judgment]) -> Any:
        if isinstance(step, Keep):
            self.stored |= {(j.judge, j.key): j for j in step.judgments}
            if not step.beside:
                settled |= {judgment.key: judgment for judgment in step.judgments}
            return ()
        if isinstance(step, Recall):
            return tuple(self.stored[a] for a in step.addresses if a in self.stored)
        assert isinstance(step, Ask)
        replies = []
        for call in step.calls:
            assert isinstance(call, ChatCall)
            self.calls.append(call)
            replies.append(self.answer(call, len(self.calls)))
        return tuple(replies)


def values(judgments: Mapping[str, Judgment]) -> list[float]:
    return sorted(j.value for j in judgments.values() if j.value is not None)


def test_what_a_verdict_owes_to_its_place_weighs_against_itself() -> None:
    runner = Runner(by_place)
    done = runner.run(BOTH, *CHUNKS)
    assert len(runner.calls) == 2
    # In one order the first and in the other the last has a 3: (1 + 1/3) / 2 = 2/3, the rest 1/3.
    assert values(done) == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert sorted(j.flags[-1] for j in done.values()) == [
        "both_orders",
        "both_orders",
        "orders_disagree",
        "orders_disagree",
    ]
    assert {j.judge for j in done.values()} == {BOTH.fingerprint("context_relevance")}


def test_the_calls_are_paid_for_by_the_two_orders_own_judgments() -> None:
    runner = Runner(by_place)
    done = runner.run(BOTH, *CHUNKS)
    assert {j.spend for j in done.values()} == {Spend()}
    own = [j for j in runner.stored.values() if j.judge != BOTH.fingerprint("context_relevance")]
    assert len(own) == 8
    assert sum((j.spend for j in own), Spend()) == Spend(2, 20, 10)


def test_what_one_order_was_asked_before_is_not_bought_again() -> None:
    runner = Runner(by_place)
    runner.run(FIRST, *CHUNKS)
    assert len(runner.calls) == 1
    runner.run(BOTH, *CHUNKS)
    assert len(runner.calls) == 2


def test_what_has_only_one_order_is_asked_once() -> None:
    runner = Runner(by_place)
    (judgment,) = runner.run(BOTH, CHUNKS[0]).values()
    assert (judgment.rating, judgment.flags) == (3, ())
    assert len(runner.calls) == 1
    empty = Request("context_relevance", {"question": "q?", "context": " "})
    (settled,) = runner.run(BOTH, empty).values()  # by a rule, without a call
    assert (settled.rating, len(runner.calls)) == (0, 1)


def test_a_single_claim_is_asked_twice_where_its_passages_have_two_orders() -> None:
    inputs: dict[str, str | tuple[str, ...]] = {
        "question": "q?",
        "response": "r",
        "contexts": ("One.", "Two."),
        "claim": "It is so.",
    }
    runner = Runner(by_place)
    runner.run(BOTH, Request("groundedness", inputs))
    first, second = (call.messages[1].content for call in runner.calls)
    assert first.index("One.") < first.index("Two.")
    assert second.index("Two.") < second.index("One.")


def test_a_rubric_that_writes_texts_is_asked_once_under_its_own_fingerprint() -> None:
    assert BOTH.fingerprint("claims") == FIRST.fingerprint("claims")
    assert BOTH.fingerprint("groundedness") != FIRST.fingerprint("groundedness")


def test_a_panel_of_such_judges_asks_each_model_in_both_orders_and_buys_nothing_twice() -> None:
    other = LLMJudge("openai:n", RUBRICS, controls="off")
    third = LLMJudge("openai:o", RUBRICS, controls="off")
    two_orders = tuple(
        BothOrdersJudge(judge, replace(judge, order="opposite"), RUBRICS)
        for judge in (FIRST, other, third)
    )
    panel = PanelJudge("panel:openai:m+openai:n+openai:o", two_orders, RUBRICS)
    runner = Runner(by_place)
    done = runner.run(panel, *CHUNKS)
    assert [call.model for call in runner.calls] == 2 * ["openai:m"] + 2 * ["openai:n"] + 2 * [
        "openai:o"
    ]
    assert sorted(j.passes is True for j in done.values()) == [False, False, True, True]
    # Killed before the panel's verdict was stored: all that was paid for is found again.
    fingerprint = panel.fingerprint("context_relevance")
    runner.stored = {a: j for a, j in runner.stored.items() if a[0] != fingerprint}
    assert runner.run(panel, *CHUNKS).keys() == done.keys()
    halves = {j.fingerprint("context_relevance") for j in two_orders}
    runner.stored = {a: j for a, j in runner.stored.items() if a[0] not in halves | {fingerprint}}
    assert runner.run(panel, *CHUNKS).keys() == done.keys()
    assert len(runner.calls) == 6
