"""Runs: the list, one of them, its figures, causes and certificates, and its progress as events."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ragassay.core import RunState
from ragassay.report.jsonable import as_json, run_json, summary_json
from ragassay.web.api.cursors import cursor, foreign_cursor, place_of
from ragassay.web.api.folders import for_role
from ragassay.web.api.messages import Call, Event, Events, Json, Reply

if TYPE_CHECKING:
    from ragassay.store import StoredRun
    from ragassay.web.figures import RunFigures

PATIENCE_S = 20.0
"""How long an answer waits for the figures of a large run before it says that they are counted."""
COUNTING_RETRY_S = 2
GONE_S = 2.0
"""A run that nobody has worked on for so long is one whose process is gone: between its record and
its lock, or two parts of it, lie milliseconds.
"""


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
    items = [for_role(call.role, run_json(run)) for run in runs[:limit]]
    return Json({"items": items, "total": store.count_runs(names), "next": following})


def _is_there(call: Call, run_id: str) -> bool:
    from ragassay.core import SetupError

    try:
        call.site.store.run_stamp(run_id)
    except SetupError:
        return False
    return True


def one(call: Call) -> Reply:
    """Where a run stands, its ledger and its manifest; and whether a process works on it."""
    stored = call.run()
    progress = progress_of(call, stored.run_id)
    shown = {**run_json(stored), "driven": progress["driven"], "total": progress["total"]}
    return Json(for_role(call.role, shown))


def summary(call: Call) -> Reply:
    """What `ragassay show --json` prints."""
    stored = call.run()
    figures = _figures(call, stored)
    if figures is None:
        return _counting(stored)
    return Json(for_role(call.role, summary_json(figures.summary)))


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
    """The progress of a run until it stops, whoever drives it, or until nobody does."""
    run_id = call.run().run_id
    last_driven = time.monotonic()

    def look() -> Event:
        nonlocal last_driven
        progress = progress_of(call, run_id)
        if progress["driven"]:
            last_driven = time.monotonic()
        gone = time.monotonic() - last_driven > GONE_S
        over = gone or progress["state"] != RunState.RUNNING.value
        return Event("end" if over else "progress", progress, over)

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
            fix="a run of the command is stopped where it runs, with Ctrl-C"
            if stored.state is RunState.RUNNING
            else "nothing is to be stopped",
        )
    return Json(progress_of(call, stored.run_id), 202)


def progress_of(call: Call, run_id: str) -> dict[str, object]:
    """Where a run stands. done: rows that a resume need not do again, of `total`; driven: whether a
    process works on it: a run in the state `running` that is not driven was killed.
    """
    # In this order: a run is given back after its last state is written.
    driven = call.site.store.driven(run_id)
    stored = call.site.figures.stored(run_id)
    driven = driven and stored.state is not RunState.FINISHED
    # Of a run that has just been taken up again the store still says how it stopped.
    state = RunState.RUNNING if driven else stored.state
    ledger = stored.ledger
    return {
        "run_id": stored.run_id,
        "state": state.value,
        "driven": driven,
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
