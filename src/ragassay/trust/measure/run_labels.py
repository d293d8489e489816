"""Labels beside a run: which metric they are of, on which scale, and the run's rows to match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragassay.core import (
    DataError,
    HumanLabel,
    Score,
    SetupError,
    Status,
    Verdict,
    nearest,
    shorten,
)

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.trust.correction import RunRow

BINARY = (0.0, 1.0)
# In the order in which they are tried: labels of 0 and 1 alone fit both.
_USUAL_SCALES = ((0.0, 0.5, 1.0), (0.0, 1.0, 2.0, 3.0))


def labels_of_run(run: Run, metric: str) -> tuple[HumanLabel, ...]:
    """The labels of a metric that were imported for a run."""
    return run.store.labels(run.id, metric)


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


def scale_of_labels(
    labels: Sequence[HumanLabel], scale: Sequence[float], where: str, kind: str = "pass"
) -> tuple[float, ...]:
    """The values that labels may take: those that are given, else the usual scale that they fit.

    kind: "pass" or "mean"; as a mean, labels may lie anywhere between 0 and 1. Raises SetupError
    E0101 for a scale of one value, DataError E0313 where no usual scale fits.
    """
    if scale:
        if len(set(scale)) < 2:
            raise SetupError(
                "E0101",
                "A scale has two values or more.",
                where="--scale",
                why=str(scale),
                fix="such as 0,1",
            )
        return tuple(sorted(scale))
    values = sorted({label.value for label in labels})
    if kind == "mean" and all(0 <= value <= 1 for value in values):
        return BINARY
    # Labels of 0, 1 and 3 are on the scale 0 to 3, of which nobody gave the 2.
    for usual in _USUAL_SCALES:
        if set(values) <= set(usual):
            return usual
    shown = ", ".join(f"{value:g}" for value in values[:8])
    if len(values) > 8:
        shown += " ..."
    raise DataError(
        "E0313",
        "It is not said on which scale the labels are.",
        where=where,
        why=f"they are {shown}",
        fix=(
            "correct what is a slip, or name all values a label may take, such as --scale 1,2,3,4,5"
        ),
    )


def as_unit_labels(
    labels: Sequence[HumanLabel], kind: str, scale: Sequence[float], cut: float | None
) -> list[HumanLabel]:
    """Labels as 0 or 1 by the cut (kind "pass"), or spread from 0 to 1 over the scale ("mean")."""
    from ragassay.trust.alignment import default_cut

    if kind == "pass":
        least = default_cut(scale) if cut is None else cut
        return [replace(label, value=float(label.value >= least)) for label in labels]
    low, high = min(scale), max(scale)
    return [replace(label, value=(label.value - low) / (high - low)) for label in labels]


def run_rows(run: Run, metric: str, kind: str) -> Iterator[RunRow]:
    """The rows to which the metric applies, with the features that tell whether rows are alike.

    kind: "pass" for the verdict as 1 or 0, "mean" for the score.
    """
    from ragassay.scoring import shift
    from ragassay.trust.correction import RunRow

    for row in run:
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
            shift.features(row.sample),
            shift.terms(row.sample),
        )


def verdict_value(score: Score) -> float | None:
    """A verdict as 1 or 0; None where there is none, or it is undecided."""
    if score.verdict is Verdict.PASS:
        return 1.0
    if score.verdict is Verdict.FAIL:
        return 0.0
    return None
