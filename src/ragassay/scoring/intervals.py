"""Intervals and tests of a mean, a rate or a difference that respect clusters.

Rows that share a cluster (a document, a conversation) are not independent. The variance of a mean
is CR2 (Bell & McCaffrey 2002): the sum over clusters of d^2 / (1 - m / n), over n^2, with d a
cluster's summed deviations, m its rows, n all rows. It is divided into the mean's error, and that
quotient is held against its own distribution where the rows of a cluster are all alike, the least
that clusters of these sizes can say: Student's t on G - 1 degrees of freedom for G clusters of one
size (the ordinary t interval where every row stands alone), wider tails where some outweigh the
rest. Kish's effective number of clusters K = (sum m)^2 / sum m^2 (1965) says how many they are
worth.

A rate gets Wilson's interval (1927), which stays sensible at 0 and 1; under clusters with the
effective number of rows p(1 - p) / variance, at most n, times (z / t)^2 for a variance estimated
from few clusters (Korn & Graubard 1998). Where the successes (or the failures) lie in few clusters
the variance is known no better than those carriers allow, so t has at most one degree of freedom
less than their effective number; that takes the rows no lower than an intra-cluster correlation of
one half would. Rows of a cluster cannot say less than one row would: K effective rows are the
least, and there the bound is exact (Clopper & Pearson 1934), as it is where all rows are alike.

A mean of values in a range is a rate in disguise: where most values lie at one end, t is too sure
of how far the mean may reach towards the other. Its interval is t's, widened to where the rate's
formula with p(1 - p) / variance effective rows reaches; a paired difference is widened likewise, by
what its gains and drops may be.

How often these hold the truth is measured by benchmarks/coverage. Known to fall short of 0.93:
Wilson's interval of 30 to 50 lone rows at some rates (0.92; every interval of a count swings with
it), and rates over three giant clusters among dwarfs whose rows are all alike (0.89).

Values without spread between clusters leave nothing to estimate from: then the bound is on the
share u of clusters elsewhere in the range that so many equal ones leave possible, u = 1 - (alpha /
2) ** (1 / K).

The t and beta distributions are our own (incomplete beta by continued fraction), because the
package does without scipy.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragassay.core import Interval

LEVEL = 0.95
MOST_ALIKE = 0.5
"""The intra-cluster correlation down to whose effective rows a rate's few carriers may take the
interval.
"""

Shape = tuple[tuple[int, int], ...]
"""Sizes of clusters: (rows, how many clusters have so many), rising."""


@dataclass(frozen=True, slots=True)
class MeanResult:
    """A mean over n values in `clusters` clusters; mean None when n = 0, interval None where none
    can be given.
    """

    n: int
    clusters: int
    mean: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class PairedResult:
    """Two values of each of n rows compared; difference = mean_b - mean_a, wins = rows where b > a.

    p: two-sided, of "no difference"; None with fewer than two clusters. minimum_detectable: the
    difference that a comparison of this size would find with 80 % power at this level; None where
    the spread is not known.
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
    """Mean and interval of a stream of values. Memory follows the number of named clusters, not of
    rows.

    low, high: the range of the values (None = unbounded); the interval is clipped to it. A value
    without a cluster is a cluster of its own. signed: the values are differences, whose plain state
    is the middle of the range and not one of its ends.
    """

    __slots__ = (
        "_binary",
        "_clusters",
        "_lone",
        "_lone_mean",
        "_lone_square",
        "_max",
        "_min",
        "high",
        "low",
        "n",
        "signed",
    )

    def __init__(
        self, low: float | None = 0.0, high: float | None = 1.0, *, signed: bool = False
    ) -> None:
        self.low = low
        self.high = high
        self.signed = signed
        self.n = 0
        # Welford's sums over the values without a cluster
        self._lone = 0
        self._lone_mean = 0.0
        self._lone_square = 0.0
        self._clusters: dict[str, tuple[float, int]] = {}  # cluster -> (sum, count)
        self._min = math.inf
        self._max = -math.inf
        self._binary = True

    def add(self, value: float, cluster: str | None = None) -> None:
        """Take one value. Raises ValueError for NaN and infinities."""
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a number that can be averaged")
        self.n += 1
        if value < self._min:
            self._min = value
        if value > self._max:
            self._max = value
        if self._binary and value != 0.0 and value != 1.0:
            self._binary = False
        # Values without a cluster are summed, not kept: this is called for every row of a run.
        if cluster is None:
            self._lone += 1
            delta = value - self._lone_mean
            self._lone_mean += delta / self._lone
            self._lone_square += delta * (value - self._lone_mean)
        else:
            total, count = self._clusters.get(cluster, (0.0, 0))
            self._clusters[cluster] = (total + value, count + 1)

    @classmethod
    def joined(cls, parts: Iterable[MeanAccumulator]) -> MeanAccumulator:
        """All values of these, as if one had taken them (Chan, Golub and LeVeque 1979); the range
        is that of rates.
        """
        whole = cls()
        for part in parts:
            whole.n += part.n
            whole._min = min(whole._min, part._min)
            whole._max = max(whole._max, part._max)
            whole._binary = whole._binary and part._binary
            if part._lone:
                lone = whole._lone + part._lone
                delta = part._lone_mean - whole._lone_mean
                whole._lone_square += part._lone_square + delta**2 * whole._lone * part._lone / lone
                whole._lone_mean += delta * part._lone / lone
                whole._lone = lone
            for cluster, (total, count) in part._clusters.items():
                before, seen = whole._clusters.get(cluster, (0.0, 0))
                whole._clusters[cluster] = (before + total, seen + count)
        return whole

    @property
    def clusters(self) -> int:
        """How many clusters were seen; every value without one counts."""
        return self._lone + len(self._clusters)

    @property
    def effective(self) -> float:
        """Kish's effective number of clusters, (sum m)^2 / sum m^2 over their sizes m; 0 when
        nothing was seen.
        """
        if not self.n:
            return 0.0
        squares = sum(count**2 for _, count in self._clusters.values())
        return self.n**2 / (self._lone + squares)

    @property
    def mean(self) -> float | None:
        """The mean of the values, None when there is none."""
        if not self.n:
            return None
        totals = [total for total, _ in self._clusters.values()]
        return math.fsum([self._lone * self._lone_mean, *totals]) / self.n

    @property
    def shape(self) -> Shape:
        """The sizes of the clusters."""
        sizes = Counter(count for _, count in self._clusters.values())
        if self._lone:
            sizes[1] += self._lone
        return tuple(sorted(sizes.items()))

    @property
    def variance(self) -> float | None:
        """Cluster-robust variance (CR2) of the mean; None with fewer than two clusters."""
        mean, n = self.mean, self.n
        if mean is None or self.clusters < 2:
            return None
        # d^2 / (1 - m / n) as in the module's first lines; m = 1 for the values without a cluster,
        # whose squares are moved from their own mean to the mean of all.
        squares = (self._lone_square + self._lone * (self._lone_mean - mean) ** 2) / (1 - 1 / n)
        squares += math.fsum(
            (total - count * mean) ** 2 / (1 - count / n)
            for total, count in self._clusters.values()
        )
        variance = squares / n**2
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
            return _rate(mean, self.shape, variance, self._carriers(0.0, 1.0), level)
        if variance is None or variance == 0.0:
            return self._no_spread(mean, level)
        reach = _critical(level, self.shape) * math.sqrt(variance)
        low, high = mean - reach, mean + reach
        method = "t" if clusters == self.n else "cluster-robust t"
        if self.low is not None and self.high is not None and not self.signed:
            far_low, far_high = self._far_ends(mean, variance, self.low, self.high, level)
            if far_low < low or far_high > high:
                low, high = min(low, far_low), max(high, far_high)
                method += ", Wilson's far end"
        if self.low is not None:
            low = max(self.low, low)
        if self.high is not None:
            high = min(self.high, high)
        return Interval(low, high, level, method)

    def _no_spread(self, mean: float, level: float) -> Interval | None:
        """The bound where clusters do not differ; None without a range."""
        if self.low is None or self.high is None:
            return None
        if self._min == self._max:
            method = "exact bound, all values equal"
        elif self.clusters > 1:
            method = "exact bound, all cluster means equal"
        else:
            method = "exact bound, one cluster"
        return _no_spread(mean, self.effective, level, float(self.low), float(self.high), method)

    def _far_ends(
        self, mean: float, variance: float, low: float, high: float, level: float
    ) -> tuple[float, float]:
        """The ends of the interval that the mean has as a rate between `low` and `high`."""
        span = high - low
        share = min(1.0, max(0.0, (mean - low) / span))  # no rounding takes it out of the range
        carriers = self._carriers(low, high)
        rate = _rate(share, self.shape, variance / span**2, carriers, level, math.inf)
        return low + span * rate.low, low + span * rate.high

    def _carriers(self, low: float, high: float) -> float:
        """As `_carriers`, of the values' shares of the way from low to high."""
        span = high - low
        # Of the lone values as shares s: sum of s, of s^2, of 1 - s and of (1 - s)^2.
        ones = self._lone * (self._lone_mean - low) / span
        squares = (self._lone_square + self._lone * (self._lone_mean - low) ** 2) / span**2
        sums = ((total - count * low) / span for total, count in self._clusters.values())
        counts = (count for _, count in self._clusters.values())
        lone = (ones, squares, self._lone - ones, self._lone - 2 * ones + squares)
        return _carriers(lone, zip(sums, counts, strict=True))


def rate_interval(successes: int, n: int, level: float = LEVEL) -> Interval | None:
    """Wilson's interval of a rate; None when n = 0.

    Raises ValueError unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a rate")
    return wilson(successes / n, float(n), level, "Wilson") if n else None


def clustered_rate_interval(
    clusters: Iterable[tuple[int, int]], level: float = LEVEL
) -> Interval | None:
    """Interval of a rate over clusters of (successes, rows); None when there is no row."""
    filled = [(successes, n) for successes, n in clusters if n]
    rows = sum(n for _, n in filled)
    if not rows:
        return None
    rate = sum(successes for successes, _ in filled) / rows
    variance = None
    if len(filled) > 1:
        variance = math.fsum((s - n * rate) ** 2 / (1 - n / rows) for s, n in filled) / rows**2
    shape = tuple(sorted(Counter(n for _, n in filled).items()))
    return _rate(rate, shape, variance, _carriers((0, 0, 0, 0), filled), level)


def exact_rate_interval(successes: float, n: float, level: float = LEVEL) -> Interval | None:
    """Clopper & Pearson's exact interval (1934) of a rate by beta quantiles; counts need not be
    whole. None when n = 0.

    Raises ValueError unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a rate")
    return _clopper_pearson(successes / n, n, level, "Clopper-Pearson") if n else None


def _carriers(
    lone: tuple[float, float, float, float], clusters: Iterable[tuple[float, int]]
) -> float:
    """In how many effective clusters the successes or the failures lie, whichever are fewer (Kish);
    0 for neither.

    lone: sums over rows without a cluster of successes, their squares, failures, their squares;
    clusters: (successes, rows).
    """
    hits, hit_squares, misses, miss_squares = lone
    for successes, n in clusters:
        hits += successes
        hit_squares += successes**2
        misses = misses + n - successes  # summed from the left: `+=` would round otherwise
        miss_squares += (n - successes) ** 2
    if hit_squares <= 0 or miss_squares <= 0:
        return 0.0
    return min(hits**2 / hit_squares, misses**2 / miss_squares)


def _rate(
    rate: float,
    shape: Shape,
    variance: float | None,
    carriers: float,
    level: float,
    most: float | None = None,
) -> Interval:
    """The interval of a rate over clusters; carriers: effective clusters that hold the rarer of the
    two outcomes.

    most: how many rows of 0 and 1 one could be worth in all; None for rates, whose rows count once.
    """
    rows = sum(m * k for m, k in shape)
    clusters = sum(k for _, k in shape)
    least = rows**2 / sum(m * m * k for m, k in shape)
    if most is None and clusters == rows:
        return wilson(rate, float(rows), level, "Wilson")
    if clusters < 2 or variance is None:  # one cluster: all its rows say no more than one would
        return _clopper_pearson(rate, 1.0, level, "Clopper-Pearson, one cluster")
    if rate not in (0.0, 1.0):
        z = normal_quantile(0.5 + level / 2)
        t = _critical(level, shape)
        t_of_carriers = t_quantile(0.5 + level / 2, max(1.0, carriers - 1))
        most = rows if most is None else most
        # The independent rows that would have this variance; Korn and Graubard's factor allows for
        # the variance being an estimate.
        worth = most if variance == 0.0 else min(rate * (1 - rate) / variance, most)
        by_sizes = worth * (z / t) ** 2
        by_carriers = worth * (z / max(t, t_of_carriers)) ** 2
        # Few carriers take the rows no lower than an intra-cluster correlation of MOST_ALIKE would.
        halfway = rows / (1 + (rows / least - 1) * MOST_ALIKE)
        effective = max(min(by_sizes, halfway), by_carriers)
        if effective > least:
            return wilson(rate, effective, level, "cluster-robust Wilson")
    return _clopper_pearson(rate, least, level, "Clopper-Pearson on effective clusters")


def wilson(rate: float, rows: float, level: float, method: str) -> Interval:
    """Wilson's interval of a rate over so many rows, which need not be whole."""
    z = normal_quantile(0.5 + level / 2)
    shrink = 1 + z * z / rows
    centre = (rate + z * z / (2 * rows)) / shrink
    reach = z / shrink * math.sqrt(rate * (1 - rate) / rows + z * z / (4 * rows**2))
    # At 0 and 1 the formula's end is the rate itself, but for rounding.
    low = 0.0 if rate == 0.0 else max(0.0, centre - reach)
    high = 1.0 if rate == 1.0 else min(1.0, centre + reach)
    return Interval(low, high, level, method)


def _clopper_pearson(rate: float, rows: float, level: float, method: str) -> Interval:
    hits = rate * rows
    misses = (1 - rate) * rows
    tail = (1 - level) / 2
    low = 0.0 if rate == 0.0 else beta_quantile(tail, hits, misses + 1)
    high = 1.0 if rate == 1.0 else beta_quantile(1 - tail, hits + 1, misses)
    return Interval(low, high, level, method)


@lru_cache(maxsize=1024)
def _critical(level: float, shape: Shape) -> float:
    """What |error / standard error| of a mean over clusters of these sizes stays below with
    probability `level`.
    """
    if len(shape) == 1:
        return t_quantile(0.5 + level / 2, shape[0][1] - 1)
    # The tail falls over orders of magnitude: secant steps find its logarithm, not the tail itself.
    aim = math.log(1 - level)
    clusters = sum(k for _, k in shape)
    low = 0.0
    high = t_quantile(0.5 + level / 2, clusters - 1)  # where all clusters are of one size
    over = -aim
    under = math.log(_exceeds(high, shape)) - aim
    while under > 0:
        low, over, high = high, under, 1.5 * high
        under = math.log(_exceeds(high, shape)) - aim
    # Illinois: the secant's step, kept inside a bracket that shrinks from both ends.
    for _ in range(60):
        step = high - under * (high - low) / (under - over)
        off = math.log(_exceeds(step, shape)) - aim
        if abs(off) < 1e-10 or high - low < 1e-12 * high:
            return step
        if off > 0:
            low, over, under = step, off, under / 2
        else:
            high, under, over = step, off, over / 2
    return high


def _exceeds(t: float, shape: Shape) -> float:
    """P(|mean's error| > t standard errors) over clusters of these sizes, when the rows of a
    cluster are all alike.

    The error Z sqrt(sum v), v = m^2, against the CR2 variance: with Craig's form of the normal tail
    (1991) and the moment-generating function of the quadratic form, 2 / pi times the integral over
    0 < x < pi / 2 of det(I + u S W)^(-1/2), u = t^2 / (sin^2 x sum v), S the covariance of the
    clusters' deviations, W their weights; S is diagonal plus rank two, so its determinant is a sum
    over the sizes. As in Bell & McCaffrey, error and variance are taken for independent.
    """
    if len(shape) == 1:
        return t_p_value(t, shape[0][1] - 1)
    if t == 0.0:
        return 1.0
    n = sum(m * k for m, k in shape)
    whole = sum(m * m * k for m, k in shape)
    # Of each size: clusters of it, a cluster's share of the rows, its weight in the CR2 variance,
    # and its share of the error's variance, v / sum v.
    sizes = [(k, m / n, 1 / (1 - m / n), m * m / whole) for m, k in shape]
    total = 0.0
    for node, weight in legendre(32):
        u = (t / math.sin(node)) ** 2
        # The determinant is that of the diagonal times a^2 + s b, what the two ranks add to it.
        log_diagonal = a = b = s = 0.0
        for number, share, cr2_weight, v in sizes:
            widened = 1 + u * v * cr2_weight
            log_diagonal += number * math.log(widened)
            a += number * share / widened
            b += number * cr2_weight * share * share / widened
            s += number * u * v / widened
        total += weight * math.exp(-0.5 * (log_diagonal + math.log(a * a + s * b)))
    return min(1.0, 2 / math.pi * total)


@lru_cache(maxsize=4)
def legendre(nodes: int) -> tuple[tuple[float, float], ...]:
    """Gauss and Legendre's points and weights on (0, pi / 2)."""
    out = []
    for i in range(nodes):
        # Newton's steps from the usual first guess at the i-th root; 20 are more than it takes.
        x = math.cos(math.pi * (i + 0.75) / (nodes + 0.5))
        slope = 1.0
        for _ in range(20):
            before, value = 1.0, x  # Legendre's polynomials of degree k - 1 and k
            for k in range(2, nodes + 1):
                before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
            slope = nodes * (x * value - before) / (x * x - 1)
            x -= value / slope
        out.append(((x + 1) * math.pi / 4, math.pi / 2 / ((1 - x * x) * slope * slope)))
    return tuple(out)


def unmet_share(clusters: float, level: float) -> float:
    """The largest share u of clusters that so many draws may all have missed: (1 - u)^K = (1 -
    level) / 2.
    """
    share: float = 1 - ((1 - level) / 2) ** (1 / clusters)
    return share


def _no_spread(
    value: float, clusters: float, level: float, low: float, high: float, method: str
) -> Interval:
    """No spread between clusters: a share u of them may still lie anywhere in [low, high] without
    having been met.
    """
    share = unmet_share(clusters, level)
    least = max(low, value - share * (value - low))
    most = min(high, value + share * (high - value))
    return Interval(least, most, level, method)


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
    Where few rows differ, t is too sure of how far the difference may reach: gains and losses each
    get their own interval then, put together as Newcombe's (1998, method 10) where that is wider.
    The end towards 0 stays t's, so that interval and p say the same.
    """
    span = high - low if low is not None and high is not None else None
    differences = MeanAccumulator(None if span is None else -span, span, signed=True)
    first, second = MeanAccumulator(low, high), MeanAccumulator(low, high)
    gains, drops = MeanAccumulator(0.0, span), MeanAccumulator(0.0, span)
    wins = ties = losses = 0
    for a, b, cluster in pairs:
        first.add(a)
        second.add(b)
        differences.add(b - a, cluster)
        gains.add(max(b - a, 0.0), cluster)
        drops.add(max(a - b, 0.0), cluster)
        wins += b > a
        ties += b == a
        losses += b < a
    mean, variance = differences.mean, differences.variance
    p = minimum = None
    interval = differences.result(level).interval
    if mean is not None and variance is not None:
        if variance > 0:
            error, shape = math.sqrt(variance), differences.shape
            p = _exceeds(abs(mean) / error, shape)
            minimum = (_critical(level, shape) + _critical(2 * power - 1, shape)) * error
            wider = widened(interval, gains.result(level), drops.result(level))
            if wider is not None and wider is not interval:
                # Nothing inside the interval is said to have been findable.
                minimum = max(minimum, wider.high - mean, mean - wider.low)
            interval = wider
        elif abs(mean) <= differences._rounding:
            p = 1.0
        else:  # every cluster differs by the same: the sign test
            p = min(1.0, 2 * 0.5**differences.clusters)
    return PairedResult(
        n=differences.n,
        clusters=differences.clusters,
        mean_a=first.mean,
        mean_b=second.mean,
        difference=mean,
        interval=interval,
        p=p,
        wins=wins,
        ties=ties,
        losses=losses,
        minimum_detectable=minimum,
    )


def widened(interval: Interval | None, gains: MeanResult, drops: MeanResult) -> Interval | None:
    """The interval of a difference, widened away from 0 to where the intervals of gains and drops
    let it reach.
    """
    up, down = gains.interval, drops.interval
    if interval is None or up is None or down is None or gains.mean is None or drops.mean is None:
        return interval
    mean = gains.mean - drops.mean
    low = mean - math.hypot(gains.mean - up.low, down.high - drops.mean)
    high = mean + math.hypot(up.high - gains.mean, drops.mean - down.low)
    # An end on the far side of 0 stays, so that interval and p say the same.
    low = interval.low if interval.low > 0 else min(interval.low, low)
    high = interval.high if interval.high < 0 else max(interval.high, high)
    if (low, high) == (interval.low, interval.high):
        return interval
    return Interval(low, high, interval.level, f"{interval.method}, Newcombe's far end")


def gap_to_rest(part: MeanAccumulator, whole: MeanAccumulator) -> tuple[float | None, float | None]:
    """(mean of `part` - mean of the rest of `whole`, its two-sided p); `part`'s values were all
    added to `whole` too.

    gap: None when either side is empty. p: None with fewer than two clusters on either side or
    three in all. The spread is taken around the common mean, as a permutation test would: a handful
    of rows that happen to be equal prove little. Clusters that lie on both sides make it cautious.
    """
    mean, total = part.mean, whole.mean
    rest_rows = whole.n - part.n
    if mean is None or total is None or rest_rows <= 0:
        return None, None
    gap = mean - (total * whole.n - mean * part.n) / rest_rows
    only_in_part = 0
    for cluster, (_, count) in part._clusters.items():
        only_in_part += whole._clusters[cluster][1] == count
    rest = whole.clusters - part._lone - only_in_part
    variance = whole.variance
    if part.clusters < 2 or rest < 2 or whole.clusters < 3 or variance is None:
        return gap, None  # two clusters that lie on both sides leave no degree of freedom
    if variance == 0.0:
        return gap, 1.0
    error = math.sqrt(variance * whole.clusters * (1 / part.clusters + 1 / rest))
    # No permutation of so few clusters could be rarer than this; it holds back a part of two or
    # three rows.
    rarest = 1 / math.comb(part.clusters + rest, min(part.clusters, rest, 30))
    return gap, max(t_p_value(gap / error, whole.clusters - 2), rarest)


def holm(pvalues: Sequence[float]) -> list[float]:
    """p-values corrected for looking at all of them (Holm 1979), in the given order; each is >= its
    raw value.
    """
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__)
    corrected = [0.0] * len(pvalues)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(pvalues) - rank) * pvalues[i]))
        corrected[i] = highest
    return corrected


def normal_quantile(p: float) -> float:
    """The standard normal's quantile for p in (0, 1)."""
    # It imports decimal and fractions: 10 ms that importing this package need not cost.
    from statistics import NormalDist

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
    density = math.exp(-_log_beta(df / 2, 0.5)) / math.sqrt(df)  # at 0
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


def beta_quantile(p: float, a: float, b: float) -> float:
    """The quantile of the beta distribution for p in (0, 1), a > 0, b > 0: Newton's steps held
    inside a bracket.
    """
    if not 0 < p < 1 or not (a > 0 and b > 0):
        raise ValueError("a beta quantile needs 0 < p < 1, a > 0 and b > 0")
    low, high = 0.0, 1.0
    x = a / (a + b)
    constant = _log_beta(a, b)
    for _ in range(200):
        excess = _beta(a, b, x, 1 - x) - p
        if excess > 0:
            high = x
        else:
            low = x
        slope = math.exp(min(700.0, (a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - constant))
        step = x - excess / slope if slope > 0 else -1.0
        if not low < step < high:
            step = (low + high) / 2
        if abs(step - x) <= 1e-15 * step or step in (0.0, 1.0):
            return step
        x = step
    return x


def _log_beta(a: float, b: float) -> float:
    """log B(a, b). For a large a, log gamma(a + b) - log gamma(a) by Stirling, where plain lgamma
    would cancel.
    """
    if a < b:
        a, b = b, a
    if a < 20:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    growth = (
        (a - 0.5) * math.log1p(b / a) + b * math.log(a + b) - b + _stirling(a + b) - _stirling(a)
    )
    return math.lgamma(b) - growth


def _stirling(x: float) -> float:
    """What Stirling's formula leaves of log gamma(x); for x >= 20 exact to 1e-16."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y / 1188)))) / x


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b) for a > 0, b > 0 and x in [0, 1]."""
    return _beta(a, b, x, 1 - x)


def _beta(a: float, b: float, x: float, y: float) -> float:
    """Regularised incomplete beta I_x(a, b); y = 1 - x apart, so that neither is rounded away."""
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
    tiny = 1e-300  # Lentz: stands in for a denominator of 0
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
