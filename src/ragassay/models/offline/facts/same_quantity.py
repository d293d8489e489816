"""Whether a quantity of a claim is one of the passages, in whatever unit and form, or follows from
others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import product

from ragassay.models.offline.facts.quantities import COUNT, ORDINAL, RESULT, Quantity

_MOST_STATED = 80
"""Numbers of the passages; among more of them nearly every number is a sum of two."""

_JUST_BEYOND = 1.25
"""How many times a round number what is told by it may be."""

_NO_UNITS = frozenset(("old", "older", "young", "younger", "mor", "less", "few", "fewer", "only"))
_CALCULATES = re.compile(
    r"\b(?:total|together|altogether|in all|sum|comes? to|adds? up|makes?|combined|overall|"
    r"difference|each|apiece|double|twice|half|triple|average|in other words|that is|which is|"
    r"equals?|behind|ahead|(?<!no )(?<!not )(?:more|less|fewer) than|older|younger|"
    r"longer|shorter|later|earlier|higher|lower|left|remaining|saves?|cheaper|dearer|means?)\b",
    re.IGNORECASE,
)


def close(one: float, other: float) -> bool:
    """Whether two numbers are one but for the last binary digits."""
    return abs(one - other) <= 1e-6 * max(1.0, abs(one), abs(other))


def same_quantity(mine: Quantity, other: Quantity) -> bool | None:
    """Whether a quantity of a claim is one of the passages; None where they measure other
    things.
    """
    if mine.is_of_verb or other.is_of_verb:
        return _same_change(mine, other)
    if mine.measure != other.measure:
        return _same_across_measures(mine, other)
    if mine.label and other.label:
        # Rooms 214 and 241 are two, however near; and room 214 is no page.
        return close(mine.low, other.low) if mine.label == other.label else None
    if mine.measure in (COUNT, ORDINAL) and not _one_noun(mine, other):
        return True if _same_ends(mine, other) else None
    if mine.measure == RESULT:
        return _same_ends(mine, other)
    if mine.is_range or other.is_range:
        return _same_range(mine, other)
    return equal(mine, other) or _is_just_beyond(mine, other)


def _is_just_beyond(mine: Quantity, other: Quantity) -> bool:
    """Whether a quantity of the claim is another one told by the round number before it: "more than
    40", of 47.
    """
    if other.bound or mine.written % 10 or not mine.low:
        return False
    ratio = other.low / mine.low
    if mine.bound == "more than":
        return 1 < ratio <= _JUST_BEYOND
    return mine.bound == "less than" and 1 > ratio >= 1 / _JUST_BEYOND


def _same_change(mine: Quantity, other: Quantity) -> bool | None:
    """Whether two changes in percent are one, of which a verb tells one: "doubled" is +100 %."""
    if not (mine.is_change and other.is_change) or mine.measure != other.measure:
        return None
    if mine.bound or other.bound:  # "more than doubled" says nothing of 120 %
        return True if close(mine.low, other.low) else None
    return equal(mine, other)


def _same_across_measures(mine: Quantity, other: Quantity) -> bool | None:
    if _are_pounds(mine, other) or _are_millions(mine, other) or _are_millions(other, mine):
        return True
    if _are_cents(mine, other) or _are_cents(other, mine):
        return equal(mine, other)
    if {mine.measure, other.measure} == {"temperature", "angle or temperature"}:
        return close(mine.written, other.written)
    if RESULT in (mine.measure, other.measure):
        return True if _same_ends(mine, other) else None
    share, count = (mine, other) if mine.measure == "percent" else (other, mine)
    if share.measure == "percent" and count.measure == COUNT and 0 < count.low < 1:
        return True if _is_share(share.low, 100 * count.low) else None
    if not close(mine.written, other.written):
        return None
    if COUNT not in (mine.measure, other.measure):
        # "118 litres" and "118 kWh" are two things.
        both = mine.measure.startswith("money") and other.measure.startswith("money")
        return False if both or _is_of_one_stuff(mine, other) else None
    if _may_lack_unit(mine, other):
        return True
    return None


def _is_share(percent: float, exact: float) -> bool:
    """Whether a share in percent is a part of a whole: two thirds are 66, 67 and 66.7 %."""
    if close(percent, exact):
        return True
    is_whole = close(exact, round(exact))
    return not is_whole and (percent == exact // 1 or percent in (round(exact), round(exact, 1)))


def equal(mine: Quantity, other: Quantity) -> bool:
    """Whether two values of one measure are the same, as exactly as the claim gives its own."""
    one, two = mine.low, other.low
    if close(one, two):
        return True
    distance, size = abs(one - two), max(abs(one), abs(two))
    if mine.unit != other.unit and mine.measure not in (COUNT, "percent"):
        # Converted, and so rounded.
        return distance <= (0.07 if mine.about else 0.03) * size
    if mine.about:
        return distance <= 0.1 * size
    if 2 <= mine.digits < other.digits < 9 and two:
        return close(one, _rounded(two, mine.digits))
    return False


def of_one_scale(mine: Quantity, other: Quantity) -> bool:
    """Whether two quantities that differ may be of one thing: in one unit, in units of about one
    size, or with one number in two units.
    """
    if mine.unit == other.unit or close(mine.written, other.written):
        return True
    low, high = sorted((max(mine.low, 1e-12), max(other.low, 1e-12)))
    return high / low <= 8


def says_little(quantity: Quantity) -> bool:
    """Whether a number is hardly one: "one of them", "the first"."""
    is_small = quantity.measure in (COUNT, ORDINAL) and quantity.low in (1.0, 0.0)
    return is_small and quantity.is_spelled


def may_be_told_otherwise(quantity: Quantity) -> bool:
    """Whether a number that stands nowhere may be one that people count by themselves, or an idiom
    such as "a day".
    """
    is_count = quantity.measure in (COUNT, ORDINAL)
    if quantity.is_of_verb:
        return True  # from 10 to 20
    if quantity.measure == ORDINAL or quantity.low == 86400.0:
        return True
    return is_count and quantity.is_spelled and quantity.low <= 12


def is_computed(
    text: str, wanted: Quantity, here: Sequence[Quantity], stated: Sequence[Quantity]
) -> bool:
    """Whether a number follows from others by one step: a sum, a difference, so many times
    something, a part of it. Where the claim does not speak of a calculation, it is one only if it
    says how many or what share: "three tickets are 45 euros".

    text: the claim; here: its other quantities; stated: those of the passages.
    """
    if len(stated) > _MOST_STATED:
        return False
    is_told = _CALCULATES.search(text) is not None
    counts = wanted.measure not in (COUNT, ORDINAL)
    factors_of = ("percent", COUNT) if counts else ("percent",)
    mine = [
        other.written
        for other in here
        if is_told or other.measure in factors_of or _is_paid_for(text, wanted, other)
    ]
    alike = {other.low for other in (*here, *stated) if other.measure == wanted.measure}
    written = {other.written for other in (*here, *stated) if other.measure == wanted.measure}
    shares = [value / 100 for value in mine]
    factors = [*mine, *shares, *[1 - share for share in shares]]
    if wanted.measure != "time":  # 60 weeks are not 60 days
        factors += _constants(text)
    if is_told:
        factors += [other.written for other in stated if other.measure == COUNT]
    if _is_product(wanted.low, factors, alike) or _is_product(wanted.written, factors, written):
        return True
    # Within the claim the unit may stand at one of its numbers only: "from 21 km to 13, so 8".
    if is_told and (_is_sum(wanted.low, alike, alike) or _is_sum(wanted.written, mine, mine)):
        return True
    return is_told and _is_ratio(wanted.written, mine, written)


def _is_paid_for(text: str, price: Quantity, time: Quantity) -> bool:
    """Whether a time is how much of something a price is for: "two nights cost 160 dollars"."""
    before = text[: time.start].rstrip().lower()
    is_amount = before == "" or before.endswith((" for", "all", "."))
    return price.measure.startswith("money") and time.measure == "time" and is_amount


_CONSTANTS = (
    (12.0, re.compile(r"\b(?:year|yearly|annual|annually|months)\b", re.IGNORECASE)),
    (7.0, re.compile(r"\b(?:weeks?|weekly)\b", re.IGNORECASE)),
    (0.5, re.compile(r"\b(?:half|halve[sd]?)\b", re.IGNORECASE)),
    (100.0, re.compile(r"\b(?:cents?|pence)\b", re.IGNORECASE)),
)
"""Factors that words stand for."""


def _constants(text: str) -> list[float]:
    return [factor for factor, words in _CONSTANTS if words.search(text) is not None]


def _is_product(wanted: float, factors: Collection[float], values: Collection[float]) -> bool:
    for factor, value in product(factors, values):
        if close(wanted, factor * value) or close(wanted * factor, value):
            return factor not in (0.0, 1.0)
    return False


def _is_sum(wanted: float, some: Collection[float], others: Collection[float]) -> bool:
    for one, other in product(some, others):
        if one and other and (close(wanted, one + other) or close(wanted, abs(one - other))):
            return True
    return False


def _is_ratio(wanted: float, mine: Collection[float], values: Collection[float]) -> bool:
    """Whether it is to a value as two numbers of the claim are to each other: "150 litres cost
    £15" at £5 for 50 litres.
    """
    for one, other in product(mine, mine):
        if one != other and other and any(close(wanted, one / other * value) for value in values):
            return True
    return False


def _may_lack_unit(mine: Quantity, other: Quantity) -> bool:
    """Whether one of two is a bare number, whose unit stands elsewhere: "18 or older"."""
    if not mine.written.is_integer() or mine.written >= 100:
        return True  # no accident
    for quantity in (mine, other):
        if quantity.measure == COUNT and not set(quantity.nouns[:1]) - _NO_UNITS:
            return True
    return False


def _are_pounds(mine: Quantity, other: Quantity) -> bool:
    """Whether both are pounds, of which one was read as a weight."""
    names = {mine.unit, other.unit}
    is_one_of_each = "£" in names and not names.isdisjoint(("pound", "pounds"))
    return is_one_of_each and close(mine.written, other.written)


def _are_cents(mine: Quantity, other: Quantity) -> bool:
    """Whether the first is in cents, of whatever currency, and the other an amount of money."""
    return mine.unit in ("cent", "cents") and other.measure.startswith("money")


def _are_millions(short: Quantity, full: Quantity) -> bool:
    """Whether the first is "38m" and the other one 38 million."""
    return short.unit == "m" and close(short.written * 1e6, full.written)


_OF_STUFF = frozenset(("mass", "volume"))


def _is_of_one_stuff(mine: Quantity, other: Quantity) -> bool:
    """Whether two amounts are of one stuff, by weight the one and by volume the other: "10 g of
    salt", "10 tablespoons of salt".
    """
    return {mine.measure, other.measure} == _OF_STUFF and mine.nouns[:1] == other.nouns[:1] != ()


def _same_ends(mine: Quantity, other: Quantity) -> bool:
    """Whether two quantities are equal, ranges at both ends."""
    if mine.is_range or other.is_range:
        return close(mine.low, other.low) and close(mine.high, other.high)
    return equal(mine, other)


def _one_noun(mine: Quantity, other: Quantity) -> bool:
    return not set(mine.nouns[:2]).isdisjoint(other.nouns[:2])


def _same_range(mine: Quantity, other: Quantity) -> bool | None:
    if mine.is_range and other.is_range:
        return _same_ends(mine, other)
    around, single = (mine, other) if mine.is_range else (other, mine)
    # A value within a range may be one of it, and may be another thing.
    return None if around.low <= single.low <= around.high else False


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")
