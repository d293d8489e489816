"""Places for requests: how many are answered at a time, so that a crowd is told to come again
instead of being kept waiting.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ragassay.web.api.problems import busy

AT_ONCE = 32
"""Fewer than the threads that answer, so that the pages are answered meanwhile."""
COSTLY_AT_ONCE = 8
STREAMS_AT_ONCE = 32
BODIES_AT_ONCE = 32
FILES_AT_ONCE = 16
RETRY_S = 1


class Places:
    """So many of one kind of request at a time. Thread-safe."""

    def __init__(self, most: int, what: str) -> None:
        self._most = most
        self._what = what
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """How many are being answered."""
        return self._taken

    @contextmanager
    def one(self) -> Iterator[None]:
        """A place while the block runs. Raises Refused E1411 where there is none."""
        with self._lock:
            if self._taken >= self._most:
                raise busy(f"{self._most} {self._what} already", RETRY_S)
            self._taken += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken -= 1
