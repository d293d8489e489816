"""The key `scale` of a rubric file: points with their meanings, and what passes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ragassay.core import shorten
from ragassay.judges.rubric_file.defaults import KEEPS_OR_BREAKS, YES_NO
from ragassay.judges.rubric_file.draft import Draft, Fields
from ragassay.judges.rubric_file.mistakes import Key
from ragassay.judges.scale import Point, Rating, Scale

_MOST_POINTS = 101
_MOST_RATING_CHARS = 60
# Of the points that are missing, or stand in the wrong place, so many are named.
_MOST_NAMED = 10
_SPAN = re.compile(r"(-?\d{1,4})\s*(?:-|–|to|\.\.)\s*(-?\d{1,4})")
_POINTS: Key = ("scale", "points")
_MISSING = object()
YAML_BOOLEAN = ' (YAML reads a bare yes or no as true or false: write "yes", "no")'


class _GivenPoint(NamedTuple):
    """A point as the file gives it; its value is not checked yet, None where none is given."""

    rating: Rating
    value: Any
    meaning: str


def read_scale(draft: Draft, fields: Fields) -> Scale | None:
    """The scale; None for a rubric that writes texts, and where there is a mistake in it."""
    if fields["writes"] != "ratings":
        return None
    guidelines: tuple[str, ...] = fields["guidelines"]
    given = draft.values.get("scale")
    if "scale" not in draft.values:
        if draft.base is not None and draft.base.scale is not None:
            return draft.base.scale
        if guidelines or "guidelines" in draft.values:
            return KEEPS_OR_BREAKS
    if isinstance(given, str):
        return _named_scale(draft, given, guidelines)
    if not isinstance(given, dict) or not isinstance(given.get("points"), (dict, list)):
        text = "scale is missing, or is not a mapping with `points` and `pass`"
        hint = " (or yes/no)" if draft.custom else ""
        draft.mistake(text + hint, "scale")
        return None
    return _given_scale(draft, given)


def _named_scale(draft: Draft, name: str, guidelines: tuple[str, ...]) -> Scale | None:
    if name.replace(" ", "") == "yes/no":
        return KEEPS_OR_BREAKS if guidelines else YES_NO
    draft.mistake(
        f"the scale {shorten(repr(name), 40)} has no criteria for its points: give `points`, each"
        " with its meaning, and `pass`; only yes/no has meanings of its own",
        "scale",
    )
    return None


def _given_scale(draft: Draft, given: Mapping[str, Any]) -> Scale | None:
    mistakes_before = len(draft.mistakes)
    for key in set(given) - {"points", "pass", "step"}:
        text = f"{shorten(str(key))!r} is no key of a scale; its keys are points, pass and step"
        draft.mistake(text, "scale", str(key))
    step = given.get("step", 1)
    if type(step) is not int or not 1 <= step <= _MOST_POINTS:
        draft.mistake(f"step must be a whole number from 1 to {_MOST_POINTS}", "scale", "step")
        return None
    points = _read_points(draft, given["points"])
    if len(draft.mistakes) > mistakes_before or not _are_distinct(draft, points):
        return None
    mark = given.get("pass", _MISSING)
    scale: Scale | None
    if isinstance(mark, list):
        scale = _categories(draft, points, mark)
    else:
        scale = _ordered(draft, points, step, mark)
    return scale if len(draft.mistakes) == mistakes_before else None


# -- the points


def _read_points(draft: Draft, given: Mapping[object, object] | list[object]) -> list[_GivenPoint]:
    """The points of a mapping (rating: meaning) or of a list of mappings, spans written out."""
    points: list[_GivenPoint] = []
    if isinstance(given, dict):
        for n, (rating, entry) in enumerate(given.items()):
            points += _read_point(draft, (*_POINTS, f"#{n}"), entry, rating)
        return points
    for n, entry in enumerate(given):
        rating = entry.get("rating") if isinstance(entry, dict) else None
        points += _read_point(draft, (*_POINTS, str(n)), entry, rating)
    return points


def _read_point(draft: Draft, key: Key, given: object, rating: object) -> list[_GivenPoint]:
    entry = given if isinstance(given, dict) else {"meaning": given}
    meaning = entry.get("meaning")
    if not isinstance(meaning, str) or not meaning.strip():
        draft.mistake(
            f"the point {shorten(str(rating))} has no criteria: say in words what it means", *key
        )
        return []
    for extra in set(entry) - {"rating", "value", "meaning"}:
        draft.mistake(f"{shorten(str(extra))!r} is not a key of a point", *key)
    ratings = _read_ratings(draft, rating, key)
    return [_GivenPoint(each, entry.get("value"), meaning.strip()) for each in ratings]


def _read_ratings(draft: Draft, rating: object, key: Key) -> list[Rating]:
    """The ratings that one key stands for: more than one for a span."""
    if type(rating) is int:
        return [rating]
    if isinstance(rating, str):
        span = _SPAN.fullmatch(rating.strip())
        if span is not None:
            low, high = int(span[1]), int(span[2])
            if low < high < low + _MOST_POINTS:
                return list(range(low, high + 1))
        elif rating.strip() and len(rating) <= _MOST_RATING_CHARS and rating.isprintable():
            return [rating]
    hint = YAML_BOOLEAN if isinstance(rating, bool) else ""
    shown = shorten(repr(rating), 40)
    draft.mistake(
        f"{shown} is not a rating: a whole number, a span such as 1-3, or a word{hint}", *key
    )
    return []


def _are_distinct(draft: Draft, points: list[_GivenPoint]) -> bool:
    """Whether the points are of one kind, each there once, and not too few or too many."""
    ratings = [point.rating for point in points]
    text = ""
    if not 2 <= len(points) <= _MOST_POINTS:
        text = f"a scale has from 2 to {_MOST_POINTS} points, this one has {len(points)}"
    elif len(set(ratings)) != len(ratings):
        repeated = sorted({str(rating) for rating in ratings if ratings.count(rating) > 1})
        text = f"the scale has two points for {', '.join(repeated)}"
    elif len({type(rating) for rating in ratings}) > 1:
        text = "the scale mixes numbers and words"
    if text:
        draft.mistake(text, *_POINTS)
    return not text


def _is_value(draft: Draft, point: _GivenPoint, value: object) -> bool:
    """Whether a point's value is a number from 0 to 1 ; else it is a mistake."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1:
        return True
    text = f"the value of the point {point.rating} must be a number from 0 to 1"
    draft.mistake(text, *_POINTS, str(point.rating))
    return False


# -- categories


def _categories(draft: Draft, given: list[_GivenPoint], passing: list[Any]) -> Scale | None:
    """Points without an order; where no value is given, 1 for those that pass, else 0."""
    if not all(isinstance(point.rating, str) for point in given):
        draft.mistake(
            "a list of passing ratings is for categories, which are words", "scale", "pass"
        )
        return None
    points: list[Point] = []
    for point in given:
        value = float(point.rating in passing) if point.value is None else point.value
        if not _is_value(draft, point, value):
            return None
        points.append(Point(point.rating, float(value), point.meaning))
    passing_ratings = tuple(point.rating for point in given if point.rating in passing)
    scale = Scale(tuple(points), None, passing_ratings)
    if not passing:
        text = f"no category passes; `pass` lists some of {scale.words}"
        draft.mistake(text, "scale", "pass")
    for mark in passing:
        _check_mark(draft, mark, scale)
    return scale


# -- scales with an order


def _ordered(draft: Draft, given: list[_GivenPoint], step: int, mark: object) -> Scale | None:
    if isinstance(given[0].rating, int):
        given = sorted(given, key=lambda point: int(point.rating))
        if not _has_even_steps(draft, [int(point.rating) for point in given], step):
            return None
    points: list[Point] = []
    for n, point in enumerate(given):
        value = n / (len(given) - 1) if point.value is None else point.value
        if not _is_value(draft, point, value):
            return None
        if points and value < points[-1].value:
            draft.mistake(
                f"the values must not fall: {point.rating} has a lower value than"
                f" {points[-1].rating}",
                *_POINTS,
            )
            return None
        points.append(Point(point.rating, float(value), point.meaning))
    scale = Scale(tuple(points), points[-1].rating)
    _check_mark(draft, mark, scale)
    return Scale(scale.points, mark) if isinstance(mark, (int, str)) else None


def _has_even_steps(draft: Draft, numbers: list[int], step: int) -> bool:
    """Whether the numbers, which rise, are `step` apart and none is left out."""
    low, high = numbers[0], numbers[-1]
    off = [str(number) for number in numbers if (number - low) % step]
    if off:
        named = ", ".join(off[:_MOST_NAMED])
        draft.mistake(f"the points must be {step} apart, as `step` says: {named} is not", *_POINTS)
        return False
    # Two numbers may be billions apart; the gaps near the lowest one are enough to name.
    due = range(low, min(high, low + 2 * _MOST_POINTS * step), step)
    gaps = [str(number) for number in due if number not in numbers]
    if gaps:
        named = ", ".join(gaps[:_MOST_NAMED])
        draft.mistake(f"the scale has a gap: no point says what {named} means", *_POINTS)
        return False
    return True


def _check_mark(draft: Draft, mark: object, scale: Scale) -> None:
    """Whether a pass mark, or a category that passes, is one of the ratings and not the worst."""
    if type(mark) not in (int, str) or mark not in scale.ratings:
        shown = "missing"
        if mark is not _MISSING:
            shown = f"{shorten(repr(mark), 40)}, which the scale does not offer"
        hint = YAML_BOOLEAN if isinstance(mark, bool) else ""
        draft.mistake(
            f"the pass mark is {shown}; `pass` is one of {scale.words}{hint}", "scale", "pass"
        )
    elif mark == scale.ratings[0] and not scale.passing:
        draft.mistake(
            "the pass mark is the worst rating, so that everything passes; points go from worst to"
            " best",
            "scale",
            "pass",
        )
