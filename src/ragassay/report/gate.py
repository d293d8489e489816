"""Gates on a run, such as "groundedness>=0.8", and the floor under what must have been judged."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ragassay.core import Interval, Ledger, Manifest, MetricSummary, SetupError, Summary, nearest
from ragassay.core.counting import count
from ragassay.report.wording import (
    NO_RESPONSE,
    better_end,
    figure,
    is_loss,
    money,
    number_words,
    percent,
)

_GATE = re.compile(
    r"(?P<left>.*)(?P<op>>=|<=|>|<)\s*(?P<number>[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?)\s*"
)
_OF = re.compile(r"(?P<figure>\w+)\((?P<metric>.*)\)")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_HOW = (
    'write metric, comparison and number, for example "groundedness>=0.8",'
    ' "pass_rate(groundedness)>=0.9" or "corrected(groundedness)>=0.8"'
)


def _mean(m: MetricSummary) -> float | None:
    return m.mean


def _pass_rate(m: MetricSummary) -> float | None:
    return m.pass_rate


def _lower(m: MetricSummary) -> float | None:
    return None if m.interval is None else m.interval.low


def _upper(m: MetricSummary) -> float | None:
    return None if m.interval is None else m.interval.high


def _lower_pass_rate(m: MetricSummary) -> float | None:
    return None if m.pass_interval is None else m.pass_interval.low


CORRECTED = "corrected"
"""The figure of a gate that people's labels set right; also the ends of its interval."""
_CORRECTED_FIGURES = (CORRECTED, "lower(corrected)", "upper(corrected)", "interval(corrected)")


def _upper_pass_rate(m: MetricSummary) -> float | None:
    return None if m.pass_interval is None else m.pass_interval.high


def _coverage(m: MetricSummary) -> float | None:
    return m.coverage


_FIGURES: dict[str, Callable[[MetricSummary], float | None]] = {
    "mean": _mean,
    "pass_rate": _pass_rate,
    "lower": _lower,
    "upper": _upper,
    "lower(pass_rate)": _lower_pass_rate,
    "upper(pass_rate)": _upper_pass_rate,
    "interval": _mean,
    "interval(pass_rate)": _pass_rate,
    "coverage": _coverage,
}
"""Figure of a gate -> its value; None where the run has none."""

_NESTED = ("lower", "upper", "interval")
"""The figures that a pass rate has, too."""


def _judge_cost(ledger: Ledger) -> float | None:
    if not ledger.confirmed.calls and not ledger.uncertain_calls:
        return 0.0
    if ledger.confirmed.cost is None:
        return None
    return ledger.confirmed.cost + ledger.uncertain_cost


def _judge_calls(ledger: Ledger) -> float | None:
    return float(ledger.confirmed.calls + ledger.uncertain_calls)


_OF_RUN: dict[str, Callable[[Ledger], float | None]] = {
    "judge_cost": _judge_cost,
    "judge_calls": _judge_calls,
}
"""Figure of the run as a whole -> its value: US dollars at most, calls. None where no price is
known.
"""


@dataclass(frozen=True, slots=True)
class Gate:
    """figure: "mean", "pass_rate", "lower" or "upper" (the ends of the mean's interval), "interval"
    (all of it) or "coverage" of the metric; "lower(pass_rate)" and so on of the pass rate;
    "corrected", "lower(corrected)" and so on (set right by people's labels); "judge_cost" or
    "judge_calls" of the run, with metric "".
    """

    text: str
    figure: str
    metric: str
    op: str
    threshold: float


@dataclass(frozen=True, slots=True)
class GateOutcome:
    """One gate on one run, over `rows` rows. passed None: the figure does not exist, or rows
    without a verdict could turn it, so the gate is not met and not failed. note: a warning, "" for
    none; it is in the message, too.
    """

    gate: Gate
    value: float | None
    passed: bool | None
    message: str
    rows: int = 0
    note: str = ""

    @property
    def is_too_wide(self) -> bool:
        """Whether the gate asks for a whole interval, and there is one that holds the threshold."""
        kind = self.gate.figure.partition("(")[0]
        return kind in ("interval", "regression") and self.value is not None


@dataclass(frozen=True, slots=True)
class GateResult:
    """exit_code: 0 all met, 1 a gate failed, 3 incomplete (a figure is missing, or coverage below
    the floor).
    """

    outcomes: tuple[GateOutcome, ...]
    incomplete: tuple[str, ...]
    exit_code: int

    def to_json(self) -> dict[str, object]:
        """As JSON-like values, for `--json`."""
        gates = []
        for outcome in self.outcomes:
            gate = {
                "gate": outcome.gate.text,
                "value": outcome.value,
                "passed": outcome.passed,
                "message": outcome.message,
                "rows": outcome.rows,
                "note": outcome.note,
            }
            gates.append(gate)
        return {"gates": gates, "incomplete": list(self.incomplete), "exit_code": self.exit_code}


def parse_gate(text: str, metrics: Iterable[str] = ()) -> Gate:
    """Read a gate; with `metrics`, its metric must be one of them. Raises SetupError E0601."""
    match = _GATE.fullmatch(text)
    if match is None or not match["left"].strip():
        raise SetupError(
            "E0601", "The gate cannot be read.", where="--gate", why=repr(text), fix=_HOW
        )
    names = tuple(metrics)
    left = match["left"].strip()
    if left in _OF_RUN and left not in names:
        return Gate(text.strip(), left, "", match["op"], float(match["number"]))
    kind, name = _figure_and_metric(left, names)
    if names and name not in names:
        # A name without parameters means the only metric of that name: two of them, such as a
        # recall at 5 and one at 10, cannot be told apart by it.
        same = [metric for metric in names if metric.partition("(")[0] == name]
        if len(same) != 1:
            hint = _hint(name, names)
            raise SetupError(
                "E0601",
                "The gate names a metric that is not in the run.",
                where="--gate",
                why=repr(name),
                fix=f"{_HOW}.{hint}",
            )
        name = same[0]
    return Gate(text.strip(), kind, name, match["op"], float(match["number"]))


def _hint(name: str, metrics: tuple[str, ...]) -> str:
    """The metric that is meant, as far as that can be told; else all of them."""
    from ragassay.metrics.other_names import called_elsewhere

    for ours in called_elsewhere(name):
        if ours in metrics:
            return f" Another tool calls {ours} so."
    return nearest(name, metrics) or " Metrics: " + ", ".join(metrics) + "."


def _figure_and_metric(left: str, names: tuple[str, ...]) -> tuple[str, str]:
    """What stands left of the comparison as (figure, metric): "lower(pass_rate(groundedness))" is
    "lower(pass_rate)" of groundedness. names: of the run's metrics, () where they are not known.
    """
    # A metric with parameters looks like a figure of a metric, so known names come first.
    if left in names:
        return "mean", left
    outer = _OF.fullmatch(left)
    if outer is None or outer["figure"] not in (*_FIGURES, CORRECTED):
        return "mean", left
    kind = outer["figure"]
    name = outer["metric"].strip()
    if kind not in _NESTED or name in names:
        return kind, name
    inner = _OF.fullmatch(name)
    if inner is None or inner["figure"] not in ("pass_rate", CORRECTED):
        return kind, name
    return f"{kind}({inner['figure']})", inner["metric"].strip()


def check_gates(
    summary: Summary, gates: Sequence[str | Gate], min_coverage: float | None = None
) -> GateResult:
    """Check all gates (texts, or parsed already) and the coverage floor. A missing figure never
    passes.

    min_coverage: least share, in [0, 1], of the rows that must be scored, of the parts that each
    metric must have judged, and, for a metric with a gate, of the rows with a value among these and
    those that lack an input field or the application's response; None asks only that no row is
    pending. Raises SetupError E0601 for a gate that cannot be read.

    A gate on a pass rate with undecided rows is met only if it is met however these are decided,
    and failed only if it fails however they are; else it is incomplete. A figure x over d decided
    and u undecided rows then lies between x d / (d + u) and (x d + u) / (d + u).
    """
    metrics = {m.metric: m for m in summary.metrics}
    # Read again against this run's metrics: a gate parsed before the run may not know them.
    texts = [gate.text if isinstance(gate, Gate) else gate for gate in gates]
    # A default metric that no row has the fields for is not measured, and not unknown.
    names = (*metrics, *summary.manifest.by_default)
    outcomes = tuple(
        _with_note(_check(parse_gate(text, names), metrics, summary), summary.manifest)
        for text in texts
    )
    incomplete = [outcome.message for outcome in outcomes if outcome.passed is None]
    if summary.pending:
        incomplete.append(f"{summary.pending:,} of {summary.rows:,} rows are not evaluated yet")
    if min_coverage is not None:
        incomplete += _below_floor(summary, min_coverage)
        gated = dict.fromkeys(outcome.gate.metric for outcome in outcomes)
        measured = (metrics[name] for name in gated if name in metrics)
        incomplete += _lacking_fields(measured, min_coverage)
    failed = any(outcome.passed is False for outcome in outcomes)
    exit_code = 3 if incomplete else 0
    # A gate that failed stays failed, whatever is still to be judged.
    if failed:
        exit_code = 1
    return GateResult(outcomes, tuple(incomplete), exit_code)


def _with_note(outcome: GateOutcome, manifest: Manifest) -> GateOutcome:
    """The outcome with a warning where the gate asks for values at the bad end of its metric."""
    gate = outcome.gate
    undirected = (*_CORRECTED_FIGURES, "coverage")
    has_direction = "pass_rate" not in gate.figure and gate.figure not in undirected
    if not (has_direction and gate.metric and gate.op.startswith(">")):
        return outcome
    # Of a metric that is better when higher, an upper limit may be meant as one.
    if better_end(gate.metric, manifest) != "lower":
        return outcome
    note = (
        f"{gate.metric} is better when lower, and this gate asks for high values;"
        f" {_OPPOSITE[gate.op]} was probably meant"
    )
    return replace(outcome, note=note, message=f"{outcome.message}; note: {note}")


_RESULT_WORDS = {True: "met", False: "not met", None: "undecided"}
_OPPOSITE = {">=": "<=", ">": "<"}


def _check_corrected(gate: Gate, summary: Summary) -> GateOutcome:
    """A gate on a figure that people's labels set right; open where there are none."""
    corrected = next((t.corrected for t in summary.trust if t.metric == gate.metric), None)
    if corrected is None:
        run = summary.manifest.run_id
        message = (
            f"{gate.text}: there are no labels to correct {gate.metric} by (ragassay label next"
            f" {run}, then ragassay label import)"
        )
        return GateOutcome(gate, None, None, message, 0)
    value, interval = corrected.value, corrected.interval
    if value is None or interval is None:
        message = f"{gate.text}: it cannot be corrected: {corrected.doubt}"
        return GateOutcome(gate, None, None, message, corrected.labels)
    if corrected.doubt:
        message = f"{gate.text}: undecided, {corrected.doubt}"
        return GateOutcome(gate, None, None, message, corrected.labels)
    if gate.figure.startswith("lower"):
        value = interval.low
    elif gate.figure.startswith("upper"):
        value = interval.high
    passed: bool | None = _OPERATORS[gate.op](value, gate.threshold)
    if gate.figure.startswith("interval"):
        passed = _decided(gate, interval.low, interval.high)
    words = f"the corrected {corrected.of} is {number_words(corrected.value, interval)}"
    words += f" by {count(corrected.labels, 'label')} of {count(corrected.rows, 'row')}"
    if corrected.judge is not None:
        words += f"; the judge alone says {figure(corrected.judge)}"
    message = f"{gate.text}: {_RESULT_WORDS[passed]}, {words}"
    return GateOutcome(gate, value, passed, message, corrected.rows)


def _check(gate: Gate, metrics: dict[str, MetricSummary], summary: Summary) -> GateOutcome:
    if gate.figure in _OF_RUN:
        return _check_of_run(gate, summary.ledger)
    metric = metrics.get(gate.metric)
    if metric is None:
        message = f"{gate.text}: no row has the fields that {gate.metric} needs"
        return GateOutcome(gate, None, None, message, 0)
    if gate.figure == "coverage":
        return _check_coverage(gate, metric)
    if gate.figure in _CORRECTED_FIGURES:
        return _check_corrected(gate, summary)
    rate = "pass_rate" in gate.figure
    rows = metric.passed + metric.failed if rate else metric.n
    value = _FIGURES[gate.figure](metric)
    if value is None:
        message = f"{gate.text}: there is no {gate.figure} of {gate.metric} to compare"
        return GateOutcome(gate, None, None, message, rows)
    if gate.figure.startswith("interval"):
        return _check_interval(gate, metric, value, rows)
    holds = _OPERATORS[gate.op]
    shown = percent(value) if rate else figure(value, metric.unit)
    words = f"it is {shown} over {_rows_behind(metric, rows)}"
    passed: bool | None = holds(value, gate.threshold)
    if rate and metric.undecided:
        # The rate if all undecided rows failed, and if all passed.
        low = _bound(value, rows, metric.undecided, 0)
        high = _bound(value, rows, metric.undecided, 1)
        passed = _decided(gate, low, high)
        words += (
            f", and between {percent(low)} and {percent(high)} with the {metric.undecided:,}"
            " undecided"
        )
    message = f"{gate.text}: {_RESULT_WORDS[passed]}, {words}"
    return GateOutcome(gate, value, passed, message, rows)


def _decided(gate: Gate, low: float, high: float) -> bool | None:
    """Whether the gate holds for every value from low to high; None where it does for some."""
    holds = _OPERATORS[gate.op]
    at_low, at_high = holds(low, gate.threshold), holds(high, gate.threshold)
    return at_low if at_low == at_high else None


def _check_interval(gate: Gate, metric: MetricSummary, value: float, rows: int) -> GateOutcome:
    """Met where the whole interval is on the good side, not met where none of it is, undecided
    where the threshold lies inside: then another run of the same application may fall on either
    side.
    """
    rate = "pass_rate" in gate.figure
    ends: Interval | None = metric.pass_interval if rate else metric.interval
    if ends is None:
        message = f"{gate.text}: there is no interval of {gate.metric} over {count(rows, 'row')}"
        return GateOutcome(gate, value, None, message, rows)
    low, high = ends.low, ends.high
    if rate and metric.undecided:
        low = _bound(low, rows, metric.undecided, 0)
        high = _bound(high, rows, metric.undecided, 1)
    passed = _decided(gate, low, high)
    shown = percent(value) if rate else figure(value, metric.unit)
    span = f"[{percent(low)}, {percent(high)}]" if rate else _span(low, high, metric.unit)
    words = f"it is {shown} {span} over {_rows_behind(metric, rows)}"
    message = f"{gate.text}: {_RESULT_WORDS[passed]}, {words}"
    return GateOutcome(gate, value, passed, message, rows)


def _rows_behind(metric: MetricSummary, rows: int) -> str:
    """The rows behind a figure in words, and how many have no response: a figure over the others
    says nothing of these.
    """
    words = f"{rows:,} of {count(metric.rows, 'row')}"
    failed = sum(n for why, n in metric.reasons.items() if why.startswith(NO_RESPONSE))
    return f"{words} ({failed:,} without a response)" if failed else words


def _span(low: float, high: float, unit: str) -> str:
    return f"[{figure(low, unit)}, {figure(high, unit)}]"


def _check_coverage(gate: Gate, metric: MetricSummary) -> GateOutcome:
    if metric.coverage is None:
        message = f"{gate.text}: nothing was asked of a judge for {gate.metric}"
        return GateOutcome(gate, None, None, message, metric.n)
    passed = _OPERATORS[gate.op](metric.coverage, gate.threshold)
    message = (
        f"{gate.text}: {_RESULT_WORDS[passed]}, {metric.judged:,} of {metric.asked:,} judged"
        f" ({percent(metric.coverage)})"
    )
    return GateOutcome(gate, metric.coverage, passed, message, metric.n)


def _check_of_run(gate: Gate, ledger: Ledger) -> GateOutcome:
    value = _OF_RUN[gate.figure](ledger)
    if value is None:
        message = f"{gate.text}: the price of the judge's model is not known (give --price IN,OUT)"
        return GateOutcome(gate, None, None, message)
    passed = _OPERATORS[gate.op](value, gate.threshold)
    shown = money(value) if gate.figure == "judge_cost" else f"{value:,.0f}"
    message = f"{gate.text}: {_RESULT_WORDS[passed]}, it is {shown}"
    return GateOutcome(gate, value, passed, message)


def _bound(value: float, decided: int, undecided: int, share: int) -> float:
    """The share over decided and undecided rows, were none (share 0) or all (1) of the undecided to
    pass.
    """
    passed = value * decided
    # Of a rate this is a count: 8 of 10 must be 0.8 to the last bit. The ends of an interval are
    # none.
    if abs(passed - round(passed)) < 1e-9:
        passed = round(passed)
    return (passed + share * undecided) / (decided + undecided)


def _lacking_fields(gated: Iterable[MetricSummary], floor: float) -> list[str]:
    """Gated metrics that too many rows lack the fields for, or the application's response: one row
    of ten must not meet a gate for all ten.
    """
    messages = []
    for m in gated:
        lacking = {reason: n for reason, n in m.reasons.items() if is_loss(reason)}
        rows = m.n + sum(lacking.values())
        if rows and m.n / rows < floor:
            why = "; ".join(f"{reason} ({n:,})" for reason, n in lacking.items())
            messages.append(
                f"{m.metric}: a value in {m.n:,} of {count(rows, 'row')}, below the floor of"
                f" {percent(floor)}: {why}"
            )
    return messages


def _below_floor(summary: Summary, floor: float) -> list[str]:
    messages = []
    if summary.rows and summary.scored / summary.rows < floor:
        messages.append(
            f"{summary.scored:,} of {summary.rows:,} rows are scored, below the floor of"
            f" {percent(floor)}"
        )
    for m in summary.metrics:
        if m.coverage is not None and m.coverage < floor:
            messages.append(
                f"{m.metric}: {m.judged:,} of {m.asked:,} judged, below the floor of"
                f" {percent(floor)}"
            )
    return messages
