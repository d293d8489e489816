"""An index of one run's rows for looking: filter, sort, full-text search and slices of a million
rows within a fraction of a second.

It is a file of its own beside the store, made from the store's rows when somebody looks at a run
that has ended, and made anew when the run has changed since. Nothing but looking needs it, so an
evaluation does not pay for it, and it may be deleted at any time. Being SQLite whatever the store
is, the same queries serve a store in PostgreSQL.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import secrets
import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ragassay.core import RowResult, Verdict

FORM = "2"
"""The form of the file; one of another form is made anew."""
ROWS_A_WRITE = 2000
COMMON = 20_000
"""Rows from which on a word is common: then the rows are gone through in their order and each is
asked for it, since few have to be; else the rows with the word are gathered first.
"""
_COUNTS_KEPT = 1000
SNIPPET = 240
"""Characters of a question that a list shows."""
UNREADABLE = "unreadable"
NO_VERDICT = "none"

# worst: the row's place when the worst come first, from 1. The words of a row are stored under the
# same number, so that a search yields rows in that order and may stop after a page.
_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE rows (worst INTEGER PRIMARY KEY, idx INTEGER NOT NULL, id TEXT NOT NULL,
  verdict TEXT NOT NULL, cause TEXT NOT NULL, done INTEGER NOT NULL, question TEXT NOT NULL);
CREATE TABLE scores (metric INTEGER NOT NULL, idx INTEGER NOT NULL, value REAL,
  verdict TEXT NOT NULL, worst INTEGER NOT NULL, PRIMARY KEY (metric, idx)) WITHOUT ROWID;
CREATE TABLE slices (name TEXT NOT NULL, value TEXT NOT NULL, worst INTEGER NOT NULL,
  idx INTEGER NOT NULL, PRIMARY KEY (name, value, worst, idx)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(id, question, response, reference, content='',
  tokenize='unicode61 remove_diacritics 2');
"""
# Made when all rows are in: an index that grows with every row takes twice as long.
_INDICES = """
CREATE UNIQUE INDEX rows_idx ON rows (idx);
CREATE INDEX rows_verdict ON rows (verdict, worst, idx);
CREATE INDEX rows_cause ON rows (cause, worst, idx);
CREATE INDEX rows_id ON rows (id, idx);
CREATE INDEX scores_value ON scores (metric, value, idx);
CREATE INDEX scores_verdict ON scores (metric, verdict, worst, idx);
CREATE INDEX scores_outcome ON scores (metric, verdict, value, idx);
"""
_PHRASE = re.compile(r'"([^"]*)"|(\S+)')


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Which rows of a run, in which order.

    verdict: a Verdict's value, "none" or "unreadable"; cause: name of a root cause; slice: (name,
    value); text: words that all stand in the row's id, question, response or reference, phrases in
    double quotes; metric: printed name of a metric, and outcome: its verdict in the row ("" = any).
    sort: "worst", "index", "id" or "value" (of `metric`); descending: the other way round. "" or
    None everywhere: no matter.
    """

    verdict: str = ""
    cause: str = ""
    slice: tuple[str, str] | None = None
    text: str = ""
    metric: str = ""
    outcome: str = ""
    sort: str = "worst"
    descending: bool = False

    @property
    def narrows(self) -> bool:
        """Whether it leaves any row out."""
        return bool(self.verdict or self.cause or self.slice or self.text or self.outcome)


class RowEntry(NamedTuple):
    """One row in a list. key: its place in the order that was asked for. value: of the metric."""

    index: int  # type: ignore[assignment]  # hides tuple.index, which nobody asks of an entry
    id: str
    verdict: str
    cause: str
    done: bool
    question: str
    key: float | str | None
    value: float | None


class RowIndex:
    """An open index. Reads only; a connection for each call, so that threads do not wait for each
    other.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(self._connect()) as connection:
            self._facts: dict[str, str] = dict(connection.execute("SELECT name, value FROM facts"))
        self._metrics: dict[str, int] = json.loads(self._facts["metrics"])
        self._counts: dict[RowQuery, int | None] = {}
        stored: dict[str, list[list[Any]]] = json.loads(self._facts["slices"])
        self._slices: dict[str, list[tuple[str, int]]] = {}
        for name, values in stored.items():
            self._slices[name] = [(value, n) for value, n in values]

    @property
    def stamp(self) -> str:
        """When the run had changed last when the index was made."""
        return self._facts["stamp"]

    @property
    def slices(self) -> dict[str, list[tuple[str, int]]]:
        """Slice -> its values with their rows, the most frequent first, at most 100 a slice."""
        return self._slices

    def page(
        self,
        query: RowQuery,
        limit: int,
        after: tuple[float | str | None, int] | None = None,
        *,
        backwards: bool = False,
    ) -> list[RowEntry]:
        """At most `limit` rows, those that follow `after` (the key and index of a row). backwards:
        those before it, the nearest first.
        """
        query = self._known(query)
        key = _sort_key(query)
        source, where, values = self._parts(query)
        match = _match(query.text)
        if match and _led_by_words(query):
            key = _PLACE_OF_WORDS
            source, where, values = self._words_first(query, match)
        descending = query.descending != backwards
        if after is not None:
            words, more = _beyond(key, after, descending, backwards)
            where.append(words)
            values += more
        way = "DESC" if descending else "ASC"
        last = ""
        if key == "s.value":
            last = "NULLS FIRST" if backwards else "NULLS LAST"
        value = "s.value" if query.metric in self._metrics else "NULL"
        place = _place(key)
        order = f"{key} {way} {last}, {place} {way}" if key != place else f"{place} {way}"
        text = (
            f"SELECT r.idx, r.id, r.verdict, r.cause, r.done, r.question, {key}, {value}"
            f" FROM {source} WHERE {' AND '.join(where) or '1'} ORDER BY {order} LIMIT ?"
        )
        rows = self._all(text, [*values, limit])
        return [_entry(row) for row in rows]

    def count(self, query: RowQuery) -> int | None:
        """How many rows the query is of; None where a common word and another condition make
        counting take long. Counted once: the rows of an index do not change, and every page of a
        list and every order of it says the same number.
        """
        query = replace(self._known(query), sort="worst", descending=False)
        known = self._counts
        if query in known:
            return known[query]
        found = self._count(query)
        # A new dictionary: another thread may be reading the one before.
        self._counts = {**known, query: found} if len(known) < _COUNTS_KEPT else {query: found}
        return found

    def _count(self, query: RowQuery) -> int | None:
        match = _match(query.text)
        also = replace(query, text="").narrows or bool(query.metric)
        if match and not also:
            text = "SELECT count(*) FROM words WHERE words MATCH ?"
            return int(self._all(text, [match])[0][0])
        if match and self._is_common(match):
            return None
        # Rows that could not be read have no score of a metric.
        if not query.narrows and not query.metric:
            return int(self._facts["rows"])
        # By its slice where it has one: that leaves out most rows, whatever the order.
        source, where, values = self._parts(query, counting=True)
        text = f"SELECT count(*) FROM {source} WHERE {' AND '.join(where) or '1'}"
        return int(self._all(text, values)[0][0])

    def at(self, query: RowQuery, index: int) -> RowEntry | None:
        """The row of this index as the query lists it, None where it does not."""
        query = self._known(query)
        source, where, values = self._parts(query)
        value = "s.value" if query.metric in self._metrics else "NULL"
        text = (
            "SELECT r.idx, r.id, r.verdict, r.cause, r.done, r.question,"
            f" {_sort_key(query)}, {value} FROM {source} WHERE"
            f" {' AND '.join([*where, 'r.idx = ?'])}"
        )
        rows = self._all(text, [*values, index])
        return _entry(rows[0]) if rows else None

    def by_slice(self, metric: str) -> list[tuple[str, str, int, int]]:
        """(slice, value, rows with a verdict of the metric, failing ones), the most failing first,
        at most 200.
        """
        number = self._metrics.get(metric)
        text = (
            "SELECT x.name, x.value, count(*), sum(s.verdict = 'fail') AS failed FROM slices x"
            " CROSS JOIN scores s ON s.metric = ? AND s.idx = x.idx"
            " WHERE s.verdict IN ('pass', 'fail')"
            " GROUP BY x.name, x.value ORDER BY failed DESC, x.name, x.value LIMIT 200"
        )
        if number is None or not self.slices:
            return []
        return [(row[0], row[1], row[2], row[3]) for row in self._all(text, [number])]

    def _known(self, query: RowQuery) -> RowQuery:
        """The query without a metric that the run does not have; its slice by a name that there is,
        for names may hold the sign that parts them from the value.
        """
        if query.slice is not None and query.slice[0] not in self.slices:
            text = "=".join(query.slice)
            fitting = [name for name in self.slices if text.startswith(f"{name}=")]
            if fitting:
                name = max(fitting, key=len)
                query = replace(query, slice=(name, text[len(name) + 1 :]))
        if query.metric in self._metrics:
            return query
        sort = "worst" if query.sort == "value" else query.sort
        return replace(query, metric="", outcome="", sort=sort)

    def _parts(self, query: RowQuery, counting: bool = False) -> tuple[str, list[str], list[Any]]:
        """The tables, conditions and bound values of a query; values are never part of its text.

        The first table leads: a CROSS JOIN has SQLite read them in this order. Which one does
        decides between milliseconds and seconds: the one that has the rows in order, or of which
        fewest are left.
        """
        where, values = list[str](), list[Any]()
        # A count looks a row up only where something is asked of it.
        needs_rows = not counting or bool(query.verdict or query.cause)
        number = self._metrics.get(query.metric)
        tables = ["rows r"]
        by_score = number is not None and (query.sort == "value" or bool(query.outcome))
        by_slice = query.slice is not None and (counting or _led_by_slice(query))
        if number is not None:
            by_score = by_score or counting
            tables = ["scores s", "rows r"] if by_score else ["rows r", "scores s"]
            where.append("s.metric = ?")
            values.append(number)
            if query.outcome:
                where.append("s.verdict = ?")
                values.append(query.outcome)
        if by_slice:
            tables.insert(0, "slices x")
        if not needs_rows and len(tables) > 1:
            tables.remove("rows r")
        lead = tables[0][-1]
        source = tables[0]
        for table in tables[1:]:
            source += f" CROSS JOIN {table} ON {table[-1]}.idx = {lead}.idx"
        if query.verdict:
            where.append("r.verdict = ?")
            values.append(query.verdict)
        if query.cause:
            where.append("r.cause = ?")
            values.append(query.cause)
        if query.slice is not None and by_slice:
            where += ["x.name = ?", "x.value = ?"]
            values += query.slice
        elif query.slice is not None:
            where.append(
                "EXISTS (SELECT 1 FROM slices x WHERE x.name = ? AND x.value = ?"
                f" AND x.worst = {lead}.worst AND x.idx = {lead}.idx)"
            )
            values += query.slice
        match = _match(query.text)
        if match and self._is_common(match):
            asked = f"SELECT 1 FROM words WHERE words MATCH ? AND rowid = {lead}.worst"
            where.append(f"EXISTS ({asked})")
            values.append(match)
        elif match:
            where.append(f"{lead}.worst IN (SELECT rowid FROM words WHERE words MATCH ?)")
            values.append(match)
        return source, where, values

    def _words_first(self, query: RowQuery, match: str) -> tuple[str, list[str], list[Any]]:
        """The same of a search and nothing else, in the order in which the rows' words lie."""
        source = "words w CROSS JOIN rows r ON r.worst = w.rowid"
        where, values = ["w.words MATCH ?"], list[Any]([match])
        number = self._metrics.get(query.metric)
        if number is not None:
            source += " CROSS JOIN scores s ON s.idx = r.idx"
            where.append("s.metric = ?")
            values.append(number)
        return source, where, values

    def _is_common(self, match: str) -> bool:
        """Whether so many rows match that they are better not gathered."""
        text = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
        return bool(self._all(text, [match, COMMON + 1])[0][0] > COMMON)

    def _all(self, text: str, values: Sequence[Any]) -> list[Any]:
        with closing(self._connect()) as connection:
            return connection.execute(text, values).fetchall()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{_quoted(self._path)}?mode=ro", uri=True)
        connection.execute("PRAGMA cache_size = -65536")
        return connection


def _entry(row: Sequence[Any]) -> RowEntry:
    index, row_id, verdict, cause, done, question, key, value = row
    return RowEntry(index, row_id, verdict, cause, bool(done), question, key, value)


def _sort_key(query: RowQuery) -> str:
    """The column by which a query is ordered, out of a fixed list."""
    if query.sort == "value" and query.metric:
        return "s.value"
    if _led_by_slice(query):
        return "x.worst"
    if query.outcome and query.sort == "worst":
        return "s.worst"
    return {"index": "r.idx", "id": "r.id"}.get(query.sort, "r.worst")


def _led_by_slice(query: RowQuery) -> bool:
    """Whether the rows of a slice are read in the order that their table has."""
    return query.slice is not None and query.sort == "worst"


_PLACE_OF_WORDS = "w.rowid"


def _led_by_words(query: RowQuery) -> bool:
    """Whether a search reads the rows in the order in which their words lie. Where something
    else narrows the rows, they are gone through instead: few of those with the words may be left.
    """
    return query.sort == "worst" and not replace(query, text="").narrows


def _place(key: str) -> str:
    """The index of a row in the table that leads."""
    if key == _PLACE_OF_WORDS:
        return key
    return f"{key[0]}.idx"


def _beyond(
    key: str, after: tuple[float | str | None, int], descending: bool, backwards: bool
) -> tuple[str, list[Any]]:
    """The condition that a row stands behind another one, with its values; backwards: before it."""
    sign = "<" if descending else ">"
    value, index = after
    place = _place(key)
    if key == _PLACE_OF_WORDS:
        return f"{key} {sign} ?", [value]
    if key == place:
        return f"{place} {sign} ?", [index]
    if value is None:  # rows without a value come last, whichever way
        of_these = f"{key} IS NULL AND {place} {sign} ?"
        return (f"({of_these} OR {key} IS NOT NULL)" if backwards else of_these), [index]
    behind = f"({key}, {place}) {sign} (?, ?)"
    if key == "s.value" and not backwards:
        behind = f"({behind} OR s.value IS NULL)"
    return behind, [value, index]


def _match(text: str) -> str:
    """A user's words as a search of FTS5: each quoted, so that none of them commands; all must
    stand in the row. A word that ends in "*" may go on.
    """
    terms = []
    for phrase, word in _PHRASE.findall(text.replace("\0", " ")):
        goes_on = "*" if word.endswith("*") else ""
        term = (phrase or word).replace('"', " ").rstrip("*").strip()
        # A term without a letter or digit has no token, and would match nothing.
        if any(letter.isalnum() for letter in term):
            terms.append(f'"{term}"{goes_on}')
    return " AND ".join(terms)


def entry_of(row: RowResult) -> RowEntry:
    """A row as a list shows it that has no index to read from."""
    index, row_id, verdict, cause, done, question = _line(row)
    return RowEntry(index, row_id, verdict, cause, done, question, None, None)


def open_index(path: Path, stamp: str) -> RowIndex | None:
    """The index at a path, None where there is none of this stamp and of today's form."""
    if not path.is_file():
        return None
    with suppress(sqlite3.Error, ValueError, KeyError):
        index = RowIndex(path)
        if index.stamp == stamp and index._facts.get("form") == FORM:
            return index
    return None


def build_index(
    path: Path,
    rows: Iterable[RowResult],
    *,
    metrics: Sequence[str],
    stamp: str,
    worst: Callable[[RowResult], float],
    tell: Callable[[int], None] | None = None,
) -> RowIndex:
    """Make the index of a run's rows; it stands at the path when it is whole.

    worst: the lower the worse the row. stamp: when the run changed last. tell: is called with the
    rows that are in, now and then. Raises sqlite3.Error and OSError where it cannot be written.
    """
    # A run that goes on may be indexed twice at a time: each has files of its own.
    part = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    part.unlink(missing_ok=True)
    # Judged texts stand in it: for the owner alone, like the store.
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    numbers = {name: number for number, name in enumerate(metrics)}
    try:
        with closing(sqlite3.connect(part)) as connection, _Heap(part) as heap:
            connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
            connection.executescript(_TABLES)
            for row in rows:
                heap.add(worst(row), _entries(row, numbers))
                if tell is not None and not heap.rows % ROWS_A_WRITE:
                    tell(heap.rows // 2)
            count = _insert_all(connection, heap, tell)
            connection.executescript(_INDICES)
            facts = {
                "form": FORM,
                "stamp": stamp,
                "rows": str(count),
                "metrics": json.dumps(numbers),
                "slices": json.dumps(_slice_values(connection)),
            }
            connection.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
            connection.execute("ANALYZE")
            connection.commit()
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return RowIndex(path)


class _Heap:
    """Rows beside the index while it is made, until their order is known: as they came, in a file
    that goes when it is closed.
    """

    def __init__(self, part: Path) -> None:
        self._path = part.with_name(f"{part.name}.heap")
        self._file = os.fdopen(
            os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600), "w+b"
        )
        self._worst = array("d")
        self._begins = array("Q", [0])

    def __enter__(self) -> _Heap:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)

    @property
    def rows(self) -> int:
        """How many were added."""
        return len(self._worst)

    def add(self, worst: float, entries: object) -> None:
        """Put a row behind the others."""
        self._worst.append(worst)
        written = self._file.write(orjson.dumps(entries))
        self._begins.append(self._begins[-1] + written)

    def worst_first(self) -> Iterator[list[Any]]:
        """The rows, the worst first, those that are alike in the order in which they came."""
        self._file.flush()
        if not self.rows:
            return
        order = sorted(range(self.rows), key=self._worst.__getitem__)
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            for place in order:
                yield orjson.loads(mapped[self._begins[place] : self._begins[place + 1]])


def _entries(row: RowResult, numbers: dict[str, int]) -> list[object]:
    """What the index holds of a row: its line, its words, its scores, its slices."""
    scores = []
    for score in row.scores:
        if score.metric in numbers:
            outcome = score.verdict.value if score.verdict else NO_VERDICT
            scores.append((numbers[score.metric], row.index, score.value, outcome))
    return [_line(row), _words(row), scores, list(_slices(row))]


def _insert_all(
    connection: sqlite3.Connection, heap: _Heap, tell: Callable[[int], None] | None
) -> int:
    count = 0
    for batch in _batches(heap.worst_first()):
        lines, scores, slices, words = [], [], [], []
        for place, (line, texts, own_scores, own_slices) in enumerate(batch, count + 1):
            lines.append((place, *line))
            words.append((place, *texts))
            scores += [(*score, place) for score in own_scores]
            slices += [(name, value, place, line[0]) for name, value in own_slices]
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", lines)
        connection.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?)", scores)
        connection.executemany("INSERT OR IGNORE INTO slices VALUES (?, ?, ?, ?)", slices)
        connection.executemany(
            "INSERT INTO words (rowid, id, question, response, reference) VALUES (?, ?, ?, ?, ?)",
            words,
        )
        count += len(batch)
        if tell is not None:
            tell((heap.rows + count) // 2)
    return count


def _batches(rows: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    batch: list[list[Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == ROWS_A_WRITE:
            yield batch
            batch = []
    if batch:
        yield batch


def _line(row: RowResult) -> tuple[Any, ...]:
    verdict = row.diagnosis.verdict.value if row.diagnosis.verdict else NO_VERDICT
    text = ""
    if row.bad is not None:
        verdict, text = UNREADABLE, row.bad.what
    elif row.sample is not None:
        text = row.sample.question or row.sample.response or ""
    cause = row.diagnosis.cause.name if row.diagnosis.cause is not None else ""
    values = (_stored(row.id), verdict, _stored(cause), row.done, _stored(text[:SNIPPET]))
    return (row.index, *values)


def _words(row: RowResult) -> tuple[Any, ...]:
    texts = ("", "", "")
    if row.sample is not None:
        sample = row.sample
        texts = (sample.question or "", sample.response or "", sample.reference or "")
    return (_stored(row.id), *(_stored(text) for text in texts))


def _slices(row: RowResult) -> Iterator[tuple[str, str]]:
    if row.sample is not None:
        for name, value in row.sample.slices.items():
            yield _stored(name), _stored(value)


def _stored(text: str) -> str:
    """A text as SQLite takes it: without lone surrogates and NUL."""
    if text.isascii() and "\0" not in text:
        return text
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", text)


def _slice_values(connection: sqlite3.Connection) -> dict[str, list[tuple[str, int]]]:
    query = "SELECT name, value, count(*) AS n FROM slices GROUP BY name, value ORDER BY n DESC"
    values: dict[str, list[tuple[str, int]]] = {}
    for name, value, n in connection.execute(query):
        if len(values.setdefault(name, [])) < 100:
            values[name].append((value, n))
    return values


def _quoted(path: Path) -> str:
    """A path as an URI of SQLite takes it."""
    return str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")


def verdict_of(name: str) -> Verdict | None:
    """The Verdict of this value, None for the other words of a query."""
    return Verdict(name) if name in set(Verdict) else None
