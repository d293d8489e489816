"""Clusters of rows as whole numbers, and the warning where there are few of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ragassay.core.counting import count
from ragassay.scoring.arrays import IntArray

FEWEST = 10
"""Intervals over fewer clusters come with a warning."""


def codes(names: Iterable[object]) -> IntArray:
    """A whole number per name, from 0 in the order of their first appearance; each None is a
    cluster of its own.
    """
    numbers: dict[object, int] = {}
    out = []
    for at, name in enumerate(names):
        key = (at,) if name is None else name  # a tuple: no name of a cluster is one
        out.append(numbers.setdefault(key, len(numbers)))
    return np.array(out, dtype=np.int64)


def row_clusters(cluster: IntArray | None, n: int) -> IntArray:
    """The clusters of n rows; where none are given every row is its own."""
    return np.arange(n) if cluster is None else cluster


def few_clusters_note(clusters: int, what: str = "interval") -> str:
    """A warning where there are fewer than `FEWEST` clusters, else ""."""
    if clusters >= FEWEST:
        return ""
    return f"only {count(clusters, 'cluster')}: read the {what} with care"
