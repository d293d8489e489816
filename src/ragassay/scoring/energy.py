"""The energy distance of two sets of vectors, tested by permuting whole sessions.

Szekely & Rizzo (2013): 2 E|X - Y| - E|X - X'| - E|Y - Y'|, which is 0 only where both sets are
drawn alike. Rows of a session resemble each other, so sessions change sides as a whole: with rows
permuted inside sessions the test calls nearly every pair of sets different.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragassay.scoring.arrays import FloatArray, IntArray

PERMUTATIONS = 399
MOST_ROWS = 1_000
"""Of either side: the distances of all pairs are held at once."""


@dataclass(frozen=True, slots=True)
class EnergyTest:
    """size: the distance over 2 E|X - Y|, from 0 (alike) to 1. p: of "drawn alike"; None where one
    side has fewer than two sessions. farthest: places in `later` of the rows that lie farthest from
    the earlier ones, the farthest first.
    """

    size: float
    p: float | None
    earlier: int
    later: int
    sessions: int
    farthest: tuple[int, ...]


def energy_test(
    earlier: FloatArray,
    later: FloatArray,
    sessions: tuple[IntArray, IntArray],
    *,
    seed: int = 0,
    examples: int = 3,
) -> EnergyTest:
    """Whether the rows of `later` are drawn as those of `earlier`. sessions: a code per row, over
    both sides; a session on both sides counts to the earlier one. Raises ValueError for a side
    without rows or with more than `MOST_ROWS`.
    """
    if not len(earlier) or not len(later):
        raise ValueError("two sides to compare")
    if max(len(earlier), len(later)) > MOST_ROWS:
        raise ValueError(f"at most {MOST_ROWS} rows a side")
    vectors = np.concatenate([earlier, later])
    _, code = np.unique(np.concatenate(sessions), return_inverse=True)
    squares = (vectors**2).sum(axis=1)
    gaps = squares[:, None] + squares[None, :] - 2 * vectors @ vectors.T
    distance = np.sqrt(np.maximum(gaps, 0))
    count = int(code.max()) + 1
    # Sums between sessions: a permutation then moves a few hundred numbers, not a million.
    by_session = np.zeros((count, len(vectors)))
    np.add.at(by_session, code, distance)
    between = np.zeros((count, count))
    np.add.at(between.T, code, by_session.T)
    rows = np.bincount(code, minlength=count).astype(float)
    side = np.zeros(count)
    side[code[len(earlier) :]] = 1.0
    side[code[: len(earlier)]] = 0.0
    away = distance[len(earlier) :, : len(earlier)].mean(axis=1)
    farthest = np.argsort(-away, kind="stable")[:examples]
    size = _size(between, rows, side)
    p = None
    if 2 <= side.sum() <= count - 2:
        p = _p(between, rows, side, size, seed)
    return EnergyTest(
        size, p, len(earlier), len(later), count, tuple(int(place) for place in farthest)
    )


def _size(between: FloatArray, rows: FloatArray, side: FloatArray) -> float:
    other = 1 - side
    n, m = float(rows @ other), float(rows @ side)
    if not n or not m:
        return 0.0
    across = float(other @ between @ side) / (n * m)
    first = float(other @ between @ other) / n**2
    second = float(side @ between @ side) / m**2
    return (2 * across - first - second) / (2 * across) if across > 0 else 0.0


def _p(between: FloatArray, rows: FloatArray, side: FloatArray, size: float, seed: int) -> float:
    rng = np.random.default_rng(seed)
    reached = 1
    for _ in range(PERMUTATIONS):
        reached += _size(between, rows, rng.permutation(side)) >= size - 1e-12
    return reached / (PERMUTATIONS + 1)
