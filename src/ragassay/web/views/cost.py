"""What the application spent on the rows, and what judging them cost."""

from __future__ import annotations

from ragassay.report import wording as say
from ragassay.report.spending import usage_spread
from ragassay.web.messages import Answer, Ask
from ragassay.web.views.shell import counting_page, figures_of, run_page, stored_run


def show(ask: Ask) -> Answer:
    """Cost and latency of a run."""
    stored = stored_run(ask)
    figures = figures_of(ask, stored)
    run_id = stored.run_id
    spreads = ask.site.figures.other(
        ("usage", run_id, stored.updated), lambda: usage_spread(ask.site.store, run_id), 1.0
    )
    if figures is None or spreads is None:
        return counting_page(ask, stored, "cost")
    return run_page(
        "cost.html.j2",
        ask,
        stored,
        "cost",
        s=figures.summary,
        ledger=stored.ledger,
        spreads=spreads,
        app=say.app_words(figures.summary),
        words=say.ledger_words(figures.summary),
    )
