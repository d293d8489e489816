"""How well a judge tells passes from fails, apart from where it puts its threshold.

Signal detection with two normal distributions of equal spread (Green & Swets 1966): d' = z(H) -
z(F), H the share of passes that the judge passes and F the share of fails that it passes;
criterion c = -(z(H) + z(F)) / 2. Another threshold moves c and leaves d' as it is. So where F1
rises and d' does not, a threshold would have done the same, for nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ragassay.scoring import coefficients
from ragassay.scoring.arrays import FloatArray
from ragassay.scoring.intervals import normal_quantile


@dataclass(frozen=True, slots=True)
class Rates:
    """A judge as two rates: hits, of what people pass, and false alarms, of what they fail, that it
    passes; prevalence: the share of rows that people pass. All in (0, 1).
    """

    hits: float
    false_alarms: float
    prevalence: float

    @property
    def d_prime(self) -> float:
        """z(hits) - z(false alarms): 0 at chance, 1.4 to 2 for a usual judge."""
        return normal_quantile(self.hits) - normal_quantile(self.false_alarms)

    def d_prime_error(self, rows: float) -> float:
        """Standard error of d' over so many rows: delta method, Gourevitch & Galanter 1967."""
        variance = 0.0
        of_kinds = ((self.hits, self.prevalence), (self.false_alarms, 1 - self.prevalence))
        for rate, share in of_kinds:
            z = normal_quantile(rate)
            density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            # Half a row was added to each of two cells.
            variance += rate * (1 - rate) / (rows * share + 1) / density**2
        return math.sqrt(variance)

    @property
    def criterion(self) -> float:
        """-(z(hits) + z(false alarms)) / 2: above 0 for a judge that rather fails."""
        return -(normal_quantile(self.hits) + normal_quantile(self.false_alarms)) / 2

    def table(self, rows: float = 1.0) -> FloatArray:
        """The binary table of so many rows."""
        passed, failed = rows * self.prevalence, rows * (1 - self.prevalence)
        tp, fp = passed * self.hits, failed * self.false_alarms
        return np.array([tp, fp, passed - tp, failed - fp])

    def figure(self, name: str) -> float:
        """A figure of pass or fail, by its name in `coefficients.BINARY`."""
        return float(coefficients.binary(name, self.table()))

    def moved(self, criterion: float) -> Rates:
        """The same judge with its threshold elsewhere: same d', another criterion."""
        half = self.d_prime / 2
        return Rates(_normal(half - criterion), _normal(-half - criterion), self.prevalence)


@dataclass(frozen=True, slots=True)
class GainParts:
    """A gain of a figure, taken apart: what moving the threshold alone would have given, and what
    the judge tells apart beyond that.
    """

    figure: str
    gain: float
    by_threshold: float
    by_judgment: float


def rates_of(table: FloatArray) -> Rates | None:
    """The rates of a binary table, with half a row more in each cell (Hautus 1995), so that a rate
    of 0 or 1 has a d'. None without rows of both classes.
    """
    tp, fp, fn, tn = (float(cell) for cell in table)
    if tp + fn == 0 or fp + tn == 0:
        return None
    hits = (tp + 0.5) / (tp + fn + 1)
    passed_falsely = (fp + 0.5) / (fp + tn + 1)
    return Rates(hits, passed_falsely, (tp + fn) / (tp + fp + fn + tn))


def d_prime(table: FloatArray) -> float | None:
    """d' of a binary table; None without rows of both classes."""
    rates = rates_of(table)
    return None if rates is None else rates.d_prime


def false_alarms(precision: float, recall: float, prevalence: float) -> float:
    """F = R v (1 - P) / (P (1 - v)): the share of what people fail that a judge passes."""
    return recall * prevalence * (1 - precision) / (precision * (1 - prevalence))


def rates_from(precision: float, recall: float, prevalence: float) -> Rates:
    """The rates that a printed precision and recall imply at a prevalence.

    Raises ValueError where no judge has these figures at this prevalence, or where one of the rates
    would be 0 or 1.
    """
    for name, value in (("precision", precision), ("recall", recall), ("prevalence", prevalence)):
        if not 0 < value < 1:
            raise ValueError(f"{name} must lie between 0 and 1, not {value:g}")
    rate = false_alarms(precision, recall, prevalence)
    if rate >= 1:
        raise ValueError(
            f"precision {precision:g} and recall {recall:g} cannot be at prevalence {prevalence:g}"
        )
    return Rates(recall, rate, prevalence)


def positives_implied(precision: float, recall: float, fp: int, fn: int) -> tuple[float, float]:
    """Rows that people pass, as precision with the false positives implies them, and as recall with
    the false negatives does: P = tp / (tp + fp) gives tp, and R = tp / (tp + fn) another one.

    Two numbers far apart say that the figures are not of one confusion matrix.
    """
    by_precision = fp * precision / (1 - precision) + fn
    by_recall = fn / (1 - recall)
    return by_precision, by_recall


def rates_from_counts(recall: float, false_passes: int, false_fails: int, rows: int) -> Rates:
    """The rates that a printed recall and the counts of both errors imply among so many rows."""
    positives = false_fails / (1 - recall)
    return Rates(recall, false_passes / (rows - positives), positives / rows)


def gain_parts(before: Rates, after: Rates, figure: str) -> GainParts:
    """The gain of a figure in two steps: first the threshold of `after` with the d' of `before`,
    then the d'. The prevalence is that of `before` throughout.
    """
    moved = before.moved(after.criterion)
    at_end = Rates(after.hits, after.false_alarms, before.prevalence)
    first = moved.figure(figure) - before.figure(figure)
    second = at_end.figure(figure) - moved.figure(figure)
    return GainParts(figure, first + second, first, second)


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))
