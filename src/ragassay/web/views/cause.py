"""Root causes: the share of the failing rows by the first failing judge in causal order, what to
turn, and the rows.
"""

from __future__ import annotations

from ragassay.core import WorstRow
from ragassay.diagnosis import cause_named
from ragassay.web.messages import Answer, Ask
from ragassay.web.views.shell import counting_page, figures_of, run_page, stored_run

EXAMPLES = 5


def show(ask: Ask) -> Answer:
    """The causes of a run, each with its first rows."""
    stored = stored_run(ask)
    figures = figures_of(ask, stored)
    if figures is None:
        return counting_page(ask, stored, "causes")
    summary = figures.summary
    examples: dict[str, list[WorstRow]] = {}
    for share in summary.causes:
        name = share.cause.name
        examples[name] = [row for row in summary.worst if row.cause == name][:EXAMPLES]
    return run_page(
        "causes.html.j2",
        ask,
        stored,
        "causes",
        s=summary,
        examples=examples,
        cause_named=cause_named,
    )
