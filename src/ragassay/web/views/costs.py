"""What judging cost from run to run, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragassay.web.messages import Answer, Ask, Page
from ragassay.web.site import known_cost, url
from ragassay.web.views.shell import run_title

SHOWN = 100


class Spent(NamedTuple):
    """What one run spent on judging. cost: US dollars, None where not every call has a price.
    a_thousand: the same for a thousand rows. height: of its bar, as a share of the highest.
    """

    title: str
    address: str
    created: str
    judge: str
    rows: int
    calls: int
    tokens: int
    cost: float | None
    a_thousand: float | None
    saved: float
    seconds: float
    height: float = 0.0


def show(ask: Ask) -> Answer:
    """The last runs, the oldest first, as time goes from left to right."""
    store = ask.site.store
    spent = []
    for run in reversed(store.runs(SHOWN, names="used")):
        ledger = run.ledger
        confirmed = ledger.confirmed
        cost = known_cost(confirmed)
        entry = Spent(
            title=run_title(run),
            address=url("/runs/{}/cost", run.run_id),
            created=run.manifest.created,
            judge=run.manifest.judge.uri,
            rows=run.rows,
            calls=confirmed.calls,
            tokens=confirmed.input_tokens + confirmed.output_tokens,
            cost=cost,
            a_thousand=None if cost is None or not run.rows else 1000 * cost / run.rows,
            saved=ledger.saved_cost,
            seconds=run.seconds,
        )
        spent.append(entry)
    shown = _with_heights(spent)
    costs = [entry.cost for entry in shown if entry.cost is not None]
    values = {
        "runs": shown,
        "total": store.count_runs("used"),
        "sum": sum(costs),
        "priced": len(costs),
        "most": max(costs, default=0.0),
    }
    return Page("costs.html.j2", values)


def _with_heights(spent: Sequence[Spent]) -> list[Spent]:
    most = max((entry.cost or 0.0 for entry in spent), default=0.0)
    return [entry._replace(height=(entry.cost or 0.0) / most if most else 0.0) for entry in spent]
