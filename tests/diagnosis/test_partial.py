"""An answer that states a part of the reference is incomplete, and not wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ragassay.core import Context, Part, Sample, Score, Status, Verdict
from support.diagnosing import diagnose

P, F = Verdict.PASS, Verdict.FAIL
RESPONSE = "On weekdays the pool is open from 7 to 21."
ROW = Sample(
    "r",
    question="What are the opening hours on weekdays and on weekends?",
    response=RESPONSE,
    reference="From 7 to 21 on weekdays and from 9 to 18 on weekends.",
    contexts=(
        Context("The pool is open from 7 to 21 on weekdays and from 9 to 18 on weekends."),
        Context("The old pool was open from 7 to 21."),
    ),
)


def score(metric: str, verdict: Verdict, *parts: Part, **extra: float) -> Score:
    value = 1.0 if verdict is P else 0.0
    return Score(metric, Status.JUDGED, value, verdict=verdict, parts=parts, extra=extra)


def part(kind: str, passed: bool, *sources: int) -> Part:
    place = {"start": 0, "end": len(RESPONSE)} if kind == "claim" else {"text": "On weekends."}
    value = float(passed)
    return Part(kind, Status.JUDGED, value=value, passed=passed, sources=sources, **place)


WRONG = score("correctness", F)
GROUNDED = score("groundedness", P, part("claim", True, 0))
RECALLED = score("context_recall", P, part("statement", True, 0))


def cause(*scores: Score, row: Sample = ROW) -> str:
    found = diagnose(row, scores).cause
    return found.name if found else ""


def test_supported_claims_from_the_reference_s_chunk_in_its_words_are_a_part_of_it() -> None:
    found = diagnose(ROW, [GROUNDED, RECALLED, WRONG])
    assert found.cause is not None
    assert (found.cause.name, found.finer) == ("incomplete_answer", ())
    assert found.cause.detail == (
        f"answered “{RESPONSE}”; the reference states “From 7 to 21 on weekdays and from 9 to 18 on"
        " weekends.”"
    )


UNGROUNDED = score("groundedness", F, part("claim", False))
OF_ANOTHER_CHUNK = score("groundedness", P, part("claim", True, 1))
OF_NO_KNOWN_CHUNK = score("groundedness", P, part("claim", True))
NOT_RECALLED = score("context_recall", F, part("statement", False))
BESIDE = score("answer_relevance", F)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([UNGROUNDED, RECALLED, WRONG], "ungrounded"),
        ([GROUNDED, NOT_RECALLED, WRONG], "insufficient_context"),
        ([GROUNDED, RECALLED, BESIDE, WRONG], "answer_irrelevant"),
        # A chunk of its own may deny what the reference's chunk says.
        ([OF_ANOTHER_CHUNK, RECALLED, WRONG], "incorrect"),
        ([OF_NO_KNOWN_CHUNK, RECALLED, WRONG], "incorrect"),
        ([GROUNDED, WRONG], "incorrect"),
    ],
)
def test_where_the_evidence_does_not_show_it_the_answer_is_not_called_incomplete(
    scores: list[Score], expected: str
) -> None:
    assert cause(*scores) == expected


@pytest.mark.parametrize(
    "response",
    [
        "On weekdays the pool is open from 9 to 20.",  # a figure that the reference has not
        "On weekdays the pool is closed, heated and cleaned by the caretaker.",
        "It does.",
        "From seven to 21 on weekdays.",  # a number in words
        "The pool is open from 7 to 21 and from 9 to 18 on Fridays.",  # it lacks no part
    ],
)
def test_an_answer_in_other_words_or_figures_than_the_reference_stays_wrong(response: str) -> None:
    row = replace(ROW, response=response)
    assert cause(GROUNDED, RECALLED, WRONG, row=row) == "incorrect"


def test_claims_that_were_compared_with_the_reference_decide() -> None:
    missing = part("statement", False)
    true_in_part = score(
        "answer_correctness_claims",
        F,
        part("claim", True),
        missing,
        precision=1.0,
        recall=0.5,
    )
    found = diagnose(ROW, [GROUNDED, WRONG, true_in_part])
    assert found.cause is not None
    assert found.cause.name == "incomplete_answer"
    assert "it does not state “On weekends.”" in found.cause.detail
    false_too = replace(true_in_part, extra={"precision": 0.7, "recall": 0.5})
    assert cause(GROUNDED, RECALLED, WRONG, false_too) == "incorrect"
