"""How the application's seconds, dollars and tokens spread over the rows of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.core import Interval
from ragassay.scoring import MeanAccumulator

if TYPE_CHECKING:
    from ragassay.store import Store

FIELDS = (
    ("latency", "Seconds", "s"),
    ("cost", "US dollars", "USD"),
    ("input_tokens", "Input tokens", "tokens"),
    ("output_tokens", "Output tokens", "tokens"),
)
"""Field of AppUsage, its title, its unit."""
BINS = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """Rows with a value in [low, high); the last bin holds its upper end, too. share: of the
    fullest bin.
    """

    low: float
    high: float
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class Spread:
    """One field over the n rows that state it. quantiles: of 50, 90, 99 and 100 % of these rows."""

    field: str
    title: str
    unit: str
    n: int
    mean: float
    interval: Interval | None
    total: float
    quantiles: tuple[float, float, float, float]
    bins: tuple[Bin, ...]


def usage_spread(store: Store, run_id: str) -> tuple[Spread, ...]:
    """What the application spent, a field each; those that no row states are left out.

    Memory follows the number of rows: four numbers each.
    """
    values: dict[str, list[float]] = {field: [] for field, _, _ in FIELDS}
    means = {field: MeanAccumulator() for field, _, _ in FIELDS}
    for line in store.row_lines(run_id):
        if line.usage is None:
            continue
        for field, numbers in values.items():
            value = getattr(line.usage, field)
            if value is not None:
                numbers.append(float(value))
                means[field].add(float(value), line.cluster)
    spreads = []
    for field, title, unit in FIELDS:
        numbers = sorted(values[field])
        if not numbers:
            continue
        accumulator = means[field]
        accumulator.low, accumulator.high = 0.0, None
        mean = accumulator.result()
        quantiles = tuple(_quantile(numbers, share) for share in (0.5, 0.9, 0.99, 1.0))
        spreads.append(
            Spread(
                field,
                title,
                unit,
                len(numbers),
                mean.mean or 0.0,
                mean.interval,
                sum(numbers),
                quantiles,  # type: ignore[arg-type]
                _bins(numbers),
            )
        )
    return tuple(spreads)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The least value that so large a share of the values does not exceed."""
    place = -(-len(ordered) * share // 1)
    return ordered[max(0, int(place) - 1)]


def _bins(ordered: Sequence[float]) -> tuple[Bin, ...]:
    low, high = ordered[0], ordered[-1]
    if low == high:
        return (Bin(low, high, len(ordered), 1.0),)
    width = (high - low) / BINS
    counts = [0] * BINS
    for value in ordered:
        counts[min(BINS - 1, int((value - low) / width))] += 1
    most = max(counts)
    bins = []
    for place, rows in enumerate(counts):
        bins.append(Bin(low + place * width, low + (place + 1) * width, rows, rows / most))
    return tuple(bins)
