"""A rate from a few labels, apart for the rows on which the judge says one thing and another.

The judge's verdicts on all rows say how many rows are of each kind, and the labels which share of
each kind people pass: rate = sum over verdicts of (share of the run's rows) * (rate of the labelled
rows with this verdict). For a judge of two verdicts this is prediction-powered inference with the
weight that leaves the least variance, and the correction of Rogan and Gladen (1978) by predictive
values in place of sensitivity and specificity.

The interval is of a beta distribution: each part's rate as its labels leave it, with `PRIOR` labels
more on each side (a half on each is Jeffreys' prior, 1 that of Agresti and Coull), and the mean and
variance of their sum. So a part in which no disagreement was seen still has a spread, and the
interval is as skewed as the rate is. The prior was chosen on 45 simulated worlds; how the interval
does on others is measured by benchmarks/coverage and benchmarks/small_labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ragassay.core import Interval
from ragassay.scoring.intervals import beta_quantile

PRIOR = 0.6
"""Labels that are added to each side of each part."""
MOST_VERDICTS = 4
"""Verdicts, of two judges together where there are two."""
LEAST_ROWS = 2
"""Labelled rows that every verdict needs; with fewer, its rate is hardly known at all."""


def rate_by_verdict(
    shares: Sequence[float],
    rates: Sequence[float],
    worth: Sequence[float],
    rows: int,
    level: float,
) -> tuple[float, Interval]:
    """The rate, and its interval.

    shares: of each verdict in the run, summing to 1. rates: which share of its labelled rows people
    pass, in [0, 1]. worth: how many rows of equal chance these labels are worth, above 0. rows: of
    the run, whose shares are of a sample too.
    """
    value = math.fsum(share * rate for share, rate in zip(shares, rates, strict=True))
    middles: list[float] = []
    variances: list[float] = []
    for share, rate, labels in zip(shares, rates, worth, strict=True):
        filled = labels + 2 * PRIOR
        middle = (rate * labels + PRIOR) / filled
        middles.append(middle)
        variances.append(share**2 * middle * (1 - middle) / filled)
    mean = math.fsum(share * middle for share, middle in zip(shares, middles, strict=True))
    squares = zip(shares, middles, strict=True)
    between = math.fsum(share * (middle - mean) ** 2 for share, middle in squares)
    variance = math.fsum(variances) + between / rows
    concentration = mean * (1 - mean) / variance - 1
    a, b = mean * concentration, (1 - mean) * concentration
    low = beta_quantile((1 - level) / 2, a, b)
    high = beta_quantile((1 + level) / 2, a, b)
    # Where nearly all labels are alike, the added ones may take an end past the estimate.
    interval = Interval(min(low, value), max(high, value), level, "judge's verdict, beta")
    return value, interval
