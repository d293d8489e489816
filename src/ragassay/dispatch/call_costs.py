"""The costs of a run's calls, from which the cost of a call that was cut off is estimated.

A process that is killed leaves calls in flight, of which nobody knows what they were billed. Their
worst case is many times what such calls cost, so that the calls in flight of one kill would use up
a cap. Calls of one kind are alike, however, and the run has measured many: the tokens of the input
follow its bytes along a straight line, those of the output the budget for the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from typing import NamedTuple

from ragassay.core import Spend
from ragassay.dispatch.account import exact
from ragassay.dispatch.worst_case import CallSize, PriceOf

TOKENS_PER_BYTE = 1 / 4.2
"""English prose under the byte-pair vocabularies in use."""

OUTPUT_SHARE = 0.15
"""Share of the budget for an answer that answers take."""

INPUT_ERROR = 0.12
OUTPUT_ERROR = 0.25
"""Errors of these two figures, as shares of what they give: one standard deviation."""

INPUT_SCATTER = 0.04
OUTPUT_SCATTER = 0.25
"""How far the calls of one kind are expected to lie from their line, as a share of their mean."""

DEVIATIONS = 2.5
"""By so many standard deviations an estimate lies above what is likely: one in a hundred and sixty
kills costs more, where the calls in flight are like those that were answered. Those that have not
come back yet may be longer ones.
"""


class Rate(NamedTuple):
    """US dollars of an input token and of an output token."""

    input: float
    output: float

    @classmethod
    def of(cls, price: PriceOf) -> Rate | None:
        """The rate for calls of the usual size; None where the price is not known."""
        input_cost = price(1000, 0)
        both = price(1000, 1000)
        if input_cost is None or both is None:
            return None
        return cls(input_cost / 1000, (both - input_cost) / 1000)


class Estimate(NamedTuple):
    """An amount that is not known. likely: what is expected; noise: the standard deviation around
    it, independent of that of other calls; shared: that of the expectation, which all calls share.
    """

    likely: float
    noise: float = 0.0
    shared: float = 0.0

    def times(self, factor: float) -> Estimate:
        """The estimate in another unit."""
        return Estimate(self.likely * factor, self.noise * factor, self.shared * factor)

    def __add__(self, other: Estimate) -> Estimate:  # type: ignore[override]
        """Both amounts, where both come from the same expectation."""
        return Estimate(
            self.likely + other.likely,
            math.hypot(self.noise, other.noise),
            self.shared + other.shared,
        )

    def beside(self, other: Estimate) -> Estimate:
        """Both amounts, where neither error says anything of the other one."""
        return Estimate(
            self.likely + other.likely,
            math.hypot(self.noise, other.noise),
            math.hypot(self.shared, other.shared),
        )

    @property
    def upper(self) -> float:
        """What is not exceeded but rarely."""
        return self.likely + DEVIATIONS * math.hypot(self.noise, self.shared)


NOTHING = Estimate(0.0)


class Line:
    """The least-squares line through points (x, y), drawn towards a slope that is assumed as long
    as the points do not show one. error: of what that slope gives, as a share of it; scatter: of
    the points around their line, as a share of their mean. Both are standard deviations.
    """

    def __init__(self, slope: float, error: float, scatter: float) -> None:
        self._slope = slope
        self._error = error
        self._scatter = scatter
        self._count = 0
        self._mean_x = 0.0
        self._mean_y = 0.0
        self._xx = 0.0  # sums of products of deviations from the means
        self._xy = 0.0
        self._yy = 0.0

    def add(self, x: float, y: float) -> None:
        """Add a point (Welford's updates)."""
        self._count += 1
        dx = x - self._mean_x
        dy = y - self._mean_y
        self._mean_x += dx / self._count
        self._mean_y += dy / self._count
        self._xx += dx * (x - self._mean_x)
        self._xy += dx * (y - self._mean_y)
        self._yy += dy * (y - self._mean_y)

    def at(self, x: float) -> Estimate:
        """What is to be expected at x; from the assumed slope alone where there is no point."""
        if not self._count:
            likely = self._slope * x
            return Estimate(likely, 0.0, self._error * likely)
        # As if there were two more points, as far off as is expected, and the slope were known as
        # well as is assumed (a normal prior).
        errors = self._yy - (self._xy**2 / self._xx if self._xx else 0.0)
        variance = (2 * (self._scatter * self._mean_y) ** 2 + max(0.0, errors)) / (self._count + 1)
        weight = variance / (self._error * self._slope) ** 2
        slope = max(0.0, (self._xy + weight * self._slope) / (self._xx + weight))
        away = x - self._mean_x
        shared = variance / self._count + variance / (self._xx + weight) * away**2
        likely = max(0.0, self._mean_y + slope * away)
        return Estimate(likely, math.sqrt(variance), math.sqrt(shared))


def _input_line() -> Line:
    return Line(TOKENS_PER_BYTE, INPUT_ERROR, INPUT_SCATTER)


def _output_line() -> Line:
    return Line(OUTPUT_SHARE, OUTPUT_ERROR, OUTPUT_SCATTER)


@dataclass(slots=True)
class _Kind:
    """What calls of one kind took. cost: what those with a bill cost; listed: what their tokens
    cost by the rate, without what a provider takes off for its cache.
    """

    input: Line = field(default_factory=_input_line)
    output: Line = field(default_factory=_output_line)
    cost: float = 0.0
    listed: float = 0.0

    def estimate(self, size: CallSize, rate: Rate) -> Estimate:
        """US dollars of a call of this size."""
        input_cost = self.input.at(size.input_bound).times(rate.input)
        output_cost = self.output.at(size.answer_budget).times(rate.output)
        share = self.cost / self.listed if self.listed else 1.0
        return input_cost.beside(output_cost).times(share)


class CallCosts:
    """What the calls of a run took, by their kind, and what one like them will have cost."""

    def __init__(self) -> None:
        self.rate: Rate | None = None
        """Dollars of a token; without it nothing can be estimated."""
        self._kinds: dict[str, _Kind] = {}
        self._longest: dict[str, int] = {}
        self._unbounded: dict[str, int] = {}

    def longest(self, model: str = "") -> int:
        """Output tokens of the longest reply of this model so far (`ChatCall.model`), with those of
        calls that name no model; 0 where none told its tokens.
        """
        return max(self._longest.get(model, 0), self._longest.get("", 0))

    def most_at_once(self, model: str = "") -> int | None:
        """How many calls of this model may be in flight under a cap on dollars: one until a reply
        has shown how long they are; where the model does not keep to the limit of a reply, as many
        as it has answered since; None for any number.
        """
        if model not in self._longest and "" not in self._longest:
            return 1
        answered = self._unbounded.get(model) or self._unbounded.get("")
        return None if answered is None else max(1, answered)

    def note_reply(self, model: str, limit: int, spend: Spend) -> None:
        """Note how long a reply of this model was (`ChatCall.model`), and whether the limit of its
        call was kept.
        """
        self._longest[model] = max(self._longest.get(model, 0), spend.output_tokens)
        if model in self._unbounded:
            self._unbounded[model] += 1
        elif spend.output_tokens > limit:
            self._unbounded[model] = 1

    def add(self, size: CallSize, spend: Spend) -> None:
        """A call was answered. A reply without usage, or one that took several requests, shows
        nothing.
        """
        if spend.calls != 1 or not spend.input_tokens:
            return
        kind = self._kinds.get(size.kind)
        if kind is None:
            kind = self._kinds[size.kind] = _Kind()
        kind.input.add(size.input_bound, spend.input_tokens)
        kind.output.add(size.answer_budget, spend.output_tokens)
        if spend.cost is not None and self.rate is not None:
            kind.cost += spend.cost
            kind.listed += (
                spend.input_tokens * self.rate.input + spend.output_tokens * self.rate.output
            )

    def estimate(self, sizes: Iterable[CallSize]) -> Decimal | None:
        """US dollars that these calls together have cost if all of them were answered: hardly ever
        more. None where the price is not known.
        """
        if self.rate is None:
            return None
        by_kind: dict[str, Estimate] = {}
        for size in sizes:
            kind = size.kind if size.kind in self._kinds else ""
            by_kind[kind] = by_kind.get(kind, NOTHING) + self._estimate(size, self.rate)
        total = reduce(Estimate.beside, by_kind.values(), NOTHING)
        return exact(round(total.upper, 12))

    def at_most(self, size: CallSize, worst: Decimal) -> Decimal:
        """US dollars that a call of this size has cost if it was answered, and never more than its
        worst case.
        """
        return min(worst, self.estimate([size]) or worst)

    def _estimate(self, size: CallSize, rate: Rate) -> Estimate:
        kind = self._kinds.get(size.kind)
        if kind is not None:
            return kind.estimate(size, rate)
        if not self._kinds:
            # How long the model thinks is not known either: as long as it may.
            return _Kind().estimate(size, rate) + Estimate(size.thinking * rate.output)
        # Other kinds of calls to the same models: somewhere between them.
        others = [other.estimate(size, rate) for other in self._kinds.values()]
        mean = reduce(Estimate.beside, others).times(1 / len(others))
        return mean.beside(Estimate(0.0, 0.0, INPUT_ERROR * mean.likely))
