"""Repeated judgments and panels of judges: flip rate, shared errors, the vote against its best
member.

Verdicts are a matrix: rows x samples of one judge, or rows x judges, 1 = pass, 0 = fail, NaN =
lost. A lost verdict is counted and never filled in.

Judges that err on the same rows are fewer than they look. With the mean correlation rho of their
errors (phi of the error indicators), n judges are worth n / (1 + (n - 1) rho) independent ones,
Kish's design effect (1965) with judges for rows; by the eigenvalues of the correlation matrix, (sum
l)^2 / sum l^2, the participation ratio (Bretherton et al. 1999). Condorcet: what the majority would
reach if errors were independent given people's label, each judge with its own shares of passes and
of fails judged right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragassay.core import Figure, Interval
from ragassay.scoring import bootstrap
from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray, numbered
from ragassay.scoring.calibration import folds_of
from ragassay.scoring.clusters import few_clusters_note, row_clusters
from ragassay.scoring.intervals import LEVEL, MeanAccumulator, PairedResult, paired_difference

_BLOCK = 250
"""Draws in memory at a time."""
_MOST_GROUPS = 2000
"""More clusters than this are drawn in random groups of them: the spread is the same, and memory is
bounded.
"""


@dataclass(frozen=True, slots=True)
class Repeatability:
    """How far k samples of the same judgments agree.

    n: rows with at least two verdicts, over which the figures are; alone: rows with fewer. lost:
    verdicts that are missing, of rows x k. flip_rate: share of rows whose verdicts are not
    unanimous. two_differ: chance that two samples of a row differ. kappa: between samples,
    chance-corrected (Fleiss 1971; with gaps as Gwet 2014). gain: share of rows right by one sample
    (a) and by the majority of the row's samples (b, ties half), paired; None without people's
    labels.
    """

    samples: int
    n: int
    alone: int
    clusters: int
    lost: int
    flip_rate: Figure
    two_differ: Figure
    kappa: Figure
    gain: PairedResult | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to one verdict. accuracy, kappa: against people. gain: share right by the best single
    judge (a) and by this rule (b), paired; interval and p hold for the comparison with every judge
    at once (Bonferroni), so also with the best.
    """

    name: str
    accuracy: float
    kappa: float | None
    gain: PairedResult


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel against people.

    n: rows that all judges judged and people labelled; dropped: the rest. accuracies: of each
    judge. best: the judge that is best on all rows. correlation[i][j]: phi of the errors, None
    where a judge is always right or always wrong. mean_correlation, effective: with intervals from
    bootstrapped clusters; effective_eigen: by eigenvalues. rules: "majority" (ties half), "mean" of
    the scores where they were given, and "weighted" by log-odds of being right, learned on the
    other folds. independent: accuracy of the majority if errors were independent given the label;
    real: what it is.
    """

    judges: tuple[str, ...]
    n: int
    dropped: int
    clusters: int
    accuracies: tuple[float, ...]
    best: str
    correlation: tuple[tuple[float | None, ...], ...]
    mean_correlation: Figure
    effective: Figure
    effective_eigen: float | None
    rules: tuple[Rule, ...]
    independent: float
    real: float


def repeatability(
    verdicts: FloatArray,
    cluster: IntArray | None = None,
    truth: BoolArray | None = None,
    *,
    draws: int = 2000,
    seed: int = 0,
) -> Repeatability:
    """The figures of a (rows, k) matrix; see `Repeatability`. Raises ValueError for a value that is
    none of 0, 1 and NaN.
    """
    _check(verdicts)
    present = ~np.isnan(verdicts)
    size = present.sum(1)
    usable = size >= 2
    groups = row_clusters(cluster, len(verdicts))[usable]
    m = size[usable].astype(np.float64)
    passes = np.where(present, verdicts, 0.0).sum(1)[usable]
    split = (passes > 0) & (passes < m)
    # Of the m (m - 1) ordered pairs of a row's samples, those of a pass and a fail.
    differ = 2 * passes * (m - passes) / np.maximum(m * (m - 1), 1)
    return Repeatability(
        samples=verdicts.shape[1],
        n=int(usable.sum()),
        alone=int((~usable).sum()),
        clusters=len(np.unique(groups)),
        lost=int((~present).sum()),
        flip_rate=_mean("flip_rate", split.astype(np.float64), groups),
        two_differ=_mean("two_differ", differ, groups),
        kappa=_fleiss(m, passes, groups, draws, seed),
        gain=None if truth is None else _gain_of_voting(m, passes, truth[usable], groups),
    )


def _gain_of_voting(
    m: FloatArray, passes: FloatArray, truth: BoolArray, groups: IntArray
) -> PairedResult:
    """Share right of one sample (a) and of the majority of m samples (b, ties half), paired."""
    right = np.where(truth, passes, m - passes)
    voted = np.where(2 * right == m, 0.5, 2 * right > m)
    return paired_difference(
        zip((right / m).tolist(), voted.tolist(), _cluster_names(groups), strict=True)
    )


def panel(
    verdicts: FloatArray,
    truth: BoolArray,
    names: Sequence[str],
    cluster: IntArray | None = None,
    *,
    scores: FloatArray | None = None,
    folds: int = 5,
    draws: int = 2000,
    seed: int = 0,
) -> Panel:
    """The figures of a (rows, judges) matrix against people's pass or fail; see `Panel`.

    scores: (rows, judges) in [0, 1], for the rule "mean", which passes from 0.5 on. Rows with a gap
    are left out. Raises ValueError for fewer than two judges, or no row that all of them judged.
    """
    _check(verdicts)
    if len(names) < 2 or verdicts.shape != (len(truth), len(names)):
        raise ValueError("a panel needs two judges or more, each with a column, and a label a row")
    usable = ~np.isnan(verdicts).any(1)
    if scores is not None:
        usable &= np.isfinite(scores).all(1)
    if not usable.any():
        raise ValueError("there is no row that all judges judged")
    votes, truth = verdicts[usable] == 1, truth[usable]
    groups = row_clusters(cluster, len(verdicts))[usable]
    place = numbered(groups)
    wrong = (votes != truth[:, None]).astype(np.float64)
    accuracies = 1 - wrong.mean(0)
    best = int(accuracies.argmax())
    share = votes.mean(1)
    # Rule -> its verdict on each row: 1, 0, or 0.5 for a tie.
    passes_by_rule = {"majority": np.where(share == 0.5, 0.5, share > 0.5)}
    if scores is not None:
        passes_by_rule["mean"] = (scores[usable].mean(1) >= 0.5).astype(np.float64)
    passes_by_rule["weighted"] = _weighted(votes, truth, place, folds, seed)
    rules = []
    for name, passes in passes_by_rule.items():
        rules.append(_rule(name, passes, votes, best, truth, groups))
    mean, effective, matrix = _shared(wrong, place, draws, seed)
    return Panel(
        judges=tuple(names),
        n=len(votes),
        dropped=int((~usable).sum()),
        clusters=int(place.max()) + 1,
        accuracies=tuple(accuracies.tolist()),
        best=names[best],
        correlation=tuple(_defined(row) for row in matrix),
        mean_correlation=mean,
        effective=effective,
        effective_eigen=_eigen(matrix),
        rules=tuple(rules),
        independent=independent(votes, truth),
        real=rules[0].accuracy,
    )


def _defined(row: FloatArray) -> tuple[float | None, ...]:
    """A row of the correlation matrix, None for NaN."""
    return tuple(None if math.isnan(phi) else phi for phi in row.tolist())


def independent(votes: BoolArray, truth: BoolArray) -> float:
    """Share of rows a majority would judge right (ties half) if errors were independent given the
    label.
    """
    accuracy = 0.0
    half = votes.shape[1] / 2
    for side in (True, False):
        rows = truth == side
        if not rows.any():
            continue
        chance = np.ones(1)  # of 0, 1, 2 ... judges being right
        # Judge by judge: convolved with (wrong, right), the distribution of how many are right.
        for right in (votes[rows] == side).mean(0):
            chance = np.convolve(chance, [1 - right, right])
        number = np.arange(len(chance))
        right_vote = float(chance[number > half].sum() + chance[number == half].sum() / 2)
        accuracy += right_vote * float(rows.mean())
    return accuracy


def effective_judges(judges: int, correlation: float) -> float:
    """n / (1 + (n - 1) rho): how many independent judges so many correlated ones are worth; at
    least 1.
    """
    return max(1.0, judges / max(1 + (judges - 1) * correlation, 1e-9))


def agreeing(votes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(majority, share of the votes that agree with it) of each row: a confidence for judges that
    have no probability.

    votes: (rows, k) of 0, 1 and NaN. A tie has majority 0.5 and share 0.5; a row without votes 0.5
    and 0.
    """
    _check(votes)
    present = ~np.isnan(votes)
    size = present.sum(1)
    passes = np.where(present, votes, 0.0).sum(1)
    share = np.maximum(passes, size - passes) / np.maximum(size, 1)
    majority = np.where(2 * passes == size, 0.5, (2 * passes > size).astype(np.float64))
    return majority, share


# -- the arithmetic


def _weighted(
    votes: BoolArray, truth: BoolArray, place: IntArray, folds: int, seed: int
) -> FloatArray:
    """Passes by log-odds weights from the other folds; 0.5 for ties."""
    fold = folds_of(place, folds, seed)
    weighted = np.zeros(len(votes))
    for code in range(int(fold.max()) + 1):
        test, train = fold == code, fold != code
        if not train.any():  # one cluster only: nothing to learn from
            train = test
        right = (votes[train] == truth[train, None]).sum(0)
        # Half a row more on either side: a judge that is always right would outweigh all others.
        odds = np.log((right + 0.5) / (train.sum() - right + 0.5))
        total = np.where(votes[test], odds, -odds).sum(1)
        weighted[test] = np.where(np.abs(total) < 1e-12, 0.5, total > 0)
    return weighted


def _rule(
    name: str, passes: FloatArray, votes: BoolArray, best: int, truth: BoolArray, groups: IntArray
) -> Rule:
    best_right = (votes[:, best] == truth).astype(float)
    right = np.where(passes == 0.5, 0.5, passes == truth)
    # The best of k looks better than it is, and is another one on other rows: an interval that
    # holds against all k at once (Bonferroni) holds against the one that is picked.
    judges = votes.shape[1]
    gain = paired_difference(
        zip(best_right.tolist(), right.tolist(), _cluster_names(groups), strict=True),
        1 - (1 - LEVEL) / judges,
    )
    if gain.p is not None:
        gain = replace(gain, p=min(1.0, judges * gain.p))
    accuracy = float(right.mean())
    rate, passing = float(truth.mean()), float(passes.mean())
    chance = rate * passing + (1 - rate) * (1 - passing)
    kappa = None if chance == 1 else (accuracy - chance) / (1 - chance)
    return Rule(name, accuracy, kappa, gain)


def _shared(
    wrong: FloatArray, place: IntArray, draws: int, seed: int
) -> tuple[Figure, Figure, FloatArray]:
    """Mean error correlation and effective number of judges with their intervals, and the
    correlation matrix.
    """
    n, judges = wrong.shape
    sums = _error_sums(wrong, place, seed)
    matrix = sums.phi(np.ones((1, len(sums.size))))[0]
    upper = np.triu_indices(judges, 1)
    usable = ~np.isnan(matrix[upper])
    if not usable.any():
        reason = "errors do not vary: at most one judge is neither always right nor always wrong"
        mean = Figure("error_correlation", None, None, n, reason)
        return mean, Figure("effective_judges", None, None, n, reason), matrix
    value = float(matrix[upper][usable].mean())
    interval, reason = None, "one cluster only: no interval can be given"
    clusters = int(place.max()) + 1
    if clusters >= 2:
        drawn = _drawn_correlations(sums, upper, usable, draws, seed)
        # What carries the figure is the rows with errors, and how few clusters may hold them.
        carried = np.bincount(place, weights=wrong.sum(1)).astype(np.float64)
        interval, reason = _correlation_interval(value, drawn, carried, clusters < n)
    mean = Figure("error_correlation", value, interval, n, reason)
    worth = effective_judges(judges, value)
    effective = Figure("effective_judges", worth, _worth(judges, interval), n, reason)
    return mean, effective, matrix


@dataclass(frozen=True, slots=True)
class _ErrorSums:
    """Sums by cluster (or random group of clusters), enough for every correlation of errors.

    size: (groups,) rows. errors: (groups, judges) rows that a judge gets wrong. common: (groups,
    judges, judges) rows that two judges get wrong.
    """

    size: FloatArray
    errors: FloatArray
    common: FloatArray

    def phi(self, weight: FloatArray) -> FloatArray:
        """(draws, judges, judges) correlations under weights (draws, groups); NaN where a judge's
        errors do not vary.
        """
        total = weight @ self.size
        rate = (weight @ self.errors) / total[:, None]
        common = np.tensordot(weight, self.common, axes=1) / total[:, None, None]
        spread = np.sqrt(rate * (1 - rate))
        with np.errstate(invalid="ignore", divide="ignore"):
            phi = (common - rate[:, :, None] * rate[:, None, :]) / (
                spread[:, :, None] * spread[:, None, :]
            )
        return np.where(np.isfinite(phi), phi, np.nan)


def _error_sums(wrong: FloatArray, place: IntArray, seed: int) -> _ErrorSums:
    clusters = int(place.max()) + 1
    if clusters > _MOST_GROUPS:
        place = (np.random.default_rng(seed).permutation(clusters) % _MOST_GROUPS)[place]
    size = np.bincount(place).astype(np.float64)
    errors = np.zeros((len(size), wrong.shape[1]))
    np.add.at(errors, place, wrong)
    ordered = wrong[np.argsort(place, kind="stable")]
    ends = np.cumsum(size).astype(np.int64)
    common = []
    for rows in np.split(ordered, ends[:-1]):
        common.append(rows.T @ rows)
    return _ErrorSums(size, errors, np.stack(common))


def _drawn_correlations(
    sums: _ErrorSums, upper: tuple[IntArray, ...], usable: BoolArray, draws: int, seed: int
) -> FloatArray:
    """(draws,) the mean correlation of the usable pairs of judges over resampled clusters."""
    means = []
    for weight in bootstrap.weights(len(sums.size), draws, seed, _BLOCK):
        pairs = sums.phi(weight)[:, upper[0], upper[1]][:, usable]
        count = (~np.isnan(pairs)).sum(1)
        mean = np.nansum(pairs, 1) / np.maximum(count, 1)
        means.append(np.where(count > 0, mean, np.nan))
    return np.concatenate(means)


def _correlation_interval(
    value: float, drawn: FloatArray, carried: FloatArray, clustered: bool
) -> tuple[Interval | None, str]:
    """The interval of the mean correlation and what to beware of; carried: errors by cluster."""
    deviation = float(bootstrap.spread(drawn))
    if math.isnan(deviation):
        return None, "errors are too rare for an interval"
    freedom = max(1.0, bootstrap.effective(carried) - 1)
    interval = bootstrap.interval(value, deviation, freedom, -1.0, 1.0, clustered=clustered)
    return interval, few_clusters_note(len(carried))


def _worth(judges: int, correlation: Interval | None) -> Interval | None:
    """The interval of the effective number of judges: it falls as the correlation rises, so its
    ends are those of the correlation, swapped.
    """
    if correlation is None:
        return None
    low = effective_judges(judges, correlation.high)
    high = effective_judges(judges, correlation.low)
    return Interval(low, high, correlation.level, f"{correlation.method}, of the correlation")


def _eigen(matrix: FloatArray) -> float | None:
    """Participation ratio of the correlation matrix's eigenvalues, over the judges whose errors
    vary.
    """
    varies = ~np.isnan(np.diag(matrix))
    if not varies.any():
        return None
    values = np.linalg.eigvalsh(matrix[np.ix_(varies, varies)])
    return float(values.sum() ** 2 / (values**2).sum())


def _fleiss(m: FloatArray, passes: FloatArray, groups: IntArray, draws: int, seed: int) -> Figure:
    n = len(m)
    if not n:
        return Figure("kappa", None, None, 0, "no row has two verdicts")
    place = numbered(groups)
    same = 1 - 2 * passes * (m - passes) / (m * (m - 1))
    # Rows, agreement, verdicts, passes, and each row's share of passes: rows with gaps weigh no
    # less (Gwet 2014).
    columns = (np.ones(n), same, m, passes, passes / m)
    sums = [np.bincount(place, weights=column) for column in columns]
    table = np.column_stack(sums).astype(np.float64)

    def kappa(t: FloatArray) -> FloatArray:
        """Of tables (..., 5) of the sums of these columns."""
        rate = t[..., 4] / t[..., 0]
        chance = rate**2 + (1 - rate) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            out = (t[..., 1] / t[..., 0] - chance) / (1 - chance)
        return np.where(chance < 1, out, np.nan)

    value = float(kappa(table.sum(0)))
    if math.isnan(value):
        reason = "all verdicts are the same: there is no agreement beyond chance to speak of"
        return Figure("kappa", None, None, n, reason)
    clusters = len(table)
    if clusters < 2:
        return Figure("kappa", value, None, n, "one cluster only: no interval can be given")
    drawn = []
    for weight in bootstrap.weights(clusters, draws, seed, _BLOCK):
        drawn.append(kappa(weight @ table))
    deviation = float(bootstrap.spread(np.concatenate(drawn)))
    if math.isnan(deviation):
        return Figure("kappa", value, None, n, "one of the verdicts is too rare for an interval")
    carried = min(
        bootstrap.effective(_rarer(table[:, 2], table[:, 3], clusters == n)),
        bootstrap.effective(table[:, 0]),
    )
    interval = bootstrap.interval(
        value, deviation, max(1.0, carried - 1), -1.0, 1.0, clustered=clusters < n
    )
    return Figure("kappa", value, interval, n, few_clusters_note(clusters))


def _rarer(verdicts: FloatArray, passes: FloatArray, lone: bool) -> FloatArray:
    """(clusters,) how many verdicts are of the rarer kind, which carries the figure: of each row
    where rows are alone, else of all.
    """
    fails = verdicts - passes
    if lone:
        return np.minimum(passes, fails)
    return passes if passes.sum() * 2 <= verdicts.sum() else fails


def _mean(name: str, values: FloatArray, groups: IntArray) -> Figure:
    mean = MeanAccumulator()
    for value, group in zip(values.tolist(), _cluster_names(groups), strict=True):
        mean.add(value, group)
    result = mean.result()
    reason = few_clusters_note(result.clusters) if result.n else "no row has two verdicts"
    return Figure(name, result.mean, result.interval, result.n, reason)


def _cluster_names(groups: IntArray) -> list[str]:
    return [str(group) for group in groups.tolist()]


def _check(verdicts: FloatArray) -> None:
    if verdicts.ndim != 2 or not (np.isnan(verdicts) | (verdicts == 0) | (verdicts == 1)).all():
        raise ValueError("verdicts are a matrix of 1 (pass), 0 (fail) and NaN (lost)")
