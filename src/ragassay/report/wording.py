"""The words for figures, verdicts and statuses, the same ones in every report.

What is particular to one metric (its unit, its good end, what its pass mark is compared with) is
read from the run's manifest or from the metric's declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ragassay.core import (
    NO_RATIONALE,
    REDACTED,
    REPAIRED,
    AppUsage,
    Cause,
    CauseShare,
    CorrectedFigure,
    Diagnosis,
    Interval,
    Ledger,
    Manifest,
    MetricSummary,
    Part,
    RowResult,
    RunState,
    Score,
    SliceSummary,
    Spend,
    Status,
    Summary,
    Verdict,
)
from ragassay.core.counting import count as count  # one of the words here, for pages and templates
from ragassay.diagnosis import QUERY_TYPE, is_own

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
    RunState.RUNNING: "running, or ended unexpectedly",
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
    if lower_is_better(metric, manifest):
        return "lower"
    return "higher"


_DIRECTIONS = {"lower": "lower is better", "neither": "neither end is better", "higher": ""}


def direction(metric: str, manifest: Manifest | None = None) -> str:
    """The direction in words where it is not the usual one: "lower is better", "neither end is
    better"; else "".
    """
    return _DIRECTIONS[better_end(metric, manifest)]


def change_word(change: float | None, metric: str, manifest: Manifest | None = None) -> str:
    """What a change of the metric means: "better", "worse", or "" where it says neither."""
    end = better_end(metric, manifest)
    if not change or end == "neither":
        return ""
    rises = change > 0
    should_rise = end == "higher"
    if rises == should_rise:
        return "better"
    return "worse"


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
    if value is None:
        return ""
    low = figure(value.low, unit)
    high = figure(value.high, unit)
    return f"[{low}, {high}]"


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
    words = word(value, unit)
    if reach is not None:
        low = word(reach.low, unit)
        high = word(reach.high, unit)
        words += f" [{low}, {high}]"
    return words


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
    if value is None:
        return ""
    return f"[{100 * value.low:.0f}, {100 * value.high:.0f}]"


def money(value: float | None) -> str:
    """US dollars: two places from a dollar on, four from a cent on, six below."""
    if value is None:
        return "price unknown"
    if value >= 1 or value == 0:
        return f"${value:,.2f}"
    if value >= 0.01:
        return f"${value:.4f}"
    return f"${value:.6f}"


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


def reading_words(reading: Mapping[str, int]) -> list[str]:
    """How the judge's replies were read, where they were not in the form that was asked for.

    reading: as in `RowResult`.
    """
    lines: list[str] = []
    repaired = reading.get(REPAIRED.rstrip(":"), 0)
    if repaired:
        counts = [(flag, n) for flag, n in reading.items() if flag.startswith(REPAIRED)]
        counts.sort(key=lambda item: (-item[1], item[0]))
        repairs = [f"{flag.removeprefix(REPAIRED).replace('_', ' ')} {n:,}" for flag, n in counts]
        lines.append(
            f"{count(repaired, 'verdict')} read after the form of the judge's reply was repaired:"
            f" {', '.join(repairs)}"
        )
    missing = reading.get(NO_RATIONALE, 0)
    if missing:
        lines.append(f"{count(missing, 'verdict')} without a rationale: the judge gave none")
    redacted = [(flag, n) for flag, n in sorted(reading.items()) if flag.startswith(REDACTED)]
    if redacted:
        kinds = [f"{flag.removeprefix(REDACTED)} in {count(n, 'verdict')}" for flag, n in redacted]
        lines.append(f"replaced before the judge saw the texts: {', '.join(kinds)}")
    return lines


def unmeasured_words(manifest: Manifest) -> list[str]:
    """What a run of the default metrics could not measure, because no row has the field for it."""
    measured = manifest.metrics
    if "groundedness" not in manifest.by_default:
        return []
    if "groundedness" in measured:
        is_asked = "answer_relevance" in measured or "answer_relevance" not in manifest.by_default
        if is_asked:
            return []
        return ["No row has a question: whether the responses answer it was not measured"]
    if "answer_relevance" in measured:
        return ["No row has contexts: what the responses rest on was not measured"]
    if "chunk_relevance" in measured:
        return ["No row has a response: only the retrieval was measured"]
    return []


def p_value(p: float | None) -> str:
    """p = 0.031, p < 0.001, "" where there is none."""
    if p is None:
        return ""
    # Below a thousandth the digits say more of the approximation than of the data.
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}"


LACKS = "the row has no "
"""How a metric's reason starts where the row lacks an input field."""

APPLICATION_FAILED = "the application failed"
"""How it starts where the application gave no response for the row."""


EMPTY_RESPONSE = "the response is empty"
"""The reason where the application answered nothing, as loggers also write a call that failed."""

NO_RESPONSE = (APPLICATION_FAILED, EMPTY_RESPONSE)
"""How the reasons start by which the row has no response."""


def is_loss(reason: str) -> bool:
    """Whether a metric does not apply because something that the row should have is not there, and
    not because it has no meaning for the row.
    """
    return reason.startswith((LACKS, *NO_RESPONSE))


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
    without_verdict = s.scored - s.passed - s.failed - s.undecided
    if without_verdict > 0:
        words.append(f"{without_verdict:,} without a verdict")
    if s.bad > 0:
        words.append(f"{s.bad:,} could not be read")
    if s.pending > 0:
        words.append(f"{s.pending:,} not evaluated yet")
    # While rows are pending, one of them may still have the field.
    no_row = "no row so far" if s.pending else "no row"
    if _every_row_lacks(s, "contexts"):
        words.append(f"{no_row} has contexts, so nothing was judged on them")
    if _every_row_lacks(s, "response"):
        words.append(f"{no_row} has a response, so nothing was judged on it")
    return ", ".join(words)


def _every_row_lacks(summary: Summary, name: str) -> bool:
    """Whether a metric does not apply to any of the scored rows for want of this field."""
    if not summary.scored:
        return False
    reason = LACKS + name
    return any(metric.reasons.get(reason, 0) == summary.scored for metric in summary.metrics)


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
    word = "supported" if part.passed else "not supported"
    if "disputed" in part.flags:
        word += ", disputed"
    return word


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
        # A part may have a value without a verdict: the closeness of a question, for one.
        value = f"{part.value:.2f}" if part.value is not None else "not judged"
        return words.title, value
    return words.title, words.passed if part.passed else words.failed


def finer_of(diagnosis: Diagnosis) -> tuple[Cause, ...]:
    """The finer causes that say more than the root cause's own name."""
    root = diagnosis.cause
    if root is None:
        return diagnosis.finer
    return tuple(cause for cause in diagnosis.finer if cause.name != root.name)


def cause_words(cause: Cause) -> str:
    """The cause's title, marked where it is uncertain: "... (uncertain)"."""
    return f"{cause.title} (uncertain)" if cause.uncertain else cause.title


def cause_detail(cause: Cause) -> str:
    """What shows the cause: its quoted proof, or the reason of a judge of the user's own."""
    return f"why: {cause.detail}" if cause.detail and is_own(cause) else cause.detail


def own_judge_lines(share: CauseShare) -> list[str]:
    """What more is said of the cause that a judge of the user's own is: its reason in the first
    example, and the rows that it fails behind another cause.
    """
    lines = []
    why: str = getattr(share, "why", "")  # a plain CauseShare has neither
    if why:
        lines.append(f"why: {why}")
    also: int = getattr(share, "also", 0)
    if also:
        more = " more" if share.rows else ""
        lines.append(f"fails in {count(also, 'row')}{more}, behind another cause")
    return lines


def doubt(cause: Cause) -> str:
    """Why the cause is uncertain, in one sentence; "" where it is not."""
    if not cause.uncertain:
        return ""
    return f"uncertain: {cause.uncertain}, and might have failed first"


def uncertain_share(share: CauseShare) -> str:
    """In how many of its rows the cause is uncertain; "" for none."""
    rows: int = getattr(share, "uncertain", 0)  # a plain CauseShare does not count them
    if not rows:
        return ""
    which = "all of them" if rows == share.rows else f"{rows:,} of them"
    return f"uncertain in {which}: an earlier metric gave no verdict there and might have failed"


def behind(diagnosis: Diagnosis) -> str:
    """The finer causes in one line: "finer cause: ...", "finer cause, one or more of these: ...;
    ..."; "" where there is none.
    """
    finer = finer_of(diagnosis)
    if not finer:
        return ""
    lead = "finer cause" if len(finer) == 1 else "finer cause, one or more of these"
    titles = "; ".join(cause.title for cause in finer)
    return f"{lead}: {titles}"


def finer_shares(share: CauseShare) -> list[str]:
    """One line a finer cause of the share: "finer cause in 6 rows, certain in 4 of them: ..."."""
    lines = []
    for finer in getattr(share, "finer", ()):  # a plain CauseShare does not split
        if finer.cause.name == share.cause.name:
            continue
        words = f"finer cause in {count(finer.rows, 'row')}"
        # Alone: in these rows no other finer cause is possible.
        if not finer.alone:
            words = f"possible {words}"
        elif finer.alone < finer.rows:
            words += f", certain in {finer.alone:,} of them"
        lines.append(f"{words}: {finer.cause.title}")
    return lines


def sources(part: Part) -> str:
    """Which contexts support the part: "supported by context 1, 3"; "" where none does or it is not
    known.
    """
    # What a judge names for a claim that failed is the nearest context, not a support.
    if not part.sources or part.passed is False:
        return ""
    return "supported by context " + ", ".join(str(context + 1) for context in part.sources)


def chunk_word(part: Part, metric: str = "chunk_relevance") -> str:
    """The result of a chunk: relevant, not relevant, not judged; of a metric that is about
    something else: passes, does not pass, or its value where there is no verdict.
    """
    if part.passed is None:
        if part.status is Status.JUDGED and part.value is not None:
            return f"{part.value:.2f}"
        return "not judged"
    words = _part_words(metric, "chunk") or PartWords("", "passes", "does not pass")
    return words.passed if part.passed else words.failed


def why_unjudged(part: Part) -> str:
    """The status and reason of a part without a verdict."""
    return with_reason(part.status, part.reason)


def with_reason(status: Status, reason: str) -> str:
    """A status in words, with its reason where it has one: "call failed: timeout"."""
    words = STATUS_WORDS[status]
    if reason:
        return f"{words}: {reason}"
    return words


def pass_rate(m: MetricSummary) -> str:
    """The pass rate with its interval and its own denominator: 67 % [30, 90] of 6 rows; "" where
    there is none.
    """
    if m.pass_rate is None:
        return ""
    # Undecided rows are no part of the rate, so its denominator is not the number of rows.
    decided = count(m.passed + m.failed, "row")
    return f"{percent(m.pass_rate)} {percent_interval(m.pass_interval)} of {decided}"


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
    text = part.text if part.start is None else ""
    return part.start, part.end, text


def weight(value: float | None) -> str:
    """A claim's weight: weight 1.5; "" where it has none."""
    if value is None:
        return ""
    return f"weight {value:g}"


def pass_mark(mark: float | None, metric: str = "", manifest: Manifest | None = None) -> str:
    """A pass mark as shown, with what it is compared with: "≥ 90 % of claims", "≥ 0.667 in the best
    chunk"; for a metric that is better when lower "≤ 10 % of claims".
    """
    if mark is None:
        return ""
    if manifest is not None and metric in manifest.mark_words:
        return manifest.mark_words[metric]
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
    # A mark of 0.5 % must not be shown as 0 % or 1 %.
    places = 1 if mark < 0.01 else 0
    return f"{sign} {100 * mark:.{places}f} % {compared}"


def verdict_and_mark(score: Score, manifest: Manifest | None = None) -> str:
    """The score's verdict with its pass mark: "fail (≥ 0.667)", "fail (passes at yes)"; with the
    share that the mark is on, where the value is another: "pass (≥ 90 % of claims: 100 %)".
    """
    if score.verdict is None:
        return ""
    word = VERDICT_WORDS[score.verdict]
    mark = pass_mark(score.pass_mark, score.metric, manifest)
    if not mark:
        return word
    share = score.extra.get("pass_share")
    if share is not None and share != score.value and "%" in mark:
        # The value is a mean of ratings, and the mark is one on the share of claims that pass.
        return f"{word} ({mark}: {percent(share)})"
    return f"{word} ({mark})" if mark[0] in "≥≤" else f"{word} (passes at {mark})"


def user_lines(summary: Summary) -> list[str]:
    """How far the judges agree with the users who rated the answers, a sentence each."""
    lines = []
    for beside in summary.users:
        who = beside.metric or "the rows' verdict"
        words = f"{who}: passes {beside.unhappy_passed:,} of {count(beside.unhappy, 'row')}"
        words += f" that users were unhappy with (of {beside.rows:,} rated)"
        if beside.examples:
            words += f", e.g. {', '.join(beside.examples)}"
        if beside.kappa is not None:
            words += f"; kappa {beside.kappa:.2f}"
        if beside.kappa_interval is not None:
            low, high = beside.kappa_interval.low, beside.kappa_interval.high
            words += f" [{low:.2f}, {high:.2f}]"
        elif beside.why:
            words += f" ({beside.why})" if beside.kappa is not None else f"; {beside.why}"
        lines.append(words)
    return lines


def shown_slices(summary: Summary, by_chance: int) -> list[SliceSummary]:
    """The slices that differ from the rest beyond chance; where none does, the first `by_chance`
    of those that the rows name.
    """
    telling = [x for x in summary.slices if x.p is not None and x.p < 0.05]
    if telling:
        return telling
    return [x for x in summary.slices if x.slice != QUERY_TYPE][:by_chance]


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
    app = s.app
    figures: list[tuple[str, str]] = []
    if app.total_tokens is not None:
        figures.append(("total_tokens", count(app.total_tokens, "token")))
    if app.cost is not None:
        figures.append(("cost", money(app.cost)))
    if app.latency is not None:
        figures.append(("latency", f"{seconds(app.latency)} a row on average"))
    if not figures:
        return f"application: nothing stated (over {count(s.app_rows, 'row')})"
    stating = app.rows if isinstance(app, AppTotals) else {}
    rows = [stating.get(name, s.app_rows) for name, _ in figures]
    if len(set(rows)) == 1:
        words = ", ".join(words for _, words in figures)
        return f"application: {words} (over {count(rows[0], 'row')})"
    # A figure that only some rows state has a denominator of its own.
    sentences = []
    for (_, words), n in zip(figures, rows, strict=True):
        sentences.append(f"{words} (over {count(n, 'row')})")
    return f"application: {', '.join(sentences)}"


def ledger_words(s: Summary) -> str:
    """What judging cost, in one sentence."""
    ledger = s.ledger
    spend = ledger.confirmed
    parts = [_request_words(ledger)]
    tokens = _tokens(spend)
    if tokens:
        parts.append(tokens)
    if spend.cost is not None:
        parts.append(money(spend.cost))
    elif tokens:
        parts.append("price unknown")
    if ledger.cached_judgments:
        saved = f" ({money(ledger.saved_cost)} saved)" if ledger.saved_cost else ""
        parts.append(f"{count(ledger.cached_judgments, 'judgment')} reused{saved}")
    if ledger.retries:
        parts.append(count(ledger.retries, "retry", "retries"))
    uncertain = _uncertain_calls(s)
    if uncertain:
        parts.append(uncertain)
    return f"judge: {', '.join(parts)}; {seconds(s.seconds)} in all"


def spend_in_short(s: Summary) -> str:
    """What judging cost: calls, tokens, money and time."""
    ledger, spend = s.ledger, s.ledger.confirmed
    parts = [_request_words(ledger)]
    tokens = spend.input_tokens + spend.output_tokens
    if tokens:
        parts += [count(tokens, "token"), money(spend.cost)]
    if ledger.cached_judgments:
        parts.append(f"{count(ledger.cached_judgments, 'judgment')} reused")
    uncertain = _uncertain_calls(s)
    if uncertain:
        parts.append(uncertain)
    return f"{', '.join(parts)}; {seconds(s.seconds)} in all"


def _request_words(ledger: Ledger) -> str:
    """The calls that were answered; where some were not, all requests that were sent."""
    others = ledger.refused_calls + ledger.uncertain_calls
    if not ledger.refused_calls:
        return count(ledger.confirmed.calls, "call")
    requests = count(ledger.confirmed.calls + others, "request")
    return f"{requests} ({ledger.confirmed.calls:,} answered, {ledger.refused_calls:,} refused)"


def order_words(s: Summary) -> str:
    """How far the two orders of a run agree that asked in both, in one sentence; "" for others."""
    orders = s.orders
    if orders is None:
        return ""
    words = (
        f"two opposite orders: {orders.other_rating:,} of {count(orders.items, 'item')} rated"
        f" differently, {orders.other_verdict:,} with another verdict"
    )
    parts = []
    for name, metric in orders.metrics.items():
        rated = f"{metric.other_rating:,} of {metric.items:,}"
        parts.append(f"{name} {rated}, {metric.other_verdict:,}")
    if len(parts) > 1:
        words += f" ({'; '.join(parts)})"
    if orders.one_order:
        words += f"; {orders.one_order:,} judged in one order only"
    return words


def _uncertain_calls(s: Summary) -> str:
    """The calls whose cost is not known, and what they may have cost; "" for none. Of calls that
    were cut off, or answered by a page with an error, this is an estimate, of others the most.
    """
    ledger = s.ledger
    parts = []
    if ledger.cut_off_calls:
        words = f"{count(ledger.cut_off_calls, 'call')} cut off in flight"
        if ledger.cut_off_cost:
            words += f" (about {money(ledger.cut_off_cost)})"
        parts.append(words)
    kinds = []
    lost = ledger.uncertain_calls - ledger.cut_off_calls
    if lost > 0:
        kinds.append(f"{count(lost, 'call')} without an answer")
    if ledger.unbilled_calls:
        kinds.append(f"{count(ledger.unbilled_calls, 'call')} answered without usage figures")
    if kinds:
        words = " and ".join(kinds)
        most = round(ledger.uncertain_cost - ledger.cut_off_cost, 12)
        if most > 0:
            words += f" (held at {money(most)})"
        parts.append(words)
    return ", ".join(parts)


def _tokens(spend: Spend) -> str:
    if not spend.input_tokens and not spend.output_tokens:
        return ""
    parts = []
    if spend.cached_tokens:
        parts.append(f"{spend.cached_tokens:,} of the input from the provider's cache")
    if spend.reasoning_tokens:
        parts.append(f"{spend.reasoning_tokens:,} of the output to think")
    known = f" ({', '.join(parts)})" if parts else ""
    return (
        f"{count(spend.input_tokens, 'token in', 'tokens in')}, {spend.output_tokens:,} out{known}"
    )


def says_something(metric: MetricSummary) -> bool:
    """Whether the metric applies to any row: it has a value, a verdict or something to judge."""
    return bool(metric.n or metric.asked or metric.undecided or metric.passed or metric.failed)


def absences(summary: Summary) -> list[str]:
    """Where metrics do not apply, and why; metrics with the same words share a line. Of a default
    metric that applies to no row nothing is said.
    """
    metrics_by_words: dict[str, list[str]] = {}
    for metric in summary.metrics:
        if not metric.not_applicable:
            continue
        if metric.metric in summary.manifest.by_default and not says_something(metric):
            continue
        words = f"not applicable in {count(metric.not_applicable, 'row')}: {_reasons(metric)}"
        metrics_by_words.setdefault(words, []).append(metric.metric)
    lines = []
    for words, names in metrics_by_words.items():
        lines.append(f"{', '.join(names)}: {words}")
    return lines


REASONS_SHOWN = 4


def _reasons(metric: MetricSummary) -> str:
    """Why the metric does not apply, with how many rows where there is more than one reason."""
    reasons = list(metric.reasons.items())
    if len(reasons) == 1:
        return reasons[0][0]
    return "; ".join(f"{reason} ({n:,})" for reason, n in reasons[:REASONS_SHOWN])


def _asked_a_judge(s: Summary) -> bool:
    """Whether any verdict was asked for: of a run that counts documents, no judge says anything."""
    return any(metric.asked for metric in s.metrics)


def trust_lines(s: Summary) -> list[tuple[str, str, bool]]:
    """(metrics, what is known of the judge, whether it is measured on rows like these), a metric
    each, those of which the very same is said together; for a run without certificates at hand one
    line for the judge as a whole, from its manifest.
    """
    if not s.trust:
        agreement = s.manifest.judge.agreement if _asked_a_judge(s) else ""
        return [("", agreement, False)] if agreement else []
    metrics_by_words: dict[tuple[str, bool], list[str]] = {}
    for line in s.trust:
        words = line.sentence
        if line.others:
            others = count(line.others, "more certificate")
            words += f" ({others}: ragassay certificates)"
        if line.caveat:
            words += f". Beware: {line.caveat}"
        measured = line.measured and not line.caveat
        metrics_by_words.setdefault((words, measured), []).append(line.metric)
    lines = []
    for (words, measured), metrics in metrics_by_words.items():
        lines.append((", ".join(metrics), words, measured))
    for line in s.trust:
        if line.corrected is not None:
            words = corrected_words(line.corrected)
            lines.append((line.metric, words, line.corrected.value is not None))
    return lines


def corrected_words(figure_: CorrectedFigure, *, short: bool = False) -> str:
    """A corrected figure in words: "corrected by 100 labels: pass rate 0.778 [0.70, 0.85], where
    the judge says 0.830". short: without what the judge says.
    """
    labels = count(figure_.labels, "label")
    if figure_.value is None:
        return f"not corrected by its {labels}: {figure_.why}"
    words = f"corrected by {labels}: {figure_.of} {number_words(figure_.value, figure_.interval)}"
    if figure_.waiting:
        words += f" (if {figure_.waiting} drawn without a label are like these)"
    if short or figure_.judge is None:
        return words
    words += f", where the judge says {figure(figure_.judge)}"
    interval = figure_.interval
    if interval is not None and not interval.low <= figure_.judge <= interval.high:
        words += ", which is off beyond chance"
    return words


def trust_in_short(s: Summary) -> str:
    """What is known of the judge on rows like these, in one sentence, and what to do where nothing
    is; "" where no judge was asked.
    """
    if not s.trust:
        return s.manifest.judge.agreement if _asked_a_judge(s) else ""
    measured, unmeasured = [], []
    for line in s.trust:
        if line.measured and line.kappa is not None:
            mark = " (beware: -v)" if line.caveat else ""
            measured.append(f"{line.metric} {line.kappa:.2f}{mark}")
        else:
            unmeasured.append(line.metric)
    if not unmeasured:
        return f"Agreement with people on rows like yours (kappa): {', '.join(measured)}"
    first = "groundedness" if "groundedness" in unmeasured else unmeasured[0]
    todo = f"ragassay label next -m {first}"
    labelled = [line for line in s.trust if line.labels and not line.certificate]
    if labelled:
        metric, n = labelled[0].metric, labelled[0].labels
        command = f"ragassay trust {s.manifest.run_id} -m {metric}"
        todo = f"{count(n, 'label')} of people: {command}"
    if not measured:
        return f"Agreement with people here: not known ({todo})"
    left = count(len(unmeasured), "metric")
    kappas = ", ".join(measured)
    return (
        f"Agreement with people on rows like yours (kappa): {kappas}; not known of {left} ({todo})"
    )


def first_step(cause: Cause) -> str:
    """The first sentence of a cause's remedy."""
    return cause.remedy.partition(". ")[0].rstrip(".")


def reason(rationale: str) -> str:
    """A rationale from its first sentence that is more than the judge's probability."""
    first, _, rest = rationale.partition(". ")
    return rest if rest and first.startswith("Probability that") else rationale


def bad_row(s: Summary) -> str:
    """The first of the rows that could not be read, and how many there are."""
    first = s.bad_rows[0]
    more = f" and {s.bad - 1:,} more (-v)" if s.bad > 1 else " (-v)"
    return f"could not be read: {first.place}{more}: {first.code} {first.what} {first.fix}"
