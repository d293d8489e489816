"""The budget that several workers share: each has a lease for some calls and dollars at a time.

The shared budget is with the driver. A lease counts as spent until the worker reports what it used
of it, and is on disk before the worker has it: so the cap holds whatever dies. A worker that has
used up its lease waits for a larger one. When nobody has any left, the workers end one after the
other: what one of them leaves over may be enough for another.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from decimal import ROUND_DOWN, Decimal

from ragassay.core import Call, ChatCall, Ledger
from ragassay.dispatch import (
    Account,
    Budget,
    CallCosts,
    LocalBudget,
    OutputLimit,
    PriceOf,
    add_ledgers,
    answer_budget,
    exact,
)

LEAST_CALLS = 8
"""Calls for which a lease has room at least, where there is as much. A worker that makes more calls
between two reports gets more.
"""

LEAST_DOLLARS = Decimal("1e-9")
"""Dollars to which a share is rounded, so that sums of shares stay exact where they are kept as
floats.
"""

FIRST_SHARE = 16
"""Before the price of a call is known, all workers together get one part in so many of what there
is.
"""


@dataclass(frozen=True, slots=True)
class Lease:
    """What a worker may spend on its part in all: calls, and US dollars; None = not limited. final:
    the lease will not grow any more, for `reason`.
    """

    calls: int | None = None
    cost: Decimal | None = None
    final: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class LeaseUse:
    """What a worker has used of its lease. sent: requests, those too that cost nothing; reserved:
    the worst case of the calls in flight, in dollars. starved: a call waits for a larger lease, and
    its worst case is `wants` dollars; worst: the largest worst case of a call so far.
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
    """The budget of a worker's part: its caps are those of its lease, and a call that they do not
    allow waits for a larger one.
    """

    def __init__(
        self,
        price: PriceOf,
        lease: Lease,
        base: Ledger,
        output_limit: OutputLimit = answer_budget,
        costs: CallCosts | None = None,
    ) -> None:
        super().__init__(price, base=base, output_limit=output_limit, costs=costs)
        self._starved = False
        self._wants = Decimal(0)
        self._worst = Decimal(0)
        self.extend(lease)

    def extend(self, lease: Lease) -> None:
        """Take a new lease in place of the one before."""
        self._lease = lease
        self._max_calls = lease.calls
        self._max_cost = lease.cost

    def reserve(self, call: Call) -> Decimal | None:
        reserved = super().reserve(call)
        if isinstance(call, ChatCall):
            self._starved = reserved is None
            if reserved is None:
                self._wants = self.worst_case(call) or Decimal(0)
            else:
                self._wants = reserved
            self._worst = max(self._worst, self._wants)
        return reserved

    @property
    def waiting_helps(self) -> bool:
        return not self._lease.final or super().waiting_helps

    def stop_reason(self) -> str:
        return self._lease.reason

    @property
    def refusal(self) -> str:
        return "a cap of the run leaves no room for another call"

    def use(self) -> LeaseUse:
        """What was used of the lease so far."""
        return LeaseUse(
            self.sent,
            self._in_flight,
            self._reserved,
            self.ledger(),
            self._starved,
            self._wants,
            self._worst,
        )


@dataclass(frozen=True, slots=True)
class _OpenLease:
    """A lease that a worker has. use: what it last reported; recent_calls: how many went out
    between its last two reports.
    """

    lease: Lease
    use: LeaseUse = field(default_factory=LeaseUse)
    recent_calls: int = 0

    def unreported(self) -> tuple[int, Decimal]:
        """The calls and dollars that may have been spent since the last report."""
        use, lease = self.use, self.lease
        calls = use.in_flight if lease.calls is None else lease.calls - use.sent
        cost = use.reserved if lease.cost is None else lease.cost - use.cost
        return calls, cost


class SharedBudget(Budget):
    """The caps of a run over its workers, and its ledger. Thread-safe: the ledger is written by
    other threads.
    """

    workers = 1

    def __init__(self, *, max_calls: int | None, max_cost: float | None, base: Ledger) -> None:
        super().__init__(max_calls, max_cost)
        self._closed = base  # what was spent before, and on the parts that have ended
        self._sent = base.confirmed.calls + base.uncertain_calls + base.refused_calls
        self._open: dict[str, _OpenLease] = {}
        self._worst = Decimal(0)
        self._lock = threading.RLock()

    def open(self, part: str) -> Lease:
        """The first lease for a part."""
        with self._lock:
            calls = cost = None
            if self._max_calls is not None:
                calls = min(LEAST_CALLS, self._free_calls())
            if self._max_cost is not None:
                free = self._free_cost()
                share = (free / (FIRST_SHARE * self.workers)).quantize(LEAST_DOLLARS, ROUND_DOWN)
                cost = min(free, max(LEAST_CALLS * self._worst, share))
            lease = Lease(calls, cost)
            self._open[part] = _OpenLease(lease)
            return lease

    def report(self, part: str, use: LeaseUse) -> Lease | None:
        """Take a worker's report of what it used; its new lease, None where the lease stays."""
        with self._lock:
            lease, before = self._open[part].lease, self._open[part].use
            self._worst = max(self._worst, use.worst)
            larger = self._grown(lease, before, use)
            if larger == lease and not lease.final and self._nothing_can_come_back(part, use):
                larger = replace(lease, final=True, reason=self.stop_reason())
            # It will try again with the new lease: until its next report nobody may count on it as
            # one of those that wait.
            if larger != lease:
                use = replace(use, starved=False)
            self._open[part] = _OpenLease(larger, use, max(0, use.sent - before.sent))
            return None if larger == lease else larger

    def _grown(self, lease: Lease, before: LeaseUse, use: LeaseUse) -> Lease:
        """The lease, with room for twice what was used since the last report, if there is some."""
        calls, cost = lease.calls, lease.cost
        if calls is not None:
            aim = max(LEAST_CALLS, 2 * (use.sent - before.sent))
            left = calls - use.sent - use.in_flight
            calls += max(0, min(self._free_calls(), aim - left))
        if cost is not None:
            aim_cost = max(LEAST_CALLS * use.worst, 2 * (use.cost - before.cost), use.wants)
            left_cost = cost - use.cost - use.reserved
            cost += max(Decimal(0), min(self._free_cost(), aim_cost - left_cost))
        return replace(lease, calls=calls, cost=cost)

    def _nothing_can_come_back(self, part: str, use: LeaseUse) -> bool:
        """Whether all workers wait and none has a call in flight: then room comes back only when
        one of them ends. While one is ending already, the others wait for what it leaves.
        """
        if not use.starved or use.in_flight:
            return False
        others = [each for name, each in self._open.items() if name != part]
        if any(each.lease.final for each in others):
            return False
        return all(each.use.starved and not each.use.in_flight for each in others)

    def worker_died(self, part: str, concurrency: int) -> tuple[Lease, Ledger]:
        """A worker died: its lease, and the most that it may have spent, for a worker that finds no
        log of it.

        All of its lease that it has not reported may have been spent. Where nothing is capped, that
        is estimated: the calls that it may have in flight, and twice those between two reports.
        """
        with self._lock:
            lease, use = self._open[part].lease, self._open[part].use
            if lease.calls is None:
                calls = concurrency + 2 * self._open[part].recent_calls
            else:
                calls = lease.calls - use.sent
            cost = calls * self._worst if lease.cost is None else lease.cost - use.cost
            return lease, _with_uncertain(use.ledger, calls, cost)

    def reopen(self, part: str, use: LeaseUse) -> Lease:
        """A worker gave its part up before the end, after this use of its lease: the lease for the
        next worker.
        """
        with self._lock:
            lease = self._open[part].lease
            self._open[part] = _OpenLease(lease, use)
            return lease

    def close(self, part: str, ledger: Ledger, sent: int) -> None:
        """A part ended: what is left of its lease comes back."""
        with self._lock:
            del self._open[part]
            self._closed = add_ledgers(self._closed, ledger)
            self._sent += sent

    def _free_calls(self) -> int:
        assert self._max_calls is not None
        leased = sum(each.lease.calls or 0 for each in self._open.values())
        return max(0, self._max_calls - self._sent - leased)

    def _free_cost(self) -> Decimal:
        assert self._max_cost is not None
        spent = exact(self._closed.confirmed.cost) + exact(self._closed.uncertain_cost)
        leased = sum((each.lease.cost or Decimal(0) for each in self._open.values()), Decimal(0))
        return max(Decimal(0), self._max_cost - spent - leased)

    def stop_reason(self) -> str:
        with self._lock:
            total = self.ledger()
            return self._reason(
                self._out_of_calls(),
                exact(total.confirmed.cost),
                exact(total.uncertain_cost),
                self._worst,
            )

    def _out_of_calls(self) -> bool:
        if self._max_calls is None or self._free_calls():
            return False
        for each in self._open.values():
            if each.lease.calls is None or each.use.sent < each.lease.calls:
                return False
        return True

    def ledger(self) -> Ledger:
        """What judging cost so far, as the workers last reported it."""
        closed, leases = self._state()
        return add_ledgers(closed, *(each.use.ledger for each in leases))

    def snapshot(self) -> Ledger:
        """The ledger as it must be on disk while workers work: all that their leases allow, or that
        they have in flight, may have been billed when everything dies.
        """
        closed, leases = self._state()
        account = Account(closed)
        open_calls = 0
        open_cost = Decimal(0)
        for each in leases:
            account.add(each.use.ledger)
            calls, cost = each.unreported()
            open_calls += calls
            open_cost += cost
        return account.ledger(open_calls, open_cost)

    def _state(self) -> tuple[Ledger, list[_OpenLease]]:
        with self._lock:
            return self._closed, list(self._open.values())


def _with_uncertain(ledger: Ledger, calls: int, cost: Decimal) -> Ledger:
    """The ledger, with calls of this cost that may have been billed besides."""
    return Account(ledger).ledger(calls, cost)
