"""Labelling: rows chosen and handed out one by one, blind and by keyboard, and what the labels say.

Nothing of the judge, of other people or of the run's name is on the page on which somebody labels.
"""

from __future__ import annotations

from urllib.parse import quote

from ragassay.core import LabelAnswer, RowToLabel
from ragassay.trust.measure.label_rounds import choose_to_label, label_progress, label_task
from ragassay.trust.sampling import METHODS
from ragassay.web.messages import Answer, Ask, NotThere, Page, Redirect, refused
from ragassay.web.site import url
from ragassay.web.views.shell import run_page, stored_run

CANNOT_TELL = "cannot tell"
MOST_CHOSEN = 5000
LONGEST_REASON = 4000


def show(ask: Ask) -> Answer:
    """What is labelled in a run, how far it has come, and how far people and judge agree."""
    stored = stored_run(ask)
    store, run_id = ask.site.store, stored.run_id
    names = list(dict.fromkeys([*store.names_to_label(run_id), *_labelled(ask, run_id)]))
    metrics = [name for name in stored.manifest.metrics if name in _judged_metrics(ask, run_id)]
    return run_page(
        "labels.html.j2",
        ask,
        stored,
        "labels",
        progress=[label_progress(store, run_id, name) for name in names],
        metrics=metrics or list(stored.manifest.metrics),
        methods=METHODS,
        person=ask.person,
    )


def choose(ask: Ask) -> Answer:
    """Put rows into the queue."""
    stored = stored_run(ask)
    metric, method = ask.form.get("metric", ""), ask.form.get("method", "active")
    count = ask.form.get("n", "50")
    if method not in METHODS:
        raise refused("method", method, f"one of {', '.join(METHODS)}")
    if not (count.isascii() and count.isdigit() and 0 < int(count[:9]) <= MOST_CHOSEN):
        raise refused("n", count, f"a whole number from 1 to {MOST_CHOSEN}")
    choose_to_label(ask.site.store, stored.run_id, metric, int(count), method=method)
    return Redirect(url("/runs/{}/labels", stored.run_id))


def item(ask: Ask) -> Answer:
    """The next row for this person; or one that they answered, to be answered again."""
    stored = stored_run(ask)
    metric = _metric(ask, ask.query.get("metric", ""))
    if not ask.person:
        return Page("who.html.j2", {"run_id": stored.run_id, "metric": metric})
    store, run_id = ask.site.store, stored.run_id
    again = ask.query.get("row", "")
    queue = store.to_label(run_id, metric)
    mine = [a for a in store.label_answers(run_id, metric) if a.annotator == ask.person]
    chosen: RowToLabel | None
    if again:
        # Only a row that was theirs: what others have is not to be seen beforehand.
        theirs = {answer.row_id for answer in mine}
        chosen = next((r for r in queue if r.row_id == again and again in theirs), None)
    else:
        chosen = store.reserve_to_label(run_id, metric, ask.person)
    row = store.row(run_id, chosen.row_id) if chosen is not None else None
    last = mine[-1] if mine else None
    values = {
        "run_id": run_id,
        "task": label_task(metric),
        "row": row,
        "person": ask.person,
        "answered": len({answer.row_id for answer in mine}),
        "total": len(queue),
        "last": last,
        "given": last if again and last is not None and last.row_id == again else None,
        "cannot_tell": CANNOT_TELL,
    }
    return Page("label.html.j2", values)


def keep(ask: Ask) -> Answer:
    """An answer, or who is answering; then the next row."""
    stored = stored_run(ask)
    metric = _metric(ask, ask.form.get("metric", ""))
    next_item = url("/runs/{}/label", stored.run_id, metric=metric)
    person = " ".join(ask.form.get("person", "").split())[:80]
    if person:
        return Redirect(next_item, {"person": quote(person)})
    if not ask.person:
        return Redirect(next_item)
    row_id, given = ask.form.get("row", ""), ask.form.get("value", "")
    queue = ask.site.store.to_label(stored.run_id, metric)
    chosen = next((row for row in queue if row.row_id == row_id), None)
    if chosen is None:
        raise NotThere("That row is not among those to label.")
    answer = LabelAnswer(
        row_id,
        ask.person,
        _value(given, chosen),
        ask.form.get("rationale", "").strip()[:LONGEST_REASON],
        _now(),
    )
    ask.site.store.put_answer(stored.run_id, metric, answer, chosen)
    return Redirect(next_item)


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _value(given: str, chosen: RowToLabel) -> float | None:
    """The label, None for "cannot tell". Raises SetupError E0101 for one outside the scale."""
    if given == CANNOT_TELL:
        return None
    for point in chosen.scale:
        if given == f"{point:g}":
            return point
    raise refused("value", given, "on the scale")


def _metric(ask: Ask, name: str) -> str:
    """A metric that rows are to be labelled for."""
    stored = stored_run(ask)
    if name in ask.site.store.names_to_label(stored.run_id):
        return name
    raise NotThere(
        "No rows were chosen to be labelled for that. Choose some on the page of labels."
    )


def _labelled(ask: Ask, run_id: str) -> list[str]:
    """The metrics of which labels were imported."""
    return list(dict.fromkeys(label.name for label in ask.site.store.labels(run_id)))


def _judged_metrics(ask: Ask, run_id: str) -> set[str]:
    """Metrics with a pass mark whose score a judge gave: of these, people's labels say most."""
    figures = ask.site.figures.of_run(ask.site.figures.stored(run_id))
    if figures is None:
        return set()
    metrics = figures.summary.metrics
    return {metric.metric for metric in metrics if metric.asked and metric.pass_mark is not None}
