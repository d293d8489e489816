"""The known example: a question to a judge whose answers nobody doubts.

It is asked before a model judges rows for money: whoever cannot tell what a short passage says from
what it does not is no judge. It shows no more than that; how good a judge is, labels show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ragassay.core import Judgment, Request
from ragassay.core.request import Input

VERSION = 1
"""Raised when the example changes: what is known of models is then asked anew."""

RUBRIC = "groundedness"

_QUESTION = "When is the Harbour Museum open, and what does it cost?"
_PASSAGE = (
    "The Harbour Museum opens at nine in the morning and closes at five in the afternoon. Entry is"
    " free for children under twelve; adults pay eight euros at the desk."
)
_CLAIMS: Mapping[str, bool] = {
    "The Harbour Museum opens at nine in the morning.": True,
    "Guided mountain hikes leave from Lisbon every Thursday.": False,
    "Entry is free for children under twelve.": True,
    "Two bronze horses were sold to a collector from Toronto.": False,
}
"""Claim -> whether the passage supports it."""


class Outcome(NamedTuple):
    """How a model did. right, judged: of `asked` verdicts; problem: why it cannot judge, "" where
    it can.
    """

    asked: int
    judged: int
    right: int
    problem: str


def requests() -> tuple[Request, ...]:
    """The questions of the example, in one group."""
    response = " ".join(_CLAIMS)
    asked: list[Request] = []
    for claim in _CLAIMS:
        inputs: dict[str, Input] = {
            "question": _QUESTION,
            "response": response,
            "contexts": (_PASSAGE,),
            "claim": claim,
        }
        asked.append(Request(RUBRIC, inputs))
    return tuple(asked)


def outcome(judgments: Sequence[Judgment]) -> Outcome:
    """What the verdicts on the example say of the model."""
    return outcome_of(judgments, expected())


def expected() -> Mapping[str, bool]:
    """Key of the Request -> whether it passes."""
    keys = [request.key for request in requests()]
    return dict(zip(keys, _CLAIMS.values(), strict=True))


def outcome_of(judgments: Sequence[Judgment], wanted: Mapping[str, bool]) -> Outcome:
    """What verdicts say of a model. wanted: key of the Request -> whether it passes."""
    verdicts = [(j.passes, wanted[j.key]) for j in judgments if j.passes is not None]
    right = sum(passes is right_one for passes, right_one in verdicts)
    return Outcome(len(wanted), len(verdicts), right, _problem(verdicts, judgments, right))


def _problem(
    verdicts: Sequence[tuple[bool, bool]], judgments: Sequence[Judgment], right: int
) -> str:
    if not verdicts:
        reasons = [judgment.reason for judgment in judgments if judgment.reason]
        return f"no verdict could be read: {reasons[0]}" if reasons else "no verdict could be read"
    if len(verdicts) > 1 and len({passes for passes, _ in verdicts}) == 1:
        word = "supported" if verdicts[0][0] else "not supported"
        return f"it called all {len(verdicts)} claims {word}, and half of them are"
    if not right:
        return f"none of its {len(verdicts)} verdicts is right"
    return ""
