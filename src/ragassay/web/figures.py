"""Figures of runs, counted once for all who look, in the background where there are many rows.

What is counted is what the command prints: `report.summarise` and the distributions of the HTML
report. A run's figures are kept in memory until the run changes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Generic, TypeVar

from ragassay.core import RagAssayError, RunState, Summary
from ragassay.report.html import Distribution, distributions_of
from ragassay.report.summary import summarise
from ragassay.report.worst import worst_first
from ragassay.runs.trust import trust_of
from ragassay.store.row_index import RowIndex, build_index, open_index

if TYPE_CHECKING:
    from ragassay.store import Store, StoredRun

T = TypeVar("T")

PATIENCE_S = 0.2
"""How long a page waits for figures that are being counted before it says so."""
FEW_ROWS = 5000
FOR_FEW_S = 5.0
"""Of so few rows they are counted in less than a second on any machine that is not busy: a page
that comes back by itself would only flicker.
"""
KEPT = 64
KEPT_RUNS = 256
"""More than the runs that one page shows."""
KEPT_LARGE = 4
"""Of what grows with the rows of a run: up to 300 MB for a million."""
WORKERS = 4


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What the pages of a run show of it as a whole."""

    summary: Summary
    distributions: tuple[Distribution, ...]


class _Kept(Generic[T]):
    """Values by key, counted in a pool, the last ones kept. Thread-safe."""

    def __init__(self, pool: ThreadPoolExecutor, most: int) -> None:
        self._pool = pool
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[object, Future[T]] = OrderedDict()

    def get(self, key: object, make: Callable[[], T], patience: float) -> T | None:
        """The value, None where it is not ready in so many seconds. Raises what `make` raised."""
        with self._lock:
            future = self._values.get(key)
            if future is None:
                future = self._pool.submit(make)
                self._values[key] = future
            self._values.move_to_end(key)
            # One that is not made yet has somebody who waits for it.
            done = [known for known, kept in self._values.items() if kept.done()]
            for known in done[: max(0, len(self._values) - self._most)]:
                if known != key:
                    del self._values[known]
        try:
            return future.result(timeout=patience)
        except NotYet:
            if not future.done():
                return None
            with self._lock:
                self._values.pop(key, None)
            raise
        except BaseException:
            # Whatever it was may have passed when the page is asked for again.
            with self._lock:
                self._values.pop(key, None)
            raise


class Figures:
    """The figures and row indices of the runs of one store. Thread-safe; `close` ends it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="figures")
        self._figures = _Kept[RunFigures](self._pool, KEPT_RUNS)
        self._indices = _Kept[RowIndex](self._pool, KEPT)
        self._other = _Kept[object](self._pool, KEPT)
        self._large = _Kept[object](self._pool, KEPT_LARGE)
        self._stored: OrderedDict[str, tuple[object, StoredRun]] = OrderedDict()
        self._last: OrderedDict[str, RunFigures] = OrderedDict()
        self._lock = threading.Lock()
        self._progress: dict[str, int] = {}
        self._own_folder: TemporaryDirectory[str] | None = None
        self._folder = self._index_folder()

    def stored(self, run_id: str) -> StoredRun:
        """The run as it stands. Its rows are counted anew only when it has changed: counting a
        million takes a tenth of a second.
        """
        stamp = self._store.run_stamp(run_id)
        with self._lock:
            known = self._stored.get(run_id)
            if known is not None and known[0] == stamp:
                return known[1]
        # Not in the pool, which may be busy with a large run for minutes.
        run = self._store.run(run_id)
        with self._lock:
            self._stored[run_id] = (stamp, run)
            while len(self._stored) > KEPT_RUNS:
                self._stored.popitem(last=False)
        return run

    def goes_on(self, stored: StoredRun) -> bool:
        """Whether a living process works on the run. Of a killed one the state says so too."""
        return stored.state is RunState.RUNNING and self._store.driven(stored.run_id)

    def of_run(self, stored: StoredRun, patience: float | None = None) -> RunFigures | None:
        """The run's figures, None while they are being counted. patience: seconds to wait for them,
        None = by the number of rows. Of a run that goes on they may be those of fewer rows.
        """
        run_id = stored.run_id

        def count() -> RunFigures:
            trust = trust_of(self._store, run_id)
            summary = summarise(self._store, run_id, trust=trust)
            figures = RunFigures(summary, tuple(distributions_of(self._store, run_id, summary)))
            self._remember(run_id, figures)
            return figures

        # Labels and certificates change what is known of the judge, and not the run.
        key = (run_id, _stamp(stored), self._trust_stamp())
        figures = self._figures.get(key, count, _patience(stored, patience))
        if figures is None and self.goes_on(stored):
            # A large run gets new rows faster than they are counted: the last figures are shown.
            with self._lock:
                return self._last.get(run_id)
        return figures

    def _remember(self, run_id: str, figures: RunFigures) -> None:
        with self._lock:
            self._last[run_id] = figures
            self._last.move_to_end(run_id)
            while len(self._last) > KEPT_RUNS:
                self._last.popitem(last=False)

    def index(self, stored: StoredRun, patience: float | None = None) -> RowIndex | None:
        """The index of a run's rows; None while it is being made, while the run goes on, and where
        it cannot be made.
        """
        if self.goes_on(stored):
            return None
        stamp = _stamp(stored)
        path = self._folder / f"{stored.run_id}.rows"

        def make() -> RowIndex:
            there = open_index(path, stamp)
            if there is not None:
                return there
            run_id, manifest = stored.run_id, stored.manifest
            return build_index(
                path,
                self._store.rows(run_id),
                metrics=manifest.metrics,
                stamp=stamp,
                worst=worst_first(manifest),
                tell=lambda rows: self._progress.__setitem__(run_id, rows),
            )

        try:
            return self._indices.get((stored.run_id, stamp), make, _patience(stored, patience))
        except RagAssayError:
            raise
        except Exception:
            # A full disk, a folder that went away: rows are shown by the store's own order.
            return None

    def indexed_rows(self, run_id: str) -> int:
        """How many rows are in the index that is being made."""
        return self._progress.get(run_id, 0)

    def other(self, key: object, make: Callable[[], T], patience: float = PATIENCE_S) -> T | None:
        """Anything else that takes long, kept under a key of its own."""
        return self._other.get(key, make, patience)  # type: ignore[return-value]

    def large(self, key: object, make: Callable[[], T], patience: float) -> T | None:
        """The same for what is as large as a run; only the last few are kept."""
        return self._large.get(key, make, patience)  # type: ignore[return-value]

    def close(self) -> None:
        """Stop counting."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._own_folder is not None:
            self._own_folder.cleanup()

    def _trust_stamp(self) -> object:
        return len(self._store.certificates()), self._store.labels_stamp()

    def _index_folder(self) -> Path:
        """Beside the store, so that it is there when the server is started again; else a folder
        that goes with this one.
        """
        with suppress(OSError):
            folder = self._store.beside("row-indices")
            folder.mkdir(mode=0o700, exist_ok=True)
            probe = folder / ".writable"
            probe.touch()
            probe.unlink()
            return folder
        self._own_folder = TemporaryDirectory(prefix="ragassay-rows-")
        return Path(self._own_folder.name)


def _patience(stored: StoredRun, asked: float | None) -> float:
    if asked is not None:
        return asked
    return FOR_FEW_S if stored.rows <= FEW_ROWS else PATIENCE_S


def _stamp(stored: StoredRun) -> str:
    """What changes with every row of the run."""
    return f"{stored.updated} {stored.state.value} {stored.rows} {stored.done}"
