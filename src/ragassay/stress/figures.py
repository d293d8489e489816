"""Rates and paired differences over clustered rows, with the rows behind them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ragassay.core import Interval
from ragassay.scoring import clustered_rate_interval, holm, paired_difference
from ragassay.scoring.intervals import PairedResult, exact_rate_interval

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of rows. value: None without rows. rows: ids of those that are counted in it. of: how
    many there are; left_out: how many more have no verdict.
    """

    name: str
    value: float | None
    interval: Interval | None
    of: int
    clusters: int
    rows: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def low(self) -> float:
        """How large the share is for certain: the lower end of the interval, or Clopper and
        Pearson's where that is lower, as it is for few rows; 0 where there is no interval. Wilson's
        interval covers on average: one row of one would make a share above .2 certain.
        """
        exact = exact_rate_interval(len(self.rows), self.of)
        if self.interval is None or exact is None:
            return 0.0
        return min(self.interval.low, exact.low)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A paired difference between a level and its base.

    base, value: share right at the base and at the level, of the same `n` rows. difference: value
    - base. p: of no difference, two-sided; p_corrected: by Holm over the whole grid. ratio: value
    / base, None at a base of 0. retention: share right of those right at the base; rescue: share
    right of those wrong there; None where there are none. broken and mended: ids of rows.
    """

    name: str
    n: int
    clusters: int
    base: float | None
    value: float | None
    difference: float | None
    interval: Interval | None
    p: float | None
    p_corrected: float | None = None
    ratio: float | None = None
    retention: float | None = None
    rescue: float | None = None
    broken: tuple[str, ...] = ()
    mended: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def is_certified_drop(self) -> bool:
        """Whether it is certain, after the correction, that the level is worse than its base."""
        if self.p_corrected is None or self.difference is None:
            return False
        return self.p_corrected < ALPHA and self.difference < 0

    @property
    def certain_loss(self) -> float:
        """How much is lost at least, by the interval; 0 where no loss is certified."""
        if not self.is_certified_drop or self.interval is None:
            return 0.0
        return max(0.0, -self.interval.high)


Pair = tuple[str, str, float, float]
"""(id of the row, cluster, value at the base, value at the level), both in [0, 1]."""


def rate(name: str, rows: Iterable[tuple[str, str, bool | None]]) -> Rate:
    """The share of rows for which something holds. rows: (id, cluster, whether it holds); None is
    left out, and counted.
    """
    clusters: dict[str, tuple[int, int]] = {}
    counted: list[str] = []
    of = left_out = 0
    for row_id, cluster, holds in rows:
        if holds is None:
            left_out += 1
            continue
        of += 1
        hits, size = clusters.get(cluster, (0, 0))
        clusters[cluster] = (hits + holds, size + 1)
        if holds:
            counted.append(row_id)
    value = len(counted) / of if of else None
    interval = clustered_rate_interval(clusters.values())
    return Rate(name, value, interval, of, len(clusters), tuple(counted), left_out)


def contrast(name: str, pairs: Sequence[Pair], left_out: int = 0) -> Contrast:
    """The paired difference of these rows: cluster-robust t (`scoring.paired_difference`)."""
    result = paired_difference((base, value, cluster) for _, cluster, base, value in pairs)
    was_right = [value for _, _, base, value in pairs if base >= 0.5]
    was_wrong = [value for _, _, base, value in pairs if base < 0.5]
    return Contrast(
        name,
        result.n,
        result.clusters,
        result.mean_a,
        result.mean_b,
        result.difference,
        result.interval,
        _p(result, pairs),
        ratio=result.mean_b / result.mean_a
        if result.mean_a and result.mean_b is not None
        else None,
        retention=_mean(was_right),
        rescue=_mean(was_wrong),
        broken=tuple(row for row, _, base, value in pairs if value < base),
        mended=tuple(row for row, _, base, value in pairs if value > base),
        left_out=left_out,
    )


def _p(result: PairedResult, pairs: Sequence[Pair]) -> float | None:
    """The p of a paired difference. Where all rows differ by the same there is no spread to divide
    by, and the sign test alone is weak: ten clusters that all fall do not outlast the correction
    over a grid, where nine of them do by t. What holds of all rows is no less certain than if one
    of them had not differed.
    """
    is_alike = len({value - base for _, _, base, value in pairs}) == 1
    if result.p is None or not result.difference or not is_alike:
        return result.p
    without = min(pairs)
    others = [pair for pair in pairs if pair is not without]
    row, cluster, base, _ = without
    less = [(b, v, c) for _, c, b, v in [*others, (row, cluster, base, base)]]
    p = paired_difference(less).p
    return result.p if p is None else min(result.p, p)


def corrected(contrasts: Sequence[Contrast]) -> list[Contrast]:
    """The contrasts with Holm's correction over all of them that have a p."""
    tested = [n for n, one in enumerate(contrasts) if one.p is not None]
    values = [one.p for one in contrasts if one.p is not None]
    found = list(contrasts)
    for place, p in zip(tested, holm(values), strict=True):
        found[place] = replace(found[place], p_corrected=p)
    return found


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
