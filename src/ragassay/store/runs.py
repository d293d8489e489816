"""Records of runs: manifest, state and ledger, and how a run is found by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, case, func, insert, select, update
from sqlalchemy.sql import ColumnElement

from ragassay.core import (
    DIRECT,
    MEASURING,
    Ledger,
    Manifest,
    RunState,
    SetupError,
    nearest,
    shorten,
)
from ragassay.store import codec, schema
from ragassay.store.access import IN_LIST, Access, now_utc
from ragassay.store.lines import StoredRun
from ragassay.store.locks import RunLocks

COPYING = "copying"
"""The state of a run that another store's copy is being written into; nobody sees it before it is
whole.
"""

MOST_NAMES = 1000
"""Runs among whose names the nearest to a mistyped one is looked for."""


class _Tally(NamedTuple):
    """How many rows of a run are stored, done and bad."""

    rows: int
    done: int
    bad: int


class RunRecords:
    """The runs of one open store. Thread-safe."""

    def __init__(self, access: Access, locks: RunLocks) -> None:
        self._access = access
        self._locks = locks
        self._numbers: dict[str, int] = {}  # a run is never deleted

    def create(self, manifest: Manifest) -> None:
        """Record a new run, state RUNNING. Raises ValueError when its id is taken."""
        sealed = codec.seal(codec.encode(manifest), manifest.run_id)
        self.create_sealed(manifest.run_id, manifest.name, sealed)

    def create_sealed(
        self, run_id: str, name: str, manifest: bytes, state: str = RunState.RUNNING.value
    ) -> None:
        """The same with a manifest that is sealed already."""
        runs = schema.runs
        values = {
            "run_id": codec.as_key(run_id),
            "name": codec.as_key(name),
            "state": state,
            "stop_reason": "",
            "seconds": 0.0,
            "updated": now_utc(),
            "manifest": manifest,
            "ledger": _sealed_ledger(Ledger(), self._locks.token, run_id, state, "", 0.0),
        }
        same_id = select(runs.c.id).where(runs.c.run_id == values["run_id"])

        def work(connection: Connection) -> None:
            # Of two that create one run at once, the second waits here and then finds the first's.
            self._access.database.alone(connection, "runs")
            if connection.scalar(same_id) is not None:
                raise ValueError(f"the store already has a run {run_id!r}")
            connection.execute(insert(runs).values(values))

        self._access.write(work)

    def put_manifest(self, manifest: Manifest) -> None:
        """Write the manifest of a run that is there anew."""
        sealed = codec.seal(codec.encode(manifest), manifest.run_id)
        number = self.number(manifest.run_id)
        runs = schema.runs
        self._access.execute(update(runs).where(runs.c.id == number).values(manifest=sealed))

    def update(
        self, run_id: str, *, state: RunState, stop_reason: str, ledger: Ledger, seconds: float
    ) -> None:
        """Write where the run stands."""
        number = self.number(run_id)
        codec.finite(seconds)
        reason = codec.as_key(stop_reason)
        seconds = float(seconds)
        token = self._locks.token
        change = (
            update(schema.runs)
            .where(schema.runs.c.id == number)
            .values(
                state=state.value,
                stop_reason=reason,
                seconds=seconds,
                updated=now_utc(),
                ledger=_sealed_ledger(ledger, token, run_id, state.value, reason, seconds),
            )
        )

        def work(connection: Connection) -> None:
            self._locks.check_still_owner(connection, run_id, number)
            connection.execute(change)

        self._access.write(work)

    def get(self, run_id: str) -> StoredRun:
        """The run of this id."""
        return self._stored(schema.runs.c.id == self.number(run_id), 1)[0]

    def newest_first(self, limit: int, before: str = "", names: str = "") -> list[StoredRun]:
        """The last `limit` runs; before: of those that were made before this one; names: "used"
        leaves out those that measured a judge and the judgments of direct calls, "measuring" has
        those that measured a judge.
        """
        runs = schema.runs.c
        where = runs.state != COPYING
        if before:
            where &= runs.id < self.number(before)
        if names:
            where &= _named(names)
        return self._stored(where, limit)

    def count(self, names: str = "") -> int:
        """How many runs there are; names: as in `newest_first`."""
        runs = schema.runs.c
        query = select(func.count()).where(runs.state != COPYING)
        if names:
            query = query.where(_named(names))
        return int(self._access.scalar(query) or 0)

    def stamp(self, run_id: str) -> tuple[str, str]:
        """The run's state and when it or one of its rows last changed, without counting its rows.
        Raises SetupError E0103.
        """
        runs = schema.runs.c
        query = select(runs.state, runs.updated).where(runs.run_id == codec.as_key(run_id))
        found = self._access.all(query.where(runs.state != COPYING))
        if not found:
            self._numbers.pop(run_id, None)
            self.number(run_id)
        return str(found[0].state), str(found[0].updated)

    def has(self, run_id: str) -> bool:
        """Whether there is a run of this id."""
        runs = schema.runs.c
        query = select(runs.id).where(runs.run_id == codec.as_key(run_id), runs.state != COPYING)
        return self._access.scalar(query) is not None

    def named(self, names: Sequence[str]) -> dict[str, str]:
        """Name -> id of the newest run that has it, of those names that a run has."""
        runs = schema.runs.c
        found: dict[str, str] = {}
        for start in range(0, len(names), IN_LIST):
            keys = [codec.as_key(name) for name in names[start : start + IN_LIST]]
            query = select(runs.name, runs.run_id).where(runs.name.in_(keys), runs.state != COPYING)
            for row in self._access.all(query.order_by(runs.id)):
                found[codec.from_key(row.name)] = codec.from_key(row.run_id)
        return found

    def newest_id(self) -> str:
        """The id of the run that was made last, "" when there is none."""
        runs = schema.runs.c
        key = self._access.scalar(select(runs.run_id).order_by(runs.id.desc()).limit(1))
        return "" if key is None else codec.from_key(key)

    def number(self, run_id: str) -> int:
        """The primary key of a run. Raises SetupError E0103 when it is not there."""
        if run_id not in self._numbers:
            self._numbers[run_id] = self._look_up(run_id)
        return self._numbers[run_id]

    def _look_up(self, run_id: str) -> int:
        runs = schema.runs.c
        number: int | None = self._access.scalar(
            select(runs.id).where(runs.run_id == codec.as_key(run_id), runs.state != COPYING)
        )
        if number is None:
            raise SetupError(
                "E0103",
                f"No run of the id {shorten(run_id)!r} is in the store.",
                where=self._access.location,
                fix="`ragassay runs`, with the same --store, lists them",
            )
        return number

    def resolve(self, name: str) -> str:
        """The id of the run that `name` means. Raises SetupError E0103."""
        exact = self._exactly(name)
        if exact:
            return exact[0]
        by_start: list[str] = []
        if name and name != "last":
            starts = schema.runs.c.run_id.startswith(codec.as_key(name), autoescape=True)
            by_start = self._ids(starts, 6)
        if len(by_start) == 1:
            return by_start[0]
        raise self._not_one(name, by_start)

    def _exactly(self, name: str) -> list[str]:
        """The newest run that `name` means as a whole, in a list, empty where there is none."""
        runs, key = schema.runs.c, codec.as_key(name)
        # "last" is what a user evaluated, not the runs by which a benchmark measured its judge.
        if name == "last":
            return self._ids(_named("used"), 1)
        # The id first: it belongs to one run, where several may share a name.
        by_id = self._ids(runs.run_id == key, 1)
        if by_id or not name:
            return by_id
        return self._ids(runs.name == key, 1)

    def _ids(self, where: ColumnElement[bool], limit: int) -> list[str]:
        runs = schema.runs.c
        query = select(runs.run_id).where(where, runs.state != COPYING)
        newest = self._access.all(query.order_by(runs.id.desc()).limit(limit))
        return [codec.from_key(row.run_id) for row in newest]

    def _not_one(self, name: str, by_start: list[str]) -> SetupError:
        runs, where = schema.runs.c, self._access.location
        matches = self._access.all(
            select(runs.run_id, runs.name)
            .where(runs.state != COPYING)
            .order_by(runs.id.desc())
            .limit(MOST_NAMES)
        )
        if by_start:
            return SetupError(
                "E0103",
                f"Several runs have an id that starts with {shorten(name)!r}.",
                where=where,
                why=", ".join(by_start[:5]),
                fix="give more of the id",
            )
        if name == "last" and matches:
            return SetupError(
                "E0103",
                "The store holds no run yet but those that measured a judge.",
                where=where,
                why=", ".join(codec.from_key(row.run_id) for row in matches[:5]),
                fix="name one of these by its id",
            )
        if not matches:
            return SetupError(
                "E0103",
                "The store holds no run yet.",
                where=where,
                fix="run `ragassay evaluate rows.jsonl`, or name another store with --store",
            )
        names: list[str] = []
        for row in matches:
            names += [codec.from_key(key) for key in row if key]
        hint = nearest(name, [*names, "last"])
        return SetupError(
            "E0103",
            f"No run of the name or id {shorten(name)!r} is in the store.{hint}",
            where=where,
            fix="`ragassay runs`, with the same --store, lists them; `last` is the newest",
        )

    def _stored(self, where: ColumnElement[bool], limit: int) -> list[StoredRun]:
        records, tallies = self._access.read(
            lambda connection: _records_and_tallies(connection, where, limit)
        )
        nothing = _Tally(0, 0, 0)
        return [self._stored_run(record, tallies.get(record.id, nothing)) for record in records]

    def _stored_run(self, record: Row[Any], tally: _Tally) -> StoredRun:
        run_id = codec.from_key(record.run_id)
        ledger, writer = self._access.checked(_read_ledger, record, run_id)
        return StoredRun(
            manifest=self._access.value(Manifest, record.manifest, run_id),
            state=self._access.checked(RunState, record.state),
            stop_reason=codec.from_key(record.stop_reason),
            ledger=ledger,
            seconds=record.seconds,
            rows=tally.rows,
            done=tally.done,
            bad=tally.bad,
            updated=record.updated,
            writer=writer,
        )


def _named(names: str) -> ColumnElement[bool]:
    """Runs by their names: "used", by somebody who evaluated rows, or "measuring"."""
    runs = schema.runs.c
    measures = runs.name.like(f"{MEASURING}%")
    if names == "measuring":
        return measures
    return ~measures & (runs.run_id != codec.as_key(DIRECT))


def _records_and_tallies(
    connection: Connection, where: ColumnElement[bool], limit: int
) -> tuple[Sequence[Row[Any]], dict[int, _Tally]]:
    rows = schema.rows.c
    query = select(schema.runs).where(where).order_by(schema.runs.c.id.desc()).limit(limit)
    records = connection.execute(query).all()
    counts = connection.execute(
        select(
            rows.run,
            func.count(),
            func.sum(case((rows.done, 1), else_=0)),
            func.sum(case((rows.bad, 1), else_=0)),
        )
        .where(rows.run.in_([record.id for record in records]))
        .group_by(rows.run)
    )
    tallies = {number: _Tally(total, done, bad) for number, total, done, bad in counts}
    return records, tallies


def _sealed_ledger(ledger: Ledger, writer: str, run_id: str, *columns: object) -> bytes:
    """The ledger and, on a line of its own, whose it is, sealed together with the columns that say
    how the run stands: state, stop_reason, seconds.
    """
    return codec.seal(codec.encode(ledger) + b"\n" + writer.encode(), run_id, *columns)


def _read_ledger(record: Row[Any], run_id: str) -> tuple[Ledger, str]:
    """What `_sealed_ledger` sealed; older stores have the ledger alone. Raises Damaged when any of
    it changed.
    """
    try:
        columns = (record.state, record.stop_reason, record.seconds)
        data = codec.unseal(record.ledger, run_id, *columns)
    except codec.Damaged:
        data = codec.unseal(record.ledger, run_id)
    ledger, _, writer = data.partition(b"\n")
    return codec.decode(Ledger, ledger), writer.decode()
