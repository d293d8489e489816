"""The words for figures, verdicts and statuses, the same ones in every report.

What is particular to one metric (its unit, its good end, what its pass mark is compared with) is
read from the run's manifest or from the metric's declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ragassay.core import (
    AppUsage,
    Cause,
    CauseShare,
    Diagnosis,
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

if TYPE_CHECKING:
    from ragassay.metrics import Declaration

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
    Verdict.PASS: "pass",
    Verdict.FAIL: "fail",
    Verdict.UNDECIDED: "undecided",
    None: "no verdict",
}
STATE_WORDS: Mapping[RunState, str] = {
    RunState.RUNNING: "running, or ended without a word",
    RunState.FINISHED: "finished",
    RunState.INTERRUPTED: "interrupted",
    RunState.BUDGET: "stopped by a cap",
    RunState.FAILED: "stopped by an error",
}


def declared_as(metric: str) -> Declaration | None:
    """What the metric of this printed name declares of itself; None for the user's own metrics."""
    # Deferred: pages of benchmarks and certificates show no metric.
    from ragassay.metrics import declaration_of

    return declaration_of(metric)


@dataclass(frozen=True, slots=True)
class AppTotals(AppUsage):
    """What the application spent over a run. rows: figure ("cost", "latency" ...) -> how many rows
    state it.
    """

    rows: Mapping[str, int] = field(default_factory=dict)


_UNIT_BY_ENDING = {"tokens": "tokens", "cost": "USD", "latency": "s"}


def unit_of(metric: str, manifest: Manifest | None = None) -> str:
    """The metric's unit: "" for a ratio in [0, 1], else "USD", "s" or "tokens".

    From the manifest where it says so, else (a row without its run) as the metric declares it. A
    metric of the user's own has the unit that its name ends in.
    """
    if manifest is not None and metric in manifest.units:
        return manifest.units[metric]
    declared = declared_as(metric)
    if declared is not None:
        return declared.unit
    name = metric.partition("(")[0]
    for ending, unit in _UNIT_BY_ENDING.items():
        if name.endswith(ending):
            return unit
    return ""


def lower_is_better(metric: str, manifest: Manifest | None = None) -> bool:
    """Whether low values of the metric are the good ones: by the manifest, without one as the
    metric declares it.
    """
    if manifest is not None and manifest.lower_is_better:
        return metric in manifest.lower_is_better
    declared = declared_as(metric)
    if declared is not None:
        return declared.higher_is_better is False
    return unit_of(metric, manifest) != ""


def neutral(metric: str, manifest: Manifest | None = None) -> bool:
    """Whether neither end of the metric's range is the good one."""
    if manifest is not None and (manifest.neutral or manifest.lower_is_better):
        return metric in manifest.neutral
    declared = declared_as(metric)
    return declared is not None and declared.higher_is_better is None


def better_end(metric: str, manifest: Manifest | None = None) -> str:
    """Which end of the metric is the good one: "higher", "lower" or "neither"."""
    if neutral(metric, manifest):
        return "neither"
    return "lower" if lower_is_better(metric, manifest) else "higher"


def direction(metric: str, manifest: Manifest | None = None) -> str:
    """The direction in words where it is not the usual one: "lower is better", "neither end is
    better"; else "".
    """
    end = better_end(metric, manifest)
    return {"lower": "lower is better", "neither": "neither end is better", "higher": ""}[end]


def change_word(change: float | None, metric: str, manifest: Manifest | None = None) -> str:
    """What a change of the metric means: "better", "worse", or "" where it says neither."""
    end = better_end(metric, manifest)
    if not change or end == "neither":
        return ""
    return "better" if (change > 0) == (end == "higher") else "worse"


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


def number_words(
    value: float | None,
    reach: Interval | None,
    unit: str = "",
    *,
    absent: str = "–",
    sign: bool = False,
) -> str:
    """0.812 [0.744, 0.871] in the unit, with signs where it is a difference; `absent` where there
    is no value.
    """
    if value is None:
        return absent
    word = signed if sign else figure
    return word(value, unit) + (
        f" [{word(reach.low, unit)}, {word(reach.high, unit)}]" if reach is not None else ""
    )


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


LACKS = "the row has no "
"""How a metric's reason starts where the row lacks an input field."""


def headline(summary: Summary) -> str:
    """The verdict over the rows in words: "37 of 48 rows pass, 9 fail, 2 undecided"; and where no
    row has contexts or a response, that nothing was judged on them: the column may bear a name that
    is not known.
    """
    s = summary
    noun, verb = ("row", "passes") if s.rows == 1 else ("rows", "pass")
    words = [
        f"{s.passed:,} of {s.rows:,} {noun} {verb}",
        f"{s.failed:,} fail",
        f"{s.undecided:,} undecided",
    ]
    silent = s.scored - s.passed - s.failed - s.undecided
    for n, what in (
        (silent, "without a verdict"),
        (s.bad, "could not be read"),
        (s.pending, "not evaluated yet"),
    ):
        if n > 0:
            words.append(f"{n:,} {what}")
    for part in ("contexts", "response"):
        if s.scored and any(m.reasons.get(LACKS + part, 0) == s.scored for m in s.metrics):
            words.append(
                f"nothing was judged on {part} (no row {'so far ' if s.pending else ''}has any)"
            )
    return ", ".join(words)


def claim_word(part: Part) -> str:
    """The result of a claim: supported or not (and whether a second judge disputes it), not
    judged, not a claim ...
    """
    if part.status is Status.NOT_APPLICABLE:
        return "not a claim" if "trivial" in part.flags else "not applicable"
    if part.passed is None:
        return "not judged"
    if part.passed and "abstention" in part.flags:
        return "admits not knowing"
    return ("supported" if part.passed else "not supported") + (
        ", disputed" if "disputed" in part.flags else ""
    )


class PartWords(NamedTuple):
    """The title of the section that lists parts, and the words for one that passes or fails."""

    title: str
    passed: str
    failed: str


_KINDS: Mapping[str, PartWords] = {
    "guideline": PartWords("Guidelines", "kept", "broken"),
    "entity": PartWords("Entities of the reference", "found", "not found"),
    "citation": PartWords("Citations", "supports it", "does not support it"),
    "question": PartWords(
        "Questions that the response would answer",
        "close to the question",
        "far from the question",
    ),
}
"""Kinds of parts that are worded the same way in every metric."""


def _part_words(metric: str, kind: str) -> PartWords | None:
    """How parts of this kind are worded: as the metric declares it, else as for every metric."""
    declared = declared_as(metric)
    if declared is not None:
        for words in declared.part_words:
            if words.kind == kind:
                return PartWords(words.title, words.passed, words.failed)
    return _KINDS.get(kind)


def section(metric: str, part: Part) -> tuple[str, str]:
    """The title under which the part of this metric is listed in a row's view, and the result of
    the part; ("", "") where it is shown elsewhere: claims with the response, chunks with the
    contexts, ratings of the whole with the scores.
    """
    words = _part_words(metric, part.kind)
    if words is None or not words.title:
        return "", ""
    if part.status is Status.NOT_APPLICABLE:
        return words.title, claim_word(part)
    if part.passed is None:
        value = f"{part.value:.2f}" if part.value is not None else "not judged"
        return words.title, value
    return words.title, words.passed if part.passed else words.failed


def finer_of(diagnosis: Diagnosis) -> tuple[Cause, ...]:
    """The finer causes that say more than the root cause's own name."""
    return tuple(
        c for c in diagnosis.finer if diagnosis.cause is None or c.name != diagnosis.cause.name
    )


def behind(diagnosis: Diagnosis) -> str:
    """What lies behind the root cause, in one line: "behind it: ...", "behind it, one or more of
    these: ...; ...".
    """
    finer = finer_of(diagnosis)
    lead = "behind it" if len(finer) == 1 else "behind it, one or more of these"
    return f"{lead}: {'; '.join(cause.title for cause in finer)}" if finer else ""


def finer_shares(share: CauseShare) -> list[str]:
    """One line a finer cause of the share: "behind it in 6 rows, in 4 of them for certain: ..."."""
    lines = []
    for finer in getattr(share, "finer", ()):  # a plain CauseShare does not split
        if finer.cause.name != share.cause.name:
            sure = "" if finer.alone == finer.rows else f", in {finer.alone:,} of them for certain"
            maybe = "perhaps behind it" if not finer.alone else "behind it"
            lines.append(
                f"{maybe} in {count(finer.rows, 'row')}{sure if finer.alone else ''}:"
                f" {finer.cause.title}"
            )
    return lines


def sources(part: Part) -> str:
    """Which contexts support the part: "supported by context 1, 3"; "" where none does or it is not
    known.
    """
    if not part.sources or part.passed is False:
        return ""
    return "supported by context " + ", ".join(str(i + 1) for i in part.sources)


def chunk_word(part: Part, metric: str = "chunk_relevance") -> str:
    """The result of a chunk: relevant, not relevant, not judged; of a metric that is about
    something else: passes, does not pass, or its value where there is no verdict.
    """
    if part.passed is None:
        valued = part.status is Status.JUDGED and part.value is not None
        return f"{part.value:.2f}" if valued else "not judged"
    words = _part_words(metric, "chunk") or PartWords("", "passes", "does not pass")
    return words.passed if part.passed else words.failed


def why_unjudged(part: Part) -> str:
    """The status and reason of a part without a verdict."""
    words = STATUS_WORDS[part.status]
    return f"{words}: {part.reason}" if part.reason else words


def pass_rate(m: MetricSummary) -> str:
    """The pass rate with its interval and its own denominator: 67 % [30, 90] of 6 rows; "" where
    there is none.
    """
    if m.pass_rate is None:
        return ""
    return (
        f"{percent(m.pass_rate)} {percent_interval(m.pass_interval)} of"
        f" {count(m.passed + m.failed, 'row')}"
    )


def weights(row: RowResult) -> dict[tuple[int | None, int | None, str], float]:
    """The declared weights of the row's claims by `claim_place`, of any metric that gives them."""
    weights = {}
    for score in row.scores:
        for part in score.parts:
            if part.kind == "claim" and part.weight is not None:
                weights[claim_place(part)] = part.weight
    return weights


def claim_place(part: Part) -> tuple[int | None, int | None, str]:
    """What makes a claim the same one in several metrics: its place in the response, or its text
    where it has none there.
    """
    return part.start, part.end, part.text if part.start is None else ""


def weight(value: float | None) -> str:
    """A claim's weight: weight 1.5; "" where it has none."""
    return "" if value is None else f"weight {value:g}"


def pass_mark(mark: float | None, metric: str = "", manifest: Manifest | None = None) -> str:
    """A pass mark as shown, with what it is compared with: "≥ 90 % of claims", "≥ 0.667 in the best
    chunk"; for a metric that is better when lower "≤ 10 % of claims".
    """
    if mark is None:
        return ""
    declared = declared_as(metric)
    compared = ""
    if declared is not None:
        for value, words in declared.mark_words:
            if value == mark:
                return words
        compared = declared.mark_of
    sign = "≤" if lower_is_better(metric, manifest) else "≥"
    if not compared.startswith("of "):
        return f"{sign} {mark:.3g} {compared}".rstrip()
    places = 1 if mark < 0.01 else 0
    return f"{sign} {100 * mark:.{places}f} % {compared}"


def signed(value: float | None, unit: str = "") -> str:
    """A difference with its sign, in the unit."""
    if value is None:
        return "–"
    if not unit:
        return f"{value:+.3f}"
    sign = "-" if value < 0 else "+"
    return sign + figure(abs(value), unit)


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
        return (
            f"application: {', '.join(words for _, words in known) or 'nothing stated'} (over"
            f" {over})"
        )
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
        saved = f" ({money(x.saved_cost)} saved)" if x.saved_cost else ""
        parts.append(f"{count(x.cached_judgments, 'judgment')} reused{saved}")
    if x.retries:
        parts.append(count(x.retries, "retry", "retries"))
    without = [
        (x.uncertain_calls, "without an answer"),
        (x.unbilled_calls, "answered without a bill"),
    ]
    if said := [f"{count(n, 'call')} {what}" for n, what in without if n]:
        worst = f" (at most {money(x.uncertain_cost)})" if x.uncertain_cost else ""
        parts.append(" and ".join(said) + worst)
    return f"judge: {', '.join(parts)}; {seconds(s.seconds)} in all"


def _tokens(spend: Spend) -> str:
    if not spend.input_tokens and not spend.output_tokens:
        return ""
    cached = (
        f" ({spend.cached_tokens:,} of the input from the provider's cache)"
        if spend.cached_tokens
        else ""
    )
    return f"{spend.input_tokens:,} tokens in, {spend.output_tokens:,} out{cached}"


def absences(summary: Summary) -> list[str]:
    """Where metrics do not apply, and why; metrics with the same words share a line."""
    lines: dict[str, list[str]] = {}
    for m in summary.metrics:
        if m.not_applicable:
            one = len(m.reasons) == 1
            why = "; ".join(
                reason if one else f"{reason} ({n:,})" for reason, n in list(m.reasons.items())[:4]
            )
            lines.setdefault(
                f"not applicable in {count(m.not_applicable, 'row')}: {why}", []
            ).append(m.metric)
    return [f"{', '.join(names)}: {words}" for words, names in lines.items()]


def trust_lines(s: Summary) -> list[tuple[str, str, bool]]:
    """(metrics, what is known of the judge, whether it is measured on rows like these), a metric
    each, those of which the very same is said together; for a run without certificates at hand one
    line for the judge as a whole, from its manifest.
    """
    if not s.trust:
        return [("", s.manifest.judge.agreement, False)] if s.manifest.judge.agreement else []
    lines: dict[tuple[str, bool], list[str]] = {}
    for line in s.trust:
        more = (
            f" ({count(line.others, 'more certificate')}: ragassay certificates)"
            if line.others
            else ""
        )
        lines.setdefault((line.sentence + more, line.measured), []).append(line.metric)
    return [(", ".join(metrics), words, measured) for (words, measured), metrics in lines.items()]
