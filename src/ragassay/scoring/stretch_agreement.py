"""Agreement on stretches of text: what people marked in a response, and what a judge marks.

By characters, as in RAGTruth (Niu et al. 2024): precision is the share of the characters that the
judge marks which people mark too, recall the share of people's that the judge marks. By stretch: a
stretch of the judge is right, and one of people's is found, where at least half of its characters
are marked by the other side. Sums are over all rows, so that a row counts by what is marked in it.
Intervals are of a bootstrap over clusters, on the logit scale (`bootstrap`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.core import Figure
from ragassay.scoring import bootstrap
from ragassay.scoring.arrays import FloatArray, numbered

Stretch = tuple[int, int]
"""(start, end) in characters, end exclusive."""
HALF = 0.5
LEAST_CLUSTERS = 10
_BLOCK = 500
_NAMES = (
    "character precision",
    "character recall",
    "character F1",
    "stretch precision",
    "stretch recall",
    "stretch F1",
)


@dataclass(frozen=True, slots=True)
class MarkedRow:
    """What people and a judge marked in one response.

    cluster: rows of one are drawn together. unjudged: where the judge gave no verdict; what people
    marked there counts neither way.
    """

    people: tuple[Stretch, ...]
    judge: tuple[Stretch, ...]
    cluster: str
    unjudged: tuple[Stretch, ...] = ()


def joined(stretches: Iterable[Stretch]) -> tuple[Stretch, ...]:
    """The stretches in order, those that touch or overlap as one; empty ones are left out."""
    out: list[Stretch] = []
    for start, end in sorted(stretches):
        if start >= end:
            continue
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)


def without(stretches: Sequence[Stretch], others: Sequence[Stretch]) -> tuple[Stretch, ...]:
    """What of the stretches lies outside the others, both in order and without overlaps."""
    out: list[Stretch] = []
    for start, end in stretches:
        at = start
        for first, last in others:
            if last <= at or first >= end:
                continue
            if first > at:
                out.append((at, first))
            at = max(at, last)
        if at < end:
            out.append((at, end))
    return tuple(out)


def shared_characters(stretch: Stretch, others: Sequence[Stretch]) -> int:
    """How many characters of the stretch lie in the others, which do not overlap."""
    start, end = stretch
    return sum(max(0, min(end, last) - max(start, first)) for first, last in others)


def stretch_figures(
    rows: Sequence[MarkedRow], *, draws: int = 2000, seed: int = 0
) -> tuple[Figure, ...]:
    """Precision, recall and F1 by characters and by stretches, each with its interval."""
    counts = np.array([_counts(row) for row in rows], dtype=float).reshape(len(rows), 8)
    cluster = numbered(np.unique([row.cluster for row in rows], return_inverse=True)[1])
    clusters = int(cluster.max(initial=-1)) + 1
    # (clusters, 8): what the rows of each hold together.
    sums = np.zeros((clusters, counts.shape[1]))
    np.add.at(sums, cluster, counts)
    values = _figures(sums.sum(axis=0))
    drawn = [
        _figures(weights @ sums) for weights in bootstrap.weights(clusters, draws, seed, _BLOCK)
    ]
    spreads = bootstrap.spread(np.concatenate(drawn)) if drawn else np.full(len(_NAMES), np.nan)
    return tuple(
        _figure(name, float(values[place]), float(spreads[place]), sums, place, len(rows))
        for place, name in enumerate(_NAMES)
    )


def _counts(row: MarkedRow) -> tuple[int, ...]:
    """Of the judge: characters that are right, all; of people: characters found, all; the same of
    stretches.
    """
    judge = joined(row.judge)
    people = without(joined(row.people), joined(row.unjudged))
    both = sum(shared_characters(stretch, people) for stretch in judge)
    return (
        both,
        sum(end - start for start, end in judge),
        both,
        sum(end - start for start, end in people),
        _found(judge, people),
        len(judge),
        _found(people, judge),
        len(people),
    )


def _found(stretches: Sequence[Stretch], others: Sequence[Stretch]) -> int:
    found = 0
    for start, end in stretches:
        found += shared_characters((start, end), others) >= HALF * (end - start)
    return found


def _figures(sums: FloatArray) -> FloatArray:
    """(..., 6) the figures of (..., 8) sums; NaN where one is not defined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = sums[..., 0::2] / sums[..., 1::2]
        parts = []
        for first in (0, 2):
            precision, recall = shares[..., first], shares[..., first + 1]
            total = precision + recall
            f1 = np.where(total > 0, 2 * precision * recall / np.where(total > 0, total, 1), total)
            parts += [precision, recall, f1]
    return np.stack(parts, axis=-1)


def _figure(
    name: str, value: float, spread: float, sums: FloatArray, place: int, rows: int
) -> Figure:
    carriers = _carriers(sums, place)
    if not np.isfinite(value):
        side = "the judge marks" if "precision" in name else "people mark"
        return Figure(name, None, None, rows, f"{side} nothing in these rows")
    if carriers < LEAST_CLUSTERS:
        reason = f"what it counts lies in {carriers:.0f} effective clusters: no interval"
        return Figure(name, value, None, rows, reason)
    if not np.isfinite(spread):
        return Figure(name, value, None, rows, "not defined in most draws of these rows")
    interval = bootstrap.interval(value, spread, carriers - 1, 0.0, 1.0)
    return Figure(name, value, interval, rows)


def _carriers(sums: FloatArray, place: int) -> float:
    """Effective clusters of what the figure counts: of a mean of two, the fewer."""
    first = 1 if place < 3 else 5
    of_judge, of_people = (bootstrap.effective(sums[:, column]) for column in (first, first + 2))
    return (of_judge, of_people, min(of_judge, of_people))[place % 3]
