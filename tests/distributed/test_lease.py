"""One cap over many workers: leave is given and taken back, workers die, and the cap holds."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragassay.core import ChatCall, Ledger, Message, Spend
from ragassay.distributed.lease import LeasedBudget, SharedBudget, add_ledgers


def call() -> ChatCall:
    return ChatCall(messages=(Message("user", "x" * 84),), model="m", max_tokens=10)


def price(given: int, written: int) -> float:
    """A call as above is 100 tokens in and 10 out at most: $0.0012."""
    return (10 * given + 20 * written) / 1e6


WORST = Decimal("0.0012")


class WorkerStub:
    """A worker without a process: sends what it has leave for, and reports."""

    def __init__(self, purse: SharedBudget, part: str) -> None:
        self.purse, self.part = purse, part
        self.budget = LeasedBudget(price, purse.open(part), Ledger())
        self.flying: list[Decimal] = []

    def send(self) -> None:
        reserved = self.budget.reserve(call())
        if reserved is not None:
            self.flying.append(reserved)

    def land(self, share: float) -> None:
        """The oldest call is answered, for a share of its worst case; or gets no answer (share 0)."""
        if self.flying:
            reserved = self.flying.pop(0)
            spend = Spend(1, 50, 5, 0, float(WORST * Decimal(str(share)))) if share else None
            self.budget.settle(call(), reserved, spend, maybe_billed=not share)

    def report(self) -> None:
        if (more := self.purse.report(self.part, self.budget.use())) is not None:
            self.budget.allow(more)

    def end(self) -> None:
        while self.flying:
            self.land(1.0)
        use = self.budget.use()
        self.purse.close(self.part, use.ledger, use.sent)


@settings(max_examples=60, deadline=None)
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
    purse = SharedBudget(max_calls=calls, max_cost=cap, base=Ledger())
    purse.workers = 3
    hands = [WorkerStub(purse, f"part {n}") for n in range(3)]
    sent, paid, number = 0, Decimal(0), 3
    for _ in range(300):
        hand = chance.choice(hands)
        step = chance.random()
        if step < 0.5:
            before = len(hand.flying)
            hand.send()
            sent += len(hand.flying) - before
            paid += WORST * (
                len(hand.flying) - before
            )  # the server may bill the worst case, answered or not
        elif step < 0.75:
            share = chance.choice([0.0, 0.25, 1.0])
            if hand.flying and share:
                paid -= WORST * (1 - Decimal(str(share)))
            hand.land(share)
        elif step < 0.95:
            hand.report()
        else:
            if step < 0.97:
                _, spent = purse.died(hand.part, 4)
                purse.close(hand.part, spent, spent.confirmed.calls + spent.uncertain_calls)
            else:
                paid += sum(hand.flying, Decimal(0)) - WORST * len(hand.flying)
                hand.end()
            hands[hands.index(hand)] = WorkerStub(purse, f"part {number}")
            number += 1
        snapshot = purse.snapshot()
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
    purse = SharedBudget(**cap, base=Ledger())  # type: ignore[arg-type]
    purse.workers = 2
    hands = [WorkerStub(purse, "a"), WorkerStub(purse, "b")]
    sent = 0
    while hands:
        for hand in list(hands):
            for _ in range(3):
                before = hand.budget.sent
                hand.send()
                hand.land(1.0)
                sent += hand.budget.sent - before
            hand.report()
            if not hand.budget.may_free:
                hand.end()
                hands.remove(hand)
    assert sent == 25
    assert "cap of" in purse.stop_reason()
    assert purse.ledger().confirmed.calls == 25


def test_without_a_cap_nobody_waits_for_leave() -> None:
    purse = SharedBudget(max_calls=None, max_cost=None, base=Ledger())
    hand = WorkerStub(purse, "a")
    for _ in range(100):
        hand.send()
    assert len(hand.flying) == 100
    hand.report()
    assert purse.snapshot().uncertain_calls == 100
    hand.end()
    assert purse.ledger() == purse.snapshot()


def test_ledgers_add_up_exactly_and_an_unknown_price_stays_unknown() -> None:
    tenth = Ledger(Spend(1, cost=0.1), 1, 0.1, 1, 1, 1, 0.1)
    total = add_ledgers(add_ledgers(tenth, tenth), tenth)
    assert total == Ledger(Spend(3, cost=0.3), 3, 0.3, 3, 3, 3, 0.3)
    assert add_ledgers(tenth, Ledger()).confirmed.cost == 0.1
    assert add_ledgers(tenth, Ledger(Spend(1))).confirmed.cost is None
