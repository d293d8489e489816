"""The PostgreSQL database of a store: connections, waits for one that is away, and the meaning of
its errors.

Several processes and machines write at once. A connection that is cut says nothing about whether
the last commit happened; a mark of our own does, which every transaction writes first, so that a
write is repeated only where it did not. The server's own transaction numbers do not serve: one that
a crash forgot is given to somebody else's transaction.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import URL, Connection, Table, create_engine, event, func
from sqlalchemy.exc import DBAPIError, DisconnectionError, SQLAlchemyError
from sqlalchemy.sql import ColumnElement

from ragassay.core import EnvironmentFailure, SetupError
from ragassay.store import migrate, schema
from ragassay.store.database import PATIENCE_S, Waits
from ragassay.store.location import SECRET, shown

T = TypeVar("T")

# how long one attempt to connect takes at most: a server that is going down may accept and not
# answer
CONNECT_S = 4
OPENING_S = 5.0  # how long an opening waits for a server that is just starting
AGAIN_S = 60.0  # after a wait in vain, how long further calls fail without waiting as long again
OLDEST = 130_000  # the oldest version that the tests know
MARKS_S = 7 * 86400.0  # so long the marks of a writer that ended without a word are kept

# A connection whose other end has gone is noticed within half a minute, here and on the server: a
# transaction that nobody will finish must not hold its locks for hours.
KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
SESSION = (
    "SET idle_in_transaction_session_timeout = '60s'",
    f"SET lock_timeout = '{int(PATIENCE_S)}s'",
    "SET tcp_keepalives_idle = 10",
    "SET tcp_keepalives_interval = 5",
    "SET tcp_keepalives_count = 3",
)

AWAY, READ_ONLY, LOCKED = (
    "the database does not answer",
    "the database is read-only",
    "the database is locked",
)
LOCK_TIMEOUT = "55P03"
PASSING = {
    "57P01": AWAY,  # an administrator ended the connection
    "57P02": AWAY,  # the server crashed
    "57P03": AWAY,  # it is starting
    "57P05": AWAY,
    "25P03": AWAY,  # the transaction was idle: this process was stopped for a while
    "25P04": AWAY,
    "53300": "the database has no room for another connection",
    "25006": READ_ONLY,  # a standby, or a primary that was made one
    "40001": LOCKED,
    "40P01": LOCKED,
    "40003": AWAY,
}
"""What SQLSTATE means something that passes, and what a user is told meanwhile."""

TYPES = {
    "run": "int4",
    "idx": "int8",
    "size": "int8",
    "done": "bool",
    "bad": "bool",
    "worst": "float8",
    "line": "bytea",
    "payload": "bytea",
}
"""Types of the columns that are filled in bulk and are no texts."""


_MARKED = """
INSERT INTO marks (writer, number, seen)
VALUES (%(writer)s, %(number)s, extract(epoch FROM clock_timestamp())::float8)
ON CONFLICT (writer) DO UPDATE SET number = excluded.number, seen = excluded.seen
RETURNING pg_backend_pid(), extract(epoch FROM transaction_timestamp())::text
"""
# Waits for the transaction that has the mark in hand, and gives the number that is left when it has
# ended.
_LEFT = """
INSERT INTO marks (writer, number, seen)
VALUES (%(writer)s, 0, extract(epoch FROM clock_timestamp())::float8)
ON CONFLICT (writer) DO UPDATE SET seen = excluded.seen
RETURNING marks.number
"""
_ENDED = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pid = %(pid)s AND extract(epoch FROM xact_start)::text = %(began)s
"""


class PostgresDatabase:
    """A store in a PostgreSQL database."""

    def __init__(self, url: URL) -> None:
        self._psycopg = _psycopg()
        self.address, self.location = url, shown(url)
        secrets = [url.password, *[url.query.get(name) for name in SECRET]]
        self._secrets = [str(secret) for secret in secrets if secret]
        self.waits = Waits()
        self.read_only = False
        self._closing = threading.Event()
        self._gave_up = float("-inf")
        self._engine = create_engine(
            url,
            pool_size=4,
            max_overflow=28,
            pool_timeout=PATIENCE_S,
            # a dead connection is found by the statement itself, which is then repeated
            pool_pre_ping=False,
            hide_parameters=True,
            connect_args={
                "connect_timeout": CONNECT_S,
                "client_encoding": "utf8",
                "application_name": "ragassay",
                **{name: value for name, value in KEEPALIVE.items() if name not in url.query},
            },
        )
        # Not also read-only: that is taken back as READ WRITE, which overrules what the server says
        # of itself.
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ")
        self._generation = 0  # connections of an older one are not used again
        self._writer = uuid.uuid4().hex
        self._numbers = itertools.count(1)
        event.listen(self._engine, "connect", self._connected)
        event.listen(self._engine, "checkout", self._taken)

    def _connected(self, connection: Any, record: Any) -> None:
        for setting in SESSION:
            connection.execute(setting)
        connection.commit()
        record.info["new"] = True

    def _taken(self, _connection: Any, record: Any, _fairy: Any) -> None:
        # One made for this very caller will do, however often others find the server away
        # meanwhile: the pool tries twice.
        if record.info.pop("new", False):
            record.info["generation"] = self._generation
        elif record.info["generation"] != self._generation:
            raise DisconnectionError  # the pool closes it and makes another one

    def prepare(self) -> None:
        """Bring the schema to `schema.HEAD`, in one transaction and one process at a time. A copy
        is not made: a migration that fails leaves everything as it was.
        """
        if self._patiently(self._on_snapshot, self._checked, OPENING_S) != schema.HEAD:
            # Done twice it finds the newest version: no mark is needed, nor is there a table for it
            # yet.
            self._patiently(self._unmarked, self._migrated, OPENING_S)

    def _checked(self, connection: Connection) -> str | None:
        version = connection.dialect.server_version_info
        encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
        old = version is not None and version < (OLDEST // 10_000,)
        if old or encoding != "UTF8":
            raise EnvironmentFailure(
                "E0501",
                "The store cannot be kept in this database.",
                where=self.location,
                why=f"PostgreSQL {'.'.join(map(str, version or ()))}, encoding {encoding}",
                fix=f"use PostgreSQL {OLDEST // 10_000} or newer and a database of encoding UTF8",
            )
        return migrate.version(connection, self.location)

    def _migrated(self, connection: Connection) -> None:
        self.alone(connection, "schema")
        version = migrate.version(connection, self.location)
        if version is None:
            migrate.create(connection)
        elif version != schema.HEAD:
            migrate.upgrade(connection)

    def write(self, work: Callable[[Connection], T]) -> T:
        """One transaction; repeated where it came to nothing for a reason that passes."""
        return self._patiently(self._in_transaction, work, PATIENCE_S)

    def read(self, work: Callable[[Connection], T]) -> T:
        """One snapshot; repeated where the connection was lost."""
        return self._patiently(self._on_snapshot, work, PATIENCE_S)

    def _on_snapshot(self, work: Callable[[Connection], T], until: float) -> T:
        with self._snapshots.connect() as connection, connection.begin():
            return work(connection)

    def _unmarked(self, work: Callable[[Connection], T], until: float) -> T:
        with self._engine.connect() as connection, connection.begin():
            return work(connection)

    def _in_transaction(self, work: Callable[[Connection], T], until: float) -> T:
        # A writer is a thread: two that shared a mark would wait for each other's transactions.
        writer = f"{self._writer}:{os.getpid()}:{threading.get_ident()}"
        number = next(self._numbers)
        server: dict[str, Any] = {}
        done = False
        try:
            with self._engine.connect() as connection, connection.begin():
                marked = connection.exec_driver_sql(_MARKED, {"writer": writer, "number": number})
                server = dict(zip(("pid", "began"), marked.one(), strict=True))
                result = work(connection)
                done = True
            return result
        except (SQLAlchemyError, self._psycopg.Error, OSError) as error:
            if (
                done
                and self._what_passes(error) == AWAY
                and self._was_committed(writer, number, server, until)
            ):
                return result
            raise

    def _was_committed(
        self, writer: str, number: int, server: dict[str, Any], until: float
    ) -> bool:
        """Whether the transaction whose commit was not answered happened. `server`: the process
        that has it, and since when.
        """
        stuck = False
        with contextlib.ExitStack() as reported:
            while True:
                try:
                    with self._engine.connect() as connection, connection.begin():
                        if stuck:
                            # Its process has not noticed yet that nobody is there.
                            connection.exec_driver_sql(_ENDED, server)
                        connection.exec_driver_sql("SET LOCAL lock_timeout = '1s'")
                        return bool(
                            connection.exec_driver_sql(_LEFT, {"writer": writer}).scalar_one()
                            == number
                        )
                except (SQLAlchemyError, self._psycopg.Error, OSError) as error:
                    stuck = (
                        getattr(getattr(error, "orig", None) or error, "sqlstate", None)
                        == LOCK_TIMEOUT
                    )
                    what = AWAY if stuck else self._what_passes(error)
                    if what is None or time.monotonic() > until:
                        raise
                    reported.enter_context(self.waits.on(what))
                    self._generation += not stuck
                if self._closing.wait(0.1) or time.monotonic() > until:
                    raise TimeoutError("it is not known whether the last write happened")

    def _patiently(
        self,
        way: Callable[[Callable[[Connection], T], float], T],
        work: Callable[[Connection], T],
        patience: float,
    ) -> T:
        """Take `way` again and again while what is wrong may pass."""
        now = time.monotonic()
        until = now + (patience if now - self._gave_up > AGAIN_S else 0.0)
        pause = 0.05
        with contextlib.ExitStack() as reported:
            while True:
                try:
                    return way(work, until)
                except (SQLAlchemyError, self._psycopg.Error, OSError) as error:
                    what = self._what_passes(error)
                    if what is None or (patience == OPENING_S and not _starting(error)):
                        raise self._failure(error) from error
                    if time.monotonic() > until or self._closing.is_set():
                        self._gave_up = time.monotonic()
                        raise self._failure(error) from error
                    reported.enter_context(self.waits.on(what))
                if what is not LOCKED:
                    # The others of the pool were cut too, or lead to the old primary.
                    self._generation += 1
                self._closing.wait(pause)
                pause = min(2 * pause, 1.0)

    def _what_passes(self, error: BaseException) -> str | None:
        """What a user is told while this error lasts; None for one that does not pass."""
        cause = getattr(error, "orig", None) or error
        state = getattr(cause, "sqlstate", None)
        if state is not None:
            return AWAY if state.startswith("08") else PASSING.get(state)
        lost = isinstance(error, DBAPIError) and error.connection_invalidated
        return AWAY if lost or isinstance(cause, self._psycopg.OperationalError) else None

    def insert(
        self,
        connection: Connection,
        table: Table,
        names: Sequence[str],
        values: Sequence[tuple[Any, ...]],
    ) -> None:
        """By COPY, in the binary form."""
        direct: Any = connection.connection.driver_connection
        statement = f"COPY {table.name} ({', '.join(names)}) FROM STDIN (FORMAT BINARY)"
        with direct.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([TYPES.get(name, "text") for name in names])
            for row in values:
                copy.write_row(row)

    def alone(self, connection: Connection, what: str) -> None:
        """An advisory lock, kept until the transaction ends."""
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(%(what)s, 0))"
        connection.exec_driver_sql(lock, {"what": f"ragassay:{what}"})

    def hashed(self, column: ColumnElement[str], value: str) -> list[ColumnElement[bool]]:
        """The index is of a hash of the id."""
        return [func.md5(column) == func.md5(value)]

    def now(self, connection: Connection) -> float:
        """The server's clock: those of the machines that share it may differ."""
        return float(
            connection.exec_driver_sql(
                "SELECT extract(epoch FROM clock_timestamp())::float8"
            ).scalar_one()
        )

    def integrity(self, connection: Connection) -> list[str]:
        """Nothing: the server watches over its own files (data checksums, amcheck)."""
        return []

    def close(self) -> None:
        """Close all connections, and leave no marks."""
        self._closing.set()
        with (
            contextlib.suppress(SQLAlchemyError, self._psycopg.Error, OSError),
            self._engine.connect() as connection,
        ):
            self._forget(connection)
        self._engine.dispose()

    def _forget(self, connection: Connection) -> None:
        marks = {"own": f"{self._writer}:%", "old": MARKS_S}
        with connection.begin():
            connection.exec_driver_sql(
                "DELETE FROM marks WHERE writer LIKE %(own)s"
                " OR seen < extract(epoch FROM clock_timestamp())::float8 - %(old)s",
                marks,
            )

    def _failure(self, error: BaseException) -> EnvironmentFailure:
        """The error as the user can act on it, without a password."""
        cause = getattr(error, "orig", None) or error
        state = str(getattr(cause, "sqlstate", None) or "")
        why = " ".join(str(cause).split())
        for secret in self._secrets:
            why = why.replace(secret, "***")
        code, what, fix = _meaning(state, why)
        return EnvironmentFailure(code, what, where=self.location, why=why[:500], fix=fix)


class _Meaning(NamedTuple):
    """What an error means to a user: code, sentence and remedy."""

    code: str
    what: str
    fix: str


_INTACT = "everything stored before is intact"
_DISK_FULL = _Meaning(
    "E0506", "The disk of the database is full.", f"free some space there; {_INTACT}"
)
_DAMAGED = _Meaning(
    "E0503",
    "The database says that it is damaged.",
    "put back a backup, or name another store with --store",
)
_READ_ONLY = _Meaning(
    "E0501",
    "The database is read-only.",
    f"make it writable or name the new primary; {_INTACT}",
)
_TOO_MANY = _Meaning(
    "E0501",
    "The database has no room for another connection.",
    f"raise its max_connections, or wait; {_INTACT}",
)
_FORBIDDEN = _Meaning(
    "E0501",
    "The database's user may not do this.",
    "GRANT it the right to make and write tables there",
)
_NO_DATABASE = _Meaning(
    "E0501",
    "The server has no database of that name.",
    "make it (createdb), or check the URL of --store",
)
_REFUSED = _Meaning(
    "E0501",
    "The database refuses the log-in.",
    "set PGPASSWORD, or write ~/.pgpass; check the user's name",
)
_BAD_OPTIONS = _Meaning(
    "E0501",
    "The database cannot be connected to in this way.",
    "check the options in the URL of --store",
)
_AWAY = _Meaning(
    "E0501",
    "The database cannot be reached.",
    f"check host, port and that the server runs; {_INTACT}",
)
_OTHER = _Meaning(
    "E0501",
    "The database cannot be read or written.",
    "look into the server's log, or name another store with --store",
)

_BY_STATE = {
    "53100": _DISK_FULL,
    "XX001": _DAMAGED,
    "XX002": _DAMAGED,
    "25006": _READ_ONLY,
    "53300": _TOO_MANY,
    "42501": _FORBIDDEN,
    "3F000": _FORBIDDEN,
    "3D000": _NO_DATABASE,
}
_TOO_MANY_WORDS = ("too many", "remaining connection slots")
_LOG_IN_WORDS = ("authentication", "no password", "pg_hba.conf", "role")
_OPTION_WORDS = ("connection option", "invalid sslmode", "certificate", "support SSL")


def _meaning(state: str, why: str) -> _Meaning:
    """What a SQLSTATE means. What comes before a log-in has none: there only the words tell."""

    def says(words: tuple[str, ...]) -> bool:
        return any(word in why for word in words)

    early = ("53100", "XX001", "XX002", "25006")
    if state in early:
        return _BY_STATE[state]
    if says(_TOO_MANY_WORDS):
        return _TOO_MANY
    if state in _BY_STATE:
        return _BY_STATE[state]
    if "database" in why and "does not exist" in why and "role" not in why:
        return _NO_DATABASE
    if state.startswith("28") or says(_LOG_IN_WORDS):
        return _REFUSED
    if not state and says(_OPTION_WORDS):
        return _BAD_OPTIONS
    if not state or state in PASSING or state.startswith("08"):
        return _AWAY
    return _OTHER


def _starting(error: BaseException) -> bool:
    """Whether the server only has to finish starting. Other troubles of an opening are told at
    once.
    """
    cause = getattr(error, "orig", None) or error
    state = getattr(cause, "sqlstate", None)
    return state in ("57P01", "57P02", "57P03", "40001", "40P01") or "starting up" in str(cause)


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise SetupError(
            "E0105",
            "A PostgreSQL store needs the library psycopg.",
            where="--store",
            fix='pip install "ragassay[postgres]"',
        ) from None
    return psycopg
