"""How much may be spent, and what was: the worst case of a call is reserved before it is sent.

Money is kept in Decimal, in three columns: confirmed (answers with a bill), uncertain (the worst
case of calls that may have been billed and gave none) and saved (what reused judgments cost when
they were bought). What is uncertain stays counted against the cap, so that what is spent never
passes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import orjson

from ragassay.core import Call, ChatCall, Ledger, Spend

PriceOf = Callable[[int, int], float | None]
"""(input tokens, output tokens) -> US dollars, None when the price is not known."""

TOKENS_PER_MESSAGE = 16
"""Room for what a chat template adds around a message."""


def worst_case_tokens(call: Call) -> tuple[int, int]:
    """Upper bounds on the input and output tokens of a call.

    A token of a byte-level vocabulary covers at least one byte, so bytes bound the input;
    max_tokens bounds the output.
    """
    if not isinstance(call, ChatCall):
        return 0, 0
    size = sum(_bytes(m.content) + TOKENS_PER_MESSAGE for m in call.messages)
    if call.schema is not None:
        size += len(schema_text(call).encode())
    return size, call.max_tokens


def schema_text(call: ChatCall) -> str:
    """The JSON Schema of the reply as it is sent, "" where there is none."""
    return "" if call.schema is None else orjson.dumps(call.schema, default=dict).decode()


def worst_case(price: PriceOf, call: Call) -> Decimal | None:
    """US dollars that a call costs at most; None when the price is not known."""
    if price(1000, 1000) is None:  # a price is known for any number of tokens, or for none
        return None
    cost = price(*worst_case_tokens(call))
    return None if cost is None else exact(cost)


def exact(amount: float | None) -> Decimal:
    """The decimal that the amount stands for: 0.1 is a tenth, not the binary number next to it."""
    return Decimal(0) if amount is None else Decimal(repr(amount))


class Account:
    """The columns of a Ledger while they grow, in exact decimals."""

    def __init__(self, base: Ledger | None = None) -> None:
        base = base or Ledger()
        self._base, self._confirmed = base, base.confirmed
        self.cost, self.uncertain, self.saved = (
            exact(base.confirmed.cost),
            exact(base.uncertain_cost),
            exact(base.saved_cost),
        )
        self._cost_known = base.confirmed.cost is not None or base.confirmed.calls == 0
        self._uncertain_calls, self._unbilled = base.uncertain_calls, base.unbilled_calls
        self.cached, self.retries = base.cached_judgments, base.retries

    def answered(self, spend: Spend, worst: Decimal | None, sign: int = 1) -> None:
        """An answer arrived. One without a bill is uncertain up to its worst case (None: the price
        is not known).

        sign -1 takes back what was counted before.
        """
        self._confirmed += spend if sign > 0 else _negative(spend)
        if spend.cost is not None:
            self.cost += sign * exact(spend.cost)
        elif worst is not None:
            self._unbilled += sign
            self.uncertain += sign * worst
        else:
            self._cost_known = False

    def lost(self, worst: Decimal | None) -> None:
        """A call that may have been billed ended without an answer."""
        self._uncertain_calls += 1
        self.uncertain += worst or Decimal(0)

    def ledger(self, open_calls: int = 0, open_cost: Decimal = Decimal(0)) -> Ledger:
        """The account as it is stored; open calls count as uncertain. A cost is None once a price
        was not known.
        """
        spend = self._confirmed
        cost = float(self.cost) if self._cost_known and spend.calls else None
        return Ledger(
            replace(spend, cost=cost),
            self._uncertain_calls + open_calls,
            float(self.uncertain + open_cost),
            self.cached,
            self.retries,
            self._unbilled,
            float(self.saved),
        )


class LocalBudget:
    """The caps of one run and its ledger. Used from one event loop only.

    max_calls counts requests that were sent, retries too; max_cost is in US dollars. `base` is what
    the run had spent before it was resumed.
    """

    def __init__(
        self,
        price: PriceOf,
        *,
        max_calls: int | None = None,
        max_cost: float | None = None,
        base: Ledger | None = None,
    ) -> None:
        self._price, self._max_calls = price, max_calls
        self._max_cost = None if max_cost is None else exact(max_cost)
        base = base or Ledger()
        bill = base.confirmed
        if bill.calls and bill.cost is None:  # its price was not known then: perhaps it is now
            base = replace(
                base, confirmed=replace(bill, cost=price(bill.input_tokens, bill.output_tokens))
            )
        self._account = Account(base)
        self._reserved = Decimal(0)
        self._in_flight = 0
        self.sent = base.confirmed.calls + base.uncertain_calls

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

    def reserve(self, call: Call) -> Decimal | None:
        """Reserve a call's worst case; None when a cap does not allow it."""
        if not isinstance(call, ChatCall):
            return Decimal(0)
        if self._out_of_calls:
            return None
        worst = worst_case(self._price, call) or Decimal(0)
        if self._max_cost is not None and self._spent + self._reserved + worst > self._max_cost:
            return None
        self._reserved += worst
        self._in_flight += 1
        return worst

    @property
    def _spent(self) -> Decimal:
        return self._account.cost + self._account.uncertain

    @property
    def may_free(self) -> bool:
        """Whether calls in flight may give back some of what is reserved for them, so that waiting
        can help.
        """
        return self._max_cost is not None and self._in_flight > 0 and not self._out_of_calls

    @property
    def _out_of_calls(self) -> bool:
        return self._max_calls is not None and self.sent + self._in_flight >= self._max_calls

    def stop_reason(self) -> str:
        """Which cap was reached, and at what."""
        if self._out_of_calls:
            return f"the cap of {self._max_calls:,} calls was reached"
        spent = f"${float(self._account.cost):.6g} confirmed"
        if self._account.uncertain:
            spent += f" and up to ${float(self._account.uncertain):.6g} for calls without a bill"
        return (
            f"the worst case of the next call would pass the cap of ${_dollars(self._max_cost)}"
            f" ({spent})"
        )

    def settle(
        self, call: Call, reserved: Decimal, spend: Spend | None, *, maybe_billed: bool = False
    ) -> None:
        """A reserved call ended: with its receipt, or without one (then maybe_billed says if it may
        cost something).
        """
        if not isinstance(call, ChatCall):
            return
        self._reserved -= reserved
        self._in_flight -= 1
        # A client may have sent more than one request for the call, say to learn what the server
        # supports.
        self.sent += 1 if spend is None else _requests(spend)
        if spend is not None:
            self._account.answered(
                spend, worst_case(self._price, call) if spend.cost is None else None
            )
        elif maybe_billed:
            self._account.lost(reserved)

    def withdraw(self, call: Call, spend: Spend) -> None:
        """Take back a receipt that the ledger holds, since its answer is about to be handed in once
        more.
        """
        self.sent -= _requests(spend)
        self._account.answered(
            spend, worst_case(self._price, call) if spend.cost is None else None, -1
        )

    def add_unclaimed(self, spend: Spend) -> None:
        """Count what was bought for this run and is not needed any more."""
        if spend.calls:
            self._account.answered(spend, None)
            self.sent += spend.calls

    def release(self, call: Call, reserved: Decimal) -> None:
        """Give back a reservation for a call that was not sent after all."""
        if isinstance(call, ChatCall):
            self._reserved -= reserved
            self._in_flight -= 1

    def ledger(self) -> Ledger:
        """What judging cost so far."""
        return self._account.ledger()

    @property
    def capped(self) -> bool:
        """Whether there is a cap to keep, also across a kill."""
        return self._max_calls is not None or self._max_cost is not None

    def snapshot(self) -> Ledger:
        """The ledger as it must be on disk while calls are in flight: each may have been billed
        when the process dies.
        """
        return self._account.ledger(self._in_flight, self._reserved)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _requests(spend: Spend) -> int:
    """How many requests an answer took: none where it says that it cost nothing, as one that
    somebody else has paid.
    """
    return 0 if spend.calls == 0 and spend.cost == 0 else max(1, spend.calls)


def _negative(spend: Spend) -> Spend:
    """What undoes this spend when it is added (its cost apart, which Account keeps exactly)."""
    return Spend(
        -spend.calls,
        -spend.input_tokens,
        -spend.output_tokens,
        -spend.cached_tokens,
        None,
        -spend.seconds,
    )


def _dollars(amount: Decimal | None) -> str:
    """To the cent, or to the last digit that it was given with."""
    value = float(amount or 0)
    return f"{value:.2f}" if round(value, 2) == value else f"{value:.10g}"
