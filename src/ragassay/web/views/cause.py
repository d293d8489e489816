"""Root causes: the share of the failing rows by the first failing judge in causal order, what to
turn, and the rows.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from ragassay.core import Summary, WorstRow
from ragassay.diagnosis import cause_named
from ragassay.report.summary import worst_row
from ragassay.web.messages import Answer, Ask
from ragassay.web.views.shell import counting_page, figures_of, run_page, stored_run
from ragassay.web.views.told import told_at

if TYPE_CHECKING:
    from ragassay.store import StoredRun

EXAMPLES = 5


def show(ask: Ask) -> Answer:
    """The causes of a run, each with its first rows."""
    stored = stored_run(ask)
    figures = figures_of(ask, stored)
    if figures is None:
        return counting_page(ask, stored, "causes")
    summary = figures.summary
    examples = _examples(ask, stored, summary)
    shown = chain.from_iterable(examples.values())
    return run_page(
        "causes.html.j2",
        ask,
        stored,
        "causes",
        s=summary,
        examples=examples,
        told=told_at(ask.site.store, stored.run_id, [row.index for row in shown], stored.manifest),
        cause_named=cause_named,
    )


def _examples(ask: Ask, stored: StoredRun, summary: Summary) -> dict[str, list[WorstRow]]:
    """Cause -> its worst rows. The worst of the run may all be of one cause: for the others the
    store is asked.
    """
    examples: dict[str, list[WorstRow]] = {}
    for share in summary.causes:
        name = share.cause.name
        found = [row for row in summary.worst if row.cause == name][:EXAMPLES]
        if len(found) < min(EXAMPLES, share.rows):
            rows = ask.site.store.rows(stored.run_id, order="worst", limit=EXAMPLES, cause=name)
            made = [worst_row(row, stored.manifest) for row in rows]
            found = [row for row in made if row is not None] or found
        examples[name] = found
    return examples
