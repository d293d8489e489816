"""The limit on calls in flight: what the user allows, and less where the server cannot take it.

Servers do not say how many calls at once they stand; it shows in failures and in latency.
"""

from __future__ import annotations

import asyncio
from collections import deque

EPOCH_SECONDS = 1.0
EPOCH_CALLS = 200
"""A look at the figures after so many seconds and so many answers, or FAILING failures."""

FAILING = 0.3
"""Share of failed calls from which the server counts as overloaded; single faults do not."""

CUT = 0.7
RISE = 0.05
"""Multiplicative decrease; additive increase an epoch, as a share of what the user allows."""

SLOW = 2.0
"""Latency, as a multiple of the best seen, from which fewer calls at once are tried."""

EASE = 0.8
WORTH = 0.9
"""What a trial leaves of the limit, and the share of the speed that it has to keep."""


class ConcurrencyLimit:
    """The gate of calls in flight, first come first served; `limit` moves by AIMD (additive
    increase, multiplicative decrease) between 1 and `ceiling`.

    Two signs narrow it. Many failures: the server is overloaded, and the limit is cut. Latency at
    SLOW times its best: the calls may only queue at the server, so a lower limit is tried, and kept
    if as many answers a second come; if not, the calls are simply longer now, the limit is restored
    and the latency is the new best.
    """

    def __init__(self, ceiling: int) -> None:
        self.ceiling = ceiling
        self.limit = float(ceiling)
        self.in_flight = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._epoch_began: float | None = None
        self._answers = 0
        self._failures = 0
        self._seconds = 0.0  # the sum of the answers' latencies
        self._full = False  # whether a call had to wait in this epoch
        self._best_latency = float("inf")
        # While a lower limit is tried: the limit and the answers a second before it.
        self._trial: tuple[float, float] | None = None

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
        strength. now: the event loop's seconds.
        """
        if self._epoch_began is None:
            self._epoch_began = now
        if seconds is None:
            self._failures += 1
        else:
            self._answers += 1
            self._seconds += seconds
        passed = now - self._epoch_began
        if passed < EPOCH_SECONDS:
            return
        # Few answers come under a low limit: it must not have to wait for as many as a high one.
        enough = min(EPOCH_CALLS, 8 * int(self.limit))
        if self._answers >= enough or self._failures >= max(3, FAILING * self.limit):
            self._adjust(passed)
            self._epoch_began = now
            self._answers = 0
            self._failures = 0
            self._seconds = 0.0
            self._full = False

    def _adjust(self, passed: float) -> None:
        """Move the limit by the figures of an epoch of `passed` seconds."""
        ended = self._answers + self._failures
        if self._failures >= FAILING * ended:
            self._trial = None
            self._set(self.limit * CUT)
            return
        speed = self._answers / passed
        latency = self._seconds / self._answers
        if self._trial is not None and self._full:
            limit_before, speed_before = self._trial
            self._trial = None
            if speed < WORTH * speed_before:
                self._best_latency = latency
                self._set(limit_before)
                return
        self._best_latency = min(self._best_latency, latency)
        if not self._full:
            return
        if latency >= SLOW * self._best_latency and self.limit > 4:
            self._trial = self.limit, speed
            self._set(self.limit * EASE)
        elif self.limit < self.ceiling and latency < SLOW * EASE * self._best_latency:
            self._set(self.limit + max(1.0, RISE * self.ceiling))

    def _set(self, limit: float) -> None:
        self.limit = min(float(self.ceiling), max(1.0, limit))
        self._wake()
