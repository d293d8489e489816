"""Calibration of a judge's score: maps to a probability, and the test of a new cut.

Three maps of a score to the probability that people pass the row. Platt (1999): a logistic curve
with his smoothed targets, so that it is finite also where the score separates the classes.
Isotonic: the best rising step function (pool adjacent violators), joined by straight lines. Beta
(Kull, Silva Filho & Flach 2017): logit p = a ln s - b ln(1 - s) + c with a, b >= 0, for scores in
[0, 1].

Everything that is reported of a map or a cut is out-of-fold: folds are whole clusters, and a row is
mapped (or cut) by what the other folds say. A cut that is new is tested like any other change of a
judge: the same rows, both cuts, the paired clustered interval of `agreement.differences`; it is
adopted only where the whole interval lies on the better side. The interval is of the cuts that
these folds found: it does not hold what another draw of labels would have chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from ragassay.core import Figure, Interval, ReliabilityBin
from ragassay.scoring import agreement, coefficients
from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray
from ragassay.scoring.clusters import few_clusters_note, row_clusters
from ragassay.scoring.intervals import PairedResult, paired_difference
from ragassay.scoring.ratings import Ratings

Kind = Literal["platt", "isotonic", "beta"]
EDGE = 1e-6
"""Scores of the beta map stay this far from 0 and 1, where its logarithms have no value."""
RIDGE = 1e-9
"""Keeps the slopes finite where a score separates the classes, far below what any row says."""
_STEPS = 200
_ONE_CLASS = "rows that people pass and rows that they fail are both needed"


@dataclass(frozen=True, slots=True)
class Calibrator:
    """A fitted map. parameters: of "platt" (slope, intercept), of "beta" (a, b, c), of "isotonic"
    the heights of `at`.
    """

    kind: Kind
    parameters: tuple[float, ...]
    at: tuple[float, ...] = ()

    def __call__(self, score: FloatArray) -> FloatArray:
        """Probabilities in [0, 1] of these scores."""
        if self.kind == "isotonic":
            return np.asarray(np.interp(score, self.at, self.parameters), dtype=np.float64)
        if self.kind == "platt":
            slope, intercept = self.parameters
            return _logistic(slope * score + intercept)
        a, b, c = self.parameters
        low, high = _logs(score)
        return _logistic(a * low + b * high + c)


@dataclass(frozen=True, slots=True)
class Parts:
    """The Brier score taken apart over bins of equal width (Murphy 1973; within: Stephenson et al.
    2008).

    brier = reliability - resolution + uncertainty + within, exactly. reliability: how far bins lie
    from what they say; resolution: how far they lie from the overall rate; uncertainty: of that
    rate; within: spread inside the bins.
    """

    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float


@dataclass(frozen=True, slots=True)
class Reliable:
    """How well scores read as probabilities hold. ece: interval by test inversion over bootstrapped
    clusters.
    """

    ece: Figure
    brier: Figure
    parts: Parts
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A map, and what it does to rows it has not seen.

    before: None where the score does not lie in [0, 1]. after: out-of-fold. gain: squared error
    before (a) and after (b), paired; None without `before`. calibrator: fitted on all rows. reason:
    what to beware of, or why there is none.
    """

    kind: Kind
    n: int
    clusters: int
    folds: int
    before: Reliable | None
    after: Reliable | None
    gain: PairedResult | None
    calibrator: Calibrator | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CutChange:
    """An old cut against the one that `figure` would choose. cut: chosen on all rows; cuts: what
    each fold chose.

    old, new: the figure out-of-fold; difference: new - old, its interval and two-sided p. adopt:
    the interval excludes "no better". For "cost" less is better: mean cost of a row. reason: why
    nothing can be said.
    """

    figure: str
    old_cut: float
    cut: float | None
    cuts: tuple[float, ...]
    n: int
    clusters: int
    old: float | None
    new: float | None
    difference: float | None
    interval: Interval | None
    p: float | None
    adopt: bool
    reason: str = ""


def fit(kind: Kind, score: FloatArray, truth: BoolArray) -> Calibrator:
    """The map that fits these rows. Raises ValueError without rows of both classes, or for a beta
    score off [0, 1].
    """
    _check(score, truth)
    if truth.all() or not truth.any():
        raise ValueError(_ONE_CLASS)
    if kind == "isotonic":
        return _isotonic(score, truth)
    if kind == "platt":
        return _platt(score, truth)
    return _beta(score, truth)


def _platt(score: FloatArray, truth: BoolArray) -> Calibrator:
    passed, failed = int(truth.sum()), int((~truth).sum())
    # Platt's smoothed targets instead of 1 and 0; with them the fit is finite without a ridge.
    target = np.where(truth, (passed + 1) / (passed + 2), 1 / (failed + 2))
    # On the score's own spread: Newton's steps and the ridge are then the same for a scale of
    # 0..1 and of 0..100.
    centre = float(score.mean())
    spread = float(score.std()) or 1.0
    slope, intercept = _regress(((score - centre) / spread)[:, None], target, ridge=0.0)
    return Calibrator("platt", (slope / spread, intercept - slope * centre / spread))


def _beta(score: FloatArray, truth: BoolArray) -> Calibrator:
    if score.min() < 0 or score.max() > 1:
        raise ValueError("the beta map needs scores in [0, 1]")
    low, high = _logs(score)
    target = truth.astype(np.float64)
    a, b, c = _regress(np.column_stack([low, high]), target)
    # The map has to rise: without the part that would make it fall, and where both would, flat at
    # the overall rate.
    if a < 0:
        b, c = _regress(high[:, None], target)
        a = 0.0
    elif b < 0:
        a, c = _regress(low[:, None], target)
        b = 0.0
    if a < 0 or b < 0:
        rate = float(target.mean())
        a = b = 0.0
        c = math.log(rate / (1 - rate))
    return Calibrator("beta", (a, b, c))


def folds_of(cluster: IntArray, folds: int, seed: int) -> IntArray:
    """Each row's fold: whole clusters in random order, each into the fold with the fewest rows so
    far.
    """
    codes, place, sizes = np.unique(cluster, return_inverse=True, return_counts=True)
    fold = np.zeros(len(codes), np.int64)
    filled = np.zeros(min(folds, len(codes)), np.int64)
    for code in np.random.default_rng(seed).permutation(len(codes)):
        fold[code] = int(filled.argmin())
        filled[fold[code]] += sizes[code]
    return np.asarray(fold[place.reshape(-1)], dtype=np.int64)


def out_of_fold(
    kind: Kind,
    score: FloatArray,
    truth: BoolArray,
    cluster: IntArray | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
) -> FloatArray:
    """Each row's probability by the map that the other folds fit. Raises ValueError as `fit`."""
    place = folds_of(row_clusters(cluster, len(score)), folds, seed)
    if place.max() == 0:
        raise ValueError("at least two clusters are needed to map rows by others")
    out = np.empty(len(score))
    for fold in range(int(place.max()) + 1):
        rows = place == fold
        out[rows] = fit(kind, score[~rows], truth[~rows])(score[rows])
    return out


def calibrate(
    score: FloatArray,
    truth: BoolArray,
    cluster: IntArray | None = None,
    *,
    kind: Kind = "platt",
    cut: float = 0.5,
    folds: int = 5,
    draws: int = 2000,
    seed: int = 0,
) -> Calibration:
    """Fit a map and say what it does out-of-fold; see `Calibration`. Rows of both classes in every
    fold's rest are needed.
    """
    _check(score, truth)
    groups = row_clusters(cluster, len(score))
    clusters = len(np.unique(groups))
    empty = Calibration(
        kind=kind,
        n=len(score),
        clusters=clusters,
        folds=folds,
        before=None,
        after=None,
        gain=None,
        calibrator=None,
    )
    try:
        mapped = out_of_fold(kind, score, truth, groups, folds=folds, seed=seed)
        calibrator = fit(kind, score, truth)
    except ValueError as error:
        return replace(empty, reason=str(error))
    before = gain = None
    if score.min() >= 0 and score.max() <= 1:
        before = reliable(score, truth, groups, cut=cut, draws=draws, seed=seed)
        gain = _gain(score, mapped, truth, groups)
    return replace(
        empty,
        before=before,
        after=reliable(mapped, truth, groups, cut=cut, draws=draws, seed=seed),
        gain=gain,
        calibrator=calibrator,
        reason=few_clusters_note(clusters, "intervals"),
    )


def _gain(
    score: FloatArray, mapped: FloatArray, truth: BoolArray, groups: IntArray
) -> PairedResult:
    """Squared error of the score (a) and of the mapped score (b), paired."""
    before = ((score - truth) ** 2).tolist()
    after = ((mapped - truth) ** 2).tolist()
    return paired_difference(zip(before, after, map(str, groups.tolist()), strict=True))


def reliable(
    probability: FloatArray,
    truth: BoolArray,
    cluster: IntArray | None = None,
    *,
    cut: float = 0.5,
    draws: int = 2000,
    seed: int = 0,
) -> Reliable:
    """ECE and Brier score with intervals, the latter's parts, and the bins of the diagram."""
    label = truth.astype(np.float64)
    ratings = Ratings(label, probability, probability >= cut, truth, probability, cluster=cluster)
    ece, brier = agreement.figures(ratings, names=("ece", "brier"), draws=draws, seed=seed).pooled
    return Reliable(ece, brier, decompose(probability, truth), agreement.reliability(ratings))


def decompose(probability: FloatArray, truth: BoolArray, bins: int = 10) -> Parts:
    """The Brier score in its parts. Raises ValueError without rows."""
    _check(probability, truth)
    place = np.minimum((probability * bins).astype(np.int64), bins - 1)
    size = np.bincount(place, minlength=bins).astype(np.float64)
    filled = size > 0
    mean_score = np.bincount(place, weights=probability, minlength=bins)[filled] / size[filled]
    pass_rate = np.bincount(place, weights=truth, minlength=bins)[filled] / size[filled]
    share = size[filled] / len(truth)
    rate = float(truth.mean())
    bin_of_row = np.cumsum(filled)[place] - 1  # among those that hold rows
    apart = probability - mean_score[bin_of_row]
    # What the three parts leave of the Brier score where the scores of a bin differ: their variance
    # within bins, less twice their covariance with the labels there.
    covariance = (apart * (truth - pass_rate[bin_of_row])).mean()
    within = float((apart**2).mean() - 2 * covariance)
    return Parts(
        brier=float(((probability - truth) ** 2).mean()),
        reliability=float((share * (mean_score - pass_rate) ** 2).sum()),
        resolution=float((share * (pass_rate - rate) ** 2).sum()),
        uncertainty=rate * (1 - rate),
        within=within,
    )


# -- the cut


def best_cut(
    score: FloatArray,
    truth: BoolArray,
    *,
    figure: str = "kappa",
    costs: tuple[float, float] = (1.0, 1.0),
    near: float | None = None,
) -> float:
    """The cut (a score of at least it passes) at which the figure is best.

    figure: one of the pass-or-fail figures of `core.FIGURES`, or "cost": costs are those of (a
    wrong pass, a wrong fail). Candidates: halfway between neighbouring scores, and the lowest
    score; of equally good ones the nearest to `near`, else the lowest. Raises ValueError for one
    class only, or where the figure is defined at none.
    """
    _check(score, truth)
    worth_of = _worth(figure, costs)
    if truth.all() or not truth.any():
        raise ValueError(_ONE_CLASS)
    values, table = coefficients.tables_by_cut(score, truth)
    worth = worth_of(table)
    if not np.isfinite(worth).any():
        raise ValueError(f"{figure} is not defined at any cut")
    cuts = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2])
    # Equal worth may differ in the last bits, which must not decide between cuts.
    best = cuts[worth >= np.nanmax(worth) - 1e-12]
    nearest = 0 if near is None else np.abs(best - near).argmin()
    return float(best[nearest])


_OF_A_CONSTANT = {"kappa": 0.0, "balanced_accuracy": 0.5}
"""Figures of a judge that gives every row the same verdict."""


def change_cut(
    score: FloatArray,
    truth: BoolArray,
    old: float,
    cluster: IntArray | None = None,
    *,
    figure: str = "kappa",
    costs: tuple[float, float] = (1.0, 1.0),
    folds: int = 5,
    draws: int = 2000,
    seed: int = 0,
) -> CutChange:
    """Would another cut be better? Chosen on the other folds, tested on each fold's own rows; see
    `CutChange`.
    """
    _check(score, truth)
    groups = row_clusters(cluster, len(score))
    clusters = len(np.unique(groups))
    empty = CutChange(
        figure=figure,
        old_cut=old,
        cut=None,
        cuts=(),
        n=len(score),
        clusters=clusters,
        old=None,
        new=None,
        difference=None,
        interval=None,
        p=None,
        adopt=False,
    )
    if clusters < 2:
        reason = "at least two clusters are needed to choose on some rows and test on others"
        return replace(empty, reason=reason)
    place = folds_of(groups, folds, seed)
    cuts = []
    passes = np.zeros(len(score), bool)
    try:
        for fold in range(int(place.max()) + 1):
            test = place == fold
            cut = best_cut(score[~test], truth[~test], figure=figure, costs=costs, near=old)
            passes[test] = score[test] >= cut
            cuts.append(cut)
        whole = best_cut(score, truth, figure=figure, costs=costs, near=old)
    except ValueError as error:
        return replace(empty, reason=str(error))
    chosen = replace(empty, cut=whole, cuts=tuple(cuts))
    if figure == "cost":
        return _cost_change(chosen, truth, (score >= old, passes), groups, costs)
    label = truth.astype(np.float64)
    before = Ratings(label, score, score >= old, truth, cluster=groups)
    after = Ratings(label, score, passes, truth, cluster=groups)
    return _figure_change(chosen, before, after, draws, seed)


def _cost_change(
    chosen: CutChange,
    truth: BoolArray,
    passes: tuple[BoolArray, BoolArray],
    groups: IntArray,
    costs: tuple[float, float],
) -> CutChange:
    """Test of the mean cost of a row, where less is better; passes: by the old and the new cut."""
    wrong_pass, wrong_fail = costs
    old, new = (np.where(truth, wrong_fail * ~side, wrong_pass * side) for side in passes)
    rows = zip(old.tolist(), new.tolist(), map(str, groups.tolist()), strict=True)
    gain = paired_difference(rows, high=max(costs))
    return replace(
        chosen,
        old=gain.mean_a,
        new=gain.mean_b,
        difference=gain.difference,
        interval=gain.interval,
        p=gain.p,
        adopt=gain.interval is not None and gain.interval.high < 0,
        reason=few_clusters_note(chosen.clusters, "intervals"),
    )


def _figure_change(
    chosen: CutChange, before: Ratings, after: Ratings, draws: int, seed: int
) -> CutChange:
    """The test of a figure of pass or fail, where more is better."""
    figure = chosen.figure
    pair = {"old": before, "new": after}
    (change,) = agreement.differences(pair, names=(figure,), draws=draws, seed=seed)
    old_is_constant = bool(before.passes.all() or not before.passes.any())
    if change.interval is None and figure in _OF_A_CONSTANT and old_is_constant:
        # The old cut tells no rows apart, whatever is drawn: all that varies is the new one's
        # figure.
        (new,) = agreement.figures(after, names=(figure,), draws=draws, seed=seed).pooled
        if new.interval is not None:
            change = replace(
                change,
                interval=_lowered(new.interval, _OF_A_CONSTANT[figure]),
                reason=new.reason,
            )
    return replace(
        chosen,
        old=agreement.point(figure, before),
        new=agreement.point(figure, after),
        difference=change.difference,
        interval=change.interval,
        p=change.p,
        adopt=change.interval is not None and change.interval.low > 0,
        reason=change.reason or few_clusters_note(chosen.clusters, "intervals"),
    )


def _lowered(interval: Interval, by: float) -> Interval:
    return Interval(interval.low - by, interval.high - by, interval.level, interval.method)


def _worth(figure: str, costs: tuple[float, float]) -> Callable[[FloatArray], FloatArray]:
    """What each of several binary tables (cuts, 4) is worth: more is better."""
    if figure == "cost":

        def negative_cost(table: FloatArray) -> FloatArray:
            return -(costs[0] * table[:, 1] + costs[1] * table[:, 2])

        return negative_cost
    if figure not in coefficients.BINARY:
        raise ValueError(
            f"no cut can be chosen by {figure!r}; choose by cost or one of"
            f" {', '.join(coefficients.BINARY)}"
        )
    return partial(coefficients.binary, figure)


# -- the arithmetic


def _isotonic(score: FloatArray, truth: BoolArray) -> Calibrator:
    values, place, size = np.unique(score, return_inverse=True, return_counts=True)
    mean = np.bincount(place.reshape(-1), weights=truth) / size
    # Blocks of (mean, weight, points); a block below the one before it is pooled with it.
    blocks: list[tuple[float, float, int]] = []
    for height, weight in zip(mean.tolist(), size.tolist(), strict=True):
        blocks.append((height, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            (h1, w1, n1), (h2, w2, n2) = blocks[-2:]
            blocks[-2:] = [((h1 * w1 + h2 * w2) / (w1 + w2), w1 + w2, n1 + n2)]
    heights = np.repeat([height for height, _, _ in blocks], [points for _, _, points in blocks])
    # Inside a block the line is flat: its ends say everything.
    ends = np.ones(len(values), bool)
    ends[1:-1] = (heights[1:-1] != heights[:-2]) | (heights[1:-1] != heights[2:])
    return Calibrator("isotonic", tuple(heights[ends].tolist()), tuple(values[ends].tolist()))


def _regress(x: FloatArray, target: FloatArray, ridge: float = RIDGE) -> tuple[float, ...]:
    """Logistic regression by damped Newton steps: slopes, then the intercept. targets in [0, 1].

    The ridge is far below what rows say; it only keeps slopes finite where a score separates the
    classes.
    """
    design = np.column_stack([x, np.ones(len(x))])
    beta = np.zeros(design.shape[1])
    penalty = np.full(len(beta), ridge * len(x))
    penalty[-1] = 0.0

    def loss(b: FloatArray) -> float:
        z = design @ b
        return float((np.logaddexp(0.0, z) - target * z).sum() + (penalty * b * b).sum() / 2)

    current = loss(beta)
    for _ in range(_STEPS):
        p = _logistic(design @ beta)
        gradient = design.T @ (p - target) + penalty * beta
        # Where all scores are equal the curvature is singular: hence the 1e-12 and least squares.
        curve = (design * (p * (1 - p))[:, None]).T @ design + np.diag(penalty + 1e-12)
        step = np.linalg.lstsq(curve, gradient, rcond=None)[0]
        size = 1.0
        slack = 1e-13 * abs(current)  # near the end no step is lower than rounding can tell
        following = loss(beta - step)
        # Newton's whole step may overshoot where the curve is nearly flat.
        while following > current + slack and size > 1e-8:
            size /= 2
            following = loss(beta - size * step)
        if following > current + slack:
            break
        beta = beta - size * step
        current = following
        if float(np.abs(size * step).max()) < 1e-12:
            break
    return tuple(beta.tolist())


def _logistic(z: FloatArray) -> FloatArray:
    # By tanh, which does not overflow as exp(-z) does.
    return np.asarray(0.5 * (1 + np.tanh(z / 2)), dtype=np.float64)


def _logs(score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ln s and -ln(1 - s), the two features of the beta map."""
    inside = np.clip(score, EDGE, 1 - EDGE)
    return np.log(inside), -np.log1p(-inside)


def _check(score: FloatArray, truth: BoolArray) -> None:
    if not len(score) or score.shape != truth.shape:
        raise ValueError("one score and one label a row are needed, and at least one row")
    if not np.isfinite(score).all():
        raise ValueError("scores must be finite: leave out the rows that have none")
