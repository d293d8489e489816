"""The aim of a search: the figure to improve, what errors cost, and what must be reached or kept.

An aim is one number of a binary table, its value, of which more is better. So the same number
orders candidates, weighs errors and is certified. A mark that must be reached ("f1 where precision
>= 0.85") enters the value as a penalty: what is missing to the mark, times `PENALTY`, is taken off.
Feasibility first would be the plainer order, but near the mark a single row would then decide
between candidates. The certificate asks beyond that for the mark itself.

A figure that must be kept ("without losing recall") is no part of the value: the certificate asks
that it falls by less than its margin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ragassay.scoring import coefficients
from ragassay.scoring.arrays import BoolArray, FloatArray

PENALTY = 2.0
"""Points of the value that a point missing to a mark costs."""
MARGIN = 0.05
"""By how much a figure that is to be kept may fall where no margin is given."""
IMPROVED = (
    "f1",
    "kappa",
    "accuracy",
    "balanced_accuracy",
    "precision",
    "recall",
    "specificity",
    "mcc",
    "ac1",
    "cost",
)
"""Figures that a search can improve; cost: what a row costs on average, less is better."""
_COUNTERPART = {"precision": "recall", "recall": "precision", "specificity": "recall"}
"""Figures that a judge reaches by passing nothing or everything -> the one that keeps it honest."""
TITLES = {
    "f1": "F1",
    "mcc": "MCC",
    "ac1": "AC1",
    "kappa": "Cohen's kappa",
    "d_prime": "d'",
    "auc": "AUC",
}
"""Figures whose names are not simply their words."""


def title_of(figure: str) -> str:
    """A figure's name for readers."""
    return TITLES.get(figure, figure.replace("_", " "))


@dataclass(frozen=True, slots=True)
class Mark:
    """A figure that must be at least so high, in [0, 1]."""

    figure: str
    at_least: float


@dataclass(frozen=True, slots=True)
class Kept:
    """A figure that may fall by less than the margin."""

    figure: str
    margin: float = MARGIN


@dataclass(frozen=True, slots=True)
class Aim:
    """What is to be improved. "Positive" is a pass everywhere.

    figure: one of `IMPROVED`. false_pass, false_fail: what passing a row that people fail costs,
    and failing one that they pass. words: as the user gave it.
    """

    figure: str = "f1"
    false_pass: float = 1.0
    false_fail: float = 1.0
    mark: Mark | None = None
    kept: tuple[Kept, ...] = field(default=())
    words: str = ""

    def value(self, table: FloatArray) -> FloatArray:
        """The aim's value of binary tables (..., 4); more is better.

        A figure that a table leaves undefined counts as 0: a judge that passes nothing shows no
        precision. Cost is negative, so that here too more is better.
        """
        value = self.figure_of(table)
        if self.mark is not None:
            reached = np.nan_to_num(coefficients.binary(self.mark.figure, table))
            value = value - PENALTY * np.maximum(0.0, self.mark.at_least - reached)
        return value

    def figure_of(self, table: FloatArray) -> FloatArray:
        """The value without the penalty of a mark."""
        tp, fp, fn = table[..., 0], table[..., 1], table[..., 2]
        if self.figure == "cost":
            loss = self.false_pass * fp + self.false_fail * fn
            return np.nan_to_num(-coefficients.ratio(loss, table.sum(-1)))
        if self.figure == "f1":
            # With costs this is F-beta with beta^2 = false_fail / false_pass; with equal ones F1.
            both = self.false_pass + self.false_fail
            whole = both * tp + self.false_pass * fp + self.false_fail * fn
            return np.nan_to_num(coefficients.ratio(both * tp, whole))
        return np.nan_to_num(coefficients.binary(self.figure, table))

    def score(self, truth: BoolArray, passes: BoolArray) -> float:
        """The aim's value of these verdicts."""
        return float(self.value(coefficients.table(truth, passes)))

    def weights(self, table: FloatArray) -> tuple[float, float]:
        """What one more false pass and one more false fail would take off the value of this table,
        times its rows: the price of an error where the judge stands now; for cost the costs.
        """
        n = float(table.sum())
        if n == 0:
            return self.false_pass, self.false_fail
        # Half a row either way. A cell may have no rows: half of one more in each keeps it whole.
        around = table + 0.5
        moves = np.array([[0.0, 1.0, 0.0, -1.0], [-1.0, 0.0, 1.0, 0.0]]) / 2
        lost = (self.value(around - moves) - self.value(around + moves)) * (n + 2)
        return float(lost[0]), float(lost[1])

    def row_loss(
        self, truth: BoolArray, passes: BoolArray, around: FloatArray | None = None
    ) -> FloatArray:
        """What each row's verdict costs by `weights` of the table `around` (that of these verdicts
        where None). Exact for cost and accuracy, the first order of the value for other figures.
        """
        table = coefficients.table(truth, passes) if around is None else around
        false_pass, false_fail = self.weights(table)
        return np.where(truth, false_fail * ~passes, false_pass * passes)

    def with_baseline(self, truth: BoolArray, passes: BoolArray) -> Aim:
        """This aim with a mark where it needs one: precision, recall and specificity alone are
        best at a judge that passes nothing or everything, so the counterpart may not fall by more
        than `MARGIN` below the baseline's.
        """
        counterpart = _COUNTERPART.get(self.figure)
        kept = any(one.figure == counterpart for one in self.kept)
        if counterpart is None or self.mark is not None or kept:
            return self
        now = float(coefficients.binary(counterpart, coefficients.table(truth, passes)))
        if not np.isfinite(now):
            return self
        return replace(self, mark=Mark(counterpart, max(0.0, round(now - MARGIN, 4))))

    @property
    def title(self) -> str:
        """The figure's name for readers: "F1", "F0.58", "cost of a row"."""
        if self.figure == "cost":
            return "cost of a row"
        if self.figure == "f1" and self.false_pass != self.false_fail:
            return f"F{(self.false_fail / self.false_pass) ** 0.5:.2g}"
        return title_of(self.figure)

    def sentence(self) -> str:
        """What the aim was understood as, in one line."""
        verb = "lower the" if self.figure == "cost" else "raise"
        parts = [f"{verb} {self.title}"]
        if self.mark is not None:
            parts.append(f"with {title_of(self.mark.figure)} of at least {self.mark.at_least:g}")
        for kept in self.kept:
            parts.append(f"with {title_of(kept.figure)} falling by less than {kept.margin:g}")
        costs = f"a false pass costs {self.false_pass:g}, a false fail {self.false_fail:g}"
        return f"{', '.join(parts)}; {costs}"

    def cost_matrix(self) -> Mapping[tuple[str, str], float]:
        """(people, judge) -> what a row costs, by the words "pass" and "fail"."""
        return {
            ("pass", "pass"): 0.0,
            ("pass", "fail"): self.false_fail,
            ("fail", "pass"): self.false_pass,
            ("fail", "fail"): 0.0,
        }

    def guidance(self) -> str:
        """The aim for someone who proposes a text: which kind of error matters, and how much."""
        lines = [f"The aim: {self.sentence().split(';')[0]}."]
        if self.false_pass > self.false_fail:
            times = self.false_pass / self.false_fail
            lines.append(
                f"Passing what people fail is {times:g} times as bad as failing what they pass."
            )
        elif self.false_fail > self.false_pass:
            times = self.false_fail / self.false_pass
            lines.append(
                f"Failing what people pass is {times:g} times as bad as passing what they fail."
            )
        if self.mark is not None:
            lines.append(_MEANING[self.mark.figure])
        return " ".join(lines)


_MEANING = {
    "precision": "What the judge passes must be right.",
    "recall": "What people pass must not be missed.",
    "specificity": "What people fail must not be passed.",
    "accuracy": "Verdicts must be right.",
    "balanced_accuracy": "Both kinds of rows must be judged right.",
    "f1": "What the judge passes must be right, and what people pass must not be missed.",
    "kappa": "Agreement with people must be beyond chance.",
    "mcc": "Agreement with people must be beyond chance.",
    "ac1": "Agreement with people must be beyond chance.",
}
