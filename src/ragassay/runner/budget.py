"""How much may be spent, and what was: the worst case of a call is reserved before it is sent.

Money is kept in Decimal. A call that was sent and never answered may have been billed: its worst case moves to
`uncertain` and stays counted against the cap, so that what is spent never passes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from ragassay.core import Call, ChatCall, Ledger, Spend

PriceOf = Callable[[int, int], float | None]
"""(input tokens, output tokens) -> US dollars, None when the price is not known."""

TOKENS_PER_MESSAGE = 16
"""Room for what a chat template adds around a message."""


def worst_case_tokens(call: Call) -> tuple[int, int]:
    """Upper bounds on the input and output tokens of a call.

    A token of a byte-level vocabulary covers at least one byte, so bytes bound the input; max_tokens bounds the output.
    """
    if not isinstance(call, ChatCall):
        return 0, 0
    size = sum(len(m.content.encode("utf-8", "surrogatepass")) + TOKENS_PER_MESSAGE for m in call.messages)
    if call.schema is not None:
        size += len(repr(call.schema))
    return size, call.max_tokens


class Budget:
    """The caps of one run and its ledger. Used from one event loop only.

    max_calls counts requests that were sent, retries too; max_cost is in US dollars. `base` is what the run had spent
    before it was resumed.
    """

    def __init__(
        self, price: PriceOf, *, max_calls: int | None = None, max_cost: float | None = None, base: Ledger | None = None
    ) -> None:
        self._price, self._max_calls = price, max_calls
        self._max_cost = None if max_cost is None else Decimal(repr(max_cost))
        base = base or Ledger()
        self._confirmed = base.confirmed
        self._cost = _decimal(base.confirmed.cost)
        self._cost_known = base.confirmed.cost is not None or base.confirmed.calls == 0
        self._uncertain_calls, self._uncertain = base.uncertain_calls, _decimal(base.uncertain_cost)
        self._reserved = Decimal(0)
        self._in_flight = 0
        self.sent = base.confirmed.calls + base.uncertain_calls
        self.cached = base.cached_judgments
        self.retries = base.retries

    def reserve(self, call: Call) -> Decimal | None:
        """Reserve a call's worst case; None when a cap does not allow it."""
        if not isinstance(call, ChatCall):
            return Decimal(0)
        if self._out_of_calls:
            return None
        worst = Decimal(0)
        if self._max_cost is not None:
            worst = _decimal(self._price(*worst_case_tokens(call)))
            if self._cost + self._uncertain + self._reserved + worst > self._max_cost:
                return None
        self._reserved += worst
        self._in_flight += 1
        return worst

    @property
    def may_free(self) -> bool:
        """Whether calls in flight may give back some of what is reserved for them, so that waiting can help."""
        return self._max_cost is not None and self._in_flight > 0 and not self._out_of_calls

    @property
    def _out_of_calls(self) -> bool:
        return self._max_calls is not None and self.sent + self._in_flight >= self._max_calls

    def stop_reason(self) -> str:
        """Which cap was reached, and at what."""
        if self._out_of_calls:
            return f"the cap of {self._max_calls:,} calls was reached"
        spent = f"${float(self._cost):.4f} confirmed"
        if self._uncertain:
            spent += f" and up to ${float(self._uncertain):.4f} for calls without a receipt"
        return f"the worst case of the next call would pass the cap of ${float(self._max_cost or 0):.2f} ({spent})"

    def settle(self, call: Call, reserved: Decimal, spend: Spend | None, *, maybe_billed: bool = False) -> None:
        """A reserved call ended: with its receipt, or without one (then maybe_billed says if it may cost something)."""
        if not isinstance(call, ChatCall):
            return
        self._reserved -= reserved
        self._in_flight -= 1
        self.sent += 1
        if spend is not None:
            # A client may have sent more than one request for the call, say to learn what the server supports.
            self.sent += max(0, spend.calls - 1)
            self._confirmed += spend
            self._cost += _decimal(spend.cost)
            self._cost_known = self._cost_known and spend.cost is not None
            if spend.cost is None:  # an answer without a bill: against a cap it counts as dear as it can have been
                self._uncertain += reserved
        elif maybe_billed:
            self._uncertain_calls += 1
            self._uncertain += reserved

    def release(self, call: Call, reserved: Decimal) -> None:
        """Give back a reservation for a call that was not sent after all."""
        if isinstance(call, ChatCall):
            self._reserved -= reserved
            self._in_flight -= 1

    def ledger(self) -> Ledger:
        """What judging cost so far. A cost is None as soon as one answer's price is unknown."""
        spend = self._confirmed
        exact = Spend(
            spend.calls,
            spend.input_tokens,
            spend.output_tokens,
            spend.cached_tokens,
            float(self._cost) if self._cost_known and spend.calls else None,
            spend.seconds,
        )
        return Ledger(exact, self._uncertain_calls, float(self._uncertain), self.cached, self.retries)

    @property
    def capped(self) -> bool:
        """Whether there is a cap to keep, also across a kill."""
        return self._max_calls is not None or self._max_cost is not None

    def snapshot(self) -> Ledger:
        """The ledger as it must be on disk while calls are in flight: each may have been billed when the process dies."""
        known = self.ledger()
        return replace(
            known,
            uncertain_calls=known.uncertain_calls + self._in_flight,
            uncertain_cost=float(self._uncertain + self._reserved),
        )


def _decimal(amount: float | None) -> Decimal:
    return Decimal(0) if amount is None else Decimal(repr(amount))
