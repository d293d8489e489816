"""Gates on a run, such as "groundedness>=0.8", and the floor under what must have been judged."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ragassay.core import Manifest, MetricSummary, SetupError, Summary, nearest
from ragassay.report.wording import LACKS, better_end, count, figure, percent

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
_FIGURES: dict[str, Callable[[MetricSummary], float | None]] = {
    "mean": lambda m: m.mean,
    "pass_rate": lambda m: m.pass_rate,
    "lower": lambda m: None if m.interval is None else m.interval.low,
    "upper": lambda m: None if m.interval is None else m.interval.high,
    "lower(pass_rate)": lambda m: None if m.pass_interval is None else m.pass_interval.low,
    "upper(pass_rate)": lambda m: None if m.pass_interval is None else m.pass_interval.high,
}
_HOW = (
    'write metric, comparison and number, for example "groundedness>=0.8" or'
    ' "pass_rate(groundedness)>=0.9"'
)


@dataclass(frozen=True, slots=True)
class Gate:
    """figure: "mean", "pass_rate", "lower" or "upper" (the ends of the mean's interval) of the
    metric, or "lower(pass_rate)" and "upper(pass_rate)" (the ends of the pass rate's).
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
        gates = [
            {
                "gate": o.gate.text,
                "value": o.value,
                "passed": o.passed,
                "message": o.message,
                "rows": o.rows,
                "note": o.note,
            }
            for o in self.outcomes
        ]
        return {"gates": gates, "incomplete": list(self.incomplete), "exit_code": self.exit_code}


def parse_gate(text: str, metrics: Iterable[str] = ()) -> Gate:
    """Read a gate; with `metrics`, its metric must be one of them. Raises SetupError E0601."""
    found = _GATE.fullmatch(text)
    if found is None or not found["left"].strip():
        raise SetupError(
            "E0601", "The gate cannot be read.", where="--gate", why=repr(text), fix=_HOW
        )
    known, left = tuple(metrics), found["left"].strip()
    name, kind = left, "mean"
    of = _OF.fullmatch(left)
    if of is not None and left not in known and of["figure"] in _FIGURES:
        name, kind = of["metric"].strip(), of["figure"]
        inner = _OF.fullmatch(name)
        if (
            kind in ("lower", "upper")
            and inner is not None
            and inner["figure"] == "pass_rate"
            and name not in known
        ):
            name, kind = inner["metric"].strip(), f"{kind}(pass_rate)"
    if known and name not in known:  # a name without parameters means the only metric of that name
        same = [metric for metric in known if metric.partition("(")[0] == name]
        name = same[0] if len(same) == 1 else name
    if known and name not in known:
        hint = nearest(name, known) or " Metrics: " + ", ".join(known) + "."
        raise SetupError(
            "E0601",
            "The gate names a metric that is not in the run.",
            where="--gate",
            why=repr(name),
            fix=f"{_HOW}.{hint}",
        )
    return Gate(text.strip(), kind, name, found["op"], float(found["number"]))


def check_gates(
    summary: Summary, gates: Sequence[str | Gate], min_coverage: float | None = None
) -> GateResult:
    """Check all gates (texts, or parsed already) and the coverage floor. A missing figure never
    passes.

    min_coverage: least share, in [0, 1], of the rows that must be scored, of the parts that each
    metric must have judged, and, for a metric with a gate, of the rows with a value among these and
    those that lack an input field; None asks only that no row is pending. Raises SetupError E0601
    for a gate that cannot be read.

    A gate on a pass rate with undecided rows is met only if it is met however these are decided,
    and failed only if it fails however they are; else it is incomplete. A figure x over d decided
    and u undecided rows then lies between x d / (d + u) and (x d + u) / (d + u).
    """
    metrics = {m.metric: m for m in summary.metrics}
    texts = [gate.text if isinstance(gate, Gate) else gate for gate in gates]
    outcomes = tuple(
        _noted(_check(parse_gate(text, metrics), metrics), summary.manifest) for text in texts
    )
    incomplete = [outcome.message for outcome in outcomes if outcome.passed is None]
    if summary.pending:
        incomplete.append(f"{summary.pending:,} of {summary.rows:,} rows are not evaluated yet")
    if min_coverage is not None:
        incomplete += _uncovered(summary, min_coverage)
        gated = dict.fromkeys(outcome.gate.metric for outcome in outcomes)
        incomplete += _lacking((metrics[name] for name in gated), min_coverage)
    failed = any(outcome.passed is False for outcome in outcomes)
    exit_code = 3 if incomplete else 0
    if failed:
        exit_code = 1
    return GateResult(outcomes, tuple(incomplete), exit_code)


def _noted(outcome: GateOutcome, manifest: Manifest) -> GateOutcome:
    """The outcome with a warning where the gate asks for values at the bad end of its metric."""
    gate = outcome.gate
    good, asked = (
        better_end(gate.metric, manifest),
        "higher" if gate.op.startswith(">") else "lower",
    )
    if "pass_rate" in gate.figure or good in ("neither", asked) or good == "higher":
        return outcome  # of a metric that is better when higher, an upper limit may be meant as one
    note = (
        f"{gate.metric} is better when lower, and this gate asks for high values;"
        f" {_TURNED[gate.op]} was probably meant"
    )
    return replace(outcome, note=note, message=f"{outcome.message}; note: {note}")


_TURNED = {">=": "<=", ">": "<"}


def _check(gate: Gate, metrics: dict[str, MetricSummary]) -> GateOutcome:
    metric = metrics[gate.metric]
    rate = "pass_rate" in gate.figure
    rows = metric.passed + metric.failed if rate else metric.n
    value = _FIGURES[gate.figure](metric)
    if value is None:
        return GateOutcome(
            gate,
            None,
            None,
            f"{gate.text}: there is no {gate.figure} of {gate.metric} to compare",
            rows,
        )
    holds, over = _OPERATORS[gate.op], f"over {rows:,} of {count(metric.rows, 'row')}"
    shown = percent(value) if rate else figure(value, metric.unit)
    if not (rate and metric.undecided):
        passed = holds(value, gate.threshold)
        return GateOutcome(
            gate,
            value,
            passed,
            f"{gate.text}: {'met' if passed else 'not met'}, it is {shown} {over}",
            rows,
        )
    low, high = (_bound(value, rows, metric.undecided, share) for share in (0, 1))
    met = {holds(low, gate.threshold), holds(high, gate.threshold)}
    decided = met.pop() if len(met) == 1 else None
    word = {True: "met", False: "not met", None: "open"}[decided]
    return GateOutcome(
        gate,
        value,
        decided,
        f"{gate.text}: {word}, it is {shown} {over}, and between {percent(low)} and {percent(high)}"
        f" with the {metric.undecided:,} undecided",
        rows,
    )


def _bound(value: float, decided: int, undecided: int, share: int) -> float:
    """The share over decided and undecided rows, were none (share 0) or all (1) of the undecided to
    pass.
    """
    passed = value * decided
    passed = (
        round(passed) if abs(passed - round(passed)) < 1e-9 else passed
    )  # counts: 8 of 10 is 0.8 to the last bit
    return (passed + share * undecided) / (decided + undecided)


def _lacking(gated: Iterable[MetricSummary], floor: float) -> list[str]:
    """Gated metrics that too many rows lack the fields for: one row of ten must not meet a gate for
    all ten.
    """
    out = []
    for m in gated:
        lacking = {why: n for why, n in m.reasons.items() if why.startswith(LACKS)}
        asked = m.n + sum(lacking.values())
        if asked and m.n / asked < floor:
            why = "; ".join(f"{why} ({n:,})" for why, n in lacking.items())
            out.append(
                f"{m.metric}: a value in {m.n:,} of {count(asked, 'row')}, below the floor of"
                f" {percent(floor)}: {why}"
            )
    return out


def _uncovered(summary: Summary, floor: float) -> list[str]:
    out = []
    if summary.rows and summary.scored / summary.rows < floor:
        out.append(
            f"{summary.scored:,} of {summary.rows:,} rows are scored, below the floor of"
            f" {percent(floor)}"
        )
    for m in summary.metrics:
        if m.coverage is not None and m.coverage < floor:
            out.append(
                f"{m.metric}: {m.judged:,} of {m.asked:,} judged, below the floor of"
                f" {percent(floor)}"
            )
    return out
