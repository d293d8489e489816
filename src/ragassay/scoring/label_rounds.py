"""The chances of labelled rows over all rounds in which rows were drawn for labelling.

A sheet says with which chance each of its rows was drawn, and that holds for the rows that earlier
rounds had left. Taken as chances over all rows, those of a second round misestimate every figure;
so rounds are joined here, and a later round without the earlier ones is refused.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ragassay.core import DataError, HumanLabel, shorten

_TOO_MANY = 5.0
"""Rows of a round stand for about as many rows as there are, and by chance not for so many times
as many.
"""
_EQUAL = 1e-6
"""Chances whose ratio differs from 1 by less are equal: rounding of the rounds' weights."""


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """How labelled rows came to be labelled.

    chance: row id -> its chance over all rounds, of the rows whose chance is known. rounds: of
    choosing, how many. unknown: rows whose chance is not known. before: rows that were labelled
    before the first draw, which the draws left out: they stand for themselves, and so do, for the
    later rounds, those that were labelled between two rounds. drawn: rows that were drawn over all
    rounds, 0 where a sheet does not say; waiting: of these, those without a label. unseen: the
    share of all rows that the waiting ones stand for.
    """

    chance: Mapping[str, float] = field(default_factory=dict)
    rounds: int = 0
    unknown: int = 0
    before: int = 0
    drawn: int = 0
    waiting: int = 0
    unseen: float = 0.0

    @property
    def equal(self) -> bool:
        """Whether every row whose chance is known had the same."""
        if not self.chance:
            return True
        return _are_equal(self.chance.values())

    @property
    def worth(self) -> float:
        """How many rows of equal chance say as much: Kish's (1965) effective number."""
        weights = [1 / chance for chance in self.chance.values()]
        squares = math.fsum(weight * weight for weight in weights)
        return math.fsum(weights) ** 2 / squares if squares else 0.0

    def of(self, row_ids: Collection[str]) -> DrawnRows:
        """The same of some of the rows, which are all those that are counted."""
        chance = {row_id: self.chance[row_id] for row_id in row_ids if row_id in self.chance}
        return replace(self, chance=chance, unknown=len(row_ids) - len(chance))


@dataclass(frozen=True, slots=True)
class _Round:
    """One round of drawing. pool: rows that it was drawn from; drawn: how many it drew, 0 for each
    that is not known; labelled: of these, rows with a label.
    """

    number: int
    pool: int
    drawn: int
    labelled: int

    @property
    def waiting(self) -> int:
        """Rows that were drawn and have no label."""
        return max(0, self.drawn - self.labelled)


def drawn_rows(labels: Iterable[HumanLabel], population: int | None = None) -> DrawnRows:
    """The chance of each labelled row over all rounds.

    population: rows that could be labelled, labelled ones included; None where it is not known, and
    then the rows of the first round stand for it. Of a round of which rows wait for a label, those
    that have one stand for all that were drawn. Raises DataError E1201 where a round was drawn from
    what an earlier one left, and that one is not among the labels; E1205 where it is not known
    which rows a round left out, or these have no label.
    """
    by_row = _one_label_a_row(labels)
    drawn: dict[str, tuple[int, float]] = {}
    for row_id, label in by_row.items():
        if label.inclusion_probability is not None:
            drawn[row_id] = (_number(label), label.inclusion_probability)
    others = [label for label in by_row.values() if label.inclusion_probability is None]
    if not drawn:
        return DrawnRows(unknown=len(others))
    numbers = sorted({round_ for round_, _ in drawn.values()})
    if numbers != list(range(1, len(numbers) + 1)):
        raise _missing_rounds(numbers)
    rounds = _rounds([by_row[row_id] for row_id in drawn])
    if population is None:
        population = max(len(drawn), rounds[0].pool or _population(drawn.values()))
    # More rows than there are were drawn from another run: their chances mean nothing here.
    if len(drawn) > population:
        return DrawnRows(unknown=len(by_row))
    check_chances(by_row.values(), population)
    # Of a run with some of the rows of the one that was drawn from.
    if rounds[0].pool > population:
        rounds = [replace(each, pool=0, drawn=0) for each in rounds]
    rounds_before = _rounds_before(others, drawn, rounds, population)
    counts = Counter(rounds_before.values())
    before = counts[0]
    left_out = _labelled_between(rounds, counts)
    # The rows from before the first round are no part of what was drawn from.
    shares = _covered_shares(rounds, population - before, left_out)
    labelled = [(round_, chance * shares[round_]) for round_, chance in drawn.values()]
    chances, later = _chances(labelled, population - before, left_out)
    by_row_chance = dict(zip(drawn, chances, strict=True))
    for row_id, count in rounds_before.items():
        if count == 0:
            by_row_chance[row_id] = 1.0
        elif count < len(rounds):
            by_row_chance[row_id] = 1 / later[count]
    largest = max(1.0, *by_row_chance.values())
    is_known = all(each.drawn for each in rounds)
    waiting = sum(each.waiting for each in rounds)
    standing = len(drawn) + waiting
    return DrawnRows(
        {row_id: chance / largest for row_id, chance in by_row_chance.items()},
        len(rounds),
        counts[len(rounds)],
        before,
        standing if is_known else 0,
        waiting,
        waiting / standing * (population - before) / population,
    )


def check_chances(labels: Iterable[HumanLabel], population: int) -> None:
    """Raise DataError E0313 for chances that cannot be those of a draw from so many rows.

    The rows of a round stand for 1 / their chance each, and together for about as many as there
    are.
    """
    by_number: dict[int, dict[str, HumanLabel]] = {}
    for label in labels:
        if label.inclusion_probability is not None:
            by_number.setdefault(_number(label), {})[label.row_id] = label
    for of_round in by_number.values():
        chances = [(label.inclusion_probability or 1.0, label) for label in of_round.values()]
        stand_for = math.fsum(1 / chance for chance, _ in chances)
        if stand_for <= _TOO_MANY * population:
            continue
        chance, least = min(chances, key=lambda pair: pair[0])
        raise DataError(
            "E0313",
            "The inclusion probabilities cannot be those of a draw from this run.",
            where=f"row {shorten(least.row_id, 60)!r}: {chance:g}",
            why=f"their rows would stand for {stand_for:,.3g} rows, and the run has {population:,}",
            fix="put the column inclusion_probability back as the sheet had it",
        )


def _one_label_a_row(labels: Iterable[HumanLabel]) -> dict[str, HumanLabel]:
    """Of each row the label that says how it was drawn, else its first one.

    Several people may label a row: it was drawn once, with one chance in one round. A further
    person's label, which no sheet brought, says nothing of how the row was drawn.
    """
    by_row: dict[str, HumanLabel] = {}
    for label in labels:
        if label.inclusion_probability is not None or label.row_id not in by_row:
            by_row[label.row_id] = label
    return by_row


def _number(label: HumanLabel) -> int:
    return max(1, label.round)


def _are_equal(chances: Iterable[float]) -> bool:
    values = list(chances)
    return max(values) / min(values) - 1 < _EQUAL


def _rounds(labels: Iterable[HumanLabel]) -> list[_Round]:
    """The rounds that labels were drawn in, in their order. Raises DataError E1205 where sheets of
    one round were drawn from different numbers of rows.
    """
    by_number: dict[int, list[HumanLabel]] = {}
    for label in labels:
        by_number.setdefault(_number(label), []).append(label)
    rounds = []
    for number, of_round in sorted(by_number.items()):
        pools = {label.pool for label in of_round if label.pool}
        if len(pools) > 1:
            sizes = " and ".join(f"{pool:,}" for pool in sorted(pools))
            raise _not_known(
                f"sheets of round {number} were drawn from {sizes} rows",
                "import one of these sheets, and draw the next one after it (ragassay label next)",
            )
        sizes_drawn = {label.drawn for label in of_round if label.drawn}
        drawn = sizes_drawn.pop() if len(sizes_drawn) == 1 else 0
        # Of several sheets of one round it is not known how many rows were drawn in all.
        if drawn < len(of_round):
            drawn = 0
        rounds.append(_Round(number, pools.pop() if pools else 0, drawn, len(of_round)))
    return rounds


def _rounds_before(
    others: Sequence[HumanLabel],
    drawn: Mapping[str, tuple[int, float]],
    rounds: Sequence[_Round],
    population: int,
) -> dict[str, int]:
    """Row id of each label without a chance -> how many rounds had been drawn when it was given.

    A round leaves out the rows that have a label: the size of its pool says how many there were,
    and the order in which labels were given says which. Raises DataError E1205.
    """
    if any(not each.pool for each in rounds):
        return _of_old_sheets(others, drawn, len(rounds), population)
    in_order = sorted(others, key=lambda label: label.created)
    before = {label.row_id: len(rounds) for label in in_order}
    counts = _counts_before(rounds, in_order, population)
    for rounds_drawn, count in reversed(list(enumerate(counts))):
        for label in in_order[:count]:
            before[label.row_id] = rounds_drawn
    return before


def _counts_before(
    rounds: Sequence[_Round], in_order: Sequence[HumanLabel], population: int
) -> list[int]:
    """How many of the labels without a chance there were when each round was drawn."""
    # Labels of one import came together: before a draw, or after it.
    ends = [0, len(in_order)]
    for place, (one, next_one) in enumerate(pairwise(in_order), 1):
        if one.created != next_one.created:
            ends.append(place)
    counts = []
    least_so_far = labelled = waiting = 0
    for each in rounds:
        # Rows of earlier rounds that wait for a label may have been left out as well.
        most = population - each.pool - labelled
        least = most - waiting
        if least > len(in_order):
            raise _left_out_without_label(each.number, least - len(in_order))
        low, high = max(least, least_so_far), max(most, least_so_far)
        fitting = {end for end in ends if low <= end <= high}
        if len(fitting) != 1:
            raise _not_known(
                f"round {each.number} was drawn from {each.pool:,} rows, and it is not known which"
                f" of the {len(in_order)} labels without a chance were there before it",
                "label the rows that wait on the sheets and import them again; else label a new"
                " run of these rows",
            )
        least_so_far = fitting.pop()
        counts.append(least_so_far)
        labelled += each.labelled
        waiting += each.waiting
    return counts


def _of_old_sheets(
    others: Sequence[HumanLabel],
    drawn: Mapping[str, tuple[int, float]],
    rounds: int,
    population: int,
) -> dict[str, int]:
    """`_rounds_before` of sheets that do not say how many rows they were drawn from.

    Known only of one round of equal chances: n rows at a chance p were drawn from n / p.
    """
    if not others:
        return {}
    chances = [chance for _, chance in drawn.values()]
    pool = len(chances) / chances[0] if rounds == 1 and _are_equal(chances) else math.nan
    for count, left_out in ((0, len(others)), (rounds, 0)):
        if abs(pool - (population - left_out)) < 0.5:
            return {label.row_id: count for label in others}
    raise _not_known(
        f"the sheet does not say how many rows it was drawn from, and {len(others)} labels without"
        " a chance may have been there before it",
        "import the sheet again with a column `pool` (how many rows had no label when it was"
        " drawn) and a column `drawn` (how many rows the sheet has)",
    )


def _labelled_between(rounds: Sequence[_Round], counts: Mapping[int, int]) -> dict[int, int]:
    """Round -> rows that were labelled otherwise after the first draw and before this one."""
    between = {}
    for each in rounds:
        between[each.number] = sum(counts.get(before, 0) for before in range(1, each.number))
    return between


def _covered_shares(
    rounds: Sequence[_Round], population: int, left_out: Mapping[int, int]
) -> dict[int, float]:
    """Round -> what the chances of its labelled rows are multiplied with, so that these stand for
    all rows that had no label before it: also for those of its rows that wait, and for those of
    earlier rounds that waited and were left out.
    """
    shares = {}
    labelled = 0
    for each in rounds:
        share = each.labelled / each.drawn if each.drawn else 1.0
        if each.pool:
            without = population - labelled - left_out[each.number]
            share *= each.pool / max(without, each.labelled)
        shares[each.number] = share
        labelled += each.labelled
    return shares


def waiting_words(drawn: DrawnRows) -> str:
    """What is taken for granted of drawn rows that have no label, in words."""
    return (
        f"rows that were drawn and have no label: {drawn.waiting}, taken to be like the others;"
        f" where they were left out for being hard, the rate is off by up to {drawn.unseen:.2f}"
    )


def drawn_label(labels: Sequence[HumanLabel]) -> HumanLabel:
    """Of a row's labels, the one that says how the row was drawn; the first where none does."""
    known = (label for label in labels if label.inclusion_probability is not None)
    return next(known, labels[0])


def missing_rounds(labels: Iterable[HumanLabel]) -> bool:
    """Whether a round was drawn from what an earlier one left, which is not among the labels."""
    drawn = [label for label in labels if label.inclusion_probability is not None]
    numbers = {max(1, label.round) for label in drawn}
    return bool(numbers) and numbers != set(range(1, len(numbers) + 1))


def lack_earlier_labels(labels: Sequence[HumanLabel], population: int) -> bool:
    """Whether a sheet's first round left out rows whose labels are not among these."""
    drawn = [label for label in labels if label.inclusion_probability is not None]
    pools = {label.pool for label in drawn if _number(label) == 1 and label.pool}
    others = {label.row_id for label in labels} - {label.row_id for label in drawn}
    return any(len(others) < population - pool for pool in pools)


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


def _left_out_without_label(round_: int, rows: int) -> DataError:
    return _not_known(
        f"{rows:,} rows of the run were left out when round {round_} was drawn, and have no label"
        " here: the sheet says nothing of them",
        "import the labels that these rows had (ragassay label import RUN FILE), or draw a sheet"
        " from a run of its own",
    )


def _not_known(why: str, fix: str) -> DataError:
    return DataError(
        "E1205",
        "It is not known which rows stand for which: the labels cannot be weighted.",
        why=why,
        fix=fix,
    )


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
    if len(labelled) > population:
        raise ValueError(f"{len(labelled)} labelled rows of {population}")
    chances, _ = _chances(labelled, population, {})
    largest = max(1.0, *chances)
    return tuple(chance / largest for chance in chances)


def _chances(
    labelled: Sequence[tuple[int, float]], population: int, left_out: Mapping[int, int]
) -> tuple[list[float], dict[int, float]]:
    """The chances of `combined`, which may exceed 1; and round -> the weight of a row that was
    labelled otherwise after it and before the next: it counts once in every later round.

    left_out: round -> rows that were labelled otherwise before it, which it left out.
    """
    rows_of_round = Counter(round for round, _ in labelled)
    if len(rows_of_round) < 2:
        return [q for _, q in labelled], {}
    total = len(labelled)
    # From the last round back, since a row's weight needs those of the rounds after it.
    weight: dict[int, float] = {}
    later: dict[int, float] = {}
    weights_so_far = 0.0
    pool = population - total
    for round in sorted(rows_of_round, reverse=True):
        rows = rows_of_round[round]
        pool += rows  # rows that this round drew from, and those that it left out
        later[round] = weights_so_far
        drawn_from = pool - left_out.get(round, 0)
        weight[round] = (population / total - weights_so_far) * rows / drawn_from
        weights_so_far += weight[round]
    # The weights sum to 1 already, but for rows that were labelled between rounds.
    later = {round: share / weights_so_far for round, share in later.items()}
    # One weight a row, whatever the round; see Des Raj (1956) in `combined`.
    chances = [1 / (weight[round] / weights_so_far / q + later[round]) for round, q in labelled]
    return chances, later
