"""The gate against a baseline: whether a metric became worse, by the paired difference of rows.

With a judge that does not repeat itself exactly, and rows that are a sample, two means always
differ. So a metric is worse only where the corrected p-value says that chance does not explain the
difference, and it may be told to be no worse only within a margin that somebody named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ragassay.core import Incomplete, Manifest, SetupError, nearest
from ragassay.core.counting import count
from ragassay.report.comparison import Comparison, MetricComparison
from ragassay.report.gate import Gate, GateOutcome, GateResult
from ragassay.report.wording import (
    better_end,
    figure,
    p_value,
    signed,
)
from ragassay.scoring import holm

ALPHA = 0.05
"""The level of every test here, two-sided, Holm-corrected over the metrics that are held."""

_WORDS = {True: "met", False: "not met", None: "undecided"}


def regression_outcomes(
    comparison: Comparison,
    metrics: Sequence[str] = (),
    margin: float | None = None,
    floor: float | None = None,
) -> tuple[GateOutcome, ...]:
    """One outcome for each metric that the baseline has a value of and that has a good end: failed
    where it is worse beyond chance.

    metrics: only these, and p is corrected for these alone; () = all. margin: the loss that does
    not matter, in the metric's unit. With one, a metric fails where its whole interval lies below
    the margin, and is undecided where only a part of it does. floor: the least share, in [0, 1], of
    the baseline's rows that must still be there, with the fields that the metric needs and with a
    response; None asks for all of them. Below it a metric that is not worse is undecided, and so is
    one that this run does not measure, or that was judged by another judge or rubric: the
    difference would be one of judges. Raises SetupError E0601 for a metric that the baseline does
    not have.
    """
    found = {one.metric: one for one in comparison.metrics}
    for metric in metrics:
        if metric not in comparison.a.metrics:
            raise _unknown(metric, comparison.a.metrics)
    chosen = metrics or [
        metric
        for metric in comparison.a.metrics
        if better_end(metric, comparison.a) != "neither"
        # What the baseline itself has no value of cannot become worse.
        and (metric not in found or found[metric].valued)
    ]
    found = _corrected_among([found[metric] for metric in chosen if metric in found])
    changed = _changed_judge(comparison.a, comparison.b)
    least = 1.0 if floor is None else floor
    outcomes = []
    for metric in chosen:
        if metric in found:
            outcomes.append(_outcome(found[metric], changed, margin, least))
        else:
            outcomes.append(_not_measured(metric))
    if not outcomes or not comparison.both:
        gate = Gate("no regression", "regression", "", ">=", 0.0)
        message = f"no regression: undecided, {comparison.headline}"
        outcomes = [GateOutcome(gate, None, None, message)]
    return tuple(outcomes)


def _corrected_among(compared: Sequence[MetricComparison]) -> dict[str, MetricComparison]:
    """The metrics by name, their p corrected for these alone: what is not held takes no power."""
    p_values = {one.metric: one.result.p for one in compared if one.result.p is not None}
    corrected = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return {one.metric: replace(one, p=corrected.get(one.metric)) for one in compared}


def _unknown(metric: str, known: Sequence[str]) -> SetupError:
    return SetupError(
        "E0601",
        f"The baseline does not have the metric {metric!r}.{nearest(metric, known)}",
        where="--regression",
        fix=f"name some of: {', '.join(known) or '(none)'}",
    )


def _not_measured(metric: str) -> GateOutcome:
    text = f"no regression of {metric}"
    gate = Gate(text, "regression", metric, ">=", 0.0)
    message = f"{text}: undecided, the baseline measures it and this run does not"
    return GateOutcome(gate, None, None, message)


def _changed_judge(a: Manifest, b: Manifest) -> str:
    """What is another one in the judge, "" where nothing is."""
    if a.judge.uri != b.judge.uri:
        return f"the judges differ: {a.judge.uri} and {b.judge.uri}"
    for rubric in sorted(a.judge.fingerprints.keys() & b.judge.fingerprints.keys()):
        if a.judge.fingerprints[rubric] != b.judge.fingerprints[rubric]:
            return f"the judge was asked otherwise for {rubric}"
    return ""


def _outcome(
    one: MetricComparison, changed: str, margin: float | None, floor: float
) -> GateOutcome:
    text = f"no regression of {one.metric}"
    if margin:
        text += f" by more than {figure(margin, one.unit)}"
    gate = Gate(text, "regression", one.metric, ">=", -(margin or 0.0))
    result = one.result
    if changed and not _measured_without_judge(one.metric):
        return GateOutcome(gate, result.difference, None, f"{text}: undecided, {changed}", result.n)
    lost = ""
    if one.missing:
        lost = (
            f"{one.missing:,} of the {count(one.valued, 'row')} of the baseline are not in this"
            " run, lack a field that is needed, or have no response"
        )
    if result.difference is None:
        why = lost or f"{count(result.n, 'row')} of both runs have a value"
        return GateOutcome(gate, None, None, f"{text}: undecided, {why}", result.n)
    passed = _passed(one, margin)
    if passed and (one.valued - one.missing) / one.valued < floor:
        # The rows that are left may well be as good as they were: it is the others that broke.
        passed, lost = None, f"{lost} (--min-coverage says how many may)"
    message = (
        f"{text}: {_WORDS[passed]}, it changes by {signed(result.difference, one.unit)}"
        f"{_ends(one)} over {count(result.n, 'paired row')}"
    )
    if one.p is not None:
        message += f", {p_value(one.p)}"
    if passed and not margin:
        # "None found" is worth as much as what could have been found.
        message += _would_show(one) + _beside_interval(one)
    if lost:
        message += f"; {lost}"
    return GateOutcome(gate, result.difference, passed, message, result.n)


def _would_show(one: MetricComparison) -> str:
    result = one.result
    if result.minimum_detectable is not None:
        return f"; a change of {figure(result.minimum_detectable, one.unit)} would show"
    if result.interval is None:
        return ""
    # Where no row changed there is no spread to work with, and the interval says what could hide.
    hidden = max(abs(result.interval.low), abs(result.interval.high))
    return f"; a change below {figure(hidden, one.unit)} may not show"


def _beside_interval(one: MetricComparison) -> str:
    """Why a loss is no regression although its interval lies wholly below no change."""
    interval = one.result.interval
    if interval is None or interval.low <= 0 <= interval.high:
        return ""
    sign = -1.0 if one.better == "lower" else 1.0
    if sign * interval.high > 0:
        return ""
    return "; the interval is of this metric alone, p is corrected for all that are compared"


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
