"""A map of many vectors: places on a plane, and clusters found where the vectors lie dense.

Places are the first two principal components. Clusters are found in the first `AXES` of them, not
on the plane, which keeps few neighbours: each of at most `LANDMARKS` points, drawn by the seed,
points to the nearest one that lies denser (density peaks, Rodriguez & Laio 2014; the links form
trees as in quick shift, Vedaldi & Soatto 2008), a tree is cut where that way is long beside those
to the landmark's own neighbours, and every other point belongs to its nearest landmark. Same
vectors and seed, same map.

`AXES` and `_LONG` were chosen on made-up texts of ten topics that share half of their words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.scoring.arrays import FloatArray, IntArray
from ragassay.scoring.word_vectors import principal_axes

AXES = 8
LANDMARKS = 1_500
NEIGHBOURS = 10
_DENSITY_OF = 15
"""Neighbours whose distance says how dense a landmark lies."""
MOST_CLUSTERS = 12
SMALLEST = 0.01
"""Share of the points below which a cluster is none: its points are scattered."""
_LONG = 1.5
"""A link is cut where it is so many times as long as the way to the landmark's neighbours."""
_TRIED = 200
"""Points whose neighbours on the plane are compared with their real ones."""
_AT_ONCE = 1_000
"""Points whose distances to the landmarks are held at once."""
SCATTERED = -1


@dataclass(frozen=True, slots=True)
class PointMap:
    """places: x and y per point, in [0, 1]. cluster: a number per point from 0, the largest first,
    `SCATTERED` for none. variance: share of the variance on the plane. kept: share of a point's ten
    nearest neighbours that are among its ten nearest on the plane.
    """

    places: FloatArray
    cluster: IntArray
    variance: float
    kept: float


def point_map(vectors: NDArray[np.float32], *, seed: int = 0) -> PointMap:
    """Raises ValueError for fewer than two vectors."""
    if len(vectors) < 2:
        raise ValueError("a map takes two points or more")
    rng = np.random.default_rng(seed)
    mean, axes, _ = principal_axes(vectors, AXES)
    inner = ((vectors - mean.astype(np.float32)) @ axes.T.astype(np.float32)).astype(np.float64)
    total = float(((vectors - mean.astype(np.float32)) ** 2).sum(dtype=np.float64))
    plane = inner[:, :2]
    if plane.shape[1] < 2:
        plane = np.column_stack([plane, np.zeros(len(plane))])
    variance = float((plane**2).sum()) / total if total > 0 else 1.0
    cluster = _clusters(inner, rng)
    return PointMap(_unit(plane), cluster, round(variance, 4), _kept(inner, plane, rng))


def _unit(plane: FloatArray) -> FloatArray:
    """The places scaled to [0, 1], rounded, so that the last bits of a sum do not show."""
    low, high = plane.min(axis=0), plane.max(axis=0)
    span = np.where(high > low, high - low, 1)
    places: FloatArray = np.round((plane - low) / span, 4)
    return places


def _distances(a: FloatArray, b: FloatArray) -> FloatArray:
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1)[None, :] - 2 * a @ b.T
    distances: FloatArray = np.sqrt(np.maximum(squares, 0))
    return distances


def _clusters(inner: FloatArray, rng: np.random.Generator) -> IntArray:
    marks = np.arange(len(inner))
    if len(inner) > LANDMARKS:
        marks = np.sort(rng.choice(len(inner), LANDMARKS, replace=False))
    landmarks = inner[marks]
    between = _distances(landmarks, landmarks)
    near = min(_DENSITY_OF, len(landmarks) - 1)
    reach = np.partition(between, near, axis=1)[:, near]
    peak = _peaks(between, reach)
    owner = np.empty(len(inner), dtype=np.int64)
    for start in range(0, len(inner), _AT_ONCE):
        part = inner[start : start + _AT_ONCE]
        owner[start : start + _AT_ONCE] = _distances(part, landmarks).argmin(axis=1)
    return _renumbered(peak[owner])


def _peaks(between: FloatArray, reach: FloatArray) -> IntArray:
    """The peak of each landmark: where the links to denser neighbours lead."""
    # The denser first; equally dense ones by their place, so that every link leads one way.
    order = np.lexsort((np.arange(len(reach)), reach))
    link = np.arange(len(reach))
    length = np.zeros(len(reach))
    for rank, at in enumerate(order.tolist()):
        if not rank:
            continue
        denser = order[:rank]
        nearest = denser[between[at, denser].argmin()]
        link[at], length[at] = nearest, between[at, nearest]
    is_peak = length > _LONG * np.maximum(reach, 1e-9)
    is_peak[order[0]] = True
    peak = np.arange(len(reach))
    for at in order.tolist():
        if not is_peak[at]:
            peak[at] = peak[link[at]]
    return peak


def _renumbered(peak: IntArray) -> IntArray:
    """Clusters from 0 by size; those that are too small or too many are scattered."""
    names, first, counts = np.unique(peak, return_index=True, return_counts=True)
    order = np.lexsort((first, -counts))
    cluster = np.full(len(peak), SCATTERED, dtype=np.int64)
    for number, at in enumerate(order.tolist()[:MOST_CLUSTERS]):
        if counts[at] < max(2, SMALLEST * len(peak)):
            break
        cluster[peak == names[at]] = number
    return cluster


def _kept(inner: FloatArray, plane: FloatArray, rng: np.random.Generator) -> float:
    """How many of the nearest neighbours stay such on the plane, on some points."""
    tried = np.arange(len(inner))
    if len(inner) > _TRIED:
        tried = np.sort(rng.choice(len(inner), _TRIED, replace=False))
    near = min(NEIGHBOURS, len(inner) - 1)
    real = _nearest(inner[tried], inner, near)
    shown = _nearest(plane[tried], plane, near)
    same = [len(np.intersect1d(a, b)) - 1 for a, b in zip(real, shown, strict=True)]
    return round(max(0, sum(same)) / (near * len(tried)), 4)


def _nearest(some: FloatArray, points: FloatArray, count: int) -> IntArray:
    distances = _distances(some, points)
    # The point itself is among the nearest on both sides: one more is taken, and one counted off.
    found: IntArray = np.argpartition(distances, count, axis=1)[:, : count + 1]
    return found
