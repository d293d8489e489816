"""What is a part of a run: a range of rows that one worker drives, and, beside a SQLite store, the journal it writes.

Many processes that write into one SQLite file wait for each other, so there each part has a file of its own:
`STORE.parts/RUN/START-STOP/part.db`. It is a store like any other, and holds the run under its own id; what it holds
is taken into the run when the part ends, and the folder goes. Beside it lies the part's log of calls, and beside all parts
a book of what those came to that are taken in. What a killed driver left is taken in by whoever resumes, and replies that
had arrived and were not judged go to the run's own log.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.core import BadRow, EnvironmentFailure, Judgment, Ledger, RowResult, Sample, Spend
from ragassay.distributed.purse import added

if TYPE_CHECKING:
    from ragassay.core import Manifest
    from ragassay.store import Store

LEAST_ROWS, MOST_ROWS = 64, 5000
"""Rows of a part: few enough that the workers end at about the same time, and enough that the end of a part, when calls
run out one by one, weighs little."""

PARTS_A_WORKER = 4

FILE, LOG, TOKEN, BOOK = "part.db", "replies", "token", "book.json"
ORPHAN_SECONDS = 15.0
"""How long the worker of a killed driver may take to end."""

Rows = Sequence[tuple[int, Sample | BadRow]]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows start to stop (exclusive), by index. done: those of them that the run has already."""

    start: int
    stop: int
    done: frozenset[int] = frozenset()

    @property
    def rows(self) -> int:
        """How many there are to do."""
        return self.stop - self.start - len(self.done)

    @property
    def name(self) -> str:
        """Of its folder; sorts by place."""
        return f"{self.start:012d}-{self.stop:012d}"

    def __str__(self) -> str:
        return f"rows {self.start + 1:,} to {self.stop:,}"


def size_of_parts(rows: int, workers: int) -> int:
    """How many rows a part of such a run has."""
    return min(MOST_ROWS, max(LEAST_ROWS, -(-rows // (workers * PARTS_A_WORKER))))


def cut(rows: int, size: int, done: object) -> Iterator[Part]:
    """The parts of a run of so many rows that have something to do. done: the indices (a Container) that are done."""
    for start in range(0, rows, size):
        stop = min(rows, start + size)
        part = Part(start, stop, frozenset(i for i in range(start, stop) if i in done))  # type: ignore[operator]
        if part.rows:
            yield part


def folder_of(store: Store, run_id: str) -> Path | None:
    """Where the parts of a run beside a SQLite store are kept; None for a store that many processes write."""
    path = store.database.address
    return path.with_name(f"{path.name}.parts") / run_id if isinstance(path, Path) else None


class PartStore:
    """The journal of a part, in front of the store of the run: written here, looked up in both."""

    def __init__(self, folder: Path, whole: Store, manifest: Manifest) -> None:
        from ragassay.store import Store

        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.own, self._whole = Store.open(folder / FILE), whole
        try:
            with suppress(ValueError):  # a worker before this one has begun it
                self.own.create_run(manifest)
            self.own.acquire(manifest.run_id)
        except BaseException:
            self.own.close()
            raise

    def put_judgments(self, run_id: str, judgments: Sequence[Judgment]) -> None:
        self.own.put_judgments(run_id, judgments)

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None:
        self.own.put_rows(run_id, results)

    def get_judgments(
        self, pairs: Sequence[tuple[str, str]], *, run_id: str | None = None
    ) -> dict[tuple[str, str], Judgment]:
        found = self.own.get_judgments(pairs, run_id=run_id)
        if rest := [pair for pair in pairs if pair not in found]:
            found |= self._whole.get_judgments(rest, run_id=run_id)
        return found

    def last_judgment(self) -> int:
        return self.own.last_judgment()

    def close(self) -> None:
        """Let go of the part's own file."""
        self.own.close()


def logs_here(run_id: str) -> Path:
    """Where this machine keeps the logs of calls of a run whose judgments go into a database."""
    return Path(tempfile.gettempdir(), f"ragassay-{os.getuid()}-{run_id}")


def absorb(store: Store, run_id: str, replies: Path) -> Ledger | None:
    """Take in what the workers of a killed driver left beside the store, which holds the run's lock. replies: where the
    run's own log of calls is, to which theirs are handed over.

    Returns what the run had spent by the logs of its parts; None where there are none, or one of them is lost. May be
    broken off and repeated. Raises EnvironmentFailure E0504 while such a worker still lives.
    """
    folder = folder_of(store, run_id)
    if folder is None:
        folder = logs_here(run_id)
        if folder.is_dir() and folder.stat().st_uid == os.getuid():
            for part in folder.iterdir():
                keep_replies(part, replies)
            shutil.rmtree(folder, ignore_errors=True)
        return None
    if not folder.is_dir():
        return None
    book = Book.read(folder)
    for part in sorted(one for one in folder.iterdir() if one.is_dir()):
        spent = take_in(store, run_id, part)
        if book is not None and part.name not in book.parts:
            book = None if spent is None else book.enter(folder, part.name, spent)
        if book is None:
            (folder / BOOK).unlink(missing_ok=True)
        keep_replies(part, replies)
        shutil.rmtree(part)
    remove(folder)
    return None if book is None else book.spent


def take_in(store: Store, run_id: str, folder: Path) -> Ledger | None:
    """Take a part's journal into the run; what the part had spent by its log of calls, None when that is lost."""
    from ragassay.runner import ReplyLog
    from ragassay.store import Store, take

    if not (folder / FILE).is_file():
        return Ledger()  # a kill came before the first write
    with Store.open(folder / FILE) as part:
        if any(known.run_id == run_id for known in part.runs(1)):
            _wait_for_the_end(part, run_id)
            take(store, part, run_id)
        spent = ReplyLog(folder / LOG).ledger
    return spent if spent is not None or any(folder.glob(f"{LOG}.*")) else Ledger()


def keep_replies(folder: Path, replies: Path) -> None:
    """Hand the log of a part that did not come to its end over to the run's own, once its ledger has been read: what had
    arrived is not asked again. Raises EnvironmentFailure."""
    from ragassay.runner import hand_over

    try:
        hand_over(folder / LOG, replies)
    except OSError as error:
        raise EnvironmentFailure(
            "E0501", "The folder of the store cannot be written.", where=str(replies.parent), why=str(error),
            fix="check that the folder exists and may be written",
        ) from error  # fmt: skip


@dataclass(frozen=True, slots=True)
class Book:
    """What a run had spent with the parts that were taken in. parts: those whose folders may still be there."""

    spent: Ledger
    parts: tuple[str, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Book | None:
        """The book of a run; None where there is none that can be read."""
        try:
            plain = json.loads((folder / BOOK).read_text())
            spent = Ledger(**{**plain["spent"], "confirmed": Spend(**plain["spent"]["confirmed"])})
            return cls(spent, tuple(plain["parts"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def enter(self, folder: Path, part: str, spent: Ledger) -> Book:
        """The book with one part more, on disk before the part's folder is removed."""
        here = tuple(name for name in self.parts if (folder / name).is_dir())
        book = Book(added(self.spent, spent), (*here, part))
        book.write(folder)
        return book

    def write(self, folder: Path) -> None:
        """Put it on disk, all or nothing."""
        new = folder / f"{BOOK}.partial"
        new.write_text(json.dumps({"spent": asdict(self.spent), "parts": self.parts}))
        new.replace(folder / BOOK)


def remove(folder: Path) -> None:
    """Remove the run's folder when it holds no part any more, and the one around it."""
    with suppress(OSError):
        if not any(one.is_dir() for one in folder.iterdir()):
            shutil.rmtree(folder)
        folder.parent.rmdir()


def _wait_for_the_end(part: Store, run_id: str) -> None:
    """A worker whose driver was killed ends by itself; until then its journal is not whole."""
    deadline = time.monotonic() + ORPHAN_SECONDS
    while True:
        try:
            part.acquire(run_id)
            return
        except EnvironmentFailure as error:
            if error.code != "E0504" or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
