"""Sources of raw rows: the reader protocol, and opening a file so that every fault has a name."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

from ragassay.core import DataError, NothingToDo, nearest, shorten

Row = dict[str, object]
Counted = Literal["line", "position"]

READ_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile, OSError)
"""What reading on may raise in the middle of a file: a cut or damaged gzip stream, or the disk
itself.
"""


LINE_LIMIT = 256 * 1024 * 1024
PACKED_LINE_LIMIT = 64 * 1024 * 1024
"""Bytes in one line or row. Less in a .gz file, where a gigabyte of blanks takes a megabyte and
would take a gigabyte.
"""
_SKIP = 1 << 17


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a row could not be read as fields. `what` has no location; the reader's `where` adds
    it.
    """

    code: str
    what: str
    why: str = ""
    fix: str = ""


class Reader(Protocol):
    """A source that can be read again and again, a row at a time.

    source: absolute path, or "memory". textual: every cell is text (CSV), so numbers are parsed out
    of it. columns: known before the rows are (a header, a schema), else None. notes: said once
    about the source. counted_by: what the numbers of its rows count.
    """

    source: str
    textual: bool
    columns: tuple[str, ...] | None
    notes: tuple[str, ...]
    counted_by: Counted

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        """(line, or position among the rows, from 1, row). Raises DataError when the whole source
        cannot be read.
        """
        ...

    def where(self, line: int) -> str:
        """The place of a row, for messages."""
        ...

    def content_hash(self) -> str:
        """Hash of the bytes of a file; "" where only the rows themselves can be hashed."""
        ...


def show(value: object) -> str:
    """A value in a message: short, on one line, and never by walking a deep structure."""
    if isinstance(value, str):
        return shorten(value)
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        if not value:
            return "{}"
        keys = ", ".join(str(key)[:30] for key in list(value)[:6])
        return f"an object with {shorten(keys)}"
    # Python refuses to print an integer of more than 4,300 digits.
    if isinstance(value, int) and value.bit_length() > 256:
        return f"an integer of {value.bit_length()} bits"
    try:
        return shorten(repr(value))
    except Exception:
        # An object of the caller's may fail to print itself; the message must not fail with it.
        return f"a {type(value).__name__}"


def find_file(path: Path) -> Path:
    """The file as an absolute path. Raises DataError (E0102) when it is not a file that can be
    read.
    """
    try:
        if path.is_file():
            with path.open("rb"):
                return path.absolute()
        what, why = _absence(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        what = f"The file {shorten(str(path))} cannot be opened."
        why = shorten(str(error))
    raise DataError(
        "E0102",
        what,
        why=why,
        fix="check the path, and the folder that it starts from",
    )


def _absence(path: Path) -> tuple[str, str]:
    """(what, why) of a path that is no file."""
    if path.is_dir():
        return f"{path} is a folder, not a file of rows.", ""
    hint = _neighbour(path)
    return f"No file {path}.", f"the folder has no such file.{hint}" if hint else ""


def _neighbour(path: Path) -> str:
    """The file of the folder whose name is most like this one, as a question; "" for none."""
    folder = path.parent
    return nearest(path.name, os.listdir(folder)) if folder.is_dir() else ""


def open_bytes(path: Path) -> BinaryIO:
    """The file's bytes, decompressed when its name ends in .gz, after a UTF-8 byte order mark if
    there is one.

    Raises NothingToDo for an empty file and DataError for UTF-16 and UTF-32, which are not read.
    """
    try:
        packed = path.suffix.lower() == ".gz"
        file = cast(BinaryIO, gzip.open(path, "rb") if packed else path.open("rb"))  # noqa: SIM115 - the caller closes it
    except OSError as error:
        raise DataError(
            "E0102", f"The file {path.name} cannot be opened.", why=shorten(str(error))
        ) from error
    try:
        head = file.read(4)
        if not head:
            raise NothingToDo(
                "E0309", f"{path.name} is empty.", where=str(path), fix="write one row a line"
            )
        if _is_wide_text(head):
            raise DataError(
                "E0310",
                f"{path.name} is UTF-16 or UTF-32 text; only UTF-8 is read.",
                where=str(path),
                fix=f"iconv -f UTF-16 -t UTF-8 {path.name} > utf8-{path.name}",
            )
        has_byte_order_mark = head.startswith(b"\xef\xbb\xbf")
        file.seek(3 if has_byte_order_mark else 0)
    except BaseException as error:
        file.close()
        if isinstance(error, READ_ERRORS):
            raise broken_file(path, error) from error
        raise
    return file


def _is_wide_text(head: bytes) -> bool:
    """Whether a file that begins like this is UTF-16 or UTF-32: by its byte order mark, or by the
    zeros that stand between ASCII characters.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return True
    return len(head) == 4 and b"\0" in head and bool(head.strip(b"\0"))


def line_limit(path: Path) -> int:
    """Most bytes of one row of the file that are held in memory."""
    return PACKED_LINE_LIMIT if path.suffix.lower() == ".gz" else LINE_LIMIT


def read_line(file: BinaryIO, limit: int) -> tuple[bytes, int]:
    """(the next line, its length). A line over the limit is passed over and not held: b"" and its
    length.
    """
    line = file.readline(limit + 1)
    size = len(line)
    if size <= limit:
        return line, size
    ended = line.endswith(b"\n")
    # Let go of it before more is read, so that no more than one line over the limit is in memory.
    del line
    while not ended and (part := file.readline(_SKIP)):
        size += len(part)
        ended = part.endswith(b"\n")
    return b"", size


def too_long(limit: int) -> Trouble:
    """The trouble of a row over the limit."""
    return Trouble(
        "E0301",
        f"the row is longer than {limit / 2**20:g} MiB",
        "it was passed over so that one row cannot fill the memory",
        f"cut its texts; a file that is not compressed may hold rows of {LINE_LIMIT / 2**20:g} MiB",
    )


def broken_file(path: Path, error: BaseException) -> DataError:
    """The error for a file that cannot be read at all."""
    return DataError(
        "E0310",
        f"{path.name} cannot be read.",
        where=str(path),
        why=shorten(f"{type(error).__name__}: {error}"),
        fix=(
            "check that the file is whole and that its name ends in what it holds (.jsonl, .csv,"
            " .parquet, .gz ...)"
        ),
    )


def lines_on_blank(count: int) -> tuple[str, ...]:
    """What is told of rows of a table that were skipped because every cell of them is empty."""
    if not count:
        return ()
    return (f"skipped {count:,} row{'' if count == 1 else 's'} in which every cell is empty",)


def cut_short(error: BaseException) -> Trouble:
    """The trouble of a file that broke off while it was read: what came before is kept."""
    return Trouble(
        "E0310",
        "the file breaks off here; what follows could not be read",
        shorten(f"{type(error).__name__}: {error}"),
        "write the file again, or gzip -t it",
    )


def hash_file(path: Path) -> str:
    """Hex BLAKE2b (128 bit) of the bytes of the file as stored, read in blocks."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(io.DEFAULT_BUFFER_SIZE * 32):
            digest.update(block)
    return digest.hexdigest()


class FileReader:
    """What the readers of files share: name, place and hash."""

    textual = False
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    counted_by: Counted = "line"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.source = str(path)

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        raise NotImplementedError

    def where(self, line: int) -> str:
        unit = "row " if self.counted_by == "position" else ""
        return f"{self.path.name}:{unit}{line}"

    def content_hash(self) -> str:
        return hash_file(self.path)
