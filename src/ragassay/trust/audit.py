"""The audit of a published table: whether the figures of each row can all be true at once.

Each row is held against the one confusion matrix that it claims (`confusion_regions`).

The mean of F1 over parts never exceeds the harmonic mean of mean precision and mean recall, because
the harmonic mean is concave. So an F1 below the harmonic mean of the printed P and R is not pooled
and can be a mean over parts; one above it is neither.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ragassay.core import DataError, shorten
from ragassay.datasets import open_records
from ragassay.scoring import coefficients
from ragassay.trust.audit_samples import SampledRow, contradictions, prevalence_of
from ragassay.trust.confusion_regions import (
    SIGNED,
    FloatArray,
    PrintedFigure,
    Span,
    hull,
    region,
    whole_counts,
)

Nature = Literal["pooled", "macro", "inconsistent", "undetermined"]

ALIASES: Mapping[str, tuple[str, ...]] = {
    "precision": ("p", "prec", "ppv"),
    "recall": ("r", "rec", "sensitivity", "tpr", "true_positive_rate"),
    "f1": ("f1_score", "f", "f_1"),
    "accuracy": ("acc",),
    "balanced_accuracy": ("bacc", "balanced_acc", "ba"),
    "kappa": ("cohen_kappa", "cohens_kappa", "k"),
    "mcc": ("matthews", "phi", "matthews_corrcoef"),
    "specificity": ("tnr", "true_negative_rate"),
    "false_positive_rate": ("fpr",),
    "false_negative_rate": ("fnr",),
    "pass_rate": ("predicted_positive_rate",),
    "prevalence": ("positive_rate", "base_rate", "share_positive"),
}
"""Figure -> the other names that a column of a table may have for it."""

_NAMES = ("name", "judge", "model", "system", "method", "row", "dataset")
# Columns that say what a row was measured on.
_SAMPLES = ("sample", "dataset", "data", "task", "set", "n")
# Columns that do not say it, but whose values tell two samples apart.
_LABELS = ("metric", "label", "split")
# Cell of a confusion matrix -> the other name that its column may have.
_CELLS: Mapping[str, str] = {
    "tp": "true_positives",
    "fp": "false_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
}
_ROUNDING = 1e-9
_EMPTY_CELLS = ("", "-", "n/a", "–", "—")
# The figures whose implied values are worth a line.
_IMPLIED = (
    "precision",
    "recall",
    "f1",
    "accuracy",
    "kappa",
    "mcc",
    "false_positive_rate",
    "prevalence",
)
_NARROW = 0.1  # the widest span that is worth saying of an implied figure


@dataclass(frozen=True, slots=True)
class RowAudit:
    """What can be said of one row of a table.

    nature: "pooled" (one confusion matrix can give all of its figures), "macro" (none can, and F1
    lies below the harmonic mean of precision and recall, as a mean over parts does), "inconsistent"
    (no matrix can, and no mean over parts explains it), "undetermined" (too few figures to
    contradict each other). implied: figure -> the lowest and highest value that the row's other
    figures leave to it. culprits: figures each of which, left out, makes the rest possible. lines:
    the arithmetic, in words.
    """

    name: str
    nature: Nature
    printed: tuple[PrintedFigure, ...]
    implied: Mapping[str, tuple[float, float]]
    culprits: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableAudit:
    """A table, row by row. together: what rows of one sample contradict in each other, in words."""

    source: str
    rows: tuple[RowAudit, ...]
    together: tuple[str, ...] = ()


def audit_table(source: object, *, balanced: bool = False, format: str | None = None) -> TableAudit:
    """Audit every row of a published table: a CSV, JSON or JSONL file, or a list of dicts.

    Columns: a name, and any of precision, recall, f1, accuracy, balanced_accuracy, kappa, mcc,
    specificity, false_positive_rate, false_negative_rate, pass_rate, prevalence (and their short
    forms), as shares or per cent, with the decimals that were printed; n, positives (counts);
    balanced (yes = half of the rows are positive); tp, fp, fn, tn (the confusion matrix, which the
    figures are then held against); sample, dataset or task, metric and split (rows in which all of
    these and n are the same are held against each other, if there is more than a metric and a
    split). balanced: all rows are. Raises DataError E0316 where no row holds a figure or a figure
    is out of range.
    """
    records = open_records(source, format=format)
    rows = []
    of_samples = []
    for line, row_id, row in records:
        try:
            rows.append(audit_row(_row_name(row) or row_id, row, balanced=balanced))
            of_samples.append(_sampled(rows[-1], row, balanced))
        except DataError as error:
            # The audit of one row does not know which line of which file it is.
            error.where = error.where or records.where(line)
            raise
    if not any(row.printed for row in rows):
        raise DataError(
            "E0316",
            "The table prints no figure.",
            where=str(source) if isinstance(source, str | os.PathLike) else "",
            why=f"{len(rows)} rows",
            fix="name the columns " + ", ".join(list(ALIASES)[:8]),
        )
    return TableAudit(records.source, tuple(rows), contradictions(of_samples))


def _row_name(row: Mapping[str, object]) -> str:
    """What a row of a table is called, "" where it has no name."""
    cells = {_column(key): value for key, value in row.items()}
    # Not in the order of the columns: a dataset that stands before the judge is no row's name.
    for column in _NAMES:
        if cells.get(column):
            return str(cells[column])
    return ""


def audit_row(name: str, row: Mapping[str, object], *, balanced: bool = False) -> RowAudit:
    """Audit the figures of one row; as `audit_table`.

    >>> row = audit_row("printed", {"precision": ".9924", "recall": ".655", "kappa": ".605",
    "balanced": "yes"})
    >>> row.nature, row.culprits[-1], [round(x, 3) for x in row.implied["kappa"]]
    ('inconsistent', 'kappa', [0.649, 0.651])
    """
    claim = _claim(row, balanced)
    counts = _counts(row)
    if counts is not None:
        return _counted(name, claim, counts)
    if claim.has_one_class:
        return _undetermined(
            name,
            claim,
            "rows of one class only: figures of the other class do not exist, and the rest cannot"
            " contradict each other",
        )
    if len(claim.fixed) < 2 or not claim.free:
        return _undetermined(name, claim, "too few figures to check")
    # An F1 apart from the harmonic mean needs no search: no matrix has these figures.
    boxes = None if claim.f1_side else region(claim.fixed)
    # Shares may fit where no whole counts of so few rows do.
    if boxes is not None and claim.fits_whole_counts():
        return _possible(name, claim, boxes)
    return _impossible(name, claim, any_matrix=boxes is not None)


def _counts(row: Mapping[str, object]) -> list[int] | None:
    """tp, fp, fn, tn of a row that prints all four; None for any other."""
    cells = {_column(key): value for key, value in row.items()}
    counts = []
    for name, other in _CELLS.items():
        count = _count(name, cells)
        if count is None:
            count = _count(other, cells)
        if count is None:
            return None
        counts.append(count)
    return counts


def _counted(name: str, claim: _Claim, counts: Sequence[int]) -> RowAudit:
    """A row that prints its confusion matrix: each figure is held against it."""
    table = np.array(counts, dtype=np.float64)
    words = ", ".join(f"{cell} {n}" for cell, n in zip(_CELLS, counts, strict=True))
    lines = [f"counts {words}"]
    culprits = []
    implied: dict[str, Span] = {}
    total = int(table.sum())
    if claim.n is not None and claim.n != total:
        lines.append(f"the counts are of {total} rows, printed is n {claim.n}")
        culprits.append("n")
    for figure, shown in claim.printed.items():
        value = float(coefficients.binary(figure, table))
        if math.isnan(value):
            lines.append(f"{figure} is not defined by these counts, printed is {shown.text}")
            culprits.append(figure)
            continue
        implied[figure] = (value, value)
        # The margin is for sums of floats: half a step of the last place is no contradiction.
        if not shown.low - _ROUNDING <= value <= shown.high + _ROUNDING:
            lines.append(f"the counts give {figure} {value:.4f}, printed is {shown.text}")
            culprits.append(figure)
    if not culprits:
        lines.append("all printed figures follow from the counts")
    nature: Nature = "inconsistent" if culprits else "pooled"
    printed = tuple(claim.printed.values())
    return RowAudit(name, nature, printed, implied, tuple(culprits), tuple(lines))


def _sampled(audit: RowAudit, row: Mapping[str, object], balanced: bool) -> SampledRow:
    """The row as it is held against the others of its sample."""
    printed = {figure.name: figure for figure in audit.printed}
    prevalence = _prevalence(_claim(row, balanced), _counts(row))
    return SampledRow(audit.name, _sample(row), printed, prevalence, audit.nature == "macro")


def _sample(row: Mapping[str, object]) -> str:
    """What a row says of the rows it was measured on, "" where nothing names them."""
    cells = {_column(key): value for key, value in row.items()}
    named = [str(cells[column]) for column in _SAMPLES if cells.get(column)]
    labels = [str(cells[column]) for column in _LABELS if cells.get(column)]
    return ", ".join(named + labels) if named else ""


def _prevalence(claim: _Claim, counts: Sequence[int] | None) -> Span | None:
    if counts is not None and any(counts):
        tp, fp, fn, tn = counts
        share = (tp + fn) / (tp + fp + fn + tn)
        return share, share
    if "prevalence" in claim.fixed:
        fixed = claim.fixed["prevalence"]
        return fixed.low, fixed.high
    return prevalence_of(claim.possible)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a row prints.

    printed: figure -> as printed. fixed: these, and the prevalence where counts or balanced classes
    give it. n, positives: of the rows it was measured on. harmonic: lowest and highest harmonic
    mean of the printed precision and recall, None without both.
    """

    printed: Mapping[str, PrintedFigure]
    fixed: Mapping[str, PrintedFigure]
    n: int | None
    positives: int | None
    harmonic: Span | None = field(default=None)

    @property
    def free(self) -> list[str]:
        """The figures but the prevalence."""
        return [figure for figure in self.fixed if figure != "prevalence"]

    @property
    def has_one_class(self) -> bool:
        prevalence = self.fixed.get("prevalence")
        return prevalence is not None and not 0 < prevalence.value < 1

    @property
    def f1_side(self) -> Literal["", "below", "above"]:
        """On which side of the harmonic mean F1 is printed, "" where it can be that mean."""
        f1 = self.printed.get("f1")
        if f1 is None or self.harmonic is None:
            return ""
        low, high = self.harmonic
        if f1.high < low:
            return "below"
        return "above" if f1.low > high else ""

    @property
    def possible(self) -> Mapping[str, PrintedFigure]:
        """The printed figures, without an F1 that cannot be theirs."""
        if not self.f1_side:
            return self.printed
        return {name: figure for name, figure in self.printed.items() if name != "f1"}

    def fits_whole_counts(self) -> bool:
        """Whether whole counts can give the figures, where the counts are known."""
        if not self.n or self.positives is None:
            return True
        return whole_counts(self.n, self.positives, self.fixed)


def _claim(row: Mapping[str, object], balanced: bool) -> _Claim:
    cells = {_column(key): value for key, value in row.items()}
    printed = {}
    for figure in ALIASES:
        printed_figure = _printed(figure, cells)
        if printed_figure is not None:
            printed[figure] = printed_figure
    n = _count("n", cells)
    positives = _count("positives", cells)
    fixed = dict(printed)
    # Counts are exact and outrank a printed prevalence; "balanced" speaks only where none is
    # printed.
    if positives is not None and n:
        share = positives / n
        fixed["prevalence"] = PrintedFigure("prevalence", f"{positives}/{n}", share, share, share)
    elif "prevalence" not in printed and (balanced or _is_yes(cells.get("balanced"))):
        fixed["prevalence"] = PrintedFigure("prevalence", "balanced", 0.5, 0.5, 0.5)
    return _Claim(printed, fixed, n, positives, _harmonic(printed))


def _undetermined(name: str, claim: _Claim, why: str) -> RowAudit:
    return RowAudit(name, "undetermined", tuple(claim.printed.values()), {}, (), (why,))


def _possible(name: str, claim: _Claim, boxes: FloatArray) -> RowAudit:
    """A row whose figures one confusion matrix can give."""
    implied: dict[str, Span] = {}
    for figure in _IMPLIED:
        low, high = hull(figure, boxes)
        if figure not in claim.fixed and high - low <= _NARROW:
            implied[figure] = (low, high)
    lines = [_figures_in_words(claim), "one confusion matrix can give all of these figures"]
    lines += [f"they imply {figure} {_span(span)}" for figure, span in implied.items()]
    has_f1_and_its_parts = claim.harmonic is not None and "f1" in claim.fixed
    nature: Nature = "pooled"
    # A confusion matrix has three free numbers, so that three figures seldom contradict each
    # other; F1 with precision and recall does, for it follows from these two.
    if len(claim.fixed) < 4 and not has_f1_and_its_parts:
        nature = "undetermined"
        lines.append(
            "with no more figures than a confusion matrix has free numbers, nothing could"
            " contradict them"
        )
    return RowAudit(name, nature, tuple(claim.printed.values()), implied, (), tuple(lines))


def _impossible(name: str, claim: _Claim, *, any_matrix: bool) -> RowAudit:
    """A row whose figures no confusion matrix gives. any_matrix: one of another size would."""
    size = f" of {claim.n} rows" if claim.n and any_matrix else ""
    lines = [
        _figures_in_words(claim),
        f"no confusion matrix{size} gives all of these figures together",
    ]
    nature: Nature = "inconsistent"
    side = claim.f1_side
    if side and claim.harmonic is not None:
        lines.append(_f1_apart(claim.printed["f1"], claim.harmonic, side))
        if side == "below":
            nature = "macro"
    implied = _implied_by_the_rest(claim)
    for figure, span in implied.items():
        lines.append(
            f"without {figure} the rest is possible, and implies {figure} {_span(span)},"
            f" printed is {claim.fixed[figure].text}"
        )
    culprits = tuple(implied)
    share = _other_prevalence(claim)
    if share is not None:
        implied["prevalence"] = share
        lines.append(_other_prevalence_in_words(claim, share))
    printed = tuple(claim.printed.values())
    return RowAudit(name, nature, printed, implied, culprits, tuple(lines))


def _other_prevalence(claim: _Claim) -> Span | None:
    """The prevalence that the figures of an impossible row imply, if its F1 is left out where it
    is apart; None where it is not known to within little, or is the stated one.
    """
    figures = {name: shown for name, shown in claim.possible.items() if name != "prevalence"}
    share = prevalence_of(figures)
    if share is None or share[1] - share[0] > _NARROW:
        return None
    stated = claim.fixed.get("prevalence")
    agrees = stated is not None and stated.low <= share[1] and stated.high >= share[0]
    return None if agrees else share


def _other_prevalence_in_words(claim: _Claim, share: Span) -> str:
    figures = ", ".join(figure for figure in claim.possible if figure != "prevalence")
    stated = claim.fixed.get("prevalence")
    if stated is None:
        return f"{figures} imply prevalence {_span(share)}, if these are pooled"
    return f"{figures} alone imply prevalence {_span(share)}, stated is {_stated(stated)}"


def _implied_by_the_rest(claim: _Claim) -> dict[str, Span]:
    """Figure -> what the others leave to it, for figures without which the rest is possible."""
    implied: dict[str, Span] = {}
    for figure in ["f1"] if claim.f1_side else claim.free:
        rest = {other: printed for other, printed in claim.fixed.items() if other != figure}
        boxes = region(rest)
        # One figure alone is always possible, and says nothing of the one that was left out.
        if boxes is None or len(rest) < 2:
            continue
        if claim.f1_side and claim.harmonic is not None:
            implied[figure] = claim.harmonic
        else:
            implied[figure] = hull(figure, boxes)
    return implied


def _f1_apart(f1: PrintedFigure, harmonic: Span, side: str) -> str:
    if side == "below":
        return (
            f"F1 is printed as {f1.text}, the harmonic mean of the printed precision and recall"
            f" is {_span(harmonic)}: it is not pooled; a mean of F1 over parts lies below, as"
            " this one does"
        )
    return (
        f"F1 is printed as {f1.text}, above the harmonic mean {_span(harmonic)} of the"
        " printed precision and recall: neither a pooled figure nor a mean over parts can be"
    )


def describe(audit: TableAudit) -> list[str]:
    """The audit as lines of text: each row's name and nature, then its arithmetic."""
    lines = []
    for row in audit.rows:
        lines.append(f"{shorten(row.name, 60)}: {row.nature}")
        lines += [f"  {line}" for line in row.lines]
    if audit.together:
        lines.append("rows beside each other:")
        lines += [f"  {line}" for line in audit.together]
    return lines


def _column(name: str) -> str:
    """The figure that a column is called after, else its name in plain characters."""
    # "Cohen's kappa" is "cohens kappa", and any other sign stands between words.
    letters = "".join(c if c.isalnum() else " " for c in name.lower().replace("'", ""))
    plain = "_".join(letters.split())
    for figure, others in ALIASES.items():
        if plain in others:
            return figure
    return plain


def _printed(figure: str, cells: Mapping[str, object]) -> PrintedFigure | None:
    """The figure in a row's cells, None where the row has none. Raises DataError E0316."""
    value = cells.get(figure)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    text = (value if isinstance(value, str) else repr(value)).strip()
    digits = text.removesuffix("%").strip()
    if digits in _EMPTY_CELLS:
        return None
    try:
        number = float(digits)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(
            "E0316",
            f"{figure} is printed as {shorten(text, 30)!r}, which is no figure.",
            fix="write a share or per cent, such as 0.655 or 65.5%",
        )
    # Exponent notation does not show the places that were printed: six are taken.
    decimals = 6
    if "e" not in digits.lower():
        decimals = len(digits.partition(".")[2])
    # No share is above 1, so a larger number is per cent, with or without its sign.
    is_per_cent = text.endswith("%") or abs(number) > 1
    unit = 100.0 if is_per_cent else 1.0
    half_step = 0.5 * 10.0**-decimals / unit
    share = number / unit
    least = -1.0 if figure in SIGNED else 0.0
    if not least <= share <= 1:
        raise DataError(
            "E0316",
            f"{figure} is printed as {shorten(text, 30)!r}, which is out of its range.",
            fix="write a share (0 to 1) or per cent (0 to 100)",
        )
    # Half a step of the last printed place: what the printed number may have been rounded from.
    return PrintedFigure(
        figure, text, share, max(least, share - half_step), min(1.0, share + half_step)
    )


def _is_yes(value: object) -> bool:
    return str(value).strip().lower() in ("yes", "true", "1")


def _count(name: str, cells: Mapping[str, object]) -> int | None:
    """A count in a row's cells, None where it is none."""
    value = cells.get(name)
    text = "" if value is None else str(value).replace(",", "").strip()
    # Programs that read a column with gaps write its counts as 120.0.
    return int(float(text)) if text.replace(".0", "").isdecimal() else None


def _harmonic(printed: Mapping[str, PrintedFigure]) -> Span | None:
    """The lowest and highest harmonic mean of the printed precision and recall."""
    p = printed.get("precision")
    r = printed.get("recall")
    if p is None or r is None or p.low + r.low <= 0:
        return None
    # The harmonic mean rises with both, so that its ends are at theirs.
    return 2 * p.low * r.low / (p.low + r.low), 2 * p.high * r.high / (p.high + r.high)


def _figures_in_words(claim: _Claim) -> str:
    words = []
    for figure in claim.fixed.values():
        is_balanced = figure.text == "balanced"
        words.append(_stated(figure) if is_balanced else f"{figure.name} {figure.text}")
    return ", ".join(words)


def _stated(figure: PrintedFigure) -> str:
    return "balanced classes" if figure.text == "balanced" else figure.text


def _span(span: Sequence[float]) -> str:
    """One number where both ends round to it, else both ends."""
    low, high = span
    for decimals in (3, 4):
        if round(low, decimals) == round(high, decimals):
            return f"{low:.{decimals}f}"
    if high - low > 0.002:
        return f"between {low:.3f} and {high:.3f}"
    return f"{(low + high) / 2:.3f}"
