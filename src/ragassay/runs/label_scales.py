"""The scales of people's labels: which values there are, and from which on a row passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragassay.core import DataError, HumanLabel, SetupError

BINARY = (0.0, 1.0)
# In the order in which they are tried: labels of 0 and 1 alone fit both.
_USUAL_SCALES = ((0.0, 0.5, 1.0), (0.0, 1.0, 2.0, 3.0))


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
    """The values that labels may take: those that are given, else the usual scale that they fit.

    kind: "pass" or "mean"; as a mean, labels may lie anywhere between 0 and 1. Raises SetupError
    E0101 for a scale of one value, DataError E0313 where no usual scale fits.
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
    values = sorted({label.value for label in labels})
    if kind == "mean" and all(0 <= value <= 1 for value in values):
        return BINARY
    # Labels of 0, 1 and 3 are on the scale 0 to 3, of which nobody gave the 2.
    for usual in _USUAL_SCALES:
        if set(values) <= set(usual):
            return usual
    shown = ", ".join(f"{value:g}" for value in values[:8])
    if len(values) > 8:
        shown += " ..."
    raise DataError(
        "E0313",
        "It is not said on which scale the labels are.",
        where=where,
        why=f"they are {shown}",
        fix=(
            "correct what is a slip, or name all values a label may take, such as --scale 1,2,3,4,5"
        ),
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
