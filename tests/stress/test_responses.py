"""What a response does."""

from __future__ import annotations

import pytest

from ragassay.stress.responses import Manner, manner, names_conflict

CASES = {
    "In 1937.": Manner.ANSWERS,
    "I do not know.": Manner.DECLINES,
    "The passages do not say when it was opened.": Manner.DECLINES,
    "Which bridge do you mean?": Manner.ASKS_BACK,
    "I do not know. Could you tell me which bridge you mean?": Manner.DECLINES,
    "I am not sure. It was opened in 1937.": Manner.HEDGES,
    "The passages do not say. It was probably 1937.": Manner.HEDGES,
    "": Manner.EMPTY,
    " \n ": Manner.EMPTY,
}


@pytest.mark.parametrize(("response", "expected"), CASES.items())
def test_a_response_abstains_asks_back_hedges_or_answers(response: str, expected: Manner) -> None:
    assert manner(response) is expected


def test_no_response_is_a_failure() -> None:
    assert manner(None) is Manner.ERROR


@pytest.mark.parametrize(
    ("response", "flags"),
    [
        ("The passages disagree: 1937 or 1940.", True),
        ("One source says 1937; another contradicts it.", True),
        ("The passage seems to be wrong: it was 1937.", True),
        ("It was opened in 1937.", False),
        ("There was a war in 1937.", False),
    ],
)
def test_a_response_that_names_a_conflict_is_seen(response: str, flags: bool) -> None:
    assert names_conflict(response) is flags
