"""The circuit breaker of a provider: while it is down, a run pauses and looks now and then.

Without it, a run would spend the attempts of all its calls on nothing.
"""

from __future__ import annotations

from ragassay.core import CallError

OUTAGE_STATUS = frozenset({502, 503, 504, 529})
"""Answers that speak of the service and not of the call."""


class Breaker:
    """Opens when `threshold` calls in a row failed and none was answered; then one call now and
    then looks.

    Times are those of one monotonic clock, in seconds, passed in. Failures that a call can bring
    upon itself (rejected, too long) are not reported here.
    """

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._failures = 0  # in a row
        self._failing_since = 0.0
        self._every = 0.0
        self._next_look = 0.0
        self.since: float | None = None
        """Since when it is open; None while it is closed."""
        self.last: CallError | None = None
        """The last failure."""

    def answered(self, started: float) -> None:
        """The provider answered, be it with a refusal of the rate, a call that was sent at
        `started`: it is up, unless that was before the failures began.
        """
        if not self._failures or started >= self._failing_since:
            self._failures = 0
            self.since = None
            self.last = None

    def failed(self, now: float, every: float, error: CallError) -> None:
        """A call failed at `now`; while it is open, one call in `every` seconds looks, none before
        the time that the provider asked for.
        """
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        self.last = error
        self._every = every
        if self.since is None and self._failures >= self._threshold:
            self.since = now
            self._next_look = now + every
        if error.retry_after is not None:
            self._next_look = max(self._next_look, now + error.retry_after)

    def pause(self, now: float) -> float:
        """Seconds that a call has to wait; 0 = it may go, and where the breaker is open it is the
        one that looks.
        """
        if self.since is None:
            return 0.0
        if now < self._next_look:
            return self._next_look - now
        self._next_look = now + self._every
        return 0.0


def speaks_of_the_service(error: CallError) -> bool:
    """Whether the failure says nothing about the call: no connection, or an answer such as 503."""
    return error.kind == "network" or error.status in OUTAGE_STATUS
