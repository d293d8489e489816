"""The true mean of a metric, estimated from a judge on every row and people on a few.

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

Labels of two values and a judge of two verdicts on rows without clusters, which is the usual case,
are taken apart by verdict instead (`by_verdict`): the same estimate, with a narrower interval.

By verdict the interval is used where it is 3 % narrower than the same formula makes that of the
labels alone; with a fitted weight where it is no more than 1 % wider. Else the labels stand alone.
A second judge's scores may stand beside the first one's: each has a weight of its own, fitted
together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ragassay.core import Interval
from ragassay.scoring import by_verdict
from ragassay.scoring.arrays import FloatArray, IntArray, numbered
from ragassay.scoring.intervals import (
    MeanAccumulator,
    normal_quantile,
    t_quantile,
    unmet_share,
    wilson,
)

Values = Sequence[float] | FloatArray
Codes = Sequence[int] | IntArray

LEVEL = 0.95
LEAST_LABELS = 50
"""With fewer labels, or fewer effective ones, the weight and the spread are not known well enough.
"""
LEAST_UNITS = 10
WIDER = 1.01
"""With a fitted weight the interval may be so many times as wide as that of the labels alone."""
NARROWER = 0.97
"""Taken apart by verdict the interval has to be so much narrower: a judge that says nothing narrows
it by chance, and rarely by so much.
"""
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
    label: FloatArray,
    score: FloatArray,
    unlabelled: FloatArray,
    weight: float,
    level: float = LEVEL,
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
    residual = label - weight * score
    value = weight * float(unlabelled.mean()) + float(residual.mean())
    of_judge = weight**2 * float(unlabelled.var()) / len(unlabelled)
    variance = of_judge + float(residual.var()) / len(residual)
    reach = normal_quantile(0.5 + level / 2) * math.sqrt(variance)
    return Plain(value, Interval(value - reach, value + reach, level, "PPI++, given weight"))


def estimate(
    label: Values,
    score: Values,
    population: Values,
    *,
    units: tuple[Codes, Codes] | None = None,
    inclusion: Values | None = None,
    strata: tuple[Codes, Codes] | None = None,
    low: float = 0.0,
    high: float = 1.0,
    level: float = LEVEL,
    seed: int = 0,
    second: tuple[Values, Values] | None = None,
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
    alone = _alone(data, level)
    reason = _why_unfit(data)
    if reason:
        return replace(alone, reason=reason)
    fitted = _by_verdict(data, level) or _fit(data, level, seed)
    if isinstance(fitted, str):
        return replace(alone, reason=fitted)
    if alone.interval is None:
        return replace(alone, reason="the labels' own spread is not known")
    if not low <= fitted.value <= high:
        return replace(alone, reason="the correction would leave the range of the labels")
    width = _width(alone.interval)
    ratio = fitted.ratio
    if ratio is None:
        ratio = _width(fitted.interval) / width if width else math.inf
    if ratio > (WIDER if fitted.ratio is None else NARROWER):
        return replace(alone, reason=_NOT_NARROWER)
    return replace(
        alone,
        value=fitted.value,
        interval=fitted.interval,
        weight=float(fitted.weights[0]),
        effective_labels=alone.n_labelled / ratio**2,
        method=fitted.interval.method,
        second=None if second is None else float(fitted.weights[1]),
    )


def with_noise(estimate: Estimate, noise: float, low: float, high: float) -> Estimate:
    """The estimate with wider intervals: labels are not known exactly, and their mean has a
    variance of `noise` for it, apart from that of the rows. low, high: the label's range.
    """
    if noise <= 0:
        return estimate
    intervals = []
    for value, interval in (
        (estimate.value, estimate.interval),
        (estimate.labels_only, estimate.labels_only_interval),
    ):
        if value is None or interval is None:
            intervals.append(interval)
            continue
        reach = normal_quantile(0.5 + interval.level / 2) ** 2 * noise
        bottom = value - math.sqrt((value - interval.low) ** 2 + reach)
        top = value + math.sqrt((interval.high - value) ** 2 + reach)
        method = f"{interval.method}, for labels that err"
        intervals.append(
            replace(interval, low=max(low, bottom), high=min(high, top), method=method)
        )
    answer, alone = intervals
    effective = estimate.effective_labels
    if effective is not None and answer is not None and alone is not None and _width(answer):
        effective = estimate.n_labelled * (_width(alone) / _width(answer)) ** 2
    return replace(
        estimate, interval=answer, labels_only_interval=alone, effective_labels=effective
    )


_NOT_NARROWER = "the judge's scores do not narrow the interval"


def _alone(data: _Data, level: float) -> Estimate:
    """The estimate by the labels alone; without a value where there is no label."""
    n, total = len(data.label), len(data.population)
    judge = float(data.population.mean()) if total else None
    if not n:
        return Estimate(None, None, None, None, judge, 0.0, None, 0, total, 0, 0.0, "", "no labels")
    value, interval = _labels_alone(data, level)
    return Estimate(
        value=value,
        interval=interval,
        labels_only=value,
        labels_only_interval=interval,
        judge=judge,
        weight=0.0,
        effective_labels=None if interval is None else float(n),
        n_labelled=n,
        n_total=total,
        clusters=data.clusters,
        units=data.effective,
        method="labels alone",
        second=None if data.others is None else 0.0,
    )


def _why_unfit(data: _Data) -> str:
    """Why the judge's part cannot be fitted to these labels, "" where it can."""
    n = len(data.label)
    if not n:
        return "no labels"
    if n < LEAST_LABELS:
        return f"fewer than {LEAST_LABELS} labels: the judge's part cannot be fitted"
    effective = data.effective
    if effective < LEAST_UNITS or (data.weighted and data.kish < LEAST_LABELS / 2):
        return (
            f"the labels are worth {effective:.0f} independent ones: too few to fit the judge's"
            " part"
        )
    if not len(data.population):
        return "no row of the run has a score"
    if np.ptp(data.label) == 0:
        return "all labels are equal: they do not show where the judge errs"
    return ""


@dataclass(frozen=True)
class _Data:
    """Checked arrays. w: weights of the labelled rows, summing to 1; unit codes run over both
    sides. others: the second judge's scores of the labelled rows and of the population.
    """

    label: FloatArray
    score: FloatArray
    population: FloatArray
    unit: IntArray
    population_unit: IntArray
    stratum: IntArray
    share: FloatArray
    population_stratum: IntArray
    w: FloatArray
    weighted: bool
    grouped: bool
    low: float
    high: float
    groups: int
    others: tuple[FloatArray, FloatArray] | None = None

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


def _check(label: FloatArray, score: FloatArray) -> None:
    if len(label) != len(score):
        raise ValueError("a label and a score for every labelled row")
    if not (np.isfinite(label).all() and np.isfinite(score).all()):
        raise ValueError("labels and scores must be finite")


def _data(
    label: Values,
    score: Values,
    population: Values,
    units: tuple[Codes, Codes] | None,
    inclusion: Values | None,
    strata: tuple[Codes, Codes] | None,
    low: float,
    high: float,
    second: tuple[Values, Values] | None,
) -> _Data:
    """The arguments of `estimate` as arrays. Raises ValueError for what does not fit together."""
    y = np.asarray(label, dtype=float)
    f = np.asarray(score, dtype=float)
    scores = np.asarray(population, dtype=float)
    _check(y, f)
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite")
    others = None
    if second is not None:
        others = np.asarray(second[0], dtype=float), np.asarray(second[1], dtype=float)
        _check(y, others[0])
        _check(scores, others[1])
    n, total = len(y), len(scores)
    if n and (y.min() < low or y.max() > high):
        raise ValueError(f"a label lies outside {low:g} to {high:g}")
    chance = np.ones(n) if inclusion is None else np.asarray(inclusion, dtype=float)
    if len(chance) != n or not ((chance > 0) & (chance <= 1)).all():
        raise ValueError("an inclusion probability in (0, 1] for every labelled row")
    unit, population_unit = _unit_codes(units, n, total)
    stratum, population_stratum = _stratum_codes(strata, unit, total)
    w, share = _row_weights(chance, stratum, population_stratum)
    return _Data(
        label=y,
        score=f,
        population=scores,
        unit=unit,
        population_unit=population_unit,
        stratum=stratum,
        share=share,
        population_stratum=population_stratum,
        w=w,
        weighted=n > 0 and bool(np.ptp(w) > 1e-12 * w.max()),
        grouped=len(np.unique(unit)) < n or len(np.unique(population_unit)) < total,
        low=low,
        high=high,
        groups=int(max(unit.max(initial=-1), population_unit.max(initial=-1))) + 1,
        others=others,
    )


def _unit_codes(units: tuple[Codes, Codes] | None, n: int, total: int) -> tuple[IntArray, IntArray]:
    """Codes from 0 of the units of both sides; without units every row is its own."""
    if units is None:
        return np.arange(n), np.arange(n, n + total)
    labelled, run = np.asarray(units[0], dtype=int), np.asarray(units[1], dtype=int)
    if len(labelled) != n or len(run) != total:
        raise ValueError("a unit for every row")
    return _recoded(labelled, run)


def _stratum_codes(
    strata: tuple[Codes, Codes] | None, unit: IntArray, total: int
) -> tuple[IntArray, IntArray]:
    """Codes from 0 of the strata of both sides; one stratum where none are given or where one has
    fewer than two labelled units, or no row on a side.
    """
    n = len(unit)
    single = np.zeros(n, dtype=int), np.zeros(total, dtype=int)
    if strata is None:
        return single
    labelled, run = np.asarray(strata[0], dtype=int), np.asarray(strata[1], dtype=int)
    if len(labelled) != n or len(run) != total:
        raise ValueError("a stratum for every row")
    present = set(labelled.tolist())
    if present != set(run.tolist()):
        return single
    # A stratum's spread needs two units: one alone shows none.
    if any(len(np.unique(unit[labelled == stratum])) < 2 for stratum in present):
        return single
    return _recoded(labelled, run)


def _recoded(labelled: IntArray, run: IntArray) -> tuple[IntArray, IntArray]:
    """The codes of both sides as whole numbers from 0."""
    codes = numbered(np.concatenate([labelled, run]))
    return codes[: len(labelled)], codes[len(labelled) :]


def _row_weights(
    chance: FloatArray, stratum: IntArray, population_stratum: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Hajek's weights of the labelled rows, summing to 1, and each stratum's share of the run."""
    w = 1 / chance
    share = np.ones(1)
    if not len(w):
        return w, share
    strata = int(stratum.max()) + 1
    total = len(population_stratum)
    if total and strata > 1:
        share = np.bincount(population_stratum, minlength=strata) / total
    for code in range(strata):
        inside = stratum == code
        w[inside] *= share[code] / w[inside].sum()
    return w, share


def _totals(unit: IntArray, parts: FloatArray, groups: int) -> FloatArray:
    return np.bincount(unit, parts, minlength=groups).astype(float)


def _labelled_part(data: _Data, x: FloatArray) -> FloatArray:
    """Influence of every unit on the weighted mean of x over the labelled rows, within strata."""
    means = np.bincount(data.stratum, data.w * x) / np.bincount(data.stratum, data.w)
    parts = data.w * (x - means[data.stratum])
    # The small-sample factor of a stratum of k units, k / (k - 1), as a root: influences are
    # squared.
    factor = np.ones(len(means))
    for h in range(len(means)):
        units = len(np.unique(data.unit[data.stratum == h]))
        factor[h] = math.sqrt(units / (units - 1)) if units > 1 else 1.0
    return _totals(data.unit, parts * factor[data.stratum], data.groups)


def _strata_part(data: _Data, x: FloatArray) -> FloatArray:
    """Influence of every unit through the strata's shares of the run; 0 without strata."""
    if len(data.share) < 2:
        return np.zeros(data.groups)
    means = np.bincount(data.stratum, data.w * x) / np.bincount(data.stratum, data.w)
    parts = means[data.population_stratum]
    parts = (parts - parts.mean()) / len(parts)
    return _totals(data.population_unit, parts, data.groups)


def _influence(data: _Data, x: FloatArray) -> FloatArray:
    """Influence of every unit on the mean of x over the labelled rows, its strata weighted by their
    shares of the run.
    """
    return _labelled_part(data, x) + _strata_part(data, x)


def _population_part(data: _Data, population: FloatArray) -> FloatArray:
    """Influence of every unit on a judge's mean over the run."""
    parts = (population - population.mean()) / len(population)
    return _totals(data.population_unit, parts, data.groups)


class _Fitted(NamedTuple):
    """The mean corrected by the judges.

    weights: of each judge, averaged over the labelled rows. ratio: width over that of the labels
    alone, where it is not that of the two printed intervals.
    """

    value: float
    interval: Interval
    weights: FloatArray
    ratio: float | None = None


def _fit(data: _Data, level: float, seed: int) -> _Fitted | str:
    """The corrected mean with cross-fitted weights; else why the judge cannot help."""
    if np.ptp(data.score) == 0 or np.ptp(data.population) == 0:
        return "the judge gives these rows one and the same score"
    sides = [(data.score, data.population)]
    if data.others is not None:
        sides.append(data.others)
    # (labelled rows, judges) each judge's score less its mean over the run.
    centred = np.stack([score - population.mean() for score, population in sides], axis=1)
    # (units, judges) the influence on each judge's mean over the run, and on that over the labels.
    on_run = np.stack([_population_part(data, population) for _, population in sides], axis=1)
    on_labelled = [_influence(data, scores) for scores in centred.T]
    from_labels = _influence(data, data.label)
    from_judge = np.stack(on_labelled, axis=1) - on_run
    row_weights = _cross_fitted_weights(data, from_labels, from_judge, seed)
    residual = data.label - (row_weights * centred).sum(axis=1)
    value = float((data.w * residual).sum())
    weights = data.w @ row_weights
    influence = _influence(data, residual) + on_run @ weights
    # Each weight was fitted: one degree of freedom less than for a mean.
    freedom = max(1.0, data.effective - len(data.share) - len(sides))
    squared = float((influence**2).sum()) * (1 + 1 / freedom)
    if squared >= float((from_labels**2).sum()):
        # The labels alone may get another formula, such as Wilson's, whose interval is wider: to be
        # narrower than that at no smaller variance would be no gain.
        return _NOT_NARROWER
    t = t_quantile(0.5 + level / 2, freedom)
    # Johnson 1978: t of a skewed mean is off by skew (1 + 2 t^2) / 6.
    skew = float((influence**3).sum()) / squared if squared > 0 else 0.0
    shift = skew * (1 + 2 * t * t) / 6
    allowance = UNSEEN * ((data.high - data.low) / data.kish) ** 2
    reach = t * math.sqrt(squared + allowance)
    low = max(data.low, value + shift - reach)
    high = min(data.high, value + shift + reach)
    return _Fitted(value, Interval(low, high, level, _method(data)), weights)


def _by_verdict(data: _Data, level: float) -> _Fitted | None:
    """The mean of labels of two values by one or two judges of two verdicts; None for any other.

    None as well for rows in clusters, whose parts would not be independent of each other, for
    labels drawn within strata, and where a verdict has too few labelled rows.
    """
    is_rate = bool(np.isin(data.label, (data.low, data.high)).all()) and data.high > data.low
    if data.grouped or len(data.share) > 1 or not is_rate:
        return None
    columns, population_columns = [data.score], [data.population]
    if data.others is not None:
        columns.append(data.others[0])
        population_columns.append(data.others[1])
    # (verdicts, judges): what the judges say together, where they say it of some row.
    verdicts, population_side = np.unique(
        np.stack(population_columns, axis=1), axis=0, return_inverse=True
    )
    side = _places(np.stack(columns, axis=1), verdicts)
    if side is None or not 2 <= len(verdicts) <= by_verdict.MOST_VERDICTS:
        return None
    if np.bincount(side, minlength=len(verdicts)).min() < by_verdict.LEAST_ROWS:
        return None
    shares = np.bincount(population_side.ravel()) / len(data.population)
    weight = data.w / np.bincount(side, data.w)[side]
    span = data.high - data.low
    rates = np.bincount(side, weight * (data.label - data.low) / span)
    worth = 1 / np.bincount(side, weight**2)
    value, interval = by_verdict.rate_by_verdict(
        shares.tolist(), rates.tolist(), worth.tolist(), len(data.population), level
    )
    if data.weighted:
        interval = replace(interval, method=f"{interval.method}, weighted by inclusion")
    slopes = span * _slopes(verdicts, rates.astype(np.float64), shares)
    # What the judge adds is seen beside the same formula for the labels alone, at the corrected
    # rate: the labels' own interval is narrow where these happen to be nearly alike, and to go back
    # to it just then would miss the truth more often than it says.
    _, alone = by_verdict.rate_by_verdict((1.0,), (value,), (data.kish,), 1, level)
    ratio = _width(interval) / _width(alone)
    return _Fitted(data.low + span * value, _stretched(interval, data), slopes, ratio)


def _places(rows: FloatArray, verdicts: FloatArray) -> IntArray | None:
    """(n,) which of the verdicts each row has; None where a row has none of them."""
    # (n, verdicts)
    same = (rows[:, None, :] == verdicts[None, :, :]).all(axis=2)
    return same.argmax(axis=1) if same.any(axis=1).all() else None


def _slopes(verdicts: FloatArray, rates: FloatArray, shares: FloatArray) -> FloatArray:
    """(judges,) how much the rate rises with each judge's score, by least squares over the rows."""
    by_rows = np.sqrt(shares)[:, None]
    centred = verdicts - shares @ verdicts
    fitted = np.linalg.lstsq(
        by_rows * centred, by_rows[:, 0] * (rates - shares @ rates), rcond=1e-9
    )
    return np.asarray(fitted[0], dtype=np.float64)


def _cross_fitted_weights(
    data: _Data, from_labels: FloatArray, from_judge: FloatArray, seed: int
) -> FloatArray:
    """(labelled rows, judges) the weights that the other folds fit; folds are of whole units."""
    labelled = np.unique(data.unit)
    unlabelled = np.setdiff1d(np.arange(data.groups), labelled)
    fold = np.empty(data.groups, dtype=int)
    rng = np.random.default_rng(seed)
    # Dealt apart, so that every fold has its share of the labels.
    fold[labelled] = rng.permutation(np.arange(len(labelled)) % FOLDS)
    fold[unlabelled] = rng.permutation(np.arange(len(unlabelled)) % FOLDS)
    least = 1e-12 * float((from_judge**2).sum())
    weights = []
    for test in range(FOLDS):
        train = fold != test
        weights.append(_weights(from_labels[train], from_judge[train], least))
    return np.stack(weights)[fold[data.unit]]


def _method(data: _Data) -> str:
    method = "PPI++, cross-fitted weight, " + ("cluster-robust t" if data.grouped else "t")
    if data.weighted:
        method += ", weighted by inclusion"
    if len(data.share) > 1:
        method += f", {len(data.share)} strata"
    return method


def _weights(from_labels: FloatArray, from_judge: FloatArray, least: float) -> FloatArray:
    """The weights [judges] that leave the least variance; none where the judges vary no more than
    `least`.
    """
    squares = from_judge.T @ from_judge
    if np.trace(squares) <= least:
        return np.zeros(len(squares))
    # Two judges may give the very same scores: there is no inverse then, but a pseudo-inverse.
    inverse = np.linalg.pinv(squares, rcond=1e-12, hermitian=True)
    weights: FloatArray = inverse @ (from_judge.T @ from_labels)
    return weights


def _labels_alone(data: _Data, level: float) -> tuple[float, Interval | None]:
    """Mean of the labels and its interval: Wilson for 0/1, t else; inverse inclusion weights where
    they differ.
    """
    binary = bool(np.isin(data.label, (data.low, data.high)).all()) and data.high > data.low
    if not data.weighted and len(data.share) < 2:
        return _equal_labels(data, level, binary)
    value = float((data.w * data.label).sum())
    variance = float((_influence(data, data.label) ** 2).sum())
    effective = data.effective
    t = t_quantile(0.5 + level / 2, max(1.0, effective - len(data.share)))
    if binary:
        return value, _weighted_wilson(value, variance, t, data, level)
    if variance == 0.0:
        share = unmet_share(effective, level)
        low = value - share * (value - data.low)
        high = value + share * (data.high - value)
        return value, Interval(low, high, level, "exact bound, all values equal")
    reach = t * math.sqrt(variance)
    low = max(data.low, value - reach)
    high = min(data.high, value + reach)
    return value, Interval(low, high, level, "weighted t")


def _equal_labels(data: _Data, level: float, binary: bool) -> tuple[float, Interval | None]:
    """Mean and interval of labels that all count the same; of two values as a rate in [0, 1]."""
    span = data.high - data.low
    mean = MeanAccumulator(0.0, 1.0) if binary else MeanAccumulator(data.low, data.high)
    for value, code in zip(data.label.tolist(), data.unit.tolist(), strict=True):
        share = (value - data.low) / span if binary else value
        mean.add(share, str(code) if data.grouped else None)
    result = mean.result(level)
    middle, interval = float(result.mean or 0.0), result.interval
    if not binary:
        return middle, interval
    if interval is not None:
        interval = _stretched(interval, data)
    return data.low + span * middle, interval


def _stretched(interval: Interval, data: _Data) -> Interval:
    """An interval of a rate in [0, 1] on the labels' range."""
    span = data.high - data.low
    low = data.low + span * interval.low
    high = data.low + span * interval.high
    return Interval(low, high, interval.level, interval.method)


def _weighted_wilson(
    value: float, variance: float, t: float, data: _Data, level: float
) -> Interval:
    """Wilson's interval for the number of rows that independent equal ones would need for this
    variance.
    """
    z = normal_quantile(0.5 + level / 2)
    span = data.high - data.low
    rate = (value - data.low) / span
    n = data.effective
    if variance > 0:
        rows = rate * (1 - rate) * span**2 / variance * (z / t) ** 2
        n = max(1.0, min(float(len(data.label)), rows))
    return _stretched(wilson(min(1.0, max(0.0, rate)), n, level, "weighted Wilson"), data)


def _width(interval: Interval) -> float:
    return interval.high - interval.low
