"""What can be made of judges that were set beside human labels: calibration, panels, cascades; and
do they repeat themselves?

All take labels and judges as `ragassay.benchmark` does: judges are recorded ones, or are asked now
and cached.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.core import DataError, SetupError, Verdict, nearest
from ragassay.trust.measure.benchmarks import Gathered, gather
from ragassay.trust.option_checks import check, check_costs, check_cuts, check_draws

if TYPE_CHECKING:
    from ragassay.core import Figure
    from ragassay.scoring.calibration import Calibration, CutChange
    from ragassay.scoring.panels import Panel, Repeatability
    from ragassay.scoring.selective import Guarantee
    from ragassay.trust.comparison import Aligned


KINDS = ("platt", "isotonic", "beta")
MOST_SAMPLES = 100


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A judge's scores mapped to probabilities, out-of-fold, and whether another cut would be
    better. missing: rows of the labels that the judge has no verdict for. calibrations: one a kind
    of map.
    """

    judge: str
    missing: int
    calibrations: tuple[Calibration, ...]
    change: CutChange
    note: str = ""


@dataclass(frozen=True, slots=True)
class Cascaded:
    """From which confidence on the cheap judge may answer alone. uri: what to name as --judge, ""
    where nothing is certified or no judge is behind a recorded name. accuracy: share of rows on
    which the whole cascade agrees with people, where the expensive judge's verdicts are there as
    well; expensive: that one alone, on the same rows. All are of the rows that the threshold was
    chosen on. answered: agreement on the rows that the cheap judge answers; overall: on all rows.
    cheap_uri: "cascade:" and the cheap judge's own, "" for a recorded one.
    """

    cheap: str
    guarantee: Guarantee
    uri: str = ""
    accuracy: float | None = None
    expensive: float | None = None
    rows: int = 0
    answered: Figure | None = None
    overall: float = 0.0
    cheap_uri: str = ""


def calibrate(
    labels: object,
    judge: str = "offline",
    *,
    kinds: Sequence[str] = KINDS,
    figure: str = "kappa",
    costs: tuple[float, float] = (1.0, 1.0),
    cut: float | None = None,
    judge_cut: float | None = None,
    folds: int = 5,
    draws: int = 2000,
    seed: int = 0,
    **options: Any,
) -> Calibrated:
    """Map one judge's scores to probabilities by each of `kinds`, and try the cut that is best by
    `figure`.

    Everything is out-of-fold, folds by cluster; a new cut is tested on rows that it was not chosen
    on. costs: of a wrong pass and a wrong fail, for figure "cost". cut, judge_cut and options: as
    for `ragassay.benchmark`. Raises SetupError E0101 for a figure or kind that is none, E0205 where
    several judges are named.
    """
    from ragassay.scoring import calibration, coefficients

    check_draws(draws, seed)
    check_costs(*costs)
    check("--folds", folds, 2, 1000, "5 is usual")
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
    held, one = _one(labels, judge, cut, judge_cut, draws, options)
    ratings = one.ratings
    score = ratings.score if ratings.unit is None else ratings.unit
    old = _old_cut(one)
    try:
        made = tuple(
            calibration.calibrate(
                score,
                ratings.truth,
                ratings.cluster,
                kind=kind,  # type: ignore[arg-type]
                cut=old,
                folds=folds,
                draws=draws,
                seed=seed,
            )
            for kind in kinds
            if kind != "beta" or ratings.unit is not None
        )
        change = calibration.change_cut(
            score,
            ratings.truth,
            old,
            ratings.cluster,
            figure=figure,
            costs=costs,
            folds=folds,
            draws=draws,
            seed=seed,
        )
    except ValueError as error:
        raise SetupError(
            "E0101",
            "That cannot be calibrated.",
            where=one.verdicts.judge,
            why=str(error),
            fix="see docs/trust.md",
        ) from None
    notes = (
        []
        if ratings.unit is not None
        else ["the scores are no probabilities: beta calibration is left out"]
    )
    if bool(((score >= old) != ratings.passes).any()):
        notes.append(
            "the judge's own verdict is no cut on its score: its lowest passing score stands for it"
        )
    note = "; ".join(notes)
    return Calibrated(one.verdicts.judge, len(held.labelled) - len(score), made, change, note)


def panel(
    labels: object,
    judges: str | Sequence[str],
    *,
    cut: float | None = None,
    judge_cut: float | None = None,
    draws: int = 2000,
    seed: int = 0,
    **options: Any,
) -> Panel:
    """Several judges as one: how far their errors go together, and whether their majority beats the
    best of them.

    Over the rows that all of them judged. options: as for `ragassay.benchmark`. Raises SetupError
    E0205 for fewer than two judges, DataError E0315 where no row was judged by all.
    """
    import numpy as np

    from ragassay.scoring import panels

    check_draws(draws, seed)
    held = gather(labels, judges, **options)
    least, aligned = _aligned(held, cut, judge_cut)
    if len(aligned) < 2:
        raise SetupError(
            "E0205",
            "A panel takes two judges or more.",
            where="--judge",
            why=str(judges),
            fix="such as --judge recorded:a,b,c",
        )
    n = len(held.labelled)
    verdicts, scores = np.full((n, len(aligned)), np.nan), np.full((n, len(aligned)), np.nan)
    for column, one in enumerate(aligned):
        verdicts[one.at, column] = one.ratings.passes
        if one.ratings.unit is not None:
            scores[one.at, column] = one.ratings.unit
    try:
        return panels.panel(
            verdicts,
            held.labelled.label >= least,
            [one.verdicts.judge for one in aligned],
            held.labelled.cluster,
            scores=scores if all(one.ratings.unit is not None for one in aligned) else None,
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


def cascade(
    labels: object,
    cheap: str = "offline",
    *,
    expensive: str | None = None,
    agreement: float = 0.9,
    confidence: float = 0.9,
    cut: float | None = None,
    judge_cut: float | None = None,
    **options: Any,
) -> Cascaded:
    """Certify from which confidence on a cheap judge's verdict may be taken.

    agreement: share of the rows it answers on which it has to agree with people; confidence: how
    sure that has to be. expensive: the judge of the other rows, asked or recorded, to say how good
    the whole is. A judge that was run is as confident of a row as of its least sure verdict; a
    recorded one by how far its score is from its cut. options: as for `ragassay.benchmark`.
    """
    import numpy as np

    from ragassay.core import Figure
    from ragassay.scoring import selective
    from ragassay.scoring.intervals import MeanAccumulator

    for where, value in (("--agreement", agreement), ("--confidence", confidence)):
        check(where, value, 0.001, 0.9999, "such as 0.9")
    names = cheap if expensive is None else [cheap, expensive]
    held = gather(labels, names, **options)
    _, aligned = _aligned(held, cut, judge_cut)
    if len(aligned) != (1 if expensive is None else 2):
        raise SetupError(
            "E0205",
            "A cascade has one cheap judge, and one expensive one at most.",
            where="--judge",
            why=", ".join(one.verdicts.judge for one in aligned),
            fix="name one judge for each",
        )
    first = aligned[0]
    sure = _sureness(first)
    right = first.ratings.passes == first.ratings.truth
    found = selective.certify(
        sure, right, first.ratings.cluster, alpha=1 - agreement, delta=1 - confidence
    )
    uri, share, alone, rows = "", None, None, 0
    if expensive is not None:
        last = aligned[1]
        place = {int(row): i for i, row in enumerate(last.at)}
        both = [(i, place[int(row)]) for i, row in enumerate(first.at) if int(row) in place]
        rows = len(both)
        if rows:
            theirs = np.array(
                [bool(last.ratings.passes[j] == last.ratings.truth[j]) for _, j in both]
            )
            taken = np.array(
                [found.threshold is not None and sure[i] >= found.threshold for i, _ in both]
            )
            own = np.array([bool(right[i]) for i, _ in both])
            share, alone = float(np.where(taken, own, theirs).mean()), float(theirs.mean())
        # A distance from a cut is not what a cascade goes by, so such a threshold would promise
        # nothing there.
        known = first.verdicts.confidence is not None and last.verdicts.judge in held.uris
        if found.threshold and known:
            uri = f"cascade:{held.uris[first.verdicts.judge]}>{held.uris[last.verdicts.judge]}@{found.threshold!r}"
    taken = np.zeros(len(sure), bool) if found.threshold is None else sure >= found.threshold
    answered = None
    if taken.any():
        groups = first.ratings.cluster
        codes = np.arange(len(sure)) if groups is None else groups
        mean = MeanAccumulator()
        for value, code in zip(right[taken].tolist(), codes[taken].tolist(), strict=True):
            mean.add(float(value), str(code))
        seen = mean.result()
        answered = Figure("agreement", seen.mean, seen.interval, seen.n)
    own_uri = held.uris.get(first.verdicts.judge, "")
    return Cascaded(
        first.verdicts.judge,
        found,
        uri,
        share,
        alone,
        rows,
        answered,
        float(right.mean()),
        own_uri and f"cascade:{own_uri}",
    )


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
    from ragassay.trust.measure.capped_runs import Series

    if not 2 <= samples <= MOST_SAMPLES:
        raise SetupError(
            "E0101",
            f"To repeat takes 2 to {MOST_SAMPLES} samples.",
            where="--samples",
            why=str(samples),
            fix="leave it out for five",
        )
    check_draws(draws, seed)
    series = Series({**options, "temperature": temperature}, store)
    said: dict[str, list[float]] = {}
    clusters: dict[str, str] = {}
    if isinstance(rows, Iterator):
        rows = list(rows)  # read once a sample
    for sample in range(1, samples + 1):
        with series.run(
            rows, metric, f"sample {sample} of {samples}", judge=judge, sample=sample
        ) as run:
            (name,) = run.manifest.metrics
            for row in run:
                score = row.score(name)
                if row.sample is None or score is None or score.verdict is None:
                    continue
                verdict = {Verdict.PASS: 1.0, Verdict.FAIL: 0.0}.get(score.verdict, float("nan"))
                said.setdefault(row.id, [float("nan")] * samples)[sample - 1] = verdict
                clusters[row.id] = row.sample.cluster or f"\0{row.id}"
    if not said:
        raise DataError(
            "E0315",
            "No row has a verdict to repeat.",
            why=f"{metric} gave none",
            fix="name another metric",
        )
    codes = {name: code for code, name in enumerate(dict.fromkeys(clusters.values()))}
    return panels.repeatability(
        np.array(list(said.values())),
        np.array([codes[clusters[row]] for row in said]),
        draws=draws,
        seed=seed,
    )


# -- one judge, or several, beside the labels


def _one(
    labels: object,
    judge: str,
    cut: float | None,
    judge_cut: float | None,
    draws: int,
    options: dict[str, Any],
) -> tuple[Gathered, Aligned]:
    held = gather(labels, judge, **options)
    _, aligned = _aligned(held, cut, judge_cut)
    if len(aligned) != 1:
        raise SetupError(
            "E0205",
            "One judge is needed here.",
            where="--judge",
            why=", ".join(one.verdicts.judge for one in aligned[:10]),
            fix="name one of them",
        )
    return held, aligned[0]


def _aligned(
    held: Gathered, cut: float | None, judge_cut: float | None
) -> tuple[float, list[Aligned]]:
    """The cut of the labels, and each judge beside them."""
    check_cuts(cut, judge_cut)
    from ragassay.trust.comparison import align, label_cut

    least = label_cut(held.labelled) if cut is None else cut
    found = [align(held.labelled, one, least, judge_cut) for one in held.verdicts]
    for one in found:
        if one.position:
            raise SetupError(
                "E0205",
                f"{one.verdicts.judge} judged pairs in both orders.",
                where="--judge",
                why="each pair has two verdicts here",
                fix="benchmark it: ragassay benchmark",
            )
        if not len(one.at):
            raise DataError(
                "E0315",
                f"{one.verdicts.judge} has no verdict on these rows.",
                fix="name another judge",
            )
    return least, found


def _old_cut(one: Aligned) -> float:
    """The cut that the judge has now, on the scale of its score in [0, 1] where it has one."""
    import numpy as np

    ratings = one.ratings
    score = ratings.score if ratings.unit is None else ratings.unit
    passed = score[ratings.passes]
    if one.cut is not None:
        return float(one.cut)
    # The metric's own verdict is no cut on its score; the lowest score that passes is the nearest
    # thing to one.
    return float(passed.min()) if len(passed) else float(np.nextafter(score.max(), np.inf))


def _sureness(one: Aligned) -> Any:
    """Confidence of each verdict, 0 to 1."""
    import numpy as np

    if one.verdicts.confidence is not None:
        return one.verdicts.confidence[one.at]
    ratings = one.ratings
    score, mark = ratings.score, _old_cut(one) if one.cut is None else one.cut
    above, below = float(score.max()) - mark, mark - float(score.min())
    high = np.where(above > 0, (score - mark) / (above or 1.0), 1.0)
    low = np.where(below > 0, (mark - score) / (below or 1.0), 1.0)
    return np.clip(np.where(ratings.passes, high, low), 0.0, 1.0)


__all__ = ["Calibrated", "Cascaded", "calibrate", "cascade", "panel", "repeat"]
