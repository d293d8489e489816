"""Writing rows in a tool's shape: one row at a time, saying what the shape cannot hold."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import orjson

from ragassay.core import (
    BadRow,
    DataError,
    EnvironmentFailure,
    Sample,
    SetupError,
    nearest,
    shorten,
)
from ragassay.datasets.names import ALIASES
from ragassay.datasets.paths import walk
from ragassay.datasets.shapes import WRITERS, Writer
from ragassay.datasets.shapes.base import parts

WRITTEN_SHAPES = tuple(WRITERS)
"""The shapes that `write_rows` knows."""

_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
}
_REFERENCES = frozenset({"reference", *ALIASES["reference"]})

Target = str | os.PathLike[str] | IO[bytes] | IO[str]


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What was written, and what was not.

    rows: written. bad: bad rows among the input, which are not written. lost: part of a Sample that
    the shape cannot hold -> rows that had it. missing: field that the tool cannot do without ->
    rows that lack it.
    """

    shape: str
    target: str
    rows: int
    bad: int
    lost: Mapping[str, int]
    missing: Mapping[str, int]

    @property
    def lines(self) -> tuple[str, ...]:
        """The report for the user, one sentence a line."""
        lines = [f"wrote {_rows(self.rows)} as {self.shape} to {self.target}"]
        if self.bad:
            lines.append(f"left out {_rows(self.bad)} that could not be read")
        if self.lost:
            lines.append(f"not held by {self.shape}, so left out: {_counted(self.lost)}")
        if self.missing:
            fields = _counted(self.missing)
            lines.append(f"{self.shape} cannot do without what some rows lack: {fields}")
        return tuple(lines)


def _counted(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({_rows(count)})" for name, count in rows.items())


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def write_rows(samples: Iterable[Sample | BadRow], target: Target, shape: str) -> WriteReport:
    """Write Samples in the row shape of a tool, and say what the shape cannot hold.

    target: a path or an open stream. The path's ending says the format: .jsonl, .json (an array;
    for RAGChecker its object with `results`), .csv, .tsv, each also with .gz; any other path and a
    stream get what the tool reads (ragchecker and deepeval JSON, ares TSV, the others JSON Lines).
    Tables flatten objects into dotted columns, and cannot tell an absent text from an empty one;
    texts stand in them as they are, also those that a spreadsheet would take for a formula. A file
    is replaced only when everything was written. Memory: one row.

    Reading the file back (`open_rows`) gives the same values for every part that the shape holds.

    Raises SetupError (E0101) for an unknown shape or an ending of another format,
    EnvironmentFailure (E0107) when the file cannot be written, DataError (E0305) when a text of a
    Sample is not Unicode.
    """
    writer = WRITERS.get(shape)
    if writer is None:
        raise SetupError(
            "E0101",
            f"Rows cannot be written as {shorten(shape, 40)!r}.{nearest(shape, WRITERS)}",
            why="shapes: " + ", ".join(WRITERS),
            fix="name one of them",
        )
    format = _format(target, writer)
    lost: Counter[str] = Counter()
    missing: Counter[str] = Counter()
    count: Counter[str] = Counter()

    def rows() -> Rows:
        for sample in samples:
            if isinstance(sample, BadRow):
                count["bad"] += 1
                continue
            count["rows"] += 1
            present = parts(sample)
            lost.update(part for part in present if _is_lost(part, present, writer.held))
            missing.update(name for name in writer.needs if name not in present)
            yield sample.id, writer.row(sample, lost)

    with opened(target) as write:
        _WRITE[format](rows(), writer, write)
    return WriteReport(
        shape,
        name_of(target),
        count["rows"],
        count["bad"],
        # Writers add zeros, too: a part that no row lost is no news.
        {part: n for part, n in sorted(lost.items()) if n},
        dict(sorted(missing.items())),
    )


def _is_lost(part: str, present: set[str], held: frozenset[str]) -> bool:
    """Whether the shape has no place for a part, and no loss of the whole says so already: where
    the contexts are lost, so are their ids.
    """
    if part in held:
        return False
    whole = part.partition(".")[0]
    whole_is_lost = whole in present and whole not in held
    return whole == part or not whole_is_lost


def _format(target: Target, writer: Writer) -> str:
    if not isinstance(target, str | os.PathLike):
        return writer.native
    name = os.fspath(target).lower().removesuffix(".gz")
    ending = os.path.splitext(name)[1]
    # Refused by name: the tool's own format under such an ending would mislead what opens it.
    if ending in (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".xlsx"):
        raise SetupError(
            "E0101",
            f"Rows cannot be written as {ending}.",
            where=shorten(str(target)),
            fix="write .jsonl, .json, .csv or .tsv",
        )
    return _ENDINGS.get(ending, writer.native)


def _encode(row_id: str, row: object) -> bytes:
    try:
        return orjson.dumps(row)
    except (TypeError, ValueError) as error:  # an unpaired surrogate, or a number beyond 64 bits
        raise DataError(
            "E0305",
            f"The row {shorten(row_id, 40)!r} cannot be written as JSON.",
            where=f"row {shorten(row_id, 40)}",
            why=shorten(str(error)),
            fix="correct its texts",
        ) from error


Rows = Iterator[tuple[str, dict[str, object]]]


def _json_lines(rows: Rows, writer: Writer, write: Callable[[bytes], object]) -> None:
    for row_id, row in rows:
        write(_encode(row_id, row) + b"\n")


def _json(rows: Rows, writer: Writer, write: Callable[[bytes], object]) -> None:
    write((b'{"' + writer.key.encode() + b'": [') if writer.key else b"[")
    separator = b"\n"
    for row_id, row in rows:
        write(separator + _encode(row_id, row))
        separator = b",\n"
    write(b"\n]}\n" if writer.key else b"\n]\n")


def _table(rows: Rows, writer: Writer, write: Callable[[bytes], object], mark: str) -> None:
    buffer = io.StringIO()
    # Every cell is quoted: the csv module leaves a lone carriage return bare, which its own reader
    # refuses.
    table = csv.writer(buffer, delimiter=mark, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writerow(writer.columns)
    for row_id, row in rows:
        table.writerow([_cell(row_id, column, walk(row, column)) for column in writer.columns])
        # One row at a time in the buffer, so that an error names the row whose text it is.
        write(_utf8(row_id, buffer.getvalue()))
        buffer.seek(0)
        buffer.truncate()
    write(buffer.getvalue().encode())


def _csv(rows: Rows, writer: Writer, write: Callable[[bytes], object]) -> None:
    _table(rows, writer, write, ",")


def _tsv(rows: Rows, writer: Writer, write: Callable[[bytes], object]) -> None:
    _table(rows, writer, write, "\t")


def _cell(row_id: str, column: str, value: object) -> str:
    if isinstance(value, str):
        # A reference that begins with [ would read back as a list of references.
        if column in _REFERENCES and value.startswith("["):
            return _encode(row_id, [value]).decode()
        return value
    if value is None:
        return ""
    if type(value) is float:
        return str(value)
    return _encode(row_id, value).decode()


def _utf8(row_id: str, text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _encode(row_id, text)  # raises with the row's name


_WRITE: dict[str, Callable[[Rows, Writer, Callable[[bytes], object]], None]] = {
    "jsonl": _json_lines,
    "json": _json,
    "csv": _csv,
    "tsv": _tsv,
}


def name_of(target: Target) -> str:
    """The target in words."""
    return os.fspath(target) if isinstance(target, str | os.PathLike) else "the stream"


@contextmanager
def opened(target: Target) -> Iterator[Callable[[bytes], object]]:
    """A function that writes bytes to the target. A file appears under its name only when nothing
    failed.

    Raises EnvironmentFailure (E0107) when it cannot be written.
    """
    if not isinstance(target, str | os.PathLike):
        yield _stream_writer(target)
        return
    path = Path(os.path.realpath(target))  # a link stays a link
    special = path.exists() and not path.is_file()  # a pipe or device; a folder fails below
    part = path
    if not special:
        # In the same folder, where a rename is one step. Cut, since the name may be as long as the
        # file system allows.
        part = path.with_name(f".{path.name[:80]}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            if path.suffix.lower() == ".gz":
                # Without name and time in its header, the same rows give the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as compressed:
                    yield compressed.write
            else:
                yield file.write
        if not special:
            part.replace(path)
    except OSError as error:
        raise EnvironmentFailure(
            "E0107",
            "The output file cannot be written.",
            where=str(path),
            why=error.strerror or str(error),
            fix="choose a file in a folder that can be written",
        ) from error
    finally:
        if not special:
            part.unlink(missing_ok=True)


def _stream_writer(stream: IO[bytes] | IO[str]) -> Callable[[bytes], object]:
    if not isinstance(stream, io.TextIOBase):
        return cast(IO[bytes], stream).write

    def write_text(data: bytes) -> object:
        return stream.write(data.decode())

    return write_text
