"""A SQLite store under other programs that hold it, readers that do not end, and kills in the
middle of a migration.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ragassay.core import EnvironmentFailure, RowResult, Sample
from ragassay.store import Store, migrate, schema, sqlite
from support.present import present
from support.store_faults import (
    MIGRATED,
    NEXT,
    a_judgment,
    filled_store,
    hold,
    next_version,
    open_in_a_child,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path, make_manifest) -> Iterator[Store]:
    with Store.open(path) as opened:
        opened.create_run(make_manifest("run-1"))
        yield opened


@pytest.mark.timing
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
    holder = hold(path, seconds)
    store.put_judgments("run-1", [a_judgment("a")])
    store.put_rows("run-1", [RowResult(0, Sample("row-0"))])
    over.set()
    looker.join()
    holder.communicate()
    assert told == ({"", "the store is locked by another process"} if seconds > 1 else {""})
    assert store.waiting == ""
    assert set(store.get_judgments([("j", "a")])) == {("j", "a")}
    assert store.check() == ()


def test_a_slow_write_of_this_process_is_not_told_as_the_lock_of_another(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragassay.store.database.SHOWN_AFTER_S", 0.1)
    writing, seen = threading.Event(), threading.Event()

    def slowly(connection: object) -> None:
        writing.set()
        assert seen.wait(60)

    first = threading.Thread(target=store.database.write, args=(slowly,))
    first.start()
    assert writing.wait(60)
    second = threading.Thread(target=store.put_judgments, args=("run-1", [a_judgment("a")]))
    second.start()
    time.sleep(0.5)
    assert store.waiting == ""
    seen.set()
    first.join()
    second.join()
    assert set(store.get_judgments([("j", "a")])) == {("j", "a")}


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
            store.put_judgments("run-1", [a_judgment(f"{number}-{k}", 20_000) for k in range(10)])
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    deadline = time.monotonic() + 120
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
    assert (
        len(store.get_judgments([("j", f"{n}-{k}") for n in range(40) for k in range(10)])) == 400
    )
    assert store.check() == ()


def test_a_reader_that_never_ends_is_named_in_the_end(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchone()
    monkeypatch.setattr(sqlite, "READER_PATIENCE_S", 0.3)
    store.put_judgments("run-1", [a_judgment("a", 5000)])
    monkeypatch.setattr(sqlite, "JOURNAL_BYTES", 1000)
    monkeypatch.setattr(sqlite, "JOURNAL_MOST", 1000)
    with pytest.raises(EnvironmentFailure, match="reading the store for long"):
        store.put_judgments("run-1", [a_judgment("b", 5000)])
    reader.close()
    store.put_judgments("run-1", [a_judgment("after")])


# -- kills while a store is made or migrated


def tables_of(path: Path) -> set[str]:
    """The names of the tables in an SQLite file."""
    connection = sqlite3.connect(path)
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    names = {name for (name,) in connection.execute(query)}
    connection.close()
    return names


@pytest.fixture(scope="module")
def statements_of_making(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many statements and commits make a store."""
    return int(open_in_a_child(tmp_path_factory.mktemp("made") / "store.db", 1 << 30).stdout)


@pytest.fixture(scope="module")
def migrations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Migrations with one more, of several statements."""
    return next_version(tmp_path_factory.mktemp("next") / "migrations", MIGRATED)


@pytest.fixture(scope="module")
def statements_of_migrating(tmp_path_factory: pytest.TempPathFactory, migrations: Path) -> int:
    """How many statements and commits migrate a store."""
    path = tmp_path_factory.mktemp("migrated") / "store.db"
    filled_store(path)
    return int(open_in_a_child(path, 1 << 30, migrations).stdout)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("share", [0.3, 0.6, 0.8, 0.95, 1.0])
def test_a_store_whose_making_is_killed_is_made_whole_by_the_next(
    path: Path, share: float, statements_of_making: int
) -> None:
    statements = statements_of_making
    assert statements > 10
    killed = open_in_a_child(path, round(share * statements))
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "")
    assert tables_of(path) in (set(), set(schema.metadata.tables))  # all of it or nothing
    filled_store(path)
    with Store.open(path) as store:
        assert store.backup is None
        assert [row.id for row in store.rows("run-1")] == ["row-0", "row-1", "row-2"]
        assert store.check() == ()
    assert [file.name for file in path.parent.iterdir()] == ["store.db"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("share", [0.3, 0.6, 0.7, 0.9, 1.0])
def test_a_migration_that_is_killed_is_done_whole_by_the_next(
    path: Path,
    share: float,
    migrations: Path,
    statements_of_migrating: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = schema.HEAD
    filled_store(path)
    statements = statements_of_migrating
    assert statements > 10
    killed = open_in_a_child(path, round(share * statements), migrations)
    assert (killed.returncode, killed.stdout) == (-signal.SIGKILL, "")
    connection = sqlite3.connect(path)
    left = connection.execute("SELECT version_num FROM ragassay_version").fetchone()[0]
    connection.close()
    assert left in (version, NEXT)  # all of it or nothing
    assert ("extra" in tables_of(path)) is (left == NEXT)
    assert ("extra_5" in tables_of(path)) is (left == NEXT)
    monkeypatch.setattr(migrate, "MIGRATIONS", migrations)
    monkeypatch.setattr(schema, "HEAD", NEXT)
    with Store.open(path) as store:
        assert [row.id for row in store.rows("run-1")] == ["row-0", "row-1", "row-2"]
        assert len(store.get_judgments([("j", f"k{i}") for i in range(5)])) == 5
        assert store.check() == ()
    backup = sqlite3.connect(path.with_name(f"store.db.{version}.backup"))
    assert backup.execute("SELECT count(*) FROM rows").fetchone() == (3,)
    backup.close()
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "store.db",
        f"store.db.{version}.backup",
    ]


def as_one_who_may_not_write(place: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` where the folder or file may not be written: the superuser, too, minds its rights
    there.
    """

    def bound() -> None:
        libc, drop, override, search = (
            ctypes.CDLL(None),
            24,
            1,
            2,
        )  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, ..._READ_SEARCH
        libc.prctl(drop, override, 0, 0, 0)
        libc.prctl(drop, search, 0, 0, 0)

    mode = place.stat().st_mode
    place.chmod(mode & 0o555)
    try:
        return subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=300,
            preexec_fn=bound,
        )
    finally:
        place.chmod(mode)


READS = """
import sys
from ragassay.store import Store
from ragassay.core import RagAssayError
with Store.open({path!r}, make=False) as store:
    print([run.run_id for run in store.runs()], len(list(store.rows("run-1"))), store.check())
    try:
        store.acquire("run-1")
    except RagAssayError as error:
        print(error.code, error.fix)
"""


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_a_store_in_a_folder_that_may_not_be_written_is_read_and_not_written(
    tmp_path: Path, make_manifest, killed: bool
) -> None:
    path = tmp_path / ".ragassay" / "store.db"
    with Store.open(path) as store:
        store.create_run(make_manifest("run-1"))
    child = os.fork()
    if not child:
        store = Store.open(path)
        store.put_rows("run-1", [RowResult(i, Sample(f"row-{i}")) for i in range(3)])
        if not killed:
            store.close()
        os.kill(
            os.getpid(), signal.SIGKILL
        )  # its journal, with all three rows in it, stays beside it
    os.waitpid(child, 0)
    assert path.with_name("store.db-wal").exists() is killed
    path.with_name(".gitignore").unlink()  # as those leave it who keep the artefacts of builds
    done = as_one_who_may_not_write(path.parent, READS.format(path=str(path)))
    assert done.returncode == 0, done.stderr
    read, refused = done.stdout.splitlines()
    assert read == "['run-1'] 3 ()"
    assert (
        refused
        == "E0501 copy the store to a folder that may be written, and name the copy with --store"
    )


@pytest.mark.slow
def test_a_store_of_the_version_before_that_may_not_be_written_is_read_as_it_is(
    tmp_path: Path,
) -> None:
    """It cannot be migrated; what later versions added is not there."""
    path, copy = tmp_path / "frozen" / "store.db", tmp_path / "copy.db"
    path.parent.mkdir()
    shutil.copy(Path(__file__).parent / "data" / "former.db", path)
    code = f"""
from ragassay.store import Store, copy_store
with Store.open({str(path)!r}, make=False) as store, Store.open({str(copy)!r}) as copy:
    copy_store(store, copy)
    runs = store.runs()
    print(len(runs), sum(len(list(store.rows(run.run_id))) for run in runs), store.check())
"""
    done = as_one_who_may_not_write(path.parent, code)
    assert done.returncode == 0, done.stderr
    with Store.open(copy) as store:
        runs = store.runs()
        rows = sum(len(list(store.rows(run.run_id))) for run in runs)
    assert done.stdout == f"{len(runs)} {rows} ()\n"
    assert rows > 0


@pytest.mark.slow
def test_a_store_that_can_only_be_read_is_copied_elsewhere(tmp_path: Path, make_manifest) -> None:
    path, copy = tmp_path / "frozen" / "store.db", tmp_path / "copy.db"
    with Store.open(path) as store:
        store.create_run(make_manifest("run-1"))
        store.put_rows("run-1", [RowResult(0, Sample("row-0"))])
    code = (
        "from ragassay.store import Store, copy_store; copy_store(Store.open({!r}, make=False),"
        " Store.open({!r}))"
    )
    done = as_one_who_may_not_write(path.parent, code.format(str(path), str(copy)))
    assert done.returncode == 0, done.stderr
    with Store.open(copy) as store:
        assert [present(row.sample).id for row in store.rows("run-1")] == ["row-0"]
        store.acquire("run-1")  # and there it can go on


@pytest.mark.slow
def test_a_run_that_somebody_works_on_is_not_copied_from_where_one_may_only_read(
    tmp_path: Path, make_manifest
) -> None:
    path, copy = tmp_path / "frozen" / "store.db", tmp_path / "copy.db"
    with Store.open(path) as store:
        store.create_run(make_manifest("run-1"))
        store.acquire("run-1")
        code = (
            "from ragassay.store import Store, copy_store; copy_store(Store.open({!r}, make=False),"
            " Store.open({!r}))"
        )
        done = as_one_who_may_not_write(path.parent, code.format(str(path), str(copy)))
    assert f"E0504: The run is being worked on by process {os.getpid()}" in done.stderr


def beside_a_writer(place: Path, code: str) -> subprocess.CompletedProcess[str]:
    """As above, while this process writes there. The superuser alone can be both; of others the
    reader only believes it.
    """
    if os.geteuid() == 0:
        return as_one_who_may_not_write(place, code)
    code = f"import os; os.access = lambda place, _: str(place) != {str(place)!r}\n{code}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


LOOKS = """
import time
from ragassay.store import Store
seen, end = [], time.monotonic() + 3
while time.monotonic() < end or len(seen) < 30 or seen[0] == seen[-1]:
    with Store.open({path!r}, make=False) as store:
        for _ in range(5):
            seen.append(len(store.done("run-1")))
assert seen == sorted(seen), seen
print(seen[0], seen[-1])
"""


@pytest.mark.slow
def test_who_may_only_read_sees_what_is_there_while_another_process_writes(
    tmp_path: Path, make_manifest
) -> None:
    path = tmp_path / "frozen" / "store.db"
    with Store.open(path) as store:
        store.create_run(make_manifest("run-1"))
    with ThreadPoolExecutor() as pool:
        looker = pool.submit(beside_a_writer, path.parent, LOOKS.format(path=str(path)))
        written = 0
        while not looker.done():  # opened and closed each time, so that the journal comes and goes
            with Store.open(path) as store:
                store.put_rows("run-1", [RowResult(written, Sample(f"row-{written}"))])
            written += 1
    done = looker.result()
    assert done.returncode == 0, done.stderr
    first, last = map(int, done.stdout.split())
    assert first < last <= written


TRIES = """
import time
from ragassay.core import EnvironmentFailure
from ragassay.store import Store
read, end = 0, time.monotonic() + 3
while time.monotonic() < end:
    try:
        with Store.open({path!r}, make=False) as store:
            read += len(store.runs())
    except EnvironmentFailure as error:
        assert "has a journal" in error.why, error
print(read)
"""


@pytest.mark.slow
def test_who_may_read_the_file_alone_leaves_nothing_beside_it_that_would_keep_a_writer_out(
    tmp_path: Path, make_manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        store.create_run(make_manifest("run-1"))
    owned = os.access
    monkeypatch.setattr(
        "os.access", lambda place, mode: place == path or owned(place, mode)
    )  # the writer is its owner
    with ThreadPoolExecutor() as pool:
        looker = pool.submit(beside_a_writer, path, TRIES.format(path=str(path)))
        written = 0
        while not looker.done():
            with Store.open(path) as store:
                store.put_rows("run-1", [RowResult(written, Sample(f"row-{written}"))])
            written += 1
    assert looker.result().returncode == 0, looker.result().stderr
    assert int(looker.result().stdout) > 0
    assert [beside.name for beside in tmp_path.iterdir()] == ["store.db"]
    with Store.open(path) as store:
        assert len(store.done("run-1")) == written
