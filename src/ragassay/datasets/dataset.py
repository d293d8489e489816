"""A set of rows: something that is read row by row, again and again, and says how it is read."""

from __future__ import annotations

import hashlib
import json
import os
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile
from pathlib import Path

from ragassay.core import (
    BadRow,
    DataError,
    NothingToDo,
    RagAssayError,
    Sample,
    SetupError,
    nearest,
    shorten,
)
from ragassay.datasets.columns import Columns, choose, listed, nested_paths, quote
from ragassay.datasets.counted_notes import counted_note
from ragassay.datasets.formats import FORMATS, Format
from ragassay.datasets.paths import is_place, walk
from ragassay.datasets.presence import FieldsSeen
from ragassay.datasets.python_words import in_python
from ragassay.datasets.record import to_record
from ragassay.datasets.rows import RowMaker
from ragassay.datasets.shapes import SHAPES
from ragassay.datasets.source import Reader, Row, Trouble, find_file
from ragassay.datasets.span_rows import TraceRows, are_spans
from ragassay.datasets.traces import SPAN_PREFIX, columns_of_trace
from ragassay.datasets.unread import FIELDS, REFERENCE, Unread, unread_columns

_PEEK_ROWS = 200
_PEEK_SIZE = 32 * 1024 * 1024
"""Rows, and characters and items in them, that the columns are chosen by."""

_MOST_BAD_ROWS = 20
"""Bad rows that a scan gives as a whole; the others are counted."""
_MOST_COLUMNS = 10_000
"""Columns that are remembered, so that rows whose keys are data do not fill the memory."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What one pass over all rows found.

    rows: how many, bad ones included. bad: how many are bad; bad_rows: the first 20 of them.
    columns: as found. mapping: column -> field, as read. ignored: columns that are not read. lines:
    how the rows are read, one sentence each, for the user. notes: what was read in a way worth
    knowing, with counts. source: absolute path, or "memory". source_hash: hash of the file's bytes,
    or of the rows in memory. given: those of question, contexts and response that are not empty in
    every row. left_out: the lines about columns that are not read. fields: those that any row
    holds, parts of the usage as "usage.cost".
    """

    rows: int
    bad: int
    bad_rows: tuple[BadRow, ...]
    columns: tuple[str, ...]
    mapping: Mapping[str, str]
    ignored: tuple[str, ...]
    lines: tuple[str, ...]
    notes: tuple[str, ...]
    source: str
    source_hash: str
    given: frozenset[str] = frozenset(FIELDS)
    left_out: tuple[str, ...] = ()
    fields: frozenset[str] = frozenset()


class Dataset:
    """Rows from one source. Iterating reads it from the start: each row is a Sample or a BadRow, in
    order.

    Made by `open_rows`. Memory follows the largest row, not the number of rows. `columns` says how
    it is read.
    """

    def __init__(
        self,
        reader: Reader,
        columns: Columns,
        first_columns: tuple[str, ...],
        nested: tuple[str, ...],
        make_ids: bool,
        guesses: Mapping[str, str] | None = None,
    ) -> None:
        self._reader = reader
        self._first_columns = first_columns
        self._nested = nested
        self._make_ids = make_ids
        self.columns = columns
        self.guesses = dict(guesses or {})
        """Field -> the column that was guessed to be it."""

    @property
    def source(self) -> str:
        """The absolute path of the file, or "memory"."""
        return self._reader.source

    def __iter__(self) -> Iterator[Sample | BadRow]:
        return self._read(self.columns.copy(), dict.fromkeys(self._first_columns), Counter())

    def unread(self, fields: Sequence[str]) -> tuple[Unread, ...]:
        """What of the unread columns could be each of these fields."""
        read = self.columns.read
        quiet = self.columns.quiet
        used = [column for field, column in read.items() if field not in quiet | set(fields)]
        rows = (
            _with_span_columns(self.columns, row)
            for _, row in self._reader.rows()
            if isinstance(row, dict)
        )
        used += [*self.columns.joined, *self.columns.slices, *self.columns.marks]
        return unread_columns(rows, used, fields)

    def with_guesses(self, mapping: Mapping[str, str], guesses: Mapping[str, str]) -> Dataset:
        """The same rows, read by this mapping of fields to columns and by these guesses."""
        name = _name_of(self._reader)
        slices = self.columns.slices
        # A guess may be a place in a list, which no object of the first rows names.
        first = self._first_columns
        nested = (*self._nested, *_places(guesses, (*first, *self._nested)))
        columns = choose(first, nested, {**mapping, **guesses}, slices, name)
        return Dataset(self._reader, columns, first, nested, self._make_ids, guesses)

    @property
    def cuttable(self) -> bool:
        """Whether a range of rows can be read without what stands before it: its columns are known
        by a schema.
        """
        return hasattr(self._reader, "rows_from")

    def between(self, start: int, stop: int) -> Iterator[tuple[int, Sample | BadRow]]:
        """(index from 0, row) of a range of a source that is `cuttable`."""
        rows = self._reader.rows_from(start)  # type: ignore[attr-defined]
        known_columns = dict.fromkeys(self._first_columns)
        samples = self._samples(rows, self.columns.copy(), known_columns, Counter())
        # The range comes first: zip stops there without reading the row after it.
        return zip(range(start, stop), samples, strict=False)

    def rest(self, done: Container[int]) -> Iterator[tuple[int, Sample | BadRow]]:
        """(index from 0, row) of the rows whose index is not in `done`; those are read past, not
        made.
        """
        return self._rest(self._reader.rows(), done)

    def _rest(
        self, rows: Iterable[tuple[int, Row | Trouble]], done: Container[int]
    ) -> Iterator[tuple[int, Sample | BadRow]]:
        columns = self.columns.copy()
        known_columns = dict.fromkeys(self._first_columns)
        index = -1

        def open_rows() -> Iterator[tuple[int, Row | Trouble]]:
            nonlocal index
            for index, (line, row) in enumerate(rows):
                if index not in done:
                    yield line, row
                elif isinstance(row, dict):
                    # A done row is not made, but a column that it was the first to have counts.
                    self._adopt(columns, known_columns, line, row)

        for row in self._samples(open_rows(), columns, known_columns, Counter()):
            yield index, row

    def _read(
        self, columns: Columns, known_columns: dict[str, None], notes: Counter[str]
    ) -> Iterator[Sample | BadRow]:
        return self._samples(self._reader.rows(), columns, known_columns, notes)

    def _samples(
        self,
        rows: Iterable[tuple[int, Row | Trouble]],
        columns: Columns,
        known_columns: dict[str, None],
        notes: Counter[str],
    ) -> Iterator[Sample | BadRow]:
        """known_columns grows by the columns that first appear after those that the choice was made
        from.
        """
        maker = RowMaker(columns, self._reader, self._make_ids, notes)
        for line, row in rows:
            if isinstance(row, dict):
                self._adopt(columns, known_columns, line, row)
            yield maker.make(line, row)

    @staticmethod
    def _adopt(columns: Columns, known_columns: dict[str, None], line: int, row: Row) -> None:
        # Almost always the row's columns are known, and the comparison is all that is done.
        if row.keys() <= known_columns.keys() or len(known_columns) >= _MOST_COLUMNS:
            return
        for column in row.keys() - known_columns.keys():
            known_columns[column] = None
            columns.adopt(column, line)

    def unchanged(self, source_hash: str) -> bool:
        """Whether these are the bytes that an earlier scan saw, as its `source_hash` says; False
        for rows in memory.
        """
        return bool(source_hash) and self._reader.content_hash() == source_hash

    def scan(self) -> Scan:
        """One pass that validates every row.

        Raises DataError when two rows have one id (E0306, both lines named) or when no row is good,
        and NothingToDo (E0309) when there is no row. Memory: 8 bytes a row.
        """
        columns = self.columns.copy()
        known_columns = dict.fromkeys(self._first_columns)
        notes: Counter[str] = Counter()
        digest = hashlib.blake2b(digest_size=16)
        file_hash = self._reader.content_hash()
        hashes = array("q")
        bad_rows: list[BadRow] = []
        seen = FieldsSeen()
        rows = bad = unnamed = 0
        missing = set(FIELDS)
        for item in self._read(columns, known_columns, notes):
            rows += 1
            # Hashes for the ids themselves: a million ids would take a hundred megabytes.
            hashes.append(hash(item.id))
            if isinstance(item, BadRow):
                bad += 1
                if len(bad_rows) < _MOST_BAD_ROWS:
                    bad_rows.append(item)
            else:
                unnamed += item.id == f"row-{item.line}"
                # Most rows are past this in the first row.
                if missing:
                    missing -= {field for field in missing if getattr(item, field)}
                seen.add(item)
            if not file_hash:
                digest.update(_hashed_bytes(item))
        if not rows:
            raise NothingToDo(
                "E0309",
                f"{self._name()} holds no rows.",
                where=self.source,
                fix="add rows, one a line",
            )
        if bad == rows:
            raise self._all_bad(bad_rows, rows)
        self._refuse_duplicates(hashes)
        lines = [*columns.lines(), *self._reader.notes, *self._numbering(columns, unnamed, rows)]
        return Scan(
            rows,
            bad,
            tuple(bad_rows),
            tuple(known_columns),
            _fields_read(columns),
            tuple(columns.ignored),
            tuple(lines),
            tuple(counted_note(count, note) for note, count in sorted(notes.items())),
            self.source,
            file_hash or digest.hexdigest(),
            frozenset(FIELDS) - missing,
            tuple(columns.lines_left_out()),
            frozenset(seen.names),
        )

    def _numbering(self, columns: Columns, unnamed: int, rows: int) -> Iterator[str]:
        """The line about rows that are numbered. unnamed: how many have no id."""
        number = f"row-<{self._reader.counted_by}>"
        if self._make_ids:
            yield f"numbered all rows {number}"
        elif unnamed and "id" in columns.read:
            yield f"numbered {unnamed} of {rows} rows {number}, since they have no id"
        elif unnamed:
            yield f"numbered the rows {number} (no id column)"

    def _name(self) -> str:
        return "The source" if self.source == "memory" else Path(self.source).name

    def _all_bad(self, bad_rows: Sequence[BadRow], rows: int) -> DataError:
        first = bad_rows[0]
        what = "The only row cannot be read."
        if rows > 1:
            what = f"None of the {rows} rows can be read."
        return DataError(
            first.code,
            what,
            where=self.source,
            why=" | ".join(bad_row.what for bad_row in bad_rows[:3]),
            fix=first.fix or "correct the rows",
        )

    def _refuse_duplicates(self, hashes: array[int]) -> None:
        """A second pass, only when two hashes are equal, finds the lines."""
        import numpy as np

        # Sorted, equal hashes are neighbours; in place of a set, which takes ten times the memory.
        ordered = np.sort(np.frombuffer(hashes, dtype=np.int64))
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        suspects = set(repeated.tolist())
        if not suspects:
            return
        counted_by = self._reader.counted_by
        first_line: dict[str, int] = {}
        pairs: list[str] = []
        total = 0
        for item in self:
            if hash(item.id) not in suspects:
                continue
            # Two ids may have one hash, so only the ids themselves decide.
            if item.id not in first_line:
                first_line[item.id] = item.line
                continue
            total += 1
            if len(pairs) < 10:
                name = shorten(item.id, 40)
                places = f"{counted_by}s {first_line[item.id]} and {item.line}"
                pairs.append(f"{name!r} in {places}")
        if total:
            if total > len(pairs):
                pairs.append("...")
            verb = "s have" if total > 1 else " has"
            fix = f"make the ids unique, or number the rows by {counted_by}: --make-ids"
            raise DataError(
                "E0306",
                f"{total} row{verb} an id that another row has.",
                where=self.source,
                why="; ".join(pairs),
                fix=in_python(fix) if self.source == "memory" else fix,
            )


def _fields_read(columns: Columns) -> dict[str, str]:
    """Column -> what it is read as."""
    fields: dict[str, str] = {}
    for field, column in columns.read.items():
        if field not in columns.quiet:
            fields[column] = field
    return fields | dict.fromkeys(columns.slices, "slice") | dict.fromkeys(columns.marks, "label")


def _hashed_bytes(item: Sample | BadRow) -> bytes:
    """The row as it goes into the hash of rows in memory. Stored hashes depend on these bytes."""
    if isinstance(item, Sample):
        record = to_record(item)
    else:
        record = {"bad": item.what, "line": item.line, "why": item.why}
    return json.dumps(record, sort_keys=True).encode("ascii") + b"\n"


def open_rows(
    source: object,
    *,
    mapping: Mapping[str, str] | None = None,
    slices: Sequence[str] = (),
    format: str | None = None,
    make_ids: bool = False,
    guess: bool = False,
) -> Dataset:
    """Open rows, recognise their columns, and return them as a Dataset.

    source: a path (.jsonl .ndjson .json .yaml .csv .tsv, also .gz; .parquet .arrow .feather; a BEIR
    folder, or one that Dataset.save_to_disk of Hugging Face wrote), a list of dicts or Samples, a
    pandas or polars data frame, a pyarrow Table, RecordBatch or RecordBatchReader, a Hugging Face
    dataset, or a generator of dicts. mapping: field -> column, for columns that are not recognised.
    slices: columns that are slices. format: of the file, where its name does not say. make_ids:
    number the rows by line, those of arrays and tables by position ("row-1"
    ...), instead of reading their ids. guess: where no column is known, read those that clearly
    fit a field by their names or by what they hold.

    Raises DataError when the source cannot be read, NothingToDo when it is empty, SetupError when
    its columns are not recognised, `mapping` or `slices` name what is not there, or pyarrow is
    needed and missing.
    """
    reader = open_reader(source, format)
    name = _name_of(reader)
    first = _first_rows(reader)
    if are_spans([*first.columns, *first.nested]):
        reader = TraceRows(reader)
        first = _first_rows(reader)
    if not first.good:
        raise _nothing_readable(reader, name, first.troubles)
    indexed = _places_in_lists(reader, [*(mapping or {}).values(), *_paths_of_shapes(first)])
    names, nested = tuple(first.columns), (*first.nested, *indexed)
    mapping = dict(mapping or {})
    if mapping.get("contexts", "").startswith(SPAN_PREFIX):
        # What spans of a trace gave: which column the trace is in is known without this mapping.
        others = {field: column for field, column in mapping.items() if field != "contexts"}
        columns = choose(names, nested, others, tuple(slices), name)
        nested = (*nested, *_span_columns(reader, columns))
    try:
        columns = choose(names, nested, mapping, tuple(slices), name)
    except SetupError as error:
        if reader.source == "memory":
            error.where, error.fix = in_python(error.where), in_python(error.fix)
        raise
    guesses: dict[str, str] = {}
    if not columns.says_anything:
        guesses = _guessed(reader, (*names, *nested), name, slices, takes_them=guess)
        nested = (*nested, *_places(guesses, (*names, *nested)))
        columns = choose(names, nested, guesses, tuple(slices), name)
    if isinstance(reader, TraceRows):
        columns.shape = ""  # the rows that were put together have our names, and the file has not
    return Dataset(reader, columns, names, nested, make_ids, guesses)


def _guessed(
    reader: Reader,
    names: Sequence[str],
    source: str,
    slices: Sequence[str],
    *,
    takes_them: bool,
) -> dict[str, str]:
    """Field -> column for rows of which no column is known, by the columns' names and what they
    hold. Raises SetupError with the options to type where none fits, and unless `takes_them`.
    """
    rows = (row for _, row in reader.rows() if isinstance(row, dict))
    fitting = unread_columns(rows, slices, (*FIELDS, REFERENCE))
    guesses = {unread.field: unread.guess for unread in fitting if unread.guess}
    if not (takes_them and guesses.keys() - {REFERENCE}):
        several = _several_contexts(fitting)
        offers = guesses | _only_candidates(fitting)
        if several:
            offers["contexts"] = several[0]
        raise _nothing_recognised(names, source, reader.source, offers, several)
    return guesses


def _places(guesses: Mapping[str, str], columns: Sequence[str]) -> list[str]:
    """The guesses that are no columns and no several columns: paths that the first rows lack."""
    known = set(columns)
    return [path for path in guesses.values() if not known.issuperset(path.split(","))]


def _span_columns(reader: Reader, columns: Columns) -> list[str]:
    """The columns that the first rows have beside their own: what spans of their traces gave."""
    found: dict[str, None] = {}
    for _, row in islice(reader.rows(), _PEEK_ROWS):
        if isinstance(row, dict):
            added = _with_span_columns(columns, row)
            found.update(dict.fromkeys(name for name in added if name.startswith(SPAN_PREFIX)))
    return list(found)


def _with_span_columns(columns: Columns, row: Row) -> Row:
    """A row with the trace in it replaced by the columns of what its spans gave."""
    column = columns.read.get("trace")
    if column is None:
        return row
    is_trace = columns.form is not None and columns.form.is_trace
    outputs = columns_of_trace(row if is_trace else walk(row, column))
    return {name: cell for name, cell in row.items() if name != column} | outputs


def _places_in_lists(reader: Reader, paths: Iterable[str]) -> list[str]:
    """Those of these paths with a place in a list ("steps.0.output") that one of the first rows
    has.
    """
    sought = [path for path in paths if any(map(is_place, path.split(".")))]
    if not sought:
        return []
    found: set[str] = set()
    # One pass for all of them, which ends with the last one that is there.
    for _, row in islice(reader.rows(), _PEEK_ROWS):
        if isinstance(row, dict):
            found.update(path for path in sought if walk(row, path) is not None)
        if found.issuperset(sought):
            break
    return [path for path in sought if path in found]


def _paths_of_shapes(first: _FirstRows) -> list[str]:
    """The paths through lists of tools whose rows have columns of these names."""
    columns = {*first.columns, *first.nested}
    paths = chain.from_iterable(shape.lists.values() for shape in SHAPES)
    return [path for path in dict.fromkeys(paths) if _before_the_list(path) in columns]


def _before_the_list(path: str) -> str:
    """The column, or the path into objects, at which a path reaches its first list."""
    return ".".join(takewhile(lambda part: not is_place(part), path.split(".")))


def _only_candidates(fitting: Sequence[Unread]) -> dict[str, str]:
    """Field -> the one column that may be it, and nothing else: to be offered, not to be taken."""
    times = Counter(chain.from_iterable(unread.candidates for unread in fitting))
    single = (unread for unread in fitting if len(unread.candidates) == 1)
    return {each.field: each.candidates[0] for each in single if times[each.candidates[0]] == 1}


def _several_contexts(fitting: Sequence[Unread]) -> tuple[str, ...]:
    """The columns of which one is the contexts: the first is printed, for a command without any
    would be refused again.
    """
    for unread in fitting:
        if unread.field == "contexts" and unread.is_clear and not unread.guess:
            return unread.candidates
    return ()


def _nothing_recognised(
    columns: Sequence[str],
    name: str,
    source: str,
    offers: Mapping[str, str],
    contexts: Sequence[str],
) -> SetupError:
    """The error for rows of which nothing is read, with a command to start from. offers: field ->
    the column that may be it; contexts: where several may be the contexts.
    """
    # Rows without contexts can be measured; without a question or a response hardly.
    needed = ("question", "response")
    shown = [field for field in (*FIELDS, REFERENCE) if field in offers or field in needed]
    mapping = {field: offers.get(field, "COLUMN") for field in shown}
    options = [f"--map {field}={quote(column)}" for field, column in mapping.items()]
    fix = f"ragassay evaluate {name} {' '.join(options)}"
    if source == "memory":
        fix = f"mapping={mapping}"
    choice = f"; the contexts may be {' or '.join(contexts)}" if contexts else ""
    return SetupError(
        "E0307",
        f"No column of {name} is one that RagAssay reads.",
        where=name,
        why=f"columns: {listed(columns) or 'none'}{choice}",
        fix=f"name the columns: {fix}",
    )


def _name_of(reader: Reader) -> str:
    """The source in messages."""
    return "the data" if reader.source == "memory" else Path(reader.source).name


@dataclass(slots=True)
class _FirstRows:
    """What the first rows of a source show. columns, nested: as ordered sets; good: how many rows
    could be read; size: of their texts and lists.
    """

    columns: dict[str, None]
    nested: dict[str, None]
    troubles: list[tuple[int, Trouble]]
    good: int = 0
    size: int = 0

    def add(self, row: Row) -> None:
        self.good += 1
        for cell in row.values():
            if isinstance(cell, str | list):
                self.size += len(cell)
        self.columns.update(dict.fromkeys(list(row)[:_MOST_COLUMNS]))
        self.nested.update(dict.fromkeys(nested_paths(row)))

    @property
    def enough(self) -> bool:
        """Whether the columns can be chosen, or nothing more is worth reading."""
        return (
            self.good >= _PEEK_ROWS
            or self.size > _PEEK_SIZE
            or len(self.troubles) >= 5 * _PEEK_ROWS
            or len(self.columns) > _MOST_COLUMNS
        )


def _first_rows(reader: Reader) -> _FirstRows:
    first = _FirstRows(dict.fromkeys(reader.columns or ()), {}, [])
    for line, row in reader.rows():
        if isinstance(row, Trouble):
            first.troubles.append((line, row))
        else:
            first.add(row)
        if first.enough:
            break
    return first


def _nothing_readable(
    reader: Reader, name: str, troubles: Sequence[tuple[int, Trouble]]
) -> RagAssayError:
    if not troubles:
        return NothingToDo(
            "E0309", f"{name} holds no rows.", where=reader.source, fix="add rows, one a line"
        )
    what = "The only row cannot be read."
    if len(troubles) > 1:
        what = f"None of the first {len(troubles)} rows can be read."
    line, trouble = troubles[0]
    return DataError(
        trouble.code,
        what,
        where=reader.where(line),
        why="; ".join(filter(None, (trouble.what, trouble.why))),
        fix=trouble.fix,
    )


def open_reader(source: object, format: str | None = None) -> Reader:
    """The reader of raw rows for a source, as `open_rows` takes them. Raises as it does."""
    if format is not None and format not in FORMATS:
        raise SetupError(
            "E0101",
            f"No format {shorten(format, 40)!r} of rows.{nearest(format, FORMATS)}",
            why="formats: " + ", ".join(FORMATS),
            fix="leave it out: the file's name says the format",
        )
    if not isinstance(source, str | os.PathLike):
        from ragassay.datasets import memory

        return memory.reader_for(source)
    path = Path(os.fsdecode(source))
    if path.is_dir():
        from ragassay.datasets import folders

        return folders.reader_for(path.absolute())
    path = find_file(path)
    return (FORMATS[format] if format else _format_of(path)).open(path)


_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


def _format_of(path: Path) -> Format:
    """The format that the file's name says. Raises DataError (E0310) for an unknown ending."""
    name = path.name.lower()
    compressed = name.endswith(".gz")
    name = name.removesuffix(".gz")
    for format in FORMATS.values():
        if name.endswith(format.endings) and (format.compressible or not compressed):
            return format
    endings: list[str] = []
    for format in FORMATS.values():
        endings += format.endings
    fix = "rename the file by what it holds"
    if compressed:
        fix = f"gunzip {path.name}"
    elif name.endswith(_SPREADSHEETS):
        fix = "save the sheet as CSV UTF-8, and give that file"
    raise DataError(
        "E0310",
        f"The format of {path.name} is not known.",
        where=str(path),
        why=f"read are {' '.join(endings)}; text formats also with .gz",
        fix=fix,
    )
