"""Calls to models: one call made to succeed, within its deadline, its rate and its budget."""

from ragassay.dispatch.account import Account, add_ledgers, exact, spent_since
from ragassay.dispatch.batched import ROWS_AT_ONCE, BatchedDispatcher
from ragassay.dispatch.budget import Budget, LocalBudget
from ragassay.dispatch.call_costs import TOKENS_PER_BYTE, CallCosts, Rate
from ragassay.dispatch.dispatcher import CallPolicy, Dispatcher, Stopped, Traffic
from ragassay.dispatch.worst_case import (
    CallSize,
    OutputLimit,
    PriceOf,
    answer_budget,
    output_limit_of,
    size_of,
    worst_case,
    worst_case_tokens,
)

__all__ = [
    "ROWS_AT_ONCE",
    "TOKENS_PER_BYTE",
    "Account",
    "BatchedDispatcher",
    "Budget",
    "CallCosts",
    "CallPolicy",
    "CallSize",
    "Dispatcher",
    "LocalBudget",
    "OutputLimit",
    "PriceOf",
    "Rate",
    "Stopped",
    "Traffic",
    "add_ledgers",
    "answer_budget",
    "exact",
    "output_limit_of",
    "size_of",
    "spent_since",
    "worst_case",
    "worst_case_tokens",
]
