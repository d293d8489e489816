"""How much of something for each day, week or the like: "50 cents a day", "a monthly fee of 25
euros", "twice a week".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ragassay.models.offline.facts.folding import folded
from ragassay.models.offline.facts.quantities import COUNT, ORDINAL, Quantity
from ragassay.models.offline.facts.same_quantity import same_quantity
from ragassay.models.offline.facts.text_facts import TextFacts

_UNITS = {
    "hour": "hour hourly",
    "day": "day daily night nightly",
    "week": "week weekly",
    "month": "month monthly",
    "quarter": "quarter quarterly",
    "year": "year yearly annual annually annum",
}
_UNIT_OF: dict[str, str] = {}
for _unit, _words in _UNITS.items():
    _UNIT_OF |= dict.fromkeys(_words.split(), _unit)
_ADVERBS = r"hourly|daily|nightly|weekly|monthly|quarterly|yearly|annually"
_BEHIND = re.compile(
    r"(?:\s(?!per\b|an?\b|each\b|every\b|and\b|or\b|for\b|in\b|on\b|after\b|before\b|within\b)"
    r"[\w’'-]+){0,3}"
    rf"(?:(?:\s?/\s?|\s(?:per|an?|each|every)\s)(?:working |calendar )?"
    rf"(?P<unit>hour|day|night|week|month|quarter|year|annum)\b|\s(?P<adverb>{_ADVERBS})\b)"
    r"(?!\s(?:of|later|earlier|long|ago|and a half|or two|in advance)\b)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?P<unit>hourly|daily|nightly|weekly|monthly|quarterly|yearly|annual)"
    r"(?:\s[\w’'-]+){1,2}\s(?:of|is|at|costs?)\s(?:about |only |just )?$",
    re.IGNORECASE,
)
_TIMES = re.compile(r"\b(?P<times>once|twice)\b(?=\s)", re.IGNORECASE)
_LONGEST = 60


class Rate(NamedTuple):
    """So much, or so often, in each of a unit of time, at [start, end) of its text. amount: how
    much; None where times says how often.
    """

    start: int
    end: int
    unit: str
    amount: Quantity | None
    times: str = ""


def rates(text: TextFacts) -> tuple[Rate, ...]:
    """The rates of a text."""
    return tuple(_rates(text))


def _rates(text: TextFacts) -> Iterator[Rate]:
    written = text.reading.text
    for amount in text.quantities:
        if amount.measure == ORDINAL or amount.is_of_verb:
            continue
        found = _BEHIND.match(written, amount.end, amount.end + _LONGEST)
        if found is not None:
            unit = _UNIT_OF[folded(found["unit"] or found["adverb"])]
            yield Rate(amount.start, found.end(), unit, amount)
            continue
        found = _BEFORE.search(written, max(0, amount.start - _LONGEST), amount.start)
        if found is not None and amount.measure != COUNT:
            yield Rate(found.start(), amount.end, _UNIT_OF[folded(found["unit"])], amount)
    for times in _TIMES.finditer(written):
        found = _BEHIND.match(written, times.end(), times.end() + _LONGEST)
        if found is not None:
            unit = _UNIT_OF[folded(found["unit"] or found["adverb"])]
            yield Rate(times.start(), found.end(), unit, None, folded(times["times"]))


def is_one_amount(mine: Rate, other: Rate) -> bool:
    """Whether two rates are of one amount, whatever they are for."""
    if mine.amount is None or other.amount is None:
        return mine.amount is other.amount and mine.times == other.times
    is_alike = mine.amount.measure == other.amount.measure
    return is_alike and same_quantity(mine.amount, other.amount) is True
