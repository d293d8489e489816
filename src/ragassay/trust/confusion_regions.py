"""Regions of confusion matrices: all matrices whose figures round to printed ones.

A two-class confusion matrix, as shares, has three free numbers: prevalence v, recall R and false
positive rate F. Every figure that tables print is a function of these, and a printed figure is an
interval: .655 says [.6545, .6555]. A row of a table is possible when some (v, R, F) lies in all of
its intervals. That is decided by cutting the cube of all (v, R, F) into boxes: the exact range of
each figure over a box is known in closed form (each is monotone in R and in F at a fixed v, and
kappa and MCC are N / D with D convex in the odds v / (1 - v)), so a box that misses one interval is
out for good. No box left: no matrix of any size gives these figures. Where n is small and known,
whole counts are tried one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ragassay.scoring import coefficients

FloatArray = NDArray[np.float64]
Span = tuple[float, float]

SIGNED = ("kappa", "mcc")
"""Figures from -1 to 1; all others run from 0 to 1."""

_OF_ONE_NUMBER = (
    "prevalence",
    "recall",
    "false_negative_rate",
    "false_positive_rate",
    "specificity",
)
_CORNERS = tuple(product((0, 1), repeat=3))
_OPPOSITE_CORNERS = ((0, 0, 0), (1, 1, 1))
_EDGE = 1e-9  # at 0 and 1 themselves some figures are 0 / 0
_RARE = 5e-4  # an unknown prevalence is taken to lie between this and 1 - this
# Bounds of the work on one row of a table.
_BOXES = 6000
_ROUNDS = 90
_MOST_MATRICES = 4_000_000
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class PrintedFigure:
    """A figure as a table prints it.

    low, high: the lowest and highest true value that round to it.
    """

    name: str
    text: str
    value: float
    low: float
    high: float


def region(fixed: Mapping[str, PrintedFigure]) -> FloatArray | None:
    """Boxes (k, 3, 2) of prevalence, recall and false positive rate that hold every matrix with
    these figures, some of which surely do; None when there is none.
    """
    first_box = [
        _first_span("prevalence", fixed),
        _first_span("recall", fixed),
        _first_span("false_positive_rate", fixed),
    ]
    boxes = np.array([first_box], dtype=np.float64)
    if (boxes[:, :, 0] > boxes[:, :, 1]).any():
        return None
    sure = False
    for _ in range(_ROUNDS):
        boxes = boxes[_may_hold(fixed, boxes)]
        if not len(boxes):
            return None
        sure = sure or _surely_holds(fixed, boxes)
        width = boxes[:, :, 1] - boxes[:, :, 0]
        # Narrower than the interval of nearly any printed figure: more cuts would change nothing.
        if width.max() < 1e-7:
            return boxes
        # Some matrix fits for sure: more cuts would only narrow what the figures imply.
        if sure and (width.max() < 2e-4 or 2 * len(boxes) > _BOXES):
            return boxes
        if 2 * len(boxes) > 40 * _BOXES:
            return boxes  # undecided after so much work: possible, as nothing speaks against it
        # The longest side: boxes stay nearly cubes, and bounds over them narrow fastest.
        boxes = _halved(boxes, width.argmax(1))
    return boxes


def hull(figure: str, boxes: FloatArray) -> Span:
    """The lowest and highest value of a figure over a region."""
    low, high = _bounds(figure, boxes)
    return float(low.min()), float(high.max())


def whole_counts(n: int, positives: int, fixed: Mapping[str, PrintedFigure]) -> bool:
    """Whether whole counts of n rows can give the figures; True where there are too many to try."""
    negatives = n - positives
    # Of one class only, recall or the false positive rate has nothing to be a share of.
    if positives < 1 or negatives < 1:
        return True
    tp_low, tp_high = _counts(_first_span("recall", fixed), positives)
    fp_low, fp_high = _counts(_first_span("false_positive_rate", fixed), negatives)
    if (tp_high - tp_low + 1) * (fp_high - fp_low + 1) > _MOST_MATRICES:
        return True
    tp, fp = np.meshgrid(
        np.arange(tp_low, tp_high + 1), np.arange(fp_low, fp_high + 1), indexing="ij"
    )
    r = tp.ravel() / positives
    f = fp.ravel() / negatives
    v = np.full(len(r), positives / n)
    possible = np.ones(len(r), bool)
    # A figure that is 0 / 0 is NaN, which compares as outside every interval: not possible.
    with np.errstate(divide="ignore", invalid="ignore"):
        for figure, printed in fixed.items():
            value = _figure(figure, v, r, f)
            possible &= (value >= printed.low - _ROUNDING) & (value <= printed.high + _ROUNDING)
    return bool(possible.any())


def _first_span(figure: str, fixed: Mapping[str, PrintedFigure]) -> Span:
    """Where one of the three free numbers can lie, by its own figure and by its complement."""
    least = _RARE if figure == "prevalence" and figure not in fixed else _EDGE
    low = least
    high = 1 - least
    if figure in fixed:
        low = max(low, fixed[figure].low)
        high = min(high, fixed[figure].high)
    complements = {"recall": "false_negative_rate", "false_positive_rate": "specificity"}
    other = fixed.get(complements.get(figure, ""))
    if other is not None:
        low = max(low, 1 - other.high)
        high = min(high, 1 - other.low)
    return low, high


def _halved(boxes: FloatArray, axis: NDArray[np.intp]) -> FloatArray:
    """Both halves of each box, cut along its axis."""
    at = np.arange(len(boxes))
    middle = boxes[at, axis].mean(1)
    lower = boxes.copy()
    upper = boxes.copy()
    lower[at, axis, 1] = middle
    upper[at, axis, 0] = middle
    return np.concatenate([lower, upper])


def _may_hold(fixed: Mapping[str, PrintedFigure], boxes: FloatArray) -> NDArray[np.bool_]:
    """Which boxes miss none of the figures' intervals."""
    keep = np.ones(len(boxes), bool)
    for figure, printed in fixed.items():
        low, high = _bounds(figure, boxes)
        keep &= (low <= printed.high + _ROUNDING) & (high >= printed.low - _ROUNDING)
    return keep


def _surely_holds(fixed: Mapping[str, PrintedFigure], boxes: FloatArray) -> bool:
    """Whether the middle of some box is a matrix with all of these figures."""
    # Of a box without width, the figure is both bounds.
    middle = np.repeat(boxes.mean(2)[:, :, None], 2, axis=2)
    holds = np.ones(len(boxes), bool)
    for figure, printed in fixed.items():
        value, _ = _bounds(figure, middle)
        holds &= (value >= printed.low) & (value <= printed.high)
    return bool(holds.any())


def _bounds(figure: str, boxes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The exact lowest and highest value of a figure over each box."""
    # v: prevalence, r: recall, f: false positive rate, each (k, 2): the ends of k boxes.
    v, r, f = boxes[:, 0], boxes[:, 1], boxes[:, 2]
    # Each is monotone in all three numbers, so that its extremes lie in corners of the box.
    corners = _OPPOSITE_CORNERS if figure in _OF_ONE_NUMBER else _CORNERS
    values = []
    for i, j, k in corners:
        values.append(_figure(figure, v[:, i], r[:, j], f[:, k]))
    if figure in SIGNED:
        # Between its ends, D takes its least value where its slope in the odds is 0.
        for j, k in product((0, 1), repeat=2):
            recall, rate = r[:, j], f[:, k]
            odds = _turning_odds(figure, recall, rate)
            turn = np.clip(odds / (1 + odds), v[:, 0], v[:, 1])
            values.append(_figure(figure, turn, recall, rate))
    return np.minimum.reduce(values), np.maximum.reduce(values)


def _turning_odds(figure: str, recall: FloatArray, rate: FloatArray) -> FloatArray:
    """The odds of the prevalence at which the denominator of kappa or MCC is least."""
    odds: FloatArray
    if figure == "kappa":
        odds = np.sqrt(rate / (1 - recall))
    else:
        odds = np.sqrt(rate * (1 - rate) / (recall * (1 - recall)))
    return odds


def _figure(figure: str, v: FloatArray, r: FloatArray, f: FloatArray) -> FloatArray:
    """A figure at prevalence v, recall r and false positive rate f."""
    if figure == "prevalence":
        return v
    if figure == "recall":
        return r
    if figure == "false_negative_rate":
        return 1 - r
    if figure == "false_positive_rate":
        return f
    if figure == "specificity":
        return 1 - f
    # True and false positives, false and true negatives, as shares of all rows.
    return coefficients.BINARY[figure](v * r, (1 - v) * f, v * (1 - r), (1 - v) * (1 - f))


def _counts(span: Span, rows: int) -> tuple[int, int]:
    """The lowest and highest count of `rows` whose share lies in the span."""
    # The margin takes in a whole number that a rounding error put just outside.
    lowest = max(0, math.ceil(span[0] * rows - 1e-6))
    highest = min(rows, math.floor(span[1] * rows + 1e-6))
    return lowest, highest
