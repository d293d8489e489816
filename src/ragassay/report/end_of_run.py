"""The end of a run as a command reports it: messages, and the exit code."""

from __future__ import annotations

from dataclasses import dataclass

from ragassay.core import (
    BudgetExhausted,
    EnvironmentFailure,
    GateFailed,
    Incomplete,
    MetricSummary,
    RagAssayError,
    RunState,
    Summary,
)
from ragassay.report.gate import GateResult

INTERRUPTED = 130
"""What shells make of a command that SIGINT ended."""


@dataclass(frozen=True, slots=True)
class EndOfRun:
    """messages: a text to note, or an error to show, in this order."""

    exit_code: int
    messages: tuple[str | RagAssayError, ...] = ()


def conclude(summary: Summary, gates: GateResult, *, resume: str, store: str) -> EndOfRun:
    """How a run ended. The first of these decides: it was stopped, nothing was judged, nothing was
    measured, a gate failed, a metric was lost, the gates.

    resume: the command that goes on with the run; store: " --store LOCATION" for commands.
    """
    if summary.state is not RunState.FINISHED:
        return _stopped(summary, resume)
    asked, judged = _asked_and_judged(summary)
    if asked and not judged:
        error = Incomplete(
            "E0603",
            "Nothing could be judged.",
            where=f"run {summary.manifest.run_id}",
            why=_first_loss(summary),
            fix=f"{resume} --retry-failed",
        )
        return EndOfRun(error.exit_code, (error,))
    if summary.scored and not _measured(summary):
        error = _nothing_measured(summary, store)
        return EndOfRun(error.exit_code, (error,))
    messages: list[str | RagAssayError] = []
    if judged < asked:
        messages.append(
            f"{asked - judged:,} of {asked:,} verdicts were lost ({_first_loss(summary)}). To ask"
            f" for them again: {resume} --retry-failed"
        )
    messages += _gate_errors(summary, gates, resume, store)
    exit_code = gates.exit_code
    if summary.lost_metrics:
        lost = _metrics_lost(summary, resume)
        messages.append(lost)
        exit_code = exit_code or lost.exit_code
    return EndOfRun(exit_code, tuple(messages))


def _metrics_lost(summary: Summary, resume: str) -> Incomplete:
    lost = summary.lost_metrics
    reasons = [f"{m.metric}: none of {m.asked:,} ({_loss_of(m, summary)})" for m in lost]
    metrics = "A metric was" if len(lost) == 1 else f"{len(lost)} metrics were"
    return Incomplete(
        "E0603",
        f"{metrics} lost: no verdict was given.",
        where=f"run {summary.manifest.run_id}",
        why="; ".join(reasons),
        fix=f"{resume} --retry-failed, or judge with another model",
    )


def _stopped(summary: Summary, resume: str) -> EndOfRun:
    if summary.state is RunState.BUDGET:
        why = summary.stop_reason
        if not any(metric.judged for metric in summary.metrics):
            why += f"; nothing was answered: {_first_loss(summary)}"
        error = BudgetExhausted(
            "E0604",
            "A cap was reached before all rows were judged.",
            where=f"run {summary.manifest.run_id}",
            why=why,
            fix=f"{resume} with a higher --max-calls or --max-cost (they count the whole run)",
        )
        return EndOfRun(error.exit_code, (error,))
    reason = summary.stop_reason[:1].upper() + summary.stop_reason[1:]
    interrupted = summary.state is RunState.INTERRUPTED
    exit_code = INTERRUPTED if interrupted else EnvironmentFailure.exit_code
    return EndOfRun(exit_code, (f"{reason}. To go on: {resume}",))


def _asked_and_judged(summary: Summary) -> tuple[int, int]:
    asked = sum(metric.asked for metric in summary.metrics)
    judged = sum(metric.judged for metric in summary.metrics)
    return asked, judged


def _measured(summary: Summary) -> bool:
    """Whether any metric has a value or a verdict. That the application failed is none, where
    there are other metrics.
    """
    metrics = [metric for metric in summary.metrics if metric.metric != "app_error"]
    return any(metric.n or metric.passed or metric.failed for metric in metrics or summary.metrics)


def _nothing_measured(summary: Summary, store: str) -> Incomplete:
    run_id = summary.manifest.run_id
    reasons = next((metric.reasons for metric in summary.metrics if metric.reasons), {})
    failed = any(m.metric == "app_error" and m.mean == 1.0 for m in summary.metrics)
    if failed:
        fix = f"the application failed on every row: see ragassay show {run_id}{store}"
    else:
        fix = (
            "give the rows what the metrics need, or name other metrics (`ragassay metrics` lists"
            " what each needs)"
        )
    return Incomplete(
        "E0603",
        "Nothing could be measured.",
        where=f"run {run_id}",
        why=max(reasons, key=reasons.__getitem__, default=""),
        fix=fix,
    )


def _gate_errors(
    summary: Summary, gates: GateResult, resume: str, store: str
) -> list[RagAssayError]:
    run_id = summary.manifest.run_id
    if gates.exit_code == GateFailed.exit_code:
        missed = [outcome.message for outcome in gates.outcomes if outcome.passed is False]
        return [
            GateFailed(
                "E0602",
                "A gate's threshold was not met.",
                where=f"run {run_id}",
                why="; ".join(missed),
                fix=f"see the worst rows: ragassay show {run_id}{store}",
            )
        ]
    if gates.exit_code == Incomplete.exit_code:
        asked, judged = _asked_and_judged(summary)
        fix = "give the rows what the metric needs, or gate on another metric"
        if judged < asked:
            fix = f"{resume} --retry-failed"
        return [
            Incomplete(
                "E0603",
                "Too little was judged to decide.",
                where=f"run {run_id}",
                why="; ".join(gates.incomplete),
                fix=fix,
            )
        ]
    return []


def _first_loss(summary: Summary) -> str:
    """Why most verdicts of the first metric that lost some are missing."""
    for metric in summary.metrics:
        if metric.judged < metric.asked and metric.reasons:
            return max(metric.reasons, key=metric.reasons.__getitem__)[:200]
    for line in summary.notes:
        reason = _reason_in(line)
        if reason:
            return reason
    return "see the rows' statuses"


def _loss_of(metric: MetricSummary, summary: Summary) -> str:
    """Why most verdicts of this metric are missing."""
    for line in summary.notes:
        if line.startswith(f"{metric.metric} has no value in "):
            return _reason_in(line)
    return "see the rows' statuses"


def _reason_in(note: str) -> str:
    """Why scores are missing, the most frequent reason first; "" where a note is of something
    else.
    """
    if " has no value in " not in note:
        return ""
    return note.partition("applies: ")[2][:200]
