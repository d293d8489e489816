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


def filled_in(path: Path, column: str) -> dict[str, str]:
    """Id -> what stands in a column of a sheet, of the rows where something does; nothing where the
    file is not there or is no such sheet.
    """
    try:
        rows = read_sheet(path)
    except (OSError, UnicodeDecodeError, csv.Error):
        return {}
    found: dict[str, str] = {}
    for row in rows:
        word = (row.get(column) or "").strip().lower()
        if word and row.get("id"):
            found[row["id"].removeprefix("'")] = word
    return found
