"""How sure may one be of a mean, a rate or a difference: intervals and tests that respect clusters.

Rows that share a cluster (a document, a conversation) are not independent. Every variance here is the
cluster-robust one (CR1: squared cluster totals of the deviations, times G / (G - 1), G = number of clusters) with
Student's t on K - 1 degrees of freedom (at least 1). K = (sum m)^2 / sum m^2 over cluster sizes m is Kish's effective
number of clusters (1965): G where all are of one size, less where some outweigh the others. Where every row is its own
cluster, that is the ordinary t interval. By simulation it holds the true mean 0.90 to 0.99 of the time where one or
three clusters outweigh the rest, and 0.85 to 0.97 with two giants among thirty dwarfs: read that as too narrow.
Liang & Zeger 1986; Cameron & Miller 2015, "A practitioner's guide to cluster-robust inference"; Carter, Schnepel &
Steigerwald 2017 on the effective number of clusters.

A rate gets Wilson's interval (1927), which stays sensible at 0 and 1; under clusters with the effective number of
rows p(1 - p) / variance, times (z / t)^2 for a variance estimated from few clusters (Korn & Graubard 1998), never more
than the rows and never fewer than K: rows of a cluster cannot say less than one row would. By simulation it holds the
true rate 0.88 to 0.99 of the time from two to six clusters of one size, but 0.77 to 0.98 where two or three giants
outweigh the rest, least where all rows of a cluster agree.

Values without spread between clusters leave nothing to estimate from: then the bound is on the share u of clusters
elsewhere in the range that so many equal ones leave possible, u = 1 - (alpha / 2) ** (1 / K).

The t distribution is our own (incomplete beta by continued fraction), because the package does without scipy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragassay.core import Interval

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class MeanResult:
    """A mean over n values in `clusters` clusters; mean None when n = 0, interval None where none can be given."""

    n: int
    clusters: int
    mean: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class PairedResult:
    """Two values of each of n rows compared; difference = mean_b - mean_a, wins = rows where b > a.

    p: two-sided, of "no difference"; None with fewer than two clusters. minimum_detectable: the difference that a
    comparison of this size would find with 80 % power at this level; None where the spread is not known.
    """

    n: int
    clusters: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    interval: Interval | None
    p: float | None
    wins: int
    ties: int
    losses: int
    minimum_detectable: float | None


class MeanAccumulator:
    """Mean and interval of a stream of values. Memory follows the number of named clusters, not of rows.

    low, high: the range of the values (None = unbounded); the interval is clipped to it. A value without a
    cluster is a cluster of its own.
    """

    __slots__ = ("_binary", "_clusters", "_lone", "_lone_mean", "_lone_square", "_max", "_min", "high", "low", "n")

    def __init__(self, low: float | None = 0.0, high: float | None = 1.0) -> None:
        self.low, self.high = low, high
        self.n = 0
        self._lone, self._lone_mean, self._lone_square = 0, 0.0, 0.0  # Welford over the values without a cluster
        self._clusters: dict[str, tuple[float, int]] = {}  # cluster -> (sum, count)
        self._min, self._max, self._binary = math.inf, -math.inf, True

    def add(self, value: float, cluster: str | None = None) -> None:
        """Take one value. Raises ValueError for NaN and infinities."""
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a number that can be averaged")
        self.n += 1
        self._min, self._max = min(self._min, value), max(self._max, value)
        self._binary = self._binary and value in (0.0, 1.0)
        if cluster is None:
            self._lone += 1
            delta = value - self._lone_mean
            self._lone_mean += delta / self._lone
            self._lone_square += delta * (value - self._lone_mean)
        else:
            total, count = self._clusters.get(cluster, (0.0, 0))
            self._clusters[cluster] = (total + value, count + 1)

    @property
    def clusters(self) -> int:
        """How many clusters were seen; every value without one counts."""
        return self._lone + len(self._clusters)

    @property
    def effective(self) -> float:
        """Kish's effective number of clusters, (sum m)^2 / sum m^2 over their sizes m; 0 when nothing was seen."""
        return self.n**2 / (self._lone + sum(count**2 for _, count in self._clusters.values())) if self.n else 0.0

    @property
    def mean(self) -> float | None:
        """The mean of the values, None when there is none."""
        if not self.n:
            return None
        return math.fsum([self._lone * self._lone_mean, *(total for total, _ in self._clusters.values())]) / self.n

    @property
    def variance(self) -> float | None:
        """Cluster-robust variance of the mean; None with fewer than two clusters."""
        mean, clusters = self.mean, self.clusters
        if mean is None or clusters < 2:
            return None
        squares = self._lone_square + self._lone * (self._lone_mean - mean) ** 2
        squares += math.fsum((total - count * mean) ** 2 for total, count in self._clusters.values())
        variance = clusters / (clusters - 1) * squares / self.n**2
        return variance if variance > self._rounding**2 else 0.0

    @property
    def _rounding(self) -> float:
        """What the sums may be off by: no rounding may pose as spread or as a difference."""
        return 1e-13 * max(abs(self._min), abs(self._max))

    def result(self, level: float = LEVEL) -> MeanResult:
        """The mean with its interval. The interval's `method` says which formula it is."""
        return MeanResult(self.n, self.clusters, self.mean, self._interval(level))

    def _interval(self, level: float) -> Interval | None:
        mean, clusters, variance = self.mean, self.clusters, self.variance
        if mean is None:
            return None
        if self._binary and self.low == 0.0 and self.high == 1.0:
            return _wilson(mean, self.n, clusters, self.effective, variance, level)
        bounded = self.low is not None and self.high is not None
        if variance is None or variance == 0.0:
            if not bounded:
                return None
            if self._min == self._max:
                method = "exact bound, all values equal"
            else:
                method = "exact bound, all cluster means equal" if clusters > 1 else "exact bound, one cluster"
            return _no_spread(mean, self.effective, level, float(self.low or 0.0), float(self.high or 0.0), method)
        reach = t_quantile(0.5 + level / 2, _freedom(self.effective)) * math.sqrt(variance)
        low = mean - reach if self.low is None else max(self.low, mean - reach)
        high = mean + reach if self.high is None else min(self.high, mean + reach)
        return Interval(low, high, level, "t" if clusters == self.n else "cluster-robust t")


def rate_interval(successes: int, n: int, level: float = LEVEL) -> Interval | None:
    """Wilson's interval of a rate; None when n = 0. Raises ValueError unless 0 <= successes <= n."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a rate")
    return _wilson(successes / n, n, n, n, None, level) if n else None


def clustered_rate_interval(clusters: Iterable[tuple[int, int]], level: float = LEVEL) -> Interval | None:
    """Interval of a rate over clusters of (successes, rows); None when there is no row."""
    seen = [(successes, n) for successes, n in clusters if n]
    rows = sum(n for _, n in seen)
    if not rows:
        return None
    rate, count = sum(successes for successes, _ in seen) / rows, len(seen)
    variance = None
    if count > 1:
        variance = count / (count - 1) * math.fsum((s - n * rate) ** 2 for s, n in seen) / rows**2
    return _wilson(rate, rows, count, rows**2 / sum(n * n for _, n in seen), variance, level)


def _freedom(effective: float) -> float:
    """Degrees of freedom of a variance over so many effective clusters."""
    return max(1.0, effective - 1)


def _wilson(rate: float, n: int, clusters: int, least: float, variance: float | None, level: float) -> Interval:
    """Wilson's interval for an effective number of rows between `least` (Kish's effective clusters) and n."""
    z = normal_quantile(0.5 + level / 2)
    if clusters == n:
        effective, method = float(n), "Wilson"
    elif clusters < 2:  # one cluster: all its rows say no more than one would
        effective, method = 1.0, "Wilson, one cluster"
    else:
        method = "cluster-robust Wilson"
        if rate in (0.0, 1.0) or variance is None:  # all rows alike: the clusters are all that was seen
            effective = least
        elif variance == 0.0:
            effective = float(n)
        else:
            caution = (z / t_quantile(0.5 + level / 2, _freedom(least))) ** 2
            effective = min(max(rate * (1 - rate) / variance * caution, least), float(n))
    shrink = 1 + z * z / effective
    centre = (rate + z * z / (2 * effective)) / shrink
    reach = z / shrink * math.sqrt(rate * (1 - rate) / effective + z * z / (4 * effective**2))
    low = 0.0 if rate == 0.0 else max(0.0, centre - reach)
    high = 1.0 if rate == 1.0 else min(1.0, centre + reach)
    return Interval(low, high, level, method)


def _no_spread(value: float, clusters: float, level: float, low: float, high: float, method: str) -> Interval:
    """No spread between clusters: a share u of them may still lie anywhere in [low, high] without having been met."""
    share = 1 - ((1 - level) / 2) ** (1 / clusters)
    return Interval(max(low, value - share * (value - low)), min(high, value + share * (high - value)), level, method)


def paired_difference(
    pairs: Iterable[tuple[float, float, str | None]],
    level: float = LEVEL,
    *,
    low: float | None = 0.0,
    high: float | None = 1.0,
    power: float = 0.8,
) -> PairedResult:
    """Compare two values (a, b, cluster) of the same rows: paired cluster-robust t test.

    low, high: the range of one value. With no spread among the differences, p is the sign test's.
    """
    span = high - low if low is not None and high is not None else None
    differences = MeanAccumulator(None if span is None else -span, span)
    first, second = MeanAccumulator(low, high), MeanAccumulator(low, high)
    wins = ties = losses = 0
    for a, b, cluster in pairs:
        first.add(a)
        second.add(b)
        differences.add(b - a, cluster)
        wins, ties, losses = wins + (b > a), ties + (b == a), losses + (b < a)
    mean, variance, clusters = differences.mean, differences.variance, differences.clusters
    p = minimum = None
    if mean is not None and variance is not None:
        if variance > 0:
            error, df = math.sqrt(variance), _freedom(differences.effective)
            p = t_p_value(mean / error, df)
            minimum = (t_quantile(0.5 + level / 2, df) + t_quantile(power, df)) * error
        else:
            p = 1.0 if abs(mean) <= differences._rounding else min(1.0, 2 * 0.5**clusters)
    return PairedResult(
        differences.n, clusters, first.mean, second.mean, mean, differences.result(level).interval, p,
        wins, ties, losses, minimum,
    )  # fmt: skip


def gap_to_rest(part: MeanAccumulator, whole: MeanAccumulator) -> tuple[float | None, float | None]:
    """(mean of `part` - mean of the rest of `whole`, its two-sided p); `part`'s values were all added to `whole` too.

    gap: None when either side is empty. p: None with fewer than two clusters on either side or three in all. The spread is taken
    around the common mean, as a permutation test would: a handful of rows that happen to be equal prove little.
    Clusters that lie on both sides make it cautious.
    """
    mean, total, left = part.mean, whole.mean, whole.n - part.n
    if mean is None or total is None or left <= 0:
        return None, None
    gap = mean - (total * whole.n - mean * part.n) / left
    rest = (
        whole.clusters
        - part._lone
        - sum(1 for cluster, (_, count) in part._clusters.items() if whole._clusters[cluster][1] == count)
    )
    variance = whole.variance
    if part.clusters < 2 or rest < 2 or whole.clusters < 3 or variance is None:
        return gap, None  # two clusters that lie on both sides leave no degree of freedom
    if variance == 0.0:
        return gap, 1.0
    error = math.sqrt(variance * whole.clusters * (1 / part.clusters + 1 / rest))
    # No permutation of so few clusters could be rarer than this; it holds back a part of two or three rows.
    rarest = 1 / math.comb(part.clusters + rest, min(part.clusters, rest, 30))
    return gap, max(t_p_value(gap / error, whole.clusters - 2), rarest)


def holm(pvalues: Sequence[float]) -> list[float]:
    """p-values corrected for looking at all of them (Holm 1979), in the given order; each is >= its raw value."""
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__)
    corrected, highest = [0.0] * len(pvalues), 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(pvalues) - rank) * pvalues[i]))
        corrected[i] = highest
    return corrected


def normal_quantile(p: float) -> float:
    """The standard normal's quantile for p in (0, 1)."""
    from statistics import NormalDist  # drags in decimal and fractions: 10 ms that importing us need not pay

    return NormalDist().inv_cdf(p)


def t_p_value(t: float, df: float) -> float:
    """P(|T| >= |t|) for Student's t with df > 0 degrees of freedom (need not be whole)."""
    if df <= 0:
        raise ValueError("degrees of freedom must be positive")
    square = t * t
    if math.isinf(square):
        return 0.0
    return _beta(df / 2, 0.5, df / (df + square), square / (df + square))


@lru_cache(maxsize=4096)
def t_quantile(p: float, df: float) -> float:
    """The quantile of Student's t for p in (0, 1): Newton's steps held inside a bracket."""
    if not 0 < p < 1:
        raise ValueError("p must lie between 0 and 1")
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -t_quantile(1 - p, df)
    tail = 2 * (1 - p)
    low, high = 0.0, 1.0
    while t_p_value(high, df) > tail:
        low, high = high, high * 2
    density = math.exp(-_log_beta(df / 2, 0.5)) / math.sqrt(df)
    t = min(max(normal_quantile(p), low), high)
    for _ in range(200):
        excess = t_p_value(t, df) - tail
        if excess > 0:
            low = t
        else:
            high = t
        step = t + excess / (2 * density * math.exp(-(df + 1) / 2 * math.log1p(t * t / df)))
        if not low < step < high:
            step = (low + high) / 2
        if abs(step - t) <= 1e-15 * abs(step):
            return step
        t = step
    return t


def _log_beta(a: float, b: float) -> float:
    """log B(a, b). For a large a, log gamma(a + b) - log gamma(a) by Stirling, where plain lgamma would cancel."""
    if a < b:
        a, b = b, a
    if a < 20:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    growth = (a - 0.5) * math.log1p(b / a) + b * math.log(a + b) - b + _stirling(a + b) - _stirling(a)
    return math.lgamma(b) - growth


def _stirling(x: float) -> float:
    """What Stirling's formula leaves of log gamma(x); for x >= 20 exact to 1e-16."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x


def _beta(a: float, b: float, x: float, y: float) -> float:
    """Regularised incomplete beta I_x(a, b), y = 1 - x given apart so that neither is rounded away."""
    if x <= 0:
        return 0.0
    if y <= 0:
        return 1.0
    front = math.exp(a * math.log(x) + b * math.log(y) - _log_beta(a, b))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, y) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta (Didonato & Morris 1992), by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or tiny)
    value = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / ((1 + even * d) or tiny), (1 + even / c) or tiny
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / ((1 + odd * d) or tiny), (1 + odd / c) or tiny
        value *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return value
