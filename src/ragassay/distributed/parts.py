"""The parts of a run: ranges of rows that workers drive, each with its own log and journal.

Many processes that write into one SQLite file wait for each other, so there each part has a file of
its own: `STORE.parts/RUN/START-STOP/part.db`. It is a store like any other, and holds the run under
its own id; what it holds is taken into the run when the part ends, and the folder goes. Into a
database the workers write themselves, and the parts lie in `.ragassay/ragassay-RUN.parts`. In
either case the part's log of replies lies there, and beside all parts a ledger of those that have
ended. What a killed driver left is recovered by whoever resumes the run: journals are merged into
the store, replies that had arrived go into the run's own log.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.core import (
    BadRow,
    EnvironmentFailure,
    Judgment,
    JudgmentAddress,
    Ledger,
    RowResult,
    Sample,
)
from ragassay.dispatch import add_ledgers

if TYPE_CHECKING:
    from ragassay.core import Exchange, Manifest
    from ragassay.runs import Replies, ReplyLog
    from ragassay.store import Store

LEAST_ROWS = 64
MOST_ROWS = 5000
"""Rows of a part: few enough that the workers end at about the same time, and enough that the end
of a part, when calls run out one by one, weighs little.
"""

PARTS_A_WORKER = 4
"""So that workers end at about the same time, though some parts take longer than others."""

PARTS = ".parts"
"""The end of the name of the folder around all parts."""

FILE = "part.db"
LOG = "replies"
TOKEN = "token"
LEDGER_FILE = "book.json"  # the name is older than the class: files of killed drivers have it
LOCK = "lock"
ORPHAN_SECONDS = 15.0
"""How long a resume waits for a worker of a killed driver to end."""

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


def split(rows: int, size: int, done: Container[int]) -> Iterator[Part]:
    """The parts of a run of so many rows that have something to do. done: the indices that are
    done.
    """
    for start in range(0, rows, size):
        stop = min(rows, start + size)
        part = Part(start, stop, frozenset(i for i in range(start, stop) if i in done))
        if part.rows:
            yield part


def folder_of(store: Store, run_id: str) -> tuple[Path, bool]:
    """The folder of a run's parts, and whether parts have journals. They have none where many
    processes can write into the store itself.
    """
    path = store.database.address
    if isinstance(path, Path):  # beside the file, under its name: other stores may lie there too
        return path.with_name(f"{path.name}{PARTS}") / run_id, True
    return store.beside(f"ragassay-{run_id}{PARTS}"), False


def elsewhere(run_id: str, part: Part) -> Path:
    """Make the folder of a part on another machine than the driver's. Raises EnvironmentFailure,
    E0501 where the folder around it belongs to another user: replies are read from there, and that
    user could have put false ones.
    """
    around = Path(tempfile.gettempdir(), f"ragassay-{os.getuid()}-{run_id}")
    folder = around / part.name
    with writing(around):
        for _ in range(100):  # another part that ends there removes it when it is empty
            with suppress(FileNotFoundError):
                around.mkdir(exist_ok=True, mode=0o700)
                if around.lstat().st_uid != os.getuid():
                    raise PermissionError(errno.EPERM, "it belongs to somebody else", str(around))
                folder.mkdir(exist_ok=True, mode=0o700)
                return folder
        raise FileNotFoundError(errno.ENOENT, "it is removed again and again", str(around))


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn an OSError into an error that a user can act on."""
    from ragassay.runs import cannot_write

    try:
        yield
    except OSError as error:
        raise cannot_write(error, folder) from error


class PartStore:
    """The journal of a part, in front of the run's store: writes go to the journal, lookups to
    both.
    """

    def __init__(self, folder: Path, whole: Store, manifest: Manifest) -> None:
        from ragassay.store import Store

        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.own = Store.open(folder / FILE)
        self._whole = whole
        try:
            with suppress(ValueError):  # a worker before this one has begun it
                self.own.create_run(manifest)
            self.own.acquire(manifest.run_id)
        except BaseException:
            self.own.close()
            raise

    def put_judgments(
        self, run_id: str, judgments: Sequence[Judgment], exchanges: Sequence[Exchange] = ()
    ) -> None:
        self.own.put_judgments(run_id, judgments, exchanges)

    def put_rows(self, run_id: str, results: Sequence[RowResult]) -> None:
        self.own.put_rows(run_id, results)

    def get_judgments(
        self, addresses: Sequence[JudgmentAddress], *, run_id: str | None = None
    ) -> dict[JudgmentAddress, Judgment]:
        judgments = self.own.get_judgments(addresses, run_id=run_id)
        rest = [address for address in addresses if address not in judgments]
        if rest:
            judgments |= self._whole.get_judgments(rest, run_id=run_id)
        return judgments

    def last_judgment(self) -> int:
        return self.own.last_judgment()

    def close(self) -> None:
        """Close the part's own file."""
        self.own.close()


@dataclass(slots=True)
class Leftovers:
    """The logs and journals of the workers of a killed driver. ledger: what the run had spent by
    the logs of its parts, None where they do not tell; replies: those that had arrived, judged or
    not.
    """

    ledger: Ledger | None = None
    replies: Replies = field(default_factory=dict)
    folder: Path | None = None

    def remove(self) -> None:
        """Remove it from the disk, once what it says is stored elsewhere. Raises
        EnvironmentFailure.
        """
        if self.folder is not None:
            with writing(self.folder):
                shutil.rmtree(self.folder)
            _tidy(self.folder)


def recover_parts(store: Store, run_id: str, writer: str) -> Leftovers:
    """Recover what the workers of a killed driver left on this machine; the store holds the run's
    lock. writer: who wrote the run's ledger last. Where that was not their driver, the run went on
    elsewhere since, and the ledger of the parts is too old.

    May be broken off and repeated until `remove`. Raises EnvironmentFailure, E0504 while such a
    worker still lives.
    """
    from ragassay.runs import ReplyLog

    folder, journals = folder_of(store, run_id)
    if not folder.is_dir():
        _tidy(folder)
        return Leftovers()
    leftovers = Leftovers(folder=folder)
    parts_ledger = PartsLedger.read(folder)
    if parts_ledger is not None and parts_ledger.owner != writer:
        parts_ledger = None
    with writing(folder):
        for part in sorted(each for each in folder.iterdir() if each.is_dir()):
            if journals:
                merge_part(store, run_id, part, wait=True)
            else:
                _wait_for(part)
            log = ReplyLog(part / LOG)
            for key, replies in log.replies.items():
                leftovers.replies.setdefault(key, deque()).extend(replies)
            if parts_ledger is not None and part.name not in parts_ledger.parts:
                spent = _spent_on(part, log)
                parts_ledger = (
                    None if spent is None else parts_ledger.enter(folder, part.name, spent)
                )
            if parts_ledger is None:
                (folder / LEDGER_FILE).unlink(missing_ok=True)
    leftovers.ledger = None if parts_ledger is None else parts_ledger.spent
    return leftovers


def _spent_on(part: Path, log: ReplyLog) -> Ledger | None:
    """What was spent on a part, by its log; None where that is not known."""
    if log.ledger is None and not any(part.glob(f"{LOG}.*")):
        return Ledger()  # a kill came before the first call
    return log.ledger


def merge_part(store: Store, run_id: str, folder: Path, *, wait: bool = False) -> None:
    """Merge a part's journal into the run. wait: for a worker that may still write it."""
    from ragassay.store import Store, take

    if not (folder / FILE).is_file():
        return  # a kill came before the first write
    with Store.open(folder / FILE) as part:
        if any(run.run_id == run_id for run in part.runs(1)):
            if wait:
                _until_it_ends(lambda: part.acquire(run_id))
            take(store, part, run_id)


def replies_of(folder: Path) -> Replies:
    """The replies in a part's log."""
    from ragassay.runs import ReplyLog

    return ReplyLog(folder / LOG).replies


@contextmanager
def part_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a part without a journal; a journal is a store with a lock of its own."""
    # Imported here: Windows has no such module, and every run looks for leftovers of workers.
    import fcntl

    with open(folder / LOCK, "w") as file:
        with suppress(BlockingIOError):  # a worker before this one that hangs
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield


def _wait_for(folder: Path) -> None:
    if not (folder / LOCK).is_file():
        return
    import fcntl

    with open(folder / LOCK, "w") as file:

        def take() -> None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise EnvironmentFailure(
                    "E0504",
                    "A worker of the run is still at work on it.",
                    where=str(folder),
                    why="the command that started it was killed",
                    fix="wait a minute: it ends by itself",
                ) from None

        _until_it_ends(take)


@dataclass(frozen=True, slots=True)
class PartsLedger:
    """What a run had spent with the parts that have ended. parts: their names, as long as their
    folders may still be there; owner: the token of the store by which the driver has the run.
    """

    spent: Ledger
    parts: tuple[str, ...] = ()
    owner: str = ""

    @classmethod
    def read(cls, folder: Path) -> PartsLedger | None:
        """The ledger of a run's parts; None where there is none that can be read."""
        from ragassay.runs.reply_log import ledger_from_json

        try:
            plain = json.loads((folder / LEDGER_FILE).read_text())
            spent = ledger_from_json(plain["spent"])
            return cls(spent, tuple(plain["parts"]), str(plain["owner"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def enter(self, folder: Path, part: str, spent: Ledger) -> PartsLedger:
        """The ledger with one part more. It is on disk before the part's folder is removed: a part
        is counted once, by its name here or by its log there.
        """
        remaining = tuple(name for name in self.parts if (folder / name).is_dir())
        larger = PartsLedger(add_ledgers(self.spent, spent), (*remaining, part), self.owner)
        larger.write(folder)
        return larger

    def write(self, folder: Path) -> None:
        """Put it on disk, all or nothing."""
        new = folder / f"{LEDGER_FILE}.partial"
        new.write_text(json.dumps(asdict(self)))
        new.replace(folder / LEDGER_FILE)


def remove(folder: Path) -> None:
    """Remove the run's folder, when it holds no part any more."""
    with suppress(OSError):
        if not any(each.is_dir() for each in folder.iterdir()):
            shutil.rmtree(folder)
    _tidy(folder)


def _tidy(folder: Path) -> None:
    """Remove the folder around a run's, when it is empty."""
    if folder.parent.suffix == PARTS:
        with suppress(OSError):
            folder.parent.rmdir()


def _until_it_ends(take: Callable[[], object]) -> None:
    """Repeat `take`, which takes the lock of a part, until it succeeds. A worker whose driver was
    killed ends by itself; until then its files are not complete.
    """
    deadline = time.monotonic() + ORPHAN_SECONDS
    while True:
        try:
            take()
            return
        except EnvironmentFailure as error:
            if error.code != "E0504" or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
