"""The corrected figures of a run: what its judge says, set right by the labels kept beside it.

Labels that were imported for a run serve every report of it: here they are joined with the run's
scores, over all rounds in which rows were drawn for labelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragassay.core import (
    CorrectedFigure,
    DataError,
    HumanLabel,
    RagAssayError,
    RowResult,
    Score,
    Status,
    Verdict,
)
from ragassay.runs.joined_labels import JoinedLabels, joined_labels
from ragassay.runs.label_scales import as_unit_labels, scale_of_labels
from ragassay.scoring.correction import (
    Correction,
    RowLabel,
    RunRow,
    Waiting,
    corrected_metric,
)
from ragassay.scoring.label_rounds import DrawnRows, drawn_rows, waiting_words

if TYPE_CHECKING:
    from ragassay.report.comparison import CorrectedDifference
    from ragassay.store import Store

PASS_RATE = "pass rate"
MEAN = "mean"


def corrected_of(store: Store, run_id: str, metric: str) -> CorrectedFigure | None:
    """A metric of a run corrected by the labels that were imported for it; None without labels.

    Of a metric with a pass mark it is the pass rate, else the mean. Labels that cannot be used give
    a figure without a value, with the reason.
    """
    labels = store.labels(run_id, metric)
    if not labels:
        return None
    of = MEAN
    try:
        kind = usual_kind(store.rows(run_id), metric)
        of = PASS_RATE if kind == "pass" else MEAN
        correction = correct_run(store.rows(run_id), metric, kind, labels)
    except RagAssayError as error:
        why = f"{error.what} {error.why}".strip()
        return CorrectedFigure(metric, of, None, None, len(labels), 0, None, why=why)
    return figure_of(correction, metric, kind)


def corrected_in_both(store: Store, first: str, second: str) -> tuple[CorrectedDifference, ...]:
    """What labels set right in both runs, the second less the first."""
    from ragassay.report import corrected_differences

    figures = []
    for run in (first, second):
        metrics = dict.fromkeys(label.name for label in store.labels(run))
        found = [corrected_of(store, run, metric) for metric in metrics]
        figures.append([figure for figure in found if figure is not None])
    return corrected_differences(*figures)


def figure_of(correction: Correction, metric: str, kind: str) -> CorrectedFigure:
    """A correction as the figure that reports show."""
    estimate = correction.estimate
    return CorrectedFigure(
        metric=metric,
        of=PASS_RATE if kind == "pass" else MEAN,
        value=estimate.value,
        interval=estimate.interval,
        labels=correction.used,
        rows=correction.rows,
        judge=estimate.judge,
        weighted=correction.weighted,
        method=estimate.method,
        why=estimate.reason if estimate.value is None else "",
        waiting=correction.waiting.rows,
        unseen=correction.waiting.share,
    )


def usual_kind(rows: Iterable[RowResult], metric: str) -> Literal["pass", "mean"]:
    """ "pass" where rows of the run passed or failed by the metric, else "mean"."""
    for row in rows:
        score = row.score(metric)
        if score is not None and verdict_value(score) is not None:
            return "pass"
    return "mean"


@dataclass(frozen=True, slots=True)
class CorrectionInput:
    """What a correction is made of. rows: of the run; labels: from 0 to 1, with their chances.
    drawn: how the labelled rows were drawn. joined: how labels of several people were joined.
    """

    rows: Sequence[RunRow]
    labels: Sequence[RowLabel]
    drawn: DrawnRows
    joined: JoinedLabels


def correct_run(
    rows: Iterable[RowResult],
    metric: str,
    kind: str,
    labels: Sequence[HumanLabel],
    *,
    scale: Sequence[float] = (),
    cut: float | None = None,
) -> Correction:
    """A metric corrected by labels of some of these rows. kind: "pass" or "mean"; scale, cut: of
    the labels, the usual ones where they are not given. Raises DataError E0313, E0605, E1201,
    SetupError E0205.
    """
    taken = correction_input(rows, metric, kind, labels, scale=scale, cut=cut)
    return corrected_metric(
        taken.rows,
        taken.labels,
        metric=metric_title(metric, kind),
        joining=taken.joined.joining(),
        waiting=waiting_of(taken.drawn),
    )


def waiting_of(drawn: DrawnRows) -> Waiting:
    """Drawn rows without a label, as a correction takes them."""
    return Waiting(drawn.waiting, drawn.unseen, waiting_words(drawn) if drawn.waiting else "")


def metric_title(metric: str, kind: str) -> str:
    """A metric as its correction is called."""
    return f"{metric} (pass rate)" if kind == "pass" else metric


def correction_input(
    rows: Iterable[RowResult],
    metric: str,
    kind: str,
    labels: Sequence[HumanLabel],
    *,
    scale: Sequence[float] = (),
    cut: float | None = None,
) -> CorrectionInput:
    """Rows and labels as a correction takes them. Raises as `correct_run`."""
    points = scale_of_labels(labels, scale, "the labels in the store", kind)
    # How alike rows are is asked only of labels whose chances are not known.
    with_features = any(label.inclusion_probability is None for label in labels)
    run = list(run_rows(rows, metric, kind, with_features=with_features))
    units = as_unit_labels(labels, kind, points, cut)
    ids = {row.id for row in run}
    own = [label for label in labels if label.row_id in ids]
    if not own:
        raise DataError("E0605", "No label is of a row of this run.", fix="label rows of this run")
    drawn = drawn_rows(own, len(run))
    joined = joined_units(units, kind, run, drawn)
    return CorrectionInput(run, row_labels(joined.labels, drawn.chance), drawn, joined)


def joined_units(
    units: Sequence[HumanLabel], kind: str, run: Sequence[RunRow], drawn: DrawnRows
) -> JoinedLabels:
    """Labels from 0 to 1, those of several people joined where they pass or fail."""
    if kind != "pass":
        return JoinedLabels(units)
    clusters = {row.id: row.cluster for row in run}
    inside = {label.row_id for label in units if label.row_id in clusters}
    # Labels of which none is of the run are of rows outside: a calibration set.
    return joined_labels(units, clusters, drawn.chance, inside or None)


def row_labels(
    labels: Iterable[HumanLabel],
    chance: Mapping[str, float],
    others: Mapping[str, RunRow] | None = None,
) -> list[RowLabel]:
    """Labels with one chance a row. others: rows outside the run, with the judge's scores."""
    outside = others or {}
    return [
        RowLabel(label.row_id, label.value, chance.get(label.row_id), outside.get(label.row_id))
        for label in labels
    ]


def run_rows(
    rows: Iterable[RowResult], metric: str, kind: str, *, with_features: bool = True
) -> Iterator[RunRow]:
    """The rows to which the metric applies, with the features that tell whether rows are alike.

    kind: "pass" for the verdict as 1 or 0, "mean" for the score.
    """
    from ragassay.scoring import shift

    for row in rows:
        score = row.score(metric)
        # A row whose verdict was lost is still one of the population; one that the metric does not
        # apply to is not.
        if row.sample is None or score is None or score.status is Status.NOT_APPLICABLE:
            continue
        yield RunRow(
            row.id,
            verdict_value(score) if kind == "pass" else score.value,
            row.sample.cluster,
            row.sample.slices,
            shift.features(row.sample) if with_features else {},
            shift.terms(row.sample) if with_features else (),
        )


def verdict_value(score: Score) -> float | None:
    """A verdict as 1 or 0; None where there is none, or it is undecided."""
    if score.verdict is Verdict.PASS:
        return 1.0
    if score.verdict is Verdict.FAIL:
        return 0.0
    return None
