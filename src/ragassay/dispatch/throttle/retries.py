"""How many retries does a run afford itself? A share of its calls, so that a struggling server is
not flooded by them.
"""

from __future__ import annotations

SHARE = 0.2
"""Retries that each new call adds to the purse."""

PURSE = 20.0
"""Most that the purse holds, and what it holds at the beginning."""

DRIP = 1.0
"""Retries a second that are always allowed, so that the last calls of a run come to an end."""


class RetryBudget:
    """Retries that may be made now (a token bucket, as in Finagle's RetryBudget). Times are of one
    monotonic clock.
    """

    def __init__(self) -> None:
        self._left, self._seen = PURSE, 0.0

    def first(self) -> None:
        """A new call is made."""
        self._left = min(PURSE, self._left + SHARE)

    def take(self, now: float) -> float:
        """Take one retry: 0 when there is one, else the seconds after which to ask again."""
        if self._seen:
            self._left = min(PURSE, self._left + DRIP * (now - self._seen))
        self._seen = now
        if self._left < 1.0:
            return (1.0 - self._left) / DRIP
        self._left -= 1.0
        return 0.0
