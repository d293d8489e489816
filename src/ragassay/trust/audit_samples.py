"""Rows of a published table beside each other.

Rows of one sample share the rows that are positive: one share of positives has to fit all of them.
Two rows whose figures leave no common share were not measured on the same rows, or one of them is
wrong; that precision and recall both rise while kappa falls is a case of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ragassay.core import shorten
from ragassay.trust.confusion_regions import PrintedFigure, Span, hull, region

_MOST = 12  # pairs grow as the square of the rows


@dataclass(frozen=True, slots=True)
class SampledRow:
    """A row of a table.

    sample: the rows it was measured on, "" where it does not say. prevalence: the lowest and
    highest share of positives that its figures leave possible, None where they say nothing of it.
    macro: its F1 is a mean over parts, so that the other figures are held to be pooled only to show
    whether they can be.
    """

    name: str
    sample: str
    printed: Mapping[str, PrintedFigure]
    prevalence: Span | None
    macro: bool = False


def prevalence_of(printed: Mapping[str, PrintedFigure]) -> Span | None:
    """The lowest and highest share of positives that a row's figures leave possible.

    None with fewer than three figures, which leave nearly any share, and where no confusion matrix
    has all of them.
    """
    # A confusion matrix has three free numbers.
    boxes = region(printed) if len(printed) >= 3 else None
    return None if boxes is None else hull("prevalence", boxes)


def contradictions(rows: Sequence[SampledRow]) -> tuple[str, ...]:
    """What rows of one sample contradict in each other, in words.

    A row that does not say what it was measured on contradicts no other.
    """
    by_sample: dict[str, list[SampledRow]] = {}
    for row in rows:
        if row.sample:
            by_sample.setdefault(row.sample, []).append(row)
    lines: list[str] = []
    for sample, members in by_sample.items():
        for first, second in itertools.combinations(members, 2):
            for line in _against_each_other(first, second):
                lines.append(f"sample {shorten(sample, 40)}: {line}")
    return tuple(lines[:_MOST])


def _against_each_other(a: SampledRow, b: SampledRow) -> Iterator[str]:
    if a.prevalence is None or b.prevalence is None:
        return
    if a.prevalence[1] >= b.prevalence[0] and b.prevalence[1] >= a.prevalence[0]:
        return
    shares = []
    for row, span in ((a, a.prevalence), (b, b.prevalence)):
        shares.append(f"{shorten(row.name, 40)} {_in_words(span)}")
    # Means over parts have no share of positives of their own, so that theirs may well differ.
    so = "not pooled over one set of rows" if a.macro or b.macro else "not one set of rows"
    yield f"{' and '.join(shares)}: no share of positives fits both, so {so}"
    for lower, upper in ((a, b), (b, a)):
        if _falls_as_both_rise(lower, upper):
            names = f"from {shorten(lower.name, 40)} to {shorten(upper.name, 40)}"
            yield f"{names} precision and recall both rise, and kappa falls"


def _in_words(span: Span) -> str:
    low, high = (f"{end:.3f}" for end in span)
    return low if low == high else f"{low} to {high}"


def _falls_as_both_rise(a: SampledRow, b: SampledRow) -> bool:
    """Whether precision and recall rise from a to b, beyond rounding, while kappa falls."""
    names = ("precision", "recall", "kappa")
    if any(name not in a.printed or name not in b.printed for name in names):
        return False
    rise = all(b.printed[name].low > a.printed[name].high for name in names[:2])
    return rise and b.printed["kappa"].high < a.printed["kappa"].low
