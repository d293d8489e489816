"""The slices in which a judge errs most: where a change of its rubric can do the most good.

A slice is one condition or two on a row: a value of a column of the user's, the length of a text,
the shape of the question, how sure the judge was. It is looked at for each direction of error by
itself, for a false pass and a false fail have different causes. Many slices are looked at, so some
look bad by chance: rates are drawn to the overall rate, tested over clusters, and corrected for
the number that was looked at (Benjamini & Hochberg). Where no slice stands out, and after those
that do, the errors of each direction come as they are: wrong columns cost a search its head start
and nothing more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ragassay.scoring import coefficients, t_p_value
from ragassay.scoring.arrays import numbered
from ragassay.scoring.hypotheses import benjamini_hochberg
from ragassay.tuning.aim import Aim
from ragassay.tuning.values import Answers, BoolArray, FloatArray, IntArray, LabelledRows

Direction = Literal["false pass", "false fail"]
DIRECTIONS: tuple[Direction, Direction] = ("false pass", "false fail")
FEWEST_ROWS = 8
"""Rows of a slice in which the error could be made, at least."""
FEWEST_ERRORS = 3
PRIOR_ROWS = 10.0
"""Rows at the overall rate that a slice's own rate is mixed with."""
FALSE_SHARE = 0.2
"""Share of the slices found that may be chance: they cost a few calls, a missed one the search."""
MOST_VALUES = 20
"""Values of a column at most: one with more names rows."""
COVERED = 0.8
"""A slice with this share of its errors in slices before it is left out."""
SURE = 0.1
"""A score this near to 0 or 1 is a sure one."""
_SHAPES = ("what", "who", "when", "where", "why", "how", "which")
_ASKING = "is are was were do does did can could has have had will would should must may"


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows that a judge errs on, in one direction.

    conditions: (column, value); () for all errors of the direction. rows: all rows of the slice in
    which the error could be made, errors: those in which it was, both as indices into the labelled
    rows. rate: of errors, drawn to the overall rate; overall: that of all rows. p: corrected for
    all slices that were looked at; 1 for all errors of the direction.
    """

    conditions: tuple[tuple[str, str], ...]
    direction: Direction
    rows: IntArray
    errors: IntArray
    rate: float
    overall: float
    p: float

    @property
    def name(self) -> str:
        """The slice in words, "" for all errors of the direction."""
        return ", ".join(f"{column}: {value}" for column, value in self.conditions)


@dataclass(frozen=True, slots=True)
class _Condition:
    column: str
    value: str
    holds: BoolArray


@dataclass(frozen=True, slots=True)
class _Found:
    """A slice that was looked at. least: what it loses beyond the overall rate, less one standard
    error, in the aim's value.
    """

    conditions: tuple[tuple[str, str], ...]
    holds: BoolArray
    rate: float
    least: float
    p: float


def find_slices(
    aim: Aim, rows: LabelledRows, at: IntArray, answers: Answers, *, most: int = 6
) -> tuple[Slice, ...]:
    """The worst slices among the rows `at`, the worst first, then all errors of each direction.

    answers: on these rows, in their order; rows without a verdict are left out. most: slices at
    most, beside the last two. The order depends on nothing but the arguments.
    """
    judged = np.flatnonzero(answers.judged)
    place = at[judged]
    truth = rows.truth[place]
    passes = answers.passes[judged]
    cluster = numbered(rows.cluster[place])
    weights = aim.weights(coefficients.table(truth, passes))
    conditions = list(_conditions(rows, place, answers.score[judged]))
    every: list[tuple[float, Direction, _Found]] = []
    whole: list[tuple[float, Slice]] = []
    for direction, weight in zip(DIRECTIONS, weights, strict=True):
        could = ~truth if direction == "false pass" else truth
        wrong = could & (passes != truth)
        if not wrong.any():
            continue
        overall = float(wrong.sum() / could.sum())
        for found in _looked_at(conditions, could, wrong, cluster, weight):
            every.append((found.p, direction, found))
        all_errors = Slice((), direction, place[could], place[wrong], overall, overall, 1.0)
        whole.append((-weight * float(wrong.sum()), all_errors))
    chosen = _chosen(every, place, truth, passes, most)
    whole.sort(key=lambda one: (one[0], one[1].direction))
    return (*chosen, *(one for _, one in whole))


def _chosen(
    every: Sequence[tuple[float, Direction, _Found]],
    place: IntArray,
    truth: BoolArray,
    passes: BoolArray,
    most: int,
) -> list[Slice]:
    """The slices that stand out, the largest loss first, without those that repeat others."""
    corrected = benjamini_hochberg([p for p, _, _ in every])
    standing_out = []
    for p, (_, direction, found) in zip(corrected, every, strict=True):
        if p <= FALSE_SHARE and found.least > 0:
            standing_out.append((direction, found, p))
    standing_out.sort(key=lambda one: (-one[1].least, len(one[1].conditions), one[1].conditions))
    seen = {direction: np.zeros(len(place), dtype=bool) for direction in DIRECTIONS}
    out: list[Slice] = []
    for direction, found, p in standing_out:
        could = ~truth if direction == "false pass" else truth
        wrong = could & (passes != truth)
        errors = found.holds & wrong
        if (errors & seen[direction]).sum() >= COVERED * errors.sum():
            continue
        seen[direction] |= errors
        overall = float(wrong.sum() / could.sum())
        of_slice = place[found.holds & could]
        out.append(
            Slice(found.conditions, direction, of_slice, place[errors], found.rate, overall, p)
        )
        if len(out) == most:
            break
    return out


def _looked_at(
    conditions: Sequence[_Condition],
    could: BoolArray,
    wrong: BoolArray,
    cluster: IntArray,
    weight: float,
) -> Iterator[_Found]:
    """Every slice with enough rows and errors, of one condition or two."""
    overall = float(wrong.sum() / could.sum())
    excess = np.where(could, wrong - overall, 0.0)
    singles = [((one.column, one.value),) for one in conditions]
    holds = [one.holds for one in conditions]
    pairs = [
        (i, j)
        for i, j in itertools.combinations(range(len(conditions)), 2)
        if conditions[i].column != conditions[j].column
    ]
    for names, mask in itertools.chain(
        zip(singles, holds, strict=True),
        (((*singles[i], *singles[j]), holds[i] & holds[j]) for i, j in pairs),
    ):
        rows = mask & could
        n, errors = int(rows.sum()), int((rows & wrong).sum())
        if n < FEWEST_ROWS or errors < FEWEST_ERRORS or n == int(could.sum()):
            continue
        surplus = float(excess[rows].sum())
        sums = np.bincount(cluster[rows], weights=excess[rows])
        error = math.sqrt(float((sums**2).sum()))
        clusters = int(np.count_nonzero(np.bincount(cluster[rows])))
        p = _one_sided(surplus, error, clusters)
        rate = (errors + PRIOR_ROWS * overall) / (n + PRIOR_ROWS)
        # What is lost beyond the overall rate, by the rate that was drawn to it.
        drawn = (rate - overall) * n
        yield _Found(names, mask, rate, weight * (drawn - error), p)


def _one_sided(surplus: float, error: float, clusters: int) -> float:
    """P of so many errors more where the slice is like the rest, over clusters."""
    if surplus <= 0 or clusters < 2 or error == 0:
        return 1.0
    return t_p_value(surplus / error, clusters - 1) / 2


# ---- conditions ----


def _conditions(rows: LabelledRows, place: IntArray, score: FloatArray) -> Iterator[_Condition]:
    """Every single condition on these rows, in a fixed order."""
    for column in sorted(rows.columns):
        values = np.array([rows.columns[column][i] for i in place.tolist()])
        yield from _by_value(column, values)
    if rows.texts:
        texts = [rows.texts[i] for i in place.tolist()]
        for field in sorted(set().union(*texts)):
            lengths = np.array([len(row.get(field, "")) for row in texts], dtype=np.float64)
            yield from _by_value(f"length of {field}", _thirds(lengths))
        shapes = np.array([_shape(row.get("question", row.get("query", ""))) for row in texts])
        yield from _by_value("question", shapes)
    if len(np.unique(score)) > 2:
        sure = (score <= SURE) | (score >= 1 - SURE)
        yield from _by_value("judge", np.where(sure, "sure", "unsure"))


def _by_value(
    column: str, values: np.ndarray[tuple[int], np.dtype[np.str_]]
) -> Iterator[_Condition]:
    distinct = np.unique(values)
    if not 2 <= len(distinct) <= MOST_VALUES:
        return
    for value in distinct.tolist():
        if value:
            yield _Condition(column, value, np.asarray(values == value))


def _thirds(lengths: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """ "short", "medium" or "long" by thirds of the rows; "" where all are alike."""
    low, high = np.quantile(lengths, [1 / 3, 2 / 3])
    if low == high:
        return np.full(len(lengths), "")
    return np.where(lengths <= low, "short", np.where(lengths > high, "long", "medium"))


def _shape(question: str) -> str:
    """The question word, "yes or no", or "other"; "" without a question."""
    words = question.lower().split()
    if not words:
        return ""
    for word in words[:3]:
        if word.strip(",.?'s") in _SHAPES:
            return word.strip(",.?'s")
    return "yes or no" if words[0] in _ASKING.split() else "other"
