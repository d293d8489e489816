"""What is watched of the rows of traces: what became of each row, what was spent, and the alerts.

A watch reads the changes of rows by a cursor of its own. The cursor, the rows that it came to and
what was counted of them are written in one commit, so that a watch that was killed goes on without
counting a row twice or leaving one out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, case, delete, func, select, update

from ragassay.store import codec, schema
from ragassay.store.access import IN_LIST, Access

UNSAMPLED, PENDING, JUDGED, DROPPED = range(4)
"""States of a row. Sampled are all but the first: they are judged, dropped or pending."""
OPEN, TRAFFIC, COUNTED = range(3)
"""Stages of a row: its session may still grow; it was counted for what is known of every row; and,
from COUNTED on, for what is judged: COUNTED + n is the n-th session that was, from 0.
"""

LATE = -1
"""Stage of a row whose session was counted before it came."""

LONE, NAMED = b"\x00", b"\x01"
"""First bytes of the hash of a session: of a row that names none, and of those that do."""
_ROWS_A_STEP = 2_000
_MOST_ALERTS = 1_000

Totals = Mapping[tuple[int, str], int]
"""(state, reason) -> rows."""


@dataclass(frozen=True, slots=True)
class WatchRow:
    """One row that arrived. id: in the order in which rows were come to, 0 before it is stored.
    figures: what is known of it, JSON-like, no texts.
    """

    id: int
    trace: bytes
    number: int
    session: bytes
    received: int
    state: int
    reason: str
    chance: float
    stage: int
    batch: int
    figures: Mapping[str, Any]


class Judging(NamedTuple):
    """What came of judging a row: its new state, why it was dropped, and its figures."""

    id: int
    state: int
    reason: str
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WatchBatch:
    """Rows that were judged together. created, ended: Unix time; ended None while it goes on. cost:
    in US dollars, None where no price is known. run: its run, "" before there is one.
    """

    number: int
    created: float
    ended: float | None
    rows: int
    calls: int
    cost: float | None
    run: str
    notes: Mapping[str, Any]


class Rating(NamedTuple):
    """What a user or another tool said of a trace, from 0 to 1. received: milliseconds."""

    trace: bytes
    name: str
    value: float
    received: int


class WatchRecords:
    """The watches of one open store, by name. Thread-safe."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def state(self, name: str) -> dict[str, Any] | None:
        """What a watch keeps between its steps, None before its first."""
        if self._access.lacks(schema.watches):
            return None
        query = select(schema.watches.c.payload).where(schema.watches.c.name == codec.as_key(name))
        payload = self._access.scalar(query)
        return None if payload is None else self._access.checked(orjson.loads, bytes(payload))

    def names(self) -> list[str]:
        """The watches that there are."""
        if self._access.lacks(schema.watches):
            return []
        query = select(schema.watches.c.name).order_by(schema.watches.c.name)
        return [codec.from_key(row.name) for row in self._access.all(query)]

    def put_state(self, name: str, state: Mapping[str, Any]) -> None:
        """Keep a state in place of the former one."""
        self._access.write(lambda connection: _put_state(connection, name, state))

    def take_in(
        self,
        name: str,
        state: Mapping[str, Any],
        rows: Sequence[WatchRow],
        ratings: Sequence[Rating] = (),
    ) -> None:
        """Store new rows and ratings with the state whose cursors have passed them, in one commit.
        A row that is there already stays.
        """
        watch = codec.as_key(name)

        def work(connection: Connection) -> None:
            self._access.database.alone(connection, "watch")
            if rows:
                _insert_rows(connection, watch, rows)
            if ratings:
                values = [{"watch": watch, **_rating(rating)} for rating in ratings]
                connection.execute(schema.watch_ratings.insert(), values)
            _put_state(connection, name, state)

        self._access.write(work)

    def settle(
        self, name: str, judgings: Sequence[Judging], batch: WatchBatch | None = None
    ) -> None:
        """Write what came of judging rows, and the batch that judged them, in one commit."""
        table = schema.watch_rows

        def work(connection: Connection) -> None:
            if judgings:
                change = (
                    update(table)
                    .where(table.c.id == bindparam("row"))
                    .values(
                        state=bindparam("new"), reason=bindparam("why"), payload=bindparam("kept")
                    )
                )
                values = [
                    {
                        "row": each.id,
                        "new": each.state,
                        "why": codec.as_key(each.reason),
                        "kept": orjson.dumps(each.figures),
                    }
                    for each in judgings
                ]
                connection.execute(change, values)
            if batch is not None:
                _put_batch(connection, codec.as_key(name), batch)

        self._access.write(work)

    def begin_batch(self, name: str, batch: WatchBatch, rows: Sequence[int]) -> None:
        """Store a batch that is about to be judged, and which rows are in it, in one commit."""
        table = schema.watch_rows

        def work(connection: Connection) -> None:
            _put_batch(connection, codec.as_key(name), batch)
            for start in range(0, len(rows), IN_LIST):
                part = rows[start : start + IN_LIST]
                change = update(table).where(table.c.id.in_(part)).values(batch=batch.number)
                connection.execute(change)

        self._access.write(work)

    def put_batch(self, name: str, batch: WatchBatch) -> None:
        """Write how a batch stands."""
        self._access.write(lambda connection: _put_batch(connection, codec.as_key(name), batch))

    def batches(self, name: str, since: float = 0.0) -> list[WatchBatch]:
        """The batches that were begun or ended since this time, and those that go on, in order."""
        table = schema.watch_batches.c
        recent = (table.ended.is_(None)) | (table.ended >= since) | (table.created >= since)
        query = (
            select(schema.watch_batches)
            .where(table.watch == codec.as_key(name), recent)
            .order_by(table.number)
        )
        return [_batch(row) for row in self._access.all(query)]

    def last_batch(self, name: str) -> int:
        """The number of the last batch, 0 before the first."""
        table = schema.watch_batches.c
        query = select(func.max(table.number)).where(table.watch == codec.as_key(name))
        return int(self._access.scalar(query) or 0)

    def counted(
        self,
        name: str,
        state: Mapping[str, Any],
        stages: Mapping[int, int],
        alerts: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Write a state that has counted these rows (id -> new stage), and the alerts that it
        raised, in one commit.
        """
        table = schema.watch_rows

        def work(connection: Connection) -> None:
            if stages:
                change = (
                    update(table)
                    .where(table.c.id == bindparam("row"))
                    .values(stage=bindparam("new"))
                )
                values = [{"row": row, "new": stage} for row, stage in stages.items()]
                connection.execute(change, values)
            for alert in alerts:
                kept = {"watch": codec.as_key(name), "payload": orjson.dumps(alert)}
                connection.execute(schema.watch_alerts.insert().values(kept))
            _put_state(connection, name, state)

        self._access.write(work)

    def pending(self, name: str, limit: int) -> list[WatchRow]:
        """Rows to judge, in the order in which they were come to."""
        table = schema.watch_rows.c
        query = (
            select(schema.watch_rows)
            .where(table.watch == codec.as_key(name), table.state == PENDING)
            .order_by(table.id)
            .limit(limit)
        )
        return [self._row(row) for row in self._access.all(query)]

    def waiting(self, name: str) -> list[tuple[int, bytes]]:
        """(id, session) of all rows to judge, in the order in which they were come to."""
        table = schema.watch_rows.c
        query = (
            select(table.id, table.session)
            .where(table.watch == codec.as_key(name), table.state == PENDING)
            .order_by(table.id)
        )
        return [(row.id, bytes(row.session)) for row in self._access.all(query)]

    def numbered(self, name: str, numbers: Sequence[int]) -> list[WatchRow]:
        """The rows of these ids, in this order."""
        table, found = schema.watch_rows.c, dict[int, WatchRow]()
        mine = table.watch == codec.as_key(name)
        for start in range(0, len(numbers), IN_LIST):
            some = table.id.in_(numbers[start : start + IN_LIST])
            for row in self._access.all(select(schema.watch_rows).where(mine, some)):
                found[row.id] = self._row(row)
        return [found[number] for number in numbers if number in found]

    def in_batch(self, name: str, number: int) -> list[WatchRow]:
        """The rows of a batch."""
        table = schema.watch_rows.c
        mine = (table.watch == codec.as_key(name)) & (table.batch == number)
        query = select(schema.watch_rows).where(mine).order_by(table.id)
        return [self._row(row) for row in self._access.all(query)]

    def closed_sessions(
        self, name: str, stage: int, quiet_since: int, limit: int
    ) -> list[list[WatchRow]]:
        """Sessions with rows of this stage that came to rest, each with those rows, in the order of
        their first ones. At rest is a session of which nothing came since `quiet_since`
        (milliseconds); a row without a session at once; of the stage TRAFFIC whatever has no row
        left to judge.
        """
        table = schema.watch_rows.c
        if stage == TRAFFIC:
            at_rest = func.max(case((table.state == PENDING, 1), else_=0)) == 0
        else:
            at_rest = (func.max(table.received) <= quiet_since) | (table.session < NAMED)
        query = (
            select(table.session)
            .where(table.watch == codec.as_key(name), table.stage == stage)
            .group_by(table.session)
            .having(at_rest)
            .order_by(func.min(table.id))
            .limit(limit)
        )
        sessions = [bytes(row.session) for row in self._access.all(query)]
        found: dict[bytes, list[WatchRow]] = {session: [] for session in sessions}
        for row in self._of_sessions(name, sessions):
            if row.stage == stage:
                found[row.session].append(row)
        return list(found.values())

    def counted_sessions(self, name: str, sessions: Sequence[bytes]) -> set[bytes]:
        """Those of these sessions of which rows were counted already."""
        table = schema.watch_rows.c
        found: set[bytes] = set()
        for start in range(0, len(sessions), IN_LIST):
            query = (
                select(table.session)
                .where(table.watch == codec.as_key(name), table.stage > OPEN)
                .where(table.session.in_(sessions[start : start + IN_LIST]))
                .distinct()
            )
            found.update(bytes(row.session) for row in self._access.all(query))
        return found

    def _of_sessions(self, name: str, sessions: Sequence[bytes]) -> Iterator[WatchRow]:
        table = schema.watch_rows.c
        for start in range(0, len(sessions), IN_LIST):
            query = (
                select(schema.watch_rows)
                .where(table.watch == codec.as_key(name))
                .where(table.session.in_(sessions[start : start + IN_LIST]))
                .order_by(table.id)
            )
            for row in self._access.all(query):
                yield self._row(row)

    def drop_before(
        self,
        name: str,
        received: int,
        last: int,
        begun: int,
        state: Callable[[Totals], Mapping[str, Any]],
    ) -> Totals:
        """Delete some of the rows that were received before this time, were counted up to the stage
        `last` and have an id up to `begun`, or came late and wait for nothing: how many were in
        each state, and why. Call it again until there are none. state: what to keep once these are
        gone, in the same commit.
        """
        table = schema.watch_rows
        counted = table.c.stage.between(COUNTED, last) & (table.c.id <= begun)
        late = (table.c.stage == LATE) & (table.c.state != PENDING)
        old = (
            select(table.c.id, table.c.state, table.c.reason)
            .where(table.c.watch == codec.as_key(name), table.c.received < received)
            .where(counted | late)
            .limit(_ROWS_A_STEP)
        )

        def work(connection: Connection) -> Totals:
            found = list(connection.execute(old))
            for start in range(0, len(found), IN_LIST):
                ids = [row.id for row in found[start : start + IN_LIST]]
                connection.execute(delete(table).where(table.c.id.in_(ids)))
            gone = Counter((row.state, codec.from_key(row.reason)) for row in found)
            if gone:
                _put_state(connection, name, state(gone))
            return gone

        return self._access.write(work)

    def forget_before(self, name: str, moment: float) -> None:
        """Delete the ratings that came before this Unix time and the batches that ended before it,
        but for the last one, whose number the next goes on from; and all alerts but the newest.
        """
        key = codec.as_key(name)
        ratings, batches = schema.watch_ratings, schema.watch_batches
        alerts = schema.watch_alerts
        last = self.last_batch(name)
        newest = select(alerts.c.id).where(alerts.c.watch == key).order_by(alerts.c.id.desc())
        kept = self._access.scalar(newest.offset(_MOST_ALERTS - 1).limit(1))

        def work(connection: Connection) -> None:
            old = (ratings.c.watch == key) & (ratings.c.received < int(moment * 1000))
            connection.execute(delete(ratings).where(old))
            ended = (batches.c.watch == key) & (batches.c.ended < moment)
            connection.execute(delete(batches).where(ended, batches.c.number < last))
            if kept is not None:
                mine = (alerts.c.watch == key) & (alerts.c.id < kept)
                connection.execute(delete(alerts).where(mine))

        self._access.write(work)

    def rows(self, name: str, since: int, most: int) -> Iterator[WatchRow]:
        """The rows that were received since this time (milliseconds), the newest `most` of them, in
        the order of arrival.
        """
        table = schema.watch_rows.c
        mine = (table.watch == codec.as_key(name)) & (table.received >= since)
        behind = select(table.received).where(mine).order_by(table.received.desc())
        first = self._access.scalar(behind.offset(most).limit(1))
        if first is not None:
            mine = mine & (table.received > first)
        query = select(schema.watch_rows).where(mine).order_by(table.received, table.id)
        for page in self._access.pages(query, (table.received, table.id), _ROWS_A_STEP):
            for row in page:
                yield self._row(row)

    def in_order_of_counting(self, name: str, after: int) -> Iterator[WatchRow]:
        """The rows that were counted behind this stage, in the order in which that was done."""
        table = schema.watch_rows.c
        behind = max(after, COUNTED - 1)
        query = (
            select(schema.watch_rows)
            .where(table.watch == codec.as_key(name), table.stage > behind)
            .order_by(table.stage, table.id)
        )
        for page in self._access.pages(query, (table.stage, table.id), _ROWS_A_STEP):
            for row in page:
                yield self._row(row)

    def last_id(self) -> int:
        """The id of the last row that is kept of any watch, 0 where none is. The next has a higher
        one, but may have that of a row that was deleted.
        """
        return int(self._access.scalar(select(func.max(schema.watch_rows.c.id))) or 0)

    def settled_up_to(self, name: str) -> int:
        """The id up to which every session came to rest whose last row lies there."""
        table = schema.watch_rows.c
        lasts = (
            select(func.max(table.id).label("last"))
            .where(table.watch == codec.as_key(name), table.stage == OPEN)
            .group_by(table.session)
            .subquery()
        )
        first = self._access.scalar(select(func.min(lasts.c.last)))
        return self.last_id() if first is None else int(first) - 1

    def in_order_of_last_rows(
        self, name: str, begun: int, after: int, up_to: int
    ) -> Iterator[list[WatchRow]]:
        """Sessions that came to rest and whose last row lies behind the id `after` and not behind
        `up_to`, in the order of these; of each the rows behind `begun`.
        """
        table = schema.watch_rows.c
        # By the id, behind which few lie; an index of the watch would lead to all of its rows.
        mine = (table.watch.concat("") == codec.as_key(name)) & (table.stage + 0 > OPEN)
        last = func.max(table.id)
        query = (
            select(table.session)
            .where(mine, table.id > after)
            .group_by(table.session)
            .having(last <= up_to)
            .order_by(last)
        )
        sessions = [bytes(row.session) for row in self._access.all(query)]
        for start in range(0, len(sessions), IN_LIST):
            part = sessions[start : start + IN_LIST]
            found: dict[bytes, list[WatchRow]] = {session: [] for session in part}
            for row in self._of_sessions(name, part):
                if row.stage > OPEN and row.id > begun:
                    found[row.session].append(row)
            yield from found.values()

    def totals(self, name: str) -> Totals:
        """How many rows are in each state, and why: (state, reason) -> rows."""
        table = schema.watch_rows.c
        query = (
            select(table.state, table.reason, func.count())
            .where(table.watch == codec.as_key(name))
            .group_by(table.state, table.reason)
        )
        return {(row[0], codec.from_key(row[1])): int(row[2]) for row in self._access.all(query)}

    def last_received(self, name: str) -> int | None:
        """When the last row came, in milliseconds; None before the first."""
        table = schema.watch_rows.c
        query = select(func.max(table.received)).where(table.watch == codec.as_key(name))
        value = self._access.scalar(query)
        return None if value is None else int(value)

    def known(self, name: str, traces: Sequence[bytes]) -> dict[tuple[bytes, int], WatchRow]:
        """The rows of these traces that the watch has come to already."""
        table = schema.watch_rows.c
        found: dict[tuple[bytes, int], WatchRow] = {}
        for start in range(0, len(traces), IN_LIST):
            part = traces[start : start + IN_LIST]
            query = select(schema.watch_rows).where(
                table.watch == codec.as_key(name), table.trace.in_(part)
            )
            for row in self._access.all(query):
                own = self._row(row)
                found[own.trace, own.number] = own
        return found

    def alerts(self, name: str, limit: int = 100) -> list[tuple[int, dict[str, Any]]]:
        """The last alerts with their numbers, the newest first."""
        table = schema.watch_alerts.c
        query = (
            select(table.id, table.payload)
            .where(table.watch == codec.as_key(name))
            .order_by(table.id.desc())
            .limit(limit)
        )
        rows = self._access.all(query)
        return [(row[0], self._access.checked(orjson.loads, bytes(row[1]))) for row in rows]

    def put_alert(self, number: int, alert: Mapping[str, Any]) -> None:
        """Write an alert anew: whom it was told to."""
        table = schema.watch_alerts
        change = update(table).where(table.c.id == number).values(payload=orjson.dumps(alert))
        self._access.execute(change)

    def ratings(self, name: str, since: int) -> list[Rating]:
        """What users and other tools said since this time (milliseconds), in order."""
        table = schema.watch_ratings.c
        query = (
            select(table.trace, table.name, table.value, table.received)
            .where(table.watch == codec.as_key(name), table.received >= since)
            .order_by(table.received, table.id)
        )
        return [
            Rating(bytes(row[0]), codec.from_key(row[1]), row[2], row[3])
            for row in self._access.all(query)
        ]

    def _row(self, row: Any) -> WatchRow:
        return WatchRow(
            row.id,
            bytes(row.trace),
            row.number,
            bytes(row.session),
            row.received,
            row.state,
            codec.from_key(row.reason),
            row.chance,
            row.stage,
            row.batch,
            self._access.checked(orjson.loads, bytes(row.payload)),
        )


_COLUMNS = "watch trace number session received state reason chance stage batch payload"


def _insert_rows(connection: Connection, watch: str, rows: Sequence[WatchRow]) -> None:
    sign = "?" if connection.dialect.name == "sqlite" else "%s"
    signs = ", ".join([sign] * len(_COLUMNS.split()))
    values = [
        (
            watch,
            row.trace,
            row.number,
            row.session,
            row.received,
            row.state,
            codec.as_key(row.reason),
            row.chance,
            row.stage,
            row.batch,
            orjson.dumps(row.figures),
        )
        for row in rows
    ]
    into = f"watch_rows ({', '.join(_COLUMNS.split())})"
    connection.exec_driver_sql(
        f"INSERT INTO {into} VALUES ({signs}) ON CONFLICT DO NOTHING", values
    )


def _rating(rating: Rating) -> dict[str, Any]:
    return {
        "trace": rating.trace,
        "name": codec.as_key(rating.name),
        "value": rating.value,
        "received": rating.received,
    }


def _put_state(connection: Connection, name: str, state: Mapping[str, Any]) -> None:
    table, key = schema.watches, codec.as_key(name)
    payload = orjson.dumps(state)
    changed = connection.execute(update(table).where(table.c.name == key).values(payload=payload))
    if not changed.rowcount:
        connection.execute(table.insert().values(name=key, payload=payload))


def _put_batch(connection: Connection, watch: str, batch: WatchBatch) -> None:
    table = schema.watch_batches
    values = {
        "created": batch.created,
        "ended": batch.ended,
        "rows": batch.rows,
        "calls": batch.calls,
        "cost": batch.cost,
        "run": codec.as_key(batch.run),
        "payload": orjson.dumps(batch.notes),
    }
    mine = (table.c.watch == watch) & (table.c.number == batch.number)
    changed = connection.execute(update(table).where(mine).values(values))
    if not changed.rowcount:
        connection.execute(table.insert().values(watch=watch, number=batch.number, **values))


def _batch(row: Any) -> WatchBatch:
    return WatchBatch(
        row.number,
        row.created,
        row.ended,
        row.rows,
        row.calls,
        row.cost,
        codec.from_key(row.run),
        orjson.loads(bytes(row.payload)),
    )
