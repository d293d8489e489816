"""Calls to models: one call made to succeed, within its deadline, its rate and its budget."""

from ragassay.dispatch.budget import LocalBudget, PriceOf, exact, worst_case
from ragassay.dispatch.dispatcher import CallPolicy, Traffic

__all__ = ["LocalBudget", "CallPolicy", "PriceOf", "Traffic", "exact", "worst_case"]
