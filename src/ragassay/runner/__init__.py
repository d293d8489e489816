"""The one room that touches the world: drives flows, journals, retries, limits, budgets."""

from ragassay.runner.budget import Budget, PriceOf, exact, worst_case
from ragassay.runner.dispatch import CallPolicy, Traffic
from ragassay.runner.engine import Engine, Outcome, Progress
from ragassay.runner.forecast import Forecast, forecast
from ragassay.runner.journal import Journal
from ragassay.runner.replies import LoggedModel, Replies, ReplyLog, boot_id, cannot_write
from ragassay.runner.watchdog import Stall, Watchdog

__all__ = [
    "Budget",
    "CallPolicy",
    "Engine",
    "Forecast",
    "Journal",
    "LoggedModel",
    "Outcome",
    "PriceOf",
    "Progress",
    "Replies",
    "ReplyLog",
    "Stall",
    "Traffic",
    "Watchdog",
    "boot_id",
    "cannot_write",
    "exact",
    "forecast",
    "worst_case",
]
