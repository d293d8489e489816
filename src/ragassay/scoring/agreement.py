"""How far does a judge agree with people: every figure, pooled, by slice and as the mean over
slices, with intervals.

A figure over all rows is pooled, the mean over slices of each slice's own figure is macro; they are
never mixed. The value of a figure is computed over the rows as they are; its interval is a cluster
bootstrap's (`scoring.bootstrap`), that of ECE comes from inverting a test on the same draws. Slices
are not strata: clusters are drawn from all.

Plain functions (`kappa`, `auc` ...) take arrays and return a number, or None where it is not
defined.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.core import (
    FIGURES,
    CutPoint,
    Figure,
    Interval,
    JudgeDifference,
    ReliabilityBin,
    SliceFigures,
)
from ragassay.scoring import bootstrap, coefficients
from ragassay.scoring.coefficients import FloatArray, IntArray
from ragassay.scoring.intervals import clustered_rate_interval, holm, t_p_value, t_quantile
from ragassay.scoring.ratings import ECE_BINS, GRADED, BoolArray, Kinds, Ratings, unit_bins

__all__ = [
    "Confusion",
    "Measured",
    "Ratings",
    "ac1",
    "alpha",
    "auc",
    "binary",
    "brier",
    "confusion",
    "cut_curve",
    "differences",
    "ece",
    "figures",
    "kappa",
    "kendall",
    "mcc",
    "off_by_1",
    "pearson",
    "point",
    "reliability",
    "spearman",
]

FEW_CLUSTERS = 10
CUTS = 200
BLOCK = 1_000_000  # values held at a time

_SIGNED = frozenset(
    {
        "kappa",
        "ac1",
        "alpha",
        "mcc",
        "graded_kappa",
        "kappa_linear",
        "kappa_quadratic",
        "alpha_ordinal",
        "pearson",
        "spearman",
        "kendall",
    }
)
_ALL, _TRUE, _FALSE = "rows", "rows that people pass", "rows that people fail"
_PASS, _FAIL = "rows that the judge passes", "rows that the judge fails"
_COLUMNS = {_ALL: (0, 1, 2, 3), _TRUE: (0, 2), _FALSE: (1, 3), _PASS: (0, 1), _FAIL: (2, 3)}
_SIDES = (_TRUE, _FALSE, _PASS, _FAIL)
_BASE: Mapping[str, tuple[str, ...]] = {
    "precision": (_PASS,),
    "recall": (_TRUE,),
    "false_negative_rate": (_TRUE,),
    "false_positive_rate": (_FALSE,),
    "specificity": (_FALSE,),
    "f1": (_TRUE, _PASS),
    "accuracy": (_ALL,),
    "prevalence": (_ALL,),
    "pass_rate": (_ALL,),
    "kappa": _SIDES,
    "alpha": _SIDES,
    "mcc": _SIDES,
    "ac1": (_ALL,),
    "graded_accuracy": (_ALL,),
    "off_by_1": (_ALL,),
    "ece": (_ALL,),
}
# The rows that carry a figure; whatever weighs both classes hangs on the rarer.


@dataclass(frozen=True, slots=True)
class Measured:
    """All figures of one judge. macro and slices are () without slices; slices are in the order of
    their names.
    """

    pooled: tuple[Figure, ...]
    macro: tuple[Figure, ...]
    slices: tuple[SliceFigures, ...]


@dataclass(frozen=True, slots=True)
class Confusion:
    """counts[i][j]: rows with label i and the judge's value j."""

    labels: tuple[str, ...]
    scores: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


# ---- one figure over arrays ----


def binary(name: str, truth: BoolArray, passes: BoolArray) -> float | None:
    """The figure of pass or fail of this name ("precision", "kappa" ...). Raises ValueError for
    another name.
    """
    if name not in coefficients.BINARY:
        raise ValueError(
            f"{name!r} is not a figure of pass or fail: {', '.join(coefficients.BINARY)}"
        )
    cell = np.where(truth, np.where(passes, 0, 2), np.where(passes, 1, 3))
    return _number(coefficients.binary(name, np.bincount(cell, minlength=4).astype(np.float64)))


def mcc(truth: BoolArray, passes: BoolArray) -> float | None:
    """Matthews correlation coefficient, [-1, 1]; None where either side is constant."""
    return binary("mcc", truth, passes)


def ac1(truth: BoolArray, passes: BoolArray) -> float | None:
    """Gwet's AC1 of two raters' pass or fail, [-1, 1]."""
    return binary("ac1", truth, passes)


def kappa(
    a: IntArray, b: IntArray, weights: str | None = None, points: Sequence[float] | None = None
) -> float | None:
    """Cohen's kappa of grades given as indices 0, 1 ...; weights: None, "linear" or "quadratic".

    points: the values of the scale, for weights; without them the steps are equal. None where
    chance never disagrees.
    """
    table = _table(a, b, len(points) if points else 0)
    at = np.asarray(points if points else range(len(table)), dtype=np.float64)
    return _number(coefficients.weighted_kappa(table, coefficients.distances(at, weights)))


def alpha(a: IntArray, b: IntArray, *, ordinal: bool = False) -> float | None:
    """Krippendorff's alpha of two coders' grades given as indices 0, 1 ..., nominal or ordinal."""
    table = _table(a, b)
    if ordinal:
        return _number(coefficients.ordinal_alpha(table))
    values = table.sum(0) + table.sum(1)
    n, unlike = values.sum(), table.sum() - np.trace(table)
    return _number(1 - coefficients.ratio((n - 1) * 2 * unlike, n * n - (values * values).sum()))


def off_by_1(a: IntArray, b: IntArray) -> float | None:
    """Share of rows whose grades, given as indices, are at most one step apart."""
    return _number(coefficients.same_share(_table(a, b), within=1))


def auc(truth: BoolArray, score: FloatArray) -> float | None:
    """Area under the ROC curve, ties half; None unless both classes are there."""
    found, at = np.unique(score, return_inverse=True)
    at = at.reshape(-1)
    positives = np.bincount(at, weights=truth, minlength=len(found)).astype(np.float64)
    negatives = np.bincount(at, weights=~truth, minlength=len(found)).astype(np.float64)
    return _number(coefficients.area(positives, negatives)) if len(found) else None


def ece(truth: BoolArray, unit: FloatArray, bins: int = ECE_BINS) -> float | None:
    """Expected calibration error: by bins of equal width, |mean score - share of passes|, weighted
    by rows.
    """
    gaps = np.bincount(unit_bins(unit, bins), weights=unit - truth, minlength=bins)
    return float(np.abs(gaps).sum() / len(unit)) if len(unit) else None


def brier(truth: BoolArray, unit: FloatArray) -> float | None:
    """Mean squared gap between a score in [0, 1] and pass (1) or fail (0)."""
    return float(((unit - truth) ** 2).mean()) if len(unit) else None


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's correlation; None where either side is constant or there are fewer than two rows."""
    if len(x) < 2:
        return None
    a, b = x - x.mean(), y - y.mean()
    moments = np.array([len(x), a.sum(), b.sum(), a @ a, b @ b, a @ b])
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return _number(coefficients.correlation(moments))


def spearman(x: FloatArray, y: FloatArray) -> float | None:
    """Spearman's correlation: Pearson's of the mid-ranks."""
    return pearson(_midranks(x), _midranks(y))


def kendall(x: FloatArray, y: FloatArray) -> float | None:
    """Kendall's tau-b, in O(n log n); None where either side is constant."""
    n = len(x)
    order = np.lexsort((y, x))
    first, second = (np.unique(side, return_inverse=True)[1].reshape(-1)[order] for side in (x, y))
    if n < 2:
        return None
    discordant = _inversions(second)
    ties = [_pairs(np.bincount(side)) for side in (first, second)]
    both = _pairs(np.unique(first * (int(second.max()) + 1) + second, return_counts=True)[1])
    pairs = n * (n - 1) // 2
    if pairs in ties:
        return None
    excess = pairs - ties[0] - ties[1] + both - 2 * discordant
    return min(1.0, max(-1.0, excess / math.sqrt(pairs - ties[0]) / math.sqrt(pairs - ties[1])))


def point(name: str, r: Ratings) -> float | None:
    """The figure of this name over all rows, None where it is not defined. Raises ValueError for an
    unknown name.
    """
    if not len(r):
        return None
    if name in coefficients.BINARY:
        return binary(name, r.truth, r.passes)
    if name in GRADED and r.grades is not None:
        table = _table(*r.grades, len(r.points))
        return _number(coefficients.graded(name, table, np.asarray(r.points, dtype=np.float64)))
    if name == "auc":
        return auc(r.truth, r.score)
    if name in ("ece", "brier") and r.unit is not None:
        return ece(r.truth, r.unit) if name == "ece" else brier(r.truth, r.unit)
    if name in ("pearson", "spearman", "kendall"):
        return {"pearson": pearson, "spearman": spearman, "kendall": kendall}[name](
            r.score, r.label
        )
    if name not in FIGURES:
        raise ValueError(f"{name!r} is not a figure: {', '.join(FIGURES)}")
    return None


def _number(value: FloatArray) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None


def _table(a: IntArray, b: IntArray, k: int = 0) -> FloatArray:
    k = max(k, int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1)
    return np.bincount(a * k + b, minlength=k * k).reshape(k, k).astype(np.float64)


def _midranks(values: FloatArray) -> FloatArray:
    _, at, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[at.reshape(-1)]


def _pairs(counts: IntArray) -> int:
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: IntArray) -> int:
    """Pairs of places i < j with ranks[i] > ranks[j]: bit by bit, among those alike in all higher
    bits.
    """
    total, bits = 0, int(ranks.max(initial=0)).bit_length()
    for bit in range(bits - 1, -1, -1):
        group = ranks >> (bit + 1)
        order = np.argsort(group, kind="stable")
        one = (ranks[order] >> bit) & 1
        seen = np.cumsum(one) - one
        starts = np.unique(group[order], return_index=True)[1]
        within = np.repeat(seen[starts], np.diff(np.append(starts, len(order))))
        total += int(((seen - within) * (1 - one)).sum())
    return total


# ---- all figures, with intervals ----


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of one slice or of all: effective clusters and rows by base, clusters, largest
    design effect of a cell, and what one row weighs in each bin of the score that has any.
    """

    n: int
    clusters: int
    base: Mapping[str, tuple[int, float]]
    effect: float
    bins: FloatArray


def figures(
    r: Ratings,
    *,
    names: Sequence[str] | None = None,
    draws: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Measured:
    """Every figure that makes sense for these ratings (or those of `names`), each with its
    interval.

    What is not defined has value None and a reason; where too few rows or clusters carry a figure
    for its interval to be believed, the interval is None with the reason. Macro figures leave out
    slices where the figure is not defined and say how many. Raises ValueError for fewer than 100
    draws or an unknown name.
    """
    names = _checked(names, r, draws)
    where = (
        [r, *(r.rows(r.slice == i) for i in range(len(r.slice_names)))]
        if r.slice is not None
        else [r]
    )
    parts = [_part(part) for part in where]
    values = [[point(name, part) for name in names] for part in where]
    if not len(r):
        pooled = tuple(_figure(name, None, parts[0], None, level, False) for name in names)
        return Measured(pooled, (), ())
    drawn, gaps = _drawn(r, names, parts, draws, seed)
    deviation = bootstrap.spread(drawn)
    clustered = parts[0].clusters < parts[0].n
    scales = [_gaps(part) for part in where]

    def figure(at: int, i: int) -> Figure:
        ece_gaps = (scales[at], gaps[:, at]) if names[i] == "ece" else None
        return _figure(
            names[i], values[at][i], parts[at], float(deviation[at, i]), level, clustered, ece_gaps
        )

    every = [tuple(figure(at, i) for i in range(len(names))) for at in range(len(parts))]
    if r.slice is None:
        return Measured(every[0], (), ())
    slices = tuple(
        SliceFigures(name, part.n, part.clusters, found)
        for name, part, found in zip(r.slice_names, parts[1:], every[1:], strict=True)
    )
    macro = []
    for i, name in enumerate(names):
        used = [at for at in range(1, len(parts)) if values[at][i] is not None]
        ece_gaps = None
        if name == "ece" and used:
            flat = gaps[:, used].reshape(draws, -1) / len(used)
            ece_gaps = np.concatenate([scales[at] for at in used]) / len(used), flat
        macro.append(
            _macro(name, i, used, values, parts, drawn, deviation, level, clustered, ece_gaps)
        )
    return Measured(every[0], tuple(macro), slices)


def _checked(names: Sequence[str] | None, r: Ratings, draws: int) -> tuple[str, ...]:
    if draws < 100:
        raise ValueError("an interval needs at least 100 draws")
    unknown = [name for name in names or () if name not in FIGURES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a figure: {', '.join(FIGURES)}")
    there = r.figures()
    return there if names is None else tuple(name for name in names if name in there)


def _clusters(r: Ratings) -> IntArray:
    """Each row's cluster as a code from 0."""
    if r.cluster is None:
        return np.arange(len(r))
    return np.unique(r.cluster, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _part(r: Ratings) -> _Part:
    cluster = _clusters(r)
    count = int(cluster.max(initial=-1)) + 1
    tables = (
        np.bincount(cluster * 4 + r.cells(), minlength=count * 4)
        .reshape(count, 4)
        .astype(np.float64)
    )
    sizes = {base: tables[:, list(columns)].sum(1) for base, columns in _COLUMNS.items()}
    base = {name: (int(size.sum()), bootstrap.effective(size)) for name, size in sizes.items()}
    effect = 1.0
    if len(r) > count > 1:
        share = tables.sum(0) / len(r)
        spread = ((tables - sizes[_ALL][:, None] * share) ** 2).sum(0) / len(r)
        effect = max(
            1.0, float(np.nanmax(coefficients.ratio(spread, share * (1 - share)), initial=1.0))
        )
    bins = np.zeros(ECE_BINS)
    if r.unit is not None:
        bins[unit_bins(r.unit)] = 1 / max(1, len(r))
    return _Part(len(r), count, base, effect, bins)


def _drawn(
    r: Ratings,
    names: Sequence[str],
    parts: Sequence[_Part],
    draws: int,
    seed: int,
    noise_seed: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """(draws, parts, names) the figures, (draws, parts, bins) the gaps of ECE: all rows first, then
    each slice.
    """
    n, slices, kinds = len(r), len(parts) - 1, Kinds(r)
    cluster = _clusters(r)
    kind = kinds.of_row if r.slice is None else r.slice * kinds.count + kinds.of_row
    width = max(slices, 1) * kinds.count
    block = max(1, min(draws, BLOCK // n, BLOCK // (width + kinds.count)))
    place = (np.arange(block)[:, None] * width + kind).ravel()
    effect = np.array([part.effect for part in parts])[:, None]
    added = bootstrap.added_rows(
        (draws, len(parts), 4), effect, seed if noise_seed is None else noise_seed
    )
    out = np.empty((draws, len(parts), len(names)))
    gaps = np.zeros((draws, len(parts), ECE_BINS))
    at = 0
    for weight in bootstrap.weights(parts[0].clusters, draws, seed, block):
        size = len(weight)
        rows = weight[:, cluster].ravel()
        drawn = np.bincount(place[: len(rows)], weights=rows, minlength=size * width).astype(
            np.float64, copy=False
        )
        drawn = drawn.reshape(size, -1, kinds.count)
        if r.slice is not None:
            drawn = np.concatenate([drawn.sum(1, keepdims=True), drawn], 1)
        out[at : at + size] = kinds.values(drawn, names, added[at : at + size])
        if "ece" in names:
            gaps[at : at + size] = kinds.gaps(drawn)
        at += size
    if "ece" in names:
        fails, passes = bootstrap.added_rows((2, draws, len(parts), ECE_BINS), effect, seed)
        middle = (np.arange(ECE_BINS) + 0.5) / ECE_BINS
        gaps = np.nan_to_num(gaps) + (fails * middle - passes * (1 - middle)) * np.stack(
            [part.bins for part in parts]
        )
    return out, gaps


def _gaps(r: Ratings) -> FloatArray:
    """By bin of the score, its sum of score - truth over all rows."""
    if r.unit is None or not len(r):
        return np.zeros(ECE_BINS)
    return np.bincount(unit_bins(r.unit), weights=r.unit - r.truth, minlength=ECE_BINS).astype(
        np.float64
    ) / len(r)


def _range(name: str) -> tuple[float, float]:
    return (-1.0 if name in _SIGNED else 0.0), 1.0


def _carried(name: str, part: _Part) -> tuple[str, int, float]:
    """The base that carries the figure with fewest effective clusters: its name, rows, effective
    clusters.
    """
    return min(
        ((base, *part.base[base]) for base in _BASE.get(name, (_TRUE, _FALSE))),
        key=lambda found: found[2],
    )


def _too_few(name: str, part: _Part) -> str:
    """Why no interval can be given, "" where one can: by simulation it would not hold the truth
    often enough.
    """
    base, rows, clusters = _carried(name, part)
    least = 3 if name in coefficients.BINARY else 5
    if rows < least:
        return f"no interval: only {rows} {base}"
    if clusters < least - (least > 3):
        return f"no interval: {base} lie in too few clusters ({clusters:.1f} effective)"
    return ""


def _figure(
    name: str,
    value: float | None,
    part: _Part,
    deviation: float | None,
    level: float,
    clustered: bool,
    gaps: tuple[FloatArray, FloatArray] | None = None,
) -> Figure:
    bases = _BASE.get(name, (_ALL,))
    n = part.base[bases[0]][0] if len(bases) == 1 else part.n
    if value is None or deviation is None:
        return Figure(name, None, None, n, _undefined(name, part))
    reason = _too_few(name, part)
    if not reason and (
        not np.isfinite(deviation)
        or (deviation <= bootstrap.NO_SPREAD and name == "auc" and value < 1)
    ):
        reason = "no interval: resampling hardly ever leaves a figure, or never moves it"
    if reason:
        return Figure(name, value, None, n, reason)
    freedom = max(1.0, _carried(name, part)[2] - 1)
    found = _interval(name, value, deviation, freedom, level, clustered, gaps)
    if found is None:
        return Figure(name, value, None, n, _NOISE)
    few = (
        f"only {part.clusters} clusters: read the interval with care"
        if part.clusters < FEW_CLUSTERS
        else ""
    )
    return Figure(name, value, found, n, few)


_NOISE = "no interval: too few clusters for the noise in the bins"


def _interval(
    name: str,
    value: float,
    deviation: float,
    freedom: float,
    level: float,
    clustered: bool,
    gaps: tuple[FloatArray, FloatArray] | None,
) -> Interval | None:
    if gaps is not None:
        found = bootstrap.gap_interval(*gaps, freedom, level, clustered)
        return found and Interval(
            min(found.low, value), max(found.high, value), level, found.method
        )
    return bootstrap.interval(
        value, deviation, freedom, *_range(name), level=level, clustered=clustered
    )


def _undefined(name: str, part: _Part) -> str:
    if not part.n:
        return "no rows"
    for base in _BASE.get(name, (_TRUE, _FALSE)):
        if not part.base[base][0]:
            return f"not defined: there are no {base}"
    return "not defined: the judge or people give every row the same value"


def _macro(
    name: str,
    i: int,
    used: Sequence[int],
    values: Sequence[Sequence[float | None]],
    parts: Sequence[_Part],
    drawn: FloatArray,
    deviation: FloatArray,
    level: float,
    clustered: bool,
    gaps: tuple[FloatArray, FloatArray] | None,
) -> Figure:
    """Mean over the slices in `used`; degrees of freedom by Welch and Satterthwaite over the
    slices' own.
    """
    left_out = len(parts) - 1 - len(used)
    said = (
        f"not defined in {left_out} of {len(parts) - 1} slices, which are left out"
        if left_out
        else ""
    )
    n = sum(parts[at].n for at in used)
    if not used:
        return Figure(name, None, None, 0, said or "no slices")
    value = float(np.mean([values[at][i] for at in used]))
    inside = drawn[:, used, i]
    defined = np.isfinite(inside)
    means = coefficients.ratio(
        np.where(defined, inside, 0.0).sum(1), defined.sum(1).astype(np.float64)
    )
    moved = float(bootstrap.spread(means[:, None])[0])
    spreads = np.nan_to_num(deviation[used, i] ** 2)
    own = np.array([max(1.0, _carried(name, parts[at])[2] - 1) for at in used])
    weight = float((spreads**2 / own).sum())
    freedom = float(spreads.sum() ** 2 / weight) if weight > 0 else float(own.sum())
    freedom = min(
        freedom, max(1.0, _carried(name, parts[0])[2] - 1)
    )  # clusters may lie in several slices
    reason = ""
    if not np.isfinite(moved) or freedom < 2:
        reason = "no interval: too few rows or clusters carry the figure in its slices"
    elif moved <= bootstrap.NO_SPREAD and name == "auc" and value < 1:
        reason = "no interval: resampling never moves it"
    found = None if reason else _interval(name, value, moved, freedom, level, clustered, gaps)
    reason = reason or ("" if found else _NOISE)
    few = (
        f"only {parts[0].clusters} clusters: read the interval with care"
        if parts[0].clusters < FEW_CLUSTERS
        else ""
    )
    return Figure(name, value, found, n, "; ".join(text for text in (reason or few, said) if text))


# ---- several judges on the same rows ----


def differences(
    rs: Mapping[str, Ratings],
    names: Sequence[str] | None = None,
    draws: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> tuple[JudgeDifference, ...]:
    """Every later judge's figures less every earlier one's, over the same rows in the same order.

    All judges are drawn on the same clusters. Interval and two-sided p by Student's t on the
    standard deviation of the drawn differences; p is Holm-corrected over all that are returned.
    Prevalence, which is the label's own, is left out. Raises ValueError where labels or clusters
    differ.
    """
    judges = list(rs)
    sets = [rs[judge] for judge in judges]
    for other in sets[1:]:
        same = len(other) == len(sets[0]) and np.array_equal(other.label, sets[0].label)
        if not same or not np.array_equal(_clusters(other), _clusters(sets[0])):
            raise ValueError("judges can only be compared on the same rows, in the same order")
    if len(sets) < 2 or not len(sets[0]):
        return ()
    shown = [tuple(n for n in _checked(names, r, draws) if n != "prevalence") for r in sets]
    whole = [r.rows(np.arange(len(r))) for r in sets]
    parts = [_part(r) for r in whole]
    found = [
        _drawn(r, shown[i], [parts[i]], draws, seed, seed + i + 1)[0][:, 0]
        for i, r in enumerate(whole)
    ]
    out: list[JudgeDifference] = []
    for i, j in itertools.combinations(range(len(sets)), 2):
        for name in (name for name in shown[i] if name in shown[j]):
            first, second = point(name, whole[i]), point(name, whole[j])
            drawn = found[j][:, shown[j].index(name)] - found[i][:, shown[i].index(name)]
            out.append(
                _difference(
                    judges[i], judges[j], name, first, second, parts[i], parts[j], drawn, level
                )
            )
    tested = [at for at, one in enumerate(out) if one.p is not None]
    for at, p in zip(tested, holm([out[at].p or 0.0 for at in tested]), strict=True):
        one = out[at]
        out[at] = JudgeDifference(
            one.a, one.b, one.figure, one.n, one.difference, one.interval, p, one.reason
        )
    return tuple(out)


def _difference(
    a: str,
    b: str,
    name: str,
    first: float | None,
    second: float | None,
    one: _Part,
    other: _Part,
    drawn: FloatArray,
    level: float,
) -> JudgeDifference:
    if first is None or second is None:
        why = f"{b if second is None else a}: {_undefined(name, other if second is None else one)}"
        return JudgeDifference(a, b, name, one.n, None, None, None, why)
    gap, (low, high) = second - first, _range(name)
    reason = _too_few(name, one) or _too_few(name, other)
    deviation = float(bootstrap.spread(drawn[:, None])[0])
    if not reason and not np.isfinite(deviation):
        reason = "no interval: resampling hardly ever leaves a figure"
    if reason:
        return JudgeDifference(a, b, name, one.n, gap, None, None, reason)
    clusters = min(_carried(name, one)[2], _carried(name, other)[2])
    freedom, span = max(1.0, clusters - 1), high - low
    if deviation <= bootstrap.NO_SPREAD:
        unmet = (1 - ((1 - level) / 2) ** (1 / clusters)) * span
        ends, method = (gap - unmet, gap + unmet), "exact bound, no spread"
        p = 1.0 if abs(gap) <= bootstrap.NO_SPREAD else min(1.0, 2 * 0.5**clusters)
    else:
        error = deviation * math.sqrt((freedom + 1) / freedom)
        reach = t_quantile(0.5 + level / 2, freedom) * error
        ends, method = (gap - reach, gap + reach), "paired cluster bootstrap t"
        p = t_p_value(gap / error, freedom)
    few = (
        f"only {one.clusters} clusters: read the interval with care"
        if one.clusters < FEW_CLUSTERS
        else ""
    )
    interval = Interval(max(-span, ends[0]), min(span, ends[1]), level, method)
    return JudgeDifference(a, b, name, one.n, gap, interval, p, few)


# ---- tables and curves ----


def confusion(r: Ratings) -> Confusion:
    """Rows by label and judge: by grade where there is a common scale, else by pass or fail."""
    if r.grades is not None:
        table, names = _table(*r.grades, len(r.points)), tuple(f"{value:g}" for value in r.points)
    else:
        table, names = (
            _table(r.truth.astype(np.int64), r.passes.astype(np.int64), 2),
            ("fail", "pass"),
        )
    return Confusion(names, names, tuple(tuple(int(count) for count in row) for row in table))


def cut_curve(r: Ratings) -> tuple[CutPoint, ...]:
    """The pass-or-fail figures at every cut between scores, rising; at most 200 of them, evenly by
    rows.
    """
    if not len(r):
        return ()
    cuts, at = np.unique(r.score, return_inverse=True)
    positives, every = (
        np.bincount(at.reshape(-1), weights=side) for side in (r.truth, np.ones(len(r)))
    )
    above, passes = np.cumsum(positives[::-1])[::-1], np.cumsum(every[::-1])[::-1]
    n, total = float(len(r)), float(r.truth.sum())
    table = np.stack([above, passes - above, total - above, n - passes - (total - above)], -1)
    chosen: IntArray = np.arange(len(cuts))
    if len(cuts) > CUTS:
        chosen = np.unique(np.searchsorted(np.cumsum(every), np.linspace(1, n, CUTS)))
    shown = {
        name: coefficients.binary(name, table)
        for name in ("precision", "recall", "f1", "balanced_accuracy", "kappa")
    }
    return tuple(
        CutPoint(
            float(cuts[i]),
            int(passes[i]),
            **{name: _number(found[i]) for name, found in shown.items()},
        )
        for i in chosen
    )


def reliability(r: Ratings, bins: int = ECE_BINS) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width of the score in [0, 1], those with rows; () where the score is no
    probability.
    """
    if r.unit is None:
        return ()
    place, cluster, out = unit_bins(r.unit, bins), _clusters(r), []
    for i in np.unique(place):
        rows = place == i
        _, within = np.unique(cluster[rows], return_inverse=True)
        counts = zip(
            np.bincount(within, weights=r.truth[rows]).astype(int), np.bincount(within), strict=True
        )
        found = clustered_rate_interval((int(passed), int(size)) for passed, size in counts)
        mean, observed = float(r.unit[rows].mean()), float(r.truth[rows].mean())
        out.append(
            ReliabilityBin(
                int(i) / bins, (int(i) + 1) / bins, int(rows.sum()), mean, observed, found
            )
        )
    return tuple(out)
