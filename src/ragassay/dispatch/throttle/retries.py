"""The budget of retries: a share of a run's calls, so that a struggling server is not flooded."""

from __future__ import annotations

SHARE = 0.2
"""Retries that each new call adds to the budget."""

MOST = 20.0
"""Most that the budget holds, and what it holds at the beginning."""

A_SECOND = 1.0
"""Retries a second that are always allowed, so that the last calls of a run come to an end."""


class RetryBudget:
    """Retries that may be made now (a token bucket, as in Finagle's RetryBudget). Times are of one
    monotonic clock, in seconds.
    """

    def __init__(self) -> None:
        self._left = MOST
        self._filled_at = 0.0

    def add_call(self) -> None:
        """A new call is made."""
        self._left = min(MOST, self._left + SHARE)

    def take(self, now: float) -> float:
        """Take one retry: 0 when there is one, else the seconds after which to ask again."""
        if self._filled_at:
            self._left = min(MOST, self._left + A_SECOND * (now - self._filled_at))
        self._filled_at = now
        if self._left < 1.0:
            return (1.0 - self._left) / A_SECOND
        self._left -= 1.0
        return 0.0
