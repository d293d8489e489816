"""The chances of labelled rows over all rounds in which rows were drawn for labelling.

A sheet says with which chance each of its rows was drawn, and that holds for the rows that earlier
rounds had left. Taken as chances over all rows, those of a second round misestimate every figure;
so rounds are joined here, and a later round without the earlier ones is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.core import DataError, HumanLabel

_EQUAL = 1e-6
"""Chances whose ratio differs from 1 by less are equal: rounding of the rounds' weights."""


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """How labelled rows came to be labelled.

    chance: row id -> its chance over all rounds, of the rows whose chance is known. rounds: of
    choosing, how many. unknown: rows whose chance is not known. before: rows that were labelled
    before the first draw, which the draws left out: they stand for themselves, with a chance of 1.
    """

    chance: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 0
    unknown: int = 0
    before: int = 0

    @property
    def equal(self) -> bool:
        """Whether every row whose chance is known had the same."""
        if not self.chance:
            return True
        chances = self.chance.values()
        return max(chances) / min(chances) - 1 < _EQUAL

    @property
    def worth(self) -> float:
        """How many rows of equal chance say as much: Kish's (1965) effective number."""
        weights = [1 / chance for chance in self.chance.values()]
        squares = math.fsum(weight * weight for weight in weights)
        return math.fsum(weights) ** 2 / squares if squares else 0.0


def drawn_rows(labels: Iterable[HumanLabel], population: int | None = None) -> DrawnRows:
    """The chance of each labelled row over all rounds.

    population: rows that could be labelled, labelled ones included; None where it is not known, and
    then the rows of the first round stand for it, each for 1 / its chance. Raises DataError E1201
    where a round was drawn from what an earlier one left, and that one is not among the labels.
    """
    # Several people may label a row: it was drawn once, with one chance in one round.
    rounds: dict[str, tuple[int, float | None]] = {}
    for label in labels:
        # A further person's label, which no sheet brought, says nothing of how the row was drawn.
        if label.inclusion_probability is not None or label.row_id not in rounds:
            rounds[label.row_id] = (max(1, label.round), label.inclusion_probability)
    drawn: dict[str, tuple[int, float]] = {}
    for row_id, (round_, chance) in rounds.items():
        if chance is not None:
            drawn[row_id] = (round_, chance)
    unknown = len(rounds) - len(drawn)
    if not drawn:
        return DrawnRows(unknown=unknown)
    numbers = sorted({round_ for round_, _ in drawn.values()})
    if numbers != list(range(1, len(numbers) + 1)):
        raise _missing_rounds(numbers)
    if population is None:
        population = _population(drawn.values())
    # More rows than there are were drawn from another run: their chances mean nothing here.
    if len(drawn) > population:
        return DrawnRows(unknown=len(rounds))
    before = _labelled_before(drawn.values(), population, unknown)
    chances = combined(list(drawn.values()), population - before)
    by_row = dict(zip(drawn, chances, strict=True))
    if before:
        by_row |= {row_id: 1.0 for row_id, (_, chance) in rounds.items() if chance is None}
        unknown = 0
    return DrawnRows(by_row, len(numbers), unknown, before)


def drawn_label(labels: Sequence[HumanLabel]) -> HumanLabel:
    """Of a row's labels, the one that says how the row was drawn; the first where none does."""
    known = (label for label in labels if label.inclusion_probability is not None)
    return next(known, labels[0])


def missing_rounds(labels: Iterable[HumanLabel]) -> bool:
    """Whether a round was drawn from what an earlier one left, which is not among the labels."""
    drawn = [label for label in labels if label.inclusion_probability is not None]
    numbers = {max(1, label.round) for label in drawn}
    return bool(numbers) and numbers != set(range(1, len(numbers) + 1))


def _missing_rounds(numbers: Sequence[int]) -> DataError:
    there = ", ".join(map(str, numbers))
    return DataError(
        "E1201",
        "Labels of an earlier round are missing.",
        why=(
            f"there are labels of round {there}, whose chances hold only for the rows that earlier"
            " rounds left"
        ),
        fix=(
            "import the sheets of all rounds beside the run (ragassay label import RUN SHEET),"
            " which joins them"
        ),
    )


def _population(drawn: Iterable[tuple[int, float]]) -> int:
    """How many rows the first round was drawn from, as far as its chances say."""
    rows = list(drawn)
    first = math.fsum(1 / chance for round_, chance in rows if round_ == 1)
    return max(len(rows), round(first))


def _labelled_before(drawn: Iterable[tuple[int, float]], population: int, unknown: int) -> int:
    """How many rows of unknown chance were labelled before the draw, which then left them out.

    Known only of a first round of equal chances: n rows at a chance p were drawn from n / p.
    """
    first = [chance for round_, chance in drawn if round_ == 1]
    if not unknown or max(first) / min(first) - 1 > _EQUAL:
        return 0
    pool = len(first) / first[0]
    return unknown if abs(pool - (population - unknown)) < 0.5 else 0


def combined(labelled: Sequence[tuple[int, float]], population: int) -> tuple[float, ...]:
    """One inclusion probability a row for labels of several rounds, (round, probability in that
    round) -> probability.

    population: rows that could have been chosen at the start, labelled ones included. A row not yet
    labelled before round j stands for 1 / q rows in round j; each round so gives an unbiased total
    (earlier rows, which count once, plus its own weighted ones), and the rounds are averaged (Des
    Raj 1956) with weights that make rounds of equal chances the same as one simple random sample.
    The weight of a row of round j is then w_j / q + (sum of w_k over later rounds k), whatever the
    later rounds looked at, labels included. Its inverse is returned. Where one exceeds 1 (a row
    that was certain to be chosen in a late round), all are divided by the largest: a mean that
    divides by the sum of weights does not care. Raises ValueError for probabilities outside (0, 1]
    or more rows than the population.
    """
    if any(not 0 < q <= 1 for _, q in labelled):
        raise ValueError("an inclusion probability lies in (0, 1]")
    total = len(labelled)
    if total > population:
        raise ValueError(f"{total} labelled rows of {population}")
    rows_of_round = Counter(round for round, _ in labelled)
    if len(rows_of_round) < 2:
        return tuple(q for _, q in labelled)
    # From the last round back, since a row's weight needs those of the rounds after it.
    weight: dict[int, float] = {}
    later: dict[int, float] = {}
    weights_so_far = 0.0
    pool = population - total
    for round in sorted(rows_of_round, reverse=True):
        rows = rows_of_round[round]
        pool += rows  # rows that this round drew from
        later[round] = weights_so_far
        weight[round] = (population / total - weights_so_far) * rows / pool
        weights_so_far += weight[round]
    # One weight a row, whatever the round; see Des Raj (1956) above.
    chances = [1 / (weight[round] / q + later[round]) for round, q in labelled]
    largest = max(1.0, *chances)
    return tuple(chance / largest for chance in chances)
