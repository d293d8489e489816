"""The watchdog of a run: it reports long waits, by row, metric and reason.

It is a thread, because the wait may be the event loop's own: a computation that does not give the
loop back.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from ragassay.runs.progress import Progress

LONG_WAIT = 20.0
"""Seconds from which a wait is reported; again each time it has doubled."""

CHECK_INTERVAL = 2.0
"""Seconds between two checks."""


class Watchdog:
    """Reports the long waits of a running loop to `notify`. Use as a context manager inside the
    loop. long_wait and interval: seconds.
    """

    def __init__(
        self,
        progress: Progress,
        notify: Callable[[str], None],
        *,
        long_wait: float = LONG_WAIT,
        interval: float = CHECK_INTERVAL,
    ) -> None:
        self._progress = progress
        self._notify = notify
        self._long_wait = long_wait
        self._interval = interval
        self._end = threading.Event()
        self._alive_at = time.monotonic()  # when the loop last ran something for the watchdog
        self._thread = threading.Thread(target=self._watch, name="ragassay-watchdog", daemon=True)

    def __enter__(self) -> Watchdog:
        self._loop = asyncio.get_running_loop()
        self._alive_at = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        reported = 0.0
        while not self._end.wait(self._interval):
            try:
                self._loop.call_soon_threadsafe(self._note_alive)
            except RuntimeError:  # the loop is closed
                return
            blocked = time.monotonic() - self._alive_at - self._interval
            if blocked < self._long_wait:
                reported = 0.0
                self._report_rows()
            elif blocked > 2 * reported:
                reported = blocked
                culprit = self._progress.computing or "the event loop"
                self._notify(f"nothing moves for {blocked:.0f} s: {culprit} does not give way")

    def _note_alive(self) -> None:
        self._alive_at = time.monotonic()

    def _report_rows(self) -> None:
        now = time.monotonic()
        long_waits = []
        # A copy: the event loop adds and removes rows meanwhile.
        for activity in list(self._progress.activities.values()):
            if now - activity.since >= max(self._long_wait, 2 * activity.reported):
                long_waits.append(activity)
        if not long_waits:
            return
        for activity in long_waits:
            activity.reported = now - activity.since
        longest = max(long_waits, key=lambda activity: activity.reported)
        others = f" (and {len(long_waits) - 1} more rows)" if len(long_waits) > 1 else ""
        self._notify(f"{self._progress.stall(longest, now)}{others}")
