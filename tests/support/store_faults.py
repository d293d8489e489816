"""What is done to a store to see whether it keeps everything: locks, readers without an end, kills
in a migration.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Self

from ragassay.core import JudgeInfo, Judgment, Manifest, RowResult, Sample, Status
from ragassay.store import Store, migrate, schema

_HOLD = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
connection.execute("COMMIT")
"""

_KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import event
from sqlalchemy.engine import Engine
from ragassay.store import Store, migrate, schema
left = int(sys.argv[2])
if len(sys.argv) > 3:
    migrate.MIGRATIONS, schema.HEAD = Path(sys.argv[3]), sys.argv[4]

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


def a_manifest(run_id: str = "run-1", rows: int = 100) -> Manifest:
    """A run of so many rows."""
    judge = JudgeInfo(
        "offline", {"groundedness": "groundedness@1"}, {"groundedness": "f" * 32}, "unmeasured"
    )
    return Manifest(
        run_id, "2026-11-20T00:00:00Z", "0.1", "memory", "h", rows, {}, ("groundedness",), judge
    )


def a_judgment(key: str, size: int = 10) -> Judgment:
    """A judgment whose rationale has so many letters."""
    return Judgment(key, "j", "groundedness", Status.JUDGED, rating=3, rationale="x" * size)


def hold(path: Path, seconds: float) -> subprocess.Popen[bytes]:
    """A process that has the store locked for itself when this returns, and for so many seconds."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), str(seconds)], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    return holder


NEXT = "9999"
"""A schema version that comes after the newest."""

MIGRATED = "for number in range(6): op.execute(f'CREATE TABLE extra_{number} (x INTEGER)')"
"""The body of a migration of several statements."""


def next_version(folder: Path, body: str = "pass") -> Path:
    """A copy of the migrations with one more, to the version NEXT: it makes the table `extra`, and
    does what `body` says.
    """
    shutil.copytree(migrate.MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"v{NEXT}.py").write_text(
        f"from alembic import op\nrevision = {NEXT!r}\ndown_revision = {schema.HEAD!r}\ndef"
        f" upgrade():\n    op.execute('CREATE TABLE extra (x INTEGER)')\n    {body}\n"
    )
    return folder


def open_in_a_child(
    path: Path, point: int, migrations: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Open the store in a process that is killed at its so-many-th statement; it prints how many
    there were. migrations: a folder of `next_version`, to which the store is migrated.
    """
    newer = [] if migrations is None else [str(migrations), NEXT]
    return subprocess.run(
        [sys.executable, "-c", _KILLED, str(path), str(point), *newer],
        capture_output=True,
        text=True,
    )


def filled_store(path: Path, rows: int = 3) -> None:
    """A store with a run in it, and five judgments."""
    with Store.open(path) as store:
        store.create_run(a_manifest(rows=rows))
        for start in range(0, rows, 5000):
            here = range(start, min(start + 5000, rows))
            store.put_rows("run-1", [RowResult(i, Sample(f"row-{i}")) for i in here])
        store.put_judgments("run-1", [a_judgment(f"k{i}") for i in range(5)])


class Writer:
    """A thread that writes judgments and rows of the run "run-1" in batches of 50 without an end; a
    context manager.
    """

    def __init__(self, store: Store, size: int = 10) -> None:
        self.written, self.longest, self.failed = 0, 0.0, ""
        self._store, self._size = store, size
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                began = time.monotonic()
                n = self.written
                self._store.put_judgments(
                    "run-1", [a_judgment(f"{n}-{k}", self._size) for k in range(50)]
                )
                self._store.put_rows(
                    "run-1", [RowResult(50 * n + k, Sample(f"{n}-{k}")) for k in range(50)]
                )
                self.longest = max(self.longest, time.monotonic() - began)
                self.written += 1
        except Exception as error:
            self.failed = str(error)

    def wait_for_more(self, within: float) -> float:
        """Wait until two more batches are written; the seconds that took. Raises AssertionError
        after `within`.
        """
        before, began = self.written, time.monotonic()
        while self.written < before + 2:
            assert time.monotonic() < began + within, (
                f"nothing was written for {within} s {self.failed}"
            )
            time.sleep(0.005)
        return time.monotonic() - began

    def missing(self) -> int:
        """How many of the judgments and rows that were written are not in the store."""
        self._stop.set()
        self._thread.join()
        lost = 0
        for n in range(self.written):
            pairs = [("j", f"{n}-{k}") for k in range(50)]
            lost += len(pairs) - len(self._store.get_judgments(pairs))
        return lost + 50 * self.written - len(self._store.done("run-1"))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
