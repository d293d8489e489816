"""A run as a page in GitHub's Markdown: the summary of a job, or a comment on a pull request.

Judged texts stand in blocks of HTML (<pre>, <table>), escaped: GitHub reads no Markdown and no
mention of a person in there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from ragassay.core import RowResult, Summary, Verdict
from ragassay.core.counting import count
from ragassay.report.comparison import Comparison
from ragassay.report.gate import GateResult
from ragassay.report.proof import proof, worst_score
from ragassay.report.text import one_line, plain
from ragassay.report.wording import (
    cause_words,
    doubt,
    figure,
    headline,
    interval,
    percent,
    percent_interval,
)

if TYPE_CHECKING:
    from ragassay.store import Store

SUMMARY_LIMIT = 900 * 1024
"""Bytes of a step's summary: GitHub drops one of more than 1 MiB."""

COMMENT_LIMIT = 60_000
"""Bytes of a comment: GitHub takes 65,536 characters."""

MARKER = "<!-- ragassay -->"
"""The first line of a comment, by which a workflow finds the one to write anew."""

_WORDS = {True: "✓ pass", False: "✗ fail", None: "? undecided"}


def markdown_page(
    store: Store,
    summary: Summary,
    gates: GateResult,
    comparison: Comparison | None = None,
    *,
    limit: int = SUMMARY_LIMIT,
    rows: int | None = None,
    decisions_only: bool = False,
) -> str:
    """The page, at most `limit` bytes of UTF-8: of the failing rows as many as fit, and how many
    those are; "" where not even the figures fit. rows: the most that are shown. decisions_only: the
    gates and the comparison, beside a page of the same run that has its figures and rows.
    """
    parts = _head(summary, gates, comparison, decisions_only)
    head = "".join(f"{block}\n\n" for block in parts)
    run_id = summary.manifest.run_id
    tail = f"More: <code>ragassay show {escape(run_id)}</code>\n"
    # Room for the line that counts the rows, and for what opens and closes their list.
    left = limit - len(head.encode()) - len(tail.encode()) - 300
    if left < 0:
        return ""
    if summary.failed and not decisions_only:
        failing = store.rows(run_id, order="worst", verdict=Verdict.FAIL)
        blocks = list(_fitting((_row(row, summary) for row in failing), left, rows))
        shown = f"{len(blocks):,} of {count(summary.failed, 'failing row')}, worst first"
        inner = "\n".join(blocks)
        head += f"<details><summary>{shown}</summary>\n\n{inner}\n\n</details>\n\n"
    return head + tail


def _fitting(blocks: Iterable[str], room: int, most: int | None) -> Iterator[str]:
    for number, block in enumerate(blocks):
        room -= len(block.encode()) + 1
        if room < 0 or number == most:
            return
        yield block


def _head(
    summary: Summary, gates: GateResult, comparison: Comparison | None, decisions_only: bool
) -> Iterator[str]:
    """What the gates decide and what changed, and, unless that is all, the figures of the run."""
    yield f"### RagAssay: {_text(headline(summary))}"
    yield from _gates(gates)
    if not decisions_only:
        yield _metrics(summary)
    yield from _beside(comparison)
    if decisions_only:
        return
    causes = [f"{count(one.rows, 'row')}: {one.cause.title}" for one in summary.causes]
    if causes:
        yield _pre(["What broke", *causes, f"Try: {summary.causes[0].cause.remedy}"])
    judge = f"Judge: {summary.manifest.judge.uri}, {count(summary.ledger.confirmed.calls, 'call')}"
    yield _pre([judge, *summary.notes])


def _gates(gates: GateResult) -> Iterator[str]:
    lines = [f"{_WORDS[one.passed]}  {one.message}" for one in gates.outcomes]
    told = {one.message for one in gates.outcomes}
    lines += [f"{_WORDS[None]}  {line}" for line in gates.incomplete if line not in told]
    if lines:
        yield _pre(lines)


def _beside(comparison: Comparison | None) -> Iterator[str]:
    if comparison is not None:
        baseline = comparison.a.name or comparison.a.run_id
        yield _pre([f"Beside {baseline}: {comparison.headline}", *comparison.warnings])


def _metrics(summary: Summary) -> str:
    """The table of metrics: mean and pass rate with their intervals and the rows behind them."""
    titles = ("metric", "mean [95 %]", "pass rate [95 %]", "rows", "judged")
    lines = ["<table>", "<tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>"]
    for one in summary.metrics:
        cells = (
            f"<code>{_text(one.metric)}</code>",
            f"{figure(one.mean, one.unit)} {interval(one.interval, one.unit)}",
            f"{percent(one.pass_rate)} {percent_interval(one.pass_interval)}",
            f"{one.n:,} of {one.rows:,}",
            f"{one.judged:,} of {one.asked:,}" if one.asked else "",
        )
        lines.append("<tr>" + "".join(f"<td>{cell.strip()}</td>" for cell in cells) + "</tr>")
    return "\n".join([*lines, "</table>"])


def _row(row: RowResult, summary: Summary) -> str:
    """A failing row: cause, claim, what stands in the contexts, and what to try."""
    lines = [f"row {row.id}"]
    cause = row.diagnosis.cause
    score = worst_score(row, summary.manifest)
    if cause is not None:
        lines[0] += f": {cause_words(cause)}"
        lines.append(doubt(cause))
    if score is not None:
        shown = proof(score, row.sample)
        lines.append(f"{score.metric} is {figure(score.value)}; {shown.what}")
        lines += [f"“{shown.quote}”" if shown.quote else "", shown.rationale]
    return _pre(one_line(line, 600) for line in lines if line)


def _pre(lines: Iterable[str]) -> str:
    return "<pre>" + "\n".join(_text(line) for line in lines) + "</pre>"


def _text(text: str) -> str:
    # A line break inside would end no block, but a text is one line here.
    return escape(" ".join(plain(text).split("\n")), quote=False)
