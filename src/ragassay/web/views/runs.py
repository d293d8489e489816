"""The list of runs: verdict, figures with their intervals, coverage, cost, and what is known of the
judge.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from ragassay.core import MetricSummary, Summary
from ragassay.report.wording import better_end
from ragassay.web.messages import Answer, Ask, Page
from ragassay.web.views.shell import run_title

if TYPE_CHECKING:
    from ragassay.store import StoredRun

A_PAGE = 25
PATIENCE_S = 0.4
"""How long the list waits in all for figures that are being counted."""
METRICS_SHOWN = 3


class _Line(NamedTuple):
    stored: StoredRun
    title: str
    summary: Summary | None
    metrics: list[MetricSummary]
    asked: int
    judged: int
    measured: int
    live: bool


def show(ask: Ask) -> Answer:
    """One page of runs, newest first."""
    store = ask.site.store
    names = "" if ask.query.get("all") else "used"
    before = ask.query.get("before", "")
    runs = store.runs(A_PAGE + 1, before=before, names=names)
    ends = time.monotonic() + PATIENCE_S
    lines = [_line(ask, run, max(0.0, ends - time.monotonic())) for run in runs[:A_PAGE]]
    total = store.count_runs(names)
    return Page(
        "runs.html.j2",
        {
            "lines": lines,
            "total": total,
            "hidden": store.count_runs() - total,
            "after": lines[-1].stored.run_id if len(runs) > A_PAGE else "",
            "counting": sum(line.summary is None for line in lines),
            "live": any(line.live for line in lines),
            "location": store.location,
        },
    )


def _line(ask: Ask, stored: StoredRun, patience: float) -> _Line:
    figures = ask.site.figures.of_run(stored, patience)
    live = ask.site.figures.goes_on(stored)
    if figures is None:
        return _Line(stored, run_title(stored), None, [], 0, 0, 0, live)
    summary = figures.summary
    return _Line(
        stored,
        run_title(stored),
        summary,
        telling_metrics(summary)[:METRICS_SHOWN],
        sum(metric.asked for metric in summary.metrics),
        sum(metric.judged for metric in summary.metrics),
        sum(trust.measured for trust in summary.trust),
        live,
    )


def telling_metrics(summary: Summary) -> list[MetricSummary]:
    """The metrics that say how good the answers are: those with a pass mark, then other ratios."""
    manifest = summary.manifest
    ratios = [m for m in summary.metrics if m.mean is not None and not m.unit]
    ratios = [m for m in ratios if better_end(m.metric, manifest) != "neither"]
    return sorted(ratios, key=lambda metric: (metric.pass_mark is None, not metric.asked))
