"""How good are probabilities or scores, set by set? Balanced accuracy, AUROC, calibration error, as
training prints them.

What is shown to users, with intervals, is measured by `benchmarks/offline_judge`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


def balanced_accuracy(y: Labels, yes: NDArray[np.bool_]) -> float:
    """Mean share of positives and of negatives called right; nan when a class is missing."""
    return float("nan") if not y.any() or y.all() else float(balanced_accuracy_score(y, yes))


def auroc(y: Labels, scores: Floats) -> float:
    """Chance that a positive ranks over a negative, ties half; nan when a class is missing."""
    return float("nan") if not y.any() or y.all() else float(roc_auc_score(y, scores))


def support_odds(logits: NDArray[np.float32]) -> Floats:
    """log(p supported / p not supported) of support logits [n, 3+]."""
    rest = np.logaddexp(logits[:, 1], logits[:, 2])
    return np.asarray(logits[:, 0] - rest, np.float64)


def best_balanced(y: Labels, scores: Floats) -> float:
    """Balanced accuracy at the best cut for these very rows: what a cut of its own would give at
    most.
    """
    cuts = np.unique(np.quantile(scores, np.linspace(0, 1, 101)))
    return max(balanced_accuracy(y, scores >= cut) for cut in cuts)


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


def by_set(
    sources: Sequence[str], y: Labels, scores: Floats, cut: float = 0.0
) -> Mapping[str, tuple[float, ...]]:
    """For each set: rows, balanced accuracy at the cut, at its own best cut, AUROC; `macro` is the
    mean of sets.
    """
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
