"""How are figures, verdicts and statuses said in words, the same way in every report?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragassay.core import (
    AppUsage,
    Interval,
    Manifest,
    MetricSummary,
    Part,
    RowResult,
    RunState,
    Spend,
    Status,
    Summary,
    Verdict,
)

STATUS_WORDS: Mapping[Status, str] = {
    Status.JUDGED: "judged",
    Status.ABSTAINED: "judge abstained",
    Status.UNPARSED: "no readable verdict",
    Status.REFUSED: "judge refused",
    Status.FAILED: "call failed",
    Status.OVER_BUDGET: "over budget",
    Status.NOT_APPLICABLE: "not applicable",
}
VERDICT_WORDS: Mapping[Verdict | None, str] = {
    Verdict.PASS: "pass", Verdict.FAIL: "fail", Verdict.UNDECIDED: "undecided", None: "no verdict",
}  # fmt: skip
STATE_WORDS: Mapping[RunState, str] = {
    RunState.RUNNING: "running, or ended without a word",
    RunState.FINISHED: "finished",
    RunState.INTERRUPTED: "interrupted",
    RunState.BUDGET: "stopped by a cap",
    RunState.FAILED: "stopped by an error",
}


@dataclass(frozen=True, slots=True)
class AppTotals(AppUsage):
    """What the application spent over a run. rows: figure ("cost", "latency" ...) -> how many rows state it."""

    rows: Mapping[str, int] = field(default_factory=dict)


def unit_of(metric: str, manifest: Manifest | None = None) -> str:
    """The metric's unit: "" for a ratio in [0, 1], else "USD", "s" or "tokens".

    From the manifest's options["units"] (metric -> unit) where it says so, else by the metric's name.
    """
    units = manifest.options.get("units") if manifest is not None else None
    if isinstance(units, Mapping) and isinstance(units.get(metric), str):
        return str(units[metric])
    base = metric.split("(")[0]
    if base.endswith("tokens"):
        return "tokens"
    if base.endswith("cost"):
        return "USD"
    return "s" if base.endswith("latency") else ""


def figure(value: float | None, unit: str = "") -> str:
    """A value in its unit: 0.812, $0.003100, 1.24 s, 1,204 tokens; a dash where there is none."""
    if value is None:
        return "–"
    if unit == "USD":
        return money(value)
    if unit == "s":
        return seconds(value)
    if unit == "tokens":
        return f"{value:,.0f}"
    return f"{value:.3f}"


def interval(value: Interval | None, unit: str = "") -> str:
    """[low, high] in the unit, "" where there is none."""
    return "" if value is None else f"[{figure(value.low, unit)}, {figure(value.high, unit)}]"


def percent(value: float | None) -> str:
    """A share as a whole per cent; never 100 % or 0 % unless it is exactly that."""
    if value is None:
        return "–"
    if 0 < value < 0.01:
        return "<1 %"
    if 0.99 < value < 1:
        return ">99 %"
    return f"{100 * value:.0f} %"


def percent_interval(value: Interval | None) -> str:
    """[70, 91] in per cent, "" where there is none."""
    return "" if value is None else f"[{100 * value.low:.0f}, {100 * value.high:.0f}]"


def money(value: float | None) -> str:
    """US dollars: two places from a dollar on, four from a cent on, six below."""
    if value is None:
        return "price unknown"
    if value >= 1 or value == 0:
        return f"${value:,.2f}"
    return f"${value:.4f}" if value >= 0.01 else f"${value:.6f}"


def seconds(value: float) -> str:
    """A time: 0.42 s, 12.3 s, 3 min 05 s, 1 h 02 min."""
    if value < 10:
        return f"{value:.2f} s"
    if value < 60:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def count(n: int, noun: str, plural: str = "") -> str:
    """1 row, 1,204 rows."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def p_value(p: float | None) -> str:
    """p = 0.031, p < 0.001, "" where there is none."""
    if p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def headline(summary: Summary) -> str:
    """The verdict over the rows in words: "37 of 48 rows pass, 9 fail, 2 undecided"."""
    s = summary
    noun, verb = ("row", "passes") if s.rows == 1 else ("rows", "pass")
    words = [f"{s.passed:,} of {s.rows:,} {noun} {verb}", f"{s.failed:,} fail", f"{s.undecided:,} undecided"]
    silent = s.scored - s.passed - s.failed - s.undecided
    for n, what in ((silent, "without a verdict"), (s.bad, "could not be read"), (s.pending, "not evaluated yet")):
        if n > 0:
            words.append(f"{n:,} {what}")
    return ", ".join(words)


def claim_word(part: Part) -> str:
    """What became of a claim: supported, not supported, not judged, admits not knowing, not a claim."""
    if part.status is Status.NOT_APPLICABLE:
        return "not a claim" if "trivial" in part.flags else "not applicable"
    if part.passed is None:
        return "not judged"
    if part.passed and "abstention" in part.flags:
        return "admits not knowing"
    return "supported" if part.passed else "not supported"


def chunk_word(part: Part) -> str:
    """What became of a chunk: relevant, not relevant, not judged."""
    return "not judged" if part.passed is None else "relevant" if part.passed else "not relevant"


def why_unjudged(part: Part) -> str:
    """The status and reason of a part without a verdict."""
    words = STATUS_WORDS[part.status]
    return f"{words}: {part.reason}" if part.reason else words


def pass_rate(m: MetricSummary) -> str:
    """The pass rate with its interval and its own denominator: 67 % [30, 90] of 6 rows; "" where there is none."""
    if m.pass_rate is None:
        return ""
    return f"{percent(m.pass_rate)} {percent_interval(m.pass_interval)} of {count(m.passed + m.failed, 'row')}"


def weights(row: RowResult) -> dict[tuple[int | None, int | None, str], float]:
    """The declared weights of the row's claims, by `claim_place`, of whichever metric gives them."""
    return {claim_place(p): p.weight for s in row.scores for p in s.parts if p.kind == "claim" and p.weight is not None}


def claim_place(part: Part) -> tuple[int | None, int | None, str]:
    """What makes a claim the same one in several metrics: its place in the response, else its text."""
    return part.start, part.end, part.text if part.start is None else ""


def weight(value: float | None) -> str:
    """A claim's weight: weight 1.5; "" where it has none."""
    return "" if value is None else f"weight {value:g}"


# What a pass mark is compared with, where that is not the row's value.
_MARKED = {
    "groundedness": "of claims", "faithfulness": "of claims", "context_relevance": "in the best chunk",
    "document_recall": "of documents",
}  # fmt: skip


def pass_mark(mark: float | None, metric: str = "") -> str:
    """A pass mark as shown, with what it is compared with: "≥ 90 % of its claims", "≥ 0.667 in the best chunk"."""
    if mark is None:
        return ""
    base = metric.partition("(")[0]
    of = _MARKED.get(base, "")
    if base in ("groundedness", "faithfulness", "document_recall"):
        return f"≥ {mark:.0%} {of}".replace("%", " %")
    return f"≥ {mark:.3g} {of}".rstrip()


def signed(value: float | None, unit: str = "") -> str:
    """A difference with its sign, in the unit."""
    if value is None:
        return "–"
    return f"{value:+.3f}" if not unit else ("-" if value < 0 else "+") + figure(abs(value), unit)


def app_words(s: Summary) -> str:
    """What the application spent, in one sentence."""
    if not s.app_rows:
        return "application: the rows do not state tokens, cost or latency"
    a = s.app
    seen = a.rows if isinstance(a, AppTotals) else {}
    known = [
        (name, words)
        for name, value, words in (
            ("total_tokens", a.total_tokens, f"{a.total_tokens or 0:,} tokens"),
            ("cost", a.cost, money(a.cost)),
            ("latency", a.latency, f"{seconds(a.latency or 0.0)} a row on average"),
        )
        if value is not None
    ]
    rows = [seen.get(name, s.app_rows) for name, _ in known]
    if len(set(rows)) <= 1:  # all figures over the same rows: said once
        over = count(rows[0] if rows else s.app_rows, "row")
        return f"application: {', '.join(words for _, words in known) or 'nothing stated'} (over {over})"
    said = [f"{words} (over {count(n, 'row')})" for (_, words), n in zip(known, rows, strict=True)]
    return f"application: {', '.join(said)}"


def ledger_words(s: Summary) -> str:
    """What judging cost, in one sentence."""
    x, spend = s.ledger, s.ledger.confirmed
    parts = [count(spend.calls, "call")]
    tokens = _tokens(spend)
    if tokens:
        parts.append(tokens)
    if spend.cost is not None:
        parts.append(money(spend.cost))
    elif tokens:
        parts.append("price unknown")
    if x.cached_judgments:
        parts.append(f"{count(x.cached_judgments, 'judgment')} reused")
    if x.retries:
        parts.append(count(x.retries, "retry", "retries"))
    if x.uncertain_calls:
        worst = f" (at most {money(x.uncertain_cost)})" if x.uncertain_cost else ""
        parts.append(f"{count(x.uncertain_calls, 'call')} without an answer{worst}")
    return f"judge: {', '.join(parts)}; {seconds(s.seconds)} in all"


def _tokens(spend: Spend) -> str:
    if not spend.input_tokens and not spend.output_tokens:
        return ""
    cached = f" ({spend.cached_tokens:,} of the input from the provider's cache)" if spend.cached_tokens else ""
    return f"{spend.input_tokens:,} tokens in, {spend.output_tokens:,} out{cached}"


def absences(summary: Summary) -> list[str]:
    """Where metrics do not apply, and why; metrics with the same words share a line."""
    lines: dict[str, list[str]] = {}
    for m in summary.metrics:
        if m.not_applicable:
            one = len(m.reasons) == 1
            why = "; ".join(reason if one else f"{reason} ({n:,})" for reason, n in list(m.reasons.items())[:4])
            lines.setdefault(f"not applicable in {count(m.not_applicable, 'row')}: {why}", []).append(m.metric)
    return [f"{', '.join(names)}: {words}" for words, names in lines.items()]
