"""The comparison of an answer with a text or another answer: numbers as numbers, dates as dates,
the rest by words.
"""

from __future__ import annotations

from ragassay.models.offline.facts.dates import Date, dates
from ragassay.models.offline.facts.quantities import Quantity, quantities
from ragassay.models.offline.facts.same_quantity import same_quantity
from ragassay.testsets.words import listed, plain, stem, words

_HELD = 0.75
"""Share of an answer's words that a text has to hold, where the answer is no number or date."""

_LONG, _HELD_OF_LONG = 12, 0.6
"""Words from which an answer is an explanation in words of its own, and its share."""

_SMALL = listed("a an the of in on at by to is was were are and it its about")


def holds(text: str, answer: str) -> bool:
    """Whether an answer stands in a text: each of its numbers and dates, and most of its words."""
    answer_dates = dates(answer)
    if not all(_has_date(text, date) for date in answer_dates):
        return False
    places = [(date.start, date.end) for date in answer_dates]
    numbers = quantities(answer, places)
    in_text = quantities(text, [(date.start, date.end) for date in dates(text)])
    for number in numbers:
        is_there = any(_one_number(number, other) for other in in_text)
        # "two" of "two stars" in another grammar: the word itself will do.
        if not is_there and plain(answer[number.start : number.end]) not in plain(text):
            return False
    asked = _kept(answer)
    known = set(_kept(text))
    if not asked:
        return bool(answer_dates or numbers) or plain(answer) in plain(text)
    if answer_dates or numbers:
        return True
    needed = _HELD if len(asked) <= _LONG else _HELD_OF_LONG
    return sum(word in known for word in asked) >= needed * len(asked)


def _one_number(mine: Quantity, other: Quantity) -> bool:
    """Whether two quantities are one, but for rounding within half a per cent."""
    if not same_quantity(mine, other):
        return False
    largest = max(abs(mine.low), abs(other.low))
    is_near = abs(mine.low - other.low) <= 0.005 * largest
    return is_near or mine.measure != other.measure


def same(one: str, other: str) -> bool:
    """Whether two answers say the same: one holds the other, in either direction."""
    if not plain(one) or not plain(other):
        return False
    return plain(one) == plain(other) or holds(one, other) or holds(other, one)


def _has_date(text: str, date: Date) -> bool:
    return any(date.agrees(other) and not date.differs(other) for other in dates(text))


def _kept(text: str) -> list[str]:
    return [stem(word) for word in words(text) if word not in _SMALL]
