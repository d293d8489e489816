"""Quantities in a text: a number with its unit, magnitude, range and bound, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from ragassay.models.offline.facts import number_words
from ragassay.models.offline.facts.folding import folded
from ragassay.models.offline.facts.spoken_amounts import CHANGE, SpokenAmount, spoken_amounts
from ragassay.models.offline.facts.units_of_measure import PATTERN as UNIT
from ragassay.models.offline.facts.units_of_measure import PREFIXES, Unit, unit_named
from ragassay.models.offline.reading import stem

SPELLED = 9
"""Significant digits of a number in words, which is as exact as it is."""

COUNT, ORDINAL, RESULT = "count", "ordinal", "result"
"""The measures of a number without a unit, of a place in an order, and of the result of a game with
the larger number first: "4-2".
"""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity of a text at [start, end).

    low and high: its value in the base unit of its measure (of a range both ends, else the same).
    measure: what it measures, COUNT without a unit. bound: "", "at least", "at most", "more than"
    or "less than". about: whether the text says that it is rounded. digits: significant ones, as
    written. written: the number itself, without its unit. nouns: stems of the words behind it.
    label: what is numbered by it, right before a bare number: "room" in "room 214"; "" else.
    is_change: whether it says by how much something changed: "rose by 5 %", "doubled".
    """

    start: int
    end: int
    low: float
    high: float
    measure: str
    unit: str
    bound: str
    about: bool
    digits: int
    written: float
    nouns: tuple[str, ...]
    label: str = ""
    is_change: bool = False

    @property
    def is_spelled(self) -> bool:
        """Whether it is written in words."""
        return self.digits == SPELLED

    @property
    def is_range(self) -> bool:
        """Whether it names two ends."""
        return self.low != self.high

    @property
    def is_of_verb(self) -> bool:
        """Whether it is a change in percent that a verb tells: "doubled"."""
        return self.unit == CHANGE


_PREFIX = r"(?:(?P<prefix>US\$|USD|EUR|GBP|CHF|INR|[$€£¥₹])[ ]?)?"
_DIGITS = (
    r"(?<![\w.,:/])(?<![A-Za-z]-)(?P<sign>[-−](?=\d)|\bminus (?=\d))?"
    r"(?:(?P<fraction>\d/[2-9](?![\d/]))|(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?)"
    r"(?P<part>[ ]?[½¼¾⅓⅔]|[ ]\d/[2-9](?![\d/]))?(?![.:/]\d))"
)
_MAGNITUDE = (
    r"(?:[ -]?(?P<magnitude>hundred|thousand|lakh|million|crore|billion|trillion|mn|bn|tn"
    r"|[kKmMbB](?![\w/²³])))?"
)
_ORDINAL = r"(?P<ordinal>st|nd|rd|th)\b"
_NUMBER = re.compile(
    rf"{_PREFIX}(?:{_DIGITS}(?:{_ORDINAL}|{_MAGNITUDE})|(?P<words>{number_words.PATTERN})"
    rf"|\b(?P<order>{'|'.join(number_words.ORDINALS)})\b)",
    re.IGNORECASE,
)
_FIRST_WORDS = "|".join(
    sorted(
        {"an?", "half", "quarter", *number_words.SMALL, *number_words.ORDINALS}
        | set(number_words.MAGNITUDES),
        key=len,
        reverse=True,
    )
)
_MAY_BEGIN = re.compile(rf"[\d$€£¥₹−-]|us\$|usd|eur|gbp|chf|inr|\b(?:minus|{_FIRST_WORDS})\b")
"""Every place at which a number may begin, in a text in lower case."""

_PARTS = {"½": Fraction(1, 2), "¼": Fraction(1, 4), "¾": Fraction(3, 4)}
_PARTS |= {"⅓": Fraction(1, 3), "⅔": Fraction(2, 3)}
_LETTERS = {"k": 10**3, "m": 10**6, "b": 10**9}

_BETWEEN = re.compile(r"\s?(?:[-–—]|to|and|or|through)\s?", re.IGNORECASE)

_BEFORE = (
    (
        "at least",
        r"at least|(?:smallest|minimum|lowest)(?: \w+){0,2} (?:is|of|are)"
        r"|no less than|not less than|no fewer than|minimum(?: of)?|min\.?|from"
        r"|starting (?:at|from)"
        r"|≥|>=|as (?:little|few) as|not under|not below",
    ),
    (
        "at most",
        r"at most|(?:largest|maximum|highest|limit)(?: \w+){0,2} (?:is|of|are)"
        r"|no more than|not more than|not exceed(?:ing)?|up to|maximum(?: of)?|max\.?"
        r"|within|until|no later than|as (?:much|many) as|≤|<=|limited to|capped at"
        r"|not longer than|no longer than|not over|not above|not beyond",
    ),
    (
        "more than",
        r"more than|greater than|larger than|longer than|over|above|exceed(?:s|ing|ed)?|beyond|>",
    ),
    ("less than", r"less than|fewer than|smaller than|shorter than|under|below|<"),
)
_BEHIND = (
    (
        "at least",
        r"or (?:more|older|over|above|longer|higher|greater|larger|later|up)"
        r"|and (?:over|above|older|up)|\+|plus\b(?! (?:an?|the|one|two|your|any|\d))|minimum",
    ),
    (
        "at most",
        r"or (?:less|fewer|younger|under|below|shorter|lower|smaller|earlier)"
        r"|and (?:under|below|younger)|maximum|at most",
    ),
)
_BOUNDS_BEFORE = [
    (
        name,
        re.compile(
            rf"(?:^|[\s(])(?:{words})(?: (?:a|an|the|of|about|around|age|ages|sum))*\s*$",
            re.IGNORECASE,
        ),
    )
    for name, words in _BEFORE
]
_BOUNDS_BEHIND = [
    (name, re.compile(rf"\s?(?:years? |days? )?(?:of age )?(?:{words})", re.IGNORECASE))
    for name, words in _BEHIND
]
_ABOUT = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca\.|c\.|~|≈"
    r"|close to|just (?:over|under)"
    r"|slightly (?:more|less) than|an estimated|estimated)(?: (?:a|an|the))?\s*$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?<=half|rter|ters|hird|irds)\s(?:of )?(?:an?|the)(?=\s)", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_LIST_MARK = re.compile(r"(?m:^)[ \t]*\d{1,3}[.)][ \t]|\[\d{1,4}(?:[,–-] ?\d{1,4})*\]")
_NO_NOUN = frozenset(
    [
        "of",
        "in",
        "on",
        "at",
        "by",
        "for",
        "to",
        "the",
        "a",
        "an",
        "and",
        "or",
        "per",
        "is",
        "are",
        "was",
        "were",
        "be",
        "as",
        "with",
        "from",
        "more",
        "than",
        "each",
        "every",
        "other",
        "about",
        "over",
        "under",
        "total",
    ]
)


def quantities(text: str, taken: Sequence[tuple[int, int]] = ()) -> list[Quantity]:
    """The quantities of a text, in order. taken: places that are something else, such as dates."""
    marks = [match.span() for match in _LIST_MARK.finditer(text)]
    closed = [*taken, *marks]
    spoken: list[Quantity] = []
    for amount in spoken_amounts(text):
        if not any(start < amount.end and amount.start < end for start, end in closed):
            spoken.append(_spoken(text, amount))
            closed.append((amount.start, amount.end))
    found = _written(text, closed)
    return sorted([*found, *spoken], key=_start) if spoken else found


def _start(quantity: Quantity) -> int:
    return quantity.start


def _spoken(text: str, amount: SpokenAmount) -> Quantity:
    """The quantity that several words tell."""
    value, place = _float(amount.value), (amount.start, amount.end)
    if not amount.unit:
        return Quantity(*place, value, value, ORDINAL, "", "", False, SPELLED, value, ("quarter",))
    of_verb = amount.unit == CHANGE
    unit = Unit("percent", 1.0) if of_verb else unit_named(amount.unit) or Unit(COUNT, 1.0)
    before = text[max(0, amount.start - 40) : amount.start]
    about = _ABOUT.search(before)
    bound = _bound(text, before[: about.start()] if about else before, amount.end)
    base, nouns = value * unit.factor, _nouns(text, amount.end)
    is_about = about is not None
    return Quantity(
        *place,
        base,
        base,
        unit.measure,
        amount.unit,
        bound,
        is_about,
        SPELLED,
        value,
        nouns,
        is_change=of_verb or _is_change(before),
    )


def _written(text: str, closed: Sequence[tuple[int, int]]) -> list[Quantity]:
    """The quantities of which a number is written with its unit, in order."""
    found: list[Quantity] = []
    at = 0
    # The expression for a number is dear, and so tried only where one may begin.
    for begin in _MAY_BEGIN.finditer(folded(text)):
        match = _NUMBER.match(text, begin.start()) if begin.start() >= at else None
        if match is None:
            continue
        at = match.end()
        if any(start < match.end() and match.start() < end for start, end in closed):
            continue
        quantity = _read(text, match)
        if quantity is None:
            continue
        at = max(at, quantity.end)
        whole = _compound(text, found[-1], quantity) if found else None
        if whole is not None:
            found[-1] = whole
        else:
            found.append(quantity)
    return found


_COMPOUNDS = frozenset(("time", "length", "mass"))
_JOINT = re.compile(r"\s*(?:,|and|,\s*and)?\s*", re.IGNORECASE)


_AHEAD_OF = re.compile(r"\s+(?:before|after|ahead|prior)\b", re.IGNORECASE)


def _compound(text: str, first: Quantity, second: Quantity) -> Quantity | None:
    """Two quantities as one: "2 hours 35 minutes"; None where they are two."""
    if first.measure != second.measure or first.measure not in _COMPOUNDS:
        return None
    joint = text[first.end : second.start]
    if _AHEAD_OF.match(text, second.end):
        return None  # "for seven days, one hour before a meal"
    if not _JOINT.fullmatch(joint) or first.is_range or second.is_range or second.bound:
        return None
    if first.unit == second.unit or not 0 < second.low < first.low / max(first.written, 1):
        return None
    total = first.low + second.low
    return replace(
        first,
        end=second.end,
        low=total,
        high=total,
        unit=second.unit,
        digits=SPELLED,
        nouns=second.nouns,
    )


def _read(text: str, match: re.Match[str]) -> Quantity | None:
    """The quantity that begins with this number."""
    first = _value(match)
    if first is None:
        return None
    if match["ordinal"] or match["order"]:
        return _ordinal(text, match, _float(first))
    end, second, last = match.end(), first, match
    between = _BETWEEN.match(text, end)
    if between:
        further = _NUMBER.match(text, between.end())
        if further and _joins(text, match, between.group().strip(), further):
            value = _value(further)
            is_choice = between.group().strip().lower() == "or"
            if value is not None and (not is_choice or _are_next(first, value)):
                end, second, last = further.end(), value, further
                if last["magnitude"] and not match["magnitude"] and first < second:
                    first *= _magnitude(last)
    unit_name, unit_end = _unit(text, end, last["prefix"] or match["prefix"])
    unit = unit_named(unit_name) or Unit(COUNT, 1.0)
    if not unit_name and first > second and _is_result(text[match.start() : end]):
        unit = Unit(RESULT, 1.0)
    return _quantity(text, match, unit_end, (first, second), unit_name, unit)


_RESULT = re.compile(r"\d{1,3}[-–]\d{1,3}")


def _is_result(written: str) -> bool:
    """Whether two numbers are written as the result of a game is."""
    return _RESULT.fullmatch(written) is not None


def _float(value: Fraction) -> float:
    return float(min(value, _LARGEST))


_LARGEST = Fraction(10**200)
"""A number of more digits counts as this: no float holds one of a thousand digits."""


def _quantity(
    text: str,
    match: re.Match[str],
    end: int,
    values: tuple[Fraction, Fraction],
    unit_name: str,
    unit: Unit,
) -> Quantity:
    low, high = sorted(_float(value) * unit.factor + unit.offset for value in values)
    before = text[max(0, match.start() - 40) : match.start()]
    about = _ABOUT.search(before)
    bound = _bound(text, before[: about.start()] if about else before, end)
    return Quantity(
        match.start(),
        end,
        low,
        high,
        unit.measure,
        unit_name.lower(),
        bound if low == high else "",
        about is not None,
        _digits(match),
        _float(values[0]),
        _nouns(text, end),
        _label(before) if low == high and unit.measure == COUNT else "",
        _is_change(before[: about.start()] if about else before),
    )


def _ordinal(text: str, match: re.Match[str], value: float) -> Quantity:
    nouns = _nouns(text, match.end())
    place = (match.start(), match.end())
    return Quantity(*place, value, value, ORDINAL, "", "", False, SPELLED, value, nouns)


def _value(match: re.Match[str]) -> Fraction | None:
    if match["order"]:
        return Fraction(number_words.ORDINALS[folded(match["order"])])
    if match["words"]:
        return number_words.value_of(match["words"])
    if match["fraction"]:
        return Fraction(match["fraction"])
    value = Fraction(match["digits"].replace(",", ""))
    part = (match["part"] or "").strip()
    if part:
        value += _PARTS[part] if part in _PARTS else Fraction(part)
    value *= _magnitude(match)
    return -value if match["sign"] else value


def _magnitude(match: re.Match[str]) -> int:
    name = folded(match["magnitude"] or "")
    if not name:
        return 1
    if name in _LETTERS:
        # "3.5 m" are metres, "$3.5 m" are millions; "10k" is a number in any case.
        if name == "k" or match["prefix"] or match["magnitude"].isupper():
            return _LETTERS[name]
        return 1
    return number_words.MAGNITUDES[name]


def _joins(text: str, match: re.Match[str], word: str, further: re.Match[str]) -> bool:
    """Whether two numbers are the ends of one range."""
    if further["ordinal"] or further["order"] or further["sign"]:
        return False
    before = text[max(0, match.start() - 9) : match.start()].lower()
    if word.lower() == "and":
        return before.endswith("between ")
    return word.lower() != "or" or not (match["prefix"] or further["prefix"])


_LARGEST_CHOICE = 12


def _are_next(first: Fraction, second: Fraction) -> bool:
    """Whether two small numbers follow each other, so that "or" makes a range of them: "one or two
    tablets".
    """
    return second == first + 1 and second <= _LARGEST_CHOICE and first.denominator == 1


def _unit(text: str, end: int, prefix: str | None) -> tuple[str, int]:
    """The name of the unit that stands behind a number, or before it as a prefix; and where the
    quantity ends.
    """
    if prefix:
        return PREFIXES[folded(prefix)], end
    if end and text[end - 1] in "mMbB" and text[: end - 1].rstrip()[-1:].isdigit():
        # A letter was taken for a magnitude and is a unit.
        end = len(text[: end - 1].rstrip())
    # "half an hour", "a quarter of a mile"
    match = UNIT.match(text, end) or UNIT.match(text, end + _article(text, end))
    if match is None:
        return "", end
    name = match["unit"]
    if name.lower() in ("t", "a", "j", "h", "g", "l", "v", "w", "s") and text[end : end + 1] == "-":
        return "", end
    if name in ("A", "S", "T", "G", "L", "H") and match.group().startswith(" "):
        return "", end
    if name.lower() == "second" and match.group().startswith(" ") and _MANY.search(text[:end]):
        return "", end  # "the last 16 second leg": seconds are many
    return name, match.end()


_MANY = re.compile(r"(?:[2-9]|\d\d)$")


def _article(text: str, end: int) -> int:
    """Characters of an article between a part of a whole and its unit."""
    match = _ARTICLE.match(text, end)
    return match.end() - end if match else 0


_AHEAD = re.compile(r"\s+(?:before|ahead|in advance|prior to|earlier|beforehand)\b", re.IGNORECASE)


def _bound(text: str, before: str, end: int) -> str:
    if _AHEAD.match(text, end):
        return ""  # "no later than two hours before" is at least two hours
    for name, pattern in _BOUNDS_BEHIND:
        if pattern.match(text, end):
            return name
    for name, pattern in _BOUNDS_BEFORE:
        if pattern.search(before):
            return _TURNED[name] if _NOT_BEFORE.search(before) else name
    return ""


_NOT_BEFORE = re.compile(
    r"\b(?:not|never|n't|nobody|nothing)\b(?: \w+){1,6} (?:than|over|above|under|below|beyond)\s*$",
    re.IGNORECASE,
)


def is_turned(text: str, start: int) -> bool:
    """Whether a negation turned the bound of a number: "nobody works more than six days"."""
    return _NOT_BEFORE.search(text[max(0, start - 60) : start]) is not None


_TURNED = {
    "more than": "at most",
    "less than": "at least",
    "at least": "at least",
    "at most": "at most",
}
"""What "not take more than" says."""


def _digits(match: re.Match[str]) -> int:
    """Significant digits of a number as it is written; trailing zeros are not."""
    if not match["digits"]:
        return SPELLED
    digits = match["digits"].replace(",", "")
    if "." in digits:
        return len(digits.replace(".", "").lstrip("0")) or 1
    return len(digits.strip("0")) or 1


_LABEL = re.compile(
    r"\b(number|no\.|nr\.|room|page|chapter|section|article|paragraph|gate|platform|track|line|bus"
    r"|route|flight|version|release|building|apartment|flat|suite|model|lot|ticket|channel|port"
    r"|table|seat|row|volume|issue|episode|block|terminal|exit|junction|pier|code|extension|item"
    r"|invoice|locker|order|zone|level|floor|phase|stage|type|grade|step|tier|bay|form|lane|ward"
    r"|rule|clause|figure|size|pin|id|week|day)(?: (?:is |was )?|: ?| ?#)$",
    re.IGNORECASE,
)
_SHORT_LABELS = {"no.": "number", "nr.": "number"}


def _label(before: str) -> str:
    """What the bare number behind this text numbers."""
    found = _LABEL.search(before)
    label = "" if found is None else found[1].lower()
    return _SHORT_LABELS.get(label, label)


_BY = re.compile(
    r"\b(?:by|up|down|another|further)(?: (?:more than|less than|over))?\s*$", re.IGNORECASE
)


def _is_change(before: str) -> bool:
    """Whether the amount behind this text is that of a change."""
    return _BY.search(before) is not None


def _nouns(text: str, end: int) -> tuple[str, ...]:
    """Stems of up to three words behind a number, as far as the clause goes."""
    stems: list[str] = []
    tail = text[end : end + 60]
    stop = re.search(r"[.,;:!?()\n\d]", tail)
    for word in _WORD.findall(tail[: stop.start()] if stop else tail)[:5]:
        lower = word.lower()
        if lower in _NO_NOUN:
            if stems:
                break
            continue
        stems.append(stem(lower))
        if len(stems) == 3:
            break
    return tuple(stems)
