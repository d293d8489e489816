"""Tests of pairs, of rates and of many p-values at once: whether a difference is beyond chance, and
whether it is too small to matter.

Holm's correction and the paired difference itself are in `intervals`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ragassay.core import Interval
from ragassay.scoring.intervals import (
    LEVEL,
    MeanAccumulator,
    clustered_rate_interval,
    incomplete_beta,
    widened,
)

EXACT_WORK = 2_000_000
"""Clusters times differing rows up to which the sign-flip distribution is worked out in full."""


@dataclass(frozen=True, slots=True)
class McNemar:
    """Do two judgements of the same rows pass equally often? wins: rows only the second passes;
    losses: only the first.

    exact: the exact two-sided p, at most the level in error; mid_p: half of the observed outcome's
    own probability taken off (Lancaster 1961), close to the level in error and the better default
    (Fagerland, Lydersen & Laake 2013). method names the formula; where there is too much for the
    exact one, both are the asymptotic p.
    """

    wins: int
    losses: int
    clusters: int
    exact: float
    mid_p: float
    method: str


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests (Schuirmann 1987): is the difference b - a smaller than the margin either
    way?

    interval: of level 1 - 2 alpha; equivalent exactly if it lies within (-margin, margin). p: the
    larger of the two one-sided ones, .5 where the difference itself reaches the margin. difference,
    interval, p: None where nothing can be said, which is never "equivalent".
    """

    n: int
    clusters: int
    difference: float | None
    interval: Interval | None
    margin: float
    p: float | None
    equivalent: bool


def benjamini_hochberg(pvalues: Sequence[float]) -> list[float]:
    """p-values corrected for the share of false discoveries (Benjamini & Hochberg 1995), in the
    given order.
    """
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__, reverse=True)
    corrected = [0.0] * len(pvalues)
    least = 1.0
    for rank, i in enumerate(order):
        least = min(least, pvalues[i] * len(pvalues) / (len(pvalues) - rank))
        corrected[i] = least
    return corrected


def mcnemar(wins: int, losses: int) -> McNemar:
    """McNemar's test (1947) of independent rows: the differing ones are a fair coin if nothing
    differs.

    Without a differing row p is 1. Raises ValueError for negative counts.
    """
    if wins < 0 or losses < 0:
        raise ValueError(f"{wins} wins and {losses} losses cannot be counts")
    n, fewer = wins + losses, min(wins, losses)
    if wins == losses:
        return McNemar(wins, losses, n, 1.0, 1.0, "McNemar, exact binomial")
    tail = incomplete_beta(n - fewer, fewer + 1, 0.5)  # P(X <= fewer) of n fair coins
    arrangements = math.lgamma(n + 1) - math.lgamma(fewer + 1) - math.lgamma(n - fewer + 1)
    observed = math.exp(arrangements - n * math.log(2))  # P(X = fewer)
    exact, mid_p = min(1.0, 2 * tail), min(1.0, 2 * tail - observed)
    return McNemar(wins, losses, n, exact, mid_p, "McNemar, exact binomial")


def clustered_mcnemar(clusters: Iterable[tuple[int, int]]) -> McNemar:
    """McNemar's test over clusters of (wins, losses), whose rows may be as alike as they please.

    If nothing differs, every cluster's wins - losses is as likely with the other sign: all 2^G
    signs are gone through (Fisher's randomisation; for clusters of one row it is `mcnemar`). Where
    that is too much work, the quotient (sum d)^2 / sum d^2 is held against chi-squared with one
    degree of freedom (Yang, Sun & Hardin 2010; Durkalski et al. 2003 take each d by the rows of its
    cluster).
    """
    differing = [cluster for cluster in clusters if any(cluster)]
    wins = sum(won for won, _ in differing)
    losses = sum(lost for _, lost in differing)
    gaps = [abs(won - lost) for won, lost in differing if won != lost]
    total = abs(wins - losses)
    if len(gaps) * sum(gaps) > EXACT_WORK:
        p = math.erfc(total / math.sqrt(2 * sum(gap * gap for gap in gaps)))
        return McNemar(wins, losses, len(differing), p, p, "McNemar, clustered (asymptotic)")
    chances = _sign_flips(gaps)
    beyond = math.fsum(chance for value, chance in chances.items() if abs(value) > total)
    observed = math.fsum(chance for value, chance in chances.items() if abs(value) == total)
    exact = min(1.0, beyond + observed)
    mid_p = 1.0 if total == 0 else min(1.0, beyond + observed / 2)
    return McNemar(wins, losses, len(differing), exact, mid_p, "McNemar, exact signs of clusters")


def _sign_flips(gaps: Sequence[int]) -> dict[int, float]:
    """The chance of every sum of the gaps, when each has either sign with chance one half."""
    chances = {0: 1.0}
    for gap in gaps:
        after: dict[int, float] = {}
        for value, chance in chances.items():
            for end in (value - gap, value + gap):
                after[end] = after.get(end, 0.0) + chance / 2
        chances = after
    return chances


def equivalent_means(
    pairs: Iterable[tuple[float, float, str | None]],
    margin: float,
    alpha: float = 1 - LEVEL,
    *,
    low: float | None = 0.0,
    high: float | None = 1.0,
) -> Equivalence:
    """Are the means of two values (a, b, cluster) of the same rows equivalent? Paired,
    cluster-robust; 0 and 1 are rates.

    low, high: the range of one value, None for unbounded. The interval is the one of
    `paired_difference`, which reaches further where few rows differ; p is the least alpha at which
    it lies within the margin. Raises ValueError unless margin > 0 and 0 < alpha < .5.
    """
    _check(margin, alpha)
    span = high - low if low is not None and high is not None else None
    gaps = MeanAccumulator(None if span is None else -span, span, signed=True)
    gains, drops = MeanAccumulator(0.0, span), MeanAccumulator(0.0, span)
    for a, b, cluster in pairs:
        gaps.add(b - a, cluster)
        gains.add(max(b - a, 0.0), cluster)
        drops.add(max(a - b, 0.0), cluster)

    def interval(tail: float) -> Interval | None:
        level = 1 - 2 * tail
        of_gaps = gaps.result(level).interval
        if not gaps.variance:  # an exact bound already, as in `paired_difference`
            return of_gaps
        return widened(of_gaps, gains.result(level), drops.result(level))

    mean, shown = gaps.mean, interval(alpha)
    if mean is None or shown is None:
        return Equivalence(gaps.n, gaps.clusters, mean, shown, margin, None, False)
    p = _p_of_two_tests(interval, mean, margin)
    return Equivalence(gaps.n, gaps.clusters, mean, shown, margin, p, _inside(shown, margin))


def equivalent_rates(
    a: Iterable[tuple[int, int]],
    b: Iterable[tuple[int, int]],
    margin: float,
    alpha: float = 1 - LEVEL,
) -> Equivalence:
    """Are the rates of two sets of different rows equivalent? a, b: clusters of (successes, rows).

    The interval of b - a is put together from those of both rates (Newcombe 1998, method 10;
    clustered: the same construction, Zou & Donner 2008), so it holds at 0 and 1 as well; p is the
    least alpha at which it lies within the margin. Raises as above.
    """
    _check(margin, alpha)
    first = [(successes, rows) for successes, rows in a if rows]
    second = [(successes, rows) for successes, rows in b if rows]
    n = sum(rows for _, rows in [*first, *second])
    clusters = len(first) + len(second)
    if not first or not second:
        return Equivalence(n, clusters, None, None, margin, None, False)

    def interval(tail: float) -> Interval:
        return _difference(first, second, 1 - 2 * tail)[1]

    difference, shown = _difference(first, second, 1 - 2 * alpha)
    p = _p_of_two_tests(interval, difference, margin)
    return Equivalence(n, clusters, difference, shown, margin, p, _inside(shown, margin))


def _inside(interval: Interval | None, margin: float) -> bool:
    return interval is not None and -margin < interval.low and interval.high < margin


def _p_of_two_tests(
    interval: Callable[[float], Interval | None], difference: float, margin: float
) -> float:
    """p of two one-sided tests. Above one half where the difference lies beyond the margin: one
    less the tail at which its interval, with its nearer end, just reaches the margin.
    """
    if abs(difference) < margin:
        return _least(interval, margin)
    low, high = 0.0, 0.5
    for _ in range(50):
        middle = (low + high) / 2
        if _outside(interval(max(middle, 1e-12)), margin):
            high = middle
        else:
            low = middle
    return 1 - high


def _outside(interval: Interval | None, margin: float) -> bool:
    return interval is not None and (interval.low > margin or interval.high < -margin)


def _least(interval: Callable[[float], Interval | None], margin: float) -> float:
    """The least tail whose interval lies within the margin, by halving: intervals grow as tails
    shrink.
    """
    low, high = 0.0, 0.5
    for _ in range(50):
        middle = (low + high) / 2
        # The quantiles have no value at a tail of 0.
        if _inside(interval(max(middle, 1e-12)), margin):
            high = middle
        else:
            low = middle
    return high


def _difference(
    a: list[tuple[int, int]], b: list[tuple[int, int]], level: float
) -> tuple[float, Interval]:
    """The difference of two rates of clusters of (successes, rows), with its interval.

    Newcombe's method 10: each end is as far from the difference as the root of the squared
    distances from either rate to that end of its interval which moves the difference there.
    """
    rate_a, of_a = _rate(a, level)
    rate_b, of_b = _rate(b, level)
    gap = rate_b - rate_a
    low = gap - math.hypot(rate_b - of_b.low, of_a.high - rate_a)
    high = gap + math.hypot(of_b.high - rate_b, rate_a - of_a.low)
    return gap, Interval(low, high, level, f"Newcombe from {of_a.method} and {of_b.method}")


def _rate(clusters: list[tuple[int, int]], level: float) -> tuple[float, Interval]:
    interval = clustered_rate_interval(clusters, level)
    assert interval is not None
    successes = sum(successes for successes, _ in clusters)
    return successes / sum(rows for _, rows in clusters), interval


def _check(margin: float, alpha: float) -> None:
    if not (margin > 0 and math.isfinite(margin)):
        raise ValueError(f"the margin of equivalence must be a positive number, not {margin}")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha must lie between 0 and 0.5, not {alpha}")
