"""Judges asked several times: a panel of several judges, and one judge asked again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ragassay.core import DataError, SetupError
from ragassay.trust.measure.context import measuring_context
from ragassay.trust.option_checks import check_draws

if TYPE_CHECKING:
    from ragassay.api import Run
    from ragassay.scoring.panels import Panel, Repeatability

MOST_SAMPLES = 100  # each one buys every verdict again


def panel(
    labels: object,
    judges: str | Sequence[str],
    *,
    draws: int = 2000,
    seed: int = 0,
    **options: Any,
) -> Panel:
    """Several judges as one: how far their errors go together, and whether their majority beats the
    best of them.

    Over the rows that all of them judged. options: as for `ragassay.benchmark`, cut and judge_cut
    included. Raises SetupError E0205 for fewer than two judges, DataError E0315 where no row was
    judged by all.
    """
    import numpy as np

    from ragassay.scoring import panels

    check_draws(draws, seed)
    context = measuring_context(labels, judges, needs_equal="ragassay panel", **options)
    aligned = context.aligned()
    if len(aligned) < 2:
        raise SetupError(
            "E0205",
            "A panel takes two judges or more.",
            where="--judge",
            why=str(judges),
            fix="such as --judge recorded:a,b,c",
        )
    table = context.table
    # One column a judge, one line a labelled row; NaN where the judge has no verdict.
    verdicts = np.full((len(table), len(aligned)), np.nan)
    scores = np.full((len(table), len(aligned)), np.nan)
    for column, judge in enumerate(aligned):
        verdicts[judge.at, column] = judge.ratings.passes
        if judge.ratings.unit is not None:
            scores[judge.at, column] = judge.ratings.unit
    # The mean of scores is a rule only where every judge has scores on one scale, 0 to 1.
    all_have_scores = all(judge.ratings.unit is not None for judge in aligned)
    try:
        return panels.panel(
            verdicts,
            table.label >= context.label_cut,
            [judge.verdicts.judge for judge in aligned],
            table.cluster,
            scores=scores if all_have_scores else None,
            draws=draws,
            seed=seed,
        )
    except ValueError as error:
        raise DataError(
            "E0315",
            "These judges make no panel.",
            why=str(error),
            fix="name judges of the same rows",
        ) from None


def repeat(
    rows: object,
    judge: str = "offline",
    *,
    metric: str,
    samples: int = 5,
    temperature: float | None = 1.0,
    draws: int = 2000,
    seed: int = 0,
    store: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Repeatability:
    """Ask a judge for the same verdicts `samples` times: how many rows change sides, and how far do
    samples agree?

    Each sample is a run of its own whose judgments are not shared with the others; asked again
    later they are cached. temperature: of every sample, None = the server's default. options: of
    `ragassay.evaluate`. Rows whose verdict is lost in a sample are counted, not filled. Raises
    SetupError E0101 for fewer than two samples, and as `evaluate`.
    """
    import numpy as np

    from ragassay.scoring import panels
    from ragassay.trust.measure.capped_runs import CappedRuns

    if not 2 <= samples <= MOST_SAMPLES:
        raise SetupError(
            "E0101",
            f"To repeat takes 2 to {MOST_SAMPLES} samples.",
            where="--samples",
            why=str(samples),
            fix="leave it out for five",
        )
    check_draws(draws, seed)
    capped_runs = CappedRuns({**options, "temperature": temperature}, store)
    if isinstance(rows, Iterator):
        rows = list(rows)  # every sample reads them again
    verdicts = _RepeatedVerdicts(samples)
    for sample in range(1, samples + 1):
        name = f"sample {sample} of {samples}"
        with capped_runs.run(rows, metric, name, judge=judge, sample=sample) as run:
            verdicts.add(run, sample)
    if not verdicts.by_row:
        raise DataError(
            "E0315",
            "No row has a verdict to repeat.",
            why=f"{metric} gave none",
            fix="name another metric",
        )
    return panels.repeatability(
        np.array(list(verdicts.by_row.values())),
        np.array(verdicts.cluster_codes()),
        draws=draws,
        seed=seed,
    )


class _RepeatedVerdicts:
    """The verdicts of each sample on each row, 1 or 0; NaN where one is lost or undecided."""

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self._clusters: dict[str, str] = {}
        self.by_row: dict[str, list[float]] = {}

    def add(self, run: Run, sample: int) -> None:
        """The verdicts of a run, which is the `sample`th, from 1."""
        from ragassay.runs.corrected import verdict_value

        (metric,) = run.manifest.metrics
        for row in run:
            score = row.score(metric)
            if row.sample is None or score is None or score.verdict is None:
                continue
            # A row that one sample lost keeps its place among the others, as NaN.
            value = verdict_value(score)
            verdicts = self.by_row.setdefault(row.id, [float("nan")] * self._samples)
            verdicts[sample - 1] = float("nan") if value is None else value
            # A row without a cluster is one of its own, which no name can be.
            self._clusters[row.id] = row.sample.cluster or f"\0{row.id}"

    def cluster_codes(self) -> list[int]:
        """A code for the cluster of each row."""
        names = dict.fromkeys(self._clusters.values())
        code_of = {name: code for code, name in enumerate(names)}
        return [code_of[self._clusters[row]] for row in self.by_row]
