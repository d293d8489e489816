"""Readers of Parquet and Arrow files and Arrow tables in memory: batch by batch, through pyarrow.

pyarrow is an optional dependency, imported here when the first such source is opened.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from ragassay.core import DataError, NothingToDo, SetupError, shorten
from ragassay.datasets.formats.base import Format
from ragassay.datasets.source import Counted, FileReader, Row, Trouble, broken_file

_BATCH = 256


def load(module: str) -> Any:
    """A module of pyarrow. Raises SetupError (E0105) with the command that installs it."""
    # A pool that the caller or the environment chose is left alone.
    may_choose_pool = "pyarrow" not in sys.modules and "ARROW_DEFAULT_MEMORY_POOL" not in os.environ
    try:
        loaded = importlib.import_module(module)
        if may_choose_pool:
            # pyarrow's own pool keeps what it has freed: 25 MB at the peak of a large file.
            pyarrow = sys.modules["pyarrow"]
            pyarrow.set_memory_pool(pyarrow.system_memory_pool())
        return loaded
    except ImportError as error:
        raise SetupError(
            "E0105",
            "Reading Parquet and Arrow data needs pyarrow, which is not installed.",
            why=shorten(str(error)),
            fix="pip install 'ragassay[arrow]'",
        ) from error


def batch_rows(
    batches: Iterator[Any], pyarrow: Any, number: int = 0, skip: int = 0
) -> Iterator[tuple[int, Row | Trouble]]:
    """(row from 1, row) of record batches, a slice at a time so that one large batch is not all in
    memory as rows.

    number: how many rows of the source stand before the batches. skip: how many of the batches' own
    are passed over.
    """
    for batch in batches:
        passed = min(skip, batch.num_rows)
        skip -= passed
        number += passed
        for start in range(passed, batch.num_rows, _BATCH):
            for row in _rows_of(batch.slice(start, _BATCH), pyarrow):
                number += 1
                yield number, row


def _rows_of(part: Any, pyarrow: Any) -> Iterator[Row | Trouble]:
    """The rows of a slice; one by one where some cannot be read, so that the others are."""
    try:
        # Offsets of a damaged file may point outside of its memory.
        part.validate(full=True)
        rows: list[Row] = part.to_pylist()
    except (UnicodeDecodeError, ValueError, pyarrow.ArrowException):
        for index in range(part.num_rows):
            yield _single_row(part.slice(index, 1), pyarrow)
    else:
        yield from rows


def _single_row(part: Any, pyarrow: Any) -> Row | Trouble:
    """A row that is read alone because another one of its batch cannot be read."""
    try:
        part.validate(full=True)
        row: Row = part.to_pylist()[0]
    except (ValueError, pyarrow.ArrowException) as error:
        if isinstance(error, UnicodeDecodeError) or "UTF8" in str(error):
            return Trouble(
                "E0305",
                "a text is not valid UTF-8",
                shorten(str(error)),
                "write the table with valid UTF-8",
            )
        return Trouble(
            "E0303",
            "a cell cannot be read",
            shorten(str(error)),
            "write the column as text, numbers or lists",
        )
    return row


class ParquetFile(FileReader):
    """.parquet, by batches of its row groups."""

    counted_by: Counted = "position"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.pyarrow = load("pyarrow")
        self.parquet = load("pyarrow.parquet")
        try:
            with self.parquet.ParquetFile(path) as file:
                self.columns = tuple(map(str, file.schema_arrow.names))
        except (OSError, ValueError, self.pyarrow.ArrowException) as error:
            raise broken_file(path, error) from error
        check_columns(self.columns, path.name)

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        return self.rows_from(0)

    def rows_from(self, index: int) -> Iterator[tuple[int, Row | Trouble]]:
        """The rows from this index (from 0) on. Row groups that end before it are not read."""
        try:
            # Without a buffer in advance: all that was read would stay in it until the file is
            # closed.
            with self.parquet.ParquetFile(self.path, pre_buffer=False) as file:
                first, before = _group_of(file, index)
                groups = range(first, file.num_row_groups)
                # One thread: several would read row groups ahead of the one that is needed.
                batches = file.iter_batches(batch_size=_BATCH, row_groups=groups, use_threads=False)
                yield from batch_rows(batches, self.pyarrow, before, index - before)
        except (OSError, ValueError, self.pyarrow.ArrowException) as error:
            raise broken_file(self.path, error) from error


def _group_of(file: Any, index: int) -> tuple[int, int]:
    """(the row group that the row with this index is in, how many rows stand before the group)."""
    before = 0
    for group in range(file.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        if before + size > index:
            return group, before
        before += size
    return file.num_row_groups, before


class ArrowFile(FileReader):
    """.arrow, .feather and .ipc: the Arrow IPC file or stream format, a batch at a time.

    Not memory-mapped: a file that is cut while it is read must be an error, not a bus error.
    """

    counted_by: Counted = "position"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.pyarrow = load("pyarrow")
        self.ipc = load("pyarrow.ipc")
        try:
            with self._file() as source:
                self.columns = tuple(map(str, self._open(source).schema.names))
        except (OSError, ValueError, self.pyarrow.ArrowException) as error:
            raise broken_file(path, error) from error
        check_columns(self.columns, path.name)

    def _file(self) -> Any:
        return self.pyarrow.OSFile(str(self.path), "rb")

    def _open(self, source: Any) -> Any:
        # The endings are used for both of Arrow's formats, and only the content tells.
        try:
            return self.ipc.open_file(source)
        except self.pyarrow.ArrowInvalid:
            source.seek(0)
            return self.ipc.open_stream(source)

    def _batches(self, file: Any) -> Iterator[Any]:
        if hasattr(file, "num_record_batches"):
            for index in range(file.num_record_batches):
                yield file.get_batch(index)
        else:
            yield from file

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        try:
            with self._file() as source:
                yield from batch_rows(self._batches(self._open(source)), self.pyarrow)
        except (OSError, ValueError, self.pyarrow.ArrowException) as error:
            raise broken_file(self.path, error) from error


class SavedDataset:
    """A folder that Dataset.save_to_disk of Hugging Face wrote: state.json names its Arrow files,
    read one after another.

    Raises DataError (E0310) when state.json is broken or names what is no file of the folder.
    """

    textual = False
    notes: tuple[str, ...] = ("a dataset saved by Hugging Face datasets",)
    counted_by: Counted = "position"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = str(folder)
        try:
            state = orjson.loads((folder / "state.json").read_bytes())
            names = [part["filename"] for part in state["_data_files"]]
            # A path in state.json must not lead out of the folder.
            if not all(Path(name).name == name and (folder / name).is_file() for name in names):
                raise ValueError(f"not files of the folder: {names!r}")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise broken_file(folder / "state.json", error) from error
        self.files = [ArrowFile(folder / name) for name in names]
        self.columns: tuple[str, ...] | None = self.files[0].columns if self.files else None

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        number = 0
        for file in self.files:
            for _, row in file.rows():
                number += 1
                yield number, row

    def where(self, line: int) -> str:
        return f"{self.folder.name}:row {line}"

    def content_hash(self) -> str:
        hashes = "".join(file.content_hash() for file in self.files)
        return hashlib.blake2b(hashes.encode(), digest_size=16).hexdigest()


class ArrowTable:
    """A table in memory: a pyarrow Table or RecordBatch, or anything with the Arrow stream
    interface (polars).
    """

    source = "memory"
    textual = False
    notes: tuple[str, ...] = ()
    counted_by: Counted = "position"

    def __init__(self, open_batches: Callable[[Any], Any]) -> None:
        self.pyarrow = load("pyarrow")
        self.open_batches = open_batches
        with open_batches(self.pyarrow) as batches:
            self.columns: tuple[str, ...] | None = tuple(map(str, batches.schema.names))
        check_columns(self.columns, "the table")

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        with self.open_batches(self.pyarrow) as batches:
            yield from batch_rows(iter(batches), self.pyarrow)

    def where(self, line: int) -> str:
        return f"row {line}"

    def content_hash(self) -> str:
        return ""  # there are no bytes of a file; the rows are hashed as they are read


def check_columns(columns: tuple[str, ...], name: str) -> None:
    """Raises DataError (E0310) when a column name stands twice: rows could not be told apart from
    it.
    """
    # The quick test first: counting takes the square of the number of columns.
    if len(set(columns)) == len(columns):
        return
    twice = sorted(column for column in columns if columns.count(column) > 1)
    if twice:
        raise DataError(
            "E0310",
            f"The column {shorten(twice[0], 40)!r} stands twice in {name}.",
            fix="rename one of the two",
        )


def _open_parquet(path: Path) -> ParquetFile:
    _refuse_empty(path)
    return ParquetFile(path)


def _open_arrow(path: Path) -> ArrowFile:
    _refuse_empty(path)
    return ArrowFile(path)


def _refuse_empty(path: Path) -> None:
    """Raises NothingToDo (E0309) for a file without bytes, which pyarrow would call broken."""
    if not path.stat().st_size:
        raise NothingToDo(
            "E0309", f"{path.name} is empty.", where=str(path), fix="write rows into it"
        )


# Both compress their own columns, and a reader of either needs to seek.
FORMATS = (
    Format("arrow", (".arrow", ".feather", ".ipc"), _open_arrow, compressible=False),
    Format("parquet", (".parquet", ".pq"), _open_parquet, compressible=False),
)
