"""The certificate: whether a candidate truly betters the aim, on rows that nothing has seen.

The aim's value of the candidate's table less that of the baseline's is tested twice, one-sided,
and the larger p counts:

- The verdicts of baseline and candidate are swapped in whole clusters, all ways or many at random
  (Fisher's randomisation): exact in any number of clusters where the two are exchangeable. Where
  every row is its own cluster and both errors cost the same, this is McNemar's exact test.
- Student's t on the cluster jackknife of the difference, with Kish's effective clusters less one
  degrees of freedom. It holds where the two err differently, as a stricter judge does, and where
  clusters differ much in size; there the swaps alone pass about 3 % of nulls at 2.5 %.

Up to three finalists are tested once, with Holm's correction. They come in the order of their
validation value, fixed before the sealed rows are opened: the first one that is certified is
shipped, and where none is, the first one's gain is printed. So no gain is printed for having been
the largest on the sealed rows. What is left of the winner's curse (a later finalist is looked at
only where the earlier ones fell short) is estimated and taken off, see `_selection_bias`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragassay.core import Interval
from ragassay.scoring import bootstrap, coefficients, holm, t_p_value, t_quantile
from ragassay.scoring.agreement import auc
from ragassay.scoring.arrays import numbered
from ragassay.scoring.detection import d_prime
from ragassay.scoring.intervals import incomplete_beta
from ragassay.tuning.aim import Aim, Kept
from ragassay.tuning.values import Answers, BoolArray, FloatArray, IntArray

LEVEL = 0.025
"""One-sided error of the whole certificate, over all finalists."""
MOST_FINALISTS = 3
DRAWS = 9_999
ALL_SWAPS = 12
"""Differing clusters up to which every way to swap them is gone through."""
LOST_COVERAGE = 0.02
"""Share of rows that a candidate may leave unjudged beyond the baseline."""
SHOWN = (
    "precision",
    "recall",
    "f1",
    "accuracy",
    "balanced_accuracy",
    "kappa",
    "mcc",
    "specificity",
    "pass_rate",
)
"""Figures of pass or fail that are printed before and after; d' and AUC join them."""
BLOCK = 2_000_000
"""Signs of clusters in memory at a time."""
_NOISE = 1e-12
_WORLDS = 2_000
"""Simulated openings of the sealed part by which the bias of picking a finalist is estimated."""
Value = Callable[[FloatArray], FloatArray]
"""Tables (..., 4) -> a number of each."""


@dataclass(frozen=True, slots=True)
class Gain:
    """The difference of the aim's value, candidate less baseline, on the same rows.

    before, after: the value. difference: after - before. interval: 95 %, by the cluster jackknife;
    None with fewer than two clusters. p: one-sided, of a difference of 0 or less.
    """

    before: float
    after: float
    difference: float
    interval: Interval | None
    p: float
    method: str


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A figure that was to be kept: what it fell by, and the most that it may have fallen by."""

    figure: str
    margin: float
    before: float
    after: float
    low: float
    holds: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """One judge on the sealed rows. table: tp, fp, fn, tn, where an undecided row is half of two.
    figures: name -> value, None where it is not defined; those of `SHOWN`, then "d_prime" and
    "auc".
    """

    table: tuple[float, float, float, float]
    figures: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Finalist:
    """One candidate and its result.

    rows: judged by it and by the baseline; gain: over these. p: Holm-corrected. mark: the marked
    figure's value, None without a mark; mark_interval: of that, 95 %. objections: why it is not
    certified, in words; () where it is.
    """

    name: str
    rows: int
    clusters: int
    before: Judged
    after: Judged
    gain: Gain
    p: float
    kept: tuple[KeptResult, ...]
    mark: float | None
    objections: tuple[str, ...]
    mark_interval: Interval | None = None

    @property
    def certified(self) -> bool:
        return not self.objections


@dataclass(frozen=True, slots=True)
class Certification:
    """All finalists, in the order of their validation values.

    chosen: place of the one to ship, None where none is certified. printed: place of the one whose
    gain is printed, the chosen or else the first. gain: its difference less `bias`, the expected
    excess of having been picked. recut: the baseline at another cut, on the same rows.
    """

    level: float
    finalists: tuple[Finalist, ...]
    chosen: int | None
    printed: int
    gain: float
    bias: float
    recut: Finalist | None = None

    @property
    def share_by_recut(self) -> float | None:
        """How much of the finalist's gain on these rows another cut alone reaches; None without a
        gain or a cut.
        """
        whole = self.finalists[self.printed].gain.difference
        if self.recut is None or whole <= _NOISE:
            return None
        return self.recut.gain.difference / whole


def certify(
    aim: Aim,
    truth: BoolArray,
    cluster: IntArray,
    baseline: Answers,
    finalists: Sequence[tuple[str, Answers]],
    *,
    recut: BoolArray | None = None,
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Certification:
    """Test the finalists against the baseline on the sealed rows.

    truth, cluster, answers: of the same rows in the same order. finalists: (name, answers), at most
    three, the most promising first by rows other than these. recut: the baseline's verdicts at a
    cut found on other rows; it is compared, not tested. Raises ValueError without finalists or
    with more than three.
    """
    if not 1 <= len(finalists) <= MOST_FINALISTS:
        raise ValueError(f"one to {MOST_FINALISTS} finalists are certified, not {len(finalists)}")
    pairs = []
    for _, answers in finalists:
        pairs.append(Pair.of(truth, cluster, baseline, answers))
    gains = [gain_of(aim, pair, draws=draws, seed=seed) for pair in pairs]
    corrected = holm([gain.p for gain in gains])
    results = []
    for (name, answers), pair, gain, p in zip(finalists, pairs, gains, corrected, strict=True):
        judged = (_judged(truth, baseline, pair.rows), _judged(truth, answers, pair.rows))
        lost = float((baseline.judged & ~answers.judged).mean())
        results.append(_finalist(aim, name, pair, gain, p, level, judged, lost))
    chosen = next((i for i, result in enumerate(results) if result.certified), None)
    printed = 0 if chosen is None else chosen
    bias = selection_bias(aim, pairs, gains, level, seed)
    compared = None
    if recut is not None:
        answers = Answers(baseline.score, recut & baseline.judged)
        pair = Pair.of(truth, cluster, baseline, answers)
        gain = gain_of(aim, pair, draws=draws, seed=seed)
        judged = (_judged(truth, baseline, pair.rows), _judged(truth, answers, pair.rows))
        compared = _finalist(aim, "re-cut", pair, gain, gain.p, level, judged, 0.0)
    return Certification(
        level=level,
        finalists=tuple(results),
        chosen=chosen,
        printed=printed,
        gain=gains[printed].difference - bias,
        bias=bias,
        recut=compared,
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """Binary tables of baseline and candidate by cluster, (clusters, 4) each, over the rows that
    both judged; rows: which of all rows these are. A cluster none of whose rows both judged has
    empty tables, so that all finalists have the same clusters.
    """

    baseline: FloatArray
    candidate: FloatArray
    rows: BoolArray

    @classmethod
    def of(cls, truth: BoolArray, cluster: IntArray, baseline: Answers, candidate: Answers) -> Pair:
        """The tables of two judges on the same rows."""
        both = baseline.judged & candidate.judged
        place = numbered(cluster)
        tables = np.zeros((2, int(place.max(initial=-1)) + 1, 4))
        for table, answers in zip(tables, (baseline, candidate), strict=True):
            np.add.at(table, place[both], answers.cells(truth)[both])
        return cls(tables[0], tables[1], both)

    @property
    def filled(self) -> BoolArray:
        """Which clusters have rows."""
        return np.asarray(self.baseline.sum(1) > 0, dtype=np.bool_)

    @property
    def clusters(self) -> int:
        return int(self.filled.sum())

    @property
    def freedom(self) -> float:
        """Kish's effective clusters less one, at least 1."""
        return max(1.0, bootstrap.effective(self.baseline.sum(1)) - 1)


def gain_of(aim: Aim, pair: Pair, *, draws: int = DRAWS, seed: int = 0) -> Gain:
    """The gain of a candidate in the aim's value, with its interval and one-sided p."""
    before = float(aim.value(pair.baseline.sum(0)))
    after = float(aim.value(pair.candidate.sum(0)))
    difference = after - before
    if pair.clusters < 2 or difference <= _NOISE:
        # No gain needs no test; with one cluster nothing can be said of others.
        interval = _interval(difference, jackknife(aim.value, pair), pair)
        return Gain(before, after, difference, interval, 1.0, "no gain to test")
    p_swap, how = _swaps(aim, pair, difference, draws, seed)
    error = jackknife(aim.value, pair)
    p = max(p_swap, _t_tail(difference, error, pair))
    method = f"{how}; cluster jackknife t"
    return Gain(before, after, difference, _interval(difference, error, pair), p, method)


def influence(value: Value, pair: Pair) -> FloatArray:
    """(clusters,) what each cluster adds to a difference of values of tables, by leaving it out;
    the square root of the sum of squares is the difference's standard error.
    """
    out = np.zeros(len(pair.baseline))
    filled, clusters = pair.filled, pair.clusters
    if clusters < 2:
        return out
    first, second = pair.baseline.sum(0), pair.candidate.sum(0)
    left_out = value(second - pair.candidate[filled]) - value(first - pair.baseline[filled])
    out[filled] = math.sqrt((clusters - 1) / clusters) * (left_out.mean() - left_out)
    return out


def jackknife(value: Value, pair: Pair) -> float:
    """Standard error of a difference of values of tables; NaN with fewer than two clusters."""
    if pair.clusters < 2:
        return math.nan
    return float(np.sqrt((influence(value, pair) ** 2).sum()))


def _t_tail(difference: float, error: float, pair: Pair) -> float:
    """P(T >= difference / error)."""
    if error <= _NOISE:
        # All clusters gain the same: the sign test.
        return 0.5**pair.clusters if difference > 0 else 1.0
    half = t_p_value(difference / error, pair.freedom) / 2
    return half if difference > 0 else 1 - half


def _interval(difference: float, error: float, pair: Pair) -> Interval | None:
    if not math.isfinite(error):
        return None
    reach = t_quantile(0.975, pair.freedom) * error
    return Interval(difference - reach, difference + reach, 0.95, "cluster jackknife t")


def _swaps(aim: Aim, pair: Pair, observed: float, draws: int, seed: int) -> tuple[float, str]:
    """One-sided p of swapping verdicts in whole clusters, and how it was found."""
    change = pair.candidate - pair.baseline
    change = change[np.abs(change).sum(1) > 0]
    if _is_count(aim) and _is_of_single_rows(pair):
        return _mcnemar(change), "McNemar, exact and one-sided"
    every = len(change) <= ALL_SWAPS
    swapped = _all_swaps(change) if every else _random_swaps(change, draws, seed)
    both = (pair.baseline + pair.candidate).sum(0)
    gains = aim.value((both + swapped) / 2) - aim.value((both - swapped) / 2)
    as_large = int((gains >= observed - _NOISE).sum())
    if every:
        return as_large / len(swapped), "all swaps of clusters"
    # The verdicts as they are count as one of the draws.
    return (as_large + 1) / (draws + 1), f"{draws:,} random swaps of clusters"


def _is_count(aim: Aim) -> bool:
    """Whether a gain is a number of rows judged right more."""
    equal = aim.figure == "cost" and aim.false_pass == aim.false_fail
    return aim.mark is None and (equal or aim.figure == "accuracy")


def _is_of_single_rows(pair: Pair) -> bool:
    """Whether each cluster is one row, and each row is right or wrong and nothing between."""
    tables = np.stack([pair.baseline, pair.candidate])
    is_whole = np.isin(tables, (0.0, 1.0)).all()
    return bool(is_whole and (tables.sum(-1) <= 1).all())


def _mcnemar(change: FloatArray) -> float:
    """P(as many wins or more) where each differing row is a fair coin."""
    better = change[:, 0] + change[:, 3] > 0
    n, wins = len(change), int(better.sum())
    if wins == 0:
        return 1.0
    # P(X >= wins) of n fair coins.
    return incomplete_beta(wins, n - wins + 1, 0.5)


def _all_swaps(change: FloatArray) -> FloatArray:
    """(2^clusters, 4) the tables' difference for every way to swap."""
    clusters = len(change)
    bits = (np.arange(2**clusters)[:, None] >> np.arange(clusters)) & 1
    return np.asarray((1.0 - 2.0 * bits) @ change, dtype=np.float64)


def _random_swaps(change: FloatArray, draws: int, seed: int) -> FloatArray:
    """(draws, 4) the tables' difference for random swaps, the same for the same arguments."""
    rng = np.random.default_rng(seed)
    swapped = np.empty((draws, change.shape[1]))
    block = max(1, BLOCK // len(change))
    for start in range(0, draws, block):
        part = swapped[start : start + block]
        bits = rng.integers(0, 2, (len(part), len(change)), dtype=np.int8)
        part[:] = (1.0 - 2.0 * bits) @ change
    return swapped


# ---- the honest gain ----


def selection_bias(
    aim: Aim, pairs: Sequence[Pair], gains: Sequence[Gain], level: float = LEVEL, seed: int = 0
) -> float:
    """By how much the gain of the finalist that is printed exceeds its true gain on average.

    The sealed rows are drawn anew as normal noise with the finalists' own covariance around their
    gains, halfway drawn to their mean, and the printed one is picked as `certify` does. By
    simulation (benchmarks/optimise) this leaves less than .003 of a bias of up to .015. It is the
    mean over all runs, certified or not; for one finalist it is 0.
    """
    if len(gains) < 2:
        return 0.0
    effects = np.stack([influence(aim.value, pair) for pair in pairs])
    error = np.sqrt((effects**2).sum(1))
    if not (error > _NOISE).all():
        return 0.0
    seen = np.array([gain.difference for gain in gains])
    centre = (seen + seen.mean()) / 2
    # A cluster's effect times normal noise has the covariance of the jackknife.
    draws = np.random.default_rng(seed).normal(size=(_WORLDS, effects.shape[1]))
    noise = draws @ effects.T
    limits = []
    for finalists in range(len(gains), 0, -1):
        limits.append(t_quantile(1 - level / finalists, pairs[0].freedom))
    picked = _picked((centre + noise) / error, np.array(limits))
    return float(noise[np.arange(_WORLDS), picked].mean())


def _picked(t: FloatArray, limits: FloatArray) -> IntArray:
    """(worlds,) the finalist whose gain is printed: the first that Holm's correction passes, else
    the first. t: (worlds, finalists); limits: of the largest t, the second largest ...
    """
    order = np.argsort(-t, axis=1)
    beyond = np.take_along_axis(t, order, 1) > limits
    passed = np.zeros_like(beyond)
    # Holm stops at the first that fails.
    np.put_along_axis(passed, order, np.logical_and.accumulate(beyond, axis=1), 1)
    return np.where(passed.any(1), passed.argmax(1), 0)


# ---- one finalist ----


def _finalist(
    aim: Aim,
    name: str,
    pair: Pair,
    gain: Gain,
    p: float,
    level: float,
    judged: tuple[Judged, Judged],
    lost: float,
) -> Finalist:
    """lost: share of all rows that it leaves without a verdict and the baseline does not."""
    kept = tuple(_kept(one, pair, level) for one in aim.kept)
    mark = None
    if aim.mark is not None:
        mark = _number(coefficients.binary(aim.mark.figure, pair.candidate.sum(0)))
    objections = []
    if p > level:
        objections.append(f"the gain may be chance (p {p:.3f}, at most {level:g} is asked)")
    for one in kept:
        if not one.holds:
            objections.append(
                f"{one.figure} may have fallen by {-one.low:.3f}; less than {one.margin:g} is asked"
            )
    if aim.mark is not None and (mark is None or mark < aim.mark.at_least):
        shown = "not defined" if mark is None else f"{mark:.3f}"
        objections.append(f"{aim.mark.figure} is {shown}; {aim.mark.at_least:g} is asked")
    if lost > LOST_COVERAGE:
        objections.append(f"it gives no verdict on {lost:.1%} of the rows that the baseline judges")
    return Finalist(
        name=name,
        rows=int(pair.rows.sum()),
        clusters=pair.clusters,
        before=judged[0],
        after=judged[1],
        gain=gain,
        p=p,
        kept=kept,
        mark=mark,
        objections=tuple(objections),
        mark_interval=_mark_interval(aim, pair, mark),
    )


def _mark_interval(aim: Aim, pair: Pair, mark: float | None) -> Interval | None:
    """How sure the marked figure of the candidate is, by the cluster jackknife."""
    tables = pair.candidate[pair.filled]
    clusters = len(tables)
    if aim.mark is None or mark is None or clusters < 2:
        return None
    left_out = np.nan_to_num(coefficients.binary(aim.mark.figure, tables.sum(0) - tables))
    spread = float(((left_out - left_out.mean()) ** 2).sum())
    return _interval(mark, math.sqrt((clusters - 1) / clusters * spread), pair)


def _kept(kept: Kept, pair: Pair, level: float) -> KeptResult:
    """Non-inferiority: the lower end of the change must lie above minus the margin."""

    def value(table: FloatArray) -> FloatArray:
        return np.nan_to_num(coefficients.binary(kept.figure, table))

    before, after = (float(value(side.sum(0))) for side in (pair.baseline, pair.candidate))
    error = jackknife(value, pair)
    low = -math.inf
    if math.isfinite(error):
        low = after - before - t_quantile(1 - level, pair.freedom) * error
    return KeptResult(kept.figure, kept.margin, before, after, low, low > -kept.margin)


def _judged(truth: BoolArray, answers: Answers, rows: BoolArray) -> Judged:
    table = answers.cells(truth)[rows].sum(0)
    figures = {name: _number(coefficients.binary(name, table)) for name in SHOWN}
    figures["d_prime"] = d_prime(table)
    figures["auc"] = auc(truth[rows], answers.score[rows])
    tp, fp, fn, tn = (_count(cell) for cell in table.tolist())
    return Judged((tp, fp, fn, tn), figures)


def _count(cell: float) -> float:
    """Rows of a cell, a whole number wherever it is one."""
    return int(cell) if cell == int(cell) else cell


def _number(value: FloatArray) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
