"""The alignment of a judge with labels: its verdicts beside those of people, row by row.

A judge here is only its answers (`Verdicts`): whether they were recorded in the file, come from a
run in the store or were asked for a minute ago makes no difference to what is computed from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragassay.core import DataError, Figure, SetupError
from ragassay.core.counting import count
from ragassay.runs.label_scales import default_cut, few_that_decide
from ragassay.scoring import agreement
from ragassay.scoring.ratings import GRADES
from ragassay.trust.label_table import FloatArray, IntArray, LabelTable

BoolArray = NDArray[np.bool_]

FEW_CLUSTERS = 10
"""Fewer clusters than these are too few for an interval to be trusted."""

_WINNERS = frozenset({1.0, 2.0})
_SLIPS = 0.01  # share of the labels that may be slips of the pen
_ROUNDING = 1e-9  # grades that differ by less are one grade
_NO_VERDICT = "no verdict recorded"


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What one judge said of the n rows of a `LabelTable`, in their order.

    score: n values, NaN where it said nothing, or (n, 2) where each value is a pair. passes: the
    judge's own pass or fail; None = from the cut on. ratings: the same on the rubric's scale, where
    it has one. missing: reason -> rows without a verdict, where the reasons are known. rationales:
    id -> why. cut: of this judge, before any default. confidence: n values from 0 to 1, NaN where
    there is none.
    """

    judge: str
    score: FloatArray
    passes: BoolArray | None = None
    ratings: FloatArray | None = None
    missing: Mapping[str, int] = field(default_factory=dict)
    rationales: Mapping[str, str] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    cut: float | None = None
    confidence: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Aligned:
    """One judge ready to be measured.

    ratings: judge and people on the rows that the judge judged. at: these rows, as indices into the
    labelled ones. cut: of the judge's score, None where its own verdict is taken. position: for
    judges of pairs asked in both orders.
    """

    verdicts: Verdicts
    ratings: agreement.Ratings
    at: IntArray
    cut: float | None
    missing: Mapping[str, int]
    position: tuple[Figure, ...] = ()
    warnings: tuple[str, ...] = ()


def recorded(table: LabelTable, name: str) -> Verdicts:
    """The answers of a judge that stand in the rows."""
    return Verdicts(f"recorded:{name}", table.recorded[name])


def label_cut(table: LabelTable) -> float:
    """From which label on people pass: the usual cut of the scale.

    Raises SetupError E0205 where there is no usual one; DataError E0313 where there would be but
    for a few labels, which are taken for slips.
    """
    slips = few_that_decide(table.label.tolist())
    if slips:
        raise _slips(table, np.array(sorted(slips)), sorted(set(table.scale) - slips))
    try:
        return default_cut(table.scale)
    except SetupError:
        # A single "11" among labels of 0 and 1 is more likely a slip than a scale.
        values, counts = np.unique(table.label, return_counts=True)
        rare = values[counts <= max(1.0, _SLIPS * len(table))]
        others = sorted(set(values.tolist()) - set(rare.tolist()))
        if not len(rare) or len(others) < 2:
            raise
        # Raises once more where the other labels are on no usual scale either.
        default_cut(others)
    raise _slips(table, rare, others)


def _slips(table: LabelTable, rare: FloatArray, others: Sequence[float]) -> DataError:
    """Labels that a few rows alone have, by the lines where they stand."""
    lines = table.lines[np.isin(table.label, rare)].tolist()
    where = "line " + ", ".join(map(str, lines[:5]))
    if len(lines) > 5:
        where += " ..."
    rare_values = ", ".join(f"{value:g}" for value in rare[:5])
    other_values = ", ".join(f"{value:g}" for value in others)
    return DataError(
        "E0313",
        f"{len(lines)} of {len(table)} labels are not on the scale of the others.",
        where=where,
        why=f"{rare_values}, where the others are {other_values}",
        fix="correct them, or say from which label on a row passes: --cut",
    )


def align(table: LabelTable, judge: Verdicts, cut: float, judge_cut: float | None) -> Aligned:
    """One judge's verdicts beside the labels, over the rows that it judged.

    cut, judge_cut: as for `trust.compare`. Raises SetupError E0205 where it cannot be told which
    scores pass.
    """
    is_pair = judge.score.ndim == 2
    # Labels of 1 and 2 name the better response of a pair; signed labels say by how much.
    if is_pair and set(table.scale) <= _WINNERS and _names_winners(judge):
        return _align_both_orders(table, judge, cut)
    own_cut = judge.cut if judge.cut is not None else judge_cut
    passes = judge.passes
    if is_pair:
        score = _advantage_of_the_second(table, judge)
        # The second response is better: what a label that passes says as well.
        if own_cut is None:
            passes = score > 0
    # Grades are compared where judge and people use one scale, which scores from 0 to 1 are not.
    elif judge.ratings is not None and _is_one_scale(table.label, judge.ratings):
        score = judge.ratings
    else:
        score = judge.score
    if own_cut is not None:
        passes = None  # a cut that was asked for overrules the verdicts of the judge itself
    usable = np.isfinite(score)
    if table.weight is not None:
        # A row of unknown chance has no weight beside those of a known one.
        usable &= np.isfinite(table.weight)
    at = np.flatnonzero(usable)
    judged = score[at]
    label = table.label[at]
    graded = _is_graded(label, judged)
    warnings = list(judge.warnings)
    if is_pair:
        warnings += _tied_scores(table, judge)
    if passes is None:
        if own_cut is None:
            own_cut = _usual_judge_cut(judge.judge, judged, cut, graded, warnings)
        passed = judged >= own_cut
    else:
        passed = passes[at]
        own_cut = None
    ratings = _ratings(table, at, judged, passed, cut, graded)
    missing = _with_unexplained(judge.missing, len(table) - len(at))
    return Aligned(judge, ratings, at, own_cut, missing, (), tuple(warnings))


def _advantage_of_the_second(table: LabelTable, judge: Verdicts) -> FloatArray:
    """How much better the judge finds the second response of a pair; NaN where a score is missing,
    and for equal scores beside labels of 1 and 2, which name a winner of each pair.

    Raises SetupError E0205 where the labels are neither winners nor such differences.
    """
    are_winners = set(table.scale) <= _WINNERS
    if not are_winners and not any(point < 0 for point in table.scale):
        raise SetupError(
            "E0205",
            f"What the pairs of {judge.judge} mean is not clear.",
            where=f"--label {table.label_field}",
            why=(
                "labels of pairs are 1 and 2 (which one is better), or run from below 0 to above it"
            ),
            fix="name a label of that kind",
        )
    # `NO_WINNER` is infinite, and a difference with it would count as a score.
    both = np.where(np.isfinite(judge.score), judge.score, np.nan)
    advantage: FloatArray = both[:, 1] - both[:, 0]
    return np.where(advantage == 0, np.nan, advantage) if are_winners else advantage


def _names_winners(judge: Verdicts) -> bool:
    """Whether the pairs of a judge are the winner in either order; else they are scores."""
    return set(np.unique(judge.score[np.isfinite(judge.score)]).tolist()) <= _WINNERS


def _tied_scores(table: LabelTable, judge: Verdicts) -> list[str]:
    """How pairs of scores were read, and how many name no winner."""
    if set(table.scale) - _WINNERS:
        return []
    ties = int(
        (np.isfinite(judge.score).all(axis=1) & (judge.score[:, 0] == judge.score[:, 1])).sum()
    )
    left_out = f"; {ties} with equal scores name none and are left out" if ties else ""
    return [
        f"the pairs of {judge.judge} are read as scores of the two responses, of which the higher"
        f" one wins{left_out}"
    ]


def _is_graded(label: FloatArray, score: FloatArray) -> bool:
    """Whether grades can be compared: more than two, on one scale, and not too many."""
    if not _is_one_scale(label, score) or len(np.unique(label)) <= 2:
        return False
    return len(_grades(label, score)) <= GRADES


def _with_unexplained(missing: Mapping[str, int], rows: int) -> dict[str, int]:
    """The reasons for `rows` missing verdicts; those without a known reason get one."""
    reasons = dict(missing)
    unexplained = rows - sum(reasons.values())
    if unexplained > 0:
        reasons[_NO_VERDICT] = reasons.get(_NO_VERDICT, 0) + unexplained
    return reasons


def _is_one_scale(label: FloatArray, score: FloatArray) -> bool:
    """Whether two sets of numbers are grades of one scale.

    They are where the scores lie on the labels' steps, and hardly beyond their ends.
    """
    scores = np.unique(score[np.isfinite(score)])
    points = np.unique(label)
    if len(points) < 3 or not len(scores):
        return False
    if set(scores) <= {0.0, 1.0} < set(points.tolist()) | {0.0, 1.0}:
        return False  # pass or fail beside grades
    # Counted in steps, all of them lie on whole numbers.
    step = float(np.diff(points).min())
    places = (np.concatenate([scores, points]) - points[0]) / step
    span = points[-1] - points[0]
    joint_span = max(scores[-1], points[-1]) - min(scores[0], points[0])
    # One step beyond is allowed: a judge may use a grade that no person gave.
    if joint_span > span + step:
        return False
    return bool(np.allclose(places, np.round(places), atol=_ROUNDING))


def _usual_judge_cut(
    name: str, score: FloatArray, cut: float, graded: bool, warnings: list[str]
) -> float:
    """From which score on a judge passes, where it does not say so itself."""
    values = np.unique(score)
    # On one scale, a grade means the same of judge and people.
    if graded or not len(values):
        return cut
    if set(values) <= {0.0, 1.0}:
        return 1.0
    if values[0] >= 0 and values[-1] <= 1:
        warnings.append(
            f"the scores of {name} lie between 0 and 1: it passes from 0.5 on, or say --judge-cut"
        )
        return 0.5
    raise SetupError(
        "E0205",
        f"It is not said from which score on {name} passes.",
        where="--judge-cut",
        why=f"its scores run from {values[0]:g} to {values[-1]:g}, not on the scale of the labels",
        fix=f"say it, such as --judge-cut {values[len(values) // 2]:g}",
    )


def _ratings(
    table: LabelTable,
    at: IntArray,
    score: FloatArray,
    passes: BoolArray,
    cut: float,
    graded: bool,
) -> agreement.Ratings:
    """Judge and people on the rows `at`, as the arithmetic takes them."""
    label = table.label[at]
    points: tuple[float, ...] = ()
    grades: tuple[IntArray, IntArray] | None = None
    if graded:
        points = _grades(label, score)
        # A grade that a rounding error moved up still meets its own point.
        grades = (
            np.searchsorted(points, label - _ROUNDING),
            np.searchsorted(points, score - _ROUNDING),
        )
    slice_codes, slice_names = _slices(table, at)
    return agreement.Ratings(
        label=label,
        score=score,
        passes=passes,
        truth=label >= cut,
        unit=score if _is_share(score) else None,
        grades=grades,
        points=points,
        cluster=np.unique(table.cluster[at], return_inverse=True)[1].reshape(-1),
        slice=slice_codes,
        slice_names=slice_names,
        weight=None if table.weight is None else table.weight[at],
    )


def _is_share(score: FloatArray) -> bool:
    """Whether scores lie from 0 to 1 and say more than pass or fail."""
    if not len(score) or score.min() < 0 or score.max() > 1:
        return False
    return not set(score) <= {0.0, 1.0}


def _slices(table: LabelTable, at: IntArray) -> tuple[IntArray | None, tuple[str, ...]]:
    """A code for each row and the name of each code, where the rows are in several slices."""
    if table.slice is None or not len(at):
        return None, ()
    present, codes = np.unique(table.slice[at], return_inverse=True)
    if len(present) < 2:
        return None, ()
    return codes.reshape(-1), tuple(table.slice_names[i] for i in present)


def _grades(label: FloatArray, score: FloatArray) -> tuple[float, ...]:
    """The grades that occur, rising.

    Where all are whole, those between are filled in: a grade that nobody gave is still a step.
    """
    grades = np.unique(np.concatenate([label, score]))
    if np.all(grades == np.round(grades)) and grades[-1] - grades[0] < GRADES:
        grades = np.arange(grades[0], grades[-1] + 1)
    return tuple(float(grade) for grade in grades)


def _align_both_orders(table: LabelTable, judge: Verdicts, cut: float) -> Aligned:
    """Pairs judged in both orders: each order is a rating of its own, in the row's cluster."""
    # Both orders, or neither: with one alone, position could not be told from preference.
    usable = ~np.isnan(judge.score).any(1)
    if table.weight is not None:
        usable &= np.isfinite(table.weight)
    judged = np.flatnonzero(usable)
    winner = judge.score[judged]
    warnings = list(judge.warnings)
    if without_winner := int(np.isinf(winner).sum()):
        warnings.append(
            f"{without_winner} of {winner.size} comparisons of {judge.judge} name no winner: by"
            " order they count as not right, in the pooled figures they are left out"
        )
    first = np.isfinite(winner[:, 0])
    second = np.isfinite(winner[:, 1])
    position = _position_figures(winner, table.label[judged], table.cluster[judged])
    warnings += _position_bias(judge.judge, position)
    at = np.concatenate([judged[first], judged[second]])
    score = np.concatenate([winner[first, 0], winner[second, 1]])
    ratings = _ratings(table, at, score, score >= cut, cut, graded=False)
    return Aligned(
        judge,
        ratings,
        at,
        cut,
        _with_unexplained(judge.missing, len(table) - len(judged)),
        position,
        tuple(warnings),
    )


def _position_figures(
    winner: FloatArray, label: FloatArray, cluster: IntArray
) -> tuple[Figure, ...]:
    """Accuracy by order, and how often both orders have the same winner."""
    right = winner == label[:, None]
    # Two orders without a winner are both infinite, which is no agreement.
    same = (winner[:, 0] == winner[:, 1]) & np.isfinite(winner[:, 0])
    return (
        _share("accuracy", right.mean(1), cluster),
        _share("accuracy_order1", right[:, 0] * 1.0, cluster),
        _share("accuracy_order2", right[:, 1] * 1.0, cluster),
        _share("consistent", same * 1.0, cluster),
        _first_shown(winner, cluster),
    )


def _first_shown(winner: FloatArray, cluster: IntArray) -> Figure:
    """The share of pairs' winners that were shown first: 0.5 for a judge that place does not move.

    The first response is shown first in the first order, the second one in the second.
    """
    decided = np.isfinite(winner)
    shown_first = (winner == np.array([1.0, 2.0])) & decided
    orders = decided.sum(axis=1)
    some = orders > 0
    return _share("first_shown", shown_first[some].sum(axis=1) / orders[some], cluster[some])


def _position_bias(judge: str, position: Sequence[Figure]) -> list[str]:
    """What to beware of where place moves the judge beyond chance."""
    figure = next(figure for figure in position if figure.name == "first_shown")
    interval = figure.interval
    if figure.value is None or interval is None or interval.low <= 0.5 <= interval.high:
        return []
    place = "first" if figure.value > 0.5 else "second"
    return [
        f"{judge} prefers the response that it is shown {place}: {figure.value:.2f} of its winners"
        f" were shown first [{interval.low:.2f}, {interval.high:.2f}], 0.5 without such a bias"
    ]


def _share(name: str, values: FloatArray, cluster: IntArray) -> Figure:
    """The mean of values in [0, 1], with an interval that respects clusters."""
    from ragassay.scoring import MeanAccumulator

    total = MeanAccumulator(0.0, 1.0)
    for value, code in zip(values.tolist(), cluster.tolist(), strict=True):
        total.add(value, str(code))
    mean = total.result()
    if not mean.n:
        reason = "no pair was judged"
    elif mean.clusters < FEW_CLUSTERS:
        reason = f"only {count(mean.clusters, 'cluster')}"
    else:
        reason = ""
    return Figure(name, mean.mean, mean.interval, mean.n, reason)
