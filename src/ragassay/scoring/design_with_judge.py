"""Planning of labels where a judge judges all rows, and labels correct it.

By prediction-powered inference with the weight that leaves the least variance (PPI++,
Angelopoulos, Duchi & Zrnic 2023), n labels of N judged rows know a rate as well as n / (1 - r^2 +
r^2 n / N) labels do without a judge, where r is the correlation of its verdicts with the labels.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ragassay.scoring.design import Plan, Question, plan
from ragassay.scoring.ppi import LEAST_LABELS

_QUESTIONS = ("target", "width")


def plan_with_judge(
    question: Question, *, correlation: float, rows: int | None = None, **options: Any
) -> Plan:
    """The plan of `design.plan` for one rate of a run that a judge judged whole.

    correlation: of the judge's verdicts with people's labels, -1 to 1. rows: of the run, None =
    many more than labels. options: as for `plan`. Below 50 labels the judge is left out, as
    `ppi.estimate` does, so that no fewer are ever asked for. Raises ValueError as `plan`, for a
    question about two judges or runs, and where even labels of all rows would not do.
    """
    if question not in _QUESTIONS:
        raise ValueError("a judge helps with one rate: ask for target or width")
    if not -1 <= correlation <= 1:
        raise ValueError(f"a correlation lies between -1 and 1, not {correlation:g}")
    if rows is not None and rows < 2:
        raise ValueError(f"a run has two rows or more, not {rows}")
    labels = options.get("labels")
    square = correlation**2
    if labels is None:
        alone = plan(question, **options)
        needed = _needed(alone.labels, square, rows)
        found = replace(alone, labels=needed, clusters=_clusters(needed, alone))
        said = f"helps: without it {alone.labels:,} labels would be needed"
        if needed >= alone.labels:
            said = "spares no label"
    else:
        if rows is not None and labels > rows:
            raise ValueError(f"{labels} labels are more than the run's {rows} rows")
        worth = worth_of(labels, square, rows) if labels >= LEAST_LABELS else labels
        alone = plan(question, **{**options, "labels": max(2, math.floor(worth))})
        found = replace(alone, labels=labels, clusters=_clusters(labels, alone))
        said = f"helps: it makes {labels:,} labels worth {alone.labels:,}"
        if alone.labels <= labels:
            said = "adds nothing"
    sentence = alone.sentence.replace(f"{alone.labels:,} labels", f"{found.labels:,} labels", 1)
    run = "" if rows is None else f" on all {rows:,} rows"
    judge = f"A judge whose verdicts{run} correlate by {correlation:.2f} with people's {said}."
    return replace(found, sentence=f"{sentence} {judge}")


def worth_of(labels: float, square: float, rows: int | None) -> float:
    """How many labels without a judge know a rate as well. square: of the correlation."""
    return labels / (1 - square + square * _share(labels, rows))


def _share(labels: float, rows: int | None) -> float:
    return 0.0 if rows is None else min(1.0, labels / rows)


def _needed(alone: int, square: float, rows: int | None) -> int:
    """The fewest labels that are worth so many without the judge."""
    if alone < LEAST_LABELS:
        return alone
    left = 1.0 if rows is None else 1 - square * alone / rows
    # All rows labelled are worth as many as there are rows, whatever the judge says.
    if rows is not None and alone > rows:
        raise ValueError(
            f"{alone:,} labels are needed and the run has {rows:,} rows: even labels of all of them"
            " would not do"
        )
    return max(LEAST_LABELS, math.ceil((1 - square) * alone / left)) if left > 0 else alone


def _clusters(labels: int, like: Plan) -> int:
    return max(1, round(labels * like.clusters / like.labels))
