"""What the application spent on a row: tokens, cost and latency, from whatever columns say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ragassay.core import AppUsage
from ragassay.datasets import cells
from ragassay.datasets.cells import Problems
from ragassay.datasets.traces import seconds_between, totals

_KEYS = {
    "latency": "latency",
    "cost": "cost",
    "total_cost": "cost",
    "total_tokens": "total_tokens",
    "input_tokens": "input_tokens",
    "prompt_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "completion_tokens": "output_tokens",
}
"""Key of a usage object -> the figure it says."""
_COLUMNS = ("latency", "cost", "total_tokens", "input_tokens", "output_tokens")
USAGE_CELLS = frozenset({*_COLUMNS, "usage", "latency_ms", "start_time", "end_time", "trace"})
"""The cells that say something of the usage."""
_PARSERS: dict[str, Callable[[object, str, Problems], Any]] = {
    "input_tokens": cells.count,
    "output_tokens": cells.count,
    "total_tokens": cells.count,
    "cost": cells.amount,
    "latency": cells.amount,
}


class _Figure(NamedTuple):
    """A figure as it stands in the row, and the field by which messages name it."""

    value: object
    field: str


def read_usage(
    row: Mapping[str, object], problems: Problems, notes: Counter[str]
) -> AppUsage | None:
    """The usage of a row's cells (field -> value). None where no cell says any.

    The first of these decides about a figure: a column of its own, the usage object, other units
    (milliseconds, start and end), the trace.
    """
    figures = _stated(row, problems)
    if "latency" not in figures:
        latency = _latency(row, problems)
        if latency is not None:
            figures["latency"] = latency
    if "trace" in row:
        for name, value in totals(row["trace"], notes).items():
            figures.setdefault(name, _Figure(value, f"trace.{name}"))
    if not figures and "usage" not in row:
        return None
    return AppUsage(
        **{
            name: parse(*figures.get(name, _Figure(None, name)), problems)
            for name, parse in _PARSERS.items()
        }
    )


def _stated(row: Mapping[str, object], problems: Problems) -> dict[str, _Figure]:
    """The figures of the usage object and of columns of their own, which go before."""
    figures: dict[str, _Figure] = {}
    if "usage" in row:
        for key, value in cells.pairs(row["usage"], "usage", problems):
            if key in _KEYS:
                figures[_KEYS[key]] = _Figure(value, f"usage.{key}")
    for name in _COLUMNS:
        if name in row:
            figures[name] = _Figure(row[name], name)
    return figures


def _latency(row: Mapping[str, object], problems: Problems) -> _Figure | None:
    """The latency in seconds, from milliseconds or from two times."""
    if "latency_ms" in row:
        milliseconds = cells.amount(row["latency_ms"], "latency_ms", problems)
        return _Figure(None if milliseconds is None else milliseconds / 1000, "latency_ms")
    if "start_time" in row and "end_time" in row:
        seconds = seconds_between(row["start_time"], row["end_time"], problems)
        return _Figure(seconds, "latency")
    return None
