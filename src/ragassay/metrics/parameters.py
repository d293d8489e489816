"""Checks of a metric's parameters, worded alike for the whole catalogue (E0202)."""

from __future__ import annotations

import math

from ragassay.core import SetupError, nearest, shorten


def refuse(metric: str, name: str, value: object, expected: str, hint: str = "") -> SetupError:
    """The error for a parameter whose value is not `expected`."""
    return SetupError(
        "E0202",
        f"{metric} cannot take {name}={shorten(value, 40)}.",
        where=f"metric {metric}, parameter {name}",
        why=f"it is {shorten(value, 40)}",
        fix=f"give {expected}.{hint}",
    )


def check_share(metric: str, name: str, value: object) -> None:
    """A number from 0 to 1."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and 0 <= value <= 1):  # type: ignore[operator, arg-type]
        raise refuse(metric, name, value, "a number from 0 to 1")


def check_count(metric: str, name: str, value: object) -> None:
    """A whole number from 1."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise refuse(metric, name, value, "a whole number from 1")


def check_choice(metric: str, name: str, value: object, choices: tuple[object, ...]) -> None:
    """One of a few values."""
    if value not in choices or isinstance(value, bool):
        listed = ", ".join(str(choice) for choice in choices)
        raise refuse(
            metric, name, value, f"one of {listed}", nearest(str(value), [str(c) for c in choices])
        )
