"""How many calls at once does the server stand? At most what the user allows; fewer where it
buckles or only queues them.
"""

from __future__ import annotations

import asyncio
from collections import deque

EPOCH_S, EPOCH_CALLS = 1.0, 200
"""A look at the figures after so many seconds and so many answers, or FAILING failures."""

FAILING = 0.3
"""Share of failed calls from which the server counts as overloaded; single faults do not."""

CUT, RISE = 0.7, 0.05
"""Multiplicative decrease; additive increase an epoch, as a share of what the user allows."""

SLOW = 2.0
"""Latency, as a multiple of the best seen, from which fewer calls at once are tried."""

EASE, WORTH = 0.8, 0.9
"""What a trial leaves of the window, and the share of the speed that it has to keep."""


class ConcurrencyLimit:
    """The gate of calls in flight, first come first served; `limit` moves by AIMD between 1 and
    `ceiling`.

    Two signs narrow it. Many failures: the server is overloaded, and the window is cut. Latency at
    SLOW times its best: the calls may only queue at the server, so a narrower window is tried, and
    kept if as many answers a second come; if not, the calls are simply longer now, the window is
    given back and the latency is the new best.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = float(ceiling)
        self.in_flight = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._full = False
        self._begun: float | None = None
        self._answers = self._failures = 0
        self._seconds = 0.0
        self._best = float("inf")
        self._trial: tuple[float, float] | None = (
            None  # the limit and the answers a second before it
        )

    @property
    def waiting(self) -> bool:
        """Whether anybody waits for a place."""
        return bool(self._waiters)

    async def enter(self) -> None:
        """Wait for a place and take it."""
        if self.in_flight < int(self.limit) and not self._waiters:
            self.in_flight += 1
            return
        self._full = True
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter  # whoever wakes it has taken the place for it
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.leave()
            else:
                waiter.cancel()
            raise

    def leave(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiters and self.in_flight < int(self.limit):
            waiter = self._waiters.popleft()
            if not waiter.done():
                self.in_flight += 1
                waiter.set_result(None)

    def observe(self, now: float, seconds: float | None) -> None:
        """A call ended: answered after so many seconds, or (None) failed for want of the server's
        strength.
        """
        if self._begun is None:
            self._begun = now
        if seconds is None:
            self._failures += 1
        else:
            self._answers += 1
            self._seconds += seconds
        passed = now - self._begun
        # Few answers come to a narrow window: it must not have to wait for as many as a wide one.
        enough = min(EPOCH_CALLS, 8 * int(self.limit))
        if passed >= EPOCH_S and (
            self._answers >= enough or self._failures >= max(3, FAILING * self.limit)
        ):
            self._look(passed)
            self._begun, self._answers, self._failures, self._seconds, self._full = (
                now,
                0,
                0,
                0.0,
                False,
            )

    def _look(self, passed: float) -> None:
        ended = self._answers + self._failures
        if self._failures >= FAILING * ended:
            self._trial = None
            self._set(self.limit * CUT)
            return
        speed, latency = self._answers / passed, self._seconds / self._answers
        if self._trial is not None and self._full:
            before, speed_before = self._trial
            self._trial = None
            if speed < WORTH * speed_before:
                self._best = latency
                self._set(before)
                return
        self._best = min(self._best, latency)
        if latency >= SLOW * self._best and self.limit > 4 and self._full:
            self._trial = self.limit, speed
            self._set(self.limit * EASE)
        elif self._full and self.limit < self.ceiling and latency < SLOW * EASE * self._best:
            self._set(self.limit + max(1.0, RISE * self.ceiling))

    def _set(self, limit: float) -> None:
        self.limit = min(float(self.ceiling), max(1.0, limit))
        self._wake()
