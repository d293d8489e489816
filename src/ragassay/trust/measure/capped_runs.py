"""How are several runs one purchase? Caps hold for all of them together, and one that was stopped
stops the rest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragassay.api import evaluate
from ragassay.core import MEASURING, BudgetExhausted, RunState
from ragassay.runs.options import make_options

if TYPE_CHECKING:
    from ragassay.api import Run


class Series:
    """Runs one after the other, with one cap on calls and one on cost.

    options: of `ragassay.evaluate`; out of range they raise before anything is asked. What was
    judged of a stopped run is kept: the same command again asks only for the rest.
    """

    def __init__(self, options: Mapping[str, Any], store: str | os.PathLike[str] | None) -> None:
        make_options(
            {name: value for name, value in options.items() if name not in ("watch", "tell")}
        )
        self._options, self._store = dict(options), store
        if tell := self._options.get("tell"):
            told: set[str] = set()

            def once(line: str) -> None:  # each run reads the same rows: how is said once
                if line not in told:
                    told.add(line)
                    tell(line)

            self._options["tell"] = once
        self.calls, self.cost, self.cost_known = 0, 0.0, True

    def run(self, rows: object, metric: str, name: str, **options: Any) -> Run:
        """Evaluate one metric, and return the run when it got through all rows.

        Raises BudgetExhausted E0604 or KeyboardInterrupt where it was stopped, and as `evaluate`.
        """
        left: dict[str, Any] = {}
        for cap, spent in (("max_calls", self.calls), ("max_cost", self.cost)):
            if self._options.get(cap) is not None:
                left[cap] = max(0, self._options[cap] - spent)
        run = evaluate(
            rows,
            [metric],
            store=self._store,
            name=MEASURING + name,
            **self._options | left | options,
        )
        bill = run.ledger.confirmed
        self.calls += bill.calls
        self.cost += bill.cost or 0.0
        self.cost_known = self.cost_known and (bill.cost is not None or not bill.calls)
        state = run.state
        if state is RunState.FINISHED:
            return run
        with run:
            why = run.stop_reason
            if state is RunState.BUDGET and not any(m.judged for m in run.summary.metrics):
                reasons = {
                    reason: count
                    for m in run.summary.metrics
                    for reason, count in m.reasons.items()
                }
                why += "; nothing was answered" + (
                    f": {max(reasons, key=lambda r: reasons[r])}" if reasons else ""
                )
        if state is RunState.BUDGET:
            raise BudgetExhausted(
                "E0604",
                "A cap was reached before all rows were judged.",
                where=f"run {run.id}",
                why=why,
                fix="the same command with a higher --max-calls or --max-cost goes on where it was",
            )
        words = "Stopped before all rows were judged: the same command goes on where it was"
        if tell := self._options.get("tell"):
            tell(words)
        raise KeyboardInterrupt(words)


__all__ = ["Series"]
