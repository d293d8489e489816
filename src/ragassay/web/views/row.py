"""One row: its cause, its claims with the evidence marked, each judge's verdict, and on demand what
the judge was asked and replied, letter by letter.
"""

from __future__ import annotations

from dataclasses import replace

from ragassay.core import RowResult
from ragassay.report.html import RowView, row_view
from ragassay.runs.run import Run
from ragassay.web.messages import Answer, Ask, NotThere
from ragassay.web.site import url
from ragassay.web.views.row_labels import metric_to_label, row_labels
from ragassay.web.views.rows import filters, neighbours
from ragassay.web.views.shell import run_page, stored_run
from ragassay.web.views.traces import waterfall_of_row


def show(ask: Ask) -> Answer:
    """The row of an index."""
    stored = stored_run(ask)
    row = _row(ask, stored.run_id)
    index = ask.site.figures.index(stored)
    before, after = neighbours(ask, stored, index, row.index)
    more = filters(ask)
    return run_page(
        "row_page.html.j2",
        ask,
        stored,
        "rows",
        v=_each_context_once(row_view(row, 0, stored.manifest)),
        labels=row_labels(ask, stored, row),
        to_label=url("/runs/{}/labels", stored.run_id, metric=metric_to_label(row)),
        before=before,
        after=after,
        back=url("/runs/{}/rows", stored.run_id, **more),
        fall=waterfall_of_row(ask, row),
        asked_url=url("/runs/{}/rows/{}/asked", stored.run_id, row.index, **more),
    )


def asked(ask: Ask) -> Answer:
    """What the judge's model was sent about the row, and its raw replies."""
    stored = stored_run(ask)
    row = _row(ask, stored.run_id)
    # Not closed: the store is the server's.
    run = Run(ask.site.store, stored.run_id)
    more = filters(ask)
    return run_page(
        "asked.html.j2",
        ask,
        stored,
        "rows",
        row=row,
        asked=run.asked(row),
        back=url("/runs/{}/rows/{}", stored.run_id, row.index, **more),
    )


def _each_context_once(view: RowView) -> RowView:
    """The view with one link a context below each claim: to the first place that it rests on. The
    other places are marked beside it.
    """
    for number, claim in enumerate(view.claims):
        first: dict[int, str] = {}
        for anchor, context in claim.links:
            first.setdefault(context, anchor)
        links = tuple((anchor, context) for context, anchor in first.items())
        view.claims[number] = replace(claim, links=links)
    return view


def _row(ask: Ask, run_id: str) -> RowResult:
    text = ask.path["index"]
    if text.isascii() and text.isdigit() and len(text) < 16:
        row = ask.site.store.row_at(run_id, int(text))
        if row is not None:
            return row
    raise NotThere(f"The run has no row {text[:40]!r}. It may not be judged yet.")
