"""What is the true mean of a metric, from a judge on every row and people on a few?

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan & Zrnic 2023) with a tuned
weight (PPI++, Angelopoulos, Duchi & Zrnic 2023): judge's mean over all rows times the weight, plus
the mean over the labelled rows of label - weight * judge. At weight 0 that is the labels alone, and
no judge, however bad, can bias it at any weight. The weight is fitted on the other clusters than
those it is used on (ten folds; Zrnic & Candes 2024 on cross-fitting), so that a weight which
happened to fit the labels cannot make the interval too narrow.

What is estimated is the mean of the population that the run's rows were drawn from (of the system,
not of these very rows). Every variance is the sum of squared influences of whole units: a cluster
with all its labelled and unlabelled rows is one unit, a row without a cluster another. Labelled
rows drawn with known unequal probabilities are weighted by their inverse (Hajek), strata are
centred apart. Student's t on Kish's effective number of labelled units, less one a stratum and one
for the weight. Two things keep rare disagreements honest: Johnson's (1978) shift for skewness, and
two unseen rows, one for each sign, on which label and judge might yet have differed (they add
nothing where the judge does not count).

The interval is used where it is no more than 1 % wider than that of the labels alone; else the
labels stand alone. A second judge's scores may stand beside the first one's: each has a weight of
its own, fitted together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.core import Interval
from ragassay.scoring.intervals import MeanAccumulator, _wilson, normal_quantile, t_quantile

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEVEL = 0.95
LEAST_LABELS = 50
"""With fewer labels, or fewer effective ones, the weight and the spread are not known well enough.
"""
LEAST_UNITS = 10
WIDER = 1.01
FOLDS = 10
UNSEEN = 2.0
"""Rows that might have disagreed with the judge by the whole range: the variance's allowance for
none or few seen.
"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean corrected by labels.

    value, interval: the answer. labels_only, labels_only_interval: the same from the labelled rows
    without the judge. judge: the judge's mean over all rows, None without any. weight: how much the
    judge counts, averaged over the folds; 0 where labels stand alone; second: the same of the
    second judge, None without one. effective_labels: how many labels would give an interval as
    narrow without the judge, n_labelled * (width alone / width)^2; None where an interval is
    missing. n_labelled, n_total: labelled rows, rows of the run. units: effective number of
    independent labelled units. method: "labels alone" or what was done; reason: why labels stand
    alone, or what to beware of.
    """

    value: float | None
    interval: Interval | None
    labels_only: float | None
    labels_only_interval: Interval | None
    judge: float | None
    weight: float
    effective_labels: float | None
    n_labelled: int
    n_total: int
    clusters: int
    units: float
    method: str
    reason: str = ""
    second: float | None = None


@dataclass(frozen=True, slots=True)
class Plain:
    """Textbook PPI++ of a mean with a given weight: point and normal interval."""

    value: float
    interval: Interval


def plain(
    label: Floats, score: Floats, unlabelled: Floats, weight: float, level: float = LEVEL
) -> Plain:
    """PPI++ as in the paper, for independent rows: labelled (label, score) beside the scores of
    other rows.

    value = weight * mean(unlabelled) + mean(label - weight * score); variance = weight^2
    var(unlabelled) / N + var(label - weight * score) / n with divisors N and n; normal quantile.
    For comparison; `estimate` is what covers with few labels. Raises ValueError on empty or unequal
    arrays.
    """
    _check(label, score)
    if not len(label) or not len(unlabelled):
        raise ValueError("labelled and unlabelled rows are needed")
    rest = label - weight * score
    value = weight * float(unlabelled.mean()) + float(rest.mean())
    variance = weight**2 * float(unlabelled.var()) / len(unlabelled) + float(rest.var()) / len(rest)
    reach = normal_quantile(0.5 + level / 2) * math.sqrt(variance)
    return Plain(value, Interval(value - reach, value + reach, level, "PPI++, given weight"))


def estimate(
    label: Sequence[float] | Floats,
    score: Sequence[float] | Floats,
    population: Sequence[float] | Floats,
    *,
    units: tuple[Sequence[int] | Ints, Sequence[int] | Ints] | None = None,
    inclusion: Sequence[float] | Floats | None = None,
    strata: tuple[Sequence[int] | Ints, Sequence[int] | Ints] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    level: float = LEVEL,
    seed: int = 0,
    second: tuple[Sequence[float] | Floats, Sequence[float] | Floats] | None = None,
) -> Estimate:
    """The mean of the label over the population behind the run's rows.

    label, score: people's value and the judge's score of each labelled row. population: the judge's
    score of every row of the run, labelled ones included where they are of the run. units: cluster
    codes of the labelled rows and of the population; rows of one code, on whichever side, are one
    unit; None = all rows are independent and the labelled are not of the run. inclusion: each
    labelled row's probability of having been chosen for labelling, None = equal. strata: codes of
    both sides when labels were drawn within strata by fixed numbers; one with fewer than two
    labelled units makes all strata one. low, high: the label's range; values outside raise
    ValueError, as do NaN, unequal lengths and inclusion outside (0, 1].

    No label: value and interval None. Fewer than 50 labels or ten labelled units, labels that are
    all equal, a judge that is constant there or does not help: the labels alone, with the reason.
    seed: of the folds. second: another judge's score of each labelled row, and of every row of the
    run.
    """
    data = _data(label, score, population, units, inclusion, strata, low, high, second)
    n, total = len(data.label), len(data.population)
    judge = float(data.population.mean()) if total else None
    if not n:
        return Estimate(None, None, None, None, judge, 0.0, None, 0, total, 0, 0.0, "", "no labels")
    alone, interval = _labels_alone(data, level)
    effective = data.effective

    def labels(reason: str) -> Estimate:
        known = float(n) if interval is not None else None
        return Estimate(
            alone,
            interval,
            alone,
            interval,
            judge,
            0.0,
            known,
            n,
            total,
            data.clusters,
            effective,
            "labels alone",
            reason,
            None if second is None else 0.0,
        )

    if n < LEAST_LABELS:
        return labels(f"fewer than {LEAST_LABELS} labels: the judge's part cannot be fitted")
    if effective < LEAST_UNITS or (data.weighted and data.kish < LEAST_LABELS / 2):
        return labels(
            f"the labels are worth {effective:.0f} independent ones: too few to fit the judge's"
            " part"
        )
    if not total:
        return labels("no row of the run has a score")
    if np.ptp(data.label) == 0:
        return labels("all labels are equal: they do not show where the judge errs")
    fitted = _fitted(data, level, seed)
    if isinstance(fitted, str):
        return labels(fitted)
    value, corrected, weights = fitted
    if interval is None:
        return labels("the labels' own spread is not known")
    if not low <= value <= high:
        return labels("the correction would leave the range of the labels")
    ratio = _width(corrected) / _width(interval) if _width(interval) else math.inf
    if ratio > WIDER:
        return labels("the judge's scores do not narrow the interval")
    return Estimate(
        value,
        corrected,
        alone,
        interval,
        judge,
        float(weights[0]),
        n / ratio**2,
        n,
        total,
        data.clusters,
        effective,
        corrected.method,
        second=None if second is None else float(weights[1]),
    )


@dataclass(frozen=True)
class _Data:
    """Checked arrays. w: weights of the labelled rows, summing to 1; unit codes run over both
    sides. others: the second judge's scores of the labelled rows and of the population.
    """

    label: Floats
    score: Floats
    population: Floats
    unit: Ints
    population_unit: Ints
    stratum: Ints
    share: Floats
    population_stratum: Ints
    w: Floats
    weighted: bool
    grouped: bool
    low: float
    high: float
    groups: int
    others: tuple[Floats, Floats] | None = None

    @property
    def kish(self) -> float:
        """Effective number of labelled rows."""
        return float(1 / (self.w**2).sum())

    @property
    def clusters(self) -> int:
        return len(np.unique(self.unit))

    @property
    def effective(self) -> float:
        """Kish's effective number of labelled units."""
        totals = np.bincount(self.unit, self.w)
        return float(1 / (totals**2).sum())


def _check(label: Floats, score: Floats) -> None:
    if len(label) != len(score):
        raise ValueError("a label and a score for every labelled row")
    if not (np.isfinite(label).all() and np.isfinite(score).all()):
        raise ValueError("labels and scores must be finite")


def _data(
    label: Sequence[float] | Floats,
    score: Sequence[float] | Floats,
    population: Sequence[float] | Floats,
    units: tuple[Sequence[int] | Ints, Sequence[int] | Ints] | None,
    inclusion: Sequence[float] | Floats | None,
    strata: tuple[Sequence[int] | Ints, Sequence[int] | Ints] | None,
    low: float,
    high: float,
    second: tuple[Sequence[float] | Floats, Sequence[float] | Floats] | None = None,
) -> _Data:
    y, f, every = (np.asarray(x, dtype=float) for x in (label, score, population))
    _check(y, f)
    n, total = len(y), len(every)
    if not np.isfinite(every).all():
        raise ValueError("scores must be finite")
    others = (
        None
        if second is None
        else (np.asarray(second[0], dtype=float), np.asarray(second[1], dtype=float))
    )
    if others is not None:
        _check(y, others[0])
        _check(every, others[1])
    if n and (y.min() < low or y.max() > high):
        raise ValueError(f"a label lies outside {low:g} to {high:g}")
    pi = np.ones(n) if inclusion is None else np.asarray(inclusion, dtype=float)
    if len(pi) != n or not ((pi > 0) & (pi <= 1)).all():
        raise ValueError("an inclusion probability in (0, 1] for every labelled row")
    if units is None:
        own, theirs = np.arange(n), np.arange(n, n + total)
    else:
        own, theirs = np.asarray(units[0], dtype=int), np.asarray(units[1], dtype=int)
    if len(own) != n or len(theirs) != total:
        raise ValueError("a unit for every row")
    codes = np.unique(np.concatenate([own, theirs]), return_inverse=True)[1]
    own, theirs, groups = codes[:n], codes[n:], int(codes.max(initial=-1)) + 1
    layer, layers = np.zeros(n, dtype=int), np.zeros(total, dtype=int)
    if strata is not None:
        layer, layers = np.asarray(strata[0], dtype=int), np.asarray(strata[1], dtype=int)
        if len(layer) != n or len(layers) != total:
            raise ValueError("a stratum for every row")
        labelled, seen = set(layer.tolist()), set(layers.tolist())
        if labelled != seen or any(len(np.unique(own[layer == h])) < 2 for h in labelled):
            layer, layers = np.zeros(n, dtype=int), np.zeros(total, dtype=int)
        else:
            codes = np.unique(np.concatenate([layer, layers]), return_inverse=True)[1]
            layer, layers = codes[:n], codes[n:]
    w = 1 / pi
    strata_count = int(layer.max()) + 1 if n else 1
    share = (
        np.bincount(layers, minlength=strata_count) / total
        if total and strata_count > 1
        else np.ones(1)
    )
    for h in range(strata_count if n else 0):
        w[layer == h] *= share[h] / w[layer == h].sum()
    weighted = n > 0 and bool(np.ptp(w) > 1e-12 * w.max())
    grouped = len(np.unique(own)) < n or len(np.unique(theirs)) < total
    return _Data(
        y,
        f,
        every,
        own,
        theirs,
        layer,
        share,
        layers,
        w,
        weighted,
        grouped,
        low,
        high,
        groups,
        others,
    )


def _totals(unit: Ints, parts: Floats, groups: int) -> Floats:
    return np.bincount(unit, parts, minlength=groups).astype(float)


def _labelled_part(data: _Data, x: Floats) -> Floats:
    """Influence of every unit on the weighted mean of x over the labelled rows, within strata."""
    means = np.bincount(data.stratum, data.w * x) / np.bincount(data.stratum, data.w)
    parts = data.w * (x - means[data.stratum])
    factor = np.ones(len(means))
    for h in range(len(means)):
        units = len(np.unique(data.unit[data.stratum == h]))
        factor[h] = math.sqrt(units / (units - 1)) if units > 1 else 1.0
    return _totals(data.unit, parts * factor[data.stratum], data.groups)


def _strata_part(data: _Data, x: Floats) -> Floats:
    """Influence of every unit through the strata's shares of the run; 0 without strata."""
    if len(data.share) < 2:
        return np.zeros(data.groups)
    means = np.bincount(data.stratum, data.w * x) / np.bincount(data.stratum, data.w)
    parts = means[data.population_stratum]
    parts = (parts - parts.mean()) / len(parts)
    return _totals(data.population_unit, parts, data.groups)


def _population_part(data: _Data, population: Floats) -> Floats:
    """Influence of every unit on a judge's mean over the run."""
    parts = (population - population.mean()) / len(population)
    return _totals(data.population_unit, parts, data.groups)


def _fitted(data: _Data, level: float, seed: int) -> tuple[float, Interval, Floats] | str:
    """(value, interval, mean weight of each judge) with cross-fitted weights; else why the judge
    cannot help.
    """
    if np.ptp(data.score) == 0 or np.ptp(data.population) == 0:
        return "the judge gives these rows one and the same score"
    sides = [(data.score, data.population), *([] if data.others is None else [data.others])]
    judged = np.stack([score - population.mean() for score, population in sides], axis=1)
    everywhere = np.stack([_population_part(data, population) for _, population in sides], axis=1)
    from_labels = _labelled_part(data, data.label) + _strata_part(data, data.label)
    from_judge = (
        np.stack([_labelled_part(data, one) + _strata_part(data, one) for one in judged.T], axis=1)
        - everywhere
    )
    labelled = np.unique(data.unit)
    fold = np.empty(data.groups, dtype=int)
    rng = np.random.default_rng(seed)
    rest = np.setdiff1d(np.arange(data.groups), labelled)
    fold[labelled] = rng.permutation(
        np.arange(len(labelled)) % FOLDS
    )  # every fold its share of the labels
    fold[rest] = rng.permutation(np.arange(len(rest)) % FOLDS)
    least = 1e-12 * float((from_judge**2).sum())
    weights = np.stack(
        [
            _weights(from_labels[fold != held], from_judge[fold != held], least)
            for held in range(FOLDS)
        ]
    )
    own = weights[fold[data.unit]]
    residual = data.label - (own * judged).sum(axis=1)
    value = float((data.w * residual).sum())
    mean_weight = data.w @ own
    influence = (
        _labelled_part(data, residual) + _strata_part(data, residual) + everywhere @ mean_weight
    )
    freedom = max(
        1.0, data.effective - len(data.share) - len(sides)
    )  # each weight was fitted: one less than for a mean
    squared = float((influence**2).sum()) * (1 + 1 / freedom)
    if squared >= float((from_labels**2).sum()):
        # another formula's narrower reach would be no gain
        return "the judge's scores do not narrow the interval"
    t = t_quantile(0.5 + level / 2, freedom)
    skew = float((influence**3).sum()) / squared if squared > 0 else 0.0
    shift = skew * (1 + 2 * t * t) / 6
    allowance = UNSEEN * ((data.high - data.low) / data.kish) ** 2
    reach = t * math.sqrt(squared + allowance)
    low, high = max(data.low, value + shift - reach), min(data.high, value + shift + reach)
    method = "PPI++, cross-fitted weight, " + ("cluster-robust t" if data.grouped else "t")
    if data.weighted:
        method += ", weighted by inclusion"
    if len(data.share) > 1:
        method += f", {len(data.share)} strata"
    return value, Interval(low, high, level, method), mean_weight


def _weights(from_labels: Floats, from_judge: Floats, least: float) -> Floats:
    """The weights [judges] that leave the least variance; none where the judges vary no more than
    `least`.
    """
    squares = from_judge.T @ from_judge
    if np.trace(squares) <= least:
        return np.zeros(len(squares))
    found: Floats = np.linalg.pinv(squares, rcond=1e-12, hermitian=True) @ (
        from_judge.T @ from_labels
    )
    return found


def _labels_alone(data: _Data, level: float) -> tuple[float, Interval | None]:
    """Mean of the labels and its interval: Wilson for 0/1, t else; inverse inclusion weights where
    they differ.
    """
    binary = bool(np.isin(data.label, (data.low, data.high)).all()) and data.high > data.low
    if not data.weighted and len(data.share) < 2:
        span = data.high - data.low
        unit = binary and span > 0
        mean = MeanAccumulator(0.0 if unit else data.low, 1.0 if unit else data.high)
        for value, code in zip(data.label.tolist(), data.unit.tolist(), strict=True):
            mean.add(
                (value - data.low) / span if unit else value, str(code) if data.grouped else None
            )
        result = mean.result(level)
        low, interval = float(result.mean or 0.0), result.interval
        if unit:
            low = data.low + span * low
            if interval is not None:
                interval = Interval(
                    data.low + span * interval.low,
                    data.low + span * interval.high,
                    level,
                    interval.method,
                )
        return low, interval
    value = float((data.w * data.label).sum())
    influence = _labelled_part(data, data.label) + _strata_part(data, data.label)
    variance, effective = float((influence**2).sum()), data.effective
    t = t_quantile(0.5 + level / 2, max(1.0, effective - len(data.share)))
    if binary:
        return value, _weighted_wilson(value, variance, t, data, level)
    if variance == 0.0:
        share = 1 - ((1 - level) / 2) ** (1 / effective)
        low, high = value - share * (value - data.low), value + share * (data.high - value)
        return value, Interval(low, high, level, "exact bound, all values equal")
    reach = t * math.sqrt(variance)
    return value, Interval(
        max(data.low, value - reach), min(data.high, value + reach), level, "weighted t"
    )


def _weighted_wilson(
    value: float, variance: float, t: float, data: _Data, level: float
) -> Interval:
    """Wilson's interval for the number of rows that independent equal ones would need for this
    variance.
    """
    z, span = normal_quantile(0.5 + level / 2), data.high - data.low
    rate = (value - data.low) / span
    n = data.effective
    if variance > 0:
        n = max(
            1.0, min(float(len(data.label)), rate * (1 - rate) * span**2 / variance * (z / t) ** 2)
        )
    found = _wilson(min(1.0, max(0.0, rate)), n, level, "weighted Wilson")
    return Interval(data.low + span * found.low, data.low + span * found.high, level, found.method)


def _width(interval: Interval) -> float:
    return interval.high - interval.low
