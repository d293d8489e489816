"""Which rows belong together, as whole numbers, and are there enough groups for an interval?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

FEWEST = 10
"""Intervals over fewer clusters come with a warning."""


def codes(names: Iterable[object]) -> IntArray:
    """A whole number per name, from 0 in the order of their first appearance; each None is a
    cluster of its own.
    """
    known: dict[object, int] = {}
    found = [
        known.setdefault((at,) if name is None else name, len(known))
        for at, name in enumerate(names)
    ]
    return np.array(found, dtype=np.int64)


def each(cluster: IntArray | None, n: int) -> IntArray:
    """The clusters of n rows; where none are given every row is its own."""
    return np.arange(n) if cluster is None else cluster


def few(clusters: int, what: str = "interval") -> str:
    """A warning where there are fewer than `FEWEST` clusters, else ""."""
    return f"only {clusters} clusters: read the {what} with care" if clusters < FEWEST else ""
