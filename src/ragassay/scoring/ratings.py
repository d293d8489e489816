"""Ratings: one judge's scores beside people's labels, and rows that no figure can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.core import FIGURES
from ragassay.scoring import coefficients
from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray, numbered

ECE_BINS = 10
SCORE_GROUPS, LABEL_GROUPS = 128, 16
"""Values of scores and of labels that the spread of a figure tells apart; see `Kinds`."""
GRADES = 20
"""Points of a graded scale at most."""
GRADED = (
    "graded_accuracy",
    "graded_kappa",
    "kappa_linear",
    "kappa_quadratic",
    "alpha_ordinal",
    "off_by_1",
)
RANKED = ("pearson", "spearman", "kendall")
UNIT = ("ece", "brier")


@dataclass(frozen=True, slots=True)
class Ratings:
    """One judge on one set of rows; every array has one value a row.

    label: the human label on its scale. score: the judge's score. passes: the judge's pass or fail;
    truth: people's. unit: the score in [0, 1] read as a probability of a pass, None where it is
    none. grades: index of the label and of the score in `points`, the common scale, rising.
    cluster: any integers, None where every row is its own. slice: index into slice_names, None for
    no slices. weight: how many rows of the population each row stands for, such as the inverse of
    its chance of having been chosen; only their proportions matter, None where all are equal.
    Raises ValueError for what does not fit together.
    """

    label: FloatArray
    score: FloatArray
    passes: BoolArray
    truth: BoolArray
    unit: FloatArray | None = None
    grades: tuple[IntArray, IntArray] | None = None
    points: tuple[float, ...] = ()
    cluster: IntArray | None = None
    slice: IntArray | None = None
    slice_names: tuple[str, ...] = ()
    weight: FloatArray | None = None

    def __post_init__(self) -> None:
        n = len(self.label)
        arrays = [
            self.score,
            self.passes,
            self.truth,
            self.unit,
            *(self.grades or ()),
            self.cluster,
            self.slice,
            self.weight,
        ]
        if any(array is not None and array.shape != (n,) for array in arrays):
            raise ValueError("label, score and the other arrays must have one value for each row")
        if not (np.isfinite(self.label).all() and np.isfinite(self.score).all()):
            raise ValueError("labels and scores must be finite: leave out the rows that have none")
        if self.weight is not None and not (
            np.isfinite(self.weight).all() and (self.weight > 0).all()
        ):
            raise ValueError("a weight lies above 0")
        if self.unit is not None and not ((self.unit >= 0) & (self.unit <= 1)).all():
            raise ValueError("a score read as a probability must lie in [0, 1]")
        if len(self.points) > GRADES:
            raise ValueError(f"a graded scale has at most {GRADES} points, not {len(self.points)}")
        indices = [(grade, len(self.points)) for grade in self.grades or ()]
        if self.slice is not None:
            indices.append((self.slice, len(self.slice_names)))
        for codes, most in indices:
            if n and not (codes.min() >= 0 and codes.max() < most):
                raise ValueError("an index of a grade or a slice points beyond its names")

    def __len__(self) -> int:
        return len(self.label)

    def rows(self, chosen: BoolArray | IntArray) -> Ratings:
        """The chosen rows, without slices."""
        return Ratings(
            self.label[chosen],
            self.score[chosen],
            self.passes[chosen],
            self.truth[chosen],
            None if self.unit is None else self.unit[chosen],
            None if self.grades is None else (self.grades[0][chosen], self.grades[1][chosen]),
            self.points,
            None if self.cluster is None else self.cluster[chosen],
            weight=None if self.weight is None else self.weight[chosen],
        )

    @property
    def row_weights(self) -> FloatArray:
        """(n,) the weights with mean 1, so that counts of weighted rows still sum to n."""
        if self.weight is None or not len(self):
            return np.ones(len(self))
        weights: FloatArray = self.weight * (len(self) / self.weight.sum())
        return weights

    @property
    def worth(self) -> float:
        """How many rows of equal weight say as much as these: Kish's (1965) effective number."""
        weights = self.row_weights
        squares = float((weights * weights).sum())
        return float(weights.sum()) ** 2 / squares if squares else 0.0

    def figures(self) -> tuple[str, ...]:
        """Names of `core.FIGURES` that make sense for what is here; correlations where the label
        has more than two values.
        """
        without: set[str] = set()
        if self.grades is None:
            without.update(GRADED)
        if self.unit is None:
            without.update(UNIT)
        if len(np.unique(self.label)) <= 2:
            without.update(RANKED)
        return tuple(name for name in FIGURES if name not in without)

    def cells(self) -> IntArray:
        """Each row's place in a binary table: 0 true positive, 1 false positive, 2 false negative,
        3 true negative.
        """
        return coefficients.cells(self.truth, self.passes)


class Kinds:
    """Rows that no figure can tell apart are one kind, and a resampled set of rows is a weight for
    each kind.

    Scores of more than 128 values (labels: 16) are grouped by rank for this purpose alone, the
    group's means standing in for its values. So the spread of a figure is taken over kinds, its
    value never. Needs at least one row.
    """

    def __init__(self, r: Ratings) -> None:
        score, label = _grouped(r.score, SCORE_GROUPS), _grouped(r.label, LABEL_GROUPS)
        parts = [score, label, r.cells(), *(r.grades or ())]
        if r.unit is not None:
            parts.append(unit_bins(r.unit))
        code = np.zeros(len(r), np.int64)
        # Numbered afresh after each part, or the product of many would overflow. Kinds end up
        # sorted by score, then label, so that those of one score lie side by side for `reduceat`.
        for part in parts:
            code = numbered(code * (int(part.max()) + 1) + part)
        row_weight = r.row_weights
        size = np.bincount(code, weights=row_weight)
        first = np.unique(code, return_index=True)[1]

        def mean(values: FloatArray) -> FloatArray:
            """(kinds,) the mean of each kind's rows."""
            return np.bincount(code, weights=values * row_weight) / size

        self.of_row, self.count = code, len(size)
        self._truth = r.truth[first].astype(np.float64)
        # (kinds, cells) of 0 and 1: weights of kinds times this are a table, here and below.
        self._binary = np.eye(4)[r.cells()[first]]
        self._score_start = np.unique(score[first], return_index=True)[1]
        self._shape = (int(score.max()) + 1, int(label.max()) + 1)
        self._rank_cell, self._rank_cell_start = np.unique(
            score[first] * self._shape[1] + label[first], return_index=True
        )
        # Centred first: sums of squares of large values would cancel.
        x, y = r.score - r.score.mean(), r.label - r.label.mean()
        self._moments = np.stack([np.ones(self.count), *map(mean, (x, y, x * x, y * y, x * y))], 1)
        self._points = np.asarray(r.points, dtype=np.float64)
        if r.grades is not None:
            k = len(r.points)
            self._grades = np.eye(k * k)[(r.grades[0] * k + r.grades[1])[first]]
        if r.unit is not None:
            gap = r.unit - r.truth
            self._brier = mean(gap * gap)
            self._gaps = np.eye(ECE_BINS)[unit_bins(r.unit)[first]] * mean(gap)[:, None]

    def values(
        self, weight: FloatArray, names: Sequence[str], added: FloatArray | float = 0.0
    ) -> FloatArray:
        """(..., names) the figures under weights (..., kinds); `added`: to each cell of the binary
        tables (..., 4).
        """
        out = np.empty((*weight.shape[:-1], len(names)))
        table, rows = weight @ self._binary + added, weight.sum(-1)
        if any(name in GRADED for name in names):
            k = len(self._points)
            grades = (weight @ self._grades).reshape(*weight.shape[:-1], k, k)
        if "spearman" in names or "kendall" in names:
            flat = np.zeros((*weight.shape[:-1], self._shape[0] * self._shape[1]))
            flat[..., self._rank_cell] = np.add.reduceat(weight, self._rank_cell_start, axis=-1)
            ranks = flat.reshape(*weight.shape[:-1], *self._shape)
        for i, name in enumerate(names):
            if name in coefficients.BINARY:
                out[..., i] = coefficients.binary(name, table)
            elif name in GRADED:
                out[..., i] = coefficients.graded(name, grades, self._points)
            elif name == "auc":
                positives = np.add.reduceat(weight * self._truth, self._score_start, axis=-1)
                negatives = np.add.reduceat(weight * (1 - self._truth), self._score_start, axis=-1)
                out[..., i] = coefficients.area(positives, negatives)
            elif name == "brier":
                out[..., i] = coefficients.ratio(weight @ self._brier, rows)
            elif name == "ece":
                out[..., i] = np.abs(self.gaps(weight)).sum(-1)
            elif name == "pearson":
                out[..., i] = coefficients.correlation(weight @ self._moments)
            elif name == "spearman":
                out[..., i] = coefficients.rank_correlation(ranks)
            elif name == "kendall":
                out[..., i] = coefficients.tau_b(ranks)
            else:
                raise ValueError(f"{name!r} is not a figure")
        return out

    def gaps(self, weight: FloatArray) -> FloatArray:
        """(..., bins) by bin of the score, its sum of score - truth over all rows: what ECE adds up
        without sign.
        """
        return coefficients.ratio(weight @ self._gaps, weight.sum(-1)[..., None])


def unit_bins(unit: FloatArray, bins: int = ECE_BINS) -> IntArray:
    """Index of the bin of equal width [i / bins, (i + 1) / bins) that each value of [0, 1] lies in;
    1 in the last.
    """
    return np.minimum((unit * bins).astype(np.int64), bins - 1)


def _grouped(values: FloatArray, most: int) -> IntArray:
    """Index of each value's rank group: every distinct value its own where there are at most
    `most`.
    """
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    place = place.reshape(-1).astype(np.int64)
    if len(distinct) <= most:
        return place
    mid_ranks = np.cumsum(counts) - counts / 2
    group = (mid_ranks * (most / len(values))).astype(np.int64)
    return numbered(group)[place]
