"""The scales of people's labels: which values there are, and from which on a row passes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ragassay.core import DataError, HumanLabel, SetupError, shorten

BINARY = (0.0, 1.0)
# In the order in which they are tried: labels of 0 and 1 alone fit both.
_USUAL_SCALES = ((0.0, 0.5, 1.0), (0.0, 1.0, 2.0, 3.0))
_PASS_OR_FAIL = frozenset(_USUAL_SCALES[0])
_FEW = 0.1
"""The share of labels that do not decide alone on which scale all are: they may be slips."""
_ENOUGH = 10
"""Labels that show on which scale those are that come after them."""
_SHOWN = 5


def default_cut(scale: Sequence[float]) -> float:
    """From which label on a row passes, where that is usual.

    1 of 0 and 1 (also with 0.5 between), 2 of 0 to 3, the least positive one of a scale around 0.
    Raises SetupError E0205 for any other scale.
    """
    points = sorted(scale)
    if set(points) <= {0.0, 0.5, 1.0}:
        return 1.0
    if set(points) <= {0.0, 1.0, 2.0, 3.0}:
        return 2.0
    if points[0] < 0 < points[-1]:
        return min(point for point in points if point > 0)
    shown = ", ".join(f"{point:g}" for point in points[:12])
    if len(points) > 12:
        shown += " ..."
    raise SetupError(
        "E0205",
        "It is not said from which label on a row passes.",
        where="--cut",
        why=f"the labels are {shown}",
        fix=f"say it, such as --cut {points[len(points) // 2]:g}",
    )


def scale_of_labels(
    labels: Sequence[HumanLabel], scale: Sequence[float], where: str, kind: str = "pass"
) -> tuple[float, ...]:
    """The values that labels may take: those that are given, else those that the labels were
    imported with, else the usual scale that they fit.

    kind: "pass" or "mean"; as a mean, labels may lie anywhere between 0 and 1. Raises SetupError
    E0101 for a scale of one value, DataError E0313 where labels are on two scales, no usual scale
    fits, or a few labels alone decide which one does.
    """
    if scale:
        if len(set(scale)) < 2:
            raise SetupError(
                "E0101",
                "A scale has two values or more.",
                where="--scale",
                why=str(scale),
                fix="such as 0,1",
            )
        return tuple(sorted(scale))
    if any(label.scale for label in labels):
        return _recorded_scale(labels, where)
    values = sorted({label.value for label in labels})
    if kind == "mean" and all(0 <= value <= 1 for value in values):
        return BINARY
    slips = few_that_decide([label.value for label in labels])
    if slips:
        raise _off_the_scale(labels, set(values) - slips, where)
    # Labels of 0, 1 and 3 are on the scale 0 to 3, of which nobody gave the 2.
    for usual in _USUAL_SCALES:
        if set(values) <= set(usual):
            return usual
    raise DataError(
        "E0313",
        "It is not said on which scale the labels are.",
        where=where,
        why=f"they are {_listed(values, 8)}",
        fix=(
            "correct what is a slip, or name all values a label may take, such as --scale 1,2,3,4,5"
        ),
    )


def scale_of_import(
    new: Sequence[HumanLabel], before: Sequence[HumanLabel], scale: Sequence[float], where: str
) -> tuple[float, ...]:
    """The scale of labels that are imported, which is the one of those that are there; () where
    too few labels show which one it is.

    new: labels, with the scale that their sheet names. before: labels of the run that stay. Raises
    as `scale_of_labels`; DataError E0313 where the two are on different scales.
    """
    are_named = bool(scale) or any(label.scale for label in new)
    are_fixed = any(label.scale for label in before) or len(before) >= _ENOUGH
    if not are_named and not are_fixed:
        points = scale_of_labels([*before, *new], (), where)
        return _narrowed(points, [*before, *new]) if len(before) + len(new) >= _ENOUGH else ()
    if not are_fixed:
        points = scale_of_labels(new, scale, where)
        if any(label.value not in points for label in before):
            raise _off_the_scale(before, points, "labels that were imported before")
        return _narrowed(points, [*before, *new])
    fixed = scale_of_labels(before, (), "labels that were imported before")
    if are_named:
        points = scale_of_labels(new, scale, where)
        if not _is_one_scale(points, fixed):
            raise DataError(
                "E0313",
                "The labels are on another scale than those that were imported before.",
                where=where,
                why=f"{_listed(points)} here, {_listed(fixed)} before",
                fix=(
                    "import labels of the same scale; to change it, import the earlier labels again"
                    " with --scale and --replace"
                ),
            )
        return _narrowed(points, [*before, *new])
    if any(label.value not in fixed for label in new):
        raise _off_the_scale(new, fixed, where)
    return _narrowed(fixed, [*before, *new])


def few_that_decide(values: Sequence[float]) -> set[float]:
    """The values that make a scale from 0 to 3 of labels of 0 and 1, where few labels have them:
    they may be slips, and move the mark from which on a row passes. Empty where there are none.
    """
    present = set(values)
    # Of a handful of labels, one is no few: nothing is decided by them yet either.
    is_like_grades = set(BINARY) <= present <= set(_USUAL_SCALES[1])
    if len(values) < _ENOUGH or not is_like_grades:
        return set()
    above = [value for value in values if value > 1]
    return set(above) if len(above) <= _FEW * len(values) else set()


def scale_words(scale: Sequence[float]) -> str:
    """A scale and from which label on a row passes, where that is known, in words."""
    if not scale:
        return f"scale: not fixed by fewer than {_ENOUGH} labels"
    words = f"scale: {_listed(sorted(scale))}"
    try:
        return f"{words}; a row passes from a label of {default_cut(scale):g} on"
    except SetupError:
        return f"{words}; from which label on a row passes is said with --cut"


def scale_words_of(labels: Sequence[HumanLabel], where: str) -> str:
    """The scale that labels of a run are on, in words, as their import said it. Raises as
    `scale_of_labels`.
    """
    return scale_words(_narrowed(scale_of_labels(labels, (), where), labels))


def _listed(values: Sequence[float], most: int = 12) -> str:
    shown = ", ".join(f"{value:g}" for value in values[:most])
    return f"{shown} ..." if len(values) > most else shown


def _is_one_scale(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two scales are the same; 0 and 1 are, with 0.5 between or without."""
    return set(one) == set(other) or {*one, *other} <= _PASS_OR_FAIL


def _narrowed(points: tuple[float, ...], labels: Sequence[HumanLabel]) -> tuple[float, ...]:
    """0 and 1, where nobody gave the 0.5 of the usual scale."""
    has_middle = any(0.5 in (label.value, *label.scale) for label in labels)
    return BINARY if points == _USUAL_SCALES[0] and not has_middle else points


def _recorded_scale(labels: Sequence[HumanLabel], where: str) -> tuple[float, ...]:
    """The scale that labels were imported with. Raises DataError E0313 for two, and for labels of
    no known scale that are not on it.
    """
    scales = sorted({label.scale for label in labels if label.scale})
    points = set(scales[0])
    for scale in scales[1:]:
        if not _is_one_scale(scale, sorted(points)):
            raise DataError(
                "E0313",
                "The labels are on two scales.",
                where=where,
                why=f"{_listed(sorted(points))} and {_listed(scale)}",
                fix="import them again on one scale (--scale, with --replace)",
            )
        points.update(scale)
    if points <= _PASS_OR_FAIL:
        points.update(_PASS_OR_FAIL)
    others = [label for label in labels if not label.scale]
    if any(label.value not in points for label in others):
        raise _off_the_scale(others, points, where)
    return tuple(sorted(points))


def _off_the_scale(
    labels: Sequence[HumanLabel], points: Collection[float], where: str
) -> DataError:
    """Labels that are not on the scale of the others, by name."""
    off = [label for label in labels if label.value not in points]
    shown = ", ".join(f"{shorten(label.row_id, 40)} has {label.value:g}" for label in off[:_SHOWN])
    more = " ..." if len(off) > _SHOWN else ""
    return DataError(
        "E0313",
        f"{len(off)} of {len(labels)} labels are not on the scale of the others.",
        where=where,
        why=f"{shown}{more}; the others are {_listed(sorted(points))}",
        fix="correct them, or name all values that a label may take, such as --scale 0,1,2,3",
    )


def as_unit_labels(
    labels: Sequence[HumanLabel], kind: str, scale: Sequence[float], cut: float | None
) -> list[HumanLabel]:
    """Labels as 0 or 1 by the cut (kind "pass"), or spread from 0 to 1 over the scale ("mean")."""
    if kind == "pass":
        least = default_cut(scale) if cut is None else cut
        return [replace(label, value=float(label.value >= least)) for label in labels]
    low, high = min(scale), max(scale)
    return [replace(label, value=(label.value - low) / (high - low)) for label in labels]
