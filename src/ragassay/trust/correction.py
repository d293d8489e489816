"""What is the metric really, when a few rows of the run were labelled by people?

Labels are matched to the run's rows by id. Whether they can stand for the run is asked first: with
known inclusion probabilities they are weighted by them; without, labelled and other rows must look
alike, else the labels are refused, because rows that were picked (the worst, the longest) say
nothing of the rest. Labels of which none is of the run are a calibration set: they need the judge's
own scores, and are refused when their rows look unlike the run's.

A row that the judge lost keeps its place with the mean of the judge's other scores: any stand-in
that does not look at the label leaves the corrected value unbiased, while leaving such rows out
would not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragassay.core import DataError, Shift
from ragassay.scoring import ppi, shift

FEW_FOR_TEST = 20
LEAST_CLUSTERS = 10
"""A calibration set, or a run, of fewer clusters cannot be shown to be like the other: refused as
unproven.
"""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the run to which the metric applies. value: its score, or its verdict as 0 or 1;
    None = the judge lost it. features, terms: of `scoring.shift`, for the test whether labelled
    rows are like the others. second: the score that another judge gave the row, where one is used
    beside the first.
    """

    id: str
    value: float | None
    cluster: str | None = None
    slices: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, float] = field(default_factory=dict)
    terms: tuple[int, ...] = ()
    second: float | None = None


@dataclass(frozen=True, slots=True)
class RowLabel:
    """What people say of a row, on the metric's scale. inclusion: the probability with which the
    row was chosen for labelling, None = not known. row: the labelled row with the judge's score,
    where it is not of the run.
    """

    id: str
    value: float
    inclusion: float | None = None
    row: RunRow | None = None


@dataclass(frozen=True, slots=True)
class SliceCorrection:
    """The estimate over the rows of one slice."""

    slice: str
    value: str
    estimate: ppi.Estimate


@dataclass(frozen=True, slots=True)
class Correction:
    """A metric of a run corrected by labels.

    rows: rows of the run; lost: those without a judge's score. labels: given; used: rows whose
    label counts; unused: reason -> labels set aside. bias: judge's mean - corrected value. saved:
    effective labels - used, None where not known. foreign: the labels are of rows outside the run.
    weighted: inclusion probabilities were known. shift: the test whether labelled rows are like the
    others, None where none was needed. slices: where asked.
    """

    metric: str
    rows: int
    lost: int
    labels: int
    used: int
    unused: Mapping[str, int]
    estimate: ppi.Estimate
    bias: float | None
    saved: float | None
    foreign: bool
    weighted: bool
    shift: Shift | None
    slices: tuple[SliceCorrection, ...] = ()
    warnings: tuple[str, ...] = ()


def estimate(
    rows: Iterable[RunRow],
    labels: Iterable[RowLabel],
    *,
    metric: str = "",
    scale: tuple[float, float] = (0.0, 1.0),
    by: str | None = None,
    level: float = ppi.LEVEL,
    seed: int = 0,
) -> Correction:
    """The mean of a metric over the population that the run's rows were drawn from, corrected by
    labels.

    scale: lowest and highest value of a label; others are set aside and counted. Several labels of
    one row count as their mean. A second judge counts where one of the rows has its score. by: a
    slice field to estimate by as well. Raises DataError E0605 where no label can be used, where
    labels inside the run were evidently not drawn at random and no inclusion probability says how,
    and where a calibration set is unlike the run or one side of it has fewer than ten clusters;
    ValueError when two rows of the run have one id.
    """
    run = list(rows)
    place = {row.id: i for i, row in enumerate(run)}
    if len(place) != len(run):
        raise ValueError("two rows of the run have one id")
    low, high = scale
    given = list(labels)
    unused: dict[str, int] = {}
    warnings: list[str] = []
    merged, several = _by_row(given, low, high, unused)
    if several:
        warnings.append(f"{several} rows have several labels: their mean counts")
    inside = [label for label in merged if label.id in place]
    outside = [label for label in merged if label.id not in place]
    foreign = not inside
    if inside:
        _put_aside(
            unused, "not a row of this run, or the metric does not apply to it", len(outside)
        )
        used = inside
    else:
        used = [label for label in outside if label.row is not None and label.row.value is not None]
        _put_aside(
            unused, "not a row of this run, and without a judge's score", len(outside) - len(used)
        )
    if not used:
        why = (
            "; ".join(f"{count} {reason}" for reason, count in unused.items())
            or "the file holds no label"
        )
        raise DataError(
            "E0605",
            "No label can be used for this run.",
            why=why,
            fix=(
                "label rows of this run (their ids must be kept), or give the judge's scores with"
                " the labels"
            ),
        )
    weighted = not foreign and any(label.inclusion is not None for label in used)
    if weighted:
        known = [label for label in used if label.inclusion is not None]
        _put_aside(
            unused,
            "chosen in a way that is not known, beside labels with known probabilities",
            len(used) - len(known),
        )
        used = known
    labelled = [run[place[label.id]] if not foreign else label.row for label in used]
    sample = [row for row in labelled if row is not None]
    test = None
    if foreign or (not weighted and len(used) < len(run)):
        if foreign:
            _enough(sample, run)
        test = _test(sample, run if foreign else _rest(run, used), foreign, seed)
        if not test.alike:
            _refuse(test, foreign)
        if len(used) < FEW_FOR_TEST:
            warnings.append(
                f"{len(used)} labels are too few to see whether their rows are like the others"
            )
        elif not foreign:
            warnings.append(
                "taken as drawn at random from the run: no inclusion probabilities were given"
            )
    lost = sum(row.value is None for row in run)
    if lost:
        warnings.append(f"{lost} rows without a judge's score count with the mean of the others")
    corrected = _corrected(run, sample, used, foreign, scale, level, seed)
    slices: tuple[SliceCorrection, ...] = ()
    if by is not None:
        slices = tuple(_by_slice(run, sample, used, foreign, by, scale, level, seed))
    bias = None
    if corrected.judge is not None and corrected.value is not None:
        bias = corrected.judge - corrected.value
    saved = None if corrected.effective_labels is None else corrected.effective_labels - len(used)
    return Correction(
        metric,
        len(run),
        lost,
        len(given),
        len(used),
        unused,
        corrected,
        bias,
        saved,
        foreign,
        weighted,
        test,
        slices,
        tuple(warnings),
    )


def _by_row(
    labels: Sequence[RowLabel], low: float, high: float, unused: dict[str, int]
) -> tuple[list[RowLabel], int]:
    """One label a row, and how many rows had several; what is off the scale goes to `unused`."""
    found: dict[str, list[RowLabel]] = {}
    off = 0
    for label in labels:
        if math.isfinite(label.value) and low <= label.value <= high:
            found.setdefault(label.id, []).append(label)
        else:
            off += 1
    _put_aside(unused, f"off the scale {low:g} to {high:g}", off)
    merged = [
        RowLabel(
            some[0].id,
            sum(label.value for label in some) / len(some),
            some[0].inclusion,
            some[0].row,
        )
        for some in found.values()
    ]
    return merged, sum(len(some) > 1 for some in found.values())


def _put_aside(unused: dict[str, int], reason: str, count: int) -> None:
    if count:
        unused[reason] = unused.get(reason, 0) + count


def _rest(run: Sequence[RunRow], used: Sequence[RowLabel]) -> list[RunRow]:
    ids = {label.id for label in used}
    return [row for row in run if row.id not in ids]


def _test(sample: Sequence[RunRow], others: Sequence[RunRow], foreign: bool, seed: int) -> Shift:
    """Do the labelled rows look like the others? The judge's score is one of the features."""

    def seen(rows: Sequence[RunRow]) -> list[dict[str, float]]:
        return [
            {**row.features, **({} if row.value is None else {"judge": row.value})} for row in rows
        ]

    # Names of clusters that two files happen to share are not the same clusters.
    first = [
        None if row.cluster is None else ("labels/" if foreign else "") + row.cluster
        for row in sample
    ]
    words = [row.terms for row in sample], [row.terms for row in others]
    return shift.two_sets(
        seen(sample),
        seen(others),
        clusters=(first, [row.cluster for row in others]),
        terms=words if any(map(any, words)) else None,
        seed=seed,
    )


def _enough(sample: Sequence[RunRow], run: Sequence[RunRow]) -> None:
    for rows, name in ((sample, "the labels"), (run, "the run")):
        count = len(
            {(row.cluster is None, row.id if row.cluster is None else row.cluster) for row in rows}
        )
        if count < LEAST_CLUSTERS:
            raise DataError(
                "E0605",
                "Nothing shows that the labels are of the population of this run.",
                why=(
                    f"{name} hold {count} rows or clusters; at least {LEAST_CLUSTERS} are needed to"
                    " compare"
                ),
                fix="label rows drawn at random from this run",
            )


def _refuse(test: Shift, foreign: bool) -> None:
    what = (
        "The labels are of another population than this run, so they cannot correct it."
        if foreign
        else (
            "The labelled rows are unlike the other rows of the run: they were not drawn at random."
        )
    )
    raise DataError(
        "E0605",
        what,
        why=f"{test.why} (p {test.p or 0.0:.2g}, size {test.size:.2f})",
        fix=(
            "label rows drawn at random from this run, or by `ragassay` sampling, which keeps how"
            " likely each was to be chosen"
        ),
    )


def _corrected(
    run: Sequence[RunRow],
    sample: Sequence[RunRow],
    used: Sequence[RowLabel],
    foreign: bool,
    scale: tuple[float, float],
    level: float,
    seed: int,
) -> ppi.Estimate:
    known = [row.value for row in run if row.value is not None]
    stand_in = sum(known) / len(known) if known else 0.0
    codes: dict[tuple[str, str], int] = {}

    def unit(row: RunRow, side: str) -> int:
        key = (f"{side}row", row.id) if row.cluster is None else (f"{side}cluster", row.cluster)
        return codes.setdefault(key, len(codes))

    population = [stand_in if row.value is None else row.value for row in run] if known else []
    theirs = [unit(row, "") for row in run] if known else []
    score = [stand_in if row.value is None else row.value for row in sample]
    inclusion = [label.inclusion for label in used]
    seconds = [row.second for row in run if row.second is not None]
    mean = sum(seconds) / len(seconds) if seconds else 0.0
    both = ([mean if row.second is None else row.second for row in side] for side in (sample, run))
    return ppi.estimate(
        [label.value for label in used],
        score,
        population,
        units=([unit(row, "labels/" if foreign else "") for row in sample], theirs),
        inclusion=None if foreign or None in inclusion else np.array(inclusion, dtype=float),
        low=scale[0],
        high=scale[1],
        level=level,
        seed=seed,
        second=(next(both), next(both)) if seconds and known else None,
    )


def _by_slice(
    run: Sequence[RunRow],
    sample: Sequence[RunRow],
    used: Sequence[RowLabel],
    foreign: bool,
    by: str,
    scale: tuple[float, float],
    level: float,
    seed: int,
) -> Iterable[SliceCorrection]:
    for value in sorted({row.slices[by] for row in run if by in row.slices}):
        part = [row for row in run if row.slices.get(by) == value]
        places = [i for i, row in enumerate(sample) if row.slices.get(by) == value]
        picked, labels = [sample[i] for i in places], [used[i] for i in places]
        yield SliceCorrection(
            by, value, _corrected(part, picked, labels, foreign, scale, level, seed)
        )
