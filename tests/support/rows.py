"""Rows as a test expects them: all of them read, or all of them bad."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from ragassay.core import BadRow, Sample

Row = TypeVar("Row")


def samples(rows: Iterable[Sample | BadRow]) -> list[Sample]:
    """All rows, each of which was read."""
    return _all(Sample, rows)


def bad_rows(rows: Iterable[Sample | BadRow]) -> list[BadRow]:
    """All rows, none of which could be read."""
    return _all(BadRow, rows)


def _all(kind: type[Row], rows: Iterable[object]) -> list[Row]:
    checked = []
    for row in rows:
        assert isinstance(row, kind), row
        checked.append(row)
    return checked
