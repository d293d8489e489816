"""Amounts told in words: "one in five", "a year and a half", "half a year", "Q3", "doubled"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from ragassay.models.offline.facts import number_words
from ragassay.models.offline.facts.folding import folded
from ragassay.models.offline.facts.units_of_measure import unit_named

CHANGE = "change"

_small = "|".join(sorted(number_words.SMALL, key=len, reverse=True))
_number = rf"\d{{1,3}}(?:,\d{{3}})*(?![\d.,/]\d)|{_small}"
_SHARE = re.compile(
    rf"(?<![\w.,/-])(?P<some>{_number}) (?:in|of|out of)(?: every)?"
    rf" (?P<all>{_number}|a hundred|a thousand)(?![\w%]|-\w| (?:percent|per cent|%))",
    re.IGNORECASE,
)
_AND_A_PART = re.compile(
    rf"\b(?P<whole>an?|{_small}|\d{{1,3}}) (?P<unit>years?|months?|weeks?|days?|hours?|minutes?"
    r"|miles?|kilometres?|kilometers?|metres?|meters?|litres?|liters?|kilos?|pounds?)"
    r" and (?:a|one) (?P<part>half|quarter)\b(?! (?:years?|months?|hours?))",
    re.IGNORECASE,
)
_HALF_A = re.compile(r"\bhalf[ -]years?\b", re.IGNORECASE)
_HALF_PRICE = re.compile(r"\bhalf[ -](?:the )?price\b", re.IGNORECASE)
_QUARTER = re.compile(r"\bQ(?P<quarter>[1-4])\b")
_CHANGE = re.compile(
    r"\b(?:(?P<changed>doubled|doubling|tripled|tripling|trebled|trebling|quadrupled|quadrupling"
    r"|halved|halving)"
    r"|(?:cut|cuts|cutting|reduced|reduces|fell|falls|fallen|dropped|drops) (?:in|by) half)\b",
    re.IGNORECASE,
)
_CHANGE_LIKE = ("half", "halv", "doubl", "tripl", "trebl", "quadrupl")
_SHARE_LIKE = re.compile(rf" (?:in|of)(?: every)? (?:\d|a hundred|a thousand|{_small})")
_CHANGES = {"doubl": 100, "tripl": 200, "trebl": 200, "quadr": 300, "halve": 50, "halvi": 50}
_ROUND = frozenset((3, 4, 5, 6, 7, 8, 9, 10, 12, 20, 50, 100, 1000, 10_000, 100_000, 1_000_000))
_PARTS = {"half": Fraction(1, 2), "quarter": Fraction(1, 4)}


class SpokenAmount(NamedTuple):
    """An amount at [start, end): how many of a unit; "" is the unit of an order ("Q3" is the third
    quarter), CHANGE that of a change that a verb tells, in percent.
    """

    start: int
    end: int
    value: Fraction
    unit: str


def spoken_amounts(text: str) -> Iterator[SpokenAmount]:
    """The amounts of a text that are told in several words."""
    # A search for a word costs a small part of one for an expression.
    lower = folded(text)
    if _SHARE_LIKE.search(lower):
        yield from _shares(text)
    if "half" in lower or "quarter" in lower:
        yield from _parts(text)
    if any(word in lower for word in _CHANGE_LIKE):
        for match in _CHANGE.finditer(text):
            percent = _CHANGES[folded(match["changed"][:5])] if match["changed"] else 50
            yield SpokenAmount(*match.span(), Fraction(percent), CHANGE)
    if "Q" in text:
        for match in _QUARTER.finditer(text):
            yield SpokenAmount(*match.span(), Fraction(match["quarter"]), "")


def _shares(text: str) -> Iterator[SpokenAmount]:
    """One in five."""
    for match in _SHARE.finditer(text):
        some, whole = _value(match["some"]), _value(match["all"])
        # "Two of three" may be a share, and "3 of 14 May" is none.
        if " of " in match.group() and " out of " not in match.group().lower():
            continue
        if 0 < some < whole and int(whole) in _ROUND:
            yield SpokenAmount(*match.span(), 100 * some / whole, "%")


def _parts(text: str) -> Iterator[SpokenAmount]:
    """A year and a half, half a year, half the price."""
    for match in _AND_A_PART.finditer(text):
        assert unit_named(match["unit"]) is not None
        value = _value(match["whole"]) + _PARTS[folded(match["part"])]
        yield SpokenAmount(*match.span(), value, folded(match["unit"]))
    for match in _HALF_A.finditer(text):
        yield SpokenAmount(*match.span(), Fraction(1, 2), "year")
    for match in _HALF_PRICE.finditer(text):
        yield SpokenAmount(*match.span(), Fraction(50), "%")


def _value(written: str) -> Fraction:
    lower = folded(written).replace(",", "")
    if lower in ("a", "an"):
        return Fraction(1)
    if lower.isdecimal():
        return Fraction(lower)
    if lower == "a hundred":
        return Fraction(100)
    if lower == "a thousand":
        return Fraction(1000)
    return Fraction(number_words.SMALL[lower])
