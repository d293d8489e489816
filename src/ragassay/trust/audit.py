"""Can the figures of a published table all be true at once? Each row is held against the one
confusion matrix it claims.

A two-class confusion matrix, as shares, has three free numbers: prevalence v, recall R and false
positive rate F. Every figure that tables print is a function of these, and a printed figure is an
interval: .655 says [.6545, .6555]. A row is possible when some (v, R, F) lies in all of its
intervals. That is decided by cutting the cube of all (v, R, F) into boxes: the exact range of each
figure over a box is known in closed form (each is monotone in R and in F at a fixed v, and kappa
and MCC are N / D with D convex in the odds v / (1 - v)), so a box that misses one interval is out
for good. No box left: no matrix of any size gives these figures. Where n is small and known, whole
counts are tried one by one.

The mean of F1 over parts never exceeds the harmonic mean of mean precision and mean recall, because
the harmonic mean is concave. So an F1 below the harmonic mean of the printed P and R is not pooled
and can be a mean over parts; one above it is neither.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragassay.core import DataError, shorten
from ragassay.datasets import open_records
from ragassay.scoring import coefficients

FloatArray = NDArray[np.float64]
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
_SIGNED = ("kappa", "mcc")
_EDGE = 1e-9
_RARE = 5e-4  # an unknown prevalence is taken to lie between this and 1 - this
_BOXES = 6000
_ROUNDS = 90
_WHOLE = 4_000_000


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure as a table prints it: its value, and the lowest and highest true value that round to
    it.
    """

    name: str
    text: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AuditedRow:
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
    printed: tuple[Printed, ...]
    implied: Mapping[str, tuple[float, float]]
    culprits: tuple[str, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """A table, row by row."""

    source: str
    rows: tuple[AuditedRow, ...]


def audit_table(source: object, *, balanced: bool = False, format: str | None = None) -> Audit:
    """Audit every row of a published table: a CSV, JSON or JSONL file, or a list of dicts.

    Columns: a name, and any of precision, recall, f1, accuracy, balanced_accuracy, kappa, mcc,
    specificity, false_positive_rate, false_negative_rate, pass_rate, prevalence (and their short
    forms), as shares or per cent, with the decimals that were printed; n, positives (counts);
    balanced (yes = half of the rows are positive). balanced: all rows are. Raises DataError E0316
    where no row holds a figure or a figure is out of range.
    """
    records = open_records(source, format=format)
    rows = []
    for line, row_id, row in records:
        name = next((str(row[key]) for key in row if _key(key) in _NAMES and row[key]), row_id)
        try:
            rows.append(audit_row(name, row, balanced=balanced))
        except DataError as error:
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
    return Audit(records.source, tuple(rows))


def audit_row(name: str, row: Mapping[str, object], *, balanced: bool = False) -> AuditedRow:
    """Audit the figures of one row; as `audit_table`.

    >>> row = audit_row("printed", {"precision": ".9924", "recall": ".655", "kappa": ".605",
    "balanced": "yes"})
    >>> row.nature, row.culprits[-1], [round(x, 3) for x in row.implied["kappa"]]
    ('inconsistent', 'kappa', [0.649, 0.651])
    """
    cells = {_key(key): value for key, value in row.items()}
    printed = {figure: one for figure in ALIASES if (one := _printed(figure, cells)) is not None}
    n, positives = _count("n", cells), _count("positives", cells)
    fixed = dict(printed)
    if positives is not None and n:
        fixed["prevalence"] = Printed(
            "prevalence", f"{positives}/{n}", positives / n, positives / n, positives / n
        )
    elif (balanced or _yes(cells.get("balanced"))) and "prevalence" not in printed:
        fixed["prevalence"] = Printed("prevalence", "balanced", 0.5, 0.5, 0.5)
    free = [figure for figure in fixed if figure != "prevalence"]
    if (one := fixed.get("prevalence")) is not None and not 0 < one.value < 1:
        why = (
            "rows of one class only: figures of the other class do not exist, and the rest cannot"
            " contradict each other"
        )
        return AuditedRow(name, "undetermined", tuple(printed.values()), {}, (), (why,))
    if len(fixed) < 2 or not free:
        return AuditedRow(
            name, "undetermined", tuple(printed.values()), {}, (), ("too few figures to check",)
        )
    harmonic = _harmonic(printed)
    apart = (
        harmonic is not None
        and "f1" in printed
        and (printed["f1"].high < harmonic[0] or printed["f1"].low > harmonic[1])
    )
    found = None if apart else _region(fixed)
    possible = found is not None and (not n or positives is None or _whole(n, positives, fixed))
    lines = [_written(fixed)]
    implied: dict[str, tuple[float, float]] = {}
    culprits: list[str] = []
    if possible and found is not None:
        for figure in (
            "precision",
            "recall",
            "f1",
            "accuracy",
            "kappa",
            "mcc",
            "false_positive_rate",
            "prevalence",
        ):
            low, high = _hull(figure, found)
            if figure not in fixed and high - low <= 0.1:
                implied[figure] = (low, high)
        lines.append("one confusion matrix can give all of these figures")
        lines += [f"they imply {figure} {_span(span)}" for figure, span in implied.items()]
        enough = len(fixed) >= 4 or (harmonic is not None and "f1" in fixed)
        nature: Nature = "pooled" if enough else "undetermined"
        if nature == "undetermined":
            lines.append(
                "with no more figures than a confusion matrix has free numbers, nothing could"
                " contradict them"
            )
        return AuditedRow(name, nature, tuple(printed.values()), implied, (), tuple(lines))
    lines.append(
        f"no confusion matrix{f' of {n} rows' if n and found is not None else ''} gives all of"
        " these figures together"
    )
    nature = "inconsistent"
    if harmonic is not None and "f1" in printed:
        low, high = harmonic
        f1 = printed["f1"]
        if f1.high < low:
            nature = "macro"
            lines.append(
                f"F1 is printed as {f1.text}, the harmonic mean of the printed precision and recall"
                f" is {_span(harmonic)}: it is not pooled; a mean of F1 over parts lies below, as"
                " this one does"
            )
        elif f1.low > high:
            lines.append(
                f"F1 is printed as {f1.text}, above the harmonic mean {_span(harmonic)} of the"
                " printed precision and recall: neither a pooled figure nor a mean over parts"
                " can be"
            )
    suspects = ["f1"] if apart else free
    for figure in suspects:
        rest = {other: one for other, one in fixed.items() if other != figure}
        region = _region(rest)
        if region is None or len(rest) < 2:
            continue
        culprits.append(figure)
        implied[figure] = harmonic if apart and harmonic is not None else _hull(figure, region)
        lines.append(
            f"without {figure} the rest is possible, and implies {figure} {_span(implied[figure])},"
            f" printed is {fixed[figure].text}"
        )
    return AuditedRow(name, nature, tuple(printed.values()), implied, tuple(culprits), tuple(lines))


def describe(audit: Audit) -> list[str]:
    """The audit as lines of text: each row's name and nature, then its arithmetic."""
    found = []
    for row in audit.rows:
        found.append(f"{shorten(row.name, 60)}: {row.nature}")
        found += [f"  {line}" for line in row.lines]
    return found


def _key(name: str) -> str:
    plain = "_".join(
        "".join(c if c.isalnum() else " " for c in name.lower().replace("'", "")).split()
    )
    return next((figure for figure, others in ALIASES.items() if plain in others), plain)


def _printed(figure: str, cells: Mapping[str, object]) -> Printed | None:
    value = cells.get(figure)
    if (
        value is None
        or isinstance(value, bool)
        or (isinstance(value, float) and not math.isfinite(value))
    ):
        return None
    text = (value if isinstance(value, str) else repr(value)).strip()
    bare = text.removesuffix("%").strip()
    if not bare or bare in ("-", "n/a", "–", "—"):
        return None
    try:
        number = float(bare)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise DataError(
            "E0316",
            f"{figure} is printed as {shorten(text, 30)!r}, which is no figure.",
            fix="write a share or per cent, such as 0.655 or 65.5%",
        )
    decimals = len(bare.partition(".")[2]) if "e" not in bare.lower() else 6
    scale = 100.0 if text.endswith("%") or abs(number) > 1 else 1.0
    half, value_ = 0.5 * 10.0**-decimals / scale, number / scale
    least = -1.0 if figure in _SIGNED else 0.0
    if not least <= value_ <= 1:
        raise DataError(
            "E0316",
            f"{figure} is printed as {shorten(text, 30)!r}, which is out of its range.",
            fix="write a share (0 to 1) or per cent (0 to 100)",
        )
    return Printed(figure, text, value_, max(least, value_ - half), min(1.0, value_ + half))


def _yes(value: object) -> bool:
    return str(value).strip().lower() in ("yes", "true", "1")


def _count(name: str, cells: Mapping[str, object]) -> int | None:
    value = cells.get(name)
    text = "" if value is None else str(value).replace(",", "").strip()
    return int(float(text)) if text.replace(".0", "").isdecimal() else None


def _harmonic(printed: Mapping[str, Printed]) -> tuple[float, float] | None:
    p, r = printed.get("precision"), printed.get("recall")
    if p is None or r is None or p.low + r.low <= 0:
        return None
    return 2 * p.low * r.low / (p.low + r.low), 2 * p.high * r.high / (p.high + r.high)


def _region(fixed: Mapping[str, Printed]) -> FloatArray | None:
    """Boxes (k, 3, 2) of prevalence, recall and false positive rate that hold every matrix with
    these figures, some of which surely do; None when there is none.
    """
    start = [
        _start("prevalence", fixed),
        _start("recall", fixed),
        _start("false_positive_rate", fixed),
    ]
    boxes = np.array([start], dtype=np.float64)
    if (boxes[:, :, 0] > boxes[:, :, 1]).any():
        return None
    sure = False
    for _ in range(_ROUNDS):
        keep = np.ones(len(boxes), bool)
        for figure, printed in fixed.items():
            low, high = _bounds(figure, boxes)
            keep &= (low <= printed.high + 1e-12) & (high >= printed.low - 1e-12)
        boxes = boxes[keep]
        if not len(boxes):
            return None
        sure = sure or _holds(fixed, boxes)
        width = boxes[:, :, 1] - boxes[:, :, 0]
        if width.max() < 1e-7 or (sure and (width.max() < 2e-4 or 2 * len(boxes) > _BOXES)):
            return boxes
        if 2 * len(boxes) > 40 * _BOXES:
            return boxes  # undecided after so much work: possible, as nothing speaks against it
        axis = width.argmax(1)
        at = np.arange(len(boxes))
        middle = boxes[at, axis].mean(1)
        lower, upper = boxes.copy(), boxes.copy()
        lower[at, axis, 1] = middle
        upper[at, axis, 0] = middle
        boxes = np.concatenate([lower, upper])
    return boxes


def _holds(fixed: Mapping[str, Printed], boxes: FloatArray) -> bool:
    """Whether the middle of some box is a matrix with all of these figures."""
    middle = np.repeat(boxes.mean(2)[:, :, None], 2, axis=2)
    good = np.ones(len(boxes), bool)
    for figure, printed in fixed.items():
        value, _ = _bounds(figure, middle)
        good &= (value >= printed.low) & (value <= printed.high)
    return bool(good.any())


def _start(figure: str, fixed: Mapping[str, Printed]) -> tuple[float, float]:
    least = _RARE if figure == "prevalence" and figure not in fixed else _EDGE
    low, high = least, 1 - least
    other = {"recall": "false_negative_rate", "false_positive_rate": "specificity"}.get(figure, "")
    if figure in fixed:
        low, high = max(low, fixed[figure].low), min(high, fixed[figure].high)
    if other in fixed:
        low, high = max(low, 1 - fixed[other].high), min(high, 1 - fixed[other].low)
    return low, high


def _bounds(figure: str, boxes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The exact lowest and highest value of a figure over each box."""
    v, r, f = boxes[:, 0], boxes[:, 1], boxes[:, 2]
    if figure == "prevalence":
        return v[:, 0], v[:, 1]
    if figure == "recall":
        return r[:, 0], r[:, 1]
    if figure == "false_negative_rate":
        return 1 - r[:, 1], 1 - r[:, 0]
    if figure == "false_positive_rate":
        return f[:, 0], f[:, 1]
    if figure == "specificity":
        return 1 - f[:, 1], 1 - f[:, 0]
    values = [
        _value(figure, v[:, i], r[:, j], f[:, k]) for i in (0, 1) for j in (0, 1) for k in (0, 1)
    ]
    if (
        figure in _SIGNED
    ):  # between its ends, D takes its least value where its slope in the odds is 0
        for j in (0, 1):
            for k in (0, 1):
                a, b = r[:, j], f[:, k]
                odds = (
                    np.sqrt(b / (1 - a))
                    if figure == "kappa"
                    else np.sqrt(b * (1 - b) / (a * (1 - a)))
                )
                turn = np.clip(odds / (1 + odds), v[:, 0], v[:, 1])
                values.append(_value(figure, turn, a, b))
    return np.minimum.reduce(values), np.maximum.reduce(values)


def _value(figure: str, v: FloatArray, r: FloatArray, f: FloatArray) -> FloatArray:
    return coefficients.BINARY[figure](v * r, (1 - v) * f, v * (1 - r), (1 - v) * (1 - f))


def _whole(n: int, positives: int, fixed: Mapping[str, Printed]) -> bool:
    """Whether whole counts of n rows can give the figures; True where there are too many to try."""
    negatives = n - positives
    if positives < 1 or negatives < 1:
        return True
    tp_low, tp_high = _counts(_start("recall", fixed), positives)
    fp_low, fp_high = _counts(_start("false_positive_rate", fixed), negatives)
    if (tp_high - tp_low + 1) * (fp_high - fp_low + 1) > _WHOLE:
        return True
    tp, fp = np.meshgrid(
        np.arange(tp_low, tp_high + 1), np.arange(fp_low, fp_high + 1), indexing="ij"
    )
    r, f = tp.ravel() / positives, fp.ravel() / negatives
    good = np.ones(len(r), bool)
    with np.errstate(divide="ignore", invalid="ignore"):
        for figure, printed in fixed.items():
            value = {
                "prevalence": np.full(len(r), positives / n),
                "recall": r,
                "false_negative_rate": 1 - r,
                "false_positive_rate": f,
                "specificity": 1 - f,
            }.get(figure)
            if value is None:
                value = _value(figure, np.full(len(r), positives / n), r, f)
            good &= (value >= printed.low - 1e-12) & (value <= printed.high + 1e-12)
    return bool(good.any())


def _counts(span: tuple[float, float], whole: int) -> tuple[int, int]:
    return max(0, math.ceil(span[0] * whole - 1e-6)), min(whole, math.floor(span[1] * whole + 1e-6))


def _hull(figure: str, boxes: FloatArray) -> tuple[float, float]:
    low, high = _bounds(figure, boxes)
    return float(low.min()), float(high.max())


def _written(fixed: Mapping[str, Printed]) -> str:
    return ", ".join(
        "balanced classes" if one.text == "balanced" else f"{one.name} {one.text}"
        for one in fixed.values()
    )


def _span(span: Sequence[float]) -> str:
    low, high = span
    for decimals in (3, 4):
        if round(low, decimals) == round(high, decimals):
            return f"{low:.{decimals}f}"
    return f"between {low:.3f} and {high:.3f}" if high - low > 0.002 else f"{(low + high) / 2:.3f}"
