"""A run's metric corrected by labels, from files and runs: prediction-powered inference."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from ragassay.api import open_run
from ragassay.core import BadRow, HumanLabel, SetupError
from ragassay.runs.corrected import (
    joined_units,
    metric_title,
    row_labels,
    run_rows,
    usual_kind,
    waiting_of,
)
from ragassay.runs.label_scales import as_unit_labels, scale_of_labels
from ragassay.scoring.label_rounds import drawn_rows, lack_earlier_labels, missing_rounds
from ragassay.trust.measure.capped_runs import CappedRuns
from ragassay.trust.measure.run_labels import (
    check_slice,
    check_texts,
    imported_labels,
    labelled_metric,
    labels_of_run,
)
from ragassay.trust.option_checks import FEWEST_DRAWS, check_cuts, check_draws

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.scoring.correction import Correction, RunRow
    from ragassay.trust.label_files import LabelFile

Path = str | os.PathLike[str]
Tell = Callable[[str], None]
Kind = Literal["pass", "mean"]

# Options of a run that say who judges and how, and so hold for further rows as well.
_JUDGING = (
    "judge",
    "calibration",
    "base_url",
    "api_key_env",
    "rubrics",
    "claims",
    "single_calls",
    "controls",
    "order",
    "temperature",
    "max_tokens",
    "reasoning_effort",
    "extra_body",
    "headers",
    "proxy",
    "ca",
    "no_network",
)


def estimate(
    run: str | Run = "last",
    *,
    labels: object = None,
    metric: str | None = None,
    label: str = "label",
    of: Kind | None = None,
    scale: Sequence[float] = (),
    cut: float | None = None,
    by: str | None = None,
    beside: str | Run | None = None,
    seed: int = 0,
    store: Path | None = None,
    tell: Tell | None = None,
) -> Correction:
    """A metric of a run, corrected by the labels of a few of its rows: prediction-powered
    inference.

    labels: a file; None = those that were imported. of: "pass" sets the labels against pass or
    fail, "mean" against the score from 0 to 1; None = "pass" where the metric has a pass mark.
    scale: the values a label may take, () = 0 and 1, or 0 to 3, as the labels are; for "mean" its
    ends count as 0 and 1. cut: a label of at least this passes, None = the usual one (1 of 0 and 1,
    2 of 0 to 3). by: a slice field to estimate by as well. beside: another run of the same rows,
    whose judge's scores (not its verdicts) help as well, with a weight of their own. Labels of
    which none is of this run are a calibration set: its rows are judged by the run's judge (which
    may cost calls; `tell` says so) and used only where they are like the run's. Raises DataError
    E0605 where labels cannot stand for the run, and others.
    """
    from ragassay.scoring.correction import corrected_metric

    check_cuts(cut, None)
    check_draws(FEWEST_DRAWS, seed)  # for the seed: the draws cannot be chosen here
    with open_run(run, store=store) as opened:
        name = labelled_metric(opened, metric, imported=labels is None)
        check_slice(opened, by)
        kind = of or usual_kind(opened, name)
        rows = list(run_rows(opened, name, kind))
        if labels is None:
            human_labels = imported_labels(opened, name)
        else:
            given = _given_labels(opened, labels, name, label, scale, of)
            human_labels = _with_earlier_labels(opened, name, given, len(rows))
        where = "the labels in the store" if labels is None else str(labels)
        points = scale_of_labels(human_labels, scale, where, kind)
        calibration_rows: dict[str, RunRow] = {}
        # With one label of the run, the others are rows that are set aside and counted.
        if labels is not None and not _any_of_run(human_labels, rows):
            judged = _judged_calibration_set(labels, opened, name, kind, store, tell)
            calibration_rows = _with_label(judged, human_labels)
        if beside is not None:
            rows = _with_second_scores(rows, beside, name, store, foreign=bool(calibration_rows))
        unit_labels = as_unit_labels(human_labels, kind, points, cut)
        ids = set() if calibration_rows else {row.id for row in rows}
        drawn = drawn_rows([each for each in unit_labels if each.row_id in ids], len(rows))
        joined = joined_units(unit_labels, kind, rows, drawn)
        taken = row_labels(joined.labels, drawn.chance, calibration_rows)
        title, by_whom, waiting = metric_title(name, kind), joined.joining(), waiting_of(drawn)
        return corrected_metric(
            rows, taken, metric=title, by=by, seed=seed, joining=by_whom, waiting=waiting
        )


def _given_labels(
    run: Run, labels: object, name: str, label: str, scale: Sequence[float], of: Kind | None
) -> Sequence[HumanLabel]:
    """The labels of a file, whose texts are those of the run."""
    file = _label_file(labels, name, label, scale, of)
    check_texts(run, file)
    return file.labels


def _label_file(
    source: object, metric: str, label: str, scale: Sequence[float], of: Kind | None
) -> LabelFile:
    from ragassay.trust.label_files import read_sheet

    return read_sheet(source, name=metric, label=label, scale=scale, between=of == "mean")


def _with_earlier_labels(
    run: Run, metric: str, labels: Sequence[HumanLabel], rows: int
) -> list[HumanLabel]:
    """The labels of a file, and those imported for the run that were there when it was drawn.

    A sheet was drawn from the rows that earlier labels left, and says nothing of the others.
    rows: of the run, to which the metric applies.
    """
    if not missing_rounds(labels) and not lack_earlier_labels(labels, rows):
        return list(labels)
    given = {label.row_id for label in labels}
    earlier = [label for label in labels_of_run(run, metric) if label.row_id not in given]
    return [*earlier, *labels]


def _any_of_run(labels: Sequence[HumanLabel], rows: Sequence[RunRow]) -> bool:
    ids = {row.id for row in rows}
    return any(label.row_id in ids for label in labels)


def _with_label(rows: Sequence[RunRow], labels: Sequence[HumanLabel]) -> dict[str, RunRow]:
    """The rows that have a label, by id."""
    labelled = {label.row_id for label in labels}
    return {row.id: row for row in rows if row.id in labelled}


def _no_second_scores() -> SetupError:
    return SetupError(
        "E0206",
        "A second run has no scores of a calibration set.",
        where="--beside",
        why="none of the labels is of this run",
        fix="leave --beside out",
    )


def _with_second_scores(
    rows: Sequence[RunRow],
    beside: str | Run,
    metric: str,
    store: Path | None,
    *,
    foreign: bool,
) -> list[RunRow]:
    """The rows with the scores that another run's judge gave them. foreign: the labels are of other
    rows, which that run does not hold.
    """
    if foreign:
        raise _no_second_scores()
    with open_run(beside, store=store) as other:
        other_rows = run_rows(other, labelled_metric(other, metric), "mean")
        scores = {row.id: row.value for row in other_rows}
        if not any(scores.get(row.id) is not None for row in rows):
            raise SetupError(
                "E0206",
                "The second run has no score of any of these rows.",
                where=f"run {other.id}",
                fix="name a run over the same rows, with their ids",
            )
    return [replace(row, second=scores.get(row.id)) for row in rows]


def _judged_calibration_set(
    labels: object, run: Run, metric: str, kind: Kind, store: Path | None, tell: Tell | None
) -> list[RunRow]:
    """The rows of a calibration set under the run's judge; none where it holds no texts."""
    if not _holds_texts(labels):
        return []
    if tell is not None:
        tell(
            f"none of the labels is of run {run.id}: their rows are judged by"
            f" {run.manifest.judge.uri} first"
        )
    # The very judge of the run: the correction is of its errors and of no other judge's.
    stored = run.manifest.options
    options: dict[str, Any] = {
        name: stored[name] for name in _JUDGING if stored.get(name) is not None
    }
    capped_runs = CappedRuns(options | {"tell": tell}, store)
    with capped_runs.run(labels, metric, f"calibration set for {run.id}") as judged:
        return list(run_rows(judged, metric, kind))


def _holds_texts(labels: object) -> bool:
    """Whether a file of labels holds rows that can be judged."""
    from ragassay.datasets import open_rows

    try:
        for row in open_rows(labels):
            if not isinstance(row, BadRow) and (row.question or row.response):
                return True
    except SetupError as error:
        if error.code != "E0307":  # ids and labels alone: no column can be judged
            raise
    return False
