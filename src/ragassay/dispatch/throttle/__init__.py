"""Limits on sending: the rate, the concurrency, the share of retries, and the circuit breaker."""

from ragassay.dispatch.throttle.breaker import Breaker, speaks_of_the_service
from ragassay.dispatch.throttle.concurrency import Window
from ragassay.dispatch.throttle.rate import Pace
from ragassay.dispatch.throttle.retries import RetryPurse

__all__ = ["Breaker", "Pace", "RetryPurse", "Window", "speaks_of_the_service"]
