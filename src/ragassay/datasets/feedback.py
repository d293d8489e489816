"""What users said of an answer: thumbs, stars and free ratings, read as values from 0 to 1.

A number has a meaning only on a scale. Truth values, words and -1, 0 and 1 have one of their own;
any other number needs one: the name of its column or key (stars), "4/5", or an object that says it.
Nothing is guessed from the numbers that happen to be in a file. What cannot be read is counted and
said, and costs no row: all else can be measured without it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from ragassay.datasets import cells

FEEDBACK_CELLS = frozenset({"feedback", "stars"})
"""The cells that say what users thought."""

STARS = (1.0, 5.0)
_UP_WORDS = (
    "up thumbs_up thumbsup thumb_up like liked positive good helpful happy satisfied yes true 👍 +"
)
_DOWN_WORDS = (
    "down thumbs_down thumbsdown thumb_down dislike disliked negative bad unhelpful not_helpful"
    " unhappy dissatisfied unsatisfied no false 👎 -"
)
_UP = frozenset(_UP_WORDS.split())
_DOWN = frozenset(_DOWN_WORDS.split())
_NEUTRAL = frozenset(("neutral", "mixed", "okay", "ok"))
_OUT_OF = re.compile(r"(\d+(?:\.\d+)?)\s*(?:/|out of)\s*(\d+(?:\.\d+)?)(?:\s*stars?)?", re.I)
_STARS = re.compile(r"(\d(?:\.\d+)?)\s*stars?", re.I)
_DRAWN = re.compile(r"(★{0,5})(☆{0,5})")
_VALUES = ("value", "score", "rating", "thumbs", "thumb", "feedback", "stars", "label", "key")
_TIMES = ("time", "timestamp", "created_at", "created", "date")
_USERS = ("user", "user_id", "annotator", "session", "session_id")
_NO_SCALE = (
    'ratings by users have no known scale and were not read: write true, "up", -1, "4/5" or'
    ' {"value": 4, "scale": [1, 5]}, or name a column from 1 to 5: --map stars=COLUMN'
)
_NO_RATING = "cells of what users said hold words and no rating, and were not read"


class _Event(NamedTuple):
    """One rating: its value, and when and by whom it was given, "" where it does not say."""

    value: float
    time: str
    user: str


def read_feedback(row: Mapping[str, object], notes: Counter[str]) -> tuple[float, ...] | None:
    """What users said of the row (field -> cell): a value from 0 to 1 for each of them, in the
    order of time. None where nobody said anything.

    Of several ratings by one user the last one counts: it takes the earlier ones back. Ratings that
    name no user are of different ones. notes counts the ratings that cannot be read.
    """
    field = "feedback" if "feedback" in row else "stars"
    given = cells.unpack(row[field])
    listed = given if isinstance(given, list | tuple) else [given]
    scale = STARS if field == "stars" else None
    events: list[_Event] = []
    for item in listed:
        event = _event(item, scale, notes)
        if event is not None:
            events.append(event)
    if all(event.time for event in events):
        events.sort(key=_time)
    last: dict[object, float] = {}
    for place, event in enumerate(events):
        key: object = event.user or place
        last.pop(key, None)  # so that it stands at the time of its last rating
        last[key] = event.value
    return tuple(last.values()) or None


def _time(event: _Event) -> tuple[bool, float, str]:
    """Sort key: numbers as numbers, else as the texts of dates, which sort as they are written."""
    try:
        return False, float(event.time), ""
    except ValueError:
        return True, 0.0, event.time


def _event(item: object, scale: tuple[float, float] | None, notes: Counter[str]) -> _Event | None:
    """The rating that an item of the cell says; None where it says none."""
    if not isinstance(item, Mapping):
        value = _value(item, scale, notes)
        return None if value is None else _Event(value, "", "")
    key = next((name for name in _VALUES if item.get(name) is not None), "")
    if not key:
        return None
    value = _value(item[key], _scale(item, key) or scale, notes)
    if value is None:
        return None
    return _Event(value, _first(item, _TIMES), _first(item, _USERS))


def _first(item: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((str(item[name]) for name in names if item.get(name) is not None), "")


def _scale(item: Mapping[str, object], key: str) -> tuple[float, float] | None:
    """The ends of the scale that an object says, None where it says none that can be read."""
    stated = item.get("scale")
    if stated is None and item.get("max") is not None:
        stated = [item.get("min", 0), item["max"]]
    if stated is None:
        return STARS if key == "stars" else None
    ends = stated if isinstance(stated, list | tuple) else str(stated).split("-")
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        return None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return None
    return low, high


def _value(item: object, scale: tuple[float, float] | None, notes: Counter[str]) -> float | None:
    """The rating from 0 to 1; None where nothing was said, or nothing that can be read."""
    if item is None or item == "":
        return None
    if isinstance(item, bool):
        return float(item)
    number = item
    if isinstance(item, str):
        word = "_".join(item.strip().lower().split())
        if word in _UP or word in _DOWN:
            return float(word in _UP)
        if word in _NEUTRAL:
            return 0.5
        number, scale = _written(item.strip(), scale)
    if not isinstance(number, int | float):
        notes[_NO_RATING] += 1
        return None
    if math.isnan(number):
        return None  # a gap in a table
    if scale is None and number == -1:
        return 0.0
    low, high = scale or (0.0, 1.0)
    if low <= number <= high:
        return (number - low) / (high - low)
    notes[_NO_SCALE] += 1
    return None


def _written(
    text: str, scale: tuple[float, float] | None
) -> tuple[object, tuple[float, float] | None]:
    """The number that a text says, and its scale; the text itself where it says none."""
    out_of = _OUT_OF.fullmatch(text)
    if out_of is not None:
        highest = float(out_of[2])
        # Of five there is no zero: "1/5" is the worst.
        return float(out_of[1]), (STARS if highest == STARS[1] else (0.0, highest or 1.0))
    stars = _STARS.fullmatch(text)
    if stars is not None:
        return float(stars[1]), STARS
    drawn = _DRAWN.fullmatch(text)
    if drawn is not None and drawn[1]:
        return float(len(drawn[1])), STARS
    try:
        return float(text), scale
    except ValueError:
        return text, scale
