"""What a run's summary shows where all of it is asked for: tables of metrics and slices, every
cause, what is known of the judge.
"""

from __future__ import annotations

from ragassay.core import Manifest, MetricSummary, Summary
from ragassay.report import wording as say
from ragassay.report.terminal_page import WIDE, Page
from ragassay.report.text import one_line


def metrics_table(page: Page, s: Summary) -> None:
    page.title("Metrics")
    # A metric that did not apply to any row has a line of its own below the table.
    shown = [m for m in s.metrics if say.says_something(m)]
    if page.width >= WIDE:
        _wide_metrics(page, shown, s.manifest)
    else:
        heads = [("metric", False), ("mean [95 %]", False), ("pass rate [95 %]", False)]
        page.table(heads, [_narrow_cells(m, s.manifest) for m in shown])
    for words in say.absences(s):
        page.note(words)
    for note in s.notes:
        page.line(note, "yellow", indent=2)


def _wide_metrics(page: Page, shown: list[MetricSummary], manifest: Manifest) -> None:
    # Columns that would be empty are left out.
    with_undecided = any(m.undecided for m in shown)
    with_probability = any(m.probability is not None for m in shown)
    heads = [("metric", False), ("mean [95 %]", False), ("rows", True), ("pass rate [95 %]", False)]
    if with_undecided:
        heads.append(("undec.", True))
    heads.append(("passes at", False))
    heads.append(("judged", True))
    if with_probability:
        heads.append(("prob.", True))
    rows = []
    for m in shown:
        cells: list[str | tuple[str, str]] = [
            (m.metric, _marked_direction(m, manifest)),
            say.number_words(m.mean, m.interval, m.unit),
            f"{m.n:,}",
            say.pass_rate(m),
        ]
        if with_undecided:
            cells.append(f"{m.undecided:,}" if m.undecided else "")
        cells.append(say.pass_mark(m.pass_mark, m.metric, manifest))
        cells.append(f"{m.judged:,}/{m.asked:,}" if m.asked else "")
        if with_probability:
            cells.append(f"{m.probability:.2f}" if m.probability is not None else "")
        rows.append(cells)
    page.table(heads, rows)
    if with_probability:
        page.note("prob.: mean probability that the judge gave to the judged parts")


def _marked_direction(m: MetricSummary, manifest: Manifest) -> str:
    """The direction where it is not the usual one; of tokens, dollars and seconds it needs no
    saying.
    """
    if m.unit:
        return ""
    return say.direction(m.metric, manifest)


def _narrow_cells(m: MetricSummary, manifest: Manifest) -> list[tuple[str, str]]:
    judged = []
    direction = _marked_direction(m, manifest)
    if direction:
        judged.append(direction)
    if m.asked:
        judged.append(f"{m.judged:,}/{m.asked:,} judged")
    if m.probability is not None:
        judged.append(f"probability {m.probability:.2f}")
    marks = []
    if m.pass_mark is not None:
        marks.append(f"passes at {say.pass_mark(m.pass_mark, m.metric, manifest)}")
    if m.undecided:
        marks.append(f"{m.undecided:,} undecided")
    return [
        (m.metric, ", ".join(judged)),
        (say.number_words(m.mean, m.interval, m.unit), f"over {say.count(m.n, 'row')}"),
        (say.pass_rate(m), ", ".join(marks)),
    ]


def all_causes(page: Page, s: Summary) -> None:
    if not s.causes:
        return
    page.title(f"What broke, in the {say.count(s.failed, 'failing row')}")
    for share in s.causes:
        words = share.cause.title
        if share.rows:  # a judge of the user's own may fail only behind other causes
            percent = f"{say.percent(share.share)} {say.percent_interval(share.interval)}"
            words = f"{percent}  {words} ({say.count(share.rows, 'row')})"
        page.line(words, indent=2)
        for line in say.own_judge_lines(share):
            page.line(line, indent=6)
        if share.cause.remedy:
            page.line(f"try: {share.cause.remedy}", "cyan", indent=6)
        doubt = say.uncertain_share(share)
        if doubt:
            page.line(doubt, "yellow", indent=6)
        for finer in say.finer_shares(share):
            page.line(finer, indent=6)
        page.line(f"e.g. {', '.join(share.examples)}", "dim", indent=6)
    for name, n in s.patterns.items():
        page.note(f"pattern in {say.count(n, 'failing row')}: {name}")


WORST_SHOWN = 10
BAD_ROWS_SHOWN = 10
SLICES_BY_CHANCE = 3  # shown where no slice differs from the rest beyond chance


def all_worst(page: Page, s: Summary) -> None:
    if not s.worst:
        return
    titles = {share.cause.name: share.cause.title for share in s.causes}
    page.title("Worst rows")
    for row in s.worst[:WORST_SHOWN]:
        value = say.figure(row.value, say.unit_of(row.metric, s.manifest))
        words = f"{row.id}  {row.metric} {value}"
        cause = titles.get(row.cause, row.cause)
        if cause:
            words += f"  {cause}{' (uncertain)' if row.uncertain else ''}"
        page.marked(say.VERDICT_WORDS[row.verdict], words)
        if row.quote:
            page.line(f"“{one_line(row.quote)}”", indent=6)
        if row.rationale:
            page.line(one_line(row.rationale), "dim", indent=6)
    more = len(s.worst) - WORST_SHOWN
    if more > 0:
        page.note(f"and {more} more of the worst tenth: see the HTML report or --json")


def slice_table(page: Page, s: Summary) -> None:
    shown = say.shown_slices(s, SLICES_BY_CHANCE)
    if not shown:
        return
    if shown[0].p is not None and shown[0].p < 0.05:
        page.title("Slices that differ from the rest (p corrected for all that were compared)")
    else:
        if any(x.p is not None for x in s.slices):
            page.title("Slices: none differs from the rest beyond chance; these come closest")
        else:
            page.title("Slices: too few rows to test any against the rest; these differ most")
    units = {m.metric: m.unit for m in s.metrics}
    # Where lower is better for one of them, the sign alone misleads.
    turned = any(say.direction(x.metric, s.manifest) for x in shown)
    heads = [
        ("slice", False),
        ("metric", False),
        ("mean [95 %]", False),
        ("gap", True),
        ("rows", True),
        ("p", False),
    ]
    rows: list[list[str | tuple[str, str]]] = []
    for x in shown:
        unit = units.get(x.metric, "")
        change = say.change_word(x.gap, x.metric, s.manifest) if turned else ""
        rows.append(
            [
                f"{one_line(x.slice, 40)} = {one_line(x.value, 40)}",
                x.metric,
                say.number_words(x.mean, x.interval, unit),
                (say.signed(x.gap, unit), change),
                f"{x.n:,}",
                say.p_value(x.p) or "too few rows",
            ]
        )
    page.table(heads, rows)


def bad_rows(page: Page, s: Summary) -> None:
    """The rows that could not be read, and what to do about each."""
    if not s.bad:
        return
    page.title(f"{say.count(s.bad, 'row')} could not be read")
    for bad in s.bad_rows[:BAD_ROWS_SHOWN]:
        words = f"{bad.place}, row {bad.id}: {bad.code} {bad.what}"
        if bad.why:
            words += f" ({bad.why})"
        page.line(words, indent=2)
        if bad.fix:
            page.line(f"fix: {bad.fix}", "cyan", indent=6)
    if s.bad > BAD_ROWS_SHOWN:
        page.note(f"and {s.bad - BAD_ROWS_SHOWN:,} more")


def costs(page: Page, s: Summary) -> None:
    page.title("Cost and time")
    page.line(say.app_words(s), indent=2)
    page.line(say.ledger_words(s), indent=2)


def trust_lines(page: Page, s: Summary) -> None:
    """What is known of the judge, metric by metric."""
    for metric, words, measured in say.trust_lines(s):
        if not metric:
            page.line(words, indent=2)
        elif measured:
            page.line(f"{metric}: {words}", indent=2)
        else:
            page.line(f"{metric}: {words}", "yellow", indent=2)


def rubrics(page: Page, s: Summary) -> None:
    """The rubrics with their fingerprints, by which judgments are found again."""
    judge = s.manifest.judge
    for rubric, version in sorted(judge.rubrics.items()):
        page.note(f"{version}  fingerprint {judge.fingerprints.get(rubric, '')[:12]}")


def users(page: Page, s: Summary) -> None:
    """What the users said who rated the answers, beside the judges."""
    lines = say.user_lines(s)
    if lines:
        page.title("Beside the users who rated the answers")
    for line in lines:
        page.line(line, indent=2)
