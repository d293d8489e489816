"""Several runs as one purchase: caps hold for all of them together, and a stop stops the rest."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ragassay.api import evaluate
from ragassay.core import MEASURING, BudgetExhausted, Interrupted, RunState
from ragassay.runs.options import make_options

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.metrics.base import Metric


class CappedRuns:
    """Runs one after the other, with one cap on calls and one on cost.

    options: of `ragassay.evaluate`; out of range they raise before anything is asked. What was
    judged in a stopped run stays in the store: the same command again asks only for the rest.

    calls, cost: what all runs so far spent. cost_known: whether every call has a price.
    """

    def __init__(self, options: Mapping[str, Any], store: str | os.PathLike[str] | None) -> None:
        # Who watches a run and who is told of it are no options of the judging.
        options_of_judging = dict(options)
        options_of_judging.pop("watch", None)
        options_of_judging.pop("tell", None)
        make_options(options_of_judging)
        self._options = dict(options)
        self._store = store
        if tell := self._options.get("tell"):
            self._options["tell"] = once_each(tell)
        self.calls = 0
        self.cost = 0.0
        self.cost_known = True

    def run(self, rows: object, metric: str | Metric, name: str, **options: Any) -> Run:
        """Evaluate one metric, and return the run when it got through all rows.

        Raises BudgetExhausted E0604 or Interrupted where it was stopped, and as `evaluate`.
        """
        run = evaluate(
            rows,
            [metric],
            store=self._store,
            name=MEASURING + name,
            **self._options | self._remaining_caps() | options,
        )
        # Counted whatever the state is: a run that was stopped has spent as well.
        spent = run.ledger.confirmed
        # Calls without a price have no cost to add, and the sum is then not what was spent.
        self.calls += spent.calls
        self.cost += spent.cost or 0.0
        if spent.calls and spent.cost is None:
            self.cost_known = False
        state = run.state
        if state is RunState.FINISHED:
            return run
        # Closed here, for nobody is given this run.
        with run:
            why = _why_stopped(run)
        if state is RunState.BUDGET:
            raise BudgetExhausted(
                "E0604",
                "A cap was reached before all rows were judged.",
                where=f"run {run.id}",
                why=why,
                fix="the same command with a higher --max-calls or --max-cost goes on where it was",
            )
        message = "Stopped before all rows were judged: the same command goes on where it was"
        if tell := self._options.get("tell"):
            tell(message)
        raise Interrupted(message)

    def _remaining_caps(self) -> dict[str, Any]:
        """What earlier runs left of each cap that was set."""
        remaining: dict[str, Any] = {}
        for cap, spent in (("max_calls", self.calls), ("max_cost", self.cost)):
            if self._options.get(cap) is not None:
                # Never below 0: what was in flight at the cap may have cost more than was left.
                remaining[cap] = max(0, self._options[cap] - spent)
        return remaining


def once_each(tell: Callable[[str], None]) -> Callable[[str], None]:
    """`tell` for lines that were not told before: each run reads the same rows."""
    lines: set[str] = set()

    def once(line: str) -> None:
        if line not in lines:
            lines.add(line)
            tell(line)

    return once


def _why_stopped(run: Run) -> str:
    """The run's own reason, and the most frequent one of its rows where no row was answered."""
    why = run.stop_reason
    if run.state is not RunState.BUDGET:
        return why
    metrics = run.summary.metrics
    if any(metric.judged for metric in metrics):
        return why
    counts: dict[str, int] = {}
    for metric in metrics:
        counts.update(metric.reasons)
    why += "; nothing was answered"
    if counts:
        why += f": {max(counts, key=lambda reason: counts[reason])}"
    return why
