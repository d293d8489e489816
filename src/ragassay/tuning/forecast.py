"""The forecast of an optimisation: which calls it will buy, phase by phase, before any is made.

A search goes on as long as there are errors to learn from, and a judge of real rows always has
some; so it is taken to spend what its cap leaves it. What it spends less is the calls that it keeps
for its end and does not need: `USED` is the share of its calls that searches spent in simulated
worlds (the family of benchmarks/optimise that is tuned on). A search that runs out of errors, or
whose reflector proposes nothing, may end from `least` on.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ragassay.tuning.certify import MOST_FINALISTS
from ragassay.tuning.search import BATCH, MOST_KEPT, rows_kept

NOISE_ROWS = 50
"""Rows that the baseline is asked twice."""
USED = 0.89
"""Share of its calls that a search spends, on average."""
SPREAD = 0.11
"""By how much of its calls a search may spend less or more than that."""
SILENT = 12
"""Calls of a reflector that proposes nothing before the search ends."""


@dataclass(frozen=True, slots=True)
class Asking:
    """What asking the judge takes. calls_a_row: calls for one row. cost_of_call: US dollars, None
    where the price is not known. known: calls for the baseline that are in the store already.
    """

    calls_a_row: float = 1.0
    cost_of_call: float | None = None
    known: int = 0
    orders: int = 1
    """In which a row is asked: two for a pair of responses."""

    def calls(self, rows: int) -> int:
        """Calls for so many rows in one order."""
        return ceil(rows * self.calls_a_row)

    def of_all_orders(self, rows: int) -> int:
        """Calls for so many rows in every order."""
        return self.orders * self.calls(rows)


@dataclass(frozen=True, slots=True)
class CallForecast:
    """Calls that an optimisation is expected to buy, of judge and reflector together.

    baseline, noise: of the judge as it is. search: with pruning and the choice. certificate: of the
    judge as it is and one candidate. low, high: the range of the whole for a search that its cap
    ends. least: of one that finds nothing to do. cap: the most. cost: of `calls` in US dollars, at
    the judge's price; None where it is not known.
    """

    baseline: int
    noise: int
    search: int
    certificate: int
    low: int
    high: int
    least: int
    cap: int
    cost: float | None = None

    @property
    def calls(self) -> int:
        """The whole."""
        return min(self.cap, self.baseline + self.noise + self.search + self.certificate)

    @property
    def leaves_no_search(self) -> bool:
        """Whether the cap is so low that nothing can be searched."""
        return self.search == 0


def certificate_calls(sealed: int, asking: Asking) -> int:
    """Calls that are kept for the certificate: of the judge as it is and three candidates."""
    return (MOST_FINALISTS + 1) * asking.of_all_orders(sealed)


def forecast_calls(
    open_rows: int,
    sealed: int,
    cap: int,
    asking: Asking,
    *,
    searches: bool,
    certifies: bool,
    validation: int = 0,
) -> CallForecast:
    """The forecast for so many rows to search and choose on, and sealed ones.

    searches: whether a reflector is asked at all. certifies: whether the sealed rows are opened.
    validation: how many of the open rows are those to choose on.
    """
    baseline = min(cap, max(0, asking.of_all_orders(open_rows) - asking.known))
    noise = min(cap - baseline, asking.calls(min(NOISE_ROWS, open_rows)))
    begun = baseline + noise
    kept = certificate_calls(sealed, asking) if certifies else 0
    room = max(0, cap - kept - begun) if searches else 0
    at_end = asking.calls(rows_kept(open_rows - validation, validation, 0)) if validation else 0
    if room - min(at_end, int(MOST_KEPT * (cap - kept))) < 1 + BATCH:
        room = 0  # what is kept for the end leaves the reflector no question
    search = round(USED * room)
    certificate = 2 * asking.calls(sealed) if certifies and searches else 0
    certificate = min(certificate, cap - begun - search)
    whole = begun + search + certificate
    spread = round(SPREAD * room)
    low, high = whole - spread, min(cap, whole + spread)
    if not searches and certifies:
        # Another pass mark is certified with the baseline's answers alone, both orders of a pair
        # with those of the two.
        high = min(cap, begun + asking.of_all_orders(sealed))
    cost = None if asking.cost_of_call is None else whole * asking.cost_of_call
    least = min(cap, begun + (SILENT if searches else 0))
    return CallForecast(baseline, noise, search, certificate, low, high, min(least, low), cap, cost)
