"""What a claim says that its passages deny or do not hold, and what counts as a conflict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

CONFLICT, ABSENT = "conflict", "absent"
"""The passages say another thing of the same, or do not hold it at all."""


class Place(NamedTuple):
    """A stretch of a passage."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact of the claim at [start, end) that the passages deny or do not hold.

    rule: "number", "bound", "direction", "date", "name", "role", "exchange", "elsewhere",
    "comparison", "negation", "opposite" or "quantifier". status: CONFLICT or ABSENT. said and
    found: what the claim says and what the passages say instead, in their words. place: the
    sentence of the passages; None for what is absent. score: how much of what stands around the
    fact stands around the other, in [0, 1].
    """

    rule: str
    status: str
    start: int
    end: int
    said: str
    found: str = ""
    place: Place | None = None
    score: float = 0.0


class Candidate(NamedTuple):
    """A fact of a passage at [start, end) beside one of the claim. same: whether both say the same;
    None where they cannot be compared. is_whole: whether it says all that the claim's says, and not
    the month of a day alone.
    """

    passage: int
    start: int
    end: int
    same: bool | None
    is_whole: bool = True


class Match(NamedTuple):
    """A candidate, and how much of what stands around the claim's fact stands around it."""

    candidate: Candidate
    score: float


@dataclass(frozen=True, slots=True)
class Margin:
    """From where a rule speaks of a conflict.

    least: share of what stands around the fact that stands around what denies it. ahead: by how
    much that is more than around the best fact that agrees; in_sentence: where both stand in one
    sentence, which says of each what is its own.
    """

    least: float
    ahead: float
    in_sentence: float


# Chosen on train and dev rows of the labelled sets and on half of the planted faults.
MARGINS = {
    "number": Margin(0.25, 0.2, 0.06),
    "bound": Margin(0.0, 0.1, 0.1),
    "direction": Margin(0.1, 0.1, 0.1),
    "date": Margin(0.25, 0.25, 0.06),
    "name": Margin(0.8, 0.45, 0.3),
    "negation": Margin(0.45, 0.2, 0.15),
    "opposite": Margin(0.6, 0.2, 0.15),
    "quantifier": Margin(0.55, 0.1, 0.1),
}

BOTH_SAID = 0.3
"""By how much what denies a fact must be ahead where the claim says that other thing as well."""


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Start and end of a stretch of a text without the blanks and marks around it."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip(" ,;")), start + len(part.rstrip(" ,;"))
