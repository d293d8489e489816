"""Calls to models: one call made to succeed, within its deadline, its rate and its budget."""

from ragassay.dispatch.account import Account, add_ledgers, exact
from ragassay.dispatch.batched import ROWS_AT_ONCE, BatchedDispatcher
from ragassay.dispatch.budget import Budget, LocalBudget
from ragassay.dispatch.dispatcher import CallPolicy, Dispatcher, Stopped, Traffic
from ragassay.dispatch.worst_case import (
    OutputLimit,
    PriceOf,
    answer_budget,
    output_limit_of,
    schema_text,
    worst_case,
    worst_case_tokens,
)

__all__ = [
    "ROWS_AT_ONCE",
    "Account",
    "BatchedDispatcher",
    "Budget",
    "CallPolicy",
    "Dispatcher",
    "LocalBudget",
    "OutputLimit",
    "PriceOf",
    "Stopped",
    "Traffic",
    "add_ledgers",
    "answer_budget",
    "exact",
    "output_limit_of",
    "schema_text",
    "worst_case",
    "worst_case_tokens",
]
