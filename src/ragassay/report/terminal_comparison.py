"""Two runs compared, on a terminal: what differs beyond chance first, the rest where asked for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from ragassay.core import Verdict
from ragassay.report import wording as say
from ragassay.report.comparison import (
    ChangedRow,
    Comparison,
    CorrectedDifference,
    MetricComparison,
)
from ragassay.report.terminal_page import Page, page_on
from ragassay.report.terminal_summary import Detail
from ragassay.report.text import one_line

METRICS_SHOWN = 12
CHANGED_SHOWN = 5
"""On one screen; what is left out is counted, with the option that shows it."""

_TURNED = {"higher": "", "lower": ", lower is better", "neither": ", neither end is better"}


def render_comparison(
    comparison: Comparison, console: Console | Page, *, detail: Detail | None = None
) -> None:
    """Two runs, row by row: the differences with their intervals, the rows that changed most.

    detail: with `verbose` every metric with its pairs and the smallest difference that could have
    been found.
    """
    detail = detail or Detail()
    page = page_on(console)
    page.line(comparison.headline, "bold")
    a = f"A = {comparison.a.run_id} {comparison.a.name}".rstrip()
    b = f"B = {comparison.b.run_id} {comparison.b.name}".rstrip()
    page.line(f"{a}, {b}", "dim")
    for warning in comparison.warnings:
        page.line(f"warning: {warning}", "yellow")
    if detail.verbose:
        _difference_table(page, comparison.metrics)
    else:
        _differences(page, comparison.metrics)
    _corrected(page, comparison.corrected)
    _equivalences(page, comparison.metrics)
    _changed_rows(page, comparison.changed, None if detail.verbose else CHANGED_SHOWN)


def _differences(page: Page, metrics: Sequence[MetricComparison]) -> None:
    """A line a metric, what differs beyond chance first."""
    # Metrics of which no row has a value in both runs say nothing.
    paired = [m for m in metrics if m.result.n]
    paired.sort(key=lambda m: 1.0 if m.p is None else m.p)
    counts = {m.result.n for m in paired}
    title = "Differences, B - A, over the rows that both runs scored"
    if len(counts) == 1:
        title = f"Differences, B - A, over {say.count(counts.pop(), 'row')} that both runs scored"
    page.title(title)
    heads = [
        ("metric", False),
        ("A", True),
        ("B", True),
        ("difference [95 %]", False),
        ("p", False),
    ]
    shown = paired[:METRICS_SHOWN]
    page.table(heads, [_short_cells(m) for m in shown])
    if len(paired) > len(shown):
        page.note(f"and {say.count(len(paired) - len(shown), 'more metric')} (-v)")
    if sum(m.p is not None for m in paired) > 1:
        page.note("p is corrected for the number of metrics; the intervals are not")
    declined = [f"{m.metric} {say.count(m.declined, 'row')}" for m in metrics if m.declined]
    if declined:
        page.note(f"left out, since a run declines to answer there: {', '.join(declined)}")
    dropped = [f"{m.metric} {say.count(m.dropped, 'row')}" for m in metrics if m.dropped]
    if dropped:
        page.note(f"left out, with a value in only one run: {', '.join(dropped)}")
    alone = [m.metric for m in metrics if not m.result.n]
    if alone:
        page.note(f"without a value in both runs: {', '.join(alone)}")


def _short_cells(m: MetricComparison) -> list[str]:
    """A metric's two means and their difference; whether it is better is said beyond chance."""
    result = m.result
    p = say.p_value(m.p).removeprefix("p = ").removeprefix("p ") or "–"
    if m.p is not None and m.p < 0.05 and m.change:
        p += f" {m.change}"
    return [
        m.metric,
        say.figure(result.mean_a, m.unit),
        say.figure(result.mean_b, m.unit),
        say.number_words(result.difference, result.interval, m.unit, sign=True),
        p,
    ]


def _difference_table(page: Page, metrics: Sequence[MetricComparison]) -> None:
    page.title("Differences, B - A, over the rows that both runs scored")
    heads = [
        ("metric", False),
        ("A", True),
        ("B", True),
        ("difference [95 %]", False),
        ("p", False),
        ("won/tied/lost", True),
    ]
    page.table(heads, [_difference_cells(m) for m in metrics])
    page.note(
        "won: B is better (where neither end is, higher). dropped: rows of both runs with a value"
        " in only one of them. p is corrected for the number of metrics. Smallest detectable"
        " differences:"
    )
    detectable = []
    for m in metrics:
        smallest = m.result.minimum_detectable
        if smallest is not None:
            detectable.append(f"{m.metric} {say.figure(smallest, m.unit)}")
    page.note(", ".join(detectable) or "not known: the differences do not vary")


def _difference_cells(m: MetricComparison) -> list[str | tuple[str, str]]:
    result = m.result
    rows = f"{result.n:,} paired, {m.dropped:,} dropped{_TURNED[m.better]}"
    difference = say.number_words(result.difference, result.interval, m.unit, sign=True)
    return [
        (m.metric, rows),
        say.figure(result.mean_a, m.unit),
        say.figure(result.mean_b, m.unit),
        (difference, m.change),
        say.p_value(m.p) or "–",
        f"{m.won}/{result.ties}/{m.lost}",
    ]


def _corrected(page: Page, differences: Sequence[CorrectedDifference]) -> None:
    """What people's labels set right in both runs."""
    if not differences:
        return
    page.title("Differences, B - A, corrected by labels")
    rows: list[list[str | tuple[str, str]]] = []
    for each in differences:
        interval = each.interval
        shown = "no interval"
        if interval is not None:
            shown = "within chance" if interval.low <= 0 <= interval.high else "beyond chance"
        rows.append(
            [
                (each.metric, each.of),
                say.figure(each.a.value),
                say.figure(each.b.value),
                say.number_words(each.difference, interval, sign=True),
                shown,
            ]
        )
    heads = [("metric", False), ("A", True), ("B", True), ("difference [95 %]", False), ("", False)]
    page.table(heads, rows)


def _equivalences(page: Page, metrics: Sequence[MetricComparison]) -> None:
    """For each metric that was tested for it, whether its difference is too small to matter."""
    rows = []
    margin = 0.0
    for m in metrics:
        tested = m.equivalence
        if tested is None:
            continue
        margin = tested.margin  # the same for all metrics
        difference = say.number_words(tested.difference, tested.interval, sign=True)
        # That it is not shown does not mean that the runs differ.
        answer = "yes" if tested.equivalent else "not shown"
        rows.append([m.metric, difference, say.p_value(tested.p) or "–", answer])
    if not rows:
        return
    page.title(f"Is the difference smaller than {margin:g}? (two one-sided tests, each at 5 %)")
    heads = [("metric", False), ("difference [90 %]", False), ("p", False), ("equivalent", False)]
    page.table(heads, rows)


def _changed_rows(page: Page, changed: Sequence[ChangedRow], most: int | None) -> None:
    """The rows that changed most. most: of so many rows, None for all."""
    if not changed:
        return
    page.title("Rows that changed most")
    heads = [
        ("row", False),
        ("metric", False),
        ("A → B", False),
        ("metric's verdict", False),
    ]
    page.table(heads, [_changed_cells(alike) for alike in _changed_alike(changed)[:most]])


def _changed_alike(changed: Sequence[ChangedRow]) -> list[list[ChangedRow]]:
    """Metrics that share their claims often turn together: those of a row with equal values and
    verdicts, in one list; in the order of the first of each.
    """
    alike: dict[tuple[object, ...], list[ChangedRow]] = {}
    for row in changed:
        key = (row.id, row.a, row.b, row.verdict_a, row.verdict_b, row.change)
        alike.setdefault(key, []).append(row)
    return list(alike.values())


def _changed_cells(alike: Sequence[ChangedRow]) -> list[str]:
    row = alike[0]
    return [
        one_line(row.id, 40),
        ", ".join(each.metric for each in alike),
        f"{say.figure(row.a)} → {say.figure(row.b)} {row.change}".rstrip(),
        _turn(row.verdict_a, row.verdict_b),
    ]


def _turn(a: Verdict | None, b: Verdict | None) -> str:
    first = say.VERDICT_WORDS[a]
    if a is b:
        return first
    return f"{first} → {say.VERDICT_WORDS[b]}"
