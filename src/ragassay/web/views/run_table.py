"""The last runs beside each other, by metric: where somebody chooses which two to compare."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ragassay.core import MetricSummary, Summary
from ragassay.web.messages import Ask
from ragassay.web.views.runs import telling_metrics
from ragassay.web.views.shell import run_title

if TYPE_CHECKING:
    from ragassay.store import StoredRun

RUNS = 100
METRICS = 6
PATIENCE_S = 0.5
"""How long the table waits in all for figures that are being counted."""


class Line(NamedTuple):
    """One run. summary: None while it is being counted. cells: a metric's figures, in the order of
    the columns; None where the run does not have it.
    """

    stored: StoredRun
    title: str
    summary: Summary | None
    cells: tuple[MetricSummary | None, ...]


class RunTable(NamedTuple):
    """The runs, newest first. metrics: the columns; others: how many more there are."""

    lines: list[Line]
    metrics: list[str]
    others: int
    counting: int
    total: int


def run_table(ask: Ask, whole: bool) -> RunTable:
    """The last runs. whole: with every metric, and not only those that most runs have."""
    store = ask.site.store
    runs = store.runs(RUNS, names="used")
    ends = time.monotonic() + PATIENCE_S
    summaries: list[Summary | None] = []
    for run in runs:
        figures = ask.site.figures.of_run(run, max(0.0, ends - time.monotonic()))
        summaries.append(None if figures is None else figures.summary)
    names = _columns(summaries)
    shown = names if whole else names[:METRICS]
    lines = [
        Line(run, run_title(run), summary, _cells(summary, shown))
        for run, summary in zip(runs, summaries, strict=True)
    ]
    counting = sum(summary is None for summary in summaries)
    return RunTable(lines, shown, len(names) - len(shown), counting, store.count_runs("used"))


def _columns(summaries: Sequence[Summary | None]) -> list[str]:
    """The metrics, first those that most runs have; of these, in the order in which a run is told
    by them.
    """
    counted: Counter[str] = Counter()
    for summary in summaries:
        if summary is None:
            continue
        telling = [metric.metric for metric in telling_metrics(summary)]
        rest = [metric.metric for metric in summary.metrics if metric.mean is not None]
        counted.update(dict.fromkeys([*telling, *rest], 1))
    return [name for name, _ in counted.most_common()]


def _cells(summary: Summary | None, names: Sequence[str]) -> tuple[MetricSummary | None, ...]:
    metrics = {} if summary is None else {metric.metric: metric for metric in summary.metrics}
    return tuple(metrics.get(name) for name in names)
