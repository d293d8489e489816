"""Budgets of sliding windows."""

from __future__ import annotations

import pytest

from ragassay.core import SetupError
from ragassay.store.watches import WatchBatch
from ragassay.watch.budgets import Budget, read_budget, room, spent

HOUR, DAY = 3_600.0, 86_400.0


def batch(created: float, ended: float | None, *, cost: float = 0.0, calls: int = 0) -> WatchBatch:
    return WatchBatch(1, created, ended, 10, calls, cost, "run", {})


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("5/day", Budget(5, "dollars", "day")),
        ("$0.50/hour", Budget(0.5, "dollars", "hour")),
        ("500 calls/hour", Budget(500, "calls", "hour")),
        ("1 call per day", Budget(1, "calls", "day")),
        ("100rows/minute", Budget(100, "rows", "minute")),
        ("0/day", Budget(0, "dollars", "day")),
    ],
)
def test_a_budget_is_read(text: str, budget: Budget) -> None:
    assert read_budget(text) == budget
    assert read_budget(str(budget)) == budget


@pytest.mark.parametrize(
    "text", ["", "5", "-5/day", "5/week", "five/day", "5 euros/day", "1e400/day"]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="E1301"):
        read_budget(text)


def test_what_was_spent_leaves_the_window_when_it_ended_long_enough_ago() -> None:
    hourly = Budget(5, "dollars", "hour")
    told = [batch(0, 10, cost=1.0), batch(20, 3_000, cost=2.0)]
    assert spent(hourly, told, 3_600) == 3.0
    assert spent(hourly, told, 3_611) == 2.0
    assert spent(hourly, told, 6_601) == 0.0


def test_what_goes_on_and_what_lies_ahead_counts_as_spent_now() -> None:
    daily = Budget(5, "dollars", "day")
    assert spent(daily, [batch(0, None, cost=1.0)], 10 * DAY) == 1.0
    # The clock was set back: the batch lies three hours ahead.
    assert spent(daily, [batch(3 * HOUR, 3 * HOUR + 9, cost=1.0)], 0) == 1.0


def test_the_smallest_room_of_all_budgets_counts() -> None:
    budgets = [Budget(5, "dollars", "day"), Budget(1, "dollars", "hour"), Budget(9, "calls", "day")]
    left = room(budgets, [batch(0, 10, cost=0.75, calls=4)], 100)
    assert (left.dollars, left.calls, left.rows, left.full) == (0.25, 5, None, ())
    over = room(budgets, [batch(0, 10, cost=1.0, calls=9)], 100)
    assert [str(budget) for budget in over.full] == ["$1/hour", "9 calls/day"]
