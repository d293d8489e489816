"""The noise floor: how much two answers of one rubric on the same rows differ by chance.

The baseline answers some rows twice. A gain that two answers of the same text would show as well is
no reason to keep an edit, so edits below the floor are not pursued.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ragassay.scoring import coefficients
from ragassay.scoring.intervals import normal_quantile
from ragassay.tuning.aim import Aim
from ragassay.tuning.values import Answers, BoolArray, FloatArray

REPEATED = 50
"""Rows of the baseline that are asked twice."""
CONFIDENCE = 0.9
"""One in ten comparisons of equals lies above the floor: cheap to look at, and the certificate is
still to come."""


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How unsteady the judge is.

    rows: judged twice; flips: of them, those with the other verdict. flip_rate: with half a row
    more on either side, so that no flip among a few rows is not taken for none. row_error: standard
    deviation of what one row's verdict moves the aim's value by, by chance alone.
    """

    rows: int
    flips: int
    flip_rate: float
    row_error: float

    def smallest_gain(self, rows: int, effect: float = 1.0) -> float:
        """The gain in the aim's value on so many rows that chance alone shows one time in ten.

        effect: the design effect of clusters of rows. Infinite without rows.
        """
        if rows < 1:
            return math.inf
        return normal_quantile(CONFIDENCE) * self.row_error * math.sqrt(effect / rows)

    def sentence(self) -> str:
        """The floor in words."""
        return (
            f"asked twice, the judge changed its verdict on {self.flips} of {self.rows} rows;"
            f" on 100 rows gains below {self.smallest_gain(100):.3f} are not pursued"
        )


def noise_floor(
    aim: Aim,
    truth: BoolArray,
    first: Answers,
    second: Answers,
    around: FloatArray | None = None,
) -> NoiseFloor:
    """The floor from two answers of the same rubric on the same rows.

    around: the baseline's binary table (4,) over all rows it has answered, by which errors are
    weighed; that of the first answers where None. Raises ValueError where no row was judged twice.
    """
    both = first.judged & second.judged
    rows = int(both.sum())
    if rows == 0:
        raise ValueError("no row was judged twice")
    flips = int((first.passes != second.passes)[both].sum())
    rate = (flips + 0.5) / (rows + 1)
    if around is None:
        around = coefficients.table(truth[both], first.passes[both])
    false_pass, false_fail = aim.weights(around)
    passed = float(truth[both].mean())
    square = passed * false_fail**2 + (1 - passed) * false_pass**2
    return NoiseFloor(rows, flips, rate, math.sqrt(rate * square))
