"""The consensus of several people: one value a row from what each of them said."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragassay.core import HumanLabel, SetupError, nearest, shorten
from ragassay.scoring.label_rounds import drawn_label

CONSENSUS = ("majority", "mean", "median")


@dataclass(frozen=True, slots=True)
class Consensus:
    """What people say of one row together.

    value: None where they are tied. people: how many labelled it; values: what each said. The rest
    is as in the label that says how the row was drawn, else as in the first.
    """

    row_id: str
    name: str
    value: float | None
    people: int
    values: tuple[float, ...]
    inclusion_probability: float | None = None
    stream: str = ""
    round: int = 0


def consensus(labels: Iterable[HumanLabel], how: str = "majority") -> tuple[Consensus, ...]:
    """One value a row (and name) from what several people said, in the order of their first labels.

    how: "majority" takes the value that more people gave than any other; None where two values are
    level. "median" of an even number lies in the middle of two values, and "mean" anywhere between.
    Raises SetupError E0101 for another.
    """
    if how not in CONSENSUS:
        raise SetupError(
            "E0101",
            f"Labels cannot be joined by {shorten(how, 20)!r}.{nearest(how, CONSENSUS)}",
            fix=f"one of {', '.join(CONSENSUS)}",
        )
    by_row: dict[tuple[str, str], list[HumanLabel]] = {}
    for label in labels:
        by_row.setdefault((label.row_id, label.name), []).append(label)
    return tuple(_of_row(labels_of_row, how) for labels_of_row in by_row.values())


def ties(consensuses: Iterable[Consensus]) -> tuple[str, ...]:
    """Ids of the rows on which people are tied: a further person should decide."""
    return tuple(consensus.row_id for consensus in consensuses if consensus.value is None)


def _of_row(labels: Sequence[HumanLabel], how: str) -> Consensus:
    drawn = drawn_label(labels)
    values = tuple(label.value for label in labels)
    return Consensus(
        drawn.row_id,
        drawn.name,
        _joined(values, how),
        len(labels),
        values,
        drawn.inclusion_probability,
        drawn.stream,
        drawn.round,
    )


def _joined(values: Sequence[float], how: str) -> float | None:
    if how == "mean":
        return math.fsum(values) / len(values)
    if how == "median":
        ranked = sorted(values)
        # Of an odd number both places are the middle one.
        return (ranked[(len(ranked) - 1) // 2] + ranked[len(ranked) // 2]) / 2
    first, *others = Counter(values).most_common(2)
    is_tied = bool(others) and others[0][1] == first[1]
    return None if is_tied else first[0]
