"""The frozen values that every room speaks in. Imports nothing of ours."""

from ragassay.core.calls import Ask, Call, CallFailed, ChatCall, ChatReply, JudgeFlow, Keep, MatchCall, MatchReply, Message, Reply
from ragassay.core.errors import (
    BudgetExhausted,
    CallError,
    DataError,
    EnvironmentFailure,
    GateFailed,
    Incomplete,
    NothingToDo,
    ProviderError,
    RagAssayError,
    SetupError,
    nearest,
    shorten,
)
from ragassay.core.fingerprint import digest
from ragassay.core.judgment import Evidence, Judgment, Spend, Status
from ragassay.core.request import Request
from ragassay.core.run import (
    Cause,
    CauseShare,
    Diagnosis,
    Interval,
    JudgeInfo,
    Ledger,
    Manifest,
    MetricSummary,
    RowResult,
    RunState,
    SliceSummary,
    Summary,
    WorstRow,
)
from ragassay.core.sample import AppUsage, BadRow, Context, Sample
from ragassay.core.score import Counts, Part, Score, Verdict

__all__ = [
    "AppUsage", "Ask", "BadRow", "BudgetExhausted", "Call", "CallError", "CallFailed", "Cause", "CauseShare", "ChatCall",
    "ChatReply", "Context", "Counts", "DataError", "Diagnosis", "EnvironmentFailure", "Evidence", "GateFailed", "Incomplete",
    "Interval", "JudgeFlow", "JudgeInfo", "Judgment", "Keep", "Ledger", "Manifest", "MatchCall", "MatchReply", "Message",
    "MetricSummary", "NothingToDo", "Part", "ProviderError", "RagAssayError", "Reply", "Request", "RowResult", "RunState",
    "Sample", "Score", "SetupError", "SliceSummary", "Spend", "Status", "Summary", "Verdict", "WorstRow", "digest",
    "nearest", "shorten",
]
