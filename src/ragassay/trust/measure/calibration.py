"""Calibration of a judge beside labels: scores mapped to probabilities, and another cut tried."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ragassay.core import SetupError, nearest, shorten
from ragassay.trust.measure.context import measuring_context
from ragassay.trust.option_checks import check, check_costs, check_draws

if TYPE_CHECKING:
    from ragassay.core import Certificate
    from ragassay.scoring.calibration import Calibration, CutChange
    from ragassay.trust.alignment import Aligned
    from ragassay.trust.label_table import FloatArray

KINDS = ("platt", "isotonic", "beta")


@dataclass(frozen=True, slots=True)
class CalibrationResult:
    """A judge's scores mapped to probabilities, out-of-fold, and whether another cut would be
    better.

    missing: rows of the labels that the judge has no verdict for. calibrations: one a kind of map.
    saved: the certificate that holds the map, where it was stored as a judge.
    """

    judge: str
    missing: int
    calibrations: tuple[Calibration, ...]
    change: CutChange
    note: str = ""
    saved: Certificate | None = None


def calibrate(
    labels: object,
    judge: str | None = None,
    *,
    kinds: Sequence[str] = KINDS,
    figure: str = "kappa",
    costs: tuple[float, float] = (1.0, 1.0),
    folds: int = 5,
    draws: int = 2000,
    seed: int = 0,
    save: str | None = None,
    **options: Any,
) -> CalibrationResult:
    """Map one judge's scores to probabilities by each of `kinds`, and try the cut that is best by
    `figure`.

    Everything is out-of-fold, folds by cluster; a new cut is tested on rows that it was not chosen
    on. save: the best map is stored as the judge "calibrated:SAVE", with a certificate of its
    out-of-fold figures. labels, judge: as for `ragassay.benchmark`. costs: of a wrong pass and a
    wrong fail, for figure "cost". options: as for `ragassay.benchmark`, cut and judge_cut included.
    Raises SetupError E0101 for a figure, kind or name that is none, E0205 where several judges are
    named, or where one is to be stored that cannot be run; DataError E1202 for rows that were drawn
    with unequal chances.
    """
    check_draws(draws, seed)
    check_costs(*costs)
    check("--folds", folds, 2, 1000, "5 is usual")
    _check_names(figure, kinds)
    if save is not None:
        _check_name(save)
    context = measuring_context(
        labels, judge, default_judge="offline", needs_equal="ragassay calibrate", **options
    )
    aligned = context.only_judge()
    try:
        calibrations = _calibrations(aligned, kinds, folds, draws, seed)
        change = _cut_change(aligned, figure, costs, folds, draws, seed)
    except ValueError as error:
        raise SetupError(
            "E0101",
            "That cannot be calibrated.",
            where=aligned.verdicts.judge,
            why=str(error),
            fix="see docs/trust.md",
        ) from None
    missing = len(context.table) - len(aligned.ratings.score)
    result = CalibrationResult(
        aligned.verdicts.judge, missing, calibrations, change, _note(aligned)
    )
    if save is None:
        return result
    from ragassay.trust.measure.calibrated_judges import save_map

    return replace(result, saved=save_map(context, aligned, calibrations, save, folds, draws, seed))


def present_cut(judge: Aligned) -> float:
    """The cut that the judge has now, on the scale of its score in [0, 1] where it has one."""
    import numpy as np

    if judge.cut is not None:
        return float(judge.cut)
    # The metric's own verdict is no cut on its score; the lowest score that passes is the nearest
    # thing to one.
    score = scores_of(judge)
    passing = score[judge.ratings.passes]
    # Where nothing passes, the cut is just above the highest score.
    return float(passing.min()) if len(passing) else float(np.nextafter(score.max(), np.inf))


def scores_of(judge: Aligned) -> FloatArray:
    """The judge's scores, from 0 to 1 where it has such ones."""
    ratings = judge.ratings
    return ratings.score if ratings.unit is None else ratings.unit


def _check_names(figure: str, kinds: Sequence[str]) -> None:
    from ragassay.scoring import coefficients

    if figure != "cost" and figure not in coefficients.BINARY:
        raise SetupError(
            "E0101",
            f"No cut can be chosen by {figure!r}.{nearest(figure, coefficients.BINARY)}",
            where="--figure",
            fix=f"cost, or one of {', '.join(coefficients.BINARY)}",
        )
    for kind in kinds:
        if kind not in KINDS:
            raise SetupError(
                "E0101",
                f"No map is called {kind!r}.{nearest(kind, KINDS)}",
                where="--kind",
                fix=f"one of {', '.join(KINDS)}",
            )


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}", name):
        raise SetupError(
            "E0101",
            "A judge's name is letters, digits, dots, dashes and underlines.",
            where="--save",
            why=shorten(name, 60),
            fix="such as --save support",
        )


def _calibrations(
    judge: Aligned, kinds: Sequence[str], folds: int, draws: int, seed: int
) -> tuple[Calibration, ...]:
    """One a kind of map; beta calibration only where scores are probabilities."""
    from ragassay.scoring import calibration

    calibrations = []
    for kind in kinds:
        # Its features are log(score) and log(1 - score).
        if kind == "beta" and judge.ratings.unit is None:
            continue
        measured = calibration.calibrate(
            scores_of(judge),
            judge.ratings.truth,
            judge.ratings.cluster,
            kind=kind,  # type: ignore[arg-type]
            cut=present_cut(judge),
            folds=folds,
            draws=draws,
            seed=seed,
        )
        calibrations.append(measured)
    return tuple(calibrations)


def _cut_change(
    judge: Aligned, figure: str, costs: tuple[float, float], folds: int, draws: int, seed: int
) -> CutChange:
    from ragassay.scoring import calibration

    return calibration.change_cut(
        scores_of(judge),
        judge.ratings.truth,
        present_cut(judge),
        judge.ratings.cluster,
        figure=figure,
        costs=costs,
        folds=folds,
        draws=draws,
        seed=seed,
    )


def _note(judge: Aligned) -> str:
    """What to beware of in the result, "" for nothing."""
    notes = []
    if judge.ratings.unit is None:
        notes.append("the scores are no probabilities: beta calibration is left out")
    passes_by_cut = scores_of(judge) >= present_cut(judge)
    if bool((passes_by_cut != judge.ratings.passes).any()):
        notes.append(
            "the judge's own verdict is no cut on its score: its lowest passing score stands for it"
        )
    return "; ".join(notes)
