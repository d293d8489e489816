"""Labels beside a run: which metric they are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.core import DataError, HumanLabel, SetupError, nearest, shorten

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.trust.label_files import LabelFile

_MOST_SHOWN = 5


def labels_of_run(run: Run, metric: str) -> tuple[HumanLabel, ...]:
    """The labels of a metric that were imported for a run."""
    return run.store.labels(run.id, metric)


def imported_labels(run: Run, metric: str) -> Sequence[HumanLabel]:
    """The labels of a metric that were imported for a run. Raises SetupError E0206 for none."""
    labels = labels_of_run(run, metric)
    if not labels:
        raise SetupError(
            "E0206",
            f"No label of {metric} was imported for this run.",
            where=f"run {run.id}",
            fix=(
                f"ragassay label next {run.id} -o sheet.csv, and after labelling: "
                f"ragassay label import {run.id} sheet.csv; or give --labels FILE"
            ),
        )
    return labels


def store_labels(run: Run, labels: Sequence[HumanLabel], *, replace_old: bool) -> int:
    """Put labels into the store beside a run; how many of them are new or changed."""
    return run.store.put_labels(run.id, labels, replace=replace_old)


def labelled_metric(run: Run, metric: str | None, *, imported: bool = False) -> str:
    """The printed name of the metric that is meant.

    None: the one with a pass mark that the run has. imported: else the only one whose labels were
    imported. Raises SetupError E0201 for a metric that the
    run does not have, E0206 where it is not said which one is meant.
    """
    names = run.manifest.metrics
    if metric is None:
        # People say pass or fail of these; any other metric has to be named.
        with_mark = [m.metric for m in run.summary.metrics if m.pass_mark is not None and m.asked]
        if len(with_mark) == 1:
            return with_mark[0]
        if imported:
            with_labels = [name for name in names if labels_of_run(run, name)]
            if len(with_labels) == 1:
                return with_labels[0]
        choices = (imported and with_labels) or with_mark or names
        raise SetupError(
            "E0206",
            "It is not said which metric people label.",
            where="--metric",
            why=f"run {run.id} has {', '.join(choices)}",
            fix=f"for example --metric {choices[0]}",
        )
    if metric in names:
        return metric
    # "ndcg_at_k" may stand for "ndcg_at_k(k=5)" where the run has no other one of it.
    with_parameters = [name for name in names if name.partition("(")[0] == metric]
    if len(with_parameters) == 1:
        return with_parameters[0]
    raise SetupError(
        "E0201",
        f"The run has no metric {metric!r}.{nearest(metric, names)}",
        where="--metric",
        why=f"run {run.id} has {', '.join(names)}",
        fix="name one of them",
    )


def check_texts(run: Run, file: LabelFile) -> None:
    """Raise DataError E1206 for labels of other texts than those that the run judged.

    A label of a response that was changed is no label of this one, whatever its id.
    """
    from ragassay.trust.label_sheets import text_that_differs

    if not file.texts:
        return
    others = []
    for row in run:
        if row.id not in file.texts or row.sample is None:
            continue
        name = text_that_differs(file.texts[row.id], row.sample)
        if name:
            others.append(f"row {shorten(row.id, 40)!r} has another {name}")
    if others:
        more = "; ..." if len(others) > _MOST_SHOWN else ""
        raise DataError(
            "E1206",
            f"{len(others)} of {len(file.labels)} labels are of other texts than the run judged.",
            where=file.source,
            why="; ".join(others[:_MOST_SHOWN]) + more,
            fix=(
                "import the sheet into the run that it was written from, and label the changed rows"
                " anew (ragassay label next); where its texts were only edited, take these columns"
                " out of the file"
            ),
        )


def check_slice(run: Run, field: str | None) -> None:
    """Raise SetupError E0206 for a slice field that no row of the run has."""
    if field is None:
        return
    fields: dict[str, None] = {}
    for row in run:
        if row.sample is None:
            continue
        # Most often the first row has it: the whole run is read for the message only.
        if field in row.sample.slices:
            return
        fields.update(dict.fromkeys(row.sample.slices))
    slices = ", ".join(list(fields)[:20])
    raise SetupError(
        "E0206",
        f"No row of the run has the slice {shorten(field, 40)!r}.{nearest(field, fields)}",
        where="--slice",
        why=f"its slices are {slices}" if slices else "its rows have no slices",
        fix="name one of them; slices are chosen with `ragassay evaluate --slice FIELD`",
    )
