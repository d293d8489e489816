"""The SQLite file of a store: connections, the lock of writers, its journal, copies, checks, and
the meaning of its errors.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, Table, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool
from sqlalchemy.sql import ColumnElement

from ragassay.core import EnvironmentFailure
from ragassay.store import codec, migrate, schema
from ragassay.store.database import PATIENCE_S, Waits
from ragassay.store.location import FOLDER

try:
    import fcntl
except ImportError:  # Windows: SQLite's own lock has to do
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

CHECKPOINT_PAGES = 4000
"""16 MB of journal before it is folded in: fewer fsyncs than the default 4 MB."""
JOURNAL_BYTES = 64 << 20
"""A journal of this size is folded in and cut back by force, as soon as no reader is in the way."""
JOURNAL_MOST = 192 << 20
"""At this size writes wait until it can be: a reader that does not end would let it grow for ever.
"""
READER_PATIENCE_S = 900.0
"""How long they wait for such a reader."""

UNCHANGED_S = 2.0
"""How long a reader that may not write waits for a journal to be made or removed."""

LOCKED = "the store is locked by another process"
READ = "another program is reading the store and does not finish"


class _SqliteFile:
    """A store in one SQLite file, as far as it is the same with and without the right to write."""

    _reader: Engine

    def __init__(self, path: Path) -> None:
        self.address = path
        self.location = str(path)
        self.waits = Waits()
        self._journal = path.with_name(path.name + "-wal")
        self._closing = threading.Event()
        with self._guard():
            self._file = path.stat().st_ino

    def insert(
        self,
        connection: Connection,
        table: Table,
        names: Sequence[str],
        values: Sequence[tuple[Any, ...]],
    ) -> None:
        """One statement for all, past SQLAlchemy's own handling of every row."""
        connection.exec_driver_sql(
            f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
            list(values),
        )

    def alone(self, connection: Connection, what: str) -> None:
        """Nothing to do: a write transaction is alone anyway."""

    def hashed(self, column: ColumnElement[str], value: str) -> list[ColumnElement[bool]]:
        """Nothing: the index is of the id itself."""
        return []

    def now(self, connection: Connection) -> float:
        """This machine's clock: all who share the file are on it."""
        return time.time()

    def integrity(self, connection: Connection) -> list[str]:
        """What SQLite's own check finds wrong, at most 100 lines; empty when the file is sound."""
        lines = [str(line) for (line,) in connection.exec_driver_sql("PRAGMA integrity_check")]
        return [] if lines == ["ok"] else lines

    def close(self) -> None:
        """Close all connections."""
        self._closing.set()
        self._reader.dispose()

    def _journal_size(self) -> int:
        try:
            return self._journal.stat().st_size
        except FileNotFoundError:
            return 0

    def _check_file(self) -> None:
        try:
            same = self.address.stat().st_ino == self._file
        except FileNotFoundError:
            same = False
        if not same:
            raise EnvironmentFailure(
                "E0501",
                "The store was deleted or moved away while in use.",
                where=self.location,
                why="another file, or none, is now at its path",
                fix="put it back, or start a new run",
            )

    def _guard(self) -> contextlib.AbstractContextManager[None]:
        return guard(self.address)


class SqliteDatabase(_SqliteFile):
    """A store in one SQLite file: one writer at a time, readers beside it."""

    read_only = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self._guard():
            self._lock = WriterLock(path.parent)
        self._writer, self._reader = writer_engine(path), reader_engine(path)
        self._tried = 0.0  # when folding in the journal was last tried

    def prepare(self) -> Path | None:
        """Bring the schema to `schema.HEAD`, after a copy to `PATH.<version>.backup` where it is
        older.
        """
        with self._guard(), self._turn():
            with self._writer.connect() as connection:
                version = migrate.version(connection, self.location)
            if version == schema.HEAD:
                return None
            if version is None:
                # Outside the transaction below, in which the mode cannot be changed.
                use_wal(self.address)
            backup: Path | None = None
            with self._writer.begin() as connection:
                # Again, now that no other process can change it.
                version = migrate.version(connection, self.location)
                if version is None:
                    migrate.create(connection)
                elif version != schema.HEAD:
                    backup = self.address.with_name(f"{self.address.name}.{version}.backup")
                    copy(self.address, backup)
                    migrate.upgrade(connection)
            return backup

    def write(self, work: Callable[[Connection], T]) -> T:
        """One transaction under the lock of writers; on disk when it returns."""
        deadline = time.monotonic() + READER_PATIENCE_S
        while True:
            with self._guard(), self._turn():
                self._check_file()
                if self._has_room():
                    return self._written(work)
            # Outside the lock: other processes too may find that the reader has gone.
            if time.monotonic() > deadline or self._closing.is_set():
                raise self._crowded()
            with self.waits.on(READ):
                self._pause_for_reader(deadline)

    def read(self, work: Callable[[Connection], T]) -> T:
        """One snapshot."""
        with self._guard():
            self._check_file()
        with self._guard(), self.waits.on(LOCKED), self._reader.begin() as connection:
            self.waits.over()
            return work(connection)

    def close(self) -> None:
        """Close all connections and give the folder back."""
        super().close()
        self._writer.dispose()
        self._lock.close()

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Hold the lock of writers. A wait is told where another process has it, and not where
        another thread of this one is writing.
        """
        with self._lock.among_threads, self.waits.on(LOCKED), self._lock.hold():
            yield

    def _written(self, work: Callable[[Connection], T]) -> T:
        try:
            with self._writer.begin() as connection:
                self.waits.over()
                result = work(connection)
        except (SQLAlchemyError, sqlite3.Error):
            self._writer.dispose()  # a connection that met a full disk is not used again
            raise
        self._check_file()  # a commit into a deleted file is none
        return result

    def _has_room(self) -> bool:
        """Whether the journal may grow; one that has grown large is folded in first, where readers
        allow it.
        """
        size = self._journal_size()
        if size < JOURNAL_BYTES or (size < JOURNAL_MOST and time.monotonic() - self._tried < 1.0):
            return True
        self._tried = time.monotonic()
        raw = self._writer.raw_connection()
        try:
            direct: Any = raw.driver_connection
            direct.execute("PRAGMA busy_timeout=0")
            direct.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            direct.execute(f"PRAGMA busy_timeout={int(1000 * PATIENCE_S)}")
        finally:
            raw.close()
        return self._journal_size() < JOURNAL_MOST

    def _pause_for_reader(self, deadline: float) -> None:
        """Wait until the journal could be cut back, so that the wait has one beginning and can be
        shown.
        """
        while time.monotonic() < deadline and not self._closing.wait(0.1):
            with self._guard(), self._lock.hold():
                if self._has_room():
                    return

    def _crowded(self) -> EnvironmentFailure:
        return EnvironmentFailure(
            "E0501",
            "Another program has been reading the store for long, so that its journal cannot be"
            " folded in.",
            where=f"{self._journal} ({self._journal_size():,} bytes)",
            fix="end the program that holds the file open (an SQLite browser, a backup)",
        )


class ReadOnlySqlite(_SqliteFile):
    """A store in an SQLite file that may not be written, or whose folder may not: sealed is the
    latter.
    """

    read_only = True

    def __init__(self, path: Path, sealed: bool) -> None:
        super().__init__(path)
        self._reader = read_only_engine(path, sealed)

    def prepare(self) -> Path | None:
        """See that the schema can be read as it is: it cannot be brought to another one."""
        version = self.read(lambda connection: migrate.version(connection, self.location))
        if version is None or int(version) < int(schema.READABLE):
            raise self._cannot_write(
                f"it has to be brought from schema {version or 'none'} to {schema.HEAD} first"
            )
        return None

    def write(self, work: Callable[[Connection], T]) -> T:
        """Raises EnvironmentFailure E0501."""
        raise self._cannot_write("what it holds can be read only")

    def read(self, work: Callable[[Connection], T]) -> T:
        """One snapshot of a file that others may write where we may not: again where they did so
        meanwhile.
        """
        with self._guard():
            self._check_file()
        begun = time.monotonic()
        while True:
            before, late = self._stamp(), time.monotonic() - begun
            try:
                with self._guard(), self._reader.begin() as connection:
                    result = work(connection)
                after = self._stamp()
                # With a journal SQLite itself kept others away; without one nobody did.
                if before == after or (before[1] and after[1]):
                    return result
            except EnvironmentFailure as error:
                if not isinstance(error.__cause__, (SQLAlchemyError, sqlite3.Error)):
                    raise
                # Where another process makes or removes its journal, what is there passes; where it
                # was killed, it does not.
                if late > (PATIENCE_S if before != self._stamp() else UNCHANGED_S):
                    raise
            if late > PATIENCE_S:
                raise self._cannot_write(
                    "another process changes it without pause, and only one that may write can wait"
                    " for it"
                )
            self._closing.wait(0.05)

    def _stamp(self) -> tuple[tuple[int, int], bool]:
        """What a writer changes: the file, and whether it has a journal."""
        with self._guard():
            file = self.address.stat()
        return (file.st_mtime_ns, file.st_size), self._journal_size() > 0

    def _cannot_write(self, why: str) -> EnvironmentFailure:
        return EnvironmentFailure(
            "E0501",
            "The store, or the folder it lies in, may not be written.",
            where=self.location,
            why=why,
            fix="copy the store to a folder that may be written, and name the copy with --store",
        )


def open_file(path: Path) -> SqliteDatabase | ReadOnlySqlite:
    """The store at a path, as this process may use it; made where it is missing. Raises
    EnvironmentFailure.
    """
    with guard(path):
        create_file(path)
        sealed = not os.access(path.parent, os.W_OK)
        if sealed or not os.access(path, os.W_OK):
            return ReadOnlySqlite(path, sealed)
        if path.parent.name == FOLDER and not (path.parent / ".gitignore").exists():
            (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        return SqliteDatabase(path)


@contextlib.contextmanager
def guard(path: Path) -> Iterator[None]:
    """Turn what SQLite and the machine raise into what a user can act on."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise failure(error, path) from error
    except UnicodeDecodeError as error:  # a table's own name cannot be read
        raise codec.damaged(str(error), str(path)) from error


def create_file(path: Path) -> None:
    """Make the file, readable by its owner only, and the folders above it. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def writer_engine(path: Path) -> Engine:
    """An engine of one connection whose transactions hold the write lock from their start."""
    journal = (f"wal_autocheckpoint={CHECKPOINT_PAGES}", f"journal_size_limit={JOURNAL_BYTES}")
    durable = ("synchronous=FULL", "fullfsync=ON", "foreign_keys=ON", "cache_size=-24576")
    return _engine(path, "BEGIN IMMEDIATE", 1, (*durable, *journal))


def reader_engine(path: Path) -> Engine:
    """An engine whose connections see a snapshot a transaction, and cannot write."""
    return _engine(path, "BEGIN", 8, ("query_only=ON", "cache_size=-16384", "cell_size_check=ON"))


def read_only_engine(path: Path, sealed: bool) -> Engine:
    """Like `reader_engine`, for a store that may only be read; sealed: so may its folder.

    Without a journal the file is all there is, and is read as one that nobody changes. With one,
    SQLite needs the two files beside it. In a sealed folder it takes them as they are; elsewhere it
    could make them, with the reader as their owner, and no writer could open the store again: there
    a journal is not read. Which it is may change while the store is open, so that each transaction
    has a connection of its own.
    """

    def mode() -> str:
        with contextlib.suppress(FileNotFoundError):
            if path.with_name(path.name + "-wal").stat().st_size:
                if not sealed:
                    raise sqlite3.OperationalError(
                        "it has a journal, which only those can read who may write the store"
                    )
                return "mode=ro"
        return "mode=ro&immutable=1"

    return _engine(
        path, "BEGIN", 0, ("query_only=ON", "cache_size=-16384", "cell_size_check=ON"), mode
    )


def _engine(
    path: Path,
    begin: str,
    size: int,
    pragmas: tuple[str, ...],
    mode: Callable[[], str] = lambda: "mode=rw",
) -> Engine:
    """size: how many connections stay open, 0 for none. mode=rw: a file that vanished is an error,
    never a new store.
    """
    patience = PATIENCE_S

    def connect() -> sqlite3.Connection:
        # isolation_level None: we say BEGIN ourselves, so that schema changes too are inside the
        # transaction.
        connection = sqlite3.connect(
            f"{path.as_uri()}?{mode()}",
            uri=True,
            timeout=patience,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            for pragma in pragmas:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    pool: dict[str, Any] = {"poolclass": NullPool}
    if size:
        pool = {
            "poolclass": QueuePool,
            "pool_size": size,
            # The writer has one connection, since SQLite lets one write at a time.
            "max_overflow": 0 if size == 1 else 56,
            "pool_timeout": patience,
        }
    engine = create_engine("sqlite://", creator=connect, **pool)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def use_wal(path: Path) -> None:
    """Put the file into write-ahead mode (it stays in it), in which readers and the writer do not
    block each other.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE_S, isolation_level=None
        )
        try:
            if connection.execute("PRAGMA journal_mode=WAL").fetchone()[0] == "wal":
                return
        except sqlite3.OperationalError as error:
            # The change of mode does not always wait for a lock as other statements do.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        finally:
            connection.close()
        if time.monotonic() > deadline:
            raise sqlite3.OperationalError("the file cannot be put into write-ahead mode")
        time.sleep(0.02)


class WriterLock:
    """One writer at a time: among the threads of this process, and among the processes of this
    machine.

    SQLite has a lock of its own; but before 3.51.3 two connections that write and fold in the
    journal at the same instant can damage the file (the "WAL-reset" bug), and Python 3.11 brings an
    older one. The lock between processes is taken on the folder, so that it leaves no file behind,
    and ends with the process that holds it.
    """

    def __init__(self, folder: Path) -> None:
        self.among_threads = threading.RLock()
        self._depth = 0
        self._folder: int | None = os.open(folder, os.O_RDONLY) if fcntl is not None else None

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Wait for the lock and hold it. Raises TimeoutError after PATIENCE_S."""
        with self.among_threads:
            self._depth += 1
            try:
                if self._depth == 1:
                    self._lock()
                yield
            finally:
                self._depth -= 1
                if self._depth == 0 and fcntl is not None and self._folder is not None:
                    fcntl.flock(self._folder, fcntl.LOCK_UN)

    def _lock(self) -> None:
        if fcntl is None or self._folder is None:
            return
        deadline, pause = time.monotonic() + PATIENCE_S, 0.0005
        while True:
            try:
                fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        f"another process has held the store for {PATIENCE_S:.0f} s"
                    ) from None
                time.sleep(pause)
                pause = min(2 * pause, 0.02)
            except OSError:  # a file system without such locks
                return

    def close(self) -> None:
        """Give the folder back."""
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def copy(path: Path, target: Path) -> None:
    """Write a consistent copy of the store to `target`, all or nothing. Raises sqlite3.Error,
    OSError.
    """
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        with (
            contextlib.closing(
                sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE_S)
            ) as source,
            contextlib.closing(sqlite3.connect(partial)) as sink,
        ):
            source.backup(sink)
        with open(partial, "rb") as file:
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def copy_file(path: Path, target: Path) -> None:
    """`copy`, for who wants the copy itself. Raises EnvironmentFailure, as `failure` says."""
    try:
        copy(path, target)
    except (sqlite3.Error, OSError) as error:
        raise failure(error, path) from error


def failure(error: BaseException, path: Path) -> EnvironmentFailure:
    """The error as the user can act on it: disk full, damaged, locked, or not to be opened."""
    cause = getattr(error, "orig", None) or error
    code = getattr(cause, "sqlite_errorcode", None) or 0
    kind = code & 0xFF
    free = free_bytes(path)
    where = f"{path} ({free:,} bytes free)" if free is not None else str(path)
    why = str(cause)
    full = kind == sqlite3.SQLITE_FULL or getattr(cause, "errno", None) in (
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
    )
    if full or (kind == sqlite3.SQLITE_IOERR and _room(path, free) < 1 << 20):
        return EnvironmentFailure(
            "E0506",
            "The disk is full (or a quota or a limit on the size of files is reached).",
            where=where,
            why=why,
            fix="free some space (or raise the limit): everything stored before is intact",
        )
    if kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return EnvironmentFailure(
            "E0503",
            "The store is damaged, or is not a RagAssay store.",
            where=where,
            why=why,
            fix="keep the file, and name another one with --store, or put back a copy of it",
        )
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or isinstance(cause, TimeoutError):
        return EnvironmentFailure(
            "E0501",
            f"Another process has kept the store locked for {PATIENCE_S:.0f} s.",
            where=where,
            why=why,
            fix="end the program that holds the file open (an SQLite browser, a backup)",
        )
    return EnvironmentFailure(
        "E0501",
        "The store cannot be opened or written.",
        where=where,
        why=why,
        fix=(
            "check that the folder exists and may be written; where it may not, copy the store"
            " (with its -wal file) to one that may, and name the copy with --store"
        ),
    )


def free_bytes(path: Path) -> int | None:
    """Free bytes on the file system of `path`, or of the nearest folder above it that exists."""
    for folder in (path, *path.parents):
        with contextlib.suppress(OSError):
            return shutil.disk_usage(folder).free
    return None


def _room(path: Path, free: int | None) -> float:
    """Bytes that may still be added to the journal: the free space or what RLIMIT_FSIZE leaves."""
    room = float("inf") if free is None else float(free)
    with contextlib.suppress(ImportError, OSError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if limit != resource.RLIM_INFINITY:
            sizes = [
                p.stat().st_size for p in (path, path.with_name(path.name + "-wal")) if p.exists()
            ]
            room = min(room, limit - max(sizes, default=0))
    return room
