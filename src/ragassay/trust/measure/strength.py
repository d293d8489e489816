"""How much of the labelling a run's judge spares, from the labels that there are already."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragassay.core import DataError
from ragassay.trust.measure.estimation import estimate

if TYPE_CHECKING:
    from ragassay.api import Run


@dataclass(frozen=True, slots=True)
class JudgeStrength:
    """What a plan for more labels takes from a run.

    correlation: of the judge's verdicts with people's labels, weighted by the rows' chances. rows:
    of the run; labels: that it has; rate: the corrected one.
    """

    correlation: float
    rows: int
    labels: int
    rate: float


def judge_strength(
    run: str | Run = "last",
    *,
    metric: str | None = None,
    store: str | os.PathLike[str] | None = None,
) -> JudgeStrength:
    """The strength of a run's judge, from its imported labels. Raises as `estimate`, and DataError
    E0605 for too few labels to tell.
    """
    correction = estimate(run, metric=metric, store=store)
    found = correction.estimate
    if found.interval is None or found.value is None or found.n_labelled < 2:
        raise DataError(
            "E0605",
            "These labels do not show how strong the judge is.",
            why=found.reason or f"{found.n_labelled} labels",
            fix="label 50 rows or more, or give --judge-correlation",
        )
    # A judge that says the same of all rows, or people who do, spare no label.
    correlation = correction.correlation or 0.0
    # A rate of 0 or 1 has no spread to plan with: at most the last of the labels was another.
    edge = 1 / (found.n_labelled + 2)
    rate = min(1 - edge, max(edge, found.value))
    return JudgeStrength(correlation, correction.rows, found.n_labelled, rate)
