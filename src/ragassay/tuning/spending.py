"""What a search has spent, and what its caps leave: of the judge and of the proposer together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ragassay.core import Ledger
from ragassay.tuning.record import added, calls_of, cost_of


@dataclass
class Spending:
    """The caps of a search and what counts against them.

    A step that is done again after a kill counts what it cost then, so that the caps hold over all
    attempts together, and the search goes the same way again.
    """

    max_calls: int | None = None
    max_cost: float | None = None
    kept_cost: float = 0.0
    """US dollars that are kept for the certificate: what is spent now must leave them."""
    ledger: Ledger = field(default_factory=Ledger)
    unpriced: int = 0
    """Calls of which no price is known: `cost` is without them."""

    @property
    def calls(self) -> int:
        """Calls so far."""
        return calls_of(self.ledger)

    @property
    def cost(self) -> float | None:
        """US dollars so far; None where calls were made and none has a price."""
        if self.ledger.confirmed.calls and self.ledger.confirmed.cost is None:
            return None
        return cost_of(self.ledger)

    def add(self, ledger: Ledger) -> None:
        """Count what a step spent."""
        self.ledger = added(self.ledger, ledger)
        if ledger.confirmed.cost is None:
            self.unpriced += ledger.confirmed.calls

    def left(self) -> dict[str, Any]:
        """What the caps leave, as options of `evaluate`: None where there is no cap."""
        calls = None if self.max_calls is None else max(0, self.max_calls - self.calls)
        cost = None
        if self.max_cost is not None:
            cost = max(0.0, self.max_cost - self.kept_cost - cost_of(self.ledger))
        return {"max_calls": calls, "max_cost": cost}
