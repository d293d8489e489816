"""How far a few verdicts speak for a true effect of an edit, beside what any change of words does.

Every changed text flips borderline verdicts. So what an edit flips is compared with what edits
without effect flip, row by row: a Bayes factor, which may be looked at after each verdict without
losing its meaning. A row that flips with every text says little, one that never did says much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ragassay.tuning.values import BoolArray, FloatArray, IntArray

# Effects that are looked for: the share of flips beyond the floor.
_FIXES = (0.08, 0.15, 0.3, 0.5, 0.7)
_BREAKS = (0.06, 0.12, 0.25)
# What the floor of all rows weighs, in verdicts, against a row's own verdicts under other texts;
# and what the floor that was given weighs against those of all rows.
_PRIOR_OF_ROW, _PRIOR = 5.0, 25.0
_LEAST, _MOST = 0.01, 0.6


@dataclass
class Floor:
    """How often a row's verdict flips under edits without effect.

    share: of all rows, at first what the noise floor tells. flips, asked: of each row, among the
    edits that were dropped.
    """

    share: float
    rows: int
    weight: float = _PRIOR
    flips: FloatArray = field(init=False)
    asked: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.flips, self.asked = np.zeros(self.rows), np.zeros(self.rows)

    def learn(self, rows: IntArray, flipped: BoolArray) -> None:
        """Take in the verdicts of an edit that had no effect."""
        np.add.at(self.asked, rows, 1.0)
        np.add.at(self.flips, rows, flipped.astype(float))
        total = self.weight + len(rows)
        self.share = (self.share * self.weight + float(flipped.sum())) / total
        self.weight = min(total, 300.0)

    def of(self, rows: IntArray) -> FloatArray:
        """The share of texts without effect under which each row flips."""
        share = min(max(self.share, _LEAST), _MOST)
        own = share * _PRIOR_OF_ROW + self.flips[rows]
        return np.clip(own / (_PRIOR_OF_ROW + self.asked[rows]), _LEAST, _MOST)

    def for_mending(self, rows: Sequence[int], flipped: Sequence[bool]) -> float:
        """The Bayes factor for an edit that mends errors, against one that does nothing."""
        return self._factor(rows, flipped, _FIXES)

    def for_harm(self, rows: Sequence[int], flipped: Sequence[bool]) -> float:
        """The Bayes factor for an edit that breaks agreements, against one that does nothing."""
        return self._factor(rows, flipped, _BREAKS)

    def _factor(
        self, rows: Sequence[int], flipped: Sequence[bool], effects: Sequence[float]
    ) -> float:
        """The mean over the effects of how much likelier the flips are with the effect."""
        floor = self.of(np.array(rows, np.int64))
        is_flipped = np.array(flipped, bool)
        total = 0.0
        for effect in effects:
            share = floor + effect * (1 - floor)
            ratios = np.where(is_flipped, share / floor, (1 - share) / (1 - floor))
            total += float(np.prod(ratios))
        return total / len(effects)


def floors(churn: float, errors: float, rows: int) -> tuple[Floor, Floor]:
    """The floors of errors and of agreements where a share `churn` of all verdicts changes and the
    judge errs on a share `errors`: as many errors vanish as new ones come.
    """
    errors = min(max(errors, 0.02), 0.98)
    return Floor(churn / 2 / errors, rows), Floor(churn / 2 / (1 - errors), rows)
