"""The verdicts of a recorded judge that stand in a column of another file than the labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragassay.core import DataError, SetupError, nearest, shorten
from ragassay.core.counting import count
from ragassay.datasets import Records, open_records, walk_path
from ragassay.trust.alignment import Verdicts
from ragassay.trust.label_table import absent, number_of

if TYPE_CHECKING:
    from ragassay.trust.label_table import LabelTable


def verdicts_of_file(table: LabelTable, path: str, column: str) -> Verdicts:
    """The values of a column of a file, matched to the labelled rows by id.

    Raises DataError E0306 for a row with two verdicts, E0315 where no id is a labelled row's;
    SetupError E0205 for a column without verdicts.
    """
    name = Path(path).name
    records = open_records(path)
    reading = _Reading(table, records, name, column)
    for line, row_id, row in records:
        reading.add(line, row_id, row)
    option = f"--judge recorded:{path}#{column}"
    if not reading.in_file.any():
        raise DataError(
            "E0315",
            f"No id of {name} is among the labelled rows.",
            where=option,
            why=(
                f"{reading.rows} rows there, {len(table)} labelled ones; the first label is of"
                f" {shorten(table.ids[0], 40)!r}"
            ),
            fix="give both files the same ids",
        )
    if not np.isfinite(reading.score).any():
        raise SetupError(
            "E0205",
            f"{name} holds no verdicts in {shorten(column, 40)!r}."
            f"{nearest(column, reading.columns)}",
            where=option,
            why="columns: " + ", ".join(shorten(c, 40) for c in list(reading.columns)[:20]),
            fix="name the column with the verdicts: recorded:FILE#COLUMN",
        )
    return Verdicts(
        f"recorded:{name}#{column}",
        reading.score,
        missing=reading.missing(),
        warnings=tuple(reading.warnings()),
    )


class _Reading:
    """The values of the column, put at the places of the labelled rows. NaN: no verdict."""

    def __init__(self, table: LabelTable, records: Records, name: str, column: str) -> None:
        self._places = {row_id: place for place, row_id in enumerate(table.ids)}
        self._records = records
        self._name = name
        self._column = column
        self._others = 0
        self._unreadable = 0
        self.score = np.full(len(table), np.nan)
        self.in_file = np.zeros(len(table), bool)
        self.columns: dict[str, None] = {}
        self.rows = 0

    def add(self, line: int, row_id: str, row: Mapping[str, object]) -> None:
        self.rows += 1
        # For the message that names the nearest column; one row may have any number of them.
        self.columns.update(dict.fromkeys(list(row)[:1000]))
        place = self._places.get(row_id)
        if place is None:
            self._others += 1
            return
        value = self._value(row)
        # The same verdict twice is no contradiction: files repeat rows.
        if self.in_file[place] and value is not None and self.score[place] != value:
            raise DataError(
                "E0306",
                f"The row {shorten(row_id, 40)!r} has two verdicts in {self._name}.",
                where=self._records.where(line),
                fix="keep one verdict a row",
            )
        self.in_file[place] = True
        self.score[place] = np.nan if value is None else value

    def _value(self, row: Mapping[str, object]) -> float | None:
        """The verdict in a row: under `judges` where it has that name there, else a column."""
        judges = row.get("judges")
        cell = walk_path(judges, self._column) if isinstance(judges, dict) else None
        if cell is None:
            cell = walk_path(row, self._column)
        if absent(cell):
            return None
        value = number_of(cell)
        if value is None:
            self._unreadable += 1
        return value

    def missing(self) -> dict[str, int]:
        """Reason -> labelled rows without a verdict."""
        absent_rows = int((~self.in_file).sum())
        return {f"no row of this id in {self._name}": absent_rows} if absent_rows else {}

    def warnings(self) -> list[str]:
        warnings = []
        if self._others:
            rows = count(self._others, "row")
            verb = "is" if self._others == 1 else "are"
            warnings.append(f"{rows} of {self._name} {verb} not among the labelled ones")
        if self._unreadable:
            warnings.append(
                f"{self._unreadable} values of {self._column} in {self._name} are no verdicts and"
                " are left out"
            )
        return warnings
