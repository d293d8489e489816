"""The likeness of a test set to queries that users asked: a meter, no gate.

A classifier tells generated questions from real ones nearly always, and real sets from each other,
too (AUC .58 to .98 between public sets). So the figure is read beside those of other sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline import OfflineModel
from ragassay.scoring.agreement import auc
from ragassay.testsets.results import Likeness
from ragassay.testsets.words import words

_MOST = 400
"""Questions of each side that are compared: their vectors take a while."""

_FOLDS = 5
_RIDGE = 10.0
_LEAST = 20


def likeness(questions: Sequence[str], real: Sequence[str]) -> Likeness:
    """How a set looks beside real queries; the AUC is absent below 20 of either."""
    ours, theirs = list(questions)[:_MOST], list(real)[:_MOST]
    value = None
    if min(len(ours), len(theirs)) >= _LEAST:
        value = _told_apart(ours, theirs)
    return Likeness(len(real), value, (_mean(questions), _mean(real)), _beginnings(ours, theirs))


def _told_apart(ours: list[str], theirs: list[str]) -> float | None:
    """AUC of a ridge classifier over sentence vectors and figures, by cross-validation."""
    features = _features([*ours, *theirs])
    truth = np.array([True] * len(ours) + [False] * len(theirs))
    fold = np.concatenate([np.arange(len(ours)), np.arange(len(theirs))]) % _FOLDS
    scores = np.zeros(len(truth))
    for number in range(_FOLDS):
        train = fold != number
        mean = features[train].mean(axis=0)
        spread = features[train].std(axis=0) + 1e-6
        known = (features - mean) / spread
        target = np.where(truth[train], 1.0, -1.0)
        matrix = known[train]
        gram = matrix.T @ matrix + _RIDGE * np.eye(matrix.shape[1])
        scores[~train] = known[~train] @ np.linalg.solve(gram, matrix.T @ target)
    return auc(truth, scores)


def _features(texts: list[str]) -> NDArray[np.float64]:
    vectors = OfflineModel().vectors(texts).astype(np.float64)
    figures = [
        (len(words(text)), text[:1].isupper(), text.endswith("?"), sum(map(str.isupper, text)))
        for text in texts
    ]
    return np.hstack([vectors, np.array(figures, np.float64)])


def _mean(texts: Sequence[str]) -> float:
    return sum(len(words(text)) for text in texts) / max(1, len(texts))


def _beginnings(ours: list[str], theirs: list[str]) -> float:
    """Total variation distance of the first words."""
    mine = Counter((words(text) or [""])[0] for text in ours)
    other = Counter((words(text) or [""])[0] for text in theirs)
    names = mine.keys() | other.keys()
    gaps = (
        abs(mine[name] / max(1, len(ours)) - other[name] / max(1, len(theirs))) for name in names
    )
    return sum(gaps) / 2
