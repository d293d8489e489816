"""The labels that were imported for a run, as the table that every measurement starts from.

Labels are imported once and then serve benchmark, calibration, panel and cascade, which take the
name of a run where they take a file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TYPE_CHECKING

from ragassay.core import HumanLabel, RagAssayError, SetupError, Status
from ragassay.runs.joined_labels import JoinedLabels, joined_labels
from ragassay.scoring.label_rounds import DrawnRows, drawn_label, drawn_rows

if TYPE_CHECKING:
    from ragassay.api import Run

_UNKNOWN_RUN = "E0103"


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The labelled rows of a run. rows: as a file of labels has them. drawn: how they were drawn.
    joined: how labels of several people were joined. tied: rows that are left out, since as many
    people pass them as fail them and nobody decided. scale: the values that labels may take; cut:
    from which on a row passes, None where that is not known.
    """

    run: str
    metric: str
    rows: Sequence[dict[str, object]]
    drawn: DrawnRows
    joined: JoinedLabels
    tied: int = 0
    scale: tuple[float, ...] = ()
    cut: float | None = None

    @property
    def source(self) -> str:
        """Where the labels are, in words."""
        return labels_source(self.run)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the labels."""
        notes = self.joined.notes("their majority")
        if self.tied:
            rows = "1 row" if self.tied == 1 else f"{self.tied} rows"
            notes += (f"{rows} on which people are tied left out; decide with another label",)
        return notes


def labels_source(run: str) -> str:
    """Where the labels that were imported for a run are, in words."""
    return f"labels of run {run}"


def labels_of_named_run(
    labels: object,
    metric: str | None,
    store: str | os.PathLike[str] | None,
    cut: float | None = None,
) -> RunLabels | None:
    """The labels of a run, where `labels` is one or names one; None for anything else.

    cut: from which label on a row passes, None for the usual one. A file of that name comes first.
    Raises SetupError E0206 for a run without labels.
    """
    from ragassay.api import Run, open_run

    if isinstance(labels, Run):
        return _labels_of(labels, metric, cut)
    if not isinstance(labels, str) or os.path.lexists(labels):
        return None
    try:
        run = open_run(labels, store=store)
    except SetupError as error:
        if error.code == _UNKNOWN_RUN:
            return None
        raise
    with run:
        return _labels_of(run, metric, cut)


def _labels_of(run: Run, metric: str | None, cut: float | None) -> RunLabels:
    from ragassay.datasets.record import to_record
    from ragassay.runs.label_scales import scale_of_labels
    from ragassay.trust.measure.run_labels import imported_labels, labelled_metric

    name = labelled_metric(run, metric, imported=True)
    labels = imported_labels(run, name)
    # Raises for a scale that nobody named.
    scale = scale_of_labels(labels, (), f"the labels of run {run.id}")
    by_row: dict[str, list[HumanLabel]] = {}
    for label in labels:
        by_row.setdefault(label.row_id, []).append(label)
    applicable = []
    for row in run:
        score = row.score(name)
        if row.sample is None or score is None or score.status is Status.NOT_APPLICABLE:
            continue
        applicable.append(row)
    clusters = {row.id: row.sample.cluster for row in applicable if row.sample is not None}
    least = _cut(scale, cut)
    joined = _joined(labels, clusters, least)
    rows: list[dict[str, object]] = []
    tied = 0
    for row in applicable:
        if row.sample is None or row.id not in by_row:
            continue
        if joined.model is None and _is_tied(by_row[row.id], least):
            tied += 1
            continue
        rows.append({**to_record(row.sample), **_label_cells(by_row[row.id], joined, least)})
    own = [label for label in labels if label.row_id in clusters]
    drawn = drawn_rows(own, len(applicable))
    return RunLabels(run.id, name, rows, drawn, joined, tied, scale, least)


def _is_tied(labels: Sequence[HumanLabel], cut: float | None) -> bool:
    """Whether as many people pass the row as fail it."""
    if cut is None:
        return False
    return 2 * sum(label.value >= cut for label in labels) == len(labels)


def _cut(scale: Sequence[float], cut: float | None) -> float | None:
    """From which label on a row passes; None where that is not known yet."""
    from ragassay.runs.label_scales import default_cut

    if cut is not None:
        return cut
    try:
        return default_cut(scale)
    except RagAssayError:
        return None


def _joined(
    labels: Sequence[HumanLabel], clusters: Mapping[str, str | None], cut: float | None
) -> JoinedLabels:
    """Labels of several people by pass and fail; as they are where no cut is known."""
    own = [label for label in labels if label.row_id in clusters]
    least = max((label.value for label in own), default=1.0) if cut is None else cut
    units = [replace(label, value=float(label.value >= least)) for label in own]
    joined = joined_labels(units, clusters)
    if cut is None and joined.model is not None:
        why = "it is not said from which label on a row passes"
        return replace(joined, labels=units, model=None, why=why)
    return joined


def _label_cells(
    labels: Sequence[HumanLabel], joined: JoinedLabels, cut: float | None
) -> dict[str, object]:
    """The label of a row, and how the row was drawn, as a sheet has them."""
    last, drawn = labels[-1], drawn_label(labels)
    values = [label.value for label in labels]
    if joined.model is not None and cut is not None:
        passes = joined.model.passes.get(last.row_id)
        # Of those on the side that the people speak for, each by how often they err.
        values = [value for value in values if (value >= cut) is passes] or values
    cells: dict[str, object] = {"label": median_low(values)}
    if last.rationale:
        cells["rationale"] = last.rationale
    if drawn.inclusion_probability is not None:
        cells["inclusion_probability"] = drawn.inclusion_probability
        cells["round"] = drawn.round
        cells["stream"] = drawn.stream
        cells["pool"] = drawn.pool
        cells["drawn"] = drawn.drawn
    return cells
