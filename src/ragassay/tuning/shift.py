"""What of a gain a mere shift of the judge's mark would have brought as well.

A judge that only became stricter moves along one curve: another cut of the old scores does the same
for nothing. d' (the distance of the two kinds of rows in the judge's eyes) tells it apart.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np

from ragassay.scoring import coefficients
from ragassay.scoring.detection import rates_of
from ragassay.tuning.values import BoolArray, FloatArray

Score = Callable[[BoolArray, BoolArray], float]
"""The aim: truth and verdicts -> what is to become large."""


class Separation(NamedTuple):
    """d' of a judge's verdicts, with its standard error."""

    value: float
    error: float


def separation(truth: BoolArray, passes: BoolArray) -> Separation:
    """d' of verdicts and its standard error; NaN, infinitely uncertain, with rows of one class."""
    rates = rates_of(coefficients.table(truth, passes))
    if rates is None:
        return Separation(float("nan"), float("inf"))
    return Separation(rates.d_prime, rates.d_prime_error(len(truth)))


class Shift(NamedTuple):
    """What re-cutting alone gives beside an edit.

    cut: the cut of the first rubric's scores that is best on the rows of the search. recut: the aim
    that it reaches on the rows to choose on. before, after: d' of both rubrics there. only_shifts:
    whether the edit does no more than a cut could.
    """

    cut: float
    recut: float
    before: Separation
    after: Separation
    only_shifts: bool


def cut_for_aim(truth: BoolArray, scores: FloatArray, score: Score) -> float:
    """The cut of the scores at which an aim, which may have marks and costs, is best; NaN where no
    two scores differ. Rows without a score do not count.
    """
    judged = np.isfinite(scores)
    levels = np.unique(scores[judged])
    best, best_aim = float("nan"), -np.inf
    for low, high in itertools.pairwise(levels):
        cut = float(low + high) / 2
        aim = score(truth[judged], scores[judged] >= cut)
        if aim > best_aim:
            best, best_aim = cut, aim
    return best


def shift(
    truth: BoolArray,
    before: FloatArray,
    passes_before: BoolArray,
    passes_after: BoolArray,
    cut: float,
    score: Score,
) -> Shift:
    """What is due to a shift, on rows that did not choose the cut.

    truth, before (scores) and both verdicts are of the same rows, all judged by both rubrics.
    """
    recut = score(truth, before >= cut) if np.isfinite(cut) else score(truth, passes_before)
    first = separation(truth, passes_before)
    second = separation(truth, passes_after)
    changed = passes_before != passes_after
    one_way = not (changed & passes_after).any() or not (changed & ~passes_after).any()
    share_one_way = _share_one_way(changed, passes_after)
    is_better_apart = second.value - first.value > sqrt(first.error**2 + second.error**2)
    only = bool(changed.any()) and (one_way or share_one_way >= 0.8) and not is_better_apart
    return Shift(cut, recut, first, second, only)


def _share_one_way(changed: BoolArray, passes_after: BoolArray) -> float:
    """The larger share of the changed verdicts that went the same way."""
    count = int(changed.sum())
    if not count:
        return 0.0
    up = int((changed & passes_after).sum())
    return max(up, count - up) / count
