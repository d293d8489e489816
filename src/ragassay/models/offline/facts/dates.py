"""Dates, weekdays and times of day in a text, as far as each is named, and where they stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ragassay.models.offline.facts.folding import folded
from ragassay.models.offline.facts.number_words import SMALL

_MONTH_NAMES = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_DAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
MONTH_NAMES = frozenset(_MONTHS)
WEEKDAY_NAMES = frozenset(_DAY_NAMES) | {f"{name}s" for name in _DAY_NAMES}
_WEEKDAYS = {name: number for number, name in enumerate(_DAY_NAMES, 1)}
_WEEKDAYS |= {"mon": 1, "tue": 2, "tues": 2, "wed": 3, "thu": 4, "thur": 4, "thurs": 4, "fri": 5}
_WEEKDAYS |= {"sat": 6, "sun": 7}


@dataclass(frozen=True, slots=True)
class Date:
    """A date at [start, end), each part None where the text does not name it.

    years: of a decade or a century the first and the last year, else the year twice. minutes: time
    of day, since midnight; half_named: whether it is said which half of the day that is. is_end:
    whether it is an end of a period ("until May").
    """

    start: int
    end: int
    years: tuple[int, int] | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    minutes: int | None = None
    half_named: bool = True
    is_end: bool = False

    def parts(self) -> dict[str, int | tuple[int, int]]:
        """What is named, by name."""
        named = {
            "years": self.years,
            "month": self.month,
            "day": self.day,
            "weekday": self.weekday,
            "minutes": self.minutes,
        }
        return {name: value for name, value in named.items() if value is not None}

    def agrees(self, other: Date) -> bool:
        """Whether both name something in common, and nothing that differs."""
        common = self.parts().keys() & other.parts().keys()
        return bool(common) and all(self._same(other, name) for name in common)

    def covers(self, other: Date) -> bool:
        """Whether it names all that the other names."""
        return other.parts().keys() <= self.parts().keys()

    def differs(self, other: Date) -> bool:
        """Whether a part that both name differs."""
        return any(
            not self._same(other, name) for name in self.parts().keys() & other.parts().keys()
        )

    def _same(self, other: Date, name: str) -> bool:
        mine, theirs = self.parts()[name], other.parts()[name]
        if isinstance(mine, tuple) and isinstance(theirs, tuple):
            return mine[0] <= theirs[1] and theirs[0] <= mine[1]
        if isinstance(mine, tuple) or isinstance(theirs, tuple):
            return False
        if name == "minutes" and not (self.half_named and other.half_named):
            return (mine - theirs) % 720 == 0
        return mine == theirs


_month = (
    r"(?P<month>Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?(?![\w])"
)
_day = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\w%]|[.,:]\d)"
_year = r"(?P<year>1\d{3}|20\d{2})(?![\w%]|,\d{3})"
_ISO = re.compile(r"\b(?P<year>1\d{3}|20\d{2})-(?P<number>0\d|1[0-2])-(?P<day>[0-3]\d)(?!\d)")
_MONTHS_IN_FORMS = (
    re.compile(rf"\b{_day} {_month} '?(?P<short_year>\d\d)(?![\w%]|[.,:/]\d)", re.IGNORECASE),
    re.compile(rf"\b(?:the )?{_day} (?:of )?{_month}(?:,? (?:of )?{_year})?", re.IGNORECASE),
    re.compile(rf"\b{_month} (?:the )?{_day}(?:,? {_year})?", re.IGNORECASE),
    re.compile(rf"\b{_month},? (?:of )?{_year}", re.IGNORECASE),
)
_MONTH_ALONE = re.compile(
    r"\b(?P<month>January|February|March|April|June|July|August|September|October|November"
    r"|December|(?:(?<=in )|(?<=of )|(?<=since )|(?<=until )|(?<=by )|(?<=early )|(?<=late ))May)\b"
)
_WEEKDAY = re.compile(
    r"\b(?P<weekday>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?\b", re.IGNORECASE
)
_hour = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2}"
_TIME = re.compile(
    r"(?<![\d:.,$€£])(?P<hour>2[0-3]|[01]?\d)(?::(?P<minute>[0-5]\d)(?!\d))?"
    r"[ ]?(?P<half>a\.?m\b\.?|p\.?m\b\.?|o['’]clock)"
    r"|(?<![\d:.,$€£])(?P<hour24>2[0-3]|[01]?\d):(?P<minute24>[0-5]\d)(?![\d:])"
    r"|\b(?P<word>noon|midday|midnight)\b"
    rf"|\b(?P<past>(?:half|(?:a )?quarter|five|ten|twenty|twenty-five) past|(?:a )?quarter to)"
    rf" (?P<spoken>{_hour})\b"
    r"|(?<=\bfrom )(?P<from>\d{1,2})(?= to (?:1[3-9]|2[0-4])\b(?! \w*%))"
    r"|(?:(?<=from \d to )|(?<=from \d\d to ))(?P<till>1[3-9]|2[0-4])\b(?=[.,;]| on\b| in\b| and\b)"
    rf"|\b(?P<told>{_hour})(?= in the (?:morning|evening|afternoon)| at night|\s?o['’]clock)",
    re.IGNORECASE,
)
_DECADE = re.compile(r"\b(?:the )?(?:early |mid-?|late )?(?P<decade>1\d{2}0|20\d0)['’]?s\b")
_CENTURY = re.compile(r"\b(?P<century>1\d|20|21|[5-9])(?:st|th)[ -]century\b", re.IGNORECASE)
_YEAR = re.compile(
    rf"(?:(?<![\w.,$€£/–-])|(?<=[12]\d\d\d[-–]))(?:AD )?{_year}"
    r"(?![ -]?(?:km|m|kg|people|euros|dollars|met(?:re|er)s|miles|feet|hours|days|words)\b)"
)


def dates(text: str) -> list[Date]:
    """The dates, weekdays and times of a text, in order."""
    found: list[Date] = []
    for pattern, read in _possible(text):
        for match in pattern.finditer(text):
            _add(found, match, read(match))
    found.sort(key=lambda date: date.start)
    return [replace(date, is_end=True) if _ends(text, date) else date for date in found]


_END = re.compile(
    r"(?:until|till|by|before|from|since|after|to|through|between|and|[-–])\s*"
    r"(?:the|early|late|end of|about)?\s*$",
    re.IGNORECASE,
)
_BEGIN = re.compile(r"\s*(?:to|until|till|through|[-–]|and|or)\s", re.IGNORECASE)


def _ends(text: str, date: Date) -> bool:
    before = text[max(0, date.start - 16) : date.start]
    return _END.search(before) is not None or _BEGIN.match(text, date.end) is not None


def _add(found: list[Date], match: re.Match[str], date: Date) -> None:
    if not any(other.start < date.end and date.start < other.end for other in found):
        found.append(date)


def _full(match: re.Match[str]) -> Date:
    parts = match.groupdict()
    number = parts.get("number")
    month = int(number) if number else _MONTHS[folded(str(parts["month"])).rstrip(".")]
    day = int(parts["day"]) if parts.get("day") else None
    year = int(parts["year"]) if parts.get("year") else None
    if parts.get("short_year"):
        short = int(parts["short_year"])
        year = short + (2000 if short < 50 else 1900)
    return Date(*match.span(), None if year is None else (year, year), month, day)


def _month_alone(match: re.Match[str]) -> Date:
    return Date(*match.span(), month=_MONTHS[folded(match["month"])])


def _weekday(match: re.Match[str]) -> Date:
    return Date(*match.span(), weekday=_WEEKDAYS[folded(match["weekday"])])


def _time(match: re.Match[str]) -> Date:
    if match["word"]:
        return Date(*match.span(), minutes=0 if folded(match["word"]) == "midnight" else 720)
    if match["past"] or match["told"]:
        return _spoken(match)
    if match["from"] or match["till"]:
        return Date(*match.span(), minutes=60 * int(match["from"] or match["till"]) % 1440)
    hour, minute = (
        int(match["hour"] or match["hour24"]),
        int(match["minute"] or match["minute24"] or 0),
    )
    half = folded(match["half"] or "")[:1]
    if half == "p" and hour < 12:
        hour += 12
    elif half == "a" and hour == 12:
        hour = 0
    half_named = half in ("a", "p") or hour > 12 or (match["hour24"] or "").startswith("0")
    return Date(*match.span(), minutes=60 * hour + minute, half_named=half_named)


_PART_OF_DAY = re.compile(r" in the (morning|afternoon|evening)", re.IGNORECASE)
_PAST = {"half past": 30, "quarter past": 15, "quarter to": -15, "five past": 5, "ten past": 10}
_PAST |= {"twenty past": 20, "twenty-five past": 25, "": 0}


def _spoken(match: re.Match[str]) -> Date:
    word = folded(match["spoken"] or match["told"])
    hour = int(word) if word.isdecimal() else SMALL[word]
    minutes = 60 * hour + _PAST[folded(match["past"] or "").removeprefix("a ")]
    part = _PART_OF_DAY.match(match.string, match.end()) if match["told"] else None
    if part is not None and folded(part[1]) != "morning":
        minutes = minutes % 720 + 720
    return Date(*match.span(), minutes=minutes, half_named=part is not None)


def _decade(match: re.Match[str]) -> Date:
    first = int(match["decade"])
    return Date(*match.span(), (first, first + (99 if first % 100 == 0 else 9)))


def _century(match: re.Match[str]) -> Date:
    number = int(match["century"])
    return Date(*match.span(), (100 * number - 100, 100 * number))


def _year_alone(match: re.Match[str]) -> Date:
    year = int(match["year"])
    return Date(*match.span(), (year, year))


_MONTH_LIKE = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")
_DIGIT = re.compile(r"\d")
_CLOCK_LIKE = re.compile(r"\d(?::\d|[ ]?(?:[ap]\.?m\b|o['’]clock))")
_FROM_LIKE = re.compile(r"from \d")
_TIME_LIKE = (
    *("noon", "midday", "midnight", " past ", "quarter to ", "clock"),
    *("in the morning", "in the evening", "in the afternoon", "at night"),
)
"""Of these a time has at least one, or what looks like a clock."""


def _possible(text: str) -> Iterator[tuple[re.Pattern[str], Callable[[re.Match[str]], Date]]]:
    """The forms of dates that a text may hold, in the order in which they are looked for: a search
    for words costs a small part of one for a form.
    """
    lower = folded(text)
    has_digit = _DIGIT.search(text) is not None
    has_month = _MONTH_LIKE.search(lower) is not None
    if has_digit:
        yield _ISO, _full
    if has_digit and has_month:
        for pattern in _MONTHS_IN_FORMS:
            yield pattern, _full
    if any(word in lower for word in _TIME_LIKE) or (
        has_digit and (_CLOCK_LIKE.search(lower) or _FROM_LIKE.search(lower))
    ):
        yield _TIME, _time
    if "0s" in lower or "0's" in lower or "0’s" in lower:
        yield _DECADE, _decade
    if "century" in lower:
        yield _CENTURY, _century
    if has_digit:
        yield _YEAR, _year_alone
    if has_month and any(name in lower for name in _MONTH_NAMES):
        yield _MONTH_ALONE, _month_alone
    if "day" in lower:
        yield _WEEKDAY, _weekday
