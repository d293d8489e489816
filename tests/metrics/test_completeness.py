"""Completeness: how much of what the contexts hold on the question the response says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragassay.core import Context, Sample, Status, Verdict
from support.hand_fed import gone, never, play, rated

ROW = Sample(
    "r",
    question="When may I return a lamp, and who pays?",
    response="Within 30 days.",
    contexts=(Context("Lamps may be returned within 30 days."), Context("The sender pays.")),
)


@pytest.mark.parametrize(
    ("rating", "value", "verdict"),
    [
        (0, 0.0, Verdict.FAIL),
        (1, 1 / 3, Verdict.FAIL),
        (2, 2 / 3, Verdict.PASS),
        (3, 1.0, Verdict.PASS),
    ],
)
def test_the_rating_is_a_third_a_point_and_passes_at_two(
    rating: int, value: float, verdict: Verdict
) -> None:
    score, asked = play("completeness", ROW, lambda request: rated(request, rating))
    assert score.value == pytest.approx(value)
    assert (score.verdict, score.counts.asked) == (verdict, 1)
    assert [(r.rubric, sorted(r.inputs)) for r in asked] == [
        ("completeness", ["contexts", "question", "response"])
    ]


def test_where_nothing_is_needed_nothing_is_missing() -> None:
    score, _ = play("completeness", ROW, lambda request: rated(request, 3, "nothing_needed"))
    assert (score.value, score.verdict, score.flags) == (1.0, Verdict.PASS, ("nothing_needed",))


def test_an_empty_response_says_nothing_and_is_not_asked_about() -> None:
    score, asked = play("completeness", replace(ROW, response=" "), never)
    assert (score.value, score.verdict, score.flags, asked) == (
        0.0,
        Verdict.FAIL,
        ("empty_response",),
        [],
    )


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"question": " "}, "the question is empty"),
        ({"contexts": ()}, "nothing was retrieved"),
        ({"contexts": (Context(" "),)}, "nothing was retrieved"),
        ({"contexts": None}, "the row has no contexts"),
    ],
)
def test_without_something_to_say_it_is_not_applicable(
    changed: dict[str, object], reason: str
) -> None:
    score, _ = play("completeness", replace(ROW, **changed), never)  # type: ignore[arg-type]
    assert (score.status, score.reason, score.verdict) == (Status.NOT_APPLICABLE, reason, None)


def test_a_lost_verdict_leaves_the_row_undecided() -> None:
    score, _ = play("completeness", ROW, gone)
    assert (score.status, score.value, score.verdict) == (Status.UNPARSED, None, Verdict.UNDECIDED)
