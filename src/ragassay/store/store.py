"""How runs, rows and judgments are written and read back: the one door to the database."""

from __future__ import annotations

import contextlib
import difflib
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from sqlalchemy import Connection, Row, Table, case, delete, func, insert, literal, select, tuple_, update
from sqlalchemy.exc import SQLAlchemyError
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
from ragassay.store import codec, lines, migrate, owner, schema, sqlite
from ragassay.store.indices import IndexSet
from ragassay.store.lines import RowLine, ScoreLine, StoredRun
from ragassay.store.location import FOLDER, file_of

T = TypeVar("T")
Pair = tuple[str, str]

IN_LIST = 500  # values in one IN (...): well below every database's limit, few enough round trips
LINES_A_PAGE = 2000
ROWS_A_PAGE = 500
BYTES_A_PAGE = 8 << 20
SEEN_EVERY_S = 5.0
FOREIGN_LOCK_S = 900.0
"""After how long without a write the lock of a process that cannot be seen from here counts as left behind."""

_OPEN: set[str] = set()  # tokens of the stores that are open in this process


class Store:
    """A durable store in one SQLite file. Made by `Store.open`; thread-safe; a context manager.

    What a method has written when it returns survives kill -9 and a power cut. Reading iterators fetch page by page:
    none keeps the database busy while its caller works, and each may be dropped half-way. Every method raises
    EnvironmentFailure: E0501 (cannot be opened or written, locked, moved away), E0503 (damaged), E0506 (disk full);
    those that name a run raise SetupError E0103 when it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backup: Path | None = None  # the copy made when this opening migrated an older store
        self._token = uuid.uuid4().hex
        self._held: dict[int, float] = {}  # runs acquired -> when the lock's `seen` was last written
        self._numbers: dict[str, int] = {}  # run id -> primary key; a run is never deleted
        self._closed = False
        with self._guard():
            sqlite.create_file(path)
            if path.parent.name == FOLDER and not (path.parent / ".gitignore").exists():
                (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
            self._file = path.stat().st_ino
            self._lock = sqlite.WriterLock(path.parent)
        self._writer = sqlite.writer_engine(path)
        self._reader = sqlite.reader_engine(path)
        try:
            with self._guard(), self._lock.hold():
                self.backup = migrate.ensure(self._writer, path)
        except BaseException:
            self._dispose()
            raise
        _OPEN.add(self._token)

    @classmethod
    def open(cls, location: str | Path) -> Self:
        """Open the store at a path or `sqlite:///path`, making the file (mode 0600) and its folder where missing.

        An older store is copied to `PATH.<version>.backup` and migrated. Raises SetupError E0101 for another kind of
        database, EnvironmentFailure E0502 for a store of a newer version.
        """
        return cls(file_of(location))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the runs this store holds and give all connections back. May be called twice."""
        if self._closed:
            return
        try:
            if self._held:
                with self._write() as connection:
                    connection.execute(delete(schema.run_locks).where(schema.run_locks.c.token == self._token))
        finally:
            self._closed = True
            self._dispose()

    def _dispose(self) -> None:
        _OPEN.discard(self._token)
        self._reader.dispose()
        self._writer.dispose()
        self._lock.close()

    # ── runs ────────────────────────────────────────────────────────────────────────────────────────────────

    def create_run(self, manifest: Manifest) -> None:
        """Record a new run, state RUNNING. Raises ValueError when its id is taken."""
        run_id = codec.as_key(manifest.run_id)
        with self._write() as connection:
            if connection.scalar(select(schema.runs.c.id).where(schema.runs.c.run_id == run_id)) is not None:
                raise ValueError(f"the store already has a run {manifest.run_id!r}")
            connection.execute(
                insert(schema.runs).values(
                    run_id=run_id,
                    name=codec.as_key(manifest.name),
                    state=RunState.RUNNING.value,
                    stop_reason="",
                    seconds=0.0,
                    updated=_now(),
                    manifest=codec.seal(codec.encode(manifest), manifest.run_id),
                    ledger=codec.seal(codec.encode(Ledger()), manifest.run_id),
                )
            )

    def update_run(self, run_id: str, *, state: RunState, stop_reason: str, ledger: Ledger, seconds: float) -> None:
        """Write where the run stands. The manifest never changes."""
        number = self._number(run_id)
        codec.finite(seconds)
        with self._write() as connection:
            connection.execute(
                update(schema.runs)
                .where(schema.runs.c.id == number)
                .values(
                    state=state.value,
                    stop_reason=codec.as_key(stop_reason),
                    seconds=float(seconds),
                    updated=_now(),
                    ledger=codec.seal(codec.encode(ledger), run_id),
                )
            )

    def run(self, run_id: str) -> StoredRun:
        """The run of this id."""
        return self._runs(schema.runs.c.id == self._number(run_id), 1)[0]

    def runs(self, limit: int = 50) -> list[StoredRun]:
        """The last `limit` runs, newest first."""
        return self._runs(literal(True), limit)

    def _runs(self, where: ColumnElement[bool], limit: int) -> list[StoredRun]:
        rows = schema.rows.c
        with self._read() as connection:
            found = connection.execute(
                select(schema.runs).where(where).order_by(schema.runs.c.id.desc()).limit(limit)
            ).all()
            tallies: dict[int, tuple[int, int, int]] = {
                run: (total, done, bad)
                for run, total, done, bad in connection.execute(
                    select(
                        rows.run,
                        func.count(),
                        func.sum(case((rows.done, 1), else_=0)),
                        func.sum(case((rows.bad, 1), else_=0)),
                    )
                    .where(rows.run.in_([row.id for row in found]))
                    .group_by(rows.run)
                )
            }
        result = []
        for row in found:
            run_id = codec.from_key(row.run_id)
            total, done, bad = tallies.get(row.id, (0, 0, 0))
            result.append(
                StoredRun(
                    manifest=self._value(Manifest, row.manifest, run_id),
                    state=RunState(row.state),
                    stop_reason=codec.from_key(row.stop_reason),
                    ledger=self._value(Ledger, row.ledger, run_id),
                    seconds=row.seconds,
                    rows=total,
                    done=done,
                    bad=bad,
                    updated=row.updated,
                )
            )
        return result

    def resolve(self, name: str) -> str:
        """The id of the run that `name` means: "last", an id, a run's name (the newest of that name), or the start of
        one id only. "last" is none of those that were made to measure a judge: their names begin with `MEASURING`.
        Raises SetupError E0103, with the nearest name."""
        runs, key = schema.runs.c, codec.as_key(name)
        with self._read() as connection:

            def ids(where: ColumnElement[bool], limit: int) -> list[str]:
                query = select(runs.run_id).where(where).order_by(runs.id.desc()).limit(limit)
                return [codec.from_key(found) for found in connection.scalars(query)]

            exact = (
                ids(runs.name.not_like(f"{MEASURING}%"), 1)
                if name == "last"
                else ids(runs.run_id == key, 1) or (ids(runs.name == key, 1) if name else [])
            )
            if exact:
                return exact[0]
            started = ids(runs.run_id.startswith(key, autoescape=True), 6) if name and name != "last" else []
            if len(started) == 1:
                return started[0]
            known = connection.execute(select(runs.run_id, runs.name).order_by(runs.id.desc()).limit(1000)).all()
        if started:
            raise SetupError(
                "E0103", f"Several runs have an id that starts with {shorten(name)!r}.", where=str(self.path),
                why=", ".join(started[:5]), fix="give more of the id",
            )  # fmt: skip
        if name == "last" and known:
            raise SetupError(
                "E0103", "The store holds no run yet but those that measured a judge.", where=str(self.path),
                why=", ".join(codec.from_key(row.run_id) for row in known[:5]), fix="name one of these by its id",
            )  # fmt: skip
        if not known:
            raise SetupError(
                "E0103", "The store holds no run yet.", where=str(self.path),
                fix="run `ragassay evaluate rows.jsonl`, or name another store with --store",
            )  # fmt: skip
        hint = nearest(name, [codec.from_key(text) for row in known for text in row if text] + ["last"])
        raise SetupError(
            "E0103", f"No run of the name or id {shorten(name)!r} is in the store.{hint}", where=str(self.path),
            fix="`ragassay runs` lists them; `last` is the newest",
        )  # fmt: skip

    def _number(self, run_id: str) -> int:
        number = self._numbers.get(run_id)
        if number is None:
            with self._read() as connection:
                number = connection.scalar(select(schema.runs.c.id).where(schema.runs.c.run_id == codec.as_key(run_id)))
            if number is None:
                raise SetupError(
                    "E0103", f"No run of the id {shorten(run_id)!r} is in the store.", where=str(self.path),
                    fix="`ragassay runs` lists them",
                )  # fmt: skip
            self._numbers[run_id] = number
        return number

    # ── who works on a run ──────────────────────────────────────────────────────────────────────────────────

    def acquire(self, run_id: str) -> None:
        """Take the run for this store until `release`, `close` or the end of the process. Again is no error.

        Raises EnvironmentFailure E0504 when a living process has it. A lock whose process is gone is taken over at
        once on the same machine; from elsewhere (another container) after FOREIGN_LOCK_S without a write.
        """
        number, locks, now = self._number(run_id), schema.run_locks, time.time()
        with self._write() as connection:
            lock = connection.execute(select(locks).where(locks.c.run == number)).one_or_none()
            if lock is not None and lock.token != self._token and self._living(lock, now):
                raise EnvironmentFailure(
                    "E0504", f"The run is being worked on by process {lock.pid} on {lock.host}.",
                    where=f"run {run_id} in {self.path}", why=f"it last wrote {max(0.0, now - lock.seen):.0f} s ago",
                    fix=f"wait until it ends, or stop it (kill {lock.pid} on {lock.host}), then run the command again",
                )  # fmt: skip
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
        self._held[number] = now

    @staticmethod
    def _living(lock: Row[tuple[int, str, int, str, str, float]], now: float) -> bool:
        if lock.host == owner.host():
            if lock.pid == os.getpid() and lock.started == owner.started(os.getpid()):
                return bool(lock.token in _OPEN)
            known = owner.alive(lock.pid, lock.started)
            if known is not None:
                return known
        return bool(abs(now - lock.seen) < FOREIGN_LOCK_S)

    def release(self, run_id: str) -> None:
        """Give the run back; nothing happens when this store does not have it."""
        number, locks = self._number(run_id), schema.run_locks
        with self._write() as connection:
            connection.execute(delete(locks).where(locks.c.run == number, locks.c.token == self._token))
        self._held.pop(number, None)

    # ── judgments ───────────────────────────────────────────────────────────────────────────────────────────

    def put_judgments(self, run_id: str, judgments: Sequence[Judgment]) -> None:
        """Append judgments, all in one commit. Raises ValueError for NaN and infinities."""
        number = self._number(run_id)
        values = [
            (
                number,
                judgment.judge,
                judgment.key,
                judgment.status.value,
                codec.seal(codec.encode(judgment), judgment.judge, judgment.key),
            )
            for judgment in judgments
        ]
        if values:
            with self._write() as connection:
                self._seen(connection, number)
                _insert(connection, schema.judgments, ("run", "judge", "key", "status", "payload"), values)

    def get_judgments(self, pairs: Sequence[Pair], *, run_id: str | None = None) -> dict[Pair, Judgment]:
        """(judge fingerprint, request key) -> the newest judgment that may be used again: judged or abstained.

        run_id: only the judgments that this run has asked for; None = any run's.
        """
        number = None if run_id is None else self._number(run_id)
        wanted: dict[str, list[str]] = {}
        for judge, key in dict.fromkeys(pairs):
            wanted.setdefault(judge, []).append(key)
        table, found = schema.judgments.c, {}
        with self._read() as connection:
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
        return {pair: self._value(Judgment, payload, *pair) for pair, payload in found.items()}

    def unknown_judges(self, judges: Iterable[str]) -> tuple[str, ...]:
        """Those of these fingerprints of which no judgment is stored."""
        table = schema.judgments.c
        with self._read() as connection:
            return tuple(
                judge
                for judge in judges
                if connection.execute(select(table.id).where(table.judge == judge).limit(1)).first() is None
            )

    def last_judgment(self) -> int:
        """The number of the newest judgment, 0 when there is none: where it has grown, somebody has written."""
        with self._read() as connection:
            return connection.scalar(select(func.max(schema.judgments.c.id))) or 0

    def spend(self, run_id: str) -> Spend:
        """What the run's own judgments cost: the sum of their shares, whatever became of the process that asked."""
        number, table, total = self._number(run_id), schema.judgments.c, Spend()
        query = select(table.judge, table.key, table.payload, table.id).where(table.run == number).order_by(table.id)
        for page in self._pages(query, (table.id,), LINES_A_PAGE):
            for judge, key, payload, *_ in page:
                share = self._value(Judgment, payload, judge, key).spend
                if share.calls or share.input_tokens or share.cost or share.seconds:
                    total += share
        return total

    # ── rows ────────────────────────────────────────────────────────────────────────────────────────────────

    def reopen_failed(self, run_id: str) -> int:
        """Mark as not done the rows in which a judgment failed, was refused or could not be read, or on which the
        application failed, and say how many.

        What was judged in them is found again by its key; only the lost judgments are asked once more.
        """
        number, rows = self._number(run_id), schema.rows
        lost = {
            line.index
            for line in self.score_lines(run_id)
            if line.counts.failed or line.counts.unparsed or line.counts.refused or line.status is Status.FAILED
        }
        for row in self.rows(run_id):
            if row.sample is not None and row.sample.error is not None:
                lost.add(row.index)
            if row.index in lost and row.done:
                with self._write() as connection:
                    connection.execute(
                        update(rows).where(rows.c.run == number, rows.c.idx == row.index).values(done=False)
                    )
                self.put_rows(run_id, [replace(row, done=False)])
        return len(lost)

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None:
        """Write rows, all in one commit. A row that is done stays as it is; one that is not is replaced.

        Raises ValueError for NaN and infinities; nothing of the batch is written then.
        """
        number, rows, bodies = self._number(run_id), schema.rows, schema.bodies
        chosen: dict[int, RowResult] = {}
        for result in results:
            if result.index not in chosen or not chosen[result.index].done:
                chosen[result.index] = result
        if not chosen:
            return
        encoded = [(r, lines.pack(r), codec.seal(codec.encode(r), run_id, "body", r.index)) for r in chosen.values()]
        indices = list(chosen)
        with self._write() as connection:
            self._seen(connection, number)
            final: set[int] = set()
            for start in range(0, len(indices), IN_LIST):
                here = indices[start : start + IN_LIST]
                known = connection.execute(
                    select(rows.c.idx, rows.c.done).where(rows.c.run == number, rows.c.idx.in_(here))
                ).all()
                final.update(idx for idx, done in known if done)
                if replaced := [idx for idx, done in known if not done]:
                    for table in (rows, bodies):
                        connection.execute(delete(table).where(table.c.run == number, table.c.idx.in_(replaced)))
            fresh = [item for item in encoded if item[0].index not in final]
            if not fresh:
                return
            _insert(
                connection, rows, ("run", "idx", "row_id", *_COLUMNS, "size", "line"),
                [
                    (
                        number, row.index, codec.as_key(row.id), *_columns(row).values(), len(body),
                        codec.seal(line, run_id, "line", row.index),
                    )
                    for row, line, body in fresh
                ],
            )  # fmt: skip
            _insert(
                connection, bodies, ("run", "idx", "payload"), [(number, row.index, body) for row, _, body in fresh]
            )
            connection.execute(update(schema.runs).where(schema.runs.c.id == number).values(updated=_now()))

    def done(self, run_id: str) -> IndexSet:
        """The indices of the rows that a resume need not do again."""
        number, rows = self._number(run_id), schema.rows.c

        query = select(rows.idx).where(rows.run == number, rows.done).order_by(rows.idx)
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
        """Stored rows with samples, scores and parts, in the order of their source or the worst first.

        worst: failed, then undecided, then the rest; within each the lowest mean of the scores that have a pass mark;
        ties by index. verdict, cause: only rows with that verdict, that root cause. At most 8 MB of rows (or one row)
        are read ahead.
        """
        number, rows, bodies = self._number(run_id), schema.rows.c, schema.bodies.c
        query = select(rows.size, rows.idx).where(rows.run == number)
        if verdict is not None:
            query = query.where(rows.verdict == verdict.value)
        if cause is not None:
            query = query.where(rows.cause == codec.as_key(cause))
        keys = (rows.worst, rows.idx) if order == "worst" else (rows.idx,)
        for page in self._pages(query.order_by(*keys), keys, ROWS_A_PAGE, limit=limit, offset=offset):
            for indices in _portions([(row[1], row[0]) for row in page]):
                with self._read() as connection:
                    found = connection.execute(
                        select(bodies.idx, bodies.payload).where(bodies.run == number, bodies.idx.in_(indices))
                    ).all()
                payloads: dict[int, bytes] = {row.idx: row.payload for row in found}
                for index in indices:
                    yield self._value(RowResult, payloads.pop(index, b""), run_id, "body", index)

    def some_rows(self, run_id: str, most: int) -> Iterator[RowResult]:
        """At most so many stored rows, spread evenly over the run, in order; the same ones every time."""
        number, rows, bodies = self._number(run_id), schema.rows.c, schema.bodies.c
        with self._read() as connection:
            total = connection.scalar(select(func.count()).where(rows.run == number)) or 0
            step = max(1, -(-total // max(1, most)))
            place = (func.row_number().over(order_by=rows.idx) - 1).label("place")
            every = select(rows.idx, rows.size, place).where(rows.run == number).subquery()
            query = select(every.c.idx, every.c.size).where(every.c.place % step == 0).order_by(every.c.idx)
            chosen = [(row.idx, row.size) for row in connection.execute(query)]
        for indices in _portions(chosen):
            for start in range(0, len(indices), IN_LIST):
                here = indices[start : start + IN_LIST]
                query_bodies = select(bodies.idx, bodies.payload).where(bodies.run == number, bodies.idx.in_(here))
                with self._read() as connection:
                    payloads = {row.idx: row.payload for row in connection.execute(query_bodies)}
                for index in here:
                    yield self._value(RowResult, payloads.pop(index, b""), run_id, "body", index)

    def row(self, run_id: str, row_id: str) -> RowResult | None:
        """The row of this id, None when the run has none."""
        number, rows, bodies = self._number(run_id), schema.rows.c, schema.bodies.c
        with self._read() as connection:
            found = connection.execute(
                select(bodies.idx, bodies.payload)
                .join_from(schema.rows, schema.bodies, (bodies.run == rows.run) & (bodies.idx == rows.idx))
                .where(rows.run == number, rows.row_id == codec.as_key(row_id))
                .order_by(rows.idx)
                .limit(1)
            ).one_or_none()
        return None if found is None else self._value(RowResult, found.payload, run_id, "body", found.idx)

    def answered(self, run_id: str) -> dict[int, Sample]:
        """The samples, by index, of rows that are not done and that the application has answered."""
        number, rows, bodies = self._number(run_id), schema.rows.c, schema.bodies.c
        with self._read() as connection:
            found = connection.execute(
                select(bodies.idx, bodies.payload)
                .join_from(schema.rows, schema.bodies, (bodies.run == rows.run) & (bodies.idx == rows.idx))
                .where(rows.run == number, ~rows.done)
            ).all()
        results = [self._value(RowResult, payload, run_id, "body", idx) for idx, payload in found]
        return {r.index: r.sample for r in results if r.sample is not None and r.sample.response is not None}

    def row_ids_like(self, run_id: str, text: str) -> list[str]:
        """Up to 10 ids of the run that a mistyped `text` may have meant, best first: those that hold it (whatever
        the case), then those that look like it among the first 20,000."""
        number, rows = self._number(run_id), schema.rows.c
        every = select(rows.row_id).where(rows.run == number).order_by(rows.row_id)
        with self._read() as connection:
            holding = [
                codec.from_key(key)
                for key in connection.scalars(
                    every.where(rows.row_id.icontains(codec.as_key(text), autoescape=True)).limit(10)
                )
            ]
            if len(holding) >= 10:
                return holding
            known = [codec.from_key(key) for key in connection.scalars(every.limit(20_000))]
        close = difflib.get_close_matches(text[:200], known, n=10, cutoff=0.6)
        return list(dict.fromkeys(holding + close))[:10]

    def row_lines(self, run_id: str) -> Iterator[RowLine]:
        """One line a stored row, by index, without its texts."""
        return (self._checked(lines.row_line, data) for data in self._packed(run_id))

    def score_lines(self, run_id: str, metric: str | None = None) -> Iterator[ScoreLine]:
        """One line a score (only those of `metric` where given), by row index and then in the row's own order."""
        for data in self._packed(run_id):
            yield from self._checked(lambda data=data: list(lines.score_lines(data, metric)))

    def _packed(self, run_id: str) -> Iterator[bytes]:
        number, rows = self._number(run_id), schema.rows.c
        query = select(rows.line, rows.idx).where(rows.run == number).order_by(rows.idx)
        for page in self._pages(query, (rows.idx,), LINES_A_PAGE):
            for blob, index, *_ in page:
                yield self._checked(codec.unseal, blob, run_id, "line", index)

    # ── certificates and labels ─────────────────────────────────────────────────────────────────────────────────

    def put_certificate(self, certificate: Certificate) -> None:
        """Keep a certificate; one of the same id is there already and stays. Raises ValueError for NaN and infinities."""
        table, key = schema.certificates, codec.as_key(certificate.id)
        values = {
            "id": key,
            "created": codec.as_key(certificate.created),
            "judge": codec.as_key(certificate.judge),
            "metric": codec.as_key(certificate.metric),
            "dataset": codec.as_key(certificate.dataset),
            "payload": codec.seal(codec.encode(certificate), certificate.id),
        }
        with self._write() as connection:
            if connection.scalar(select(table.c.id).where(table.c.id == key)) is None:
                connection.execute(insert(table).values(values))

    def certificates(self, metric: str | None = None) -> tuple[Certificate, ...]:
        """All certificates, newest first; metric: only those of the metric with this printed name."""
        table = schema.certificates.c
        query = select(table.id, table.payload).order_by(table.created.desc(), table.id)
        if metric is not None:
            query = query.where(table.metric == codec.as_key(metric))
        with self._read() as connection:
            found = connection.execute(query).all()
        return tuple(self._value(Certificate, row.payload, codec.from_key(row.id)) for row in found)

    def put_labels(
        self, run_id: str, labels: Sequence[HumanLabel], *, source_hash: str = "", replace: bool = False
    ) -> int:
        """Keep labels of a run's rows, all in one commit; returns how many are new or changed.

        run_id: "" for labels of rows that were not run here; then source_hash says of which rows. A person labels a row
        once under a name: the same value again is skipped. Raises DataError E0314 for another value, unless `replace`,
        and then nothing of the batch is written; ValueError for NaN and infinities; SetupError E0103 for an unknown run.
        """
        if run_id:
            self._number(run_id)
        table, written = schema.labels, 0
        with self._write() as connection:
            for label in labels:
                place = _place(run_id, source_hash, label)
                here = [table.c[name] == value for name, value in place.items()]
                known = connection.scalar(select(table.c.value).where(*here))
                if known is not None and known != label.value and not replace:
                    who = f"{shorten(label.annotator, 40)} has" if label.annotator else "there is"
                    raise DataError(
                        "E0314", "One row has two labels that differ.", where=f"row {shorten(label.row_id, 60)!r}",
                        why=f"{who} {shorten(label.name, 40)} = {known:g} already, and now {label.value:g}",
                        fix="keep one of them; --replace takes the new one",
                    )  # fmt: skip
                if known is not None and not replace:
                    continue
                if known is not None:
                    connection.execute(delete(table).where(*here))
                payload = codec.seal(codec.encode(label), *place.values())
                connection.execute(
                    insert(table).values(
                        **place, value=label.value, created=codec.as_key(label.created or _now()), payload=payload
                    )
                )
                written += 1
        return written

    def labels(self, run_id: str, name: str | None = None, *, source_hash: str | None = None) -> tuple[HumanLabel, ...]:
        """The labels of a run's rows in the order in which they were stored; name, source_hash: only those."""
        table = schema.labels.c
        query = select(schema.labels).where(table.run == codec.as_key(run_id)).order_by(table.id)
        if name is not None:
            query = query.where(table.name == codec.as_key(name))
        if source_hash is not None:
            query = query.where(table.source_hash == codec.as_key(source_hash))
        with self._read() as connection:
            found = connection.execute(query).all()
        return tuple(
            self._value(HumanLabel, row.payload, row.run, row.source_hash, row.row_id, row.name, row.annotator)
            for row in found
        )

    # ── batches ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def put_batch(self, run_id: str, batch: Batch) -> None:
        """Record what was handed to a provider. One of this id that the run has already is replaced."""
        number, table = self._number(run_id), schema.batches
        values = {
            "state": codec.as_key(batch.state),
            "created": codec.as_key(batch.created),
            "updated": _now(),
            "payload": codec.seal(codec.encode(batch), run_id, "batch", batch.id),
        }
        here = (table.c.run == number, table.c.batch == codec.as_key(batch.id))
        with self._write() as connection:
            if not connection.execute(update(table).where(*here).values(values)).rowcount:
                connection.execute(insert(table).values(run=number, batch=codec.as_key(batch.id), **values))

    update_batch = put_batch

    def batches(self, run_id: str) -> tuple[Batch, ...]:
        """What the run handed to providers, in the order in which it did."""
        table = schema.batches.c
        query = select(table.batch, table.payload).where(table.run == self._number(run_id)).order_by(table.id)
        with self._read() as connection:
            found = connection.execute(query).all()
        return tuple(self._value(Batch, row.payload, run_id, "batch", codec.from_key(row.batch)) for row in found)

    # ── soundness ───────────────────────────────────────────────────────────────────────────────────────────

    def check(self) -> tuple[str, ...]:
        """What is wrong with the store, at most 100 lines; empty when it is sound.

        SQLite's own check; every payload against its checksum, decoded and encoded again (so that every number is
        finite); the columns and lines of every row against its body; rows against their run's manifest.
        """
        problems: list[str] = []
        for problem in self._problems():
            problems.append(problem)
            if len(problems) == 100:
                break
        return tuple(problems)

    def _problems(self) -> Iterator[str]:
        try:
            with self._read() as connection:
                yield from sqlite.integrity(connection)
                orphans = connection.scalar(
                    select(func.count())
                    .select_from(schema.bodies)
                    .join(
                        schema.rows,
                        (schema.rows.c.run == schema.bodies.c.run) & (schema.rows.c.idx == schema.bodies.c.idx),
                        isouter=True,
                    )
                    .where(schema.rows.c.run.is_(None))
                )
                if orphans:
                    yield f"{orphans} row bodies belong to no row"
            for stored in self.runs(limit=1 << 30):
                yield from self._problems_of(stored)
            table = schema.judgments.c
            query = select(table.judge, table.key, table.status, table.payload, table.id).order_by(table.id)
            for page in self._pages(query, (table.id,), LINES_A_PAGE):
                for judge, key, status, payload, number, *_ in page:
                    try:
                        judgment = codec.decode(Judgment, codec.unseal(payload, judge, key))
                        codec.encode(judgment)
                        if judgment.status.value != status:
                            yield f"judgment {number}: its status is {judgment.status}, its column says {status}"
                    except ValueError as error:
                        yield f"judgment {number}: {error}"
            yield from self._batch_problems()
            yield from self._trust_problems()
        except (EnvironmentFailure, ValueError) as error:
            yield str(error)

    def _batch_problems(self) -> Iterator[str]:
        table = schema.batches.c
        query = select(schema.runs.c.run_id, table.batch, table.state, table.payload, table.id).where(
            table.run == schema.runs.c.id
        )
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
        with self._read() as connection:
            certificates = connection.execute(select(schema.certificates)).all()
            labels = connection.execute(select(schema.labels)).all()
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
                    yield f"label {row.id}: its value is {label.value:g}, its column says {row.value:g}"
            except ValueError as error:
                yield f"label {row.id}: {error}"

    def _problems_of(self, stored: StoredRun) -> Iterator[str]:
        run_id, rows, bodies = stored.run_id, schema.rows.c, schema.bodies.c
        if stored.rows > stored.manifest.rows:
            yield f"run {run_id}: {stored.rows} rows are stored of {stored.manifest.rows}"
        query = (
            select(
                rows.row_id, rows.done, rows.bad, rows.verdict, rows.cause, rows.worst, rows.size, rows.line, rows.idx
            )
            .where(rows.run == self._number(run_id))
            .order_by(rows.idx)
        )
        for page in self._pages(query, (rows.idx,), LINES_A_PAGE):
            for entry in page:
                where = f"run {run_id}, row {entry.idx}"
                with self._read() as connection:
                    body = connection.scalar(
                        select(bodies.payload).where(bodies.run == self._number(run_id), bodies.idx == entry.idx)
                    )
                try:
                    row = codec.decode(RowResult, codec.unseal(body or b"", run_id, "body", entry.idx))
                    if lines.pack(row) != codec.unseal(entry.line, run_id, "line", entry.idx):
                        yield f"{where}: its lines are not those of its scores"
                    columns = {"row_id": codec.as_key(row.id), **_columns(row), "size": len(body or b"")}
                    wrong = [name for name, value in columns.items() if getattr(entry, name) != value]
                    if wrong:
                        yield f"{where}: the columns {', '.join(wrong)} do not fit its body"
                    for score in row.scores:
                        c = score.counts
                        unjudged = c.abstained + c.unparsed + c.refused + c.failed + c.over_budget
                        if c.asked != c.judged + unjudged:
                            yield f"{where}: the counts of {score.metric} do not add up"
                except ValueError as error:
                    yield f"{where}: {error}"

    # ── the ways in and out ─────────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """Turn what the database and the machine raise into what a user can act on."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise sqlite.failure(error, self.path) from error

    @contextlib.contextmanager
    def _write(self) -> Iterator[Connection]:
        """One transaction under the lock of writers; committed, and on disk, when the block ends without an error."""
        self._still_open()
        with self._guard(), self._lock.hold():
            self._still_there()
            try:
                with self._writer.begin() as connection:
                    yield connection
            except (SQLAlchemyError, sqlite3.Error):
                self._writer.dispose()  # a connection that met a full disk is not used again
                raise
            self._still_there()  # a commit into a deleted file is none

    @contextlib.contextmanager
    def _read(self) -> Iterator[Connection]:
        self._still_open()
        with self._guard():
            self._still_there()
        with self._guard(), self._reader.begin() as connection:
            yield connection

    def _still_open(self) -> None:
        if self._closed:
            raise RuntimeError("the store is closed")

    def _still_there(self) -> None:
        try:
            same = self.path.stat().st_ino == self._file
        except FileNotFoundError:
            same = False
        if not same:
            raise EnvironmentFailure(
                "E0501", "The store was deleted or moved away while in use.", where=str(self.path),
                why="another file, or none, is now at its path", fix="put it back, or start a new run",
            )  # fmt: skip

    def _seen(self, connection: Connection, number: int) -> None:
        """Say that the owner of the run's lock still works, for those who cannot see its process."""
        now = time.time()
        if number in self._held and abs(now - self._held[number]) > SEEN_EVERY_S:
            locks = schema.run_locks
            connection.execute(
                update(locks).where(locks.c.run == number, locks.c.token == self._token).values(seen=now)
            )
            self._held[number] = now

    def _pages(
        self,
        query: Select[*tuple[Any, ...]],
        keys: tuple[ColumnElement[Any], ...],
        size: int,
        *,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[Sequence[Row[*tuple[Any, ...]]]]:
        """The query's rows page by page, each in a transaction of its own, continued by the values of `keys`, by which
        the query is ordered; they stand at the end of each row."""
        query = query.add_columns(*(key.label(f"key_{i}") for i, key in enumerate(keys)))
        after: tuple[object, ...] | None = None
        while limit is None or limit > 0:
            page = query.limit(size if limit is None else min(size, limit))
            if after is None:
                page = page.offset(offset) if offset else page
            else:
                page = page.where(tuple_(*keys) > tuple_(*after) if len(keys) > 1 else keys[0] > after[0])
            with self._read() as connection:
                rows = connection.execute(page).all()
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
            raise EnvironmentFailure(
                "E0503", "The store is damaged: a stored value is not what was written.", where=str(self.path),
                why=str(error), fix="keep the file, put back a copy of it, or start a new run with another --store",
            ) from error  # fmt: skip


def _insert(connection: Connection, table: Table, names: tuple[str, ...], values: Sequence[tuple[object, ...]]) -> None:
    """Insert many rows. For SQLite in its own terms: to carry each value through SQLAlchemy takes as long as to store it."""
    if connection.dialect.name != "sqlite":
        connection.execute(insert(table), [dict(zip(names, row, strict=True)) for row in values])
        return
    places = ", ".join("?" * len(names))
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({places})", list(values))


_COLUMNS = ("done", "bad", "verdict", "cause", "worst")


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


def _portions(sizes: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Indices, given with their sizes in bytes, in groups of at most BYTES_A_PAGE (or one index)."""
    group: list[int] = []
    total = 0
    for index, size in sizes:
        if group and total + size > BYTES_A_PAGE:
            yield group
            group, total = [], 0
        group.append(index)
        total += size
    if group:
        yield group


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
