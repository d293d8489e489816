"""What a response does: answers, declines, asks back, hedges, or names a conflict.

Whether a text declines is said by the reader of declining responses (`judges.text_rules`); the
others are rules beside it. English only, but for what that reader knows.
"""

from __future__ import annotations

import re
from enum import StrEnum

from ragassay.core.boundaries import boundaries
from ragassay.judges.text_rules.abstention import declines


class Manner(StrEnum):
    """How a system responds."""

    ANSWERS = "answers"
    DECLINES = "abstains"
    ASKS_BACK = "asks back"
    HEDGES = "hedges, then answers"
    EMPTY = "returns no text"
    ERROR = "fails"


_ASKS = re.compile(
    r"\b(?:could|can|would|do|did|are|which|what|who|where|when|please (?:clarify|specify|provide)"
    r"|clarify)\b.*\b(?:you|your|specify|clarify|mean|meant|refer)\b",
    re.IGNORECASE | re.DOTALL,
)
_CONFLICT = re.compile(
    r"\b(?:conflict\w*|contradict\w*|inconsisten\w*|disagree\w*|discrepan\w*|at odds"
    r"|(?:sources?|passages?|documents?|contexts?) (?:differ|vary|do not agree|don't agree)"
    r"|(?:wrong|incorrect|mistaken|inaccurate|outdated|unreliable)\b.{0,60}\b(?:sources?|passages?"
    r"|documents?|contexts?|texts?|information)"
    r"|(?:sources?|passages?|documents?|contexts?|texts?|information)\b.{0,60}\b(?:wrong|incorrect"
    r"|mistaken|inaccurate|outdated|unreliable))\b",
    re.IGNORECASE | re.DOTALL,
)


def manner(response: str | None) -> Manner:
    """How a response responds; ERROR where there is none.

    >>> manner("I do not know."), manner("Which bridge do you mean?"), manner("In 1937.")
    (<Manner.DECLINES: 'abstains'>, <Manner.ASKS_BACK: 'asks back'>, <Manner.ANSWERS: 'answers'>)
    """
    if response is None:
        return Manner.ERROR
    if not response.strip():
        return Manner.EMPTY
    if declines(response):
        return Manner.DECLINES
    sentences = [response[start:end].strip() for start, end in boundaries(response)]
    sentences = [sentence for sentence in sentences if sentence]
    if all(s.endswith("?") or declines(s) for s in sentences) and _ASKS.search(response):
        return Manner.ASKS_BACK
    if any(declines(sentence) for sentence in sentences):
        return Manner.HEDGES
    return Manner.ANSWERS


def names_conflict(response: str) -> bool:
    """Whether a response says that its sources disagree or are wrong."""
    return _CONFLICT.search(response) is not None
