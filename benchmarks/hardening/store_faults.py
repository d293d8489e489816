"""R05, R06, R16: does a store keep everything when it is locked, when its database crashes, when a
migration is killed?
"""

from __future__ import annotations

import itertools
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from ragassay.store import Store, schema
from support.cutting_proxy import CuttingProxy  # type: ignore[import-not-found]
from support.postgres import Postgres  # type: ignore[import-not-found]
from support.store_faults import (  # type: ignore[import-not-found]
    Writer,
    a_manifest,
    hold,
    migrate_in_a_child,
    old_store,
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
    """R16: kills in migrations from every released version, and the time that a large store takes."""
    points, rows = {"commit": (5, 20_000), "nightly": (25, 200_000), "release": (50, 1_000_000)}[
        dose
    ]
    broken: list[str] = []
    killed = 0
    with _folder() as folder:
        for version in ("0001", "0002"):
            old = folder / f"{version}.db"
            old_store(old, version)
            whole = folder / "count" / "store.db"
            whole.parent.mkdir(exist_ok=True)
            shutil.copy(old, whole)
            statements = int(migrate_in_a_child(whole, 1 << 30).stdout)
            shutil.rmtree(whole.parent)
            for number in range(points):
                path = folder / f"{version}-{number}" / "store.db"
                path.parent.mkdir()
                shutil.copy(old, path)
                point = 1 + number * statements // points
                killed += migrate_in_a_child(path, point).returncode != 0
                try:
                    with Store.open(path) as store:
                        kept = [row.id for row in store.rows("run-1")] == [
                            "row-0",
                            "row-1",
                            "row-2",
                        ]
                        if not kept or store.check():
                            broken.append(f"{version} at statement {point}")
                    shutil.rmtree(path.parent)
                except Exception as error:
                    broken.append(f"{version} at statement {point}: {error}"[:200])
        large = folder / "large.db"
        old_store(large, "0001", rows)
        began = time.monotonic()
        with Store.open(large) as store:
            seconds = time.monotonic() - began
            if len(store.done("run-1")) != rows or store.backup is None:
                broken.append("the large store is not whole, or has no copy")
    return {
        "dose": f"{killed} kills, a store of {rows:,} rows ({dose})",
        "figures": {
            "kills after which something was lost": [len(broken), "0"],
            f"seconds to version {schema.HEAD} with {rows:,} rows": [seconds, "<= 60"],
        },
        "passed": not broken and seconds <= 60,
        "note": "; ".join(broken[:3]),
    }


IDS = {"R05": locked, "R06": crashed, "R16": migrated}
