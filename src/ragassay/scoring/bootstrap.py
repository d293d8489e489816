"""Cluster-bootstrap weights, and the interval of a figure that they justify.

The spread of a figure is the standard deviation of its bootstrap draws. Percentiles of the draws
themselves hold the truth too seldom with few clusters or few positives (by simulation 0.75 to 0.93
of the time), so the spread is put on the logit scale of the figure's range (which is Fisher's z
where the range is [-1, 1]) with Student's t on K - 1 degrees of freedom, K = Kish's effective
number of clusters among those rows that carry the figure: for recall the rows that people pass, for
kappa the rarer of passes and fails.

Counts of zero have no spread in any draw. So tables of pass or fail are drawn with half a row more
in each cell, as often as Poisson's law with mean 1 says (the bootstrap's view of a cluster of half
a row), times the largest design effect of a cell where rows of a cluster go together. Without it,
the interval of kappa with seven positives holds the truth 0.75 of the time, with it 0.93. Field &
Welsh 2007 on the cluster bootstrap; Cameron, Gelbach & Miller 2008 on few clusters; Agresti & Coull
1998 on added rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ragassay.core import Interval
from ragassay.scoring.arrays import FloatArray
from ragassay.scoring.intervals import normal_quantile, t_quantile, unmet_share

ADDED_ROWS = 0.5
"""Rows added to a cell on average; see the module's first lines."""
NO_SPREAD = 1e-9
"""A smaller deviation, as a share of the figure's range, is rounding."""


def weights(clusters: int, draws: int, seed: int, block: int) -> Iterator[FloatArray]:
    """Blocks (<= block, clusters) of how often each cluster is drawn, `clusters` drawn with
    replacement each time.

    The same arguments give the same draws: figures computed from them may be compared pair by pair.
    The draws do not depend on `block`.
    """
    rng = np.random.default_rng(seed)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        picks = rng.integers(0, clusters, (size, clusters))
        # One count over all draws of the block: each draw has cluster numbers of its own.
        picks += np.arange(size)[:, None] * clusters
        counts = np.bincount(picks.ravel(), minlength=size * clusters)
        yield counts.reshape(size, clusters).astype(np.float64)


def added_rows(shape: tuple[int, ...], effect: FloatArray | float, seed: int) -> FloatArray:
    """Rows added to each cell of drawn tables; `effect`: design effect, at least 1, of a shape that
    fits `shape`.
    """
    # (seed, 1): a stream apart from that of `weights`, which takes the seed itself.
    rows = np.random.default_rng((seed, 1)).poisson(1.0, shape)
    return np.asarray(ADDED_ROWS * effect * rows, dtype=np.float64)


def spread(draws: FloatArray) -> FloatArray:
    """Standard deviation over the first axis, of the draws where the figure is defined; NaN where
    fewer than half are.
    """
    defined = np.isfinite(draws)
    n = defined.sum(0)
    centre = np.where(defined, draws, 0.0).sum(0) / np.maximum(n, 1)
    square = np.where(defined, (draws - centre) ** 2, 0.0).sum(0) / np.maximum(n - 1, 1)
    return np.where((n > 1) & (2 * n >= len(draws)), np.sqrt(square), np.nan)


def effective(sizes: FloatArray) -> float:
    """Kish's effective number of clusters of these sizes, (sum m)^2 / sum m^2 (1965); 0 without
    rows.
    """
    squares = float((sizes * sizes).sum())
    return float(sizes.sum()) ** 2 / squares if squares else 0.0


def interval(
    value: float,
    deviation: float,
    freedom: float,
    low: float,
    high: float,
    *,
    level: float = 0.95,
    clustered: bool = True,
) -> Interval:
    """Interval of a figure that lies in [low, high], from its bootstrap standard deviation.

    freedom: degrees of freedom, effective clusters - 1, at least 1. At an end of the range, and
    where no draw moved, the bound is on the share u of clusters elsewhere in the range that may
    still have gone unmet, u = 1 - (alpha / 2) ** (1 / K).
    """
    clusters, span = freedom + 1, high - low
    share = (value - low) / span
    if deviation <= NO_SPREAD * span or not NO_SPREAD < share < 1 - NO_SPREAD:
        unmet = unmet_share(clusters, level)
        least = value - unmet * (value - low)
        most = value + unmet * (high - value)
        return Interval(least, most, level, "exact bound, no spread")
    # The spread of draws of K clusters has the divisor K, where an estimate needs K - 1.
    caution = math.sqrt(clusters / freedom) * t_quantile(0.5 + level / 2, freedom)
    # By the delta method a share s moves on the logit scale by its own movement / (s (1 - s)).
    reach = caution * deviation / span / (share * (1 - share))
    centre = math.log(share / (1 - share))
    ends = [low + span * _logistic(centre + sign * reach) for sign in (-1, 1)]
    scale = "Fisher z" if low < 0 else "logit"
    method = f"{'cluster ' if clustered else ''}bootstrap t, {scale}"
    # Rounding on the way to the logit and back must leave the value inside, and the ends in range.
    return Interval(max(low, min(ends[0], value)), min(high, max(ends[1], value)), level, method)


def _logistic(x: float) -> float:
    if x >= 0:
        return 1 / (1 + math.exp(-x))
    if x > -700:
        return math.exp(x) / (1 + math.exp(x))
    return 0.0  # below it exp underflows


def gap_interval(
    gaps: FloatArray, draws: FloatArray, freedom: float, level: float = 0.95, clustered: bool = True
) -> Interval | None:
    """Interval of sum |gap| over bins, from the gaps (bins,) and their draws (draws, bins).

    None where clusters are too few for so many bins. Where no c is accepted, because noise alone
    would make more than the value, the interval reaches from 0 to what noise alone might make.

    A sum of absolute values is biased upwards and its draws twice so: their quantiles can lie
    wholly above the truth. Here the gaps c * `gaps` are accepted as true, for those c at which the
    figure seen is neither in the upper nor in the lower (1 - level) / 2 of what the draws' noise
    makes of it. The value seen is kept inside.
    """
    value = float(np.abs(gaps).sum())
    # Every bin has a spread of its own to estimate, from its share of the clusters; K / sqrt(bins)
    # by simulation.
    bins = max(1, int(np.count_nonzero(np.ptp(draws, axis=0))))
    freedom = (freedom + 1) / math.sqrt(bins) - 1
    if freedom < 2:
        return None
    # The draws' noise is widened as the interval of a mean would be: by K / (K - 1), and t for z.
    t, z = t_quantile(0.5 + level / 2, freedom), normal_quantile(0.5 + level / 2)
    caution = math.sqrt((freedom + 1) / freedom) * t / z
    noise = (draws - draws.mean(0)) * caution
    tail = (1 - level) / 2

    def quantile(c: float, q: float) -> float:
        """The figure that is exceeded with chance 1 - q where c * `gaps` is true."""
        return float(np.quantile(np.abs(c * gaps + noise).sum(-1), q))

    method = f"{'cluster ' if clustered else ''}bootstrap, test inversion"
    if value <= quantile(0.0, tail):
        return Interval(0.0, min(1.0, max(value, quantile(0.0, 1 - tail))), level, method)
    low = 0.0
    if quantile(0.0, 1 - tail) <= value:
        low = _crossing(lambda c: quantile(c, 1 - tail) > value, 0.0, 1.0)
    high = _crossing(lambda c: quantile(c, tail) >= value, 0.0, 1.0 / value)
    return Interval(min(value, low * value), min(1.0, max(value, high * value)), level, method)


def _crossing(beyond: Callable[[float], bool], low: float, high: float) -> float:
    """Where the rising condition `beyond` starts to hold, between low and high."""
    for _ in range(24):  # to 1e-7 of the way, finer than a few thousand draws can tell
        middle = (low + high) / 2
        if beyond(middle):
            high = middle
        else:
            low = middle
    return (low + high) / 2
