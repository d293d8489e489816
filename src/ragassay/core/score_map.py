"""A map of a judge's score of a row to the probability that people pass it: as numbers."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass

EDGE = 1e-6
"""Scores of the beta map stay this far from 0 and 1, where its logarithms have no value."""


@dataclass(frozen=True, slots=True)
class ScoreMap:
    """A fitted map, bound to what it was fitted on.

    name: under which it is stored. judge: URI whose scores it maps; metric: printed name. kind:
    "platt", "isotonic" or "beta"; parameters, at: as `scoring.calibration.Calibrator` has them.
    cut: the probability from which a row passes. data_hash: of the labels that it was fitted on.
    """

    name: str
    judge: str
    metric: str
    kind: str
    parameters: tuple[float, ...]
    at: tuple[float, ...] = ()
    cut: float = 0.5
    data_hash: str = ""

    def __call__(self, score: float) -> float:
        """The probability of a score, in [0, 1]; `Calibrator` gives the same for arrays."""
        if self.kind == "isotonic":
            return self._between(score)
        if self.kind == "platt":
            slope, intercept = self.parameters
            return _logistic(slope * score + intercept)
        a, b, c = self.parameters
        inside = min(1 - EDGE, max(EDGE, score))
        return _logistic(a * math.log(inside) - b * math.log(1 - inside) + c)

    def _between(self, score: float) -> float:
        """The height at a score, straight between the places of `at` and level beyond them."""
        if score <= self.at[0]:
            return self.parameters[0]
        if score >= self.at[-1]:
            return self.parameters[-1]
        right = bisect.bisect_right(self.at, score)
        left = right - 1
        share = (score - self.at[left]) / (self.at[right] - self.at[left])
        return self.parameters[left] + share * (self.parameters[right] - self.parameters[left])


def _logistic(z: float) -> float:
    # Without an overflow on either side.
    if z >= 0:
        return 1 / (1 + math.exp(-min(z, 700.0)))
    grown = math.exp(max(z, -700.0))
    return grown / (1 + grown)
