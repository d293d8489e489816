"""Clusters of documents by their words, over which a plan spreads its questions.

Each document is a sum of random vectors of its words, weighted by rarity, and the sums are grouped
by k-means. No model is asked, so that 100,000 chunks take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragassay.testsets.search import WordSearch

_DIMENSIONS = 48
_ROUNDS = 12
MOST = 12
"""Clusters at most: a table of them has to be read."""


def clusters(search: WordSearch, owners: Sequence[int], documents: int, seed: int) -> list[int]:
    """The cluster of each document, numbered by size from 0, the largest first.

    owners: the document of each text of the index. One cluster for each 20 documents, up to MOST.
    """
    count = max(1, min(MOST, documents // 20))
    if count == 1:
        return [0] * documents
    vectors = _vectors(search, np.asarray(owners), documents, seed)
    labels = _k_means(vectors, count, seed)
    sizes = np.bincount(labels, minlength=count)
    rank = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
    return [int(rank[label]) for label in labels]


def _vectors(
    search: WordSearch, owners: NDArray[np.int64], documents: int, seed: int
) -> NDArray[np.float32]:
    """The vector of each document, of length 1."""
    dice = np.random.default_rng(seed)
    frequency = np.diff(search.bounds)
    # Words of one text alone say nothing of what is alike, and those of most texts neither.
    useful = (frequency >= 2) & (frequency <= max(2, search.size // 4))
    vectors = np.zeros((documents, _DIMENSIONS), np.float32)
    for number in np.flatnonzero(useful).tolist():
        first, last = search.bounds[number], search.bounds[number + 1]
        direction = dice.standard_normal(_DIMENSIONS, np.float32)
        rows = owners[search.owner[first:last]]
        np.add.at(vectors, rows, search.weight[first:last, None].astype(np.float32) * direction)
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-9), np.float32)


def _k_means(vectors: NDArray[np.float32], count: int, seed: int) -> NDArray[np.int64]:
    """The label of each vector, by cosine, from centres that lie apart (k-means++)."""
    dice = np.random.default_rng(seed)
    centres = [vectors[int(dice.integers(len(vectors)))]]
    distance = np.full(len(vectors), np.inf)
    for _ in range(count - 1):
        distance = np.minimum(distance, np.maximum(0.0, 1 - vectors @ centres[-1]))
        total = float(distance.sum())
        share = distance / total if total > 0 else np.full(len(vectors), 1 / len(vectors))
        centres.append(vectors[int(dice.choice(len(vectors), p=share))])
    matrix = np.stack(centres)
    labels = np.zeros(len(vectors), np.int64)
    for _ in range(_ROUNDS):
        labels = np.argmax(vectors @ matrix.T, axis=1)
        for label in range(count):
            members = vectors[labels == label]
            if len(members):
                centre = members.mean(axis=0)
                matrix[label] = centre / max(1e-9, float(np.linalg.norm(centre)))
    return np.asarray(labels, np.int64)
