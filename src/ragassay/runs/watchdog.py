"""What does a run wait for, when it waits long? Names row, metric and reason, also when the event
loop itself is held.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from ragassay.runs.progress import Progress

LONG = 20.0
"""Seconds of one wait from which it is reported; again each time it has doubled."""

EVERY = 2.0


class Watchdog:
    """A thread beside a running loop that tells of long waits. Use as a context manager inside the
    loop.

    It is a thread because the wait may be the loop's own: a computation that does not give it back.
    """

    def __init__(
        self,
        progress: Progress,
        tell: Callable[[str], None],
        *,
        long: float = LONG,
        every: float = EVERY,
    ) -> None:
        self._progress, self._tell, self._long, self._every = progress, tell, long, every
        self._end = threading.Event()
        self._beat = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="ragassay-watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._loop = asyncio.get_running_loop()
        self._beat = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _work(self) -> None:
        told = 0.0
        while not self._end.wait(self._every):
            try:
                self._loop.call_soon_threadsafe(self._set_beat)
            except RuntimeError:  # the loop is gone
                return
            held = time.monotonic() - self._beat - self._every
            if held < self._long:
                told = 0.0
                self._tell_of_rows()
            elif held > 2 * told:
                told = held
                self._tell(
                    f"nothing moves for {held:.0f} s:"
                    f" {self._progress.computing or 'the event loop'} does not give way"
                )

    def _set_beat(self) -> None:
        self._beat = time.monotonic()

    def _tell_of_rows(self) -> None:
        now = time.monotonic()
        new = [
            place
            for place in list(self._progress.places.values())
            if now - place.since >= max(self._long, 2 * place.reported)
        ]
        if not new:
            return
        first = min(new, key=lambda place: place.since)
        for place in new:
            place.reported = now - place.since
        others = f" (and {len(new) - 1} more rows)" if len(new) > 1 else ""
        self._tell(f"{self._progress.stall(first, now)}{others}")
