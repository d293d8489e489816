"""Readers of JSON Lines and JSON files: one row at a time, each fault a row of its own.

A line (or an element of an array) is parsed by orjson. What orjson does not tell apart is found out
on its error path only: NaN and infinities, bytes that are not UTF-8 (with their offset in the
file), and unpaired surrogates. Duplicate keys, which it accepts, are looked for when the count of
keys does not add up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

import orjson

from ragassay.core import TO_READ, DataError, claim_memory, shorten
from ragassay.datasets.formats.base import Format
from ragassay.datasets.names import ALIASES, QUESTION_NAMES, WHOLE
from ragassay.datasets.source import (
    READ_ERRORS,
    FileReader,
    Row,
    Trouble,
    broken_file,
    cut_short,
    line_limit,
    open_bytes,
    read_line,
    show,
    too_long,
)

_KEY_END = re.compile(rb'"[ \t\r\n]*:')
_NOT_A_NUMBER = re.compile(r"-?(?:NaN|Infinity|inf)", re.IGNORECASE)
_ROWS_KEYS = (
    "rows",
    "results",
    "samples",
    "data",
    "examples",
    "records",
    "test_cases",
    "evaluations",
)
_FIELDS = frozenset({*ALIASES, *WHOLE}.union(*ALIASES.values()))
_SAID = frozenset({"question", "contexts", "response"}).union(
    *(ALIASES[field] for field in ("question", "contexts", "response"))
)
"""Names of fields of a row, and of those of which a row must have one."""
_BLANK = b" \t\r\n"


class JsonLines(FileReader):
    """.jsonl and .ndjson: one object a line; empty lines are skipped."""

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        with open_bytes(self.path) as file:
            yield from _lines(file, line_limit(self.path))


class JsonFile(FileReader):
    """.json: an array of objects (streamed), JSON Lines under another name, or one object.

    One object is read whole: it may hold the rows under "rows", "results" and the like, be a table
    (name -> list of cells; name -> {row: cell}; or "columns" with "data", as MLflow's tables are),
    hold each row under its id or its question, or be itself the only row.

    Rows of an array and of an object are numbered by their position, so that they have the same
    numbers however the file is laid out: an array may be written on one line.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        # (number, line) of the row that was read last, for the place that a message names.
        self._last = (0, 0)

    def where(self, line: int) -> str:
        number, line_of_row = self._last
        if self.counted_by == "position" and line == number:
            return f"{self.path.name}:{line_of_row} (row {line})"
        return super().where(line)

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        limit = line_limit(self.path)
        with open_bytes(self.path) as file:
            start = file.tell()
            try:
                first = _first_line(file, limit)
                file.seek(start)
            except READ_ERRORS as error:
                raise broken_file(self.path, error) from error
            if first.startswith(b"["):
                self.counted_by = "position"
                for number, (line, row) in enumerate(_ArrayScanner(file, limit).elements(), 1):
                    self._last = (number, line)
                    yield number, row
            elif _is_object(first) and not self._is_one_line(file, start, limit):
                yield from _lines(file, limit)
            else:
                self.counted_by = "position"
                yield from self._object(file, limit)

    def _is_one_line(self, file: BinaryIO, start: int, limit: int) -> bool:
        _first_line(file, limit)
        is_last = True
        while is_last and (block := file.read(_BLOCK)):
            is_last = not block.strip(_BLANK)
        file.seek(start)
        return is_last

    def _object(self, file: BinaryIO, limit: int) -> Iterator[tuple[int, Row | Trouble]]:
        offset = file.tell()
        data = file.read(limit + 1)
        row = parse(data, offset) if len(data) <= limit else too_long(limit)
        if isinstance(row, Trouble):
            raise DataError(
                row.code,
                f"{self.path.name}: {row.what}",
                where=self.source,
                why=row.why,
                fix=row.fix,
            )
        yield from enumerate(rows_of_object(row), 1)


def rows_of_object(whole: Row) -> list[Row]:
    """The rows that one object says: those it holds, those of the table that it is, or itself."""
    return _rows_inside(whole) or list(_from_columns(whole))


def _rows_inside(whole: Row) -> list[Row] | None:
    """The list of rows that an object holds under a usual name, or that an object under such a name
    holds (promptfoo's results.results). None where there is none.
    """
    for name in _ROWS_KEYS:
        rows = whole.get(name)
        if isinstance(rows, dict):
            rows = next((rows[key] for key in _ROWS_KEYS if isinstance(rows.get(key), list)), None)
        if isinstance(rows, list) and all(isinstance(item, dict) for item in rows):
            return rows
        inside = whole.get(name)
        if isinstance(inside, dict):
            table = list(_from_columns(inside))
            if len(table) > 1:
                return table
    return None


def _from_columns(table: Row) -> Iterator[Row]:
    """The rows of a table; the object itself when it is not one."""
    if _is_split(table):
        names = cast(list[str], table["columns"])
        for line in cast(list[list[object]], table["data"]):
            yield dict(zip(names, line, strict=True))
        return
    cells = list(table.values())
    # One list or object alone is a field of a row, not the only column of a table.
    if len(cells) < 2:
        yield table
        return
    lists = [cell for cell in cells if isinstance(cell, list)]
    if len(lists) == len(cells) and len(set(map(len, lists))) == 1:
        for values in zip(*lists, strict=True):
            yield dict(zip(table, values, strict=True))
    elif all(isinstance(cell, dict) and "0" in cell for cell in cells):
        # DataFrame.to_json() without options: {"question": {"0": ..., "1": ...}, ...}
        indexes: dict[str, None] = {}
        for cell in cells:
            indexes |= dict.fromkeys(cell)  # type: ignore[call-overload]
        for index in indexes:
            yield {name: column.get(index) for name, column in table.items()}  # type: ignore[attr-defined]
    elif _are_keyed_rows(table):
        yield from _keyed_rows(cast(dict[str, Row], table))
    else:
        yield table


def _are_keyed_rows(table: Row) -> bool:
    """Whether each value is a row: an object with the fields of one, under a name that is none."""
    if not _FIELDS.isdisjoint(table):
        return False
    rows = [set(row) for row in table.values() if isinstance(row, dict)]
    return len(rows) == len(table) and not _SAID.isdisjoint(set.intersection(*rows))


def _keyed_rows(table: dict[str, Row]) -> Iterator[Row]:
    """The rows of an object of rows. A key is the row's question where no row says one and most
    keys ask; its id where it has none; and nothing where it is a number, as
    DataFrame.to_json(orient="index") writes.
    """
    asking = sum(key.rstrip().endswith("?") for key in table)
    said = set().union(*table.values())
    are_questions = 2 * asking > len(table) and said.isdisjoint(QUESTION_NAMES)
    for key, row in table.items():
        if are_questions:
            yield {"question": key, **row}
        elif key.isdecimal() or "id" in said:
            yield row
        else:
            yield {"id": key, **row}


def _is_split(table: Row) -> bool:
    """Whether it is a table whose names and lines stand apart, each line with a cell a name: what
    DataFrame.to_json(orient="split") and MLflow write.
    """
    names, lines = table.get("columns"), table.get("data")
    if not isinstance(names, list) or not isinstance(lines, list) or not lines:
        return False
    if len(set(map(str, names))) != len(names) or not all(isinstance(n, str) for n in names):
        return False
    return all(isinstance(line, list) and len(line) == len(names) for line in lines)


def _first_line(file: BinaryIO, limit: int) -> bytes:
    """The first line that is not empty, without the blanks around it; only its beginning when it is
    an array's.
    """
    while part := file.readline(_BLOCK):
        line = part.lstrip(_BLANK)
        if not line:
            continue
        # An array is known by its bracket; an object is parsed, so the rest of its line is needed.
        if not part.endswith(b"\n") and not line.startswith(b"["):
            line += file.readline(limit)
        return line.strip(_BLANK)
    return b""


def _is_object(line: bytes) -> bool:
    return isinstance(parse(line, 0), dict)


def _lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, Row | Trouble]]:
    offset = file.tell()
    number = 0
    try:
        while True:
            line, size = read_line(file, limit)
            if not size:
                return
            number += 1
            if not line:
                yield number, too_long(limit)
            elif not line.isspace():
                yield number, parse(line, offset)
            offset += size
    except READ_ERRORS as error:
        yield number + 1, cut_short(error)


def parse(line: bytes, offset: int) -> Row | Trouble:
    """One JSON object. offset: where `line` begins in the file, in bytes."""
    claim_memory(len(line), TO_READ)
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return _diagnose(line, offset, error)
    if not isinstance(row, dict):
        return Trouble(
            "E0302",
            f"the row is {kind_of(row)}, not an object of fields",
            show(row),
            'write each row as {"question": ..., "contexts": [...], "response": ...}',
        )
    key = repeated_key(line, row)
    if key is not None:
        return Trouble(
            "E0301",
            f"the key {shorten(key, 40)!r} stands twice in one object",
            "",
            "keep one of the two",
        )
    return row


def repeated_key(text: bytes, parsed: Row) -> str | None:
    """The first key that stands twice in one object of the JSON, None where none does; parsed: what
    orjson made of it, which keeps the last of two equal keys and says nothing.
    """
    # Counting is cheap; the text is parsed a second time only where there are more ends of keys in
    # the bytes than keys in the values.
    if len(_KEY_END.findall(text)) == _count_keys(parsed):
        return None
    return _twice(text)


def kind_of(value: object) -> str:
    if isinstance(value, bool):
        return "true or false"
    names = {list: "a list", str: "a text", int: "a number", float: "a number", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")


def _diagnose(line: bytes, offset: int, error: orjson.JSONDecodeError) -> Trouble:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as bad:
        return not_utf8(line, offset, bad)
    message = error.msg
    near = text[max(error.pos - 1, 0) : error.pos + 40].rstrip()
    # orjson names the place of the value, or the character after its first.
    is_no_number = _NOT_A_NUMBER.match(near) or _NOT_A_NUMBER.match(near[1:])
    if "infinity" in message or is_no_number:
        return Trouble(
            "E0304",
            f"a number is NaN, infinite or beyond the range of a double (column {error.colno})",
            shorten(near, 40),
            "write null where there is no number",
        )
    if "surrogate" in message:
        return Trouble(
            "E0305",
            f"a text holds an unpaired surrogate, which is not Unicode (column {error.colno})",
            shorten(near, 40),
            "write the character as a pair (\\ud83d\\ude00) or as UTF-8",
        )
    text = text.rstrip()
    if error.pos >= len(text) - 1 and not text.endswith(("}", "]")):
        message = "the row breaks off before it is closed"
    return Trouble(
        "E0301",
        f"not valid JSON: {shorten(message)} (column {error.colno})",
        shorten(near, 40),
        "write each row as one complete JSON object on one line",
    )


def not_utf8(line: bytes, offset: int, error: UnicodeDecodeError) -> Trouble:
    """The trouble of bytes that are not UTF-8, with their place in the file."""
    start = error.start
    near = line[max(start - 10, 0) : start + 10]
    shown = shorten(repr(near))
    fix = "save the file as UTF-8 (iconv -f WINDOWS-1252 -t UTF-8, if that is what it is)"
    if _is_windows_1252(line):
        text = near.decode("cp1252", "replace")
        shown = f"{shown}: in Windows-1252, as Excel saves CSV, {text!r}"
        fix = "save it as UTF-8 (in Excel: CSV UTF-8), or: iconv -f WINDOWS-1252 -t UTF-8"
    what = f"the byte {line[start]:#04x} at byte {offset + start} is not valid UTF-8"
    return Trouble("E0305", what, shown, fix)


def _is_windows_1252(line: bytes) -> bool:
    """Whether the bytes are plainly a text in Windows-1252: all of them are characters, and those
    beyond ASCII are letters and marks of Western languages.
    """
    try:
        text = line.decode("cp1252")
    except UnicodeDecodeError:
        return False
    beyond = [character for character in text if not character.isascii()]
    return all(character in _WESTERN for character in beyond)


_WESTERN = frozenset(
    "äöüÄÖÜßàâáåãæçèéêëìíîïñòóôõøùúûýÿÀÂÁÅÃÆÇÈÉÊËÌÍÎÏÑÒÓÔÕØÙÚÛÝœŒ€£§°«»„“”‘’–—…·¿¡²³½µ\xa0"
)


def _count_keys(row: Row) -> int:
    """How many keys the parsed objects have, at any depth (orjson allows 1,024)."""
    count = 0
    open_values: list[object] = [row]
    while open_values:
        value = open_values.pop()
        if type(value) is dict:
            count += len(value)
            inside: Iterable[object] = value.values()
        else:
            inside = cast(list[object], value)
            # A list of contexts holds no key; map and set find it out without a Python loop.
            if type(inside[0]) is str and len(set(map(type, inside))) == 1:
                continue
        for item in inside:
            if (type(item) is dict or type(item) is list) and item:
                open_values.append(item)
    return count


class _Twice(Exception):
    pass


def _refuse_twice(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _Twice(key)
        seen.add(key)


def _twice(line: bytes) -> str | None:
    """The first key that stands twice in one object, None when none does (a text held `":`)."""
    try:
        json.loads(line, object_pairs_hook=_refuse_twice)
    except _Twice as found:
        return str(found)
    except (ValueError, RecursionError):  # accepted by orjson, too deep for json: nothing to add
        return None
    return None


_IN_TEXT = re.compile(rb'["\\]')
_OUTSIDE = re.compile(rb'["{}\[\],]')
_BLOCK = 1 << 18


class _ArrayScanner:
    """Splits the array that a file is into its elements, by brackets and quotes and without parsing
    them.

    The line of an element is the one its first character stands on. Only the element at hand is in
    memory, and one over the limit is passed over.
    """

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._file, self._limit = file, limit
        self._buffer = b""
        self._base = file.tell()  # offset in the file of buffer[0]
        self._line = 1  # the line that buffer[counted] stands on
        self._counted = 0
        self._start = 0  # of the element at hand, in the buffer
        self._position = 0  # up to which the buffer was scanned
        self._depth = 0
        self._rows = 0
        self._in_text = self._opened = self._closed = False
        self._passed = False  # the element at hand is over the limit

    def elements(self) -> Iterator[tuple[int, Row | Trouble]]:
        """(line, row) of each element."""
        while not self._closed:
            try:
                # Doubling keeps one huge element linear.
                block = self._file.read(max(_BLOCK, len(self._buffer)))
            except READ_ERRORS as error:
                lines = self._buffer.count(b"\n", self._counted)
                yield self._line + lines + 1, cut_short(error)
                return
            if not block:
                yield from self._unclosed()
                return
            self._buffer += block
            yield from self._scan()
            if not self._closed:
                self._drop_scanned()
        yield from self._after_the_end()

    def _scan(self) -> Iterator[tuple[int, Row | Trouble]]:
        """The elements that end in the buffer."""
        while not self._closed:
            end = self._next_end()
            if end is None:
                return
            mark, at = end
            first = self._start
            while first < at and self._buffer[first] in _BLANK:
                first += 1
            self._line += self._buffer.count(b"\n", self._counted, first)
            self._counted = first
            row = self._row(mark, first, at)
            if row is not None:
                yield self._line, row
            self._rows += 1
            self._start = self._position

    def _next_end(self) -> tuple[bytes, int] | None:
        """The comma or bracket that ends the element at hand, and its offset; None where the buffer
        ends before.
        """
        # Local names: this loop runs for every quote and bracket of the file.
        buffer, position = self._buffer, self._position
        depth, in_text = self._depth, self._in_text
        end = None
        while end is None:
            match = (_IN_TEXT if in_text else _OUTSIDE).search(buffer, position)
            if match is None:
                position = len(buffer)
                break
            mark, at = match[0], match.start()
            position = at + 1
            if mark == b"\\":
                if position >= len(buffer):
                    position = at  # the escaped byte is in the next block
                    break
                position += 1
            elif mark == b'"':
                in_text = not in_text
            elif mark in b"{[":
                depth += 1
                if not self._opened:
                    self._opened, self._start = True, position
            else:
                if mark != b",":
                    depth -= 1
                    self._closed = depth < 1
                if self._closed or (mark == b"," and depth <= 1):
                    end = mark, at
        self._position, self._depth, self._in_text = position, depth, in_text
        return end

    def _row(self, mark: bytes, first: int, at: int) -> Row | Trouble | None:
        """The element from `first` to the mark that ends it; None for the inside of []."""
        element = self._buffer[first:at]
        if self._passed:
            self._passed = False
            return too_long(self._limit)
        if mark == b"}":
            return Trouble(
                "E0301",
                "not valid JSON: a } that closes nothing",
                shorten(repr(element[-40:])),
                "remove it",
            )
        if element:
            return parse(element, self._base + first)
        if mark == b"," or self._rows:
            return Trouble(
                "E0301",
                "not valid JSON: a comma with no row after it",
                "",
                "remove the comma",
            )
        return None

    def _drop_scanned(self) -> None:
        """Let go of what stands before the element at hand, and of all that was scanned of one that
        is over the limit: its line is then the one it ends on.
        """
        self._line += self._buffer.count(b"\n", self._counted, self._start)
        self._counted = 0
        self._forget(self._start)
        self._start = 0
        if len(self._buffer) > self._limit:
            self._passed = True
        if self._passed:
            self._line += self._buffer.count(b"\n", 0, self._position)
            self._forget(self._position)

    def _forget(self, size: int) -> None:
        self._base += size
        self._buffer = self._buffer[size:]
        self._position -= size

    def _unclosed(self) -> Iterator[tuple[int, Row | Trouble]]:
        """The end of a file whose array is not closed."""
        last: Row | Trouble | None = None
        if self._opened and not self._passed:
            rest = self._buffer[self._start :].strip(_BLANK)
            last = parse(rest, self._base + self._start)
        self._line += self._buffer.count(b"\n", self._counted)
        if isinstance(last, dict):  # whole, only the bracket after it is missing
            yield self._line, last
        yield (
            self._line,
            Trouble(
                "E0301",
                "the file ends before its array is closed",
                shorten(repr(self._buffer[-40:])),
                "write the file again: rows may be missing at its end",
            ),
        )

    def _after_the_end(self) -> Iterator[tuple[int, Row | Trouble]]:
        """What stands after the array."""
        self._line += self._buffer.count(b"\n", self._counted, self._position)
        try:
            rest = self._buffer[self._position :].strip(_BLANK)
            rest = rest or self._file.read(_BLOCK).strip(_BLANK)
        except READ_ERRORS as error:
            yield self._line, cut_short(error)
            return
        if rest:
            yield (
                self._line,
                Trouble(
                    "E0301",
                    "text follows the end of the array",
                    shorten(repr(rest[:40])),
                    "remove it",
                ),
            )


FORMATS = (
    Format("json", (".json",), JsonFile),
    Format("jsonl", (".jsonl", ".ndjson"), JsonLines),
)
