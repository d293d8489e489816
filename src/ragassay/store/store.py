"""How runs, rows and judgments are written and read back: the one door to the database."""

from __future__ import annotations

import contextlib
import difflib
import os
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Executable,
    Row,
    case,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.sql import ColumnElement, Select

from ragassay.core import (
    MEASURING,
    Batch,
    Certificate,
    DataError,
    EnvironmentFailure,
    HumanLabel,
    Judgment,
    Ledger,
    Manifest,
    RowResult,
    RunState,
    Sample,
    SetupError,
    Spend,
    Status,
    Verdict,
    nearest,
    shorten,
)
from ragassay.store import codec, lines, owner, schema
from ragassay.store.database import Database
from ragassay.store.indices import IndexSet
from ragassay.store.lines import RowLine, ScoreLine, StoredRun
from ragassay.store.location import FOLDER, address_of

T = TypeVar("T")
Pair = tuple[str, str]

IN_LIST = 500  # values in one IN (...): well below every database's limit, few enough round trips
LINES_A_PAGE = 2000
ROWS_A_PAGE = 500
BYTES_A_PAGE = 8 << 20
BEAT_S = 20.0
"""How often the owner of a run says that it still works on it."""
FOREIGN_LOCK_S = 300.0
"""After how long without that the lock of a process that cannot be seen from here counts as left
behind.
"""
COPYING = "copying"
"""The state of a run that another store's copy is being written into; nobody sees it before it is
whole.
"""

_OPEN: set[str] = set()  # tokens of the stores that are open in this process


class Store:
    """A durable store: one SQLite file, or a PostgreSQL database. Made by `Store.open`;
    thread-safe; a context manager.

    What a method has written when it returns survives kill -9 and a power cut. Reading iterators
    fetch page by page: none keeps the database busy while its caller works, and each may be dropped
    half-way. While a database is locked, away or read-only a method waits, up to two minutes, and
    `waiting` says so. Every method raises EnvironmentFailure: E0501 (cannot be opened or written,
    locked, moved away), E0503 (damaged), E0506 (disk full); those that name a run raise SetupError
    E0103 when it is not there.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.location = database.location  # path or URL, as it may be shown: without a password
        self.address = database.address  # as `open` takes it
        self._token = uuid.uuid4().hex
        self._held: set[int] = set()  # runs acquired
        self._lost: set[int] = set()  # runs that another process has taken over
        self._beating: threading.Thread | None = None
        self._still = threading.Event()  # ends the thread that says that the owner works
        self._numbers: dict[str, int] = {}  # run id -> primary key; a run is never deleted
        self._closed = False
        try:
            self.backup = (
                database.prepare()
            )  # the copy made when this opening migrated an older store
        except BaseException:
            database.close()
            raise
        _OPEN.add(self._token)

    @classmethod
    def open(cls, location: str | Path | URL, *, make: bool = True) -> Self:
        """Open the store at a path, `sqlite:///path` or `postgresql://user@host/database`.

        A file (mode 0600) and its folder are made where missing, unless `make` is false: then
        SetupError E0103. An older file is copied to `PATH.<version>.backup` and migrated; an older
        database is migrated in one transaction. Raises SetupError E0101 for another kind of
        database, E0105 where psycopg is not installed, EnvironmentFailure E0502 for a store of a
        newer version.
        """
        address = address_of(location)
        if isinstance(address, Path):
            from ragassay.store.sqlite import open_file

            if not make and (not address.is_file() or not address.stat().st_size):
                raise SetupError(
                    "E0103",
                    "There is no store at this place.",
                    where=str(address),
                    fix="look for a slip in --store; it is made by the first run that names it",
                )
            return cls(open_file(address))
        from ragassay.store.postgres import PostgresDatabase

        return cls(PostgresDatabase(address))

    @property
    def waiting(self) -> str:
        """What a read or write has been waiting for for more than 2 seconds, "" when none has."""
        return str(self.database.waits)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def beside(self, name: str) -> Path:
        """Where a file of this machine that belongs to the store is kept: next to an SQLite file,
        else in the folder `.ragassay` of the current directory, which is made.
        """
        if isinstance(self.database.address, Path):
            return self.database.address.with_name(name)
        Path(FOLDER).mkdir(exist_ok=True)
        return Path(FOLDER).resolve() / name

    def close(self) -> None:
        """Release the runs this store holds and give all connections back. May be called twice."""
        if self._closed:
            return
        try:
            if self._held:
                self._held.clear()
                self._stop_beating()
                mine = delete(schema.run_locks).where(schema.run_locks.c.token == self._token)
                self._execute(mine)
        finally:
            self._closed = True
            _OPEN.discard(self._token)
            self.database.close()

    # ── runs
    # ────────────────────────────────────────────────────────────────────────────────────────────────

    def create_run(self, manifest: Manifest) -> None:
        """Record a new run, state RUNNING. Raises ValueError when its id is taken."""
        self._new_run(
            manifest.run_id, manifest.name, codec.seal(codec.encode(manifest), manifest.run_id)
        )

    def _new_run(
        self, run_id: str, name: str, manifest: bytes, state: str = RunState.RUNNING.value
    ) -> None:
        values = {
            "run_id": codec.as_key(run_id),
            "name": codec.as_key(name),
            "state": state,
            "stop_reason": "",
            "seconds": 0.0,
            "updated": _now(),
            "manifest": manifest,
            "ledger": _stands(Ledger(), self._token, run_id, state, "", 0.0),
        }

        def work(connection: Connection) -> None:
            self.database.alone(connection, "runs")
            if (
                connection.scalar(
                    select(schema.runs.c.id).where(schema.runs.c.run_id == values["run_id"])
                )
                is not None
            ):
                raise ValueError(f"the store already has a run {run_id!r}")
            connection.execute(insert(schema.runs).values(values))

        self._write(work)

    def put_manifest(self, manifest: Manifest) -> None:
        """Write the manifest of a run that is there anew: a resume may set caps, and what is kept
        with the run.
        """
        sealed = codec.seal(codec.encode(manifest), manifest.run_id)
        number = self._number(manifest.run_id)
        self._execute(update(schema.runs).where(schema.runs.c.id == number).values(manifest=sealed))

    def update_run(
        self, run_id: str, *, state: RunState, stop_reason: str, ledger: Ledger, seconds: float
    ) -> None:
        """Write where the run stands."""
        number = self._number(run_id)
        codec.finite(seconds)
        reason, seconds = codec.as_key(stop_reason), float(seconds)
        change = (
            update(schema.runs)
            .where(schema.runs.c.id == number)
            .values(
                state=state.value,
                stop_reason=reason,
                seconds=seconds,
                updated=_now(),
                ledger=_stands(ledger, self._token, run_id, state.value, reason, seconds),
            )
        )
        locks = schema.run_locks.c
        mine = select(locks.run).where(locks.run == number, locks.token == self._token)

        def work(connection: Connection) -> None:
            if (number in self._held or number in self._lost) and connection.execute(
                mine
            ).first() is None:
                raise self._taken_over(run_id)  # what the new owner has written stays
            connection.execute(change)

        self._write(work)

    def run(self, run_id: str) -> StoredRun:
        """The run of this id."""
        return self._runs(schema.runs.c.id == self._number(run_id), 1)[0]

    def runs(self, limit: int = 50) -> list[StoredRun]:
        """The last `limit` runs, newest first."""
        return self._runs(schema.runs.c.state != COPYING, limit)

    def _runs(self, where: ColumnElement[bool], limit: int) -> list[StoredRun]:
        rows = schema.rows.c

        def work(
            connection: Connection,
        ) -> tuple[Sequence[Row[Any]], dict[int, tuple[int, int, int]]]:
            found = connection.execute(
                select(schema.runs).where(where).order_by(schema.runs.c.id.desc()).limit(limit)
            ).all()
            counted = connection.execute(
                select(
                    rows.run,
                    func.count(),
                    func.sum(case((rows.done, 1), else_=0)),
                    func.sum(case((rows.bad, 1), else_=0)),
                )
                .where(rows.run.in_([row.id for row in found]))
                .group_by(rows.run)
            )
            return found, {run: (total, done, bad) for run, total, done, bad in counted}

        found, tallies = self._read(work)
        result = []
        for row in found:
            run_id = codec.from_key(row.run_id)
            total, done, bad = tallies.get(row.id, (0, 0, 0))
            ledger, writer = self._checked(_stood, row, run_id)
            result.append(
                StoredRun(
                    manifest=self._value(Manifest, row.manifest, run_id),
                    state=self._checked(RunState, row.state),
                    stop_reason=codec.from_key(row.stop_reason),
                    ledger=ledger,
                    seconds=row.seconds,
                    rows=total,
                    done=done,
                    bad=bad,
                    updated=row.updated,
                    writer=writer,
                )
            )
        return result

    def newest(self) -> str:
        """The id of the run that was made last, "" when there is none."""
        found = self._scalar(
            select(schema.runs.c.run_id).order_by(schema.runs.c.id.desc()).limit(1)
        )
        return "" if found is None else codec.from_key(found)

    def resolve(self, name: str) -> str:
        """The id of the run that `name` means: "last", an id, a run's name (the newest of that
        name), or the start of one id only. "last" is none of those that were made to measure a
        judge: their names begin with `MEASURING`. Raises SetupError E0103, with the nearest name.
        """
        runs, key, whole = schema.runs.c, codec.as_key(name), schema.runs.c.state != COPYING

        def ids(where: ColumnElement[bool], limit: int) -> list[str]:
            query = select(runs.run_id).where(where, whole).order_by(runs.id.desc()).limit(limit)
            return [codec.from_key(found.run_id) for found in self._all(query)]

        exact = (
            ids(runs.name.not_like(f"{MEASURING}%"), 1)
            if name == "last"
            else ids(runs.run_id == key, 1) or (ids(runs.name == key, 1) if name else [])
        )
        if exact:
            return exact[0]
        started = (
            ids(runs.run_id.startswith(key, autoescape=True), 6) if name and name != "last" else []
        )
        if len(started) == 1:
            return started[0]
        known = self._all(
            select(runs.run_id, runs.name).where(whole).order_by(runs.id.desc()).limit(1000)
        )
        if started:
            raise SetupError(
                "E0103",
                f"Several runs have an id that starts with {shorten(name)!r}.",
                where=self.location,
                why=", ".join(started[:5]),
                fix="give more of the id",
            )
        if name == "last" and known:
            raise SetupError(
                "E0103",
                "The store holds no run yet but those that measured a judge.",
                where=self.location,
                why=", ".join(codec.from_key(row.run_id) for row in known[:5]),
                fix="name one of these by its id",
            )
        if not known:
            raise SetupError(
                "E0103",
                "The store holds no run yet.",
                where=self.location,
                fix="run `ragassay evaluate rows.jsonl`, or name another store with --store",
            )
        hint = nearest(
            name, [codec.from_key(text) for row in known for text in row if text] + ["last"]
        )
        raise SetupError(
            "E0103",
            f"No run of the name or id {shorten(name)!r} is in the store.{hint}",
            where=self.location,
            fix="`ragassay runs`, with the same --store, lists them; `last` is the newest",
        )

    def _number(self, run_id: str) -> int:
        number = self._numbers.get(run_id)
        if number is None:
            runs = schema.runs.c
            number = self._scalar(
                select(runs.id).where(runs.run_id == codec.as_key(run_id), runs.state != COPYING)
            )
            if number is None:
                raise SetupError(
                    "E0103",
                    f"No run of the id {shorten(run_id)!r} is in the store.",
                    where=self.location,
                    fix="`ragassay runs`, with the same --store, lists them",
                )
            self._numbers[run_id] = number
        return number

    # ── who works on a run
    # ──────────────────────────────────────────────────────────────────────────────────

    def acquire(self, run_id: str) -> None:
        """Take the run for this store until `release`, `close` or the end of the process. Again is
        no error.

        Raises EnvironmentFailure E0504 when a living process has it. A lock whose process is gone
        is taken over at once on the same machine; from elsewhere (another container) after
        FOREIGN_LOCK_S without a write.
        """
        self._acquire(run_id, self._number(run_id))

    @property
    def token(self) -> str:
        """What this store owns runs by, and what it writes of how they stand is signed with; no two
        have the same.
        """
        return self._token

    def _acquire(self, run_id: str, number: int) -> None:
        runs, locks = schema.runs.c, schema.run_locks

        def work(connection: Connection) -> None:
            connection.execute(
                select(runs.id).where(runs.id == number).with_for_update(key_share=True)
            )
            now = self._refuse_owned(connection, run_id, number)
            connection.execute(delete(locks).where(locks.c.run == number))
            connection.execute(
                insert(locks).values(
                    run=number,
                    token=self._token,
                    pid=os.getpid(),
                    host=owner.host(),
                    started=owner.started(os.getpid()),
                    seen=now,
                )
            )

        self._write(work)
        self._lost.discard(number)
        self._held.add(number)
        if self._beating is None:
            self._still.clear()
            self._beating = threading.Thread(target=self._beat, name="ragassay-owner", daemon=True)
            self._beating.start()

    def _refuse_owned(self, connection: Connection, run_id: str, number: int) -> float:
        """The time by the database's clock. Raises EnvironmentFailure E0504 when another living
        process has the run.
        """
        locks, now = schema.run_locks, self.database.now(connection)
        lock = connection.execute(select(locks).where(locks.c.run == number)).one_or_none()
        if lock is not None and lock.token != self._token and self._living(lock, now):
            raise EnvironmentFailure(
                "E0504",
                f"The run is being worked on by process {lock.pid} on {lock.host}.",
                where=f"run {run_id} in {self.location}",
                why=f"it was seen {max(0.0, now - lock.seen):.0f} s ago",
                fix=f"wait until it ends, or stop it (kill {lock.pid} on {lock.host})",
            )
        return now

    @staticmethod
    def _living(lock: Row[Any], now: float) -> bool:
        if lock.host == owner.host():
            if lock.pid == os.getpid() and lock.started == owner.started(os.getpid()):
                return bool(lock.token in _OPEN)
            known = owner.alive(lock.pid, lock.started)
            if known is not None:
                return known
        return bool(abs(now - lock.seen) < FOREIGN_LOCK_S)

    def release(self, run_id: str) -> None:
        """Give the run back; nothing happens when this store does not have it."""
        self._release(self._number(run_id))

    def _release(self, number: int) -> None:
        locks = schema.run_locks
        self._held.discard(number)
        self._lost.discard(number)
        if not self._held:
            self._stop_beating()
        mine = delete(locks).where(locks.c.run == number, locks.c.token == self._token)
        self._execute(mine)

    def _beat(self) -> None:
        """Say again and again that the owner works, also while no judgment arrives; notice when it
        is owner no more.
        """
        locks = schema.run_locks

        def work(connection: Connection) -> set[int]:
            now = self.database.now(connection)
            mine = update(locks).where(locks.c.token == self._token).values(seen=now)
            return {
                number
                for number in held
                if connection.execute(mine.where(locks.c.run == number)).rowcount
            }

        while not self._still.wait(BEAT_S):
            held = set(self._held)
            with contextlib.suppress(EnvironmentFailure):  # whoever writes next is told
                self._lost |= (held - self._write(work)) & self._held

    def _stop_beating(self) -> None:
        if self._beating is not None:
            self._still.set()
            self._beating.join()
            self._beating = None

    def _check_owner(self, run_id: str, number: int) -> None:
        if number in self._lost:
            raise self._taken_over(run_id)

    def _taken_over(self, run_id: str) -> EnvironmentFailure:
        return EnvironmentFailure(
            "E0504",
            "Another process has taken the run over.",
            where=f"run {run_id} in {self.location}",
            why=(
                f"this one did not write for {FOREIGN_LOCK_S:.0f} s or more: was it, or its"
                " machine, suspended?"
            ),
            fix="let the other one finish",
        )

    # ── judgments
    # ───────────────────────────────────────────────────────────────────────────────────────────

    def put_judgments(self, run_id: str, judgments: Sequence[Judgment]) -> None:
        """Append judgments, all in one commit. Raises ValueError for NaN and infinities."""
        number = self._number(run_id)
        self._check_owner(run_id, number)
        values = [
            (number, j.judge, j.key, j.status.value, codec.seal(codec.encode(j), j.judge, j.key))
            for j in judgments
        ]
        if values:
            self._write(
                lambda connection: self.database.insert(
                    connection, schema.judgments, JUDGMENT, values
                )
            )

    def get_judgments(
        self, pairs: Sequence[Pair], *, run_id: str | None = None
    ) -> dict[Pair, Judgment]:
        """(judge fingerprint, request key) -> the newest judgment that may be used again: judged or
        abstained.

        run_id: only the judgments that this run has asked for; None = any run's.
        """
        number = None if run_id is None else self._number(run_id)
        wanted: dict[str, list[str]] = {}
        for judge, key in dict.fromkeys(pairs):
            wanted.setdefault(judge, []).append(key)
        table = schema.judgments.c

        def work(connection: Connection) -> dict[Pair, bytes]:
            found = {}
            for judge, keys in wanted.items():
                for start in range(0, len(keys), IN_LIST):
                    query = (
                        select(table.key, table.payload)
                        .where(table.judge == judge, table.key.in_(keys[start : start + IN_LIST]))
                        .where(table.status.in_((Status.JUDGED.value, Status.ABSTAINED.value)))
                        .order_by(table.id)
                    )
                    if number is not None:
                        query = query.where(table.run == number)
                    for key, payload in connection.execute(query):
                        found[judge, key] = payload
            return found

        found = self._read(work)
        return {pair: self._value(Judgment, payload, *pair) for pair, payload in found.items()}

    def unknown_judges(self, judges: Iterable[str]) -> tuple[str, ...]:
        """Those of these fingerprints of which no judgment is stored."""
        table, asked = schema.judgments.c, tuple(judges)
        return self._read(
            lambda connection: tuple(
                judge
                for judge in asked
                if connection.execute(select(table.id).where(table.judge == judge).limit(1)).first()
                is None
            )
        )

    def last_judgment(self) -> int:
        """The number of the newest judgment, 0 when there is none: where it has grown, somebody has
        written.
        """
        return self._read(
            lambda connection: connection.scalar(select(func.max(schema.judgments.c.id))) or 0
        )

    def spend(self, run_id: str) -> Spend:
        """What the run's own judgments cost: the sum of their shares, whatever became of the
        process that asked.
        """
        number, table = self._number(run_id), schema.judgments.c
        query = (
            select(table.judge, table.key, table.payload, table.id)
            .where(table.run == number)
            .order_by(table.id)
        )
        total: dict[str, Any] = {}
        for page in self._pages(query, (table.id,), LINES_A_PAGE):
            self._checked(_add_shares, page, total)
        if "cost" in total:  # shares of a call are floats, whose last digits are of no account
            total["cost"] = float(round(total["cost"], 12))
        return Spend(**total)

    # ── rows
    # ────────────────────────────────────────────────────────────────────────────────────────────────

    def reopen_failed(self, run_id: str) -> int:
        """Mark as not done the rows in which a judgment failed, was refused or could not be read,
        or on which the application failed, and say how many.

        What was judged in them is found again by its key; only the lost judgments are asked once
        more.
        """
        number, rows = self._number(run_id), schema.rows
        lost = {
            line.index
            for line in self.score_lines(run_id)
            if line.counts.failed
            or line.counts.unparsed
            or line.counts.refused
            or line.status is Status.FAILED
        }
        for row in self.rows(run_id):
            if row.sample is not None and row.sample.error is not None:
                lost.add(row.index)
            if row.index in lost and row.done:
                opened = (
                    update(rows)
                    .where(rows.c.run == number, rows.c.idx == row.index)
                    .values(done=False)
                )
                self._execute(opened)
                self.put_rows(run_id, [replace(row, done=False)])
        return len(lost)

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None:
        """Write rows, all in one commit. A row that is done stays as it is; one that is not is
        replaced.

        Raises ValueError for NaN and infinities; nothing of the batch is written then.
        """
        number, rows, bodies = self._number(run_id), schema.rows, schema.bodies
        self._check_owner(run_id, number)
        chosen: dict[int, RowResult] = {}
        for result in results:
            if result.index not in chosen or not chosen[result.index].done:
                chosen[result.index] = result
        if not chosen:
            return
        encoded = {r.index: _as_stored(r, run_id, number) for r in chosen.values()}
        indices = list(encoded)

        def work(connection: Connection) -> None:
            # First of all, so that two who write rows of one run take turns and none sees half of
            # the other's.
            touched = update(schema.runs).where(schema.runs.c.id == number).values(updated=_now())
            connection.execute(touched)
            final = make_way(connection, number, indices)
            fresh = [item for index, item in encoded.items() if index not in final]
            if fresh:
                self.database.insert(connection, rows, ROW, [row for row, _ in fresh])
                self.database.insert(connection, bodies, BODY, [body for _, body in fresh])

        self._write(work)

    def done(self, run_id: str, within: range | None = None) -> IndexSet:
        """The indices of the rows that a resume need not do again; within: only those of this
        range.
        """
        number, rows = self._number(run_id), schema.rows.c

        query = select(rows.idx).where(rows.run == number, rows.done).order_by(rows.idx)
        if within is not None:
            query = query.where(rows.idx >= within.start, rows.idx < within.stop)
        return IndexSet(row[0] for page in self._pages(query, (rows.idx,), 50_000) for row in page)

    def rows(
        self,
        run_id: str,
        *,
        order: Literal["index", "worst"] = "index",
        limit: int | None = None,
        offset: int = 0,
        verdict: Verdict | None = None,
        cause: str | None = None,
    ) -> Iterator[RowResult]:
        """Stored rows with samples, scores and parts, in the order of their source or the worst
        first.

        worst: failed, then undecided, then the rest; within each the lowest mean of the scores that
        have a pass mark; ties by index. verdict, cause: only rows with that verdict, that root
        cause. At most 8 MB of rows (or one row) are read ahead.
        """
        number, rows, bodies = self._number(run_id), schema.rows.c, schema.bodies.c
        query = select(rows.size, rows.idx).where(rows.run == number)
        if verdict is not None:
            query = query.where(rows.verdict == verdict.value)
        if cause is not None:
            query = query.where(rows.cause == codec.as_key(cause))
        keys = (rows.worst, rows.idx) if order == "worst" else (rows.idx,)
        seen, last = 0, (float("-inf"), -1)
        for page in self._pages(
            query.order_by(*keys), keys, ROWS_A_PAGE, limit=limit, offset=offset
        ):
            for indices in portions([(row[1], row[0]) for row in page]):
                found = self._all(
                    select(bodies.idx, bodies.payload).where(
                        bodies.run == number, bodies.idx.in_(indices)
                    )
                )
                payloads: dict[int, bytes] = {row.idx: row.payload for row in found}
                for index in indices:
                    row = self._value(RowResult, payloads.pop(index, b""), run_id, "body", index)
                    place = (lines.worst_key(row), index) if order == "worst" else (0.0, index)
                    if place <= last:
                        raise codec.damaged(
                            "an index leads to another row than it says", self.location
                        )
                    seen, last = seen + 1, place
                    yield row
        if verdict is None and cause is None and limit is None and not offset:
            self._whole(run_id, seen)

    def _whole(self, run_id: str, seen: int) -> None:
        """Refuse to go on as if nothing were missing when a finished run has not all of its rows
        any more.
        """
        stored = self.run(run_id)
        if stored.state is RunState.FINISHED and not seen == stored.rows == stored.manifest.rows:
            raise codec.damaged(
                f"{seen} of the {stored.manifest.rows} rows of a finished run are found",
                self.location,
            )

    def some_rows(self, run_id: str, most: int) -> Iterator[RowResult]:
        """At most so many stored rows, spread evenly over the run, in order; the same ones every
        time.
        """
        number, rows, bodies = self._number(run_id), schema.rows.c, schema.bodies.c
        total = self._scalar(select(func.count()).where(rows.run == number)) or 0
        step = max(1, -(-total // max(1, most)))
        place = (func.row_number().over(order_by=rows.idx) - 1).label("place")
        every = select(rows.idx, rows.size, place).where(rows.run == number).subquery()
        query = (
            select(every.c.idx, every.c.size).where(every.c.place % step == 0).order_by(every.c.idx)
        )
        chosen: list[tuple[int, int]] = [(row.idx, row.size) for row in self._all(query)]
        for indices in portions(chosen):
            for start in range(0, len(indices), IN_LIST):
                here = indices[start : start + IN_LIST]
                query_bodies = select(bodies.idx, bodies.payload).where(
                    bodies.run == number, bodies.idx.in_(here)
                )
                payloads = {row.idx: row.payload for row in self._all(query_bodies)}
                for index in here:
                    yield self._value(RowResult, payloads.pop(index, b""), run_id, "body", index)

    def row(self, run_id: str, row_id: str) -> RowResult | None:
        """The row of this id, None when the run has none."""
        number, rows, bodies = self._number(run_id), schema.rows.c, schema.bodies.c
        key = codec.as_key(row_id)
        query = (
            select(bodies.idx, bodies.payload)
            .join_from(
                schema.rows, schema.bodies, (bodies.run == rows.run) & (bodies.idx == rows.idx)
            )
            .where(rows.run == number, rows.row_id == key, *self.database.hashed(rows.row_id, key))
        )
        found = self._all(query.order_by(rows.idx).limit(1))
        if not found:
            return None
        row = self._value(RowResult, found[0].payload, run_id, "body", found[0].idx)
        if row.id != row_id:
            raise codec.damaged("an index leads to another row than it says", self.location)
        return row

    def answered(self, run_id: str, within: range | None = None) -> dict[int, Sample]:
        """The samples, by index, of rows that are not done and that the application has answered;
        within: only those of this range.
        """
        number, rows, bodies = self._number(run_id), schema.rows.c, schema.bodies.c
        query = (
            select(bodies.idx, bodies.payload)
            .join_from(
                schema.rows, schema.bodies, (bodies.run == rows.run) & (bodies.idx == rows.idx)
            )
            .where(rows.run == number, ~rows.done)
        )
        if within is not None:
            query = query.where(rows.idx >= within.start, rows.idx < within.stop)
        found = self._all(query)
        results = [self._value(RowResult, payload, run_id, "body", idx) for idx, payload in found]
        return {
            r.index: r.sample
            for r in results
            if r.sample is not None and r.sample.response is not None
        }

    def row_ids_like(self, run_id: str, text: str) -> list[str]:
        """Up to 10 ids of the run that a mistyped `text` may have meant, best first: those that
        hold it (whatever the case), then those that look like it among the first 20,000.
        """
        number, rows = self._number(run_id), schema.rows.c
        every = select(rows.row_id).where(rows.run == number).order_by(rows.row_id)
        held = self._all(
            every.where(rows.row_id.icontains(codec.as_key(text), autoescape=True)).limit(10)
        )
        holding = [codec.from_key(row.row_id) for row in held]
        if len(holding) >= 10:
            return holding
        known = [codec.from_key(row.row_id) for row in self._all(every.limit(20_000))]
        close = difflib.get_close_matches(text[:200], known, n=10, cutoff=0.6)
        return list(dict.fromkeys(holding + close))[:10]

    def row_lines(self, run_id: str) -> Iterator[RowLine]:
        """One line a stored row, by index, without its texts."""
        return self._packed(run_id, lines.row_line)

    def score_lines(self, run_id: str, metric: str | None = None) -> Iterator[ScoreLine]:
        """One line a score (only those of `metric` where given), by row index and then in the row's
        own order.
        """
        return chain.from_iterable(
            self._packed(run_id, lambda data: lines.score_lines(data, metric))
        )

    def lines(self, run_id: str) -> Iterator[tuple[RowLine, list[ScoreLine]]]:
        """Each stored row's line with those of its scores, by index: both for the price of one."""
        return self._packed(run_id, lines.row_and_scores)

    def _packed(self, run_id: str, read: Callable[[bytes], T]) -> Iterator[T]:
        number, rows = self._number(run_id), schema.rows.c
        query = select(rows.line, rows.idx).where(rows.run == number).order_by(rows.idx)
        seen, unseal = 0, codec.unsealer(run_id, "line")
        for page in self._pages(query, (rows.idx,), LINES_A_PAGE):
            for blob, index, *_ in page:
                seen += 1
                try:  # written out: this is done for every row of a run
                    found = read(unseal(blob, index))
                except (ValueError, TypeError, KeyError) as error:
                    raise codec.damaged(str(error), self.location) from error
                yield found
        self._whole(run_id, seen)

    # ── certificates and labels
    # ─────────────────────────────────────────────────────────────────────────────────

    def put_certificate(self, certificate: Certificate) -> None:
        """Keep a certificate; one of the same id is there already and stays. Raises ValueError for
        NaN and infinities.
        """
        table, key = schema.certificates, codec.as_key(certificate.id)
        values = {
            "id": key,
            "created": codec.as_key(certificate.created),
            "judge": codec.as_key(certificate.judge),
            "metric": codec.as_key(certificate.metric),
            "dataset": codec.as_key(certificate.dataset),
            "payload": codec.seal(codec.encode(certificate), certificate.id),
        }

        def work(connection: Connection) -> None:
            self.database.alone(connection, "certificates")
            if connection.scalar(select(table.c.id).where(table.c.id == key)) is None:
                connection.execute(insert(table).values(values))

        self._write(work)

    def certificates(self, metric: str | None = None) -> tuple[Certificate, ...]:
        """All certificates, newest first; metric: only those of the metric with this printed name."""
        table = schema.certificates.c
        query = select(table.id, table.payload).order_by(table.created.desc(), table.id)
        if metric is not None:
            query = query.where(table.metric == codec.as_key(metric))
        found = self._all(query)
        return tuple(self._value(Certificate, row.payload, codec.from_key(row.id)) for row in found)

    def put_labels(
        self,
        run_id: str,
        labels: Sequence[HumanLabel],
        *,
        source_hash: str = "",
        replace: bool = False,
    ) -> int:
        """Keep labels of a run's rows, all in one commit; returns how many are new or changed.

        run_id: "" for labels of rows that were not run here; then source_hash says of which rows. A
        person labels a row once under a name: the same value again is skipped. Raises DataError
        E0314 for another value, unless `replace`, and then nothing of the batch is written;
        ValueError for NaN and infinities; SetupError E0103 for an unknown run.
        """
        if run_id:
            self._number(run_id)
        table = schema.labels

        def work(connection: Connection) -> int:
            self.database.alone(connection, "labels")
            written = 0
            for label in labels:
                place = _place(run_id, source_hash, label)
                here = [table.c[name] == value for name, value in place.items()]
                here += self.database.hashed(table.c.row_id, place["row_id"])
                known = connection.scalar(select(table.c.value).where(*here))
                if known is not None and known != label.value and not replace:
                    who = f"{shorten(label.annotator, 40)} has" if label.annotator else "there is"
                    raise DataError(
                        "E0314",
                        "One row has two labels that differ.",
                        where=f"row {shorten(label.row_id, 60)!r}",
                        why=(
                            f"{who} {shorten(label.name, 40)} = {known:g} already, and now"
                            f" {label.value:g}"
                        ),
                        fix="keep one of them; --replace takes the new one",
                    )
                if known is not None and not replace:
                    continue
                if known is not None:
                    connection.execute(delete(table).where(*here))
                payload = codec.seal(codec.encode(label), *place.values())
                connection.execute(
                    insert(table).values(
                        **place,
                        value=label.value,
                        created=codec.as_key(label.created or _now()),
                        payload=payload,
                    )
                )
                written += 1
            return written

        return self._write(work)

    def labels(
        self, run_id: str, name: str | None = None, *, source_hash: str | None = None
    ) -> tuple[HumanLabel, ...]:
        """The labels of a run's rows in the order in which they were stored; name, source_hash:
        only those.
        """
        table = schema.labels.c
        query = select(schema.labels).where(table.run == codec.as_key(run_id)).order_by(table.id)
        if name is not None:
            query = query.where(table.name == codec.as_key(name))
        if source_hash is not None:
            query = query.where(table.source_hash == codec.as_key(source_hash))
        found = self._all(query)
        return tuple(
            self._value(
                HumanLabel,
                row.payload,
                row.run,
                row.source_hash,
                row.row_id,
                row.name,
                row.annotator,
            )
            for row in found
        )

    # ── batches
    # ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def put_batch(self, run_id: str, batch: Batch) -> None:
        """Record what was handed to a provider. One of this id that the run has already is
        replaced.
        """
        number, table = self._number(run_id), schema.batches
        values = {
            "state": codec.as_key(batch.state),
            "created": codec.as_key(batch.created),
            "updated": _now(),
            "payload": codec.seal(codec.encode(batch), run_id, "batch", batch.id),
        }
        here = (table.c.run == number, table.c.batch == codec.as_key(batch.id))

        def work(connection: Connection) -> None:
            self.database.alone(connection, "batches")
            if not connection.execute(update(table).where(*here).values(values)).rowcount:
                connection.execute(
                    insert(table).values(run=number, batch=codec.as_key(batch.id), **values)
                )

        self._write(work)

    update_batch = put_batch

    def batches(self, run_id: str) -> tuple[Batch, ...]:
        """What the run handed to providers, in the order in which it did."""
        table = schema.batches.c
        query = (
            select(table.batch, table.payload)
            .where(table.run == self._number(run_id))
            .order_by(table.id)
        )
        found = self._all(query)
        return tuple(
            self._value(Batch, row.payload, run_id, "batch", codec.from_key(row.batch))
            for row in found
        )

    # ── soundness
    # ───────────────────────────────────────────────────────────────────────────────────────────

    def check(self) -> tuple[str, ...]:
        """What is wrong with the store, at most 100 lines; empty when it is sound.

        The database's own check (SQLite's); every payload against its checksum, decoded and encoded
        again (so that every number is finite); the columns and lines of every row against its body;
        rows against their run's manifest.
        """
        problems: list[str] = []
        for problem in self._problems():
            problems.append(problem)
            if len(problems) == 100:
                break
        return tuple(problems)

    def _problems(self) -> Iterator[str]:
        try:
            yield from self._read(self.database.integrity)
            orphans = self._scalar(
                select(func.count())
                .select_from(schema.bodies)
                .join(
                    schema.rows,
                    (schema.rows.c.run == schema.bodies.c.run)
                    & (schema.rows.c.idx == schema.bodies.c.idx),
                    isouter=True,
                )
                .where(schema.rows.c.run.is_(None))
            )
            if orphans:
                yield f"{orphans} row bodies belong to no row"
            for stored in self.runs(limit=1 << 30):
                yield from self._problems_of(stored)
            table = schema.judgments.c
            query = select(table.judge, table.key, table.status, table.payload, table.id).order_by(
                table.id
            )
            for page in self._pages(query, (table.id,), LINES_A_PAGE):
                for judge, key, status, payload, number, *_ in page:
                    try:
                        judgment = codec.decode(Judgment, codec.unseal(payload, judge, key))
                        codec.encode(judgment)
                        if judgment.status.value != status:
                            yield (
                                f"judgment {number}: its status is {judgment.status}, its column"
                                f" says {status}"
                            )
                    except ValueError as error:
                        yield f"judgment {number}: {error}"
            yield from self._batch_problems()
            yield from self._trust_problems()
        except (EnvironmentFailure, ValueError) as error:
            yield str(error)

    def _batch_problems(self) -> Iterator[str]:
        table = schema.batches.c
        query = select(
            schema.runs.c.run_id, table.batch, table.state, table.payload, table.id
        ).where(table.run == schema.runs.c.id)
        for page in self._pages(query.order_by(table.id), (table.id,), LINES_A_PAGE):
            for run_id, key, state, payload, number, *_ in page:
                try:
                    identity = (codec.from_key(run_id), "batch", codec.from_key(key))
                    held = codec.decode(Batch, codec.unseal(payload, *identity))
                    if codec.as_key(held.state) != state:
                        yield f"batch {number}: its column says another state than its body"
                except ValueError as error:
                    yield f"batch {number}: {error}"

    def _trust_problems(self) -> Iterator[str]:
        certificates = self._all(select(schema.certificates))
        labels = self._all(select(schema.labels))
        for row in certificates:
            try:
                held = codec.decode(Certificate, codec.unseal(row.payload, codec.from_key(row.id)))
                codec.encode(held)
                if codec.as_key(held.metric) != row.metric:
                    yield f"certificate {row.id}: its columns do not fit its body"
            except ValueError as error:
                yield f"certificate {row.id}: {error}"
        for row in labels:
            try:
                place = (row.run, row.source_hash, row.row_id, row.name, row.annotator)
                label = codec.decode(HumanLabel, codec.unseal(row.payload, *place))
                if label.value != row.value:
                    yield (
                        f"label {row.id}: its value is {label.value:g}, its column says"
                        f" {row.value:g}"
                    )
            except ValueError as error:
                yield f"label {row.id}: {error}"

    def _problems_of(self, stored: StoredRun) -> Iterator[str]:
        run_id, rows, bodies = stored.run_id, schema.rows.c, schema.bodies.c
        if stored.rows > stored.manifest.rows:
            yield f"run {run_id}: {stored.rows} rows are stored of {stored.manifest.rows}"
        query = (
            select(
                rows.row_id,
                rows.done,
                rows.bad,
                rows.verdict,
                rows.cause,
                rows.worst,
                rows.size,
                rows.line,
                rows.idx,
            )
            .where(rows.run == self._number(run_id))
            .order_by(rows.idx)
        )
        for page in self._pages(query, (rows.idx,), LINES_A_PAGE):
            for entry in page:
                where = f"run {run_id}, row {entry.idx}"
                body = self._scalar(
                    select(bodies.payload).where(
                        bodies.run == self._number(run_id), bodies.idx == entry.idx
                    )
                )
                try:
                    row = codec.decode(
                        RowResult, codec.unseal(body or b"", run_id, "body", entry.idx)
                    )
                    if lines.pack(row) != codec.unseal(entry.line, run_id, "line", entry.idx):
                        yield f"{where}: its lines are not those of its scores"
                    columns = {
                        "row_id": codec.as_key(row.id),
                        **_columns(row),
                        "size": len(body or b""),
                    }
                    wrong = [
                        name for name, value in columns.items() if getattr(entry, name) != value
                    ]
                    if wrong:
                        yield f"{where}: the columns {', '.join(wrong)} do not fit its body"
                    for score in row.scores:
                        c = score.counts
                        unjudged = c.abstained + c.unparsed + c.refused + c.failed + c.over_budget
                        if c.asked != c.judged + unjudged:
                            yield f"{where}: the counts of {score.metric} do not add up"
                except ValueError as error:
                    yield f"{where}: {error}"

    # ── the ways in and out
    # ─────────────────────────────────────────────────────────────────────────────────

    def _write(self, work: Callable[[Connection], T]) -> T:
        self._still_open()
        return self.database.write(work)

    def _read(self, work: Callable[[Connection], T]) -> T:
        self._still_open()
        try:
            return self.database.read(work)
        except (
            TypeError,
            AttributeError,
            UnicodeDecodeError,
            OverflowError,
        ) as error:  # a column of another kind
            raise codec.damaged(str(error), self.location) from error

    def _execute(self, change: Executable) -> None:
        self._write(lambda connection: connection.execute(change))

    def _all(self, query: Executable) -> Sequence[Any]:
        return self._read(lambda connection: connection.execute(query).all())

    def _scalar(self, query: Executable) -> Any:
        return self._read(lambda connection: connection.scalar(query))

    def _still_open(self) -> None:
        if self._closed:
            raise RuntimeError("the store is closed")

    def _pages(
        self,
        query: Select[*tuple[Any, ...]],
        keys: tuple[ColumnElement[Any], ...],
        size: int,
        *,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[Sequence[Row[*tuple[Any, ...]]]]:
        """The query's rows page by page, each in a transaction of its own, continued by the values
        of `keys`, by which the query is ordered; they stand at the end of each row.
        """
        query = query.add_columns(*(key.label(f"key_{i}") for i, key in enumerate(keys)))
        after: tuple[object, ...] | None = None
        while limit is None or limit > 0:
            page = query.limit(size if limit is None else min(size, limit))
            if after is None:
                page = page.offset(offset) if offset else page
            else:
                page = page.where(
                    tuple_(*keys) > tuple_(*after) if len(keys) > 1 else keys[0] > after[0]
                )
            rows = self._all(page)
            if not rows:
                return
            after = tuple(rows[-1][-len(keys) :])
            limit = None if limit is None else limit - len(rows)
            yield rows

    def _value(self, kind: type[T], blob: bytes, *identity: object) -> T:
        return self._checked(lambda: codec.decode(kind, codec.unseal(blob, *identity)))

    def _checked(self, read: Callable[..., T], *arguments: object) -> T:
        try:
            return read(*arguments)
        except (ValueError, TypeError, KeyError) as error:
            raise codec.damaged(str(error), self.location) from error


def _stands(ledger: Ledger, writer: str, run_id: str, *columns: object) -> bytes:
    """The ledger and, on a line of its own, whose it is, sealed together with the columns that say
    how the run stands: state, stop_reason, seconds.
    """
    return codec.seal(codec.encode(ledger) + b"\n" + writer.encode(), run_id, *columns)


def _stood(row: Row[Any], run_id: str) -> tuple[Ledger, str]:
    """What `_stands` sealed; older stores have the ledger alone. Raises Damaged when any of it
    changed.
    """
    try:
        data = codec.unseal(row.ledger, run_id, row.state, row.stop_reason, row.seconds)
    except codec.Damaged:
        data = codec.unseal(row.ledger, run_id)
    written, _, writer = data.partition(b"\n")
    return codec.decode(Ledger, written), writer.decode()


JUDGMENT = ("run", "judge", "key", "status", "payload")
ROW = ("run", "idx", "row_id", "done", "bad", "verdict", "cause", "worst", "size", "line")
BODY = ("run", "idx", "payload")
BATCH = ("run", "batch", "state", "created", "updated", "payload")


def make_way(connection: Connection, number: int, indices: Sequence[int]) -> set[int]:
    """Delete the rows among these that are not done; those that are, and stay."""
    rows, final = schema.rows, set[int]()
    # This condition excludes no row; but without it SQLite reads all of the run's part of the index
    # (run, done, idx), each time.
    either = rows.c.done.in_((False, True))
    for start in range(0, len(indices), IN_LIST):
        some = indices[start : start + IN_LIST]
        query = select(rows.c.idx, rows.c.done).where(
            rows.c.run == number, either, rows.c.idx.in_(some)
        )
        known = connection.execute(query).all()
        final.update(index for index, done in known if done)
        if replaced := [index for index, done in known if not done]:
            for table in (rows, schema.bodies):
                connection.execute(
                    delete(table).where(table.c.run == number, table.c.idx.in_(replaced))
                )
    return final


def _as_stored(row: RowResult, run_id: str, number: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The values of the row's columns, ROW, and of its body's, BODY."""
    body = codec.seal(codec.encode(row), run_id, "body", row.index)
    line = codec.seal(lines.pack(row), run_id, "line", row.index)
    columns = {
        "run": number,
        "idx": row.index,
        "row_id": codec.as_key(row.id),
        **_columns(row),
        "size": len(body),
    }
    return tuple([columns[name] for name in ROW[:-1]] + [line]), (number, row.index, body)


def _columns(row: RowResult) -> Mapping[str, object]:
    """What a row can be chosen and ordered by."""
    verdict, cause = row.diagnosis.verdict, row.diagnosis.cause
    return {
        "done": row.done,
        "bad": row.bad is not None,
        "verdict": verdict.value if verdict is not None else None,
        "cause": codec.as_key(cause.name) if cause is not None else "",
        "worst": lines.worst_key(row),
    }


def _place(run_id: str, source_hash: str, label: HumanLabel) -> dict[str, str]:
    """What there is one label of, as the columns hold it."""
    place = {
        "run": run_id,
        "source_hash": source_hash,
        "row_id": label.row_id,
        "name": label.name,
        "annotator": label.annotator,
    }
    return {name: codec.as_key(value) for name, value in place.items()}


def _add_shares(page: Sequence[Any], total: dict[str, Any]) -> None:
    """Add what each judgment cost, out of its plain values: a resume reads all judgments of its
    run.
    """
    for judge, key, payload, *_ in page:
        for name, amount in codec.load(codec.unseal(payload, judge, key)).get("spend", {}).items():
            total[name] = total.get(name, 0) + (Decimal(repr(amount)) if name == "cost" else amount)


def portions(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Indices, given with their sizes in bytes, in groups of at most BYTES_A_PAGE (or one index)."""
    group: list[int] = []
    total = 0
    for index, size in sizes:
        if not isinstance(size, int) or not isinstance(index, int):
            raise codec.damaged("a row does not say where it is, or how long")
        if group and total + size > BYTES_A_PAGE:
            yield group
            group, total = [], 0
        group.append(index)
        total += size
    if group:
        yield group


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
