"""The labels that were imported for a run, as the table that every measurement starts from.

Labels are imported once and then serve benchmark, calibration, panel and cascade, which take the
name of a run where they take a file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING

from ragassay.core import HumanLabel, SetupError, Status

if TYPE_CHECKING:
    from ragassay.api import Run

_UNKNOWN_RUN = "E0103"


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The labelled rows of a run. rows: as a file of labels has them. population: rows of the run
    to which the metric applies. several: rows that several people labelled.
    """

    run: str
    metric: str
    rows: Sequence[dict[str, object]]
    population: int
    several: int

    @property
    def source(self) -> str:
        """Where the labels are, in words."""
        return labels_source(self.run)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the labels."""
        if not self.several:
            return ()
        return (f"{self.several} rows have labels of several people: their median counts",)


def labels_source(run: str) -> str:
    """Where the labels that were imported for a run are, in words."""
    return f"labels of run {run}"


def labels_of_named_run(
    labels: object, metric: str | None, store: str | os.PathLike[str] | None
) -> RunLabels | None:
    """The labels of a run, where `labels` is one or names one; None for anything else.

    A file of that name comes first. Raises SetupError E0206 for a run without labels.
    """
    from ragassay.api import Run, open_run

    if isinstance(labels, Run):
        return _labels_of(labels, metric)
    if not isinstance(labels, str) or os.path.lexists(labels):
        return None
    try:
        run = open_run(labels, store=store)
    except SetupError as error:
        if error.code == _UNKNOWN_RUN:
            return None
        raise
    with run:
        return _labels_of(run, metric)


def _labels_of(run: Run, metric: str | None) -> RunLabels:
    from ragassay.datasets.record import to_record
    from ragassay.runs.label_scales import scale_of_labels
    from ragassay.trust.measure.run_labels import imported_labels, labelled_metric

    name = labelled_metric(run, metric, imported=True)
    labels = imported_labels(run, name)
    # Raises for a scale that nobody named.
    scale_of_labels(labels, (), f"the labels of run {run.id}")
    by_row: dict[str, list[HumanLabel]] = {}
    for label in labels:
        by_row.setdefault(label.row_id, []).append(label)
    rows: list[dict[str, object]] = []
    population = 0
    for row in run:
        score = row.score(name)
        if row.sample is None or score is None or score.status is Status.NOT_APPLICABLE:
            continue
        population += 1
        if row.id in by_row:
            rows.append({**to_record(row.sample), **_label_cells(by_row[row.id])})
    several = sum(len(of_row) > 1 for of_row in by_row.values())
    return RunLabels(run.id, name, rows, population, several)


def _label_cells(labels: Sequence[HumanLabel]) -> dict[str, object]:
    """The label of a row, and how the row was drawn, as a sheet has them."""
    # The last one says how the row was drawn: of several people it is the same.
    last = labels[-1]
    cells: dict[str, object] = {"label": median_low(label.value for label in labels)}
    if last.rationale:
        cells["rationale"] = last.rationale
    if last.inclusion_probability is not None:
        cells["inclusion_probability"] = last.inclusion_probability
        cells["round"] = last.round
        cells["stream"] = last.stream
    return cells
