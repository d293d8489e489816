"""The budget of a run: its caps on calls and dollars, and the ledger of what was spent.

The worst case of a call is reserved before it is sent, so that what is spent never passes a cap.
What is uncertain (calls that may have been billed and gave no answer) stays counted against it: at
its worst case, or, for calls that the end of the process cut off, at an estimate.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from decimal import Decimal

from ragassay.core import Call, ChatCall, Ledger, Spend
from ragassay.core.counting import count
from ragassay.dispatch.account import Account, exact
from ragassay.dispatch.call_costs import CallCosts, Rate
from ragassay.dispatch.worst_case import (
    CallSize,
    OutputLimit,
    PriceOf,
    answer_budget,
    size_in_bytes,
    size_of,
    worst_case_tokens,
)


class Budget(ABC):
    """The caps of one run and its ledger, whether calls are counted here or by workers with leases.

    max_calls counts requests that were sent, retries too; max_cost is in US dollars; None = no cap.
    """

    def __init__(self, max_calls: int | None, max_cost: float | None) -> None:
        self._max_calls = max_calls
        self._max_cost = None if max_cost is None else exact(max_cost)

    @property
    def capped(self) -> bool:
        """Whether there is a cap to keep, also across a kill."""
        return self._max_calls is not None or self._max_cost is not None

    @abstractmethod
    def ledger(self) -> Ledger:
        """What judging cost so far."""

    @abstractmethod
    def snapshot(self) -> Ledger:
        """The ledger as it must be on disk while calls are in flight: each may have been billed
        when the process dies.
        """

    @abstractmethod
    def stop_reason(self) -> str:
        """Which cap was reached, and at what."""

    @property
    def refusal(self) -> str:
        """Why a call was not made, without the amounts, so that it reads the same for every row."""
        if self._max_cost is None:
            return f"the cap of {count(self._max_calls or 0, 'call')} was reached"
        return f"the cap of ${_dollars(self._max_cost)} leaves no room for another call"

    def _reason(
        self, out_of_calls: bool, confirmed: Decimal, uncertain: Decimal, refused: Decimal
    ) -> str:
        """refused: what a call may cost at most that was not made; 0 where that is not known."""
        if out_of_calls:
            return f"the cap of {count(self._max_calls or 0, 'call')} was reached"
        spent = f"${float(confirmed):.6g} confirmed"
        if uncertain:
            spent += f" and ${float(uncertain):.6g} held for calls without a bill"
        most = f"which may cost up to ${float(refused):.6g}" if refused else "at its worst case"
        return f"the next call, {most}, would pass the cap of ${_dollars(self._max_cost)} ({spent})"


class LocalBudget(Budget):
    """A budget whose calls are sent by this process. Used from one event loop only.

    `base` is what the run had spent before it was resumed. output_limit: the most output tokens of
    a call, with room for thinking. costs: what the run's calls took in an earlier part of it.
    batched: calls wait in batches for hours, so that none waits for what another one shows.
    """

    def __init__(
        self,
        price: PriceOf,
        *,
        max_calls: int | None = None,
        max_cost: float | None = None,
        base: Ledger | None = None,
        output_limit: OutputLimit = answer_budget,
        costs: CallCosts | None = None,
        batched: bool = False,
    ) -> None:
        super().__init__(max_calls, max_cost)
        self._batched = batched
        self._price = price
        self._asked_limit = output_limit
        self.costs = costs or CallCosts()
        self.costs.rate = Rate.of(price)
        base = base or Ledger()
        bill = base.confirmed
        if bill.calls and bill.cost is None:  # its price was not known then: perhaps it is now
            cost = price(bill.input_tokens, bill.output_tokens)
            base = replace(base, confirmed=replace(bill, cost=cost))
        self._account = Account(base)
        self._reserved = Decimal(0)
        self._in_flight = 0
        self._further = 0
        self._refused = Decimal(0)
        self.sent = base.confirmed.calls + base.uncertain_calls + base.refused_calls

    @property
    def cached(self) -> int:
        """Judgments that were read from the store or from memory instead of being asked."""
        return self._account.cached

    @cached.setter
    def cached(self, count: int) -> None:
        self._account.cached = count

    @property
    def retries(self) -> int:
        """Calls that were sent again."""
        return self._account.retries

    @retries.setter
    def retries(self, count: int) -> None:
        self._account.retries = count

    def save(self, spend: Spend) -> None:
        """A judgment was read from the store: what it cost when it was bought is saved."""
        if spend.cost:
            self._account.saved += exact(spend.cost)

    def _output_limit(self, call: ChatCall) -> int:
        """The limit that is asked for; where a reply was longer, a server does not keep to it."""
        return max(self._asked_limit(call), self.costs.longest(call.model))

    def worst_case(self, call: Call) -> Decimal | None:
        """US dollars that a call costs at most; None when the price is not known."""
        if self.costs.rate is None:
            return None
        return self._cost(*worst_case_tokens(call, self._output_limit))

    def worst_case_of(self, size: CallSize) -> Decimal | None:
        """The same for a call of this size."""
        return self._cost(size.input_bound, size.answer_budget + size.thinking)

    def _cost(self, input_tokens: int, output_tokens: int) -> Decimal | None:
        # A price is known for any number of tokens, or for none.
        cost = None if self.costs.rate is None else self._price(input_tokens, output_tokens)
        return None if cost is None else exact(cost)

    def size_of(self, call: ChatCall) -> CallSize:
        """The size of a call, as far as it is known before it is sent."""
        return size_of(call, self._output_limit)

    def most_of_reply(self, call: ChatCall, text: str) -> Decimal | None:
        """US dollars that a call has cost at most whose reply is this text, without usage; None
        when the price is not known.

        A token of the text covers at least one byte of it. Thinking that the server does not show
        is bounded by the room that the model has for it.
        """
        if self.costs.rate is None:
            return None
        size = self.size_of(call)
        written = min(size_in_bytes(text), size.answer_budget)
        return self._cost(size.input_bound, written + size.thinking)

    def reserve(self, call: Call) -> Decimal | None:
        """Reserve a call's worst case, in US dollars; None when a cap does not allow it."""
        if not isinstance(call, ChatCall):
            return Decimal(0)
        if self._out_of_calls:
            return None
        worst = self.worst_case(call) or Decimal(0)
        if self._max_cost is not None:
            at_once = None if self._batched else self.costs.most_at_once(call.model)
            if self._in_flight and at_once is not None and self._in_flight >= at_once:
                return None  # until one of those in flight has shown what a reply costs
            if self._spent + self._reserved + worst > self._max_cost:
                self._refused = worst
                return None
        self._reserved += worst
        self._in_flight += 1
        return worst

    def take_request(self) -> bool:
        """A call in flight needs one more request, to learn what the server refuses: whether the
        cap on calls leaves room for it. `settle` is told how many a call took.
        """
        if self._out_of_calls:
            return False
        self._further += 1
        return True

    def settle(
        self,
        call: Call,
        reserved: Decimal,
        spend: Spend | None,
        *,
        text: str | None = None,
        maybe_billed: bool = False,
        cut_off: bool = False,
        status: int | None = None,
        further: int = 0,
    ) -> None:
        """A reserved call ended: with its receipt and its text, or without one. Then maybe_billed
        says if it may cost something, cut_off that nothing is wrong with it but that the run has
        stopped, and status what the server answered. further: requests that were taken for it
        beside the first one (`take_request`).
        """
        if not isinstance(call, ChatCall):
            return
        self._reserved -= reserved
        self._in_flight -= 1
        self._further -= further
        if spend is not None:
            self.sent += _requests(spend)
            most = self._most_without_bill(call, spend, text)
            if spend.calls:
                self.costs.note_reply(call.model, self._asked_limit(call), spend)
            self._account.add_answer(spend, most)
            return
        self.sent += 1 + further
        self._account.refused_calls += further
        if cut_off:
            self._account.add_cut_off(1, self.estimate(self.size_of(call), reserved))
        elif maybe_billed:
            # A page with an error seldom stands for a reply that the model wrote in full.
            is_error_page = status is not None and status >= 500
            size = self.size_of(call)
            held = self.estimate(size, reserved) if is_error_page else reserved
            self._account.add_lost_call(held)
        elif status is not None:
            self._account.refused_calls += 1

    def estimate(self, size: CallSize, reserved: Decimal) -> Decimal:
        """US dollars that a call of this size without a bill has cost if it was answered."""
        return self.costs.at_most(size, reserved)

    def release(self, call: Call, reserved: Decimal) -> None:
        """Give back a reservation for a call that was not sent after all."""
        if isinstance(call, ChatCall):
            self._reserved -= reserved
            self._in_flight -= 1

    def withdraw(self, spend: Spend, most: Decimal | None) -> None:
        """Take back a receipt that the ledger holds, since its answer is about to be settled once
        more. most: what it counts as where it has no bill.
        """
        self.sent -= _requests(spend)
        self._account.take_back_answer(spend, most)

    def add_unclaimed(self, spend: Spend) -> None:
        """Count what was bought for this run and is not needed any more."""
        if spend.calls:
            self._account.add_answer(spend, None)
            self.sent += spend.calls

    @property
    def waiting_helps(self) -> bool:
        """Whether calls in flight may give back some of what is reserved for them, so that a call
        that was refused may be allowed later.
        """
        return self._max_cost is not None and self._in_flight > 0 and not self._out_of_calls

    def stop_reason(self) -> str:
        account = self._account
        return self._reason(self._out_of_calls, account.cost, account.uncertain, self._refused)

    def ledger(self) -> Ledger:
        return self._account.ledger()

    def snapshot(self) -> Ledger:
        return self._account.ledger(self._in_flight, self._reserved, cut_off=True)

    @property
    def _spent(self) -> Decimal:
        return self._account.cost + self._account.uncertain

    @property
    def _out_of_calls(self) -> bool:
        return self._max_calls is not None and self._on_the_way >= self._max_calls

    @property
    def _on_the_way(self) -> int:
        """Requests that were sent, or are about to be."""
        return self.sent + self._in_flight + self._further

    def _most_without_bill(self, call: ChatCall, spend: Spend, text: str | None) -> Decimal | None:
        """What a call whose receipt names no cost may have cost; None where it is not needed, or
        not known.
        """
        if spend.cost is not None:
            return None
        return self.worst_case(call) if text is None else self.most_of_reply(call, text)


def _requests(spend: Spend) -> int:
    """How many requests an answer took: none where it says that it cost nothing, as one that
    somebody else has paid.
    """
    return 0 if spend.calls == 0 and spend.cost == 0 else max(1, spend.calls)


def _dollars(amount: Decimal | None) -> str:
    """To the cent, or to the last digit that it was given with."""
    value = float(amount or 0)
    return f"{value:.2f}" if round(value, 2) == value else f"{value:.10g}"
