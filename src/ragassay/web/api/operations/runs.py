"""Runs: the list, one of them, its figures, causes and certificates, and its progress as events."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.core import RunState
from ragassay.report.jsonable import as_json, run_json, summary_json
from ragassay.web.api.cursors import cursor, foreign_cursor, place_of
from ragassay.web.api.messages import Call, Event, Events, Json, Reply

if TYPE_CHECKING:
    from ragassay.store import StoredRun
    from ragassay.web.figures import RunFigures

PATIENCE_S = 20.0
"""How long an answer waits for the figures of a large run before it says that they are counted."""
COUNTING_RETRY_S = 2


def listed(call: Call) -> Reply:
    """A page of runs, newest first."""
    names = "" if call.query.all == "true" else "used"
    of = ["runs", names]
    before = place_of(call.query.cursor, of) or ""
    store = call.site.store
    if before and (not isinstance(before, str) or not _is_there(call, before)):
        raise foreign_cursor()
    limit = call.query.limit
    runs = store.runs(limit + 1, before=before, names=names)
    following = cursor(of, runs[limit - 1].run_id) if len(runs) > limit else None
    items = [run_json(run) for run in runs[:limit]]
    return Json({"items": items, "total": store.count_runs(names), "next": following})


def _is_there(call: Call, run_id: str) -> bool:
    from ragassay.core import SetupError

    try:
        call.site.store.run_stamp(run_id)
    except SetupError:
        return False
    return True


def one(call: Call) -> Reply:
    """Where a run stands, its ledger and its manifest."""
    return Json(run_json(call.run()))


def summary(call: Call) -> Reply:
    """What `ragassay show --json` prints."""
    stored = call.run()
    figures = _figures(call, stored)
    if figures is None:
        return _counting(stored)
    return Json(summary_json(figures.summary))


def metrics(call: Call) -> Reply:
    """The figures of each metric, and how the rows spread over its range."""
    stored = call.run()
    figures = _figures(call, stored)
    if figures is None:
        return _counting(stored)
    shapes = {shape.metric: as_json(shape.bars) for shape in figures.distributions}
    items = []
    for metric in figures.summary.metrics:
        values = as_json(metric)
        assert isinstance(values, dict)
        items.append({**values, "distribution": shapes.get(metric.metric, [])})
    return Json({"items": items})


def causes(call: Call) -> Reply:
    """Root causes with the share of the failing rows, score patterns, and the worst slices."""
    stored = call.run()
    figures = _figures(call, stored)
    if figures is None:
        return _counting(stored)
    found = figures.summary
    values = {"causes": found.causes, "patterns": found.patterns, "slices": found.slices}
    return Json(as_json({**values, "failed": found.failed}))


def trust(call: Call) -> Reply:
    """What is known of the run's judge on rows like these, a metric each."""
    stored = call.run()
    figures = _figures(call, stored)
    if figures is None:
        return _counting(stored)
    return Json({"items": as_json(figures.summary.trust)})


def events(call: Call) -> Reply:
    """The progress of a run until it stops, whoever drives it."""
    run_id = call.run().run_id

    def look() -> Event:
        stored = call.site.figures.stored(run_id)
        over = stored.state is not RunState.RUNNING
        return Event("end" if over else "progress", progress_of(stored), over)

    return Events(look)


def cancel(call: Call) -> Reply:
    """Stop a run that this server drives."""
    from ragassay.web.api.messages import Refused

    stored = call.run()
    if not call.evaluations.stop(stored.run_id):
        raise Refused(
            "E1412",
            "This server does not drive the run.",
            where=f"run {stored.run_id}",
            why=f"its state is {stored.state.value}",
            fix="a run of the command is stopped where it runs, with Ctrl-C",
        )
    return Json(progress_of(stored), 202)


def progress_of(stored: StoredRun) -> dict[str, object]:
    """Where a run stands. done: rows that a resume need not do again, of `total`."""
    ledger = stored.ledger
    return {
        "run_id": stored.run_id,
        "state": stored.state.value,
        "stop_reason": as_json(stored.stop_reason),
        "done": stored.done,
        "total": stored.manifest.rows,
        "bad": stored.bad,
        "calls": ledger.confirmed.calls,
        "cost": ledger.confirmed.cost,
        "updated": stored.updated,
    }


def _figures(call: Call, stored: StoredRun) -> RunFigures | None:
    return call.site.figures.of_run(stored, PATIENCE_S)


def _counting(stored: StoredRun) -> Json:
    return Json({"counting": True, "rows": stored.rows}, 202, retry_s=COUNTING_RETRY_S)
