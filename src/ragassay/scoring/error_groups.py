"""The errors of a judge by group of rows, such as those with long answers.

A judge that passes too much on the whole is set right by one number. One whose errors depend on the
rows is not: a change of the rows then changes its bias. So the mean error of the rows of a group is
compared with that of the other rows, on rows that people labelled.

The difference of two (weighted) means is a ratio of sums; its variance is that of the summed
influences of whole clusters (Liang & Zeger 1986), with the factor K / (K - 1), and Student's t on
the clusters of the smaller side less one. p-values are Holm-corrected over all groups tried.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragassay.core import Interval
from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray, numbered
from ragassay.scoring.intervals import holm, t_p_value, t_quantile

LEAST_ROWS = 10
"""Labelled rows, and clusters, that each side of a comparison needs."""
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """The judge's mean error on the rows of a group and on the others.

    name: the group in words. rows, others: labelled rows of either side. error, other_error: mean
    of judge - people, in [-1, 1]; above 0 the judge is too generous. difference: error -
    other_error with its interval; p: two-sided, Holm-corrected over all groups that were tried.
    """

    name: str
    rows: int
    others: int
    error: float
    other_error: float
    difference: float
    interval: Interval
    p: float


def error_groups(
    error: FloatArray,
    groups: Sequence[tuple[str, BoolArray, BoolArray]],
    cluster: IntArray,
    weight: FloatArray | None = None,
) -> tuple[ErrorGroup, ...]:
    """The groups whose two sides have enough rows and clusters, the least p first.

    error: judge - people of each labelled row. groups: name, whether it is known of each row which
    side it is on, and whether it is in the group. cluster: codes; weight: how many rows each stands
    for, None where all are equal.
    """
    weights = np.ones(len(error)) if weight is None else weight
    measured = []
    for name, known, inside in groups:
        group = _measured(name, error, known & inside, known & ~inside, cluster, weights)
        if group is not None:
            measured.append(group)
    corrected = holm([group.p for group in measured])
    found = [replace(group, p=p) for group, p in zip(measured, corrected, strict=True)]
    return tuple(sorted(found, key=lambda group: group.p))


def _measured(
    name: str,
    error: FloatArray,
    inside: BoolArray,
    outside: BoolArray,
    cluster: IntArray,
    weight: FloatArray,
) -> ErrorGroup | None:
    """One group beside the other rows, p uncorrected; None where a side has too few."""
    sides = (inside, outside)
    clusters = [len(np.unique(cluster[side])) for side in sides]
    if min(int(side.sum()) for side in sides) < LEAST_ROWS or min(clusters) < LEAST_ROWS:
        return None
    means = [float(np.average(error[side], weights=weight[side])) for side in sides]
    influence = np.zeros(len(error))
    for side, mean, sign in zip(sides, means, (1, -1), strict=True):
        influence[side] = sign * weight[side] * (error[side] - mean) / weight[side].sum()
    either = inside | outside
    code = numbered(cluster[either])
    totals = np.bincount(code, weights=influence[either])
    factor = len(totals) / max(1, len(totals) - 1)
    deviation = math.sqrt(factor * float((totals**2).sum()))
    difference = means[0] - means[1]
    # No error on either side, or the same on every row: nothing is known of the spread.
    if deviation == 0:
        return None
    freedom = float(min(clusters) - 1)
    reach = t_quantile(0.5 + LEVEL / 2, freedom) * deviation
    low, high = max(-2.0, difference - reach), min(2.0, difference + reach)
    return ErrorGroup(
        name,
        int(inside.sum()),
        int(outside.sum()),
        means[0],
        means[1],
        difference,
        Interval(low, high, LEVEL, "cluster-robust t"),
        t_p_value(difference / deviation, freedom),
    )
