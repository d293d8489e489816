"""Limits on sending: the rate, the concurrency, the share of retries, and the circuit breaker."""

from ragassay.dispatch.throttle.breaker import Breaker, speaks_of_the_service
from ragassay.dispatch.throttle.concurrency import ConcurrencyLimit
from ragassay.dispatch.throttle.rate import RateLimiter
from ragassay.dispatch.throttle.retries import RetryBudget

__all__ = ["Breaker", "ConcurrencyLimit", "RateLimiter", "RetryBudget", "speaks_of_the_service"]
