"""Rarer collections of cyclic garbage while runs go on."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class RarerCollections:
    """While runs go on, cyclic garbage is looked for less often: what a run makes goes without
    cycles, and to look through all that is in flight takes a fifth of its time. The host's own
    setting comes back with the end of the last run.
    """

    OBJECTS = 50_000

    def __init__(self) -> None:
        self._lock, self._runs = threading.Lock(), 0
        self._before = gc.get_threshold()

    @contextmanager
    def during_run(self) -> Iterator[None]:
        """For the time of one run."""
        with self._lock:
            if not self._runs:
                self._before = gc.get_threshold()
                if gc.isenabled() and self._before[0]:
                    gc.set_threshold(max(self._before[0], self.OBJECTS), *self._before[1:])
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                if not self._runs:
                    gc.set_threshold(*self._before)


RARER_COLLECTIONS = RarerCollections()
