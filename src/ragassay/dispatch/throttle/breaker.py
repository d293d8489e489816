"""The circuit breaker of a provider: while it is down, a run pauses and probes it now and then.

Without it, a run would spend the attempts of all its calls on nothing.
"""

from __future__ import annotations

from ragassay.core import CallError

OUTAGE_STATUS = frozenset({502, 503, 504, 529})
"""Answers that speak of the service and not of the call."""


class Breaker:
    """Opens when `threshold` calls in a row failed and none was answered. While it is open, one
    call now and then is sent as a probe; the first answer closes it.

    Times are those of one monotonic clock, in seconds, passed in. Failures that a call can bring
    upon itself (rejected, too long) are not reported here.
    """

    def __init__(self, threshold: int) -> None:
        self._threshold = threshold
        self._failures = 0  # in a row
        self._failing_since = 0.0
        self._interval = 0.0
        self._next_probe = 0.0
        self.open_since: float | None = None
        """Since when it is open; None while it is closed."""
        self.last_failure: CallError | None = None

    def answered(self, started: float) -> None:
        """A call that was sent at `started` was answered, be it with a refusal for the rate."""
        # A late answer to a call of before the failures does not show that the provider is up now.
        if not self._failures or started >= self._failing_since:
            self._failures = 0
            self.open_since = None
            self.last_failure = None

    def failed(self, now: float, interval: float, error: CallError) -> None:
        """A call failed at `now`. While the breaker is open, one call in `interval` seconds is a
        probe, and none is before the time that the provider asked for.
        """
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        self.last_failure = error
        self._interval = interval
        if self.open_since is None and self._failures >= self._threshold:
            self.open_since = now
            self._next_probe = now + interval
        if error.retry_after is not None:
            self._next_probe = max(self._next_probe, now + error.retry_after)

    def pause(self, now: float) -> float:
        """Seconds that a call has to wait; 0 = it may go. Where the breaker is open it is the probe
        then, and the others go on waiting.
        """
        if self.open_since is None:
            return 0.0
        if now < self._next_probe:
            return self._next_probe - now
        self._next_probe = now + self._interval
        return 0.0


def speaks_of_the_service(error: CallError) -> bool:
    """Whether the failure says nothing about the call: no connection, or an answer such as 503."""
    return error.kind == "network" or error.status in OUTAGE_STATUS
