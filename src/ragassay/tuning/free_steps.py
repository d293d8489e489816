"""Steps that cost no call: another cut of the judge's score, and both orders of a pair.

A cut that is refitted on the rows at hand gains where the old one is far off, and loses elsewhere
what it took from chance. So it is moved only with reason. Where the aim weighs both errors alike, a
wrong cut shows in the rates: the judge then passes more rows, or fewer, than people do. That
difference is known far better than the gain itself. So the cut moves only where the two pass rates
differ beyond chance (90 %, over clusters), only to where the judge passes as nearly as possible as
many rows as people do, and only if that halves the difference and raises the aim's value.

Where the aim does not weigh them alike (a mark, unequal costs, precision) no rate is the right one.
The best cut is taken then, if its gain lies beyond chance at 99 %. The limits were chosen on
recorded judges of mtrag_human and wice, on every other judge of llmjudge_labels and on simulated
ones; benchmarks/optimise reports on the others.

A calibration that maps scores to probabilities rises with the score. It moves the cut of a verdict
and nothing else, so it is no further step here; `ragassay calibrate` fits one for its own sake.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ragassay.scoring import bootstrap, coefficients, t_quantile
from ragassay.scoring.arrays import numbered
from ragassay.scoring.calibration import folds_of
from ragassay.scoring.clusters import FEWEST
from ragassay.tuning.aim import Aim
from ragassay.tuning.certify import Gain, Pair, gain_of
from ragassay.tuning.values import Answers, BoolArray, FloatArray, IntArray

CHANCE = 0.95
"""Quantile of Student's t that the pass rates' difference must exceed, either way."""
CHANCE_OF_GAIN = 0.99
"""Quantile that the gain must exceed where the pass rates say nothing."""
CLOSER = 0.5
"""Share of the pass rates' difference that a new cut may leave."""
MOST_CUTS = 20
FOLDS = 5
_EVEN = ("f1", "kappa", "accuracy", "mcc", "ac1")
"""Figures that are about best where the judge passes as many rows as people do."""
_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class CutStep:
    """What became of the cut: a score of at least it passes.

    old, new: the cuts, equal where it stays. gain: of the aim's value on rows that each cut was not
    chosen on (out-of-fold), None where it could not be had. rows, clusters: judged ones it rests
    on. reason: why the cut moves or stays.
    """

    old: float
    new: float
    gain: float | None
    rows: int
    clusters: int
    reason: str

    @property
    def moved(self) -> bool:
        return self.new != self.old

    def passes(self, answers: Answers) -> BoolArray:
        """Verdicts by the new cut: the judge's own where it stays, and no pass without a score."""
        if not self.moved:
            return answers.passes
        return np.asarray(answers.judged & (np.nan_to_num(answers.score) >= self.new))


@dataclass(frozen=True, slots=True)
class OrderFigures:
    """A judge of pairs that was asked in both orders.

    pairs: those judged in both, of which the figures are. agreed: share of them in which both
    orders name the same winner. right_first: share right of the first order alone; right_agreed: of
    the pairs that are agreed on; right_all: of all pairs by both orders. An undecided pair is half
    right. first_shown: share of winners that were shown first, half without a bias of place. None
    without such pairs.
    """

    pairs: int
    agreed: float | None
    right_first: float | None
    right_agreed: float | None
    right_all: float | None
    first_shown: float | None


@dataclass(frozen=True, slots=True)
class OrdersStep:
    """What asking in both orders gains over the first order alone.

    gain: in the aim's value, over all pairs that both judged. taken: whether it lies beyond chance.
    reason: why it is taken or not, in words.
    """

    figures: OrderFigures
    gain: Gain
    taken: bool
    reason: str


def recut(
    aim: Aim, truth: BoolArray, cluster: IntArray, answers: Answers, cut: float, *, seed: int = 0
) -> CutStep:
    """Choose the cut for the aim on these rows, or leave it as it is; see the module's first lines.

    cut: the present one, on the scale of the scores. The rows are those that may be searched on;
    the step is certified on sealed rows like any other candidate.
    """
    judged = answers.judged
    rows = _Rows(answers.score[judged], truth[judged], numbered(cluster[judged]))
    if rows.clusters < 2 or rows.truth.all() or not rows.truth.any():
        reason = "it stays: rows of both classes in several clusters are needed"
        return CutStep(cut, cut, None, len(rows.truth), rows.clusters, reason)
    new, reason = _choose(aim, rows, cut)
    gain = _out_of_fold(aim, rows, cut, seed)
    return CutStep(cut, new, gain, len(rows.truth), rows.clusters, reason)


def both_orders(truth: BoolArray, first: Answers, swapped: Answers) -> Answers:
    """The verdicts on which both orders agree; a pair is undecided where they do not, and has no
    verdict where it has none in one order.

    truth: whether people prefer what a pass stands for; swapped: the verdicts on the swapped pairs,
    in terms of the pairs as they were.
    """
    both = first.judged & swapped.judged
    agreed = both & _same_winner(first, swapped)
    score = np.full(len(truth), math.nan)
    score[both] = 0.5
    score[agreed] = (first.score[agreed] + swapped.score[agreed]) / 2
    passes = np.where(agreed, first.passes, ~truth) & both
    return Answers(score, passes, first.reasons, undecided=both & ~agreed)


def order_figures(truth: BoolArray, first: Answers, swapped: Answers) -> OrderFigures:
    """How right a judge of pairs is in one order and in both; arguments as for `both_orders`."""
    both = first.judged & swapped.judged
    agreed = both & _same_winner(first, swapped)
    right = _right(truth, first)
    decided = np.stack([_decided(first), _decided(swapped)], 1) & both[:, None]
    # What is shown first in the second order is the pair's second response.
    shown_first = np.stack([first.passes, ~swapped.passes], 1) & decided
    count = decided.sum(1)
    some = count > 0
    return OrderFigures(
        pairs=int(both.sum()),
        agreed=_mean(agreed[both]),
        right_first=_mean(right[both]),
        right_agreed=_mean(right[agreed]),
        right_all=_mean(_right(truth, both_orders(truth, first, swapped))[both]),
        first_shown=_mean(shown_first[some].sum(1) / count[some]),
    )


def orders_step(
    aim: Aim, truth: BoolArray, cluster: IntArray, first: Answers, swapped: Answers
) -> OrdersStep:
    """Whether to ask in both orders, by pairs that may be searched on.

    A judge that abstains where its orders disagree is more often right on what is left. So the gain
    is over all pairs, and an undecided one is half right, as a coin would be. Both orders are then
    as right as the mean of the two alone: they gain where the first order is the worse one. The
    step is certified on sealed pairs like any other candidate.
    """
    figures = order_figures(truth, first, swapped)
    answers = both_orders(truth, first, swapped)
    gain = gain_of(aim, Pair.of(truth, cluster, first, answers))
    taken = gain.p <= 1 - CHANCE
    if taken:
        reason = "over all pairs it gains beyond chance"
    elif gain.difference > _NOISE:
        reason = f"what it gains over all pairs may be chance (p {gain.p:.2f})"
    else:
        reason = "over all pairs it gains nothing"
    return OrdersStep(figures, gain, taken, reason)


def _decided(answers: Answers) -> BoolArray:
    """Where a winner is named."""
    if answers.undecided is None:
        return answers.judged
    return np.asarray(answers.judged & ~answers.undecided)


def _same_winner(first: Answers, swapped: Answers) -> BoolArray:
    named = _decided(first) & _decided(swapped)
    return np.asarray(named & (first.passes == swapped.passes))


def _right(truth: BoolArray, answers: Answers) -> FloatArray:
    """1 where a row is judged right, 0.5 where it is undecided."""
    return np.where(_decided(answers), (answers.passes == truth) * 1.0, 0.5)


def _mean(values: FloatArray | BoolArray) -> float | None:
    return float(values.mean()) if len(values) else None


# ---- the choice of a cut ----


@dataclass(frozen=True, slots=True)
class _Rows:
    """Judged rows; cluster: codes from 0."""

    score: FloatArray
    truth: BoolArray
    cluster: IntArray

    @property
    def clusters(self) -> int:
        return int(self.cluster.max(initial=-1)) + 1

    def part(self, chosen: BoolArray) -> _Rows:
        return _Rows(self.score[chosen], self.truth[chosen], numbered(self.cluster[chosen]))

    def tables(self, cut: float) -> FloatArray:
        """(clusters, 4) the tables at a cut."""
        return coefficients.cluster_tables(self.truth, self.score >= cut, self.cluster)

    @property
    def freedom(self) -> float:
        sizes = np.bincount(self.cluster).astype(np.float64)
        return max(1.0, bootstrap.effective(sizes) - 1)


def _cuts(score: FloatArray) -> FloatArray:
    """Cuts halfway between neighbouring scores, and the lowest; of many scores, quantiles."""
    values = np.unique(score)
    if len(values) > MOST_CUTS:
        return np.unique(np.quantile(score, np.linspace(0, 1, MOST_CUTS + 1)[1:-1]))
    return np.concatenate([values[:1], (values[1:] + values[:-1]) / 2])


def _choose(aim: Aim, rows: _Rows, cut: float) -> tuple[float, str]:
    """The cut, and why."""
    cuts = _cuts(rows.score)
    tables = np.stack([rows.tables(one) for one in cuts])
    present = rows.tables(cut)
    gain, error = _gains(aim, tables, present)
    if _is_even(aim):
        best, why = _by_rates(rows, tables, present)
        if best is None:
            return cut, f"it stays: {why}"
        surplus = gain[best]
    else:
        of_chance = gain - t_quantile(CHANCE_OF_GAIN, rows.freedom) * error
        best, why = int(of_chance.argmax()), "the gain lies beyond chance"
        surplus = of_chance[best]
    if surplus <= _NOISE:
        return cut, "it stays: no other one gains more than chance may"
    few = f"; only {rows.clusters} clusters" if rows.clusters < FEWEST else ""
    return float(cuts[best]), f"it moves: {why}{few}"


def _is_even(aim: Aim) -> bool:
    """Whether both errors weigh alike, so that the pass rates should be alike."""
    if aim.mark is not None or aim.false_pass != aim.false_fail:
        return False
    return aim.figure in _EVEN or aim.figure == "cost"


def _gains(aim: Aim, tables: FloatArray, present: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(cuts,) the gain over the present cut and its standard error by the cluster jackknife."""
    whole, now = tables.sum(1), present.sum(0)
    gain = aim.value(whole) - aim.value(now)
    left_out = aim.value(whole[:, None] - tables) - aim.value(now - present)
    clusters = len(present)
    spread = ((left_out - left_out.mean(1, keepdims=True)) ** 2).sum(1)
    return gain, np.sqrt((clusters - 1) / clusters * spread)


def _by_rates(rows: _Rows, tables: FloatArray, present: FloatArray) -> tuple[int | None, str]:
    """The cut at which the judge passes most nearly as many rows as people do, None where the
    present one may be as near; and the present rates in words.
    """
    # False passes less false fails: what the judge passes more often than people.
    excess = (present[:, 1] - present[:, 2]) / len(rows.truth)
    clusters = len(excess)
    error = math.sqrt(clusters / (clusters - 1) * float(((excess - excess.mean()) ** 2).sum()))
    gap = float(excess.sum())
    people = float(rows.truth.mean())
    rates = f"the judge passes {people + gap:.0%} of the rows, people {people:.0%}"
    if abs(gap) <= t_quantile(CHANCE, rows.freedom) * error:
        return None, f"{rates}, which may be chance"
    whole = tables.sum(1)
    gaps = np.abs(whole[:, 1] - whole[:, 2]) / len(rows.truth)
    best = int(gaps.argmin())
    if gaps[best] >= CLOSER * abs(gap):
        return None, f"{rates}, and no other mark is much nearer"
    return best, rates


def _out_of_fold(aim: Aim, rows: _Rows, cut: float, seed: int) -> float | None:
    """The gain of choosing the cut by this rule, on rows that were not used to choose it."""
    fold = folds_of(rows.cluster, FOLDS, seed)
    passes = np.zeros(len(rows.truth), dtype=bool)
    for number in range(int(fold.max()) + 1):
        test = fold == number
        rest = rows.part(~test)
        chosen = cut
        if rest.clusters >= 2 and rest.truth.any() and not rest.truth.all():
            chosen, _ = _choose(aim, rest, cut)
        passes[test] = rows.score[test] >= chosen
    before = aim.score(rows.truth, rows.score >= cut)
    return aim.score(rows.truth, passes) - before
