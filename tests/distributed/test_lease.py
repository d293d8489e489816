"""One cap over many workers: leases are granted and given back, workers die, and the cap holds."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import ChatCall, Ledger, Message, Spend
from ragassay.dispatch import add_ledgers
from ragassay.distributed.lease import LeasedBudget, SharedBudget
from support.examples import examples


def call() -> ChatCall:
    return ChatCall(messages=(Message("user", "x" * 84),), model="m", max_tokens=10)


def price(given: int, written: int) -> float:
    """A call as above is 100 tokens in and 10 out at most: $0.0012."""
    return (10 * given + 20 * written) / 1e6


WORST = Decimal("0.0012")


class WorkerStub:
    """A worker without a process: sends what its lease allows, and reports."""

    def __init__(self, shared: SharedBudget, part: str) -> None:
        self.shared, self.part = shared, part
        self.budget = LeasedBudget(price, shared.open(part), Ledger())
        self.flying: list[Decimal] = []

    def send(self) -> None:
        reserved = self.budget.reserve(call())
        if reserved is not None:
            self.flying.append(reserved)

    def land(self, share: float) -> None:
        """The oldest call is answered, for a share of its worst case, or not at all (share 0)."""
        if self.flying:
            reserved = self.flying.pop(0)
            spend = Spend(1, 50, 5, 0, float(WORST * Decimal(str(share)))) if share else None
            self.budget.settle(call(), reserved, spend, maybe_billed=not share)

    def report(self) -> None:
        if (more := self.shared.report(self.part, self.budget.use())) is not None:
            self.budget.extend(more)

    def end(self) -> None:
        while self.flying:
            self.land(1.0)
        use = self.budget.use()
        self.shared.close(self.part, use.ledger, use.sent)


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    calls=st.none() | st.integers(0, 60),
    dollars=st.none() | st.integers(0, 60),
)
def test_what_is_sent_never_passes_the_cap_whoever_dies(
    seed: int, calls: int | None, dollars: int | None
) -> None:
    chance = random.Random(seed)
    cap = None if dollars is None else float(dollars * WORST)
    shared = SharedBudget(max_calls=calls, max_cost=cap, base=Ledger())
    shared.workers = 3
    workers = [WorkerStub(shared, f"part {n}") for n in range(3)]
    sent, paid, number = 0, Decimal(0), 3
    for _ in range(300):
        worker = chance.choice(workers)
        step = chance.random()
        if step < 0.5:
            before = len(worker.flying)
            worker.send()
            sent += len(worker.flying) - before
            paid += WORST * (
                len(worker.flying) - before
            )  # the server may bill the worst case, answered or not
        elif step < 0.75:
            share = chance.choice([0.0, 0.25, 1.0])
            if worker.flying and share:
                paid -= WORST * (1 - Decimal(str(share)))
            worker.land(share)
        elif step < 0.95:
            worker.report()
        else:
            if step < 0.97:
                _, spent = shared.worker_died(worker.part, 4)
                shared.close(worker.part, spent, spent.confirmed.calls + spent.uncertain_calls)
            else:
                paid += sum(worker.flying, Decimal(0)) - WORST * len(worker.flying)
                worker.end()
            workers[workers.index(worker)] = WorkerStub(shared, f"part {number}")
            number += 1
        snapshot = shared.snapshot()
        if calls is not None:
            assert sent <= calls
            assert sent <= snapshot.confirmed.calls + snapshot.uncertain_calls
        if cap is not None:
            known = Decimal(str(snapshot.confirmed.cost or 0)) + Decimal(
                str(snapshot.uncertain_cost)
            )
            assert paid <= known <= Decimal(str(cap))


@pytest.mark.parametrize(
    "cap", [{"max_calls": 25, "max_cost": None}, {"max_calls": None, "max_cost": 25 * float(WORST)}]
)
def test_the_whole_cap_is_used_before_the_last_worker_gives_up(
    cap: dict[str, float | None],
) -> None:
    shared = SharedBudget(**cap, base=Ledger())  # type: ignore[arg-type]
    shared.workers = 2
    workers = [WorkerStub(shared, "a"), WorkerStub(shared, "b")]
    sent = 0
    while workers:
        for worker in list(workers):
            for _ in range(3):
                before = worker.budget.sent
                worker.send()
                worker.land(1.0)
                sent += worker.budget.sent - before
            worker.report()
            if not worker.budget.waiting_helps:
                worker.end()
                workers.remove(worker)
    assert sent == 25
    assert "cap of" in shared.stop_reason()
    assert shared.ledger().confirmed.calls == 25


def test_without_a_cap_nobody_waits_for_a_lease() -> None:
    shared = SharedBudget(max_calls=None, max_cost=None, base=Ledger())
    worker = WorkerStub(shared, "a")
    for _ in range(100):
        worker.send()
    assert len(worker.flying) == 100
    worker.report()
    assert shared.snapshot().uncertain_calls == 100
    worker.end()
    assert shared.ledger() == shared.snapshot()


def test_ledgers_add_up_exactly_and_an_unknown_price_stays_unknown() -> None:
    tenth = Ledger(Spend(1, cost=0.1), 1, 0.1, 1, 1, 1, 0.1)
    total = add_ledgers(add_ledgers(tenth, tenth), tenth)
    assert total == Ledger(Spend(3, cost=0.3), 3, 0.3, 3, 3, 3, 0.3)
    assert add_ledgers(tenth, Ledger()).confirmed.cost == 0.1
    assert add_ledgers(tenth, Ledger(Spend(1))).confirmed.cost is None
