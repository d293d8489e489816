"""A run as a whole: what broke, its metrics and slices, how far to trust them; and one metric."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from ragassay.report import wording as say
from ragassay.report.records import export
from ragassay.web.messages import Answer, Ask, Data, File, NotThere, Redirect, refused
from ragassay.web.site import url
from ragassay.web.views.shell import counting_page, figures_of, run_page, stored_run
from ragassay.web.views.told import told_at

WORST_SHOWN = 8
_KINDS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def show(ask: Ask) -> Answer:
    """The overview of a run. A name or the start of an id leads to the run's own address."""
    stored = stored_run(ask)
    if ask.path["run"] != stored.run_id:
        return Redirect(url("/runs/{}", stored.run_id))
    figures = figures_of(ask, stored)
    if figures is None:
        return counting_page(ask, stored, "overview")
    summary = figures.summary
    ratios = [m for m in summary.metrics if not m.unit and m.mean is not None]
    others = [m for m in summary.metrics if m not in ratios and say.says_something(m)]
    worst = summary.worst[:WORST_SHOWN]
    return run_page(
        "run.html.j2",
        ask,
        stored,
        "overview",
        s=summary,
        ratios=ratios,
        others=others,
        distributions=figures.distributions,
        worst=worst,
        told=told_at(ask.site.store, stored.run_id, [row.index for row in worst], stored.manifest),
        ledger=say.ledger_words(summary),
        app=say.app_words(summary),
    )


def progress(ask: Ask) -> Answer:
    """Where a run stands, for a page that is open while it goes on."""
    stored = stored_run(ask)
    return Data(
        {
            "state": stored.state.value,
            "rows": stored.manifest.rows,
            "done": stored.done,
            "updated": stored.updated,
            "live": ask.site.figures.goes_on(stored),
        }
    )


def metric(ask: Ask) -> Answer:
    """One metric: its figure, how the rows spread, its slices, and the rows behind each."""
    stored = stored_run(ask)
    figures = figures_of(ask, stored)
    if figures is None:
        return counting_page(ask, stored, "overview")
    name = ask.query.get("name", "")
    summary = figures.summary
    found = [m for m in summary.metrics if m.metric == name]
    if not found:
        raise NotThere(f"The run has no metric {name[:80]!r}. Its overview lists them.")
    index = ask.site.figures.index(stored)
    by_slice = []
    if index is not None:
        key = ("slices", stored.run_id, index.stamp, name)
        by_slice = ask.site.figures.other(key, lambda: index.by_slice(name)) or []
    return run_page(
        "metric.html.j2",
        ask,
        stored,
        "overview",
        x=found[0],
        s=summary,
        distributions=[d for d in figures.distributions if d.metric == name],
        slices=[item for item in summary.slices if item.metric == name],
        by_slice=by_slice,
        indexed=index is not None,
        declared=say.declared_as(name),
    )


def export_file(ask: Ask) -> Answer:
    """The run's scores as the command exports them."""
    stored = stored_run(ask)
    kind = ask.query.get("format", "csv")
    if kind not in _KINDS:
        raise refused("format", kind, "csv or jsonl")
    with TemporaryDirectory() as folder:
        target = Path(folder) / f"scores.{kind}"
        export(ask.site.store, stored.run_id, kind, target)
        return File(target.read_bytes(), _KINDS[kind], f"{stored.run_id}.{kind}")
