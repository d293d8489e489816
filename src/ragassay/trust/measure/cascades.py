"""Cascades of judges: from which confidence on the cheap judge may answer alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragassay.core import Figure, SetupError
from ragassay.trust.measure.calibration import present_cut
from ragassay.trust.measure.context import MeasuringContext, measuring_context
from ragassay.trust.option_checks import check

if TYPE_CHECKING:
    from ragassay.scoring.selective import Guarantee
    from ragassay.trust.alignment import Aligned, BoolArray
    from ragassay.trust.label_table import FloatArray


@dataclass(frozen=True, slots=True)
class CascadeResult:
    """From which confidence on the cheap judge may answer alone.

    uri: what to name as --judge, "" where nothing is certified or no judge is behind a recorded
    name. accuracy: share of rows on which the whole cascade agrees with people, where the expensive
    judge's verdicts are there as well; expensive: that one alone, on the same rows. All are of the
    rows that the threshold was chosen on. answered: agreement on the rows that the cheap judge
    answers; overall: on all rows. cheap_uri: "cascade:" and the cheap judge's own, "" for a
    recorded one.
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


def cascade(
    labels: object,
    cheap: str = "offline",
    *,
    expensive: str | None = None,
    agreement: float = 0.9,
    confidence: float = 0.9,
    **options: Any,
) -> CascadeResult:
    """Certify from which confidence on a cheap judge's verdict may be taken.

    agreement: share of the rows it answers on which it has to agree with people; confidence: how
    sure that has to be. expensive: the judge of the other rows, asked or recorded, to say how good
    the whole is. A judge that was run is as confident of a row as of its least sure verdict; a
    recorded one by how far its score is from its cut. options: as for `ragassay.benchmark`, cut and
    judge_cut included.
    """
    from ragassay.scoring import selective

    for where, value in (("--agreement", agreement), ("--confidence", confidence)):
        check(where, value, 0.001, 0.9999, "such as 0.9")
    names = [cheap] if expensive is None else [cheap, expensive]
    context = measuring_context(labels, names, needs_equal="ragassay cascade", **options)
    aligned = context.aligned()
    if len(aligned) != len(names):
        raise SetupError(
            "E0205",
            "A cascade has one cheap judge, and one expensive one at most.",
            where="--judge",
            why=", ".join(judge.verdicts.judge for judge in aligned),
            fix="name one judge for each",
        )
    first = aligned[0]
    sureness = _sureness(first)
    right = first.ratings.passes == first.ratings.truth
    # alpha: the share of wrong verdicts to stay below; delta: how often the rule may be mistaken.
    guarantee = selective.certify(
        sureness, right, first.ratings.cluster, alpha=1 - agreement, delta=1 - confidence
    )
    taken = _taken(sureness, guarantee.threshold)
    whole = _CascadeAccuracy()
    # Accuracies of the whole are shown beside the guarantee and are no part of it: it holds for the
    # rows that the cheap judge answers alone.
    if expensive is not None:
        whole = _cascade_accuracy(first, aligned[1], right, taken)
    cheap_uri = context.uri(first.verdicts.judge)
    return CascadeResult(
        cheap=first.verdicts.judge,
        guarantee=guarantee,
        uri=_cascade_uri(context, aligned, guarantee),
        accuracy=whole.accuracy,
        expensive=whole.expensive,
        rows=whole.rows,
        answered=_agreement(first, right, taken),
        overall=float(right.mean()),
        cheap_uri=f"cascade:{cheap_uri}" if cheap_uri else "",
    )


def _taken(sureness: FloatArray, threshold: float | None) -> BoolArray:
    """The rows that the cheap judge answers alone."""
    import numpy as np

    if threshold is None:
        return np.zeros(len(sureness), bool)
    taken: BoolArray = sureness >= threshold
    return taken


@dataclass(frozen=True, slots=True)
class _CascadeAccuracy:
    """Agreement with people on the rows that both judges judged; None where there is no such row.

    accuracy: of the whole cascade; expensive: of the expensive judge alone.
    """

    rows: int = 0
    accuracy: float | None = None
    expensive: float | None = None


def _cascade_accuracy(
    first: Aligned, last: Aligned, right: BoolArray, taken: BoolArray
) -> _CascadeAccuracy:
    """right, taken: of the cheap judge, over its own rows."""
    import numpy as np

    _, ours, theirs = np.intersect1d(first.at, last.at, return_indices=True)
    # Means do not depend on the order of the rows: they count rights.
    if not len(ours):
        return _CascadeAccuracy()
    last_right = (last.ratings.passes == last.ratings.truth)[theirs]
    whole_right = np.where(taken[ours], right[ours], last_right)
    return _CascadeAccuracy(len(ours), float(whole_right.mean()), float(last_right.mean()))


def _cascade_uri(context: MeasuringContext, aligned: list[Aligned], guarantee: Guarantee) -> str:
    """The certified cascade as a judge, "" where there is none.

    A recorded judge is as sure as its score is far from a cut, which is not what a cascade goes by:
    such a threshold would promise nothing there.
    """
    # At a threshold of 0 the cheap judge answers every row: there is nothing to hand on.
    if len(aligned) < 2 or not guarantee.threshold:
        return ""
    first, last = aligned
    cheap = context.uri(first.verdicts.judge)
    expensive = context.uri(last.verdicts.judge)
    if first.verdicts.confidence is None or not expensive:
        return ""
    # All digits: a rounded threshold would let in rows that nothing was certified for.
    return f"cascade:{cheap}>{expensive}@{guarantee.threshold!r}"


def _agreement(judge: Aligned, right: BoolArray, taken: BoolArray) -> Figure | None:
    """Agreement with people on the rows that are taken; None where none is."""
    import numpy as np

    from ragassay.scoring.intervals import MeanAccumulator

    if not taken.any():
        return None
    clusters = judge.ratings.cluster
    # Without clusters each row is one of its own.
    codes = np.arange(len(taken)) if clusters is None else clusters
    accumulator = MeanAccumulator()
    for value, code in zip(right[taken].tolist(), codes[taken].tolist(), strict=True):
        accumulator.add(float(value), str(code))
    mean = accumulator.result()
    return Figure("agreement", mean.mean, mean.interval, mean.n)


def _sureness(judge: Aligned) -> FloatArray:
    """Confidence of each verdict, 0 to 1.

    The judge's own where it has one; else how far the score is from the cut, as a share of the
    farthest on its side.
    """
    import numpy as np

    if judge.verdicts.confidence is not None:
        return judge.verdicts.confidence[judge.at]
    score = judge.ratings.score
    cut = present_cut(judge) if judge.cut is None else judge.cut
    above = float(score.max()) - cut
    below = cut - float(score.min())
    # A side without scores has no farthest one; `where` still computes the share that it drops.
    high = np.where(above > 0, (score - cut) / (above or 1.0), 1.0)
    low = np.where(below > 0, (cut - score) / (below or 1.0), 1.0)
    sureness: FloatArray = np.clip(np.where(judge.ratings.passes, high, low), 0.0, 1.0)
    return sureness
