"""How do several workers keep one cap? Each gets leave for some calls and dollars at a time, and
gives back what is left.

The purse is with the driver. Leave that was given counts as spent until the worker says what it
made of it, and is on disk before it is given: so the cap holds whatever dies. A worker that has
used up its leave waits for more; when nobody has any left, the workers end one after the other, for
what one of them leaves over may serve another.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, Decimal

from ragassay.core import Call, ChatCall, Ledger
from ragassay.dispatch import LocalBudget, PriceOf, exact, worst_case

FEW = 8
"""Calls for which there is leave at once, at least: a worker that makes more of them a beat gets
more.
"""

MITE = Decimal("1e-9")
"""Dollars to which a share is rounded, so that sums of shares stay exact where they are kept as
floats.
"""

FIRST_SHARE = 16
"""Before the price of a call is known, a worker gets this part of what there is, divided by the
workers.
"""


@dataclass(frozen=True, slots=True)
class Lease:
    """What a worker may spend on its part in all; None = as much as it likes. final: more will not
    come, for `reason`.
    """

    calls: int | None = None
    cost: Decimal | None = None
    final: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LeaseUse:
    """What a worker made of it. sent: requests, those too that cost nothing. starved: a call waits
    for leave, which takes `wants` dollars; worst: the most that a call has taken so far.
    """

    sent: int = 0
    in_flight: int = 0
    reserved: Decimal = Decimal(0)
    ledger: Ledger = field(default_factory=Ledger)
    starved: bool = False
    wants: Decimal = Decimal(0)
    worst: Decimal = Decimal(0)

    @property
    def cost(self) -> Decimal:
        """Dollars that are spent, or may be."""
        return exact(self.ledger.confirmed.cost) + exact(self.ledger.uncertain_cost)


class LeasedBudget(LocalBudget):
    """The budget of a worker's part: its caps are the leave it has, and a call that they do not
    allow waits for more.
    """

    def __init__(self, price: PriceOf, grant: Lease, base: Ledger) -> None:
        super().__init__(price, base=base)
        self._grant = grant
        self._starved, self._wants, self._worst = False, Decimal(0), Decimal(0)
        self.allow(grant)

    def allow(self, grant: Lease) -> None:
        """Take new leave."""
        self._grant, self._max_calls, self._max_cost = grant, grant.calls, grant.cost

    def reserve(self, call: Call) -> Decimal | None:
        reserved = super().reserve(call)
        if isinstance(call, ChatCall):
            self._wants = (
                reserved if reserved is not None else worst_case(self._price, call) or Decimal(0)
            )
            self._worst = max(self._worst, self._wants)
            self._starved = reserved is None
        return reserved

    @property
    def may_free(self) -> bool:
        return not self._grant.final or super().may_free

    def stop_reason(self) -> str:
        return self._grant.reason

    def use(self) -> LeaseUse:
        """What was made of the leave so far."""
        return LeaseUse(
            self.sent,
            self._in_flight,
            self._reserved,
            self.ledger(),
            self._starved,
            self._wants,
            self._worst,
        )


class SharedBudget:
    """The caps of a run over its workers, and its ledger. Thread-safe: the ledger is written by
    other threads.
    """

    workers = 1

    def __init__(self, *, max_calls: int | None, max_cost: float | None, base: Ledger) -> None:
        self._max_calls = max_calls
        self._max_cost = None if max_cost is None else exact(max_cost)
        self._closed, self._sent = base, base.confirmed.calls + base.uncertain_calls
        self._open: dict[
            str, tuple[Lease, LeaseUse, int]
        ] = {}  # with how many calls went out between its last two reports
        self._worst = Decimal(0)
        self._lock = threading.RLock()

    @property
    def capped(self) -> bool:
        """Whether there is a cap to keep."""
        return self._max_calls is not None or self._max_cost is not None

    def open(self, part: str) -> Lease:
        """The first leave for a part."""
        with self._lock:
            calls = cost = None
            if self._max_calls is not None:
                calls = min(FEW, self._free_calls())
            if self._max_cost is not None:
                free = self._free_cost()
                share = (free / (FIRST_SHARE * self.workers)).quantize(MITE, ROUND_DOWN)
                cost = min(free, max(FEW * self._worst, share))
            grant = Lease(calls, cost)
            self._open[part] = grant, LeaseUse(), 0
            return grant

    def report(self, part: str, use: LeaseUse) -> Lease | None:
        """A worker says how it stands; its new leave, None where it stays as it is."""
        with self._lock:
            grant, before, _ = self._open[part]
            self._worst = max(self._worst, use.worst)
            calls, cost = grant.calls, grant.cost
            if calls is not None:
                aim = max(FEW, 2 * (use.sent - before.sent))
                calls += max(0, min(self._free_calls(), aim - (calls - use.sent - use.in_flight)))
            if cost is not None:
                aim_cost = max(FEW * use.worst, 2 * (use.cost - before.cost), use.wants)
                cost += max(
                    Decimal(0), min(self._free_cost(), aim_cost - (cost - use.cost - use.reserved))
                )
            more = replace(grant, calls=calls, cost=cost)
            if more == grant and not grant.final and self._hopeless(part, use):
                more = replace(grant, final=True, reason=self.stop_reason())
            if more != grant:
                use = replace(use, starved=False)
            self._open[part] = more, use, max(0, use.sent - before.sent)
            return None if more == grant else more

    def _hopeless(self, part: str, use: LeaseUse) -> bool:
        """Whether this worker and all others wait for leave that nobody can give back but by
        ending.
        """
        others = [(grant, one) for name, (grant, one, _) in self._open.items() if name != part]
        return (
            use.starved
            and not use.in_flight
            and not any(grant.final for grant, _ in others)
            and all(one.starved and not one.in_flight for _, one in others)
        )

    def died(self, part: str, concurrency: int) -> tuple[Lease, Ledger]:
        """A worker died: its leave, and what it has spent at most, for a worker that finds no log
        of it.

        What it had leave for and has not reported may have been spent; where nothing is capped,
        what was in flight and what has gone out since it last reported.
        """
        with self._lock:
            grant, use, lately = self._open[part]
            calls = concurrency + 2 * lately if grant.calls is None else grant.calls - use.sent
            cost = calls * self._worst if grant.cost is None else grant.cost - use.cost
            return grant, _uncertain(use.ledger, calls, cost)

    def again(self, part: str, use: LeaseUse) -> Lease:
        """A worker gave its part up before the end, having made this of its leave: the leave for
        the next one.
        """
        with self._lock:
            grant, _, _ = self._open[part]
            self._open[part] = grant, use, 0
            return grant

    def close(self, part: str, ledger: Ledger, sent: int) -> None:
        """A part ended: what is left of its leave comes back."""
        with self._lock:
            del self._open[part]
            self._closed = add_ledgers(self._closed, ledger)
            self._sent += sent

    def _free_calls(self) -> int:
        assert self._max_calls is not None
        return max(
            0,
            self._max_calls
            - self._sent
            - sum(grant.calls or 0 for grant, _, _ in self._open.values()),
        )

    def _free_cost(self) -> Decimal:
        assert self._max_cost is not None
        spent = exact(self._closed.confirmed.cost) + exact(self._closed.uncertain_cost)
        return max(
            Decimal(0),
            self._max_cost
            - spent
            - sum(grant.cost or Decimal(0) for grant, _, _ in self._open.values()),
        )

    def stop_reason(self) -> str:
        """Which cap was reached, and at what."""
        if (
            self._max_calls is not None
            and not self._free_calls()
            and all(
                grant.calls is not None and use.sent >= grant.calls
                for grant, use, _ in self._open.values()
            )
        ):
            return f"the cap of {self._max_calls:,} calls was reached"
        now = self.ledger()
        spent = f"${now.confirmed.cost or 0:.4f} confirmed"
        if now.uncertain_cost:
            spent += f" and up to ${now.uncertain_cost:.4f} for calls without a receipt"
        return (
            "the worst case of the next call would pass the cap of"
            f" ${float(self._max_cost or 0):.2f} ({spent})"
        )

    def ledger(self) -> Ledger:
        """What judging cost so far, as the workers last said it."""
        total, open_ = self._state()
        for _, use in open_:
            total = add_ledgers(total, use.ledger)
        return total

    def _state(self) -> tuple[Ledger, list[tuple[Lease, LeaseUse]]]:
        with self._lock:
            return self._closed, [(grant, use) for grant, use, _ in self._open.values()]

    def snapshot(self) -> Ledger:
        """The ledger as it must be on disk while workers work: all that they have leave for, or
        have in flight, may have been billed when everything dies.
        """
        total, open_ = self._state()
        for grant, use in open_:
            calls = use.in_flight if grant.calls is None else grant.calls - use.sent
            cost = use.reserved if grant.cost is None else grant.cost - use.cost
            total = add_ledgers(total, _uncertain(use.ledger, calls, cost))
        return total


def add_ledgers(a: Ledger, b: Ledger) -> Ledger:
    """The sum of two ledgers, exact as decimals. A cost is None once one's is not known."""
    known = [one.confirmed.cost for one in (a, b) if one.confirmed.calls]
    cost = None if not known or None in known else float(sum(map(exact, known), Decimal(0)))
    return Ledger(
        replace(a.confirmed + b.confirmed, cost=cost),
        a.uncertain_calls + b.uncertain_calls,
        float(exact(a.uncertain_cost) + exact(b.uncertain_cost)),
        a.cached_judgments + b.cached_judgments,
        a.retries + b.retries,
        a.unbilled_calls + b.unbilled_calls,
        float(exact(a.saved_cost) + exact(b.saved_cost)),
    )


def _uncertain(ledger: Ledger, calls: int, cost: Decimal) -> Ledger:
    return replace(
        ledger,
        uncertain_calls=ledger.uncertain_calls + calls,
        uncertain_cost=float(exact(ledger.uncertain_cost) + cost),
    )
