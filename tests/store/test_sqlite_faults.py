"""A SQLite store under other programs that hold it, readers that do not end, and kills in the middle of a migration."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragassay.core import EnvironmentFailure, Judgment, RowResult, Sample, Status
from ragassay.store import Store, migrate, schema, sqlite


def judgment(key: str, size: int = 10) -> Judgment:
    return Judgment(key, "j", "groundedness", Status.JUDGED, rating=3, rationale="x" * size)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path, make_manifest) -> Iterator[Store]:
    with Store.open(path) as opened:
        opened.create_run(make_manifest("run-1"))
        yield opened


HOLD = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
connection.execute("COMMIT")
"""


@pytest.mark.parametrize("seconds", [0.1, 1.5])
def test_a_lock_of_another_process_is_waited_for_and_the_wait_is_told(
    store: Store, path: Path, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragassay.store.database.SHOWN_AFTER_S", 0.3)
    told: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            told.add(store.waiting)

    looker = threading.Thread(target=look)
    looker.start()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(path), str(seconds)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    store.put_judgments("run-1", [judgment("a")])
    store.put_rows("run-1", [RowResult(0, Sample("row-0"))])
    over.set()
    looker.join()
    holder.communicate()
    assert told == ({"", "the store is locked by another process"} if seconds > 1 else {""})
    assert store.waiting == ""
    assert set(store.get_judgments([("j", "a")])) == {("j", "a")}
    assert store.check() == ()


def journal(path: Path) -> int:
    return path.with_name(path.name + "-wal").stat().st_size


def test_a_reader_that_does_not_end_stops_writes_before_the_journal_is_too_large(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "JOURNAL_BYTES", 1 << 20)
    monkeypatch.setattr(sqlite, "JOURNAL_MOST", 3 << 20)
    monkeypatch.setattr("ragassay.store.database.SHOWN_AFTER_S", 0.2)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    written = 0

    def write() -> None:
        nonlocal written
        for number in range(40):
            store.put_judgments("run-1", [judgment(f"{number}-{k}", 20_000) for k in range(10)])
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    deadline = time.monotonic() + 20
    while store.waiting != sqlite.READ:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    before = written
    time.sleep(0.3)
    assert (written, before < 40) == (before, True)
    assert journal(path) < (3 << 20) + (1 << 20)  # the limit and one commit
    assert len(list(store.row_lines("run-1"))) == 0  # reading goes on
    reader.execute("COMMIT")
    reader.close()
    writer.join()
    assert journal(path) < (3 << 20) + (1 << 20)
    assert len(store.get_judgments([("j", f"{n}-{k}") for n in range(40) for k in range(10)])) == 400
    assert store.check() == ()


def test_a_reader_that_never_ends_is_named_in_the_end(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    monkeypatch.setattr(sqlite, "READER_PATIENCE_S", 0.3)
    store.put_judgments("run-1", [judgment("a", 5000)])
    monkeypatch.setattr(sqlite, "JOURNAL_BYTES", 1000)
    monkeypatch.setattr(sqlite, "JOURNAL_MOST", 1000)
    with pytest.raises(EnvironmentFailure, match="reading the store for long"):
        store.put_judgments("run-1", [judgment("b", 5000)])
    reader.close()
    store.put_judgments("run-1", [judgment("after")])


# ── kills in the middle of a migration ──────────────────────────────────────────────────────────────────────────────

KILLED = """
import os, signal, sys
from sqlalchemy import event
from sqlalchemy.engine import Engine
from ragassay.store import Store
left = int(sys.argv[2])

@event.listens_for(Engine, "before_cursor_execute")
@event.listens_for(Engine, "commit")
def count(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

Store.open(sys.argv[1]).close()
print(int(sys.argv[2]) - left)
"""


def migrate_in_a_child(path: Path, point: int) -> subprocess.CompletedProcess[str]:
    """Open the store in a process that is killed at its so-many-th statement; it prints how many there were."""
    return subprocess.run([sys.executable, "-c", KILLED, str(path), str(point)], capture_output=True, text=True)


def old_store(path: Path, version: str, make_manifest) -> None:
    """A store of an older version with a run in it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "HEAD", version)
        sqlite.create_file(path)
        sqlite.use_wal(path)
        engine = sqlite.writer_engine(path)
        with engine.begin() as connection:
            migrate.upgrade(connection)
        engine.dispose()
        with Store.open(path) as store:
            store.create_run(make_manifest("run-1"))
            store.put_rows("run-1", [RowResult(i, Sample(f"row-{i}")) for i in range(3)])
            store.put_judgments("run-1", [judgment(f"k{i}") for i in range(5)])


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("version", "share"), [("0001", 0.3), ("0001", 0.6), ("0002", 0.7), ("0002", 0.9), ("0001", 1.0)]
)
def test_a_migration_that_is_killed_is_done_whole_by_the_next(
    path: Path, version: str, share: float, make_manifest
) -> None:
    old_store(path, version, make_manifest)
    other = path.parent / "copy" / path.name
    other.parent.mkdir()
    shutil.copy(path, other)
    statements = int(migrate_in_a_child(other, 1 << 30).stdout)
    assert statements > 10
    shutil.rmtree(other.parent)
    killed = migrate_in_a_child(path, round(share * statements))
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "")
    found = sqlite3.connect(path)
    left = found.execute("SELECT version_num FROM ragassay_version").fetchone()[0]
    tables = {name for (name,) in found.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    found.close()
    assert left in (version, schema.HEAD)  # all of it or nothing
    assert ("batches" in tables) is (left == schema.HEAD)
    with Store.open(path) as store:
        assert [row.id for row in store.rows("run-1")] == ["row-0", "row-1", "row-2"]
        assert len(store.get_judgments([("j", f"k{i}") for i in range(5)])) == 5
        assert store.check() == ()
    backup = sqlite3.connect(path.with_name(f"store.db.{version}.backup"))
    assert backup.execute("SELECT count(*) FROM rows").fetchone() == (3,)
    backup.close()
    assert sorted(file.name for file in path.parent.iterdir()) == ["store.db", f"store.db.{version}.backup"]
