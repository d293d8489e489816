"""A metric of a run, corrected by the labels that people gave a few of its rows.

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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragassay.core import DataError, Shift
from ragassay.core.counting import count
from ragassay.scoring import ppi, shift

FloatArray = NDArray[np.float64]

FEW_FOR_TEST = 20
"""Labels below which a test that finds no difference is no sign that there is none."""

LEAST_CLUSTERS = 10
"""A calibration set, or a run, of fewer clusters cannot be shown to be like the other: refused as
unproven.
"""


@dataclass(frozen=True, slots=True)
class RunRow:
    """A row of the run to which the metric applies.

    value: its score, or its verdict as 0 or 1; None = the judge lost it. features, terms: of
    `scoring.shift`, for the test whether labelled rows are like the others. second: the score that
    another judge gave the row, where one is used beside the first.
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
    """What people say of a row, on the metric's scale.

    inclusion: the probability with which the row was chosen for labelling, None = not known. row:
    the labelled row with the judge's score, where it is not of the run.
    """

    id: str
    value: float
    inclusion: float | None = None
    row: RunRow | None = None


@dataclass(frozen=True, slots=True)
class Joining:
    """How labels of several people were joined to one a row.

    noise: the variance of the labels' mean that comes of people who err (`scoring.labellers`),
    which widens every interval. notes: what was done, in words.
    """

    noise: float = 0.0
    notes: tuple[str, ...] = ()


NOTHING_JOINED = Joining()


@dataclass(frozen=True, slots=True)
class Waiting:
    """Rows that were drawn for labelling and have no label. share: of the run's rows, those that
    they stand for, by which a rate may be off where they are unlike the others. words: a warning.
    """

    rows: int = 0
    share: float = 0.0
    words: str = ""


NOTHING_WAITS = Waiting()


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
    others, None where none was needed. slices: where asked. waiting: drawn rows without a label.
    correlation: of the judge's scores with the labels that count, weighted by their chances, None
    where either side is constant.
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
    waiting: Waiting = NOTHING_WAITS
    correlation: float | None = None


def _counted(waiting: Waiting, lost: int) -> list[str]:
    """What is said of rows that wait for a label, and of those without a score."""
    words = [waiting.words] if waiting.rows else []
    if lost:
        verb = "counts" if lost == 1 else "count"
        words.append(
            f"{count(lost, 'row')} without a judge's score {verb} with the mean of the others"
        )
    return words


def corrected_metric(
    rows: Iterable[RunRow],
    labels: Iterable[RowLabel],
    *,
    metric: str = "",
    scale: tuple[float, float] = (0.0, 1.0),
    by: str | None = None,
    level: float = ppi.LEVEL,
    seed: int = 0,
    joining: Joining = NOTHING_JOINED,
    waiting: Waiting = NOTHING_WAITS,
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
    all_labels = list(labels)
    choice = _LabelChoice(all_labels, place.keys(), scale)
    used = choice.used
    if choice.foreign:
        sample = [label.row for label in used if label.row is not None]
    else:
        sample = [run[place[label.id]] for label in used]
    test, test_warnings = _tested(run, sample, choice, seed)
    estimator = _Estimator(choice.foreign, scale, level, seed, joining.noise)
    estimate = estimator.estimate(run, sample, used)
    lost = sum(row.value is None for row in run)
    warnings = [*(joining.notes or choice.warnings), *test_warnings, *_counted(waiting, lost)]
    slices: tuple[SliceCorrection, ...] = ()
    if by is not None:
        slices = tuple(estimator.by_slice(by, run, sample, used))
    return Correction(
        metric=metric,
        rows=len(run),
        lost=lost,
        labels=len(all_labels),
        used=len(used),
        unused=choice.unused,
        estimate=estimate,
        bias=_difference(estimate.judge, estimate.value),
        saved=_difference(estimate.effective_labels, len(used)),
        foreign=choice.foreign,
        weighted=choice.weighted,
        shift=test,
        slices=slices,
        warnings=tuple(warnings),
        waiting=waiting,
        correlation=_correlation(sample, used),
    )


def _correlation(sample: Sequence[RunRow], labels: Sequence[RowLabel]) -> float | None:
    """Pearson's correlation of score and label, weighted by 1 / chance; of verdicts it is the
    Matthews correlation coefficient.
    """
    pairs = [(row.value, label) for row, label in zip(sample, labels, strict=True)]
    judged = [(value, label) for value, label in pairs if value is not None]
    if len(judged) < 2:
        return None
    score = np.array([value for value, _ in judged])
    label = np.array([label.value for _, label in judged])
    weight = np.array([1 / (label.inclusion or 1.0) for _, label in judged])
    covariance = np.cov(score, label, aweights=weight)
    spread = float(covariance[0, 0] * covariance[1, 1])
    return None if spread <= 0 else float(covariance[0, 1]) / math.sqrt(spread)


def _difference(value: float | None, other: float | None) -> float | None:
    """value - other, None where one of them is not known."""
    if value is None or other is None:
        return None
    return value - other


class _LabelChoice:
    """The labels that count, one a row, and what became of the others.

    used: with labels inside the run those (of which only the ones with a known inclusion
    probability, where some have one), else those of other rows that have a judge's score. foreign:
    the labels used are of rows outside the run. unused: reason -> labels set aside.
    """

    def __init__(
        self, labels: Sequence[RowLabel], run_ids: Collection[str], scale: tuple[float, float]
    ) -> None:
        self.unused: dict[str, int] = {}
        self.warnings: list[str] = []
        merged = self._by_row(labels, scale)
        inside = [label for label in merged if label.id in run_ids]
        outside = [label for label in merged if label.id not in run_ids]
        # Labels of both kinds together would be of two populations.
        self.foreign = not inside
        self.weighted = any(label.inclusion is not None for label in inside)
        if inside:
            self._set_aside(
                "not a row of this run, or the metric does not apply to it", len(outside)
            )
            self.used = inside
        else:
            self.used = [label for label in outside if _has_score(label)]
            self._set_aside(
                "not a row of this run, and without a judge's score",
                len(outside) - len(self.used),
            )
        if not self.used:
            raise self._no_label()
        if self.weighted:
            # A weighted mean has no weight for a row whose chance is not known.
            with_chance = [label for label in inside if label.inclusion is not None]
            self._set_aside(
                "chosen in a way that is not known, beside labels with known probabilities",
                len(inside) - len(with_chance),
            )
            self.used = with_chance

    def _by_row(self, labels: Sequence[RowLabel], scale: tuple[float, float]) -> list[RowLabel]:
        """One label a row, the mean of several; those off the scale are set aside."""
        low, high = scale
        by_row: dict[str, list[RowLabel]] = {}
        off_scale = 0
        for label in labels:
            if math.isfinite(label.value) and low <= label.value <= high:
                by_row.setdefault(label.id, []).append(label)
            else:
                off_scale += 1
        self._set_aside(f"off the scale {low:g} to {high:g}", off_scale)
        several = sum(len(labels_of_row) > 1 for labels_of_row in by_row.values())
        if several:
            rows = count(several, "row has", "rows have")
            self.warnings.append(f"{rows} several labels: their mean counts")
        return [_merged(labels_of_row) for labels_of_row in by_row.values()]

    def _set_aside(self, reason: str, labels: int) -> None:
        if labels:
            self.unused[reason] = self.unused.get(reason, 0) + labels

    def _no_label(self) -> DataError:
        reasons = "; ".join(f"{count} {reason}" for reason, count in self.unused.items())
        return DataError(
            "E0605",
            "No label can be used for this run.",
            why=reasons or "the file holds no label",
            fix=(
                "label rows of this run (their ids must be kept), or give the judge's scores with"
                " the labels"
            ),
        )


def _has_score(label: RowLabel) -> bool:
    return label.row is not None and label.row.value is not None


def _merged(labels: Sequence[RowLabel]) -> RowLabel:
    """Several labels of one row as their mean."""
    first = labels[0]
    mean = sum(label.value for label in labels) / len(labels)
    return RowLabel(first.id, mean, first.inclusion, first.row)


def _tested(
    run: Sequence[RunRow], sample: Sequence[RunRow], choice: _LabelChoice, seed: int
) -> tuple[Shift | None, list[str]]:
    """The test whether labelled rows are like the others, and warnings; None where none is needed.

    None is needed where it is known how the rows were chosen, or where all are labelled. Raises
    DataError E0605 where they are unlike, or too few to compare.
    """
    # Known chances make up for any difference; where all are labelled there are no other rows.
    if not choice.foreign and (choice.weighted or len(choice.used) >= len(run)):
        return None, []
    if choice.foreign:
        _require_clusters(sample, "the labels")
        _require_clusters(run, "the run")
        others = run
    else:
        labelled = {label.id for label in choice.used}
        others = [row for row in run if row.id not in labelled]
    test = _compare(sample, others, choice.foreign, seed)
    # Before the warning about few labels: a difference that few labels show is one.
    if not test.alike:
        raise _unlike(test, choice.foreign)
    if len(choice.used) < FEW_FOR_TEST:
        return test, [
            f"{len(choice.used)} labels are too few to see whether their rows are like the others"
        ]
    if not choice.foreign:
        return test, [
            "taken as drawn at random from the run: no inclusion probabilities were given"
        ]
    return test, []


def _compare(sample: Sequence[RunRow], others: Sequence[RunRow], foreign: bool, seed: int) -> Shift:
    """Do the labelled rows look like the others? The judge's score is one of the features."""
    # Names of clusters that two files happen to share are not the same clusters.
    prefix = "labels/" if foreign else ""
    sample_clusters = [None if row.cluster is None else prefix + row.cluster for row in sample]
    sample_terms = [row.terms for row in sample]
    other_terms = [row.terms for row in others]
    has_terms = any(map(any, (sample_terms, other_terms)))
    return shift.two_sets(
        [_features(row) for row in sample],
        [_features(row) for row in others],
        clusters=(sample_clusters, [row.cluster for row in others]),
        terms=(sample_terms, other_terms) if has_terms else None,
        seed=seed,
    )


def _features(row: RunRow) -> dict[str, float]:
    features = dict(row.features)
    if row.value is not None:
        features["judge"] = row.value
    return features


def _require_clusters(rows: Sequence[RunRow], name: str) -> None:
    """Raise DataError E0605 for rows of too few clusters to be compared with others."""
    # A row without a cluster is one of its own, also where its id is the name of a cluster.
    clusters = set()
    for row in rows:
        clusters.add((row.cluster is None, row.id if row.cluster is None else row.cluster))
    if len(clusters) < LEAST_CLUSTERS:
        raise DataError(
            "E0605",
            "Nothing shows that the labels are of the population of this run.",
            why=(
                f"{name} hold {len(clusters)} rows or clusters; at least {LEAST_CLUSTERS} are"
                " needed to compare"
            ),
            fix="label rows drawn at random from this run",
        )


def _unlike(test: Shift, foreign: bool) -> DataError:
    if foreign:
        what = "The labels are of another population than this run, so they cannot correct it."
    else:
        what = "The labelled rows are unlike the other rows: they look not drawn at random."
    return DataError(
        "E0605",
        what,
        why=f"{test.why} (p {test.p or 0.0:.2g}, size {test.size:.2f})",
        fix=(
            "label rows drawn at random from this run, or by `ragassay` sampling, which keeps how"
            " likely each was to be chosen"
        ),
    )


@dataclass(frozen=True, slots=True)
class _Estimator:
    """The estimate over a run, or a part of it. foreign: labels are of rows outside the run. noise:
    of `Joining`.
    """

    foreign: bool
    scale: tuple[float, float]
    level: float
    seed: int
    noise: float = 0.0

    def estimate(
        self, run: Sequence[RunRow], sample: Sequence[RunRow], labels: Sequence[RowLabel]
    ) -> ppi.Estimate:
        """sample: the labelled rows, in the order of the labels."""
        scores = [row.value for row in run if row.value is not None]
        stand_in = sum(scores) / len(scores) if scores else 0.0
        population = run if scores else []  # a judge that lost every row says nothing of them
        units = _Units()
        # The run's rows first: in whatever order the labels come, a unit keeps its number.
        run_units = [units.code(row, "") for row in population]
        sample_units = [units.code(row, "labels/" if self.foreign else "") for row in sample]
        estimate = ppi.estimate(
            [label.value for label in labels],
            _filled([row.value for row in sample], stand_in),
            _filled([row.value for row in population], stand_in),
            units=(sample_units, run_units),
            inclusion=self._inclusion(labels),
            low=self.scale[0],
            high=self.scale[1],
            level=self.level,
            seed=self.seed,
            second=_second_scores(sample, run) if scores else None,
        )
        return ppi.with_noise(estimate, self.noise, *self.scale)

    def by_slice(
        self,
        field_name: str,
        run: Sequence[RunRow],
        sample: Sequence[RunRow],
        labels: Sequence[RowLabel],
    ) -> Iterator[SliceCorrection]:
        """The estimate over the rows of each value of a slice field."""
        values = sorted({row.slices[field_name] for row in run if field_name in row.slices})
        for value in values:
            part = [row for row in run if row.slices.get(field_name) == value]
            places = [i for i, row in enumerate(sample) if row.slices.get(field_name) == value]
            sample_part = [sample[i] for i in places]
            labels_part = [labels[i] for i in places]
            estimate = self.estimate(part, sample_part, labels_part)
            yield SliceCorrection(field_name, value, estimate)

    def _inclusion(self, labels: Sequence[RowLabel]) -> FloatArray | None:
        """The inclusion probabilities, where all are known and the rows are of the run."""
        if self.foreign:
            return None
        chances = [label.inclusion for label in labels if label.inclusion is not None]
        return np.array(chances, dtype=float) if len(chances) == len(labels) else None


class _Units:
    """Clusters, and rows without one, as codes from 0."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], int] = {}

    def code(self, row: RunRow, source: str) -> int:
        """source: rows of different sources are different units, whatever their names."""
        key = (f"{source}cluster", row.cluster or "")
        if row.cluster is None:
            key = (f"{source}row", row.id)
        return self._codes.setdefault(key, len(self._codes))


def _filled(scores: Sequence[float | None], stand_in: float) -> list[float]:
    """The scores, with `stand_in` for each that is missing."""
    return [stand_in if score is None else score for score in scores]


def _second_scores(
    sample: Sequence[RunRow], run: Sequence[RunRow]
) -> tuple[list[float], list[float]] | None:
    """The scores of the second judge, its mean for rows without; None where there is none."""
    scores = [row.second for row in run if row.second is not None]
    if not scores:
        return None
    mean = sum(scores) / len(scores)
    return (
        _filled([row.second for row in sample], mean),
        _filled([row.second for row in run], mean),
    )
