"""The end of a run as a command reports it: messages, and the exit code."""

from __future__ import annotations

import math
import re
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
from ragassay.core.counting import count
from ragassay.report.gate import GateResult
from ragassay.report.lost import (
    UNKNOWN,
    advice,
    asked_and_judged,
    first_loss,
    in_short,
    is_abstention,
    reason_in,
    remedy,
)
from ragassay.report.wording import LACKS, NO_RESPONSE

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
    asked, judged = asked_and_judged(summary)
    if asked and not judged:
        error = Incomplete(
            "E0603",
            "Nothing could be judged.",
            where=f"run {summary.manifest.run_id}",
            why=in_short(first_loss(summary)),
            fix=_remedy(summary, first_loss(summary)) or f"{resume} --retry-failed",
        )
        return EndOfRun(error.exit_code, (error,))
    if summary.scored and not _measured(summary):
        error = _nothing_measured(summary, store)
        return EndOfRun(error.exit_code, (error,))
    messages: list[str | RagAssayError] = []
    if judged < asked:
        reason = first_loss(summary)
        verdicts = f"{asked - judged:,} of {asked:,} verdicts"
        if is_abstention(reason):
            # What to do stands under the summary, and so does the reason where a note has it.
            if not any(is_abstention(reason_in(note)) for note in summary.notes):
                messages.append(f"{verdicts} were not given ({in_short(reason)}).")
        else:
            messages.append(f"{verdicts} were lost ({reason}). {advice(summary, resume, reason)}")
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
        fix=_remedy(summary, _loss_of(lost[0], summary))
        or f"{resume} --retry-failed, or judge with another model",
    )


def _remedy(summary: Summary, reason: str) -> str:
    return remedy(reason, summary.manifest.options.get("max_tokens"))


def _stopped(summary: Summary, resume: str) -> EndOfRun:
    if summary.state is RunState.BUDGET:
        why = summary.stop_reason
        if not any(metric.judged for metric in summary.metrics):
            why += f"; nothing was answered: {first_loss(summary)}"
        error = BudgetExhausted(
            "E0604",
            "A cap was reached before all rows were judged.",
            where=f"run {summary.manifest.run_id}",
            why=why,
            fix=_with_higher_caps(resume, summary),
        )
        return EndOfRun(error.exit_code, (error,))
    reason = summary.stop_reason[:1].upper() + summary.stop_reason[1:]
    interrupted = summary.state is RunState.INTERRUPTED
    exit_code = INTERRUPTED if interrupted else EnvironmentFailure.exit_code
    return EndOfRun(exit_code, (f"{reason}. To go on: {resume}",))


_MORE = 1.1
"""Times what the rows so far have taken: the rows that are left may be a little dearer."""

_SPARE_ROWS = 5
"""So many rows more does a cap leave room for: the last call is reserved at its worst case."""

_REFUSED = re.compile(r"which may cost up to \$([0-9.e+-]+)")
"""Where the reason of a stop says what the call may cost that was not made."""


def _with_higher_caps(resume: str, summary: Summary) -> str:
    """The command that goes on, with the caps with which the run may come to its end, by what its
    rows took so far.
    """
    ledger, options = summary.ledger, summary.manifest.options
    done = summary.scored
    if not done or not summary.pending:
        return (
            f"{resume} with a higher --max-calls or --max-cost (they count the whole run);"
            " --forecast of the command that began it says about how much all rows take"
        )
    rows = f"{summary.pending:,} row{'s' * (summary.pending != 1)}"
    share = summary.pending / done * _MORE * _without_store(summary)
    spent = (ledger.confirmed.cost or 0.0) + ledger.uncertain_cost
    before = ledger.preflight.cost or 0.0
    calls = ledger.confirmed.calls + ledger.uncertain_calls + ledger.refused_calls
    caps: list[str] = []
    more: list[str] = []
    if options.get("max_calls") is not None:
        rest = math.ceil((calls - ledger.preflight.calls) * share)
        caps.append(f"--max-calls {calls + rest}")
        more.append(count(rest, "call"))
    if options.get("max_cost") is not None:
        cost = (spent - before) * share
        refused = _REFUSED.search(summary.stop_reason)
        worst = 0.0 if refused is None else float(refused[1])
        spare = max(_SPARE_ROWS * (spent - before) / done, worst)
        caps.append(f"--max-cost {_rounded_up(spent + cost + spare):g}")
        more.append(f"${cost:.4f}")
    need = "needs" if summary.pending == 1 else "need"
    words = f"the {rows} left {need} about {' and '.join(more)} more, by those that are done"
    return f"{words} (a cap counts the whole run): {resume} {' '.join(caps)}"


def _without_store(summary: Summary) -> float:
    """Times what the rows so far have taken: as much as they would have without the judgments that
    the store held, for it may hold none of the rows that are left.
    """
    ledger = summary.ledger
    spent = (ledger.confirmed.cost or 0.0) - (ledger.preflight.cost or 0.0)
    if ledger.saved_cost and spent > 0:
        return (spent + ledger.saved_cost) / spent
    judged = asked_and_judged(summary)[1]
    return judged / max(1, judged - ledger.cached_judgments) if judged else 1.0


def _rounded_up(amount: float) -> float:
    """To two digits, upwards."""
    if amount <= 0:
        return 0.01
    unit = 10.0 ** (math.floor(math.log10(amount)) - 1)
    return round(math.ceil(amount / unit) * unit, 12)


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
        asked, judged = asked_and_judged(summary)
        fix = "give the rows what the metric needs, or gate on another metric"
        what = "Too little was judged to decide."
        why = "; ".join(gates.incomplete)
        if any(reason in why for reason in NO_RESPONSE):
            fix = (
                f"see which rows have no response, and why: ragassay show {run_id}{store}; then"
                " answer these again"
            )
        elif judged < asked and LACKS not in why:
            fix = _remedy(summary, first_loss(summary)) or f"{resume} --retry-failed"
        elif any(one.passed is None and one.is_too_wide for one in gates.outcomes):
            what = "The rows are too few to decide."
            fix = "add rows, by which the interval gets narrower, or move the threshold"
        return [
            Incomplete(
                "E0603",
                what,
                where=f"run {run_id}",
                why=why,
                fix=fix,
            )
        ]
    return []


def _loss_of(metric: MetricSummary, summary: Summary) -> str:
    """Why most verdicts of this metric are missing."""
    for line in summary.notes:
        if line.startswith(f"{metric.metric} has no value in "):
            return reason_in(line)
    return UNKNOWN
