"""Coefficients of agreement from tables of counts, each over any number of tables at once.

Every function takes counts (or weights of rows) with leading axes of any shape and returns an array
of that shape, so that one call serves a single table and two thousand resampled ones. NaN stands
for "not defined on this table" and never leaves `scoring`. Zero weights are allowed everywhere.

Binary tables are (..., 4): true positives, false positives, false negatives, true negatives;
"positive" is a pass, the label is the truth. Square tables are (..., k, k): rows the label's
grades, columns the judge's. Rank tables are (..., U, L): rows the judge's values, columns the
label's, both rising.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray


def ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """part / whole, NaN where whole is 0."""
    out: FloatArray = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=out, where=whole != 0)
    return out


def _f1(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
    return ratio(2 * tp, 2 * tp + fp + fn)


def _balanced(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
    return (ratio(tp, tp + fn) + ratio(tn, tn + fp)) / 2


def _kappa(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
    # (observed - chance) / (1 - chance), cleared of fractions: no rounding where the judge is at
    # chance.
    return ratio(2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn))


def _ac1(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
    n = tp + fp + fn + tn
    share = ratio(2 * tp + fp + fn, 2 * n)
    chance = 2 * share * (1 - share)
    return (ratio(tp + tn, n) - chance) / (1 - chance)


def _alpha(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
    ones, zeros = 2 * tp + fp + fn, 2 * tn + fp + fn  # how often either value was given
    return 1 - ratio((ones + zeros - 1) * (fp + fn), ones * zeros)


def _mcc(tp: FloatArray, fp: FloatArray, fn: FloatArray, tn: FloatArray) -> FloatArray:
    spread = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
    return ratio(tp * tn - fp * fn, spread)


BINARY: Mapping[str, Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]] = {
    "precision": lambda tp, fp, fn, tn: ratio(tp, tp + fp),
    "recall": lambda tp, fp, fn, tn: ratio(tp, tp + fn),
    "f1": _f1,
    "accuracy": lambda tp, fp, fn, tn: ratio(tp + tn, tp + fp + fn + tn),
    "balanced_accuracy": _balanced,
    "kappa": _kappa,
    "ac1": _ac1,
    "alpha": _alpha,
    "mcc": _mcc,
    "false_positive_rate": lambda tp, fp, fn, tn: ratio(fp, fp + tn),
    "false_negative_rate": lambda tp, fp, fn, tn: ratio(fn, tp + fn),
    "specificity": lambda tp, fp, fn, tn: ratio(tn, fp + tn),
    "prevalence": lambda tp, fp, fn, tn: ratio(tp + fn, tp + fp + fn + tn),
    "pass_rate": lambda tp, fp, fn, tn: ratio(tp + fp, tp + fp + fn + tn),
}
"""Figures of pass or fail, as functions of tp, fp, fn, tn.

F1 is 2 tp / (2 tp + fp + fn), 0 where there are passes but none is shared. Cohen's kappa (1960) and
MCC are not defined where a margin leaves nothing to agree on beyond chance. AC1: chance = 2 q (1 -
q), q = mean of both pass rates (Gwet 2008, "Computing inter-rater reliability and its variance in
the presence of high agreement"). alpha: Krippendorff's, nominal, two coders: 1 - (N - 1) *
disagreements / (ones * zeros), N = 2 n values.
"""


def binary(name: str, table: FloatArray) -> FloatArray:
    """The figure of this name over binary tables (..., 4)."""
    tp, fp, fn, tn = (table[..., i] for i in range(4))
    return BINARY[name](tp, fp, fn, tn)


def cells(truth: BoolArray, passes: BoolArray) -> IntArray:
    """Each row's place in a binary table: 0 true positive, 1 false positive, 2 false negative, 3
    true negative.
    """
    return np.where(truth, np.where(passes, 0, 2), np.where(passes, 1, 3))


def cluster_tables(
    truth: BoolArray, passes: BoolArray, cluster: IntArray, weight: FloatArray | None = None
) -> FloatArray:
    """(clusters, 4) the binary table of each cluster; cluster: codes from 0; weight: of the rows,
    None where each counts as one.
    """
    clusters = int(cluster.max(initial=-1)) + 1
    places = cluster * 4 + cells(truth, passes)
    counts = np.bincount(places, weights=weight, minlength=clusters * 4)
    return counts.reshape(clusters, 4).astype(np.float64)


def table(truth: BoolArray, passes: BoolArray, weight: FloatArray | None = None) -> FloatArray:
    """(4,) the binary table of these rows; weight: of the rows, None where each counts as one."""
    return np.bincount(cells(truth, passes), weights=weight, minlength=4).astype(np.float64)


def tables_by_cut(
    score: FloatArray, truth: BoolArray, weight: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """(scores,) the distinct scores, rising, and (scores, 4) the binary table where rows from that
    score on pass. weight: of the rows, None where each counts as one.
    """
    scores, place = np.unique(score, return_inverse=True)
    place = place.reshape(-1)
    each = np.ones(len(score)) if weight is None else weight
    positives = np.bincount(place, weights=truth * each, minlength=len(scores))
    rows = np.bincount(place, weights=each, minlength=len(scores))
    # Summed from the highest score down: the rows at or above each cut.
    tp = positives[::-1].cumsum()[::-1]
    fp = rows[::-1].cumsum()[::-1] - tp
    fn = positives.sum() - tp
    tn = (rows - positives).sum() - fp
    return scores, np.stack([tp, fp, fn, tn], -1)


def distances(points: FloatArray, weights: str | None) -> FloatArray:
    """(k, k) disagreement of two grades: 0 or 1 (None), |difference| ("linear") or its square
    ("quadratic").
    """
    gap = np.abs(points[:, None] - points[None, :])
    if weights is None:
        return (gap > 0).astype(np.float64)
    return gap if weights == "linear" else gap * gap


def weighted_kappa(table: FloatArray, distance: FloatArray) -> FloatArray:
    """Cohen's weighted kappa (1968): 1 - observed / expected disagreement. NaN where chance alone
    never disagrees.
    """
    expected = table.sum(-1)[..., :, None] * table.sum(-2)[..., None, :]
    n = table.sum((-2, -1))
    return 1 - ratio(n * (table * distance).sum((-2, -1)), (expected * distance).sum((-2, -1)))


def same_share(table: FloatArray, within: int = 0) -> FloatArray:
    """Share of rows whose grades are at most `within` steps apart."""
    steps = np.arange(table.shape[-1])
    near = np.abs(steps[:, None] - steps[None, :]) <= within
    return ratio((table * near).sum((-2, -1)), table.sum((-2, -1)))


def ordinal_alpha(table: FloatArray) -> FloatArray:
    """Krippendorff's alpha, ordinal metric, two coders: 1 - observed / expected disagreement over
    pairable values.

    The distance of two grades is the number of values between them, half of the ends' own, squared.
    """
    both = table + np.swapaxes(table, -1, -2)  # ordered pairs of values: each row in both orders
    values = both.sum(-1)
    middle = np.cumsum(values, -1) - values / 2
    gap = (middle[..., :, None] - middle[..., None, :]) ** 2
    expected = values[..., :, None] * values[..., None, :]
    n = values.sum(-1)
    return 1 - ratio((n - 1) * (both * gap).sum((-2, -1)), (expected * gap).sum((-2, -1)))


def area(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Area under the ROC curve from counts (..., U) of positives and negatives at each rising
    score; ties count half.
    """
    below = np.cumsum(negatives, -1) - negatives / 2
    return ratio((positives * below).sum(-1), positives.sum(-1) * negatives.sum(-1))


def correlation(moments: FloatArray) -> FloatArray:
    """Pearson's correlation from (..., 6): n and the sums of x, y, x^2, y^2, xy, of values that
    were centred before.
    """
    n, x, y, xx, yy, xy = (moments[..., i] for i in range(6))
    across, down = n * xx - x * x, n * yy - y * y
    # What is left of a constant after rounding is no spread.
    flat = (across <= 1e-12 * n * xx) | (down <= 1e-12 * n * yy)
    spread = np.sqrt(np.abs(across)) * np.sqrt(np.abs(down))
    return np.clip(ratio(n * xy - x * y, np.where(flat, 0.0, spread)), -1, 1)


def rank_correlation(table: FloatArray) -> FloatArray:
    """Spearman's rho from rank tables: Pearson's correlation of the mid-ranks."""
    rows, columns, n = table.sum(-1), table.sum(-2), table.sum((-2, -1))
    x = np.cumsum(rows, -1) - rows / 2 - n[..., None] / 2  # mid-ranks around their mean
    y = np.cumsum(columns, -1) - columns / 2 - n[..., None] / 2
    joint = (np.matmul(table, y[..., None])[..., 0] * x).sum(-1)
    across, down = (rows * x * x).sum(-1), (columns * y * y).sum(-1)
    return np.clip(ratio(joint, np.sqrt(across) * np.sqrt(down)), -1, 1)


def tau_b(table: FloatArray) -> FloatArray:
    """Kendall's tau-b (1945) from rank tables: (concordant - discordant) pairs over those not tied
    in x and in y.
    """
    before = np.cumsum(table, -2) - table  # counts at smaller x, by y
    concordant = np.cumsum(before, -1) - before  # of these the smaller y
    discordant = before.sum(-1, keepdims=True) - concordant - before
    excess = (table * (concordant - discordant)).sum((-2, -1))
    n = table.sum((-2, -1))
    # Twice the pairs that are not tied in x, and in y.
    across = n * n - (table.sum(-1) ** 2).sum(-1)
    down = n * n - (table.sum(-2) ** 2).sum(-1)
    return np.clip(ratio(2 * excess, np.sqrt(across) * np.sqrt(down)), -1, 1)


def graded(name: str, table: FloatArray, points: FloatArray) -> FloatArray:
    """The graded figure of this name over square tables; points: the scale's, rising (weights of
    the kappas).
    """
    if name == "graded_accuracy":
        return same_share(table)
    if name == "off_by_1":
        return same_share(table, within=1)
    if name == "alpha_ordinal":
        return ordinal_alpha(table)
    return weighted_kappa(table, distances(points, _WEIGHTS[name]))


_WEIGHTS = {"graded_kappa": None, "kappa_linear": "linear", "kappa_quadratic": "quadratic"}
