"""The fairness queue of the event loop: calls go first, longer steps go one in a round.

A place in flight that is empty while the loop reads what another reply says is time the endpoint
stands idle. The loop runs everything that is ready before it looks at its sockets again; so of the
steps that take a millisecond (to read a reply, to plan a row) only one is made ready a round, and
for a few rounds none, while calls move and others wait for their places.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

PATIENCE = 8
"""Rounds that a step waits at most for calls that come and go without a pause."""


class FairnessQueue:
    """First come, first served. For one event loop. calls_wait: whether a call waits to be sent;
    where none does, no round is passed over, for longer work is what brings the next.
    """

    def __init__(self, calls_wait: Callable[[], bool]) -> None:
        self._calls_wait = calls_wait
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._scheduled = False
        self._moving = False
        self._over = False
        self._passed = 0  # rounds in a row in which nobody was released

    def moving(self) -> None:
        """A call has just ended, or is about to go."""
        self._moving = True

    def end(self) -> None:
        """The run is stopping: whoever waits goes on now, and nobody waits any more."""
        self._over = True
        while self._waiting:
            self._release()

    async def turn(self) -> None:
        """Wait for a round with nothing lighter to do."""
        if self._over:
            return
        loop = asyncio.get_running_loop()
        mine = loop.create_future()
        self._waiting.append(mine)
        if not self._scheduled:
            self._scheduled = True
            loop.call_soon(self._round)
        await mine

    def _round(self) -> None:
        if self._moving and self._passed < PATIENCE and self._calls_wait():
            self._passed += 1
        else:
            self._passed = 0
            self._release()
        self._moving = False
        self._scheduled = bool(self._waiting)
        if self._scheduled:
            asyncio.get_running_loop().call_soon(self._round)

    def _release(self) -> None:
        """Let the first go on who still waits."""
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # not cancelled meanwhile
                first.set_result(None)
                return
