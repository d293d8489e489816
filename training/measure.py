"""How good are probabilities or scores, set by set? Balanced accuracy, AUROC, F1, calibration error, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


def balanced_accuracy(y: Labels, yes: NDArray[np.bool_]) -> float:
    """Mean share of positives and of negatives called right; nan when a class is missing."""
    if not y.any() or y.all():
        return float("nan")
    return float((yes[y == 1].mean() + (~yes[y == 0]).mean()) / 2)


def auroc(y: Labels, scores: Floats) -> float:
    """Chance that a positive ranks over a negative, ties counted half; nan when a class is missing."""
    positives = int(y.sum())
    negatives = len(y) - positives
    if not positives or not negatives:
        return float("nan")
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float((ranks[y == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def best_balanced(y: Labels, scores: Floats) -> float:
    """Balanced accuracy at the best cut for these very rows: what a cut of its own would give at most."""
    cuts = np.unique(np.quantile(scores, np.linspace(0, 1, 101)))
    return max(balanced_accuracy(y, scores >= cut) for cut in cuts)


def f1(y: Labels, yes: NDArray[np.bool_]) -> float:
    """F1 of class 1."""
    right = int((yes & (y == 1)).sum())
    return 2 * right / max(1, int(yes.sum()) + int(y.sum()))


def calibration_error(y: Labels, p: Floats, bins: int = 10) -> float:
    """Expected calibration error in bins of equal width."""
    which = np.minimum((p * bins).astype(int), bins - 1)
    return float(sum(abs(p[which == b].sum() - y[which == b].sum()) for b in range(bins)) / len(y))


def weigh(sources: Sequence[str], y: Labels | None = None) -> Floats:
    """Every set alike; with labels its classes alike too."""
    keys = list(sources) if y is None else [(s, int(v)) for s, v in zip(sources, y, strict=True)]
    sizes = Counter(keys)
    weights = np.array([1.0 / sizes[key] for key in keys])
    return np.asarray(weights * len(keys) / weights.sum(), np.float64)


def intervals(
    measure: Callable[[NDArray[np.int64]], float], clusters: Sequence[str], draws: int = 500, seed: int = 0
) -> tuple[float, float]:
    """95 % interval of a figure of row numbers, from a bootstrap over whole groups."""
    members: dict[str, list[int]] = {}
    for index, group in enumerate(clusters):
        members.setdefault(group, []).append(index)
    rows = [np.array(v) for v in members.values()]
    generator = np.random.default_rng(seed)
    found = [
        measure(np.concatenate([rows[i] for i in generator.integers(0, len(rows), len(rows))])) for _ in range(draws)
    ]
    kept = [v for v in found if v == v]
    low, high = np.quantile(kept, (0.025, 0.975)) if kept else (0.0, 1.0)
    return float(low), float(high)


def by_set(sources: Sequence[str], y: Labels, scores: Floats, cut: float = 0.0) -> Mapping[str, tuple[float, ...]]:
    """For each set: rows, balanced accuracy at the cut, at its own best cut, AUROC; `macro` is the mean of sets."""
    names = np.array(sources)
    result: dict[str, tuple[float, ...]] = {}
    for name in dict.fromkeys(sources):
        at = names == name
        result[name] = (
            float(at.sum()),
            balanced_accuracy(y[at], scores[at] >= cut),
            best_balanced(y[at], scores[at]),
            auroc(y[at], scores[at]),
        )
    both = [v for v in result.values() if v[1] == v[1]]
    result["macro"] = tuple(float(np.mean([v[i] for v in both])) for i in range(4))
    return result
