"""Means of all rows from a sample in which each row had a known chance.

Rows weigh 1 / chance (Hajek's ratio of Horvitz & Thompson's totals). Sessions are sampled by one
number in [0, 1) each: a row is in the sample where its chance is above its session's number, so two
rows of a session are in it together with the smaller of their chances, and sessions are
independent. The variance is that of this design, estimated without bias by rows and pairs of rows
of a session (Horvitz & Thompson 1952; linearised for the ratio, Sarndal, Swensson & Wretman 1992,
section 5.6): it tells how far the mean of the sample is from that of the rows that came, and is 0
where all of them are in the sample.

The interval of a share joins Wilson's intervals of the rows of each chance by the distances of
their ends from the estimates (Zou & Donner 2008, section 2): few rows of a small chance weigh most,
and where all of them passed the variance alone would say that nothing is left open. The interval of
other means is Student's t.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.core import Interval
from ragassay.scoring.arrays import FloatArray, IntArray
from ragassay.scoring.intervals import t_quantile

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Reweighted:
    """The mean of all rows, estimated. value: None without a row. n, sessions: observed. rows: how
    many rows the observed ones stand for. interval: None where one session cannot give one.
    """

    value: float | None
    interval: Interval | None
    n: int
    sessions: int
    rows: float


def reweighted_mean(
    values: Sequence[float] | FloatArray,
    chances: Sequence[float] | FloatArray,
    sessions: Sequence[int] | IntArray,
    *,
    level: float = LEVEL,
) -> Reweighted:
    """The mean over all rows of values in [0, 1]. sessions: a code per row. Raises ValueError for
    values outside [0, 1], chances outside (0, 1], or unequal lengths.
    """
    y, p = np.asarray(values, dtype=float), np.asarray(chances, dtype=float)
    code = np.asarray(sessions, dtype=np.int64)
    if not len(y) == len(p) == len(code):
        raise ValueError("a value, a chance and a session for each row")
    if not len(y):
        return Reweighted(None, None, 0, 0, 0.0)
    if not ((y >= 0) & (y <= 1)).all() or not ((p > 0) & (p <= 1)).all():
        raise ValueError("values lie in [0, 1], chances in (0, 1]")
    weight = 1 / p
    total = float(weight.sum())
    mean = float((weight * y).sum() / total)
    parts = _parts(y - mean, p, code)
    count = len(np.unique(code))
    is_share = bool(((y == 0) | (y == 1)).all())
    interval_of = _share_interval if is_share else _interval
    interval = interval_of(mean, y, p, parts / total**2, count, level)
    return Reweighted(mean, interval, len(y), count, total)


def _parts(e: FloatArray, p: FloatArray, code: IntArray) -> FloatArray:
    """What each session adds to the variance of the total of e: over its pairs of rows i, j with
    chances p_i <= p_j, e_i e_j (p_i - p_i p_j) / (p_i p_j p_i) = e_i e_j (1 / p_j - 1) / p_i ...

    In order of falling chance the pair's smaller chance is the later row's, so one running sum a
    session does for all pairs.
    """
    order = np.lexsort((-p, code))
    sums: dict[int, float] = {}
    parts: dict[int, float] = {}
    for at in order.tolist():
        session, own, chance = int(code[at]), float(e[at]), float(p[at])
        # Earlier rows j have larger chances: (chance - chance p_j) / (chance p_j chance)
        # = (1 / p_j - 1) / chance; the row with itself has p_j = chance.
        before = sums.get(session, 0.0)
        gap = 1 / chance - 1
        parts[session] = parts.get(session, 0.0) + 2 * own * before / chance + own**2 * gap / chance
        sums[session] = before + own * gap
    return np.array(list(parts.values()))


def _interval(
    mean: float, y: FloatArray, p: FloatArray, parts: FloatArray, sessions: int, level: float
) -> Interval | None:
    if (p == 1).all():
        return Interval(mean, mean, level, "all rows are judged")
    if sessions < 2:
        return None
    total = float(parts.sum())
    # Distances from a mean of the same sessions are too small by (n - 1) / n.
    variance = max(0.0, total) * sessions / (sessions - 1)
    t = t_quantile(0.5 + level / 2, _freedom(parts, sessions))
    if variance <= 1e-18:
        # All are alike, which says little where they are few.
        size = (1 / p).sum() ** 2 / (1 / p**2).sum() / float((1 - p).mean() or 1.0)
        low, high = _wilson(mean, float(min(size, sessions)), t)
        return Interval(low, high, level, "Wilson's by session")
    reach = t * math.sqrt(variance)
    return Interval(max(0.0, mean - reach), min(1.0, mean + reach), level, "Student's t by session")


def _freedom(parts: FloatArray, sessions: int) -> float:
    """Degrees of freedom of the variance, the sum of the sessions' parts: 2 V^2 / var(V)
    (Satterthwaite 1946). Sessions that weigh most tell the spread least well.
    """
    total = float(parts.sum())
    spread = float((parts**2).sum()) - total**2 / sessions
    most = sessions - 1.0
    return max(1.0, min(most, 2 * total**2 / spread)) if spread > 0 else most


def _share_interval(
    mean: float, y: FloatArray, p: FloatArray, parts: FloatArray, sessions: int, level: float
) -> Interval | None:
    """Of a share: over the rows of each chance p_h, of which there are n_h, with mean m_h and
    weight w_h in the whole, mean - low = sqrt(sum (w_h (m_h - low_h))^2 + t^2 B), and likewise
    high. B is the variance that comes of the weights, which the sample tells as well.
    """
    if (p == 1).all():
        return Interval(mean, mean, level, "all rows are judged")
    if sessions < 2:
        return None
    total = float((1 / p).sum())
    # What rows of one session have in common makes fewer rows of them.
    alone = float(((y - mean) ** 2 * (1 - p) / p**2).sum()) / total**2
    shared = max(1.0, float(parts.sum()) / alone if alone > 0 else len(y) / sessions)
    is_alone = len(y) == sessions
    freedom = sessions - 1.0 if is_alone else _freedom(parts, sessions)
    t = t_quantile(0.5 + level / 2, freedom)
    below = above = 0.0
    for chance in np.unique(p[p < 1]).tolist():
        own = y[p == chance]
        n, own_mean = len(own), float(own.mean())
        weight = n / chance / total
        # Where all are alike, that few were left out is not what makes it so.
        seen = n if own_mean in (0.0, 1.0) else n / (1 - chance)
        low, high = _wilson(own_mean, seen / shared, t)
        of_weights = (own_mean - mean) ** 2 * n * (1 - chance) / chance**2 / total**2 * shared
        below += (weight * (own_mean - low)) ** 2 + t**2 * of_weights
        above += (weight * (high - own_mean)) ** 2 + t**2 * of_weights
    low, high = max(0.0, mean - math.sqrt(below)), min(1.0, mean + math.sqrt(above))
    return Interval(low, high, level, "Wilson's by chance and session")


def _wilson(mean: float, n: float, t: float) -> tuple[float, float]:
    centre = (mean + t**2 / (2 * n)) / (1 + t**2 / n)
    reach = t / (1 + t**2 / n) * math.sqrt(mean * (1 - mean) / n + t**2 / (4 * n**2))
    return max(0.0, centre - reach), min(1.0, centre + reach)
