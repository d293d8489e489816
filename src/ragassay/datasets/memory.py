"""Readers of rows in memory: lists, data frames, Hugging Face datasets, and generators.

Libraries are recognised by their methods, never imported for it. A generator can be read once only,
so its rows are written to a temporary JSON Lines file, which goes with the Dataset.
"""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any
from uuid import UUID

from ragassay.core import Context, Sample, SetupError, shorten
from ragassay.datasets.formats.arrow_files import ArrowTable, check_columns
from ragassay.datasets.formats.json_files import JsonLines
from ragassay.datasets.outputs import document_fields, part
from ragassay.datasets.record import to_record
from ragassay.datasets.source import Counted, Reader, Row, Trouble, lines_on_blank

_PLAIN = frozenset({str, int, float, bool, type(None)})
_BATCH = 1024
"""Rows of a data frame that are turned into dicts at a time."""
_DEEPEST = 64


class InMemory:
    """Rows from something that can be iterated again and again."""

    source = "memory"
    textual = False
    counted_by: Counted = "position"

    def __init__(
        self, again: Callable[[], Iterable[object]], columns: tuple[str, ...] | None = None
    ) -> None:
        self.again = again
        self.columns = columns
        self.notes: tuple[str, ...] = ()

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        blank = 0
        for number, item in enumerate(self.again(), 1):
            row = as_row(item)
            # Only a table has such rows without meaning them: a blank line of a spreadsheet.
            if self.columns and isinstance(row, dict) and all(map(_is_gap, row.values())):
                blank += 1
                continue
            yield number, row
        self.notes = lines_on_blank(blank)

    def where(self, line: int) -> str:
        return f"row {line}"

    def content_hash(self) -> str:
        return ""


def _is_gap(cell: object) -> bool:
    """Whether a cell of a table holds nothing: null, NaN, or blanks."""
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (isinstance(cell, float) and cell != cell)


class Spooled(JsonLines):
    """The rows of a generator, kept in a temporary file that is removed with this reader or at
    exit.
    """

    counted_by: Counted = "position"

    def __init__(self, rows: Iterable[object]) -> None:
        handle, name = tempfile.mkstemp(prefix="ragassay-rows-", suffix=".jsonl")
        super().__init__(Path(name))
        self._remove = weakref.finalize(self, _remove, name)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                for item in rows:
                    file.write(_line(item) + "\n")
        except BaseException:
            self._remove()
            raise
        self.source = "memory"

    def where(self, line: int) -> str:
        return f"row {line}"


def _remove(name: str) -> None:
    Path(name).unlink(missing_ok=True)


def _line(item: object) -> str:
    """One line of JSON for any item; what is no row becomes a line that reads as a bad row."""
    row = as_row(item)
    if isinstance(row, Trouble):
        return json.dumps(row.why)
    gaps = {
        k: None for k, v in row.items() if isinstance(v, float) and v != v
    }  # NaN is absent in every table
    try:
        return json.dumps({**row, **gaps}, default=_strange)
    except (
        TypeError,
        ValueError,
        RecursionError,
    ) as error:  # circular, too deep, keys of a strange type
        return json.dumps(f"{type(item).__name__}: {shorten(str(error))}")


def _strange(value: object) -> object:
    fields = document_fields(value)
    if fields is not None:
        role = part(value, ("role", "type"))
        return {"role": role, **fields} if isinstance(role, str) else fields
    # An object where a text or number belongs: the field's own error.
    return {f"a {type(value).__name__}": "not JSON"}


def as_row(item: object) -> Row | Trouble:
    """A row as a dict of plain values, from a mapping or a Sample."""
    if isinstance(item, Sample):
        return to_record(item)
    if isinstance(item, Mapping):
        row: Row = {}
        for key, value in item.items():
            # The test of `plain`, here as well: most cells are plain and go without a call.
            row[str(key)] = value if type(value) in _PLAIN else plain(value)
        return row
    # The samples of Ragas and DeepEval are models of pydantic.
    if hasattr(item, "model_dump"):
        dumped = item.model_dump()
        if isinstance(dumped, dict):
            return as_row(dumped)
    return Trouble(
        "E0302",
        f"the row is a {type(item).__name__}, not an object of fields",
        type(item).__name__,
        "give dicts or ragassay Samples",
    )


def plain(value: Any, depth: int = 0) -> object:
    """The value with lists, dicts, str, float ... in place of tuples, numpy arrays and scalars, NA
    and Contexts.
    """
    # Deeper values stay as they are, and the field's own parser refuses them.
    if type(value) in _PLAIN or depth > _DEEPEST:
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Context):
        return {"text": value.text, "id": value.id, "score": value.score}
    if hasattr(value, "tolist"):  # numpy arrays and scalars, pandas and Arrow arrays
        items = value.tolist()
        # A numpy object scalar may give itself back, for ever.
        return items if items is value else plain(items, depth + 1)
    # By name, since pandas is never imported for it.
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    # Subclasses (numpy's str_, a StrEnum) as the bare type, which is what JSON has.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float | Decimal):
        return float(value)
    if isinstance(value, UUID):
        return str(value)
    return value


def reader_for(source: object) -> Reader:
    """The reader of something in memory. Raises SetupError for what holds no rows."""
    if isinstance(source, Mapping):
        return _mapping(source)
    if not _holds_rows(source):
        raise SetupError(
            "E0101",
            f"Rows cannot be read from a {type(source).__name__}.",
            fix="give a path, a list of dicts, a data frame or an Arrow table",
        )
    # pandas before Arrow: a data frame has Arrow's interface as well, which would need pyarrow.
    if hasattr(source, "iloc") and hasattr(source, "to_dict"):
        return _pandas(source)
    if hasattr(source, "read_next_batch"):  # a RecordBatchReader is read once
        batches: Iterable[Any] = source  # type: ignore[assignment]
        return Spooled(chain.from_iterable(batch.to_pylist() for batch in batches))
    if _is_arrow_data(source):
        return ArrowTable(lambda pyarrow: _stream(source, pyarrow))
    rows: Iterable[object] = source  # type: ignore[assignment]
    names = getattr(source, "column_names", None)
    if isinstance(names, list | tuple):  # Hugging Face
        return InMemory(lambda: rows, tuple(map(str, names)))
    if iter(rows) is rows:
        return Spooled(rows)
    return InMemory(lambda: rows)


def _holds_rows(source: object) -> bool:
    """Whether rows may be read from it. Bytes can be iterated and hold none."""
    if isinstance(source, bytes | bytearray):
        return False
    methods = ("__arrow_c_stream__", "to_pylist", "__iter__")
    return any(hasattr(source, method) for method in methods)


def _is_arrow_data(source: object) -> bool:
    """Whether it is a table or batch of Arrow, or can be read as one."""
    if hasattr(source, "__arrow_c_stream__"):
        return True
    return hasattr(source, "to_pylist") and hasattr(source, "schema")


def _mapping(source: Mapping[Any, Any]) -> InMemory:
    """A table of columns of one length, or one row. Raises SetupError for several splits."""
    splits = [str(name) for name, part in source.items() if hasattr(part, "column_names")]
    if splits:
        raise SetupError(
            "E0101",
            "The rows are in several splits.",
            why=shorten(", ".join(splits)),
            fix=f"choose one: rows[{splits[0]!r}]",
        )
    columns = list(source.values())
    if not _are_columns(columns):
        return InMemory(lambda: [source])
    names = tuple(map(str, source))

    def rows() -> Iterator[object]:
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))

    return InMemory(rows, names)


def _are_columns(values: list[Any]) -> bool:
    """Whether these are lists of one length."""
    if not all(isinstance(value, list | tuple) for value in values):
        return False
    return len(set(map(len, values))) == 1


def _stream(source: Any, pyarrow: Any) -> Any:
    if hasattr(source, "to_reader"):
        return source.to_reader()
    if hasattr(source, "__arrow_c_stream__"):
        return pyarrow.RecordBatchReader.from_stream(source)
    return pyarrow.RecordBatchReader.from_batches(source.schema, [source])


def _pandas(frame: Any) -> InMemory:
    """A data frame, in slices. A named index is a column (a span or record id often is one)."""
    index: list[str] = []
    for name in frame.index.names:
        if isinstance(name, str) and name not in frame.columns:
            index.append(name)
    columns = (*index, *map(str, frame.columns))
    check_columns(columns, "the data frame")

    def rows() -> Iterator[object]:
        # In slices: to_dict of the whole frame would hold every row a second time.
        for start in range(0, len(frame), _BATCH):
            part = frame.iloc[start : start + _BATCH]
            if index:
                part = part.reset_index(level=index)
            yield from part.to_dict("records")

    return InMemory(rows, columns)
