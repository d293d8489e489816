"""`@ragassay.metric`: what a function may read and return, how it asks the judge, and what it is
told when it cannot be one.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ragassay.core import (
    AppUsage,
    Context,
    Judgment,
    Request,
    Sample,
    Score,
    SetupError,
    Status,
    Verdict,
)
from ragassay.metrics import Metric, metric
from ragassay.metrics.decorated import FIELDS
from support.diagnosing import diagnose
from support.hand_fed import gone, never, play, rated

ROW = Sample(
    "r",
    question="What is it?",
    response="It is red.",
    contexts=(Context("It is red.", "a"), Context("Trams run.", "b")),
    reference="Red.",
    labels={"tone": "good"},
    slices={"lang": "en"},
    usage=AppUsage(cost=0.5),
)


def returns(value: Any, **options: Any) -> Score:
    """The Score of a metric that returns this."""

    def given(response: str) -> Any:
        return value

    return play(metric(name="given", **options)(given), ROW, never)[0]


def test_a_decorated_function_is_a_metric_and_can_still_be_called() -> None:
    @metric
    def short(response: str) -> bool:
        """Whether it is short.

        More on that.
        """
        return len(response) < 20

    assert isinstance(short, Metric)
    assert (str(short), short("x" * 30), short(response="x")) == ("short", False, True)
    d = short.declaration
    assert (d.name, d.title, d.needs, d.judged, d.high) == (
        "short",
        "Whether it is short.",
        ("response",),
        False,
        1.0,
    )
    assert hash(short) == hash(short)
    score, asked = play(short, ROW, never)
    assert (score.metric, score.value, score.verdict, asked) == ("short", 1.0, Verdict.PASS, [])


def test_the_options_name_and_mark_it() -> None:
    @metric(name="spend", pass_mark=0.4, higher_is_better=False, low=0, high=None, unit="USD")
    def anything(usage: AppUsage) -> float | None:
        return usage.cost

    score, _ = play(anything, ROW, never)
    assert (str(anything), score.value, score.verdict, score.pass_mark) == (
        "spend",
        0.5,
        Verdict.FAIL,
        0.4,
    )
    assert (anything.declaration.unit, anything.declaration.high) == ("USD", None)
    assert play(anything, replace(ROW, usage=AppUsage(cost=0.4)), never)[0].verdict is Verdict.PASS


def test_every_field_of_a_row_can_be_read_and_the_whole_row_too() -> None:
    seen: dict[str, object] = {}

    @metric
    def all_of_it(
        question: str,
        contexts: tuple[str, ...],
        labels: Any,
        slices: Any,
        row: Sample,
        guidelines: Any = "none",
        error: Any = None,
        *,
        relevant_ids: Any = None,
    ) -> bool:
        seen.update(locals())
        return True

    assert play(all_of_it, ROW, never)[0].value == 1.0
    assert seen["contexts"] == ("It is red.", "Trams run.")
    assert (seen["labels"], seen["slices"], seen["row"]) == ({"tone": "good"}, {"lang": "en"}, ROW)
    assert (seen["guidelines"], seen["error"], seen["relevant_ids"]) == ("none", None, None)
    assert all_of_it.declaration.needs == ("question", "contexts", "labels", "slices")


@pytest.mark.parametrize("field", FIELDS)
def test_a_row_without_the_field_is_not_applicable_and_the_field_is_named(field: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def reads({field}):\n    return True", space)
    score, _ = play(metric(space["reads"]), Sample("r"), never)
    assert (score.status, score.value, score.verdict) == (Status.NOT_APPLICABLE, None, None)
    assert score.reason == f"the row has no {field}"


def test_nothing_retrieved_is_not_the_same_as_no_contexts() -> None:
    @metric
    def none_found(contexts: tuple[str, ...]) -> bool:
        return not contexts

    assert play(none_found, replace(ROW, contexts=()), never)[0].value == 1.0
    assert play(none_found, replace(ROW, contexts=None), never)[0].value is None


@pytest.mark.parametrize(
    ("value", "options", "number", "verdict"),
    [
        (True, {}, 1.0, Verdict.PASS),
        (False, {}, 0.0, Verdict.FAIL),
        (0.25, {}, 0.25, None),
        (1, {}, 1.0, None),
        (True, {"higher_is_better": False}, 1.0, Verdict.FAIL),
        (False, {"higher_is_better": False}, 0.0, Verdict.PASS),
        (True, {"higher_is_better": None}, 1.0, None),
        (0.5, {"pass_mark": 0.5}, 0.5, Verdict.PASS),
        (0.4, {"pass_mark": 0.5}, 0.4, Verdict.FAIL),
        (7, {"high": 10}, 7.0, None),
        (-1, {"low": -1}, -1.0, None),
        (np.float32(0.5), {}, 0.5, None),
        (np.bool_(True), {}, 1.0, Verdict.PASS),
        (np.array(1), {}, 1.0, None),
    ],
)
def test_numbers_and_truth_values_are_scores(
    value: Any, options: Any, number: float, verdict: Verdict | None
) -> None:
    score = returns(value, **options)
    assert (score.status, score.value, score.verdict) == (Status.JUDGED, number, verdict)


def test_a_rationale_may_stand_beside_the_value() -> None:
    assert (returns((0.5, "half")).value, returns((0.5, "half")).rationale) == (0.5, "half")
    none = returns((None, "no number in it"))
    assert (none.status, none.reason) == (Status.NOT_APPLICABLE, "no number in it")
    assert returns(None).reason == "the function returned None for this row"


def test_a_score_is_taken_as_it_is_under_the_metrics_name() -> None:
    own = Score("x", Status.JUDGED, 0.5, verdict=Verdict.PASS, extra={"n": 2.0})
    assert returns(own) == replace(own, metric="given")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (1.5, "from 0 to 1"),
        (-0.1, "from 0 to 1"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        ("0.5", "returned str"),
        ([1], "returned list"),
        ((1, 2), "(value, rationale)"),
        ((1, "a", "b"), "(value, rationale)"),
    ],
)
def test_anything_else_is_an_error_that_says_what_was_returned(value: Any, says: str) -> None:
    # The engine makes what a flow raises that metric's failed Score on that row.
    with pytest.raises((TypeError, ValueError)) as caught:
        returns(value)
    assert says in str(caught.value)


# -- asking the judge


@metric
def asks(question: str, response: str) -> Generator[Any, Any, float | None]:
    answer = yield Request("answer_relevance", {"question": question, "response": response})
    return answer.value


@metric(pass_mark=0.5)
def asks_twice(question: str, contexts: tuple[str, ...]) -> Generator[Any, Any, tuple[float, str]]:
    answers = yield tuple(
        Request("context_relevance", {"question": question, "context": text}) for text in contexts
    )
    known = [answer.value for answer in answers if answer.value is not None]
    return max(known, default=1.0), "the best chunk"


def test_a_generator_asks_one_or_several_and_is_sent_what_was_judged() -> None:
    assert asks.declaration.judged
    score, asked = play(asks, ROW, lambda r: rated(r, 3))
    assert [r.rubric for r in asked] == ["answer_relevance"]
    assert (score.value, score.counts.asked, score.counts.judged) == (1.0, 1, 1)
    score, asked = play(asks_twice, ROW, lambda r: rated(r, 3 if "red" in r.text("context") else 0))
    assert (len(asked), score.value, score.verdict, score.rationale) == (
        2,
        1.0,
        Verdict.PASS,
        "the best chunk",
    )


def test_what_was_lost_is_never_a_number_whatever_the_function_makes_of_it() -> None:
    score, _ = play(asks, ROW, lambda r: gone(r, Status.REFUSED))
    assert (score.status, score.value, score.counts.refused) == (Status.REFUSED, None, 1)
    score, _ = play(asks_twice, ROW, gone)  # it would say 1.0
    assert (score.status, score.value, score.verdict) == (Status.UNPARSED, None, Verdict.UNDECIDED)


def test_a_value_beside_a_loss_is_partial_and_no_pass() -> None:
    answer = lambda r: rated(r, 3) if "red" in r.text("context") else gone(r)  # noqa: E731
    score, _ = play(asks_twice, ROW, answer)
    assert (score.value, score.flags, score.verdict) == (1.0, ("partial",), Verdict.UNDECIDED)
    assert (score.counts.asked, score.counts.judged) == (2, 1)


@pytest.mark.parametrize("wrong", ["text", 3, None, ("text",)])
def test_what_is_yielded_must_be_requests(wrong: Any) -> None:
    @metric
    def yields(response: str) -> Generator[Any, Any, float]:
        yield wrong
        return 1.0

    with pytest.raises(TypeError, match="yield a Request or a tuple of Requests"):
        play(yields, ROW, never)


def test_rows_are_judged_side_by_side_by_one_metric() -> None:
    first, second = asks.flow(ROW), asks.flow(replace(ROW, response="No."))
    (one,), (two,) = next(first), next(second)

    def end(flow: Any, request: Request, rating: int) -> float:
        answer: Judgment = rated(request, rating)
        with pytest.raises(StopIteration) as done:
            flow.send((answer,))
        value: float = done.value.value.value
        return value

    assert (end(second, two, 0), end(first, one, 3)) == (0.0, 1.0)


def test_a_function_takes_part_in_the_verdict_of_the_row() -> None:
    score = returns((False, "too long"))
    found = diagnose(ROW, [score])
    assert found.verdict is Verdict.FAIL
    assert found.cause is not None
    assert (found.cause.name, found.cause.detail) == ("given", "too long")


# -- what cannot be a metric


async def later(response: str) -> bool:
    return True


async def many(response: str) -> Any:
    yield True


def test_an_async_function_is_told_what_to_do_instead() -> None:
    for function in (later, many):
        with pytest.raises(SetupError) as caught:
            metric(function)
        assert caught.value.code == "E0202"
        assert "yield Requests" in str(caught.value)


def test_a_function_that_hands_out_something_to_await_fails_on_the_row() -> None:
    with pytest.raises(TypeError, match="await"):
        play(metric(name="hidden")(lambda response: later(response)), ROW, never)


@pytest.mark.parametrize(
    ("function", "options", "says"),
    [
        (lambda responze: 1, {"name": "f"}, "Did you mean 'response'?"),
        (lambda *args: 1, {"name": "f"}, "*args"),
        (lambda **fields: 1, {"name": "f"}, "**fields"),
        (lambda: 1, {"name": "f"}, "no parameter"),
        (lambda response: 1, {}, "name of small letters"),
        (lambda response: 1, {"name": "Bad name"}, "name of small letters"),
        (lambda response: 1, {"name": "groundedness"}, "a metric of RagAssay is called that"),
        (lambda response: 1, {"name": "f", "low": 1, "high": 0}, "above low=1"),
        (lambda response: 1, {"name": "f", "high": math.inf}, "finite number"),
        (lambda response: 1, {"name": "f", "pass_mark": "half"}, "finite number"),
        (lambda response: 1, {"name": "f", "pass_mark": 2}, "in the metric's range"),
        (
            lambda response: 1,
            {"name": "f", "pass_mark": 0.5, "higher_is_better": None},
            "higher_is_better",
        ),
        (3, {"name": "f"}, "a function"),
    ],
)
def test_a_function_that_cannot_be_a_metric_is_refused_when_it_is_decorated(
    function: Any, options: Any, says: str
) -> None:
    with pytest.raises(SetupError) as caught:
        metric(**options)(function)
    assert caught.value.code == "E0202"
    assert says in str(caught.value)


def test_a_score_that_the_function_makes_itself_does_not_hide_what_was_lost() -> None:
    @metric
    def own(question, response):
        yield (Request("answer_relevance", {"question": question, "response": response}),)
        return Score("own", Status.JUDGED, value=1.0, verdict=Verdict.PASS)

    lost, _ = play(own, ROW, gone)
    assert (lost.status, lost.value, lost.verdict, lost.counts.asked) == (
        Status.UNPARSED,
        None,
        Verdict.UNDECIDED,
        1,
    )
    kept, _ = play(own, ROW, lambda request: rated(request, 3))
    assert (kept.value, kept.verdict, kept.counts.judged) == (1.0, Verdict.PASS, 1)


def test_a_function_cannot_change_the_row_for_the_others() -> None:
    row = replace(ROW, labels={"x": "1"}, slices={"lang": "en"})

    @metric
    def rude(row) -> None:
        row.labels["x"] = "2"

    @metric
    def ruder(labels) -> None:
        labels["x"] = "2"

    for each in (rude, ruder):
        with pytest.raises(TypeError):
            play(each, row, gone)
    assert row.labels == {"x": "1"}
