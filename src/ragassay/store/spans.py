"""Spans as applications send them, stored as they came, and the rows that are made of them.

The writer of spans knows nothing of rows: a span is its bytes and what it is looked up by. A span
that is there already (by the ids of trace and span) is not stored again, so that whoever got no
answer may send it once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Table, bindparam, case, delete, func, select, tuple_, update

from ragassay.store import schema
from ragassay.store.access import IN_LIST, Access

T = TypeVar("T")

TRACE_BYTES = 16
SPAN_BYTES = 8
_SPANS_A_STEP = 2_000
"""Spans that the index of traces is moved on by, or that retention deletes, in one transaction: a
writer waits for no more than that.
"""
_MOST_COUNTED = 100_000
"""Spans that are counted one by one: a page that counts millions takes a second and more."""
_ABOVE_ALL = (1 << 62, b"", 0)
"""A place above every row that was received."""
_SPANS_AT_ONCE = 32
"""Spans that are read into memory together: each may have megabytes."""
_SPANS_OF_TRACE = (
    select(schema.span_origins.c.payload, schema.spans.c.payload)
    .where(schema.spans.c.origin == schema.span_origins.c.id)
    .where(schema.spans.c.key >= bindparam("first"), schema.spans.c.key <= bindparam("last"))
)
"""(origin, span) of a trace, whose keys lie between `first` and `last`."""
# By the index: to sort them the database would hold them all. Made once: making it takes longer
# than running it.
_SPANS_BY_ID = _SPANS_OF_TRACE.order_by(schema.spans.c.key).limit(bindparam("most"))
_CURSOR = "traces"
_LOG_CURSOR = "logs of traces"
_WRITERS = "spans"
_CHANGES = "rows of traces"


class StoredSpan(NamedTuple):
    """A span as it is stored. key: id of its trace, then its own, as bytes. origin: bytes of the
    resource and library that it came with. root: whether it has no parent. complete: whether it
    says that its trace is complete. started, ended: nanoseconds since 1970. payload: a span of
    OTLP, as protobuf.
    """

    key: bytes
    origin: bytes
    root: bool
    complete: bool
    started: int
    ended: int
    payload: bytes


class StoredLog(NamedTuple):
    """A log record as it is stored. trace: the id of its trace as bytes. payload: a log record of
    OTLP, as protobuf.
    """

    trace: bytes
    payload: bytes


class ReadyTrace(NamedTuple):
    """A trace whose rows are to be made. revision: of the rows that it has, 0 for none."""

    trace: bytes
    revision: int
    last_received: int


class TraceRow(NamedTuple):
    """One row made of a trace. number: of the turn, from 1. payload: see `tracing.received`."""

    trace: bytes
    number: int
    payload: bytes


class ReceivedRow(NamedTuple):
    """One row made of a trace, with when the trace's last span came (milliseconds since 1970)."""

    trace: bytes
    number: int
    payload: bytes
    received: int


class ChangedTrace(NamedTuple):
    """A trace whose rows were made or changed. number: of the change. received: when its last span
    came, in milliseconds since 1970. rows: (number of the turn, payload) of each.
    """

    number: int
    trace: bytes
    received: int
    rows: list[tuple[int, bytes]]


class NumberedLog(NamedTuple):
    """A log record with its number in the order of arrival, when it came (milliseconds), and the
    hash of its payload.
    """

    number: int
    trace: bytes
    received: int
    payload: bytes
    hash: bytes


class Totals(NamedTuple):
    """How much is stored. is_about: whether the spans are those between the first number and the
    last, some of which may have been left out.
    """

    spans: int
    is_about: bool
    traces: int
    rows: int


class SpanRecords:
    """The spans and their rows in one open store. Thread-safe."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._origins: dict[bytes, int] = {}

    def put(
        self, spans: Sequence[StoredSpan], logs: Sequence[StoredLog], received: int
    ) -> tuple[int, int]:
        """Store spans and log records in one commit; durable when it returns. received:
        milliseconds since 1970. Returns how many of each are new. Of two spans with the same ids
        that differ, the one that ended later stays, in whatever order they come.
        """

        known = self._origins

        def work(connection: Connection) -> tuple[int, int]:
            nonlocal known
            # Ids are given in the order of commits, or the index of traces would pass some over.
            self._access.database.alone(connection, _WRITERS)
            origins = known = self._numbers(connection, {span.origin for span in spans})
            values = [
                (
                    s.key,
                    origins[s.origin],
                    s.root,
                    s.complete,
                    s.started,
                    s.ended,
                    received,
                    s.payload,
                )
                for s in spans
            ]
            new_spans = _insert_new(connection, schema.spans, _SPAN_COLUMNS, values)
            if new_spans < len(values):
                _replace_earlier(connection, values)
            logged = [(_digest(log.payload), log.trace, received, log.payload) for log in logs]
            new_logs = _insert_new(connection, schema.span_logs, _LOG_COLUMNS, logged)
            return new_spans, new_logs

        new = self._access.write(work)
        # Only now: a transaction that came to nothing has stored no origin.
        self._origins = known
        return new

    def waited_s(self, thread: int) -> float:
        """Seconds that a thread has waited for a store that is locked or away, 0 where it does not.
        thread: its identifier.
        """
        return self._access.database.waits.seconds(thread)

    def _numbers(self, connection: Connection, origins: set[bytes]) -> dict[bytes, int]:
        """The number of each origin; new ones are stored."""
        if origins <= self._origins.keys():
            return self._origins
        numbers = dict(self._origins) if len(self._origins) < _MOST_ORIGINS else {}
        table = schema.span_origins
        for origin in sorted(origins - numbers.keys()):
            _insert_new(connection, table, ("hash", "payload"), [(_digest(origin), origin)])
            query = select(table.c.id).where(table.c.hash == _digest(origin))
            numbers[origin] = connection.execute(query).scalar_one()
        return numbers

    def index_traces(self) -> int:
        """Take the next spans and log records into the index of traces; how many there were, 0 when
        all are.
        """

        def work(connection: Connection) -> int:
            return _index_spans(connection) + _index_logs(connection)

        return self._access.write(work)

    def ready(self, now: int, quiet: int, oldest: int, limit: int) -> list[ReadyTrace]:
        """Traces with spans that no row is made of yet: those that say that they are complete,
        those whose root came and that were quiet for so long, and those whose first span is so old.
        Times in milliseconds.
        """
        table = schema.traces.c
        # A clock that was set back leaves traces of the future, which would wait for it.
        is_quiet = (table.last_received <= now - quiet) | (table.last_received > now + quiet + 1000)
        is_ready = (
            table.complete
            | (table.ended & is_quiet)
            | (table.first_received <= now - oldest) & is_quiet
        )
        query = (
            select(table.trace, table.revision, table.last_received)
            .where(table.dirty, is_ready)
            .order_by(table.last_received, table.trace)
            .limit(limit)
        )
        return [ReadyTrace(bytes(row[0]), row[1], row[2]) for row in self._access.all(query)]

    def waiting(self) -> tuple[int, int | None]:
        """(how many traces have spans that no row is made of yet, when the oldest spans of which
        one should be made were received, in milliseconds; None where there are none). A trace whose
        root is still to come waits for it, and is not behind.
        """
        traces, spans, cursors = schema.traces.c, schema.spans.c, schema.cursors.c

        def work(connection: Connection) -> tuple[int, int | None]:
            due = case((traces.ended | traces.complete, traces.last_received))
            dirty = select(func.count(), func.min(due)).where(traces.dirty)
            count, oldest = connection.execute(dirty).one()
            position = select(cursors.position).where(cursors.name == _CURSOR)
            # Spans that the index of traces has not come to.
            behind = select(spans.received).where(
                spans.id > func.coalesce(position.scalar_subquery(), 0)
            )
            first = connection.scalar(behind.order_by(spans.id).limit(1))
            times = [time for time in (oldest, first) if time is not None]
            return count, min(times, default=None)

        return self._access.read(work)

    def of_trace(self, trace: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """(origin, span) of the spans of a trace, in the order of arrival."""
        if self._access.lacks(schema.spans):
            return []
        arrived = _SPANS_OF_TRACE.order_by(schema.spans.c.id).limit(limit)
        query = arrived.params(_keys_of(trace))
        return [(bytes(origin), bytes(span)) for origin, span in self._access.all(query)]

    def read_trace(self, trace: bytes, limit: int, read: Callable[[bytes, bytes], T]) -> list[T]:
        """What `read` makes of (origin, span) of the spans of a trace, one after another: a trace
        may be larger than the memory. At most limit by their ids, and where there are more also
        those without a parent, some of them a second time.
        """
        bound = {**_keys_of(trace), "most": limit}

        def work(connection: Connection) -> list[T]:
            streaming = connection.execution_options(yield_per=_SPANS_AT_ONCE)
            found = streaming.execute(_SPANS_BY_ID, bound)
            made = [read(bytes(row[0]), bytes(row[1])) for row in found]
            if len(made) == limit:
                roots = streaming.execute(_SPANS_BY_ID.where(schema.spans.c.root), bound)
                made += [read(bytes(row[0]), bytes(row[1])) for row in roots]
            return made

        return self._access.read(work)

    def with_logs(self, traces: Sequence[bytes]) -> set[bytes]:
        """Which of these traces have log records."""
        table = schema.span_logs.c
        found: set[bytes] = set()
        for start in range(0, len(traces), IN_LIST):
            part = traces[start : start + IN_LIST]
            query = select(table.trace).where(table.trace.in_(part)).distinct()
            found.update(bytes(trace) for (trace,) in self._access.all(query))
        return found

    def logs_of_trace(self, trace: bytes, limit: int) -> list[bytes]:
        """The log records of a trace, in the order of arrival."""
        table = schema.span_logs.c
        query = select(table.payload).where(table.trace == trace).order_by(table.id).limit(limit)
        return [bytes(payload) for (payload,) in self._access.all(query)]

    def put_rows(self, made: Sequence[tuple[ReadyTrace, Sequence[bytes]]]) -> int:
        """Store the rows of traces in place of those that they had; how many traces got a new
        revision. A trace that spans came for meanwhile stays in the queue.
        """

        def work(connection: Connection) -> int:
            # Changes are numbered in the order of commits, or who reads them would pass some over.
            self._access.database.alone(connection, _CHANGES)
            return sum(
                _replace_rows(connection, made[first : first + IN_LIST])
                for first in range(0, len(made), IN_LIST)
            )

        return self._access.write(work)

    def rows(self, since: int, until: int) -> Iterator[TraceRow]:
        """The rows of traces whose last span was received in this time (milliseconds since 1970,
        the end not included), in order.
        """
        traces, rows = schema.traces.c, schema.trace_rows.c
        query = (
            select(rows.trace, rows.number, rows.payload, traces.last_received)
            .where(rows.trace == traces.trace)
            .where(traces.last_received >= since, traces.last_received < until)
            .order_by(traces.last_received, rows.trace, rows.number)
        )
        keys = (traces.last_received, rows.trace, rows.number)
        for page in self._access.pages(query, keys, IN_LIST):
            for row in page:
                yield TraceRow(bytes(row[0]), row[1], bytes(row[2]))

    def without_rows(self, since: int, until: int) -> int:
        """Traces of that time that were put together and have no row: nobody asked anything."""
        traces, rows = schema.traces.c, schema.trace_rows.c
        query = (
            select(func.count())
            .select_from(schema.traces)
            .where(traces.last_received >= since, traces.last_received < until, ~traces.dirty)
            .where(~select(rows.trace).where(rows.trace == traces.trace).exists())
        )
        return int(self._access.scalar(query) or 0)

    def newest_rows(
        self, limit: int, before: tuple[int, bytes, int] | None = None
    ) -> list[ReceivedRow]:
        """The last rows, newest first. before: only those that come after this one in that order:
        (received, trace, number).
        """
        if self._access.lacks(schema.trace_rows):
            return []
        traces, rows = schema.traces.c, schema.trace_rows.c
        keys = (traces.last_received, traces.trace, rows.number)
        # A bound always, also one above all: without it SQLite reads and sorts every row there is.
        query = (
            select(rows.trace, rows.number, rows.payload, traces.last_received)
            .where(rows.trace == traces.trace, tuple_(*keys) < tuple_(*(before or _ABOVE_ALL)))
            .order_by(*(key.desc() for key in keys))
            .limit(limit)
        )
        found = self._access.all(query)
        return [ReceivedRow(bytes(row[0]), row[1], bytes(row[2]), row[3]) for row in found]

    def rows_of_trace(self, trace: bytes) -> list[TraceRow]:
        """The rows of one trace, in order."""
        if self._access.lacks(schema.trace_rows):
            return []
        table = schema.trace_rows.c
        query = select(schema.trace_rows).where(table.trace == trace).order_by(table.number)
        return [TraceRow(bytes(row[0]), row[1], bytes(row[2])) for row in self._access.all(query)]

    def changes(self, after: int, limit: int) -> list[ChangedTrace]:
        """Traces whose rows were made or changed, in that order, from behind the change of this
        number on, with the rows that they have now.
        """
        changes, traces, rows = schema.trace_changes.c, schema.traces.c, schema.trace_rows.c
        page = (
            select(changes.id, changes.trace)
            .where(changes.id > after)
            .order_by(changes.id)
            .limit(limit)
        )

        def work(connection: Connection) -> list[ChangedTrace]:
            numbers = {bytes(row.trace): int(row.id) for row in connection.execute(page)}
            found = {trace: ChangedTrace(number, trace, 0, []) for trace, number in numbers.items()}
            ids = list(numbers)
            for start in range(0, len(ids), IN_LIST):
                part = ids[start : start + IN_LIST]
                query = (
                    select(rows.trace, rows.number, rows.payload, traces.last_received)
                    .where(rows.trace == traces.trace, rows.trace.in_(part))
                    .order_by(rows.trace, rows.number)
                )
                for row in connection.execute(query):
                    own = found[bytes(row.trace)]
                    found[own.trace] = own._replace(received=row.last_received)
                    own.rows.append((row.number, bytes(row.payload)))
            return sorted(found.values())

        return self._access.read(work)

    def rows_of(self, traces: Sequence[bytes]) -> dict[tuple[bytes, int], bytes]:
        """The rows of these traces by trace and number, as far as they are still kept."""
        table = schema.trace_rows.c
        found: dict[tuple[bytes, int], bytes] = {}
        for start in range(0, len(traces), IN_LIST):
            part = traces[start : start + IN_LIST]
            query = select(table.trace, table.number, table.payload).where(table.trace.in_(part))
            for row in self._access.all(query):
                found[bytes(row.trace), row.number] = bytes(row.payload)
        return found

    def log_hash(self, number: int) -> bytes:
        """The hash of the log record of this number, empty where it was deleted. Numbers begin anew
        where all were deleted: by its hash a record is known again.
        """
        table = schema.span_logs.c
        return bytes(self._access.scalar(select(table.hash).where(table.id == number)) or b"")

    def logs_after(self, number: int, limit: int) -> list[NumberedLog]:
        """Log records behind the one of this number, in the order of arrival."""
        table = schema.span_logs.c
        query = (
            select(table.id, table.trace, table.received, table.payload, table.hash)
            .where(table.id > number)
            .order_by(table.id)
            .limit(limit)
        )
        rows = self._access.all(query)
        return [
            NumberedLog(row.id, bytes(row.trace), row.received, bytes(row.payload), bytes(row.hash))
            for row in rows
        ]

    def counts(self) -> dict[str, int]:
        """How many spans, log records, traces and rows are stored."""
        return self._counts((schema.spans, schema.span_logs, schema.traces, schema.trace_rows))

    def totals(self) -> Totals:
        """How many spans, traces and rows are stored, at once also where there are millions."""
        spans = schema.spans.c.id
        counted = self._counts((schema.traces, schema.trace_rows))
        traces, rows = counted["traces"], counted["trace_rows"]
        if self._access.lacks(schema.spans):
            return Totals(0, False, traces, rows)
        first, last = (self._access.scalar(select(end(spans))) for end in (func.min, func.max))
        numbers = 0 if first is None or last is None else int(last) - int(first) + 1
        if numbers > _MOST_COUNTED:
            return Totals(numbers, True, traces, rows)
        return Totals(self._counts((schema.spans,))["spans"], False, traces, rows)

    def _counts(self, tables: Sequence[Table]) -> dict[str, int]:
        if self._access.lacks(schema.spans):
            return {table.name: 0 for table in tables}
        return {
            table.name: int(self._access.scalar(select(func.count()).select_from(table)) or 0)
            for table in tables
        }

    def drop_before(self, received: int) -> int:
        """Delete some of the spans received before this time (milliseconds since 1970), with what
        was made of them; how many spans, 0 when none is left. Call it again until then.
        """

        def work(connection: Connection) -> int:
            table = schema.spans.c
            query = select(table.id, table.received).order_by(table.id).limit(_SPANS_A_STEP)
            old = [row.id for row in connection.execute(query) if row.received < received]
            if old:
                # A range, not a list; a clock that was set back leaves younger ones in it.
                is_old = (table.id <= old[-1]) & (table.received < received)
                connection.execute(delete(schema.spans).where(is_old))
                _step_back(connection, _CURSOR, schema.spans)
            return len(old)

        dropped = self._access.write(work)
        if not dropped:
            self._drop_traces_before(received)
        return dropped

    def _drop_traces_before(self, received: int) -> None:
        """Delete the rows, index and log records of traces that nothing came for since."""
        table, logs = schema.traces.c, schema.span_logs.c

        def work(connection: Connection) -> int:
            old = select(table.trace).where(table.last_received < received).limit(IN_LIST)
            ids = [row.trace for row in connection.execute(old)]
            rows = schema.trace_rows
            connection.execute(delete(rows).where(rows.c.trace.in_(ids)))
            connection.execute(delete(schema.traces).where(table.trace.in_(ids)))
            changes = schema.trace_changes
            connection.execute(delete(changes).where(changes.c.trace.in_(ids)))
            stale = select(logs.id).where(logs.received < received).limit(_SPANS_A_STEP)
            gone = [row.id for row in connection.execute(stale)]
            if gone:
                connection.execute(delete(schema.span_logs).where(logs.id.in_(gone)))
                _step_back(connection, _LOG_CURSOR, schema.span_logs)
            return len(ids) + len(gone)

        while self._access.write(work):
            pass


def _step_back(connection: Connection, name: str, table: Table) -> None:
    """Set a cursor to the last record that is left, where it stands behind it: numbers go on from
    the largest that is there, and those that come next would be taken for known.
    """
    cursors = schema.cursors
    last = connection.scalar(select(func.max(table.c.id))) or 0
    behind = (cursors.c.name == name) & (cursors.c.position > last)
    connection.execute(update(cursors).where(behind).values(position=last))


def _keys_of(trace: bytes) -> dict[str, bytes]:
    """Between which keys the spans of a trace lie."""
    return {"first": trace, "last": trace + b"\xff" * SPAN_BYTES}


_MOST_ORIGINS = 10_000
_ROWS_A_STATEMENT = 128
_SPAN_COLUMNS = ("key", "origin", "root", "complete", "started", "ended", "received", "payload")
_LOG_COLUMNS = ("hash", "trace", "received", "payload")


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()


def _insert_new(
    connection: Connection, table: Table, names: Sequence[str], values: Sequence[tuple[Any, ...]]
) -> int:
    """Insert those rows that break no unique key; how many."""
    if not values:
        return 0
    insert = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES "
    if connection.dialect.name != "sqlite":
        row = f"({', '.join(['%s'] * len(names))})"
        statement = f"{insert}{row} ON CONFLICT DO NOTHING"
        return connection.exec_driver_sql(statement, list(values)).rowcount
    # Many rows a statement: at the end of each one this thread has to wait until another one that
    # computes, such as the assembler's, lets go of the interpreter.
    row = f"({', '.join(['?'] * len(names))})"
    new = 0
    for first in range(0, len(values), _ROWS_A_STATEMENT):
        part = values[first : first + _ROWS_A_STATEMENT]
        statement = f"{insert}{', '.join([row] * len(part))} ON CONFLICT DO NOTHING"
        new += connection.exec_driver_sql(statement, tuple(chain.from_iterable(part))).rowcount
    return new


_REPLACED = """
UPDATE spans SET id = {id}, origin = ?, root = ?, complete = ?, started = ?, ended = ?,
received = ?, payload = ? WHERE key = ? AND (ended < ? OR (ended = ? AND payload < ?))
"""


def _replace_earlier(connection: Connection, values: Sequence[tuple[Any, ...]]) -> None:
    """Put these spans in the place of those with the same ids that ended earlier, or, at the same
    time, hold the lesser bytes. They get the next numbers, or the index of traces would pass them
    over.
    """
    if connection.dialect.name == "sqlite":
        statement = _REPLACED.format(id="(SELECT max(id) + 1 FROM spans)")
    else:
        statement = _REPLACED.format(id="DEFAULT").replace("?", "%s")
    connection.exec_driver_sql(
        statement,
        [
            (origin, root, complete, started, ended, received, payload, key, ended, ended, payload)
            for key, origin, root, complete, started, ended, received, payload in values
        ],
    )


def _position(connection: Connection, name: str) -> int | None:
    """Where a cursor stands, None before it was ever moved."""
    cursors = schema.cursors.c
    return connection.scalar(select(cursors.position).where(cursors.name == name))


def _index_spans(connection: Connection) -> int:
    """Take the next spans into the index of traces; how many there were."""
    position = _position(connection, _CURSOR)
    table = schema.spans.c
    query = (
        select(table.id, table.key, table.root, table.complete, table.received)
        .where(table.id > (position or 0))
        .order_by(table.id)
        .limit(_SPANS_A_STEP)
    )
    page = connection.execute(query).all()
    if page:
        _note_traces(connection, page)
        _move(connection, _CURSOR, page[-1].id, position is None)
    return len(page)


def _index_logs(connection: Connection) -> int:
    """Have traces put together again for which log records came since; how many records there were.
    Those that came before all spans of their trace are read with these.
    """
    position = _position(connection, _LOG_CURSOR)
    table = schema.span_logs.c
    query = (
        select(table.id, table.trace, table.received)
        .where(table.id > (position or 0))
        .order_by(table.id)
        .limit(_SPANS_A_STEP)
    )
    page = connection.execute(query).all()
    last: dict[bytes, int] = {}
    for row in page:
        trace = bytes(row.trace)
        last[trace] = max(row.received, last.get(trace, 0))
    if last:
        noted = [{"of": trace, "at": received} for trace, received in last.items()]
        connection.execute(_LOGGED, noted)
    if page:
        _move(connection, _LOG_CURSOR, page[-1].id, position is None)
    return len(page)


def _move(connection: Connection, name: str, position: int, is_new: bool) -> None:
    if is_new:
        connection.execute(schema.cursors.insert().values(name=name, position=position))
        return
    cursor = schema.cursors
    connection.execute(update(cursor).where(cursor.c.name == name).values(position=position))


_NOTED_SQLITE = """
INSERT INTO traces (trace, first_received, last_received, ended, complete, dirty, revision)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (trace) DO UPDATE SET
first_received = min(traces.first_received, excluded.first_received),
last_received = max(traces.last_received, excluded.last_received),
ended = max(traces.ended, excluded.ended),
complete = max(traces.complete, excluded.complete),
dirty = excluded.dirty
"""
_NOTED_POSTGRES = """
INSERT INTO traces (trace, first_received, last_received, ended, complete, dirty, revision)
VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (trace) DO UPDATE SET
first_received = least(traces.first_received, excluded.first_received),
last_received = greatest(traces.last_received, excluded.last_received),
ended = traces.ended OR excluded.ended,
complete = traces.complete OR excluded.complete,
dirty = excluded.dirty
"""


def _note_traces(connection: Connection, page: Sequence[Any]) -> None:
    """Take these spans into the index: of each trace when spans came, and whether it is ended."""
    noted: dict[bytes, dict[str, Any]] = {}
    for row in page:
        trace = bytes(row.key[:TRACE_BYTES])
        seen = noted.setdefault(
            trace,
            {"first": row.received, "last": row.received, "ended": False, "complete": False},
        )
        seen["first"] = min(seen["first"], row.received)
        seen["last"] = max(seen["last"], row.received)
        seen["ended"] = seen["ended"] or row.root
        seen["complete"] = seen["complete"] or row.complete
    statement = _NOTED_SQLITE if connection.dialect.name == "sqlite" else _NOTED_POSTGRES
    connection.exec_driver_sql(
        statement,
        [
            (trace, seen["first"], seen["last"], seen["ended"], seen["complete"], True, 0)
            for trace, seen in noted.items()
        ],
    )


_LOGGED = (
    update(schema.traces)
    .where(schema.traces.c.trace == bindparam("of"))
    .values(
        dirty=True,
        last_received=case(
            (schema.traces.c.last_received < bindparam("at"), bindparam("at")),
            else_=schema.traces.c.last_received,
        ),
    )
)
_MADE = (
    update(schema.traces)
    .where(
        schema.traces.c.trace == bindparam("of"), schema.traces.c.last_received == bindparam("at")
    )
    .values(dirty=False, revision=bindparam("now"))
)


def _replace_rows(
    connection: Connection, made: Sequence[tuple[ReadyTrace, Sequence[bytes]]]
) -> int:
    """Store the rows of traces; of how many they differ from those that they had."""
    table, traces = schema.trace_rows, schema.traces.c
    rows = table.c
    wanted = [ready.trace for ready, _ in made]
    received = select(traces.trace, traces.last_received).where(traces.trace.in_(wanted))
    latest = {bytes(row.trace): row.last_received for row in connection.execute(received)}
    # Spans may have come since the trace was read, and somebody else made rows of them.
    made = [(ready, each) for ready, each in made if latest.get(ready.trace) == ready.last_received]
    if not made:
        return 0
    former: dict[bytes, list[bytes]] = {ready.trace: [] for ready, _ in made}
    query = (
        select(rows.trace, rows.payload)
        .where(rows.trace.in_(list(former)))
        .order_by(rows.trace, rows.number)
    )
    for row in connection.execute(query):
        former[bytes(row.trace)].append(bytes(row.payload))
    changed = {ready.trace: each for ready, each in made if former[ready.trace] != list(each)}
    if outdated := [trace for trace in changed if former[trace]]:
        connection.execute(delete(table).where(rows.trace.in_(outdated)))
    values: list[dict[str, object]] = []
    for trace, payloads in changed.items():
        numbered = enumerate(payloads, 1)
        values += [{"trace": trace, "number": n, "payload": payload} for n, payload in numbered]
    if values:
        connection.execute(table.insert(), values)
    if changed:
        connection.execute(schema.trace_changes.insert(), [{"trace": trace} for trace in changed])
    connection.execute(
        _MADE,
        [
            {
                "of": ready.trace,
                "at": ready.last_received,
                "now": ready.revision + (ready.trace in changed),
            }
            for ready, _ in made
        ],
    )
    return len(changed)
