"""Raw rows of a file, each as it was written, with its line and its id: for what a Sample does not
hold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ragassay.core import shorten
from ragassay.datasets import cells
from ragassay.datasets.columns import normal
from ragassay.datasets.dataset import open_reader
from ragassay.datasets.names import ALIASES
from ragassay.datasets.paths import inside
from ragassay.datasets.source import Reader, Row, Trouble


class Records:
    """The raw rows of a source, in order: (line, id, row). Iterating reads it from the start.

    Read with the same readers as Samples, and with the same ids ("row-1" ... where rows have
    none), so that a record and a Sample of one row are told by the same name. `bad` counts the rows
    of the last reading that could not be read.
    """

    def __init__(self, reader: Reader, id_column: str | None) -> None:
        self._reader, self._id = reader, id_column
        self.bad: Counter[str] = Counter()

    @property
    def source(self) -> str:
        """The absolute path of the file, or "memory"."""
        return self._reader.source

    def content_hash(self) -> str:
        """Hash of the bytes of a file, "" for rows in memory."""
        return self._reader.content_hash()

    def where(self, line: int) -> str:
        """The place of a row, for messages."""
        return self._reader.where(line)

    def __iter__(self) -> Iterator[tuple[int, str, Row]]:
        self.bad = Counter()
        column = self._id
        for line, row in self._reader.rows():
            if isinstance(row, Trouble):
                self.bad[f"{row.code}: {shorten(row.what, 60)}"] += 1
                continue
            if column is None:
                column = _id_column(row)
            yield line, _own_id(row, column) or f"row-{line}", row


def open_records(
    source: object, *, mapping: Mapping[str, str] | None = None, format: str | None = None
) -> Records:
    """The raw rows of anything that `open_rows` opens, whether or not its columns are known ones.

    mapping: field -> column; only "id" is looked at. Raises DataError when the source cannot be
    read.
    """
    return Records(open_reader(source, format), (mapping or {}).get("id"))


def walk_path(row: Mapping[str, object], path: str) -> object:
    """The cell of a column, or of a path into objects and lists: "labels/faithfulness",
    "labels.faithfulness", "votes/0". A whole name that is a column comes first. None when there is
    none.
    """
    if path in row:
        return row[path]
    # Both marks in turn, since a name may hold the other one: "labels/v1.2".
    for mark in ("/", "."):
        if mark not in path:
            continue
        value: object = row
        for part in path.split(mark):
            value = inside(value, part)
        if value is not None:
            return value
    return None


def _own_id(row: Row, column: str) -> str | None:
    value = walk_path(row, column) if column else None
    # NaN, the only value that differs from itself, is a gap in a table.
    if value != value:
        return None
    return cells.identity(value, "id", [])


def _id_column(row: Row) -> str:
    """The column that holds the id by its name, "" for none."""
    # From the end, so that the first of two columns with one normal name is meant.
    names = {normal(key): key for key in reversed(row)}
    for name in ("id", *ALIASES["id"]):
        if name in names:
            return names[name]
    return ""
