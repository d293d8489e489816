"""Agreement of a judge with people: figures of all rows, by slice and as means over slices.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

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
from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray, numbered
from ragassay.scoring.clusters import few_clusters_note
from ragassay.scoring.intervals import (
    clustered_rate_interval,
    holm,
    t_p_value,
    t_quantile,
    unmet_share,
    wilson,
)
from ragassay.scoring.ratings import ECE_BINS, GRADED, Kinds, Ratings, unit_bins

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

CUTS = 200
"""Points of a cut curve at most."""
BLOCK = 1_000_000
"""Numbers in memory at a time while figures are drawn: the draws are made in blocks."""

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
# Cells of a binary table: true positives, false positives, false negatives, true negatives.
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
"""Figure -> the rows that carry it: where several are named, those in the fewest clusters. A figure
that weighs both classes, such as kappa or AUC, hangs on the rarer of them.
"""


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
    return _number(coefficients.binary(name, coefficients.table(truth, passes)))


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
    values = np.asarray(points if points else range(len(table)), dtype=np.float64)
    return _number(coefficients.weighted_kappa(table, coefficients.distances(values, weights)))


def alpha(a: IntArray, b: IntArray, *, ordinal: bool = False) -> float | None:
    """Krippendorff's alpha of two coders' grades given as indices 0, 1 ..., nominal or ordinal."""
    table = _table(a, b)
    if ordinal:
        return _number(coefficients.ordinal_alpha(table))
    values = table.sum(0) + table.sum(1)  # how often each value was given, by either coder
    n = values.sum()
    # Each row is two ordered pairs of values: those seen against those of all values at random.
    observed = 2 * (table.sum() - np.trace(table))
    expected = n * n - (values * values).sum()
    return _number(1 - coefficients.ratio((n - 1) * observed, expected))


def off_by_1(a: IntArray, b: IntArray) -> float | None:
    """Share of rows whose grades, given as indices, are at most one step apart."""
    return _number(coefficients.same_share(_table(a, b), within=1))


def auc(truth: BoolArray, score: FloatArray) -> float | None:
    """Area under the ROC curve, ties half; None unless both classes are there."""
    if not len(score):
        return None
    place = numbered(score)
    positives = np.bincount(place, weights=truth).astype(np.float64)
    negatives = np.bincount(place, weights=~truth).astype(np.float64)
    return _number(coefficients.area(positives, negatives))


def ece(truth: BoolArray, unit: FloatArray, bins: int = ECE_BINS) -> float | None:
    """Expected calibration error: by bins of equal width, |mean score - share of passes|, weighted
    by rows (Naeini, Cooper & Hauskrecht 2015).
    """
    gaps = np.bincount(unit_bins(unit, bins), weights=unit - truth, minlength=bins)
    return float(np.abs(gaps).sum() / len(unit)) if len(unit) else None


def brier(truth: BoolArray, unit: FloatArray) -> float | None:
    """Mean squared gap between a score in [0, 1] and pass (1) or fail (0) (Brier 1950)."""
    return float(((unit - truth) ** 2).mean()) if len(unit) else None


def pearson(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's correlation; None where a side is constant or there are fewer than two rows."""
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
    """Kendall's tau-b (1945), (C - D) / sqrt((P - X) (P - Y)): C concordant and D discordant of P
    pairs of rows, X and Y of them tied on either side. None where either side is constant.

    Knight's way (1966), O(n log n): with rows sorted by x, then y, the discordant pairs are the
    inversions of y.
    """
    n = len(x)
    if n < 2:
        return None
    order = np.lexsort((y, x))
    first, second = numbered(x)[order], numbered(y)[order]
    discordant = _inversions(second)
    tied_in_x = _pairs(np.bincount(first))
    tied_in_y = _pairs(np.bincount(second))
    both_values = first * (int(second.max()) + 1) + second
    tied_in_both = _pairs(np.unique(both_values, return_counts=True)[1])
    pairs = n * (n - 1) // 2
    if pairs in (tied_in_x, tied_in_y):
        return None
    # A pair that is tied in both was taken off twice.
    untied = pairs - tied_in_x - tied_in_y + tied_in_both
    excess = untied - 2 * discordant
    tau = excess / math.sqrt(pairs - tied_in_x) / math.sqrt(pairs - tied_in_y)
    return min(1.0, max(-1.0, tau))


_CORRELATIONS: Mapping[str, Callable[[FloatArray, FloatArray], float | None]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


def point(name: str, r: Ratings) -> float | None:
    """The figure of this name over all rows, None where it is not defined. Raises ValueError for an
    unknown name.
    """
    if not len(r):
        return None
    if r.weight is not None:
        return _weighted_point(name, r, r.row_weights)
    if name in coefficients.BINARY:
        return binary(name, r.truth, r.passes)
    if name in GRADED and r.grades is not None:
        table = _table(*r.grades, len(r.points))
        return _number(coefficients.graded(name, table, np.asarray(r.points, dtype=np.float64)))
    if name == "auc":
        return auc(r.truth, r.score)
    if name in ("ece", "brier") and r.unit is not None:
        return ece(r.truth, r.unit) if name == "ece" else brier(r.truth, r.unit)
    if name in _CORRELATIONS:
        return _CORRELATIONS[name](r.score, r.label)
    if name not in FIGURES:
        raise ValueError(f"{name!r} is not a figure: {', '.join(FIGURES)}")
    return None


def _weighted_point(name: str, r: Ratings, weight: FloatArray) -> float | None:
    """The figure of this name with each row counted by its weight (Hajek's ratio of weighted sums,
    which estimates the figure of the rows that these were drawn from).
    """
    if name in coefficients.BINARY:
        return _number(coefficients.binary(name, coefficients.table(r.truth, r.passes, weight)))
    if name in GRADED and r.grades is not None:
        grades = _weighted_table(*r.grades, len(r.points), len(r.points), weight)
        return _number(coefficients.graded(name, grades, np.asarray(r.points, dtype=np.float64)))
    if name == "auc":
        place = numbered(r.score)
        positives = np.bincount(place, weights=r.truth * weight).astype(np.float64)
        negatives = np.bincount(place, weights=~r.truth * weight).astype(np.float64)
        return _number(coefficients.area(positives, negatives))
    if name == "ece" and r.unit is not None:
        return float(np.abs(_gaps(r)).sum())
    if name == "brier" and r.unit is not None:
        return float(np.average((r.unit - r.truth) ** 2, weights=weight))
    if name in _CORRELATIONS:
        return _weighted_correlation(name, r, weight)
    if name not in FIGURES:
        raise ValueError(f"{name!r} is not a figure: {', '.join(FIGURES)}")
    return None


_LARGEST_RANK_TABLE = 4_000_000
"""Cells of a table of scores by labels; a weighted rank correlation of more is left out."""


def _weighted_correlation(name: str, r: Ratings, weight: FloatArray) -> float | None:
    if np.ptp(r.score) == 0 or np.ptp(r.label) == 0:
        return None
    if name == "pearson":
        x = r.score - np.average(r.score, weights=weight)
        y = r.label - np.average(r.label, weights=weight)
        sums = [weight, weight * x, weight * y, weight * x * x, weight * y * y, weight * x * y]
        return _number(coefficients.correlation(np.array([part.sum() for part in sums])))
    scores, labels = numbered(r.score), numbered(r.label)
    shape = int(scores.max()) + 1, int(labels.max()) + 1
    if shape[0] * shape[1] > _LARGEST_RANK_TABLE:
        return None
    table = _weighted_table(scores, labels, *shape, weight)
    if name == "spearman":
        return _number(coefficients.rank_correlation(table))
    return _number(coefficients.tau_b(table))


def _weighted_table(
    a: IntArray, b: IntArray, rows: int, columns: int, weight: FloatArray
) -> FloatArray:
    """(rows, columns) sums of weights by both codes."""
    places = a * columns + b
    sums = np.bincount(places, weights=weight, minlength=rows * columns)
    return sums.reshape(rows, columns).astype(np.float64)


def _number(value: FloatArray) -> float | None:
    """The figure, None for the NaN that stands for "not defined" inside `scoring`."""
    number = float(value)
    return number if np.isfinite(number) else None


def _table(a: IntArray, b: IntArray, k: int = 0) -> FloatArray:
    """(k, k) counts of rows by both grades; k: at least so many grades."""
    k = max(k, int(a.max(initial=0)) + 1, int(b.max(initial=0)) + 1)
    return np.bincount(a * k + b, minlength=k * k).reshape(k, k).astype(np.float64)


def _midranks(values: FloatArray) -> FloatArray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - counts / 2)[place.reshape(-1)]


def _pairs(counts: IntArray) -> int:
    """Pairs within groups of these sizes."""
    return int((counts * (counts - 1) // 2).sum())


def _inversions(ranks: IntArray) -> int:
    """Pairs of places i < j with ranks[i] > ranks[j].

    Two ranks differ first in one bit, and the higher one has it set. So for every bit, and among
    the ranks that agree in all higher bits, each rank without the bit is inverted with those before
    it that have it. All of it is array arithmetic; merge sort would be a loop in Python.
    """
    total = 0
    bits = int(ranks.max(initial=0)).bit_length()
    for bit in range(bits - 1, -1, -1):
        group = ranks >> (bit + 1)
        order = np.argsort(group, kind="stable")
        is_set = (ranks[order] >> bit) & 1
        before = np.cumsum(is_set) - is_set
        starts = np.unique(group[order], return_index=True)[1]
        before_group = np.repeat(before[starts], np.diff(np.append(starts, len(order))))
        total += int(((before - before_group) * (1 - is_set)).sum())
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
    names = _figure_names(names, r, draws)
    row_sets = [r]
    if r.slice is not None:
        row_sets += [r.rows(r.slice == i) for i in range(len(r.slice_names))]
    parts = [_part(rows) for rows in row_sets]
    if not len(r):
        pooled = tuple(_figure(name, None, parts[0], None, level, False) for name in names)
        return Measured(pooled, (), ())
    values = [_points(names, rows) for rows in row_sets]
    drawn, gap_draws = _draw(r, names, parts, draws, seed)
    resampled = _Resampled(
        names=names,
        parts=parts,
        values=values,
        draws=drawn,
        deviation=bootstrap.spread(drawn),
        gaps=[_gaps(rows) for rows in row_sets],
        gap_draws=gap_draws,
        level=level,
        clustered=parts[0].clusters < parts[0].n,
    )
    pooled = resampled.figures(0)
    if r.slice is None:
        return Measured(pooled, (), ())
    slices = []
    for at, name in enumerate(r.slice_names, 1):
        slices.append(SliceFigures(name, parts[at].n, parts[at].clusters, resampled.figures(at)))
    macro = tuple(_macro(resampled, i) for i in range(len(names)))
    return Measured(pooled, macro, tuple(slices))


def _points(names: Sequence[str], r: Ratings) -> list[float | None]:
    # Where people are of one mind, kappa is 0 whatever the judge does: no figure of the judge.
    one_class = bool(r.truth.all()) or not r.truth.any()
    values = []
    for name in names:
        values.append(None if one_class and name == "kappa" else point(name, r))
    return values


@dataclass(frozen=True, slots=True)
class _Resampled:
    """Values and bootstrap draws of every figure of every part: all rows first, then each slice.

    values[part][name]. draws: (draws, parts, names); deviation: (parts, names) their spread. gaps:
    of each part by bin of the score, what ECE adds up; gap_draws: (draws, parts, bins).
    """

    names: Sequence[str]
    parts: Sequence[_Part]
    values: Sequence[Sequence[float | None]]
    draws: FloatArray
    deviation: FloatArray
    gaps: Sequence[FloatArray]
    gap_draws: FloatArray
    level: float
    clustered: bool

    def figures(self, at: int) -> tuple[Figure, ...]:
        """All figures of one part."""
        return tuple(self._figure(at, i) for i in range(len(self.names)))

    def _figure(self, at: int, i: int) -> Figure:
        name = self.names[i]
        return _figure(
            name,
            self.values[at][i],
            self.parts[at],
            float(self.deviation[at, i]),
            self.level,
            self.clustered,
            (self.gaps[at], self.gap_draws[:, at]) if name == "ece" else None,
        )

    def joined_gaps(self, parts: Sequence[int]) -> tuple[FloatArray, FloatArray]:
        """The gaps of the mean over these parts, all their bins side by side, and the draws."""
        gaps = np.concatenate([self.gaps[at] for at in parts]) / len(parts)
        draws = self.gap_draws[:, parts].reshape(len(self.gap_draws), -1) / len(parts)
        return gaps, draws


def _figure_names(names: Sequence[str] | None, r: Ratings, draws: int) -> tuple[str, ...]:
    """The figures to measure: those that make sense for the ratings, of `names` where given."""
    if draws < 100:
        raise ValueError("an interval needs at least 100 draws")
    unknown = [name for name in names or () if name not in FIGURES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a figure: {', '.join(FIGURES)}")
    sensible = r.figures()
    return sensible if names is None else tuple(name for name in names if name in sensible)


def _clusters(r: Ratings) -> IntArray:
    """Each row's cluster as a code from 0."""
    if r.cluster is None:
        return np.arange(len(r))
    return numbered(r.cluster)


def _part(r: Ratings) -> _Part:
    cluster = _clusters(r)
    count = int(cluster.max(initial=-1)) + 1
    tables = coefficients.cluster_tables(r.truth, r.passes, cluster, r.row_weights)
    rows_of_cell = coefficients.table(r.truth, r.passes)
    sizes = {base: tables[:, list(columns)].sum(1) for base, columns in _COLUMNS.items()}
    base = {}
    for name, size in sizes.items():
        rows = int(rows_of_cell[list(_COLUMNS[name])].sum())
        base[name] = (rows, bootstrap.effective(size))
    # Rows of unequal weight are worth fewer than they are: a row more weighs as much more.
    effect = max(1.0, len(r) / r.worth) if len(r) else 1.0
    if len(r) > count > 1:
        # Of each cell's share: its variance over whole clusters / that over independent rows.
        share = tables.sum(0) / len(r)
        between_clusters = ((tables - sizes[_ALL][:, None] * share) ** 2).sum(0) / len(r)
        effects = coefficients.ratio(between_clusters, share * (1 - share))
        effect = max(effect, float(np.nanmax(effects, initial=1.0)))
    bins = np.zeros(ECE_BINS)
    if r.unit is not None:
        bins[unit_bins(r.unit)] = 1 / max(1, len(r))
    return _Part(len(r), count, base, effect, bins)


def _draw(
    r: Ratings,
    names: Sequence[str],
    parts: Sequence[_Part],
    draws: int,
    seed: int,
    noise_seed: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """(draws, parts, names) the figures, (draws, parts, bins) the gaps of ECE: all rows first, then
    each slice.

    noise_seed: of the added rows, `seed` where None. Judges on the same rows share the clusters
    that are drawn and not the added rows, which are noise of each judge's own.
    """
    n = len(r)
    slices = len(parts) - 1
    kinds = Kinds(r)
    cluster = _clusters(r)
    # A kind of one slice has a number of its own, so that one count serves all slices.
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
    row_weights = None if r.weight is None else r.row_weights
    at = 0
    for weight in bootstrap.weights(parts[0].clusters, draws, seed, block):
        size = len(weight)
        rows = weight[:, cluster]
        if row_weights is not None:
            rows = rows * row_weights
        rows = rows.ravel()
        # One count for all draws of the block, as in `bootstrap.weights`.
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
        # Rows are added to the bins as to the cells: in the middle of a bin a row that fails has
        # the gap score - 0, one that passes score - 1.
        fails, passes = bootstrap.added_rows((2, draws, len(parts), ECE_BINS), effect, seed)
        middle = (np.arange(ECE_BINS) + 0.5) / ECE_BINS
        bins = np.stack([part.bins for part in parts])
        gaps = np.nan_to_num(gaps) + (fails * middle - passes * (1 - middle)) * bins
    return out, gaps


def _gaps(r: Ratings) -> FloatArray:
    """By bin of the score, its sum of score - truth over all rows."""
    if r.unit is None or not len(r):
        return np.zeros(ECE_BINS)
    gaps = (r.unit - r.truth) * r.row_weights
    sums = np.bincount(unit_bins(r.unit), weights=gaps, minlength=ECE_BINS)
    return sums.astype(np.float64) / len(r)


def _range(name: str) -> tuple[float, float]:
    return (-1.0 if name in _SIGNED else 0.0), 1.0


def _thinnest_base(name: str, part: _Part) -> tuple[str, int, float]:
    """The base that carries the figure with fewest effective clusters: its name, rows, effective
    clusters.
    """
    bases = [(base, *part.base[base]) for base in _BASE.get(name, (_TRUE, _FALSE))]
    return min(bases, key=itemgetter(2))


def _too_few(name: str, part: _Part) -> str:
    """Why no interval can be given, "" where one can: by simulation it would not hold the truth
    often enough.
    """
    base, rows, clusters = _thinnest_base(name, part)
    binary_figure = name in coefficients.BINARY
    if rows < (3 if binary_figure else 5):
        base = base if rows != 1 else base.replace("rows", "row", 1)
        return f"no interval: only {rows} {base}"
    if clusters < (3 if binary_figure else 4):
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
    # Of precision, for instance, the rows that the judge passes, of kappa all rows.
    n = part.base[bases[0]][0] if len(bases) == 1 else part.n
    if value is None or deviation is None:
        return Figure(name, None, None, n, _undefined(name, part))
    reason = _too_few(name, part)
    # AUC is drawn without added rows: no spread then means that nothing is known of it. (At 1 the
    # exact bound holds.)
    unmoved = deviation <= bootstrap.NO_SPREAD and name == "auc" and value < 1
    if not reason and (unmoved or not np.isfinite(deviation)):
        reason = "no interval: resampling hardly ever leaves a figure, or never moves it"
    if reason:
        return Figure(name, value, None, n, reason)
    freedom = _freedom(name, part)
    interval = _interval(name, value, deviation, freedom, level, clustered, gaps)
    if interval is None:
        return Figure(name, value, None, n, _NOISE)
    return Figure(name, value, interval, n, few_clusters_note(part.clusters))


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
        of_gaps = bootstrap.gap_interval(*gaps, freedom, level, clustered)
        if of_gaps is None:
            return None
        low, high = min(of_gaps.low, value), max(of_gaps.high, value)
        return Interval(low, high, level, of_gaps.method)
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


def _macro(resampled: _Resampled, i: int) -> Figure:
    """Mean of a figure over the slices in which it is defined; degrees of freedom by Welch and
    Satterthwaite over the slices' own.
    """
    name = resampled.names[i]
    parts = resampled.parts
    slices = len(parts) - 1
    defined = [at for at in range(1, len(parts)) if resampled.values[at][i] is not None]
    note = ""
    if len(defined) < slices:
        note = f"not defined in {slices - len(defined)} of {slices} slices, which are left out"
    if not defined:
        return Figure(name, None, None, 0, note or "no slices")
    value = float(np.mean([resampled.values[at][i] for at in defined]))
    deviation = _spread_of_mean(resampled.draws[:, defined, i])
    freedom = _macro_freedom(resampled, i, defined)
    interval = None
    if not np.isfinite(deviation) or freedom < 2:
        reason = "no interval: too few rows or clusters carry the figure in its slices"
    elif deviation <= bootstrap.NO_SPREAD and name == "auc" and value < 1:
        reason = "no interval: resampling never moves it"
    else:
        gaps = resampled.joined_gaps(defined) if name == "ece" else None
        interval = _interval(
            name, value, deviation, freedom, resampled.level, resampled.clustered, gaps
        )
        reason = few_clusters_note(parts[0].clusters) if interval else _NOISE
    n = sum(parts[at].n for at in defined)
    return Figure(name, value, interval, n, "; ".join(filter(None, (reason, note))))


def _spread_of_mean(draws: FloatArray) -> float:
    """Standard deviation of the mean over slices (draws, slices), where NaN is left out."""
    defined = np.isfinite(draws)
    sums = np.where(defined, draws, 0.0).sum(1)
    means = coefficients.ratio(sums, defined.sum(1).astype(np.float64))
    return float(bootstrap.spread(means[:, None])[0])


def _macro_freedom(resampled: _Resampled, i: int, slices: Sequence[int]) -> float:
    """Welch and Satterthwaite: (sum v)^2 / sum (v^2 / f) over the slices' variances v with f
    degrees of freedom each.
    """
    name = resampled.names[i]
    variances = np.nan_to_num(resampled.deviation[slices, i] ** 2)
    freedoms = np.array([_freedom(name, resampled.parts[at]) for at in slices])
    weight = float((variances**2 / freedoms).sum())
    freedom = float(variances.sum() ** 2 / weight) if weight > 0 else float(freedoms.sum())
    # Clusters may lie in several slices: the mean has no more of them than all rows have.
    return min(freedom, _freedom(name, resampled.parts[0]))


def _freedom(name: str, part: _Part) -> float:
    """Degrees of freedom of a figure: effective clusters that carry it, less one; at least 1."""
    return max(1.0, _thinnest_base(name, part)[2] - 1)


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
    sets = list(rs.values())
    _check_same_rows(sets)
    if len(sets) < 2 or not len(sets[0]):
        return ()
    judges = []
    for at, (judge, r) in enumerate(rs.items(), 1):
        compared = tuple(n for n in _figure_names(names, r, draws) if n != "prevalence")
        whole = r.rows(np.arange(len(r)))  # without slices, which are not compared
        judges.append(_judge(judge, whole, compared, draws, seed, seed + at))
    out: list[JudgeDifference] = []
    for first, second in itertools.combinations(judges, 2):
        out += _pair_differences(first, second, level)
    return _holm_corrected(out)


def _check_same_rows(sets: Sequence[Ratings]) -> None:
    for other in sets[1:]:
        same = len(other) == len(sets[0]) and np.array_equal(other.label, sets[0].label)
        if not same or not np.array_equal(_clusters(other), _clusters(sets[0])):
            raise ValueError("judges can only be compared on the same rows, in the same order")


@dataclass(frozen=True, slots=True)
class _Judge:
    """One judge on the common rows. draws: (draws,) of each of its figures."""

    name: str
    ratings: Ratings
    part: _Part
    draws: Mapping[str, FloatArray]


def _judge(
    name: str, r: Ratings, names: Sequence[str], draws: int, seed: int, noise_seed: int
) -> _Judge:
    part = _part(r)
    drawn = _draw(r, names, [part], draws, seed, noise_seed)[0][:, 0]
    return _Judge(name, r, part, dict(zip(names, drawn.T, strict=True)))


def _pair_differences(first: _Judge, second: _Judge, level: float) -> Iterator[JudgeDifference]:
    """The figures that both judges have, the second's less the first's."""
    for name in first.draws:
        if name in second.draws:
            yield _difference(
                first.name,
                second.name,
                name,
                point(name, first.ratings),
                point(name, second.ratings),
                first.part,
                second.part,
                second.draws[name] - first.draws[name],
                level,
            )


def _holm_corrected(differences: Sequence[JudgeDifference]) -> tuple[JudgeDifference, ...]:
    corrected = iter(holm([change.p for change in differences if change.p is not None]))
    out = []
    for change in differences:
        out.append(change if change.p is None else replace(change, p=next(corrected)))
    return tuple(out)


def _difference(
    a: str,
    b: str,
    name: str,
    first: float | None,
    second: float | None,
    part_a: _Part,
    part_b: _Part,
    drawn: FloatArray,
    level: float,
) -> JudgeDifference:
    if second is None:
        return JudgeDifference(
            a, b, name, part_a.n, None, None, None, f"{b}: {_undefined(name, part_b)}"
        )
    if first is None:
        return JudgeDifference(
            a, b, name, part_a.n, None, None, None, f"{a}: {_undefined(name, part_a)}"
        )
    gap = second - first
    low, high = _range(name)
    span = high - low
    reason = _too_few(name, part_a) or _too_few(name, part_b)
    deviation = float(bootstrap.spread(drawn[:, None])[0])
    if not reason and not np.isfinite(deviation):
        reason = "no interval: resampling hardly ever leaves a figure"
    if reason:
        return JudgeDifference(a, b, name, part_a.n, gap, None, None, reason)
    clusters = min(_thinnest_base(name, part_a)[2], _thinnest_base(name, part_b)[2])
    freedom = max(1.0, clusters - 1)
    if deviation <= bootstrap.NO_SPREAD:
        reach = unmet_share(clusters, level) * span
        method = "exact bound, no spread"
        # The sign test: all clusters lie on one side.
        p = 1.0 if abs(gap) <= bootstrap.NO_SPREAD else min(1.0, 2 * 0.5**clusters)
    else:
        # The spread of draws of K clusters has the divisor K, where an estimate needs K - 1.
        error = deviation * math.sqrt((freedom + 1) / freedom)
        reach = t_quantile(0.5 + level / 2, freedom) * error
        method = "paired cluster bootstrap t"
        p = t_p_value(gap / error, freedom)
    interval = Interval(max(-span, gap - reach), min(span, gap + reach), level, method)
    return JudgeDifference(
        a, b, name, part_a.n, gap, interval, p, few_clusters_note(part_a.clusters)
    )


# ---- tables and curves ----


def confusion(r: Ratings) -> Confusion:
    """Rows by label and judge: by grade where there is a common scale, else by pass or fail."""
    if r.grades is not None:
        table = _table(*r.grades, len(r.points))
        names = tuple(f"{value:g}" for value in r.points)
    else:
        table = _table(r.truth.astype(np.int64), r.passes.astype(np.int64), 2)
        names = ("fail", "pass")
    counts = tuple(tuple(row) for row in table.astype(np.int64).tolist())
    return Confusion(names, names, counts)


def cut_curve(r: Ratings) -> tuple[CutPoint, ...]:
    """The pass-or-fail figures at every cut between scores, rising; at most 200 of them, evenly by
    rows.
    """
    if not len(r):
        return ()
    cuts, table = coefficients.tables_by_cut(r.score, r.truth, r.row_weights)
    # How many of these rows pass, whatever they weigh.
    ranked = np.sort(r.score)
    passes = len(r) - np.searchsorted(ranked, cuts, side="left")
    chosen: IntArray = np.arange(len(cuts))
    if len(cuts) > CUTS:
        n = len(r)
        up_to_cut = n - np.append(passes[1:], 0)
        chosen = np.unique(np.searchsorted(up_to_cut, np.linspace(1, n, CUTS)))
    curves = {name: coefficients.binary(name, table) for name in _CURVES}
    out = []
    for i in chosen:
        values = {name: _number(curve[i]) for name, curve in curves.items()}
        out.append(CutPoint(float(cuts[i]), int(passes[i]), **values))
    return tuple(out)


_CURVES = ("precision", "recall", "f1", "balanced_accuracy", "kappa")


def reliability(r: Ratings, bins: int = ECE_BINS) -> tuple[ReliabilityBin, ...]:
    """Bins of equal width of the score in [0, 1], those with rows; () where the score is no
    probability.
    """
    if r.unit is None:
        return ()
    place = unit_bins(r.unit, bins)
    cluster = _clusters(r)
    weight = r.row_weights
    out = []
    for i in np.unique(place).tolist():
        rows = place == i
        observed = float(np.average(r.truth[rows], weights=weight[rows]))
        out.append(
            ReliabilityBin(
                i / bins,
                (i + 1) / bins,
                int(rows.sum()),
                float(np.average(r.unit[rows], weights=weight[rows])),
                observed,
                _bin_interval(r, rows, cluster[rows], observed),
            )
        )
    return tuple(out)


def _bin_interval(
    r: Ratings, rows: BoolArray, cluster: IntArray, observed: float
) -> Interval | None:
    """The interval of the share of a bin's rows that people pass."""
    within = numbered(cluster)
    if r.weight is not None:
        sizes = np.bincount(within, weights=r.row_weights[rows]).astype(np.float64)
        return wilson(observed, bootstrap.effective(sizes), 0.95, "weighted Wilson")
    passed = np.bincount(within, weights=r.truth[rows]).astype(int).tolist()
    return clustered_rate_interval(zip(passed, np.bincount(within).tolist(), strict=True))
