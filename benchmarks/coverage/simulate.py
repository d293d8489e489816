"""Cells of the coverage table, and clustered rows with a known truth.

Rows of a cluster share an effect; `icc` is the correlation of two rows of one cluster. Every
generator has the mean it is asked for exactly, whatever the sizes of the clusters: the truth that
an interval has to hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.core import Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
GATE = 0.93


@dataclass(frozen=True, slots=True)
class Cell:
    """How often the printed interval of one quantity held the truth, in one set-up.

    printed: share of the trials that had an interval; coverage: of those, the share that held the
    truth; width: their mean width. clusters: how many were drawn; n where rows are independent.
    gate: the least coverage that is held, None where the cell cannot be held, with the reason. For
    a test instead of an interval, coverage is 1 - its error rate.
    """

    quantity: str
    method: str
    n: int
    clusters: int
    prevalence: float
    icc: float
    correlation: float
    trials: int
    printed: float
    coverage: float
    width: float
    gate: float | None = GATE
    reason: str = ""


def cell_of(
    quantity: str,
    method: str,
    truth: float,
    intervals: Iterable[Interval | None],
    *,
    n: int,
    clusters: int | None = None,
    prevalence: float = math.nan,
    icc: float = 0.0,
    correlation: float = 0.0,
    gate: float | None = GATE,
    reason: str = "",
) -> Cell:
    """The cell of these trials' intervals."""
    found = list(intervals)
    seen = [interval for interval in found if interval is not None]
    held = sum(interval.low - 1e-12 <= truth <= interval.high + 1e-12 for interval in seen)
    width = sum(interval.high - interval.low for interval in seen)
    return Cell(
        quantity,
        method,
        n,
        n if clusters is None else clusters,
        truth if math.isnan(prevalence) else prevalence,
        icc,
        correlation,
        len(found),
        len(seen) / max(1, len(found)),
        held / max(1, len(seen)),
        width / max(1, len(seen)),
        gate,
        reason,
    )


def sizes(n: int, clusters: int, *, spread: float = 0.0, seed: int = 0) -> Ints:
    """Sizes of so many clusters, each at least 1, that add up to n. spread: of log size; 0 is as
    equal as can be.
    """
    if not 1 <= clusters <= n:
        raise ValueError(f"{n} rows cannot make {clusters} clusters")
    weight = np.exp(spread * np.random.default_rng(seed).normal(size=clusters))
    share = weight / weight.sum() * (n - clusters)
    out: Ints = 1 + np.floor(share).astype(np.int64)
    out[np.argsort(np.floor(share) - share, kind="stable")[: n - int(out.sum())]] += 1
    return out


def codes(cluster_sizes: Ints) -> Ints:
    """Each row's cluster."""
    return np.repeat(np.arange(len(cluster_sizes)), cluster_sizes)


def binary(rng: np.random.Generator, cluster_sizes: Ints, rate: float, icc: float = 0.0) -> Floats:
    """0 or 1 with mean `rate`: beta-binomial clusters."""
    chance = _shares(rng, len(cluster_sizes), rate, icc)
    rows = codes(cluster_sizes)
    return (rng.random(len(rows)) < chance[rows]).astype(np.float64)


def counts(rng: np.random.Generator, cluster_sizes: Ints, rate: float, icc: float = 0.0) -> Ints:
    """As `binary`, only each cluster's number of ones."""
    return np.asarray(
        rng.binomial(cluster_sizes, _shares(rng, len(cluster_sizes), rate, icc)), dtype=np.int64
    )


def bounded(rng: np.random.Generator, cluster_sizes: Ints, mean: float, icc: float = 0.0) -> Floats:
    """Values in [0, 1] as metrics give them: shares of four claims, each claim's chance beta around
    the cluster's.
    """
    rows = codes(cluster_sizes)
    chance = _shares(rng, len(cluster_sizes), mean, icc)[rows]
    own = rng.beta(3 * chance + 1e-9, 3 * (1 - chance) + 1e-9)
    return rng.binomial(4, np.clip(own, 0.0, 1.0)) / 4


def normal(
    rng: np.random.Generator, cluster_sizes: Ints, mean: float = 0.0, icc: float = 0.0
) -> Floats:
    """Normal values of variance 1."""
    rows = codes(cluster_sizes)
    shared = rng.normal(size=len(cluster_sizes))[rows]
    out: Floats = mean + math.sqrt(icc) * shared + math.sqrt(1 - icc) * rng.normal(size=len(rows))
    return out


def pairs(
    rng: np.random.Generator,
    cluster_sizes: Ints,
    correlation: float,
    icc: float,
    shape: Callable[[Floats], Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Two standard normal values of each row with this correlation, both clustered; `shape` makes
    metric values of them.
    """
    a = normal(rng, cluster_sizes, icc=icc)
    b = correlation * a + math.sqrt(1 - correlation**2) * normal(rng, cluster_sizes, icc=icc)
    return (a, b) if shape is None else (shape(a), shape(b))


def _shares(rng: np.random.Generator, clusters: int, rate: float, icc: float) -> Floats:
    if icc <= 0 or rate in (0.0, 1.0):
        return np.full(clusters, rate)
    if icc >= 1:
        return (rng.random(clusters) < rate).astype(np.float64)
    both = (1 - icc) / icc
    return rng.beta(rate * both, (1 - rate) * both, clusters)
