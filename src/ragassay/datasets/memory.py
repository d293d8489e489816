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
from ragassay.datasets.record import to_record
from ragassay.datasets.source import Reader, Row, Trouble

_PLAIN = frozenset({str, int, float, bool, type(None)})
_BATCH = 1024


class InMemory:
    """Rows from something that can be iterated again and again."""

    source = "memory"
    textual = False
    notes: tuple[str, ...] = ()

    def __init__(
        self, again: Callable[[], Iterable[object]], columns: tuple[str, ...] | None = None
    ) -> None:
        self.again = again
        self.columns = columns

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        for number, item in enumerate(self.again(), 1):
            yield number, as_row(item)

    def where(self, line: int) -> str:
        return f"row {line}"

    def content_hash(self) -> str:
        return ""


class Spooled(JsonLines):
    """The rows of a generator, kept in a temporary file that is removed with this reader or at
    exit.
    """

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
    return {
        f"a {type(value).__name__}": None
    }  # an object where a text or number belongs: the field's own error


def as_row(item: object) -> Row | Trouble:
    """A row as a dict of plain values, from a mapping or a Sample."""
    if isinstance(item, Sample):
        return to_record(item)
    if isinstance(item, Mapping):
        return {
            k if type(k) is str else str(k): v if type(v) in _PLAIN else plain(v)
            for k, v in item.items()
        }
    if hasattr(item, "model_dump"):  # pydantic: a Ragas or DeepEval sample
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
    if type(value) in _PLAIN or depth > 64:
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [v if type(v) in _PLAIN else plain(v, depth + 1) for v in value]
    if isinstance(value, Mapping):
        return {str(k): plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, Context):
        return {"text": value.text, "id": value.id, "score": value.score}
    if hasattr(value, "tolist"):  # numpy arrays and scalars, pandas and Arrow arrays
        found = value.tolist()
        return found if found is value else plain(found, depth + 1)
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float | Decimal):
        return float(value)
    return str(value) if isinstance(value, UUID) else value


def reader_for(source: object) -> Reader:
    """The reader of something in memory. Raises SetupError for what holds no rows."""
    if isinstance(source, Mapping):
        return _mapping(source)
    arrow = hasattr(source, "__arrow_c_stream__") or hasattr(source, "to_pylist")
    if isinstance(source, bytes | bytearray) or not (arrow or hasattr(source, "__iter__")):
        raise SetupError(
            "E0101",
            f"Rows cannot be read from a {type(source).__name__}.",
            fix="give a path, a list of dicts, a data frame or an Arrow table",
        )
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
    if not all(isinstance(column, list | tuple) for column in columns):
        return InMemory(lambda: [source])
    if len({len(column) for column in columns}) != 1:
        return InMemory(lambda: [source])
    names = tuple(map(str, source))

    def rows() -> Iterator[object]:
        for cells in zip(*columns, strict=True):
            yield dict(zip(names, cells, strict=True))

    return InMemory(rows, names)


def _stream(source: Any, pyarrow: Any) -> Any:
    if hasattr(source, "to_reader"):
        return source.to_reader()
    if hasattr(source, "__arrow_c_stream__"):
        return pyarrow.RecordBatchReader.from_stream(source)
    return pyarrow.RecordBatchReader.from_batches(source.schema, [source])


def _pandas(frame: Any) -> InMemory:
    """A data frame, in slices. A named index is a column (a span or record id often is one)."""
    named = [n for n in frame.index.names if isinstance(n, str) and n not in frame.columns]
    columns = (*named, *map(str, frame.columns))
    check_columns(columns, "the data frame")

    def again() -> Iterator[object]:
        for start in range(0, len(frame), _BATCH):
            part = frame.iloc[start : start + _BATCH]
            yield from (part.reset_index(level=named) if named else part).to_dict("records")

    return InMemory(again, columns)
