"""Rows of a published table beside each other, and beside the counts that they print.

Rows of one sample share the rows that are positive: one share of positives has to fit all of them.
Two rows whose figures leave no common share were not measured on the same rows, or one of them is
wrong; that precision and recall both rise while kappa falls is a case of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.core import shorten
from ragassay.scoring import coefficients
from ragassay.trust.confusion_regions import FloatArray, PrintedFigure, Span

_STEPS = 2000
_TELLING = ("kappa", "mcc", "accuracy", "balanced_accuracy", "specificity", "false_positive_rate")
"""The figures that depend on the share of positives once precision and recall are known."""
_MOST = 12  # pairs grow as the square of the rows


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A row of a table. sample: the rows it was measured on, "" where it does not say. prevalence:
    the lowest and highest share of positives that its figures leave possible, None where they say
    nothing of it.
    """

    name: str
    sample: str
    printed: Mapping[str, PrintedFigure]
    prevalence: Span | None


def prevalence_of(printed: Mapping[str, PrintedFigure]) -> Span | None:
    """The lowest and highest share of positives at which precision and recall give the other
    figures of a row, to the printed places; None without these two, another figure, or any such
    share.
    """
    p, r = printed.get("precision"), printed.get("recall")
    others = [name for name in printed if name in _TELLING]
    if p is None or r is None or not others or p.low <= 0:
        return None
    share = np.arange(1, _STEPS) / _STEPS
    possible = np.ones(len(share), dtype=bool)
    # The figures move one way with precision and with recall over half a printed step, so that
    # their ends lie at the corners.
    corners = [
        _table(share, *corner) for corner in itertools.product((p.low, p.high), (r.low, r.high))
    ]
    # No table has fewer than no true negatives.
    possible &= np.any([table[:, 3] >= 0 for table in corners], axis=0)
    for name in others:
        values = np.stack([coefficients.binary(name, table) for table in corners])
        low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        possible &= (low <= printed[name].high) & (high >= printed[name].low)
    if not possible.any():
        return None
    at = share[possible]
    # Between two steps there is no saying.
    return max(0.0, float(at.min()) - 1 / _STEPS), min(1.0, float(at.max()) + 1 / _STEPS)


def _table(share: FloatArray, precision: float, recall: float) -> FloatArray:
    """(shares, 4) the confusion matrix at each share of positives."""
    tp = share * recall
    fp = tp * (1 - precision) / precision
    return np.stack([tp, fp, share - tp, 1 - share - fp], axis=1)


def contradictions(rows: Sequence[SampledRow]) -> tuple[str, ...]:
    """What rows of one sample contradict in each other, in words."""
    by_sample: dict[str, list[SampledRow]] = {}
    for row in rows:
        by_sample.setdefault(row.sample, []).append(row)
    lines: list[str] = []
    for sample, members in by_sample.items():
        where = f"sample {shorten(sample, 40)}: " if sample else ""
        for first, second in itertools.combinations(members, 2):
            lines += [f"{where}{line}" for line in _against_each_other(first, second)]
    return tuple(lines[:_MOST])


def _against_each_other(a: SampledRow, b: SampledRow) -> Iterator[str]:
    if a.prevalence is None or b.prevalence is None:
        return
    if a.prevalence[1] >= b.prevalence[0] and b.prevalence[1] >= a.prevalence[0]:
        return
    shares = [
        f"{shorten(row.name, 40)} {span[0]:.3f} to {span[1]:.3f}"
        for row, span in ((a, a.prevalence), (b, b.prevalence))
    ]
    yield f"{' and '.join(shares)}: no share of positives fits both, so not one set of rows"
    for lower, upper in ((a, b), (b, a)):
        if _falls_as_both_rise(lower, upper):
            names = f"from {shorten(lower.name, 40)} to {shorten(upper.name, 40)}"
            yield f"{names} precision and recall both rise, and kappa falls"


def _falls_as_both_rise(a: SampledRow, b: SampledRow) -> bool:
    """Whether precision and recall rise from a to b, beyond rounding, while kappa falls."""
    names = ("precision", "recall", "kappa")
    if any(name not in a.printed or name not in b.printed for name in names):
        return False
    rise = all(b.printed[name].low > a.printed[name].high for name in names[:2])
    return rise and b.printed["kappa"].high < a.printed["kappa"].low
