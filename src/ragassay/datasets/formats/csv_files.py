"""The reader of CSV and TSV files: the csv module in strict mode, a record at a time.

The first line is the header. A record with a wrong number of cells, a broken quote or bytes that
are not UTF-8 is a bad row, and reading goes on after it. An open quote swallows the lines after it:
when the record that comes of it is broken, the reader goes back to the line after the one where it
began.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from ragassay.core import DataError, shorten
from ragassay.datasets.formats.base import Format
from ragassay.datasets.formats.json_files import not_utf8
from ragassay.datasets.source import (
    READ_ERRORS,
    FileReader,
    Row,
    Trouble,
    broken_file,
    cut_short,
    line_limit,
    lines_on_blank,
    open_bytes,
    read_line,
    too_long,
)

CELL_LIMIT = 64 * 1024 * 1024
"""Characters in one cell. It bounds the memory that one unclosed quote can take."""

_READ_AGAIN = 256 * 1024 * 1024
"""Bytes that are read a second time after quotes that swallowed lines, so that hostile files stay
linear.
"""


_UNDECODED = re.compile("[\udc80-\udcff]")


class _TooLong(csv.Error):
    """A record over the limit of the file."""


class _Lines:
    """The lines of a file as text, remembering the bytes of the record at hand."""

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self.file = file
        self.limit = limit
        self.number = 0
        # Of the record at hand: where it begins, its lines, how many bytes these are, and how many
        # a line of it has that is over the limit.
        self.offset = file.tell()
        self.raw: list[bytes] = []
        self.size = 0
        self.passed = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line, size = read_line(self.file, self.limit)
        if not size:
            raise StopIteration
        self.number += 1
        if not line:
            self.passed = size
            raise _TooLong(too_long(self.limit).what)
        self.raw.append(line)
        self.size += size
        if self.size > self.limit:
            raise _TooLong(too_long(self.limit).what)
        # Each byte that is not UTF-8 becomes a lone surrogate, so that the record can be split into
        # cells first and the bad cell be named.
        return line.decode("utf-8", "surrogateescape")

    def begin(self) -> None:
        """The next line begins a record."""
        self.offset += self.size + self.passed
        self.raw = []
        self.size = 0
        self.passed = 0

    def go_back(self) -> None:
        """Continue after the first line of the record at hand."""
        self.number -= self.swallowed
        self.raw = self.raw[:1]
        self.size = len(self.raw[0])
        self.passed = 0
        self.file.seek(self.offset + self.size)

    @property
    def swallowed(self) -> int:
        """Lines of the record at hand after its first."""
        return len(self.raw) + (self.passed > 0) - 1

    def undecodable(self) -> Trouble:
        record = b"".join(self.raw)
        try:
            record.decode("utf-8")
        except UnicodeDecodeError as error:
            return not_utf8(record, self.offset, error)
        return Trouble("E0305", "the row is not valid UTF-8")


class CsvFile(FileReader):
    """.csv and .tsv. The separator of a .csv is the comma, or the semicolon or tab when the header
    has no comma.
    """

    textual = True

    def __init__(self, path: Path, tab: bool) -> None:
        super().__init__(path)
        with open_bytes(path) as file:
            try:
                head = file.readline(1 << 20)
            except READ_ERRORS as error:
                raise broken_file(path, error) from error
        self.separator = "\t" if tab else separator_of(head)
        if self.separator != "," and not tab:
            marks = "semicolons" if self.separator == ";" else "tabs"
            self.notes = (f"cells are separated by {marks}",)
        self._notes_on_format = self.notes
        with open_bytes(path) as file:
            self.columns = self._header(_Lines(file, line_limit(path)))

    def _header(self, lines: _Lines) -> tuple[str, ...]:
        header: list[str] = []
        try:
            header = next(self._records(lines), [])
            if any(map(_holds_undecoded, header)):
                raise self._not_utf8(lines)
            why = _fault_of_header(header)
        except csv.Error as error:
            why = str(error)
        except READ_ERRORS as error:
            raise broken_file(self.path, error) from error
        if why or not any(header):
            raise DataError(
                "E0310",
                f"The header of {self.path.name} is broken.",
                where=f"{self.path.name}:1",
                why=why or "it is empty",
                fix="make the first line the column names, such as: id,question,contexts,response",
            )
        return tuple(header)

    def _not_utf8(self, lines: _Lines) -> DataError:
        """The error for a header in another encoding."""
        trouble = lines.undecodable()
        name = self.path.name
        fix = trouble.fix
        if "iconv" in fix:
            target = quote(f"utf8-{name.removesuffix('.gz')}")
            fix = f"iconv -f WINDOWS-1252 -t UTF-8 {quote(name)} > {target}"
            if name.endswith(".gz"):
                fix = f"gunzip -c {quote(name)} | iconv -f WINDOWS-1252 -t UTF-8 > {target}"
            if "Excel" in trouble.fix:
                fix += ", or save it in Excel as CSV UTF-8"
            else:
                fix += ", if that is what it is"
        return DataError(
            "E0305",
            f"The header of {name} is not UTF-8 text.",
            where=f"{name}:1",
            why=f"{trouble.what}: {trouble.why}",
            fix=fix,
        )

    def _records(self, lines: _Lines) -> Iterator[list[str]]:
        # The csv module has one limit per process and no other way to read a cell of more than 128
        # KiB.
        if csv.field_size_limit() < CELL_LIMIT:
            csv.field_size_limit(CELL_LIMIT)
        return csv.reader(lines, delimiter=self.separator, strict=True)

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        with open_bytes(self.path) as file:
            lines = _Lines(file, line_limit(self.path))
            records = self._records(lines)
            header = self.columns or ()
            next(records)
            bytes_left = _READ_AGAIN
            blank = 0
            while True:
                lines.begin()
                number = lines.number + 1
                trouble: Trouble | None = None
                cells: list[str] = []
                try:
                    cells = next(records)
                except StopIteration:
                    self.notes = (*self._notes_on_format, *lines_on_blank(blank))
                    return
                except _TooLong:
                    trouble = too_long(lines.limit)
                except csv.Error as error:
                    trouble = self._broken(str(error))
                except READ_ERRORS as error:
                    yield number, cut_short(error)
                    return
                if trouble is None and not any(map(str.strip, cells)):
                    # An empty line, or one of separators alone, as a spreadsheet writes it.
                    blank += bool(cells)
                    continue
                if trouble is None and len(cells) != len(header):
                    trouble = Trouble(
                        "E0302",
                        f"the row has {len(cells)} cells and the header has {len(header)}",
                        shorten(self.separator.join(cells)),
                        'put a cell that holds a separator or a line break in "quotes"',
                    )
                if trouble is None:
                    if any(map(_holds_undecoded, cells)):
                        yield number, lines.undecodable()
                    else:
                        yield number, dict(zip(header, cells, strict=True))
                    continue
                if lines.swallowed > 0:
                    # The lines after the first are perhaps rows of their own that an open quote
                    # swallowed.
                    bytes_left -= lines.size + lines.passed
                    if bytes_left > 0:
                        lines.go_back()
                        # A new parser: the one at hand is still inside the quote.
                        records = self._records(lines)
                    else:
                        what = (
                            f"{trouble.what}; the {lines.swallowed} lines after it are lost with it"
                        )
                        trouble = replace(trouble, what=what)
                yield number, trouble

    def _broken(self, error: str) -> Trouble:
        if "unexpected end" in error or "field larger" in error:
            return Trouble(
                "E0302",
                "a quote that opens in this row is never closed",
                shorten(error),
                f'close it, or write it twice ("") in a quoted cell; cells over {CELL_LIMIT:,}'
                " characters need JSONL",
            )
        return Trouble(
            "E0302",
            f"the row is not valid CSV: {shorten(error)}",
            "",
            'write a quote inside a quoted cell twice ("")',
        )


def separator_of(head: bytes) -> str:
    """The first separator that the header has; the comma where it is one name alone."""
    for mark in (",", ";", "\t"):
        if mark.encode() in head:
            return mark
    return ","


def _fault_of_header(header: list[str]) -> str:
    """What is wrong with the column names, "" for nothing."""
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        return f"the column {shorten(twice[0], 40)!r} stands twice"
    if any("\0" in name for name in header):
        return "it holds bytes that are not text"
    return ""


def _holds_undecoded(cell: str) -> bool:
    """Whether bytes of the cell were not UTF-8; such a byte was decoded as a lone surrogate."""
    return not cell.isascii() and _UNDECODED.search(cell) is not None


def _open_csv(path: Path) -> CsvFile:
    return CsvFile(path, tab=False)


def _open_tsv(path: Path) -> CsvFile:
    return CsvFile(path, tab=True)


FORMATS = (
    Format("csv", (".csv",), _open_csv),
    Format("tsv", (".tsv", ".tab"), _open_tsv),
)
