"""Calibrated judges: the best map of a calibration, stored as a judge with its own certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import numpy as np

from ragassay.core import Certificate, ScoreMap, SetupError
from ragassay.trust.alignment import Verdicts
from ragassay.trust.measure.benchmarks import label_design, label_kind
from ragassay.trust.measure.context import MeasuringContext

if TYPE_CHECKING:
    from ragassay.scoring.calibration import Calibration, Kind
    from ragassay.trust.alignment import Aligned

CUT = 0.5
"""A calibrated judge passes a row that people more likely pass than not."""
_NOTE = "out-of-fold: each row is mapped by what the labels of the other rows say"


def save_map(
    context: MeasuringContext,
    judge: Aligned,
    calibrations: Sequence[Calibration],
    name: str,
    folds: int,
    draws: int,
    seed: int,
) -> Certificate:
    """Store the map with the lowest Brier score as the judge "calibrated:NAME".

    The certificate is of that judge: its fingerprints hold the map, and its figures are those of
    rows that the map was not fitted on. Raises SetupError E0205 for a judge that cannot be run, and
    where no map could be fitted.
    """
    judge_run = context.judge_runs.get(judge.verdicts.judge)
    if judge_run is None:
        raise SetupError(
            "E0205",
            f"{judge.verdicts.judge} cannot be stored as a judge.",
            where="--save",
            why="its verdicts were recorded elsewhere, so nothing can be asked of it",
            fix="name the judge itself, such as --judge openai:MODEL, or a run of it",
        )
    best = _best(calibrations)
    score_map = ScoreMap(
        name=name,
        judge=judge_run.uri,
        metric=context.metric,
        kind=best.calibrator.kind,  # type: ignore[union-attr]
        parameters=best.calibrator.parameters,  # type: ignore[union-attr]
        at=best.calibrator.at,  # type: ignore[union-attr]
        cut=CUT,
        data_hash=context.table.labels_hash,
    )
    certificate = _certificate(context, judge, score_map, folds, draws, seed)
    from ragassay.api import open_store

    with open_store(context.store) as store:
        store.put_certificate(certificate)
    return certificate


def _best(calibrations: Sequence[Calibration]) -> Calibration:
    best: Calibration | None = None
    lowest = float("inf")
    for calibration in calibrations:
        after = calibration.after
        brier = None if after is None else after.brier.value
        if calibration.calibrator is not None and brier is not None and brier < lowest:
            best, lowest = calibration, brier
    if best is None:
        reasons = "; ".join(dict.fromkeys(each.reason for each in calibrations if each.reason))
        raise SetupError(
            "E0205",
            "No map could be fitted.",
            where="--save",
            why=reasons or "the scores do not vary",
            fix="label more rows, of both kinds",
        )
    return best


def _certificate(
    context: MeasuringContext,
    judge: Aligned,
    score_map: ScoreMap,
    folds: int,
    draws: int,
    seed: int,
) -> Certificate:
    from ragassay.trust.certificate_issue import issue
    from ragassay.trust.comparison import compare
    from ragassay.version import __version__

    uri = f"calibrated:{score_map.name}"
    judge_run = context.judge_runs[judge.verdicts.judge]
    verdicts = Verdicts(
        judge=uri,
        score=_out_of_fold(context, judge, score_map, folds, seed),
        missing=judge.verdicts.missing,
        fingerprints=_fingerprints(score_map, judge.verdicts.fingerprints),
        cut=score_map.cut,
    )
    benchmark = compare(
        context.table,
        [verdicts],
        metric=context.metric,
        cut=context.cut,
        draws=draws,
        seed=seed,
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
    )
    return issue(
        benchmark,
        replace(benchmark.judges[0], judge=uri),
        rubrics=judge_run.rubrics,
        profile=judge_run.profile,
        version=__version__,
        kind=label_kind(context.table),
        note=_NOTE,
        design=label_design(context.table),
        score_map=score_map,
    )


def _out_of_fold(
    context: MeasuringContext, judge: Aligned, score_map: ScoreMap, folds: int, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(labelled rows,) probabilities by maps that other rows fitted; NaN without a verdict."""
    from ragassay.scoring.calibration import out_of_fold
    from ragassay.trust.measure.calibration import scores_of

    mapped = np.full(len(context.table), np.nan)
    mapped[judge.at] = out_of_fold(
        cast("Kind", score_map.kind),
        scores_of(judge),
        judge.ratings.truth,
        judge.ratings.cluster,
        folds=folds,
        seed=seed,
    )
    return mapped


def _fingerprints(score_map: ScoreMap, base: Mapping[str, str]) -> dict[str, str]:
    from ragassay.judges import calibrated_fingerprint

    return {rubric: calibrated_fingerprint(score_map, one) for rubric, one in base.items()}
