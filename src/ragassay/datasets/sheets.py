"""A sheet for people, filled in: a CSV file as spreadsheets save it."""

from __future__ import annotations

import csv
from pathlib import Path

from ragassay.datasets.formats.csv_files import separator_of


def read_sheet(path: Path) -> list[dict[str, str]]:
    """The rows of a sheet, by the names of its columns.

    The separator is found as in rows: the comma, or the semicolon or tab that spreadsheets save in
    many languages. Raises OSError, UnicodeDecodeError and csv.Error.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        head = file.readline()
        file.seek(0)
        return list(csv.DictReader(file, delimiter=separator_of(head.encode())))
