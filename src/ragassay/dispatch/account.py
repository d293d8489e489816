"""The account of a run: a Ledger while it grows, in exact decimals.

Money is kept in three columns: confirmed (answers with a bill), uncertain (what calls without a
bill may have cost: at most, or by an estimate for those that were cut off) and saved (what reused
judgments cost when they were bought). Binary floats would drift over many calls, so sums are
Decimals; the Ledger that is stored has floats again.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from ragassay.core import Ledger, Spend


def exact(amount: float | None) -> Decimal:
    """The decimal that the amount stands for: 0.1 is a tenth, not the binary number next to it."""
    return Decimal(0) if amount is None else Decimal(repr(amount))


class Account:
    """The columns of a Ledger, from those of `base` on. Costs are in US dollars."""

    def __init__(self, base: Ledger | None = None) -> None:
        base = base or Ledger()
        self._confirmed = base.confirmed
        self.cost = exact(base.confirmed.cost)
        self.uncertain = exact(base.uncertain_cost)
        self._cut_off = exact(base.cut_off_cost)
        self.saved = exact(base.saved_cost)
        self._cost_known = _cost_is_known(base.confirmed)
        self._uncertain_calls = base.uncertain_calls
        self._unbilled_calls = base.unbilled_calls
        self._cut_off_calls = base.cut_off_calls
        self.cached = base.cached_judgments
        self.retries = base.retries
        self._preflight = base.preflight
        self.refused_calls = base.refused_calls

    def add_answer(self, spend: Spend, most: Decimal | None) -> None:
        """An answer arrived. most: what one without a bill has cost at most (None: the price is not
        known).
        """
        self._confirmed += spend
        if spend.cost is not None:
            self.cost += exact(spend.cost)
        elif most is not None:
            self._unbilled_calls += 1
            self.uncertain += most
        else:
            self._cost_known = False

    def take_back_answer(self, spend: Spend, most: Decimal | None) -> None:
        """Undo what `add_answer` counted for the same spend and the same most."""
        self._confirmed += _negative(spend)
        if spend.cost is not None:
            self.cost -= exact(spend.cost)
        elif most is not None:
            self._unbilled_calls -= 1
            self.uncertain -= most
        else:
            self._cost_known = False

    def add_lost_call(self, worst: Decimal | None) -> None:
        """A call that may have been billed ended without an answer."""
        self._uncertain_calls += 1
        self.uncertain += worst or Decimal(0)

    def add_cut_off(self, calls: int, estimate: Decimal | None) -> None:
        """So many calls were in flight when the process was killed or the run stopped. estimate:
        what they have cost together.
        """
        self._uncertain_calls += calls
        self._cut_off_calls += calls
        self.uncertain += estimate or Decimal(0)
        self._cut_off += estimate or Decimal(0)

    def add(self, ledger: Ledger) -> None:
        """Count all that another ledger holds."""
        self._confirmed += ledger.confirmed
        self.cost += exact(ledger.confirmed.cost)
        self.uncertain += exact(ledger.uncertain_cost)
        self.saved += exact(ledger.saved_cost)
        self._cost_known = self._cost_known and _cost_is_known(ledger.confirmed)
        self._uncertain_calls += ledger.uncertain_calls
        self._unbilled_calls += ledger.unbilled_calls
        self._cut_off_calls += ledger.cut_off_calls
        self._cut_off += exact(ledger.cut_off_cost)
        self.cached += ledger.cached_judgments
        self.retries += ledger.retries
        self._preflight += ledger.preflight
        self.refused_calls += ledger.refused_calls

    def ledger(
        self,
        open_calls: int = 0,
        open_cost: Decimal = Decimal(0),
        *,
        cut_off: bool = False,
    ) -> Ledger:
        """The account as it is stored. Open calls count as uncertain; cut_off: as calls that a kill
        now would cut off. A cost is None once a price was not known.
        """
        spend = self._confirmed
        cost = float(self.cost) if self._cost_known and spend.calls else None
        return Ledger(
            replace(spend, cost=cost),
            self._uncertain_calls + open_calls,
            float(self.uncertain + open_cost),
            self.cached,
            self.retries,
            self._unbilled_calls,
            float(self.saved),
            self._cut_off_calls + (open_calls if cut_off else 0),
            float(self._cut_off + (open_cost if cut_off else 0)),
            self._preflight,
            self.refused_calls,
        )


def add_ledgers(*ledgers: Ledger) -> Ledger:
    """The sum of the ledgers, exact as decimals. A cost is None once one's is not known."""
    account = Account()
    for ledger in ledgers:
        account.add(ledger)
    return account.ledger()


def spent_since(before: Ledger, after: Ledger) -> Spend:
    """What arrived between two states of one account, exact as decimals."""
    spend = after.confirmed + _negative(before.confirmed)
    if after.confirmed.cost is None or not spend.calls:
        return replace(spend, cost=None)
    return replace(spend, cost=float(exact(after.confirmed.cost) - exact(before.confirmed.cost)))


def _cost_is_known(spend: Spend) -> bool:
    return spend.cost is not None or spend.calls == 0


def _negative(spend: Spend) -> Spend:
    """What undoes this spend when it is added (its cost apart, which Account keeps exactly)."""
    return Spend(
        -spend.calls,
        -spend.input_tokens,
        -spend.output_tokens,
        -spend.cached_tokens,
        None,
        -spend.seconds,
        -spend.reasoning_tokens,
    )
