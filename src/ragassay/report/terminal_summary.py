"""The summary of a run on a terminal: one screen of it, or all of it where that is asked for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from rich.console import Console

from ragassay.core import (
    CauseShare,
    Manifest,
    MetricSummary,
    RunState,
    SliceSummary,
    Summary,
    Verdict,
    WorstRow,
)
from ragassay.report import terminal_details as details
from ragassay.report import wording as say
from ragassay.report.lost import (
    abstention_in_short,
    different_notes,
    first_loss,
    is_abstention,
    reason_in,
    remedy,
)
from ragassay.report.terminal_page import Page, TerminalPage, page_on
from ragassay.report.text import one_line

SCREEN = 40
"""The lines of a screen: what a command tells on both of its outputs has to fit there."""

CAUSES_SHOWN = 3
WORST_SHOWN = 2
METRICS_SHOWN = 6
METRICS_SHOWN_AT_LEAST = 2
NOTES_SHOWN = 2
SLICES_SHOWN = 2
USER_LINES_SHOWN = 2
CORRECTED_SHOWN = 3
"""Of each so many on one screen; what is left out is counted, with the option that shows it."""


@dataclass(frozen=True, slots=True)
class Detail:
    """What a summary shows beyond its first screen. metrics_table: every metric with its
    denominators, pass mark and coverage; trust: what is known of the judge for each metric;
    verbose: both, and all causes, slices, costs and the worst tenth of the rows. told: the lines
    that stand on the screen already; where the summary does not fit under them, it names fewer
    metrics, and quotes fewer rows.
    """

    metrics_table: bool = False
    trust: bool = False
    verbose: bool = False
    told: int = 0
    metrics_shown: int = METRICS_SHOWN
    worst_shown: int = WORST_SHOWN


def render_summary(
    summary: Summary, console: Console | Page, *, store: str = "", detail: Detail | None = None
) -> None:
    """The result of a run: the verdict in words first, then causes, worst rows, metrics, judge, and
    the commands that come next.

    store: what the commands that are proposed need to find the run (" --store PATH"), "" for the
    default store.
    """
    page = page_on(console)
    detail = _fitting(summary, page, store, detail or Detail())
    _write(summary, page, store, detail)


def _fitting(summary: Summary, page: Page, store: str, detail: Detail) -> Detail:
    """The detail, with as many metrics and rows as fit on the screen."""
    if detail.verbose or detail.metrics_table or not detail.told:
        return detail
    for worst in range(WORST_SHOWN, 0, -1):
        for metrics in range(METRICS_SHOWN, METRICS_SHOWN_AT_LEAST - 1, -1):
            detail = replace(detail, metrics_shown=metrics, worst_shown=worst)
            trial = TerminalPage.in_memory(page.width)
            _write(summary, trial, store, detail)
            if trial.written().count("\n") + detail.told <= SCREEN:
                return detail
    return detail


def _write(summary: Summary, page: Page, store: str, detail: Detail) -> None:
    page.line(say.headline(summary), "bold")
    if summary.state is not RunState.FINISHED:
        words = f"The run is not complete: {say.STATE_WORDS[summary.state]}"
        if summary.stop_reason:
            words += f" ({summary.stop_reason})"
        page.line(words, "yellow")
    if summary.bad_rows and not detail.verbose:
        page.cut(say.bad_row(summary), "yellow")
    if detail.verbose:
        details.all_causes(page, summary)
        details.all_worst(page, summary)
        details.slice_table(page, summary)
        details.bad_rows(page, summary)
    else:
        _causes(page, summary)
        # What was lost is said on the lines that they would take.
        if not summary.bad_rows and not summary.notes:
            _worse_slices(page, summary)
        _worst(page, summary, detail.worst_shown)
    if detail.verbose or detail.metrics_table:
        details.metrics_table(page, summary)
    else:
        _metrics(page, summary, detail.metrics_shown)
    if detail.verbose:
        details.users(page, summary)
        details.costs(page, summary)
    else:
        for line in say.user_lines(summary)[:USER_LINES_SHOWN]:
            page.cut(line, indent=2)
    _judge(page, summary, detail)
    _next(page, summary, store, detail)


def summary_text(summary: Summary, width: int = 100, detail: Detail | None = None) -> str:
    """What `render_summary` prints, as plain text without colour."""
    page = TerminalPage.in_memory(width)
    render_summary(summary, page, detail=detail)
    return page.written()


def _causes(page: Page, s: Summary) -> None:
    """The most frequent causes with the first thing to do about each, and where it goes wrong."""
    if s.causes:
        page.title(f"What broke, in the {say.count(s.failed, 'failing row')}")
    for share in s.causes[:CAUSES_SHOWN]:
        words = f"{say.count(share.rows, 'row')}: {_cause_title(share)}"
        page.cut(words, indent=2)
        if share.cause.remedy:
            page.cut(f"try: {say.first_step(share.cause)}", "cyan", indent=6)
    left = s.causes[CAUSES_SHOWN:]
    if left:
        rows = say.count(sum(share.rows for share in left), "row")
        page.note(f"and {say.count(len(left), 'more cause')} in {rows} (-v)")


def _worse_slices(page: Page, s: Summary) -> None:
    """Where the application does worse than elsewhere, beyond chance."""
    worse = [x for x in s.slices if x.p is not None and x.p < 0.05 and _worse(x, s)]
    by_value: dict[tuple[str, str], SliceSummary] = {}
    for x in worse:
        by_value.setdefault((x.slice, x.value), x)
    if by_value:
        page.note("worse than the other rows, beyond chance:")
    for x in list(by_value.values())[:SLICES_SHOWN]:
        mean = say.figure(x.mean)
        where = f"{one_line(x.slice, 30)} = {one_line(x.value, 30)}"
        rest = say.figure(_rest(x))
        page.cut(f"{where} ({say.count(x.n, 'row')}): {x.metric} {mean}, else {rest}", indent=2)


def _cause_title(share: CauseShare) -> str:
    """The cause with the finer one behind it where that is the same in all of its rows."""
    finer = [f for f in getattr(share, "finer", ()) if f.cause.name != share.cause.name]
    if len(finer) == 1 and finer[0].alone == share.rows:
        return f"{share.cause.title}: {finer[0].cause.title[:1].lower()}{finer[0].cause.title[1:]}"
    return share.cause.title


def _worse(x: SliceSummary, s: Summary) -> bool:
    """Whether the slice is the worse one, in a figure of quality: tokens and seconds say little."""
    unit = say.unit_of(x.metric, s.manifest)
    return not unit and say.change_word(x.gap, x.metric, s.manifest) == "worse"


def _rest(x: SliceSummary) -> float | None:
    if x.mean is None or x.gap is None:
        return None
    return x.mean - x.gap


def _worst(page: Page, s: Summary, most: int) -> None:
    rows = _not_passed(s)
    if not rows:
        return
    titles = {share.cause.name: share.cause.title for share in s.causes}
    page.title("Worst rows")
    for row in rows[:most]:
        cause = titles.get(row.cause, row.cause)
        if not cause:
            cause = f"{row.metric} {say.figure(row.value, say.unit_of(row.metric, s.manifest))}"
        _worst_line(page, row, cause)
        if row.quote:
            page.cut(f"“{one_line(row.quote, 400)}”", indent=6)
        if row.rationale:
            page.cut(say.reason(row.rationale), "dim", indent=6)
    others = [one_line(row.id, 60) for row in rows[most:]]
    if others:
        page.cut(f"then {', '.join(others)}", "dim", indent=2)


def _worst_line(page: Page, row: WorstRow, cause: str) -> None:
    """One line with the row's verdict, id and cause, which is cut where the page ends."""
    word = say.VERDICT_WORDS[row.verdict]
    doubt = " (uncertain)" if row.uncertain else ""
    row_id = one_line(row.id, 60)
    room = page.width - len(f"  x {word}  {row_id}  {doubt}")
    page.marked(word, f"{row_id}  {one_line(cause, max(room, 1))}{doubt}")


def _not_passed(s: Summary) -> list[WorstRow]:
    return [row for row in s.worst if row.verdict in (Verdict.FAIL, Verdict.UNDECIDED)]


def _metrics(page: Page, s: Summary, most: int) -> None:
    """A line a metric, those with a pass mark first. most: of so many metrics."""
    measured = [m for m in s.metrics if say.says_something(m)]
    measured.sort(key=lambda m: (m.pass_mark is None, bool(m.unit)))
    notes = different_notes(s.notes)[:NOTES_SHOWN]
    # Notes and the rows that are only named take the lines of metrics: all has to fit on a screen.
    taken = len(notes) + (bool(notes) and len(_not_passed(s)) > WORST_SHOWN)
    shown = measured[: min(most, METRICS_SHOWN - taken)]
    if shown:
        page.gap()
        heads = [("metric", False), ("mean [95 %]", False), ("pass rate [95 %]", False)]
        page.table(heads, [_metric_cells(m, s.manifest) for m in shown])
    for line in [line for line in s.trust if line.corrected is not None][:CORRECTED_SHOWN]:
        if line.corrected is not None:
            words = f"{line.metric} {say.corrected_words(line.corrected, short=True)}"
            page.line(words, indent=2)
    left = len(measured) - len(shown)
    if left:
        page.note(f"and {left} more (--metrics-table)")
    named = [m.metric for m in s.metrics if m.metric not in s.manifest.by_default]
    nowhere = [m.metric for m in s.metrics if m not in measured and m.metric in named]
    if nowhere:
        page.note(f"does not apply to any row: {', '.join(nowhere)} (--metrics-table)")
    for note in notes:
        if is_abstention(reason_in(note)):
            page.cut(abstention_in_short(note), "yellow", indent=2)
        else:
            page.line(note, "yellow", indent=2)
    # A note that says the same of another metric is none more to be read.
    left_out = len(different_notes(s.notes)) - len(notes)
    if left_out:
        page.note(f"and {say.count(left_out, 'more note')} (-v)")


def _metric_cells(m: MetricSummary, manifest: Manifest) -> list[str]:
    # First, beside the mean that it is about: a pass rate is always better when it is higher.
    rated = []
    if not m.unit and say.lower_is_better(m.metric, manifest):
        rated.append("lower is better")
    if m.pass_rate is not None:
        rated.append(say.pass_rate(m))
    if m.undecided:
        rated.append(f"{m.undecided:,} undecided")
    if m.judged < m.asked:
        rated.append(f"{m.judged:,}/{m.asked:,} judged")
    return [m.metric, say.number_words(m.mean, m.interval, m.unit), ", ".join(rated)]


def _judge(page: Page, s: Summary, detail: Detail) -> None:
    """Who judged, for how much, and how far that judge is known to agree with people."""
    judge = s.manifest.judge
    title = f"Judge: {judge.uri}"
    if judge.base_url:
        title += f" at {judge.base_url}"
    elif judge.sends_nothing:
        title += " (nothing leaves this machine)"
    if not detail.verbose:
        title += f": {say.spend_in_short(s)}"
    page.title(title)
    if judge.self_preference:
        page.line(judge.self_preference, "yellow", indent=2)
    if detail.verbose or detail.trust:
        details.trust_lines(page, s)
    elif say.trust_in_short(s):
        page.line(say.trust_in_short(s), indent=2)
    words = say.order_words(s)
    if words:
        page.line(words, indent=2)
    if detail.verbose:
        details.rubrics(page, s)


def _next(page: Page, s: Summary, store: str, detail: Detail) -> None:
    run = s.manifest.run_id
    page.gap()
    if s.pending:
        page.line(f"ragassay resume {run}{store}", indent=2)
    elif any(m.judged < m.asked for m in s.metrics):
        instead = remedy(first_loss(s), s.manifest.options.get("max_tokens"))
        page.line(instead or f"ragassay resume {run} --retry-failed{store}", indent=2)
    for row in s.worst:
        # An id that had to be cut or changed to be shown would not be found by the command.
        if row.id == one_line(row.id, 60):
            page.line(f"ragassay show {run} --row {shlex.quote(row.id)}{store}", indent=2)
            break
    if not detail.verbose:
        page.line(f"ragassay show {run} -v{store}", indent=2)
    if not s.pending:
        page.line(f"ragassay export {run} --format html{store}", indent=2)
    if detail.verbose:
        page.line(f"ragassay compare {run} OTHER_RUN{store}", indent=2)
