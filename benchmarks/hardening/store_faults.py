"""Stores under faults (R05, R06, R16): locked, with a database that crashes, killed while they are
made or migrated.
"""

from __future__ import annotations

import itertools
import random
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from ragassay.store import Store, migrate, schema
from support.cutting_proxy import CuttingProxy
from support.postgres import Postgres
from support.store_faults import (
    MIGRATED,
    NEXT,
    Writer,
    a_manifest,
    filled_store,
    hold,
    next_version,
    open_in_a_child,
)

Dose = Literal["commit", "nightly", "release"]
SEED = 5


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def _journal(path: Path) -> float:
    """MiB of the write-ahead journal."""
    wal = path.with_name(path.name + "-wal")
    return wal.stat().st_size / (1 << 20) if wal.exists() else 0.0


def locked(dose: Dose) -> dict[str, Any]:
    """R05: locks of 0.1 s and more by another process, and a reader that does not end while much is
    written.
    """
    locks, longest, reading = {
        "commit": (5, 3.0, 10.0),
        "nightly": (50, 20.0, 60.0),
        "release": (200, 60.0, 600.0),
    }[dose]
    dice, largest, shown = random.Random(SEED), 0.0, set[str]()
    with _folder() as folder:
        path = folder / "store.db"
        with Store.open(path) as store:
            store.create_run(a_manifest(rows=10_000_000))
            with Writer(store) as writer:
                for _ in range(locks):
                    writer.wait_for_more(60)
                    holder = hold(path, 0.1 * (longest / 0.1) ** dice.random())
                    while holder.poll() is None:
                        shown.add(store.waiting)
                        time.sleep(0.05)
                lost = writer.missing()
            failed = [writer.failed] if writer.failed else []
        big = folder / "big" / "store.db"
        with Store.open(big) as store:
            store.create_run(a_manifest(rows=10_000_000))
            reader = sqlite3.connect(big, isolation_level=None)
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM runs").fetchone()
            with Writer(store, size=40_000) as writer:
                end = time.monotonic() + reading
                while time.monotonic() < end:
                    largest = max(largest, _journal(big))
                    shown.add(store.waiting)
                    time.sleep(0.05)
                reader.execute("COMMIT")
                reader.close()
                back = writer.wait_for_more(60)
                lost += writer.missing()
            failed += [writer.failed] if writer.failed else []
            problems = len(store.check())
    return {
        "dose": f"{locks} locks of up to {longest:.0f} s, a reader of {reading:.0f} s ({dose})",
        "figures": {
            "rows and judgments lost": [lost, "0"],
            "errors shown": [len(failed), "0"],
            "largest journal, MiB": [largest, "<= 256"],
            "seconds until writing went on after the reader": [back, ""],
            "problems that the store's own check finds": [problems, "0"],
        },
        "passed": not (lost or failed or problems) and largest <= 256,
        "note": "; ".join(failed)[:300] or "told while waiting: " + ", ".join(sorted(shown - {""})),
    }


def crashed(dose: Dose) -> dict[str, Any]:
    """R06: crashes of the server, cut connections, lost answers to commits, a turn to read-only, a
    disk that stands still.
    """
    faults = {"commit": 5, "nightly": 20, "release": 100}[dose]
    backs: dict[str, list[float]] = {}
    with Postgres() as server:
        database = server.database()
        with CuttingProxy(server.port) as proxy:
            url = (
                server.url(database).replace(f":{server.port}/", f":{proxy.port}/")
                + "?sslmode=disable"
            )
            with Store.open(url) as store:
                store.create_run(a_manifest(rows=100_000_000))
                with Writer(store) as writer:
                    for _, fault in zip(range(faults), itertools.cycle(FAULTS), strict=False):
                        writer.wait_for_more(30)
                        FAULTS[fault](server, database, proxy)
                        backs.setdefault(fault, []).append(writer.wait_for_more(60))
                    lost = writer.missing()
                failed = [writer.failed] if writer.failed else []
                counted = "SELECT count(*) - count(DISTINCT key) FROM judgments"
                twice = int(server.sql(counted, database)[0][0])
                problems = len(store.check())
                written = writer.written
    slowest = max(max(found) for found in backs.values())
    return {
        "dose": (
            f"{faults} faults of {len(FAULTS)} kinds, {50 * written:,} judgments and rows ({dose})"
        ),
        "figures": {
            "lost": [lost, "0"],
            "written twice": [twice, "0"],
            "errors shown": [len(failed), "0"],
            "problems that the store's own check finds": [problems, "0"],
            "commits whose answer was cut": [proxy.cuts, ""],
            **{
                f"slowest return to work, s: {kind}": [max(found), "<= 5"]
                for kind, found in backs.items()
            },
        },
        "passed": not (lost or twice or failed or problems) and slowest <= 5,
        "note": "; ".join(failed)[:300],
    }


def _read_only(server: Any, database: str, _: Any) -> None:
    server.sql(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    server.cut(database)
    time.sleep(1.0)
    server.sql(f"ALTER DATABASE {database} RESET default_transaction_read_only")


def _commit_cut(when: str) -> Any:
    def cut(_server: Any, _database: str, proxy: Any) -> None:
        before = proxy.cuts
        proxy.arm(when)
        while proxy.cuts == before:
            time.sleep(0.005)

    return cut


FAULTS = {
    "crash": lambda server, database, proxy: server.restart(1.0),
    "connections cut": lambda server, database, proxy: server.cut(database),
    "cut before a commit": _commit_cut("before"),
    "cut after a commit": _commit_cut("after"),
    "read-only": _read_only,
    "standstill": lambda server, database, proxy: server.stand_still(2.0),
}


def migrated(dose: Dose) -> dict[str, Any]:
    """R16: kills while a store is made and while one is migrated to a next version, and the time
    that a large store takes.
    """
    points, rows = {"commit": (5, 20_000), "nightly": (25, 200_000), "release": (50, 1_000_000)}[
        dose
    ]
    broken: list[str] = []
    killed = 0
    with _folder() as folder, _next_version(folder) as migrations:
        released = folder / "released.db"
        with _this_version():
            filled_store(released)
        for kind, source in (("made", None), ("migrated", released)):
            newer = None if source is None else migrations
            statements = int(_opened(folder / "count", source, 1 << 30, newer).stdout)
            for number in range(points):
                at = folder / f"{kind}-{number}"
                point = 1 + number * statements // points
                killed += _opened(at, source, point, newer).returncode != 0
                why = _not_whole(at / "store.db", empty=source is None)
                if why:
                    broken.append(f"{kind}, killed at statement {point}: {why}"[:200])
                shutil.rmtree(at)
            shutil.rmtree(folder / "count")
        large = folder / "large.db"
        with _this_version():
            filled_store(large, rows)
        began = time.monotonic()
        with Store.open(large) as store:
            seconds = time.monotonic() - began
            if len(store.done("run-1")) != rows or store.backup is None:
                broken.append("the large store is not whole, or has no copy")
    return {
        "dose": f"{killed} kills, a store of {rows:,} rows ({dose})",
        "figures": {
            "kills after which something was lost": [len(broken), "0"],
            f"seconds to the next version with {rows:,} rows": [seconds, "<= 60"],
        },
        "passed": not broken and seconds <= 60,
        "note": "; ".join(broken[:3]),
    }


@contextmanager
def _next_version(folder: Path) -> Iterator[Path]:
    """A newest version that comes after the released one, for this process; its migrations."""
    migrations = next_version(folder / "migrations", MIGRATED)
    with (
        mock.patch.object(migrate, "MIGRATIONS", migrations),
        mock.patch.object(schema, "HEAD", NEXT),
    ):
        yield migrations


def _this_version() -> AbstractContextManager[object]:
    """The newest version is the released one again."""
    return mock.patch.object(schema, "HEAD", schema.FIRST)


def _opened(
    folder: Path, source: Path | None, point: int, migrations: Path | None
) -> subprocess.CompletedProcess[str]:
    """A store, made anew or copied, opened in a process that is killed at this statement."""
    folder.mkdir()
    if source is not None:
        shutil.copy(source, folder / "store.db")
    child: subprocess.CompletedProcess[str] = open_in_a_child(
        folder / "store.db", point, migrations
    )
    return child


def _not_whole(path: Path, *, empty: bool) -> str:
    """What the next to open the store finds wrong with it, "" where nothing is."""
    expected = [] if empty else ["row-0", "row-1", "row-2"]
    try:
        with Store.open(path) as store:
            rows = [] if empty else [row.id for row in store.rows("run-1")]
            problems = store.check()
            runs = len(store.runs())
    except Exception as error:
        return str(error)
    if rows != expected or runs != (0 if empty else 1):
        return "rows are missing"
    return "; ".join(problems)


IDS = {"R05": locked, "R06": crashed, "R16": migrated}
