"""The gate against a baseline: whether a metric became worse, by the paired difference of rows.

With a judge that does not repeat itself exactly, and rows that are a sample, two means always
differ. So a metric is worse only where the corrected p-value says that chance does not explain the
difference, and it may be told to be no worse only within a margin that somebody named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ragassay.core import Incomplete, Manifest, SetupError, nearest
from ragassay.report.comparison import Comparison, MetricComparison
from ragassay.report.gate import Gate, GateOutcome, GateResult
from ragassay.report.wording import count, figure, p_value, signed

ALPHA = 0.05
"""The level of every test here, two-sided, Holm-corrected over the metrics."""

_WORDS = {True: "met", False: "not met", None: "undecided"}


def regression_outcomes(
    comparison: Comparison, metrics: Sequence[str] = (), margin: float | None = None
) -> tuple[GateOutcome, ...]:
    """One outcome for each metric that both runs have and that has a good end: failed where it is
    worse beyond chance.

    metrics: only these; () = all. margin: the loss that does not matter, in the metric's unit. With
    one, a metric fails where its whole interval lies below the margin, and is undecided where only
    a part of it does. A metric that was judged by another judge or rubric is undecided: the
    difference would be one of judges. Raises SetupError E0601 for a metric that is not in both.
    """
    known = {one.metric: one for one in comparison.metrics}
    chosen = [one for one in comparison.metrics if one.better != "neither"]
    if metrics:
        chosen = [_named(metric, known) for metric in metrics]
    changed = _changed_judge(comparison.a, comparison.b)
    outcomes = [_outcome(one, changed, margin) for one in chosen]
    if not outcomes:
        gate = Gate("no regression", "regression", "", ">=", 0.0)
        message = f"no regression: undecided, {comparison.headline}"
        outcomes = [GateOutcome(gate, None, None, message)]
    return tuple(outcomes)


def _named(metric: str, known: dict[str, MetricComparison]) -> MetricComparison:
    if metric not in known:
        raise SetupError(
            "E0601",
            f"The runs do not both have the metric {metric!r}.{nearest(metric, known)}",
            where="--regression",
            fix=f"name some of: {', '.join(known) or '(none)'}",
        )
    return known[metric]


def _changed_judge(a: Manifest, b: Manifest) -> str:
    """What is another one in the judge, "" where nothing is."""
    if a.judge.uri != b.judge.uri:
        return f"the judges differ: {a.judge.uri} and {b.judge.uri}"
    for rubric in sorted(a.judge.fingerprints.keys() & b.judge.fingerprints.keys()):
        if a.judge.fingerprints[rubric] != b.judge.fingerprints[rubric]:
            return f"the judge was asked otherwise for {rubric}"
    return ""


def _outcome(one: MetricComparison, changed: str, margin: float | None) -> GateOutcome:
    text = f"no regression of {one.metric}"
    if margin:
        text += f" by more than {figure(margin, one.unit)}"
    gate = Gate(text, "regression", one.metric, ">=", -(margin or 0.0))
    result = one.result
    if changed and not _measured_without_judge(one.metric):
        return GateOutcome(gate, result.difference, None, f"{text}: undecided, {changed}", result.n)
    if result.difference is None:
        message = f"{text}: undecided, {count(result.n, 'row')} of both runs have a value"
        return GateOutcome(gate, None, None, message, result.n)
    passed = _passed(one, margin)
    message = (
        f"{text}: {_WORDS[passed]}, it changes by {signed(result.difference, one.unit)}"
        f"{_ends(one)} over {count(result.n, 'paired row')}"
    )
    if one.p is not None:
        message += f", {p_value(one.p)}"
    if passed and not margin and result.minimum_detectable is not None:
        # "None found" is worth as much as what could have been found.
        message += f"; a change of {figure(result.minimum_detectable, one.unit)} would show"
    return GateOutcome(gate, result.difference, passed, message, result.n)


def _measured_without_judge(metric: str) -> bool:
    from ragassay.metrics import declaration_of

    declared = declaration_of(metric)
    return declared is not None and not declared.judged


def _ends(one: MetricComparison) -> str:
    interval = one.result.interval
    if interval is None:
        return ""
    return f" [{signed(interval.low, one.unit)}, {signed(interval.high, one.unit)}]"


def _passed(one: MetricComparison, margin: float | None) -> bool | None:
    result = one.result
    assert result.difference is not None
    sign = -1.0 if one.better == "lower" else 1.0
    if not margin:
        if sign * result.difference >= 0:
            return True
        # A loss that cannot be tested, over a single cluster, decides nothing.
        return None if one.p is None else one.p >= ALPHA
    if result.interval is None:
        # Rows that did not change at all have no spread.
        return True if result.difference == 0 else None
    low, high = sorted((sign * result.interval.low, sign * result.interval.high))
    if low >= -margin:
        return True
    return False if high < -margin else None


def with_outcomes(result: GateResult, outcomes: Iterable[GateOutcome]) -> GateResult:
    """The result with further outcomes; the exit code of all together."""
    added = tuple(outcomes)
    incomplete = (*result.incomplete, *(one.message for one in added if one.passed is None))
    every = (*result.outcomes, *added)
    exit_code = Incomplete.exit_code if incomplete else 0
    if any(one.passed is False for one in every):
        exit_code = 1
    return replace(result, outcomes=every, incomplete=incomplete, exit_code=exit_code)
