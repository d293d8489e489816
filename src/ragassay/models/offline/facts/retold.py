"""A claim with its amounts and dates as the passages write them.

Whether "42 days" are "six weeks" is arithmetic, which a network that reads words cannot do. So it
is shown the claim in the words of the passages, where both are one amount beyond doubt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.dates import Date
from ragassay.models.offline.facts.quantities import Quantity
from ragassay.models.offline.facts.same_quantity import close, same_quantity, says_little
from ragassay.models.offline.facts.text_facts import TextFacts

_MOST_STATED = 200
"""Amounts of the passages; among more of them equal ones are of other things."""


class Change(NamedTuple):
    """What stands at [start, end) of the claim, and what takes its place."""

    start: int
    end: int
    words: str


class Retold:
    """A text, and where each part of it stands in the claim."""

    def __init__(self, claim: str, changes: Sequence[Change]) -> None:
        self._changes = changes
        parts: list[str] = []
        at = 0
        for change in changes:
            parts += [claim[at : change.start], change.words]
            at = change.end
        self.text = "".join([*parts, claim[at:]])

    def in_claim(self, start: int, end: int) -> tuple[int, int]:
        """The place in the claim of what stands at [start, end) of the text."""
        return self._original(start, is_end=False), self._original(end, is_end=True)

    def _original(self, place: int, *, is_end: bool) -> int:
        shift = 0
        for change in self._changes:
            start = change.start + shift
            end = start + len(change.words)
            if place <= start:
                break
            if place < end:
                return change.end if is_end else change.start
            shift = end - change.end
        return place - shift


def retold(claim: TextFacts, passages: Sequence[TextFacts]) -> Retold:
    """The claim with every amount and date that the passages have in another form in their form."""
    text = claim.reading.text
    if not claim.quantities and not claim.dates:
        return Retold(text, ())
    if sum(len(passage.quantities) for passage in passages) > _MOST_STATED:
        return Retold(text, ())
    found = [*_amounts(claim, passages), *_dates(claim, passages)]
    changes: list[Change] = []
    for change in sorted(found):
        if not changes or change.start >= changes[-1].end:
            changes.append(change)
    return Retold(text, changes)


def _amounts(claim: TextFacts, passages: Sequence[TextFacts]) -> Iterator[Change]:
    for mine in claim.quantities:
        said = claim.reading.text[mine.start : mine.end]
        if says_little(mine) or _stands_in(said, passages):
            continue
        for passage in passages:
            other = next((each for each in passage.quantities if _is_one(mine, each)), None)
            if other is not None:
                words = passage.reading.text[other.start : other.end]
                yield Change(mine.start, mine.end, words)
                break


def _is_one(mine: Quantity, other: Quantity) -> bool:
    if not same_quantity(mine, other):
        return False
    if mine.measure != other.measure:
        # Shares, "one in five" and "a fifth"; of other measures one lacks its unit.
        return "percent" in (mine.measure, other.measure)
    return close(mine.low, other.low) or mine.measure == "time"


def _dates(claim: TextFacts, passages: Sequence[TextFacts]) -> Iterator[Change]:
    for mine in claim.dates:
        said = claim.reading.text[mine.start : mine.end].rstrip(".")
        if _stands_in(said, passages):
            continue
        for passage in passages:
            other = next((each for each in passage.dates if _is_one_day(mine, each)), None)
            if other is not None:
                words = passage.reading.text[other.start : other.end].rstrip(".")
                yield Change(mine.start, mine.start + len(said), words)
                break


def _is_one_day(mine: Date, other: Date) -> bool:
    return mine.agrees(other) and mine.covers(other) and other.covers(mine)


def _stands_in(said: str, passages: Sequence[TextFacts]) -> bool:
    lower = said.lower()
    return any(lower in passage.reading.text.lower() for passage in passages)
