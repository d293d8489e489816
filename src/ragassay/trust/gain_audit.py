"""The audit of a published gain: what a table "before and after" shows, and what it does not.

Precision and recall imply F1 and, with the share of rows that pass, kappa and d'. So a table can be
held against itself, and a gain taken apart into what another threshold would have given and what
the judge tells apart beyond that. `audit` holds a single row against its confusion matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.scoring import f_beta
from ragassay.scoring.detection import (
    GainParts,
    Rates,
    false_alarms,
    gain_parts,
    positives_implied,
    rates_from,
    rates_from_counts,
)

ROUNDING = 0.0002
"""How far an F1 may lie from that of its printed precision and recall of four decimals."""
SAME_D_PRIME = 0.1
"""Two values of d' this near are one judge at two thresholds, as far as a table can show."""


@dataclass(frozen=True, slots=True)
class Implied:
    """A judge's printed F1 or kappa beside that of its printed precision and recall.

    fits: they are the same but for rounding. A printed F1 below is not pooled over one confusion
    matrix, and may be a mean over sets.
    """

    judge: str
    figure: str
    printed: float
    implied: float

    @property
    def fits(self) -> bool:
        return abs(self.printed - self.implied) <= ROUNDING


@dataclass(frozen=True, slots=True)
class GainAt:
    """A gain in F1 at one prevalence: d' before and after, and its parts."""

    prevalence: float
    before: float
    after: float
    parts: GainParts


@dataclass(frozen=True, slots=True)
class GainAudit:
    """What one table implies.

    kappa: of judges whose kappa is printed, where the share of rows that pass is known. gains: ()
    where a precision of 1 leaves no false pass, and so no d'. positives: of the rows before and
    after, as precision and as recall imply them from the counts of errors; () without counts.
    """

    metric: str
    f1: tuple[Implied, ...]
    kappa: tuple[Implied, ...]
    gains: tuple[GainAt, ...]
    positives: tuple[tuple[float, float], ...] = ()

    def lines(self) -> list[str]:
        """The arithmetic in words."""
        out = []
        for one in (*self.f1, *self.kappa):
            fits = "as printed"
            if not one.fits:
                fits = f"printed is {one.printed:.4f}: not of one confusion matrix"
            figure = f"{one.figure} {one.implied:.4f}"
            out.append(f"{one.judge}: precision and recall imply {figure}, {fits}")
        for name, (first, second) in zip(("before", "after"), self.positives, strict=False):
            out.append(
                f"{name}: precision implies {first:,.0f} rows that pass, recall {second:,.0f}"
            )
        if not self.gains:
            out.append(
                "a precision of 1 leaves no false pass: how well it tells apart is not known"
            )
        for gain in self.gains:
            parts = gain.parts
            moved = "about one judge at two thresholds"
            if abs(gain.after - gain.before) > SAME_D_PRIME:
                moved = f"it tells {'more' if gain.after > gain.before else 'less'} apart"
            out.append(
                f"at {gain.prevalence:.0%} that pass: d' {gain.before:.2f} -> {gain.after:.2f},"
                f" {moved}; F1 {parts.gain:+.3f}, of which a threshold gives"
                f" {parts.by_threshold:+.3f}"
            )
        return out


def audit_gain(table: Mapping[str, object]) -> GainAudit:
    """Audit one table: metric, judges (judge, precision, recall, f1, perhaps false_passes and
    false_fails), before and after (names of judges), and either rows or prevalences.

    Raises ValueError where a figure is missing or cannot be.
    """
    judges = {str(judge["judge"]): judge for judge in _mappings(table, "judges")}
    before, after = (judges[str(table[side])] for side in ("before", "after"))
    prevalences = table.get("prevalences")
    f1, kappa = [], []
    for name, judge in judges.items():
        precision, recall = _number(judge, "precision"), _number(judge, "recall")
        implied = f_beta(precision, recall)
        f1.append(Implied(name, "F1", _number(judge, "f1"), float(implied or 0.0)))
        if "kappa" in judge and isinstance(prevalences, Sequence) and len(prevalences) == 1:
            rate = false_alarms(precision, recall, float(prevalences[0]))
            of_table = Rates(recall, rate, float(prevalences[0])).figure("kappa")
            kappa.append(Implied(name, "kappa", _number(judge, "kappa"), of_table))
    gains = []
    for first, second in _rates(table, before, after):
        parts = gain_parts(first, second, "f1")
        gains.append(GainAt(first.prevalence, first.d_prime, second.d_prime, parts))
    positives = []
    for judge in (before, after):
        if "false_passes" in judge:
            positives.append(
                positives_implied(
                    _number(judge, "precision"),
                    _number(judge, "recall"),
                    int(_number(judge, "false_passes")),
                    int(_number(judge, "false_fails")),
                )
            )
    return GainAudit(str(table["metric"]), tuple(f1), tuple(kappa), tuple(gains), tuple(positives))


def _rates(
    table: Mapping[str, object], before: Mapping[str, object], after: Mapping[str, object]
) -> list[tuple[Rates, Rates]]:
    """Rates before and after: from counts where they are printed, else at each prevalence."""
    if "rows" in table:
        rows = int(_number(table, "rows"))
        first, second = (
            rates_from_counts(
                _number(judge, "recall"),
                int(_number(judge, "false_passes")),
                int(_number(judge, "false_fails")),
                rows,
            )
            for judge in (before, after)
        )
        return [(first, second)]
    prevalences = table.get("prevalences")
    if not isinstance(prevalences, Sequence):
        raise ValueError("a table needs rows with counts of errors, or prevalences")
    printed = []
    for judge in (before, after):
        printed.append((_number(judge, "precision"), _number(judge, "recall")))
    if any(precision == 1 for precision, _ in printed):
        return []
    pairs = []
    for prevalence in prevalences:
        first, second = (rates_from(*figures, float(prevalence)) for figures in printed)
        pairs.append((first, second))
    return pairs


def _mappings(table: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    value = table.get(name)
    if not isinstance(value, Sequence) or not value:
        raise ValueError(f"a table needs {name}")
    return [one for one in value if isinstance(one, Mapping)]


def _number(row: Mapping[str, object], name: str) -> float:
    value = row.get(name)
    if not isinstance(value, int | float):
        raise ValueError(f"{name} is not a number: {value!r}")
    return float(value)
