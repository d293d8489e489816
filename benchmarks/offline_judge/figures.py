"""What is a judge's probability worth against labels? Balanced accuracy, AUROC, F1, calibration
error, with intervals.

Intervals: 95 %, from a bootstrap that draws whole groups (source documents, questions,
conversations) of each set with replacement; a mean over sets draws inside every set. Sets of
fifteen documents are among them, so it is not percentiles that are shown but
`ragassay.scoring.bootstrap.interval`, Student's t on the figure's own scale. Degrees of freedom:
effective groups less one; of a mean over sets Satterthwaite's (1946). All draws are made at once as
weights of rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragassay.scoring.bootstrap import NO_SPREAD, effective, interval, spread

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

MEASURES = ("balanced_accuracy", "auroc", "f1_hallucinated", "f1", "ece", "kappa")
SEED, DRAWS, BINS = 20261121, 1000, 10


def measures(y: Labels, p: Floats, cut: float, weights: Floats) -> dict[str, Floats]:
    """Every measure for each row of `weights` [draws, rows]; nan where a class is missing.

    y: 1 = people say yes. p: what the judge says, in [0, 1] where the calibration error is to mean
    something. Yes is from `cut` on. f1_hallucinated: F1 of finding the rows that people call
    unsupported; f1: of those that they say yes to.
    """
    yes = p >= cut
    good = y == 1
    with np.errstate(invalid="ignore", divide="ignore"):
        tp, fn = weights @ (good & yes), weights @ (good & ~yes)
        fp, tn = weights @ (~good & yes), weights @ (~good & ~yes)
        total = tp + fn + fp + tn
        chance = ((tp + fn) * (tp + fp) + (tn + fp) * (tn + fn)) / total**2
        return {
            "balanced_accuracy": (tp / (tp + fn) + tn / (tn + fp)) / 2,
            "auroc": _auroc(good, p, weights),
            "f1_hallucinated": 2 * tn / (2 * tn + fn + fp),
            "f1": 2 * tp / (2 * tp + fn + fp),
            "ece": _ece(y, p, weights),
            "kappa": ((tp + tn) / total - chance) / (1 - chance),
        }


def _auroc(good: NDArray[np.bool_], p: Floats, weights: Floats) -> Floats:
    """Chance that a yes-row ranks over a no-row; ties count half."""
    order = np.argsort(p, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(p[order]) > 0))
    ups = np.add.reduceat((weights * good)[:, order], starts, axis=1)
    downs = np.add.reduceat((weights * ~good)[:, order], starts, axis=1)
    below = np.cumsum(downs, axis=1) - downs
    area: Floats = (ups * (below + downs / 2)).sum(axis=1) / (ups.sum(axis=1) * downs.sum(axis=1))
    return area


def _ece(y: Labels, p: Floats, weights: Floats) -> Floats:
    """Weighted mean gap between the mean probability and the share of yes in ten bins of equal
    width.
    """
    at = np.zeros((len(p), BINS))
    at[np.arange(len(p)), np.clip((p * BINS).astype(np.int64), 0, BINS - 1)] = 1.0
    gaps: Floats = np.abs((weights * (y - p)) @ at).sum(axis=1) / weights.sum(axis=1)
    return gaps


def calibration_error_by_chance(p: Floats, draws: int = 500) -> float:
    """The calibration error that is to be expected of probabilities without any error, from the
    few rows in a bin alone: its mean over labels drawn with these probabilities. p: [rows].
    """
    generator = np.random.default_rng(SEED)
    ones = np.ones((1, len(p)))
    labels = (generator.random((draws, len(p))) < p).astype(np.int64)
    return float(np.mean([_ece(y, p, ones)[0] for y in labels]))


class Sample:
    """The rows of one set: labels and groups, and the weights of every bootstrap draw."""

    def __init__(self, labels: Sequence[int], groups: Sequence[str]) -> None:
        self.y = np.array(labels, np.int64)
        _, member = np.unique(np.array(groups), return_inverse=True)
        self.clusters = int(member.max()) + 1
        self.freedom = max(1.0, effective(np.bincount(member).astype(np.float64)) - 1)
        # A stream of its own for each set, so that draws of different sets have nothing in common.
        generator = np.random.default_rng(
            [SEED, zlib.crc32("\n".join(groups).encode("utf-8", "replace"))]
        )
        drawn = generator.multinomial(
            self.clusters, np.full(self.clusters, 1 / self.clusters), DRAWS
        )
        self.weights: Floats = np.vstack([np.ones(len(self.y)), drawn[:, member]]).astype(
            np.float64
        )

    def draws(self, p: Floats, cut: float) -> Draws:
        """Each measure: the figure itself first, then that of every draw."""
        return Draws(measures(self.y, p, cut, self.weights), self.freedom)


class Draws(dict[str, Floats]):
    """By measure the figure itself and that of every draw. freedom: degrees of freedom of their
    spread, at least 1.
    """

    def __init__(self, figures: Mapping[str, Floats], freedom: float) -> None:
        super().__init__(figures)
        self.freedom = freedom


def shown(draws: Draws, only: Sequence[str] = MEASURES, *, gain: bool = False) -> dict[str, Any]:
    """Each measure as a number with its interval; None where it has no value. gain: differences of
    two judges.
    """
    result: dict[str, Any] = {}
    for name in only:
        result |= _with_interval(name, draws[name], draws.freedom, gain=gain)
    return result


def mean_over(
    sets: Sequence[Draws], only: Sequence[str] = MEASURES, *, gain: bool = False
) -> dict[str, Any]:
    """The mean over the sets of each measure, with the interval of that mean."""
    result: dict[str, Any] = {}
    for name in only:
        variances = np.array([float(spread(one[name][1:])) ** 2 for one in sets])
        each = float((variances**2 / np.array([one.freedom for one in sets])).sum())
        freedom = (
            float(variances.sum()) ** 2 / each if each > 0 else min(one.freedom for one in sets)
        )
        result |= _with_interval(
            name, np.mean([one[name] for one in sets], axis=0), freedom, gain=gain
        )
    return result


def _with_interval(name: str, draws: Floats, freedom: float, *, gain: bool) -> dict[str, Any]:
    value, deviation = float(draws[0]), float(spread(draws[1:]))
    if np.isnan(value) or np.isnan(deviation):
        return {name: None if np.isnan(value) else value, f"{name}_interval": None}
    low = -1.0 if gain or name == "kappa" else 0.0
    if (
        deviation <= NO_SPREAD and low < value < 1
    ):  # a judge that always says the same: no draw can move it
        return {name: value, f"{name}_interval": [value, value]}
    found = interval(value, deviation, max(1.0, freedom), low, 1.0)
    return {name: value, f"{name}_interval": [found.low, found.high]}


def balanced_accuracy(y: Labels, yes: NDArray[np.bool_]) -> float:
    """Mean of the shares of both classes that are called right."""
    return float((yes[y == 1].mean() + (~yes[y == 0]).mean()) / 2)


def best_cut(sets: Sequence[tuple[Labels, Floats]]) -> float:
    """The one cut with the best mean of balanced accuracies over these sets; the middle of the best
    stretch.
    """
    everything = np.unique(np.concatenate([p for _, p in sets]))
    cuts = np.unique(np.quantile(everything, np.linspace(0.005, 0.995, 199)))
    scores = np.array([np.mean([balanced_accuracy(y, p >= cut) for y, p in sets]) for cut in cuts])
    best = np.flatnonzero(scores >= scores.max() - 1e-12)
    return float(cuts[best[len(best) // 2]])
