"""Do judgments repeat, and what is a panel of judges worth? Flip rate, shared errors, the vote
against its best member.

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
from numpy.typing import NDArray

from ragassay.core import Figure
from ragassay.scoring import bootstrap
from ragassay.scoring.calibration import folds_of
from ragassay.scoring.clusters import each, few
from ragassay.scoring.intervals import LEVEL, MeanAccumulator, PairedResult, paired_difference

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

_BLOCK = 250
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
    given = ~np.isnan(verdicts)
    size = given.sum(1)
    kept = size >= 2
    groups = each(cluster, len(verdicts))[kept]
    m, passes = size[kept].astype(np.float64), np.where(given, verdicts, 0.0).sum(1)[kept]
    n, many = int(kept.sum()), len(np.unique(groups))
    split = (passes > 0) & (passes < m)
    differ = 2 * passes * (m - passes) / np.maximum(m * (m - 1), 1)
    gain = None
    if truth is not None:
        right = np.where(truth[kept], passes, m - passes)
        voted = np.where(2 * right == m, 0.5, 2 * right > m)
        gain = paired_difference(
            zip((right / m).tolist(), voted.tolist(), _names(groups), strict=True)
        )
    return Repeatability(
        verdicts.shape[1],
        n,
        int((~kept).sum()),
        many,
        int((~given).sum()),
        _mean("flip_rate", split.astype(np.float64), groups),
        _mean("two_differ", differ, groups),
        _fleiss(m, passes, groups, draws, seed),
        gain,
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
    kept = ~np.isnan(verdicts).any(1)
    if scores is not None:
        kept &= np.isfinite(scores).all(1)
    votes, truth, groups = verdicts[kept] == 1, truth[kept], each(cluster, len(verdicts))[kept]
    if not len(votes):
        raise ValueError("there is no row that all judges judged")
    wrong = (votes != truth[:, None]).astype(np.float64)
    place = np.unique(groups, return_inverse=True)[1].reshape(-1)
    mean, effective, matrix = _shared(wrong, place, draws, seed)
    accuracies = 1 - wrong.mean(0)
    best, weighted = int(accuracies.argmax()), _weighted(votes, truth, place, folds, seed)
    share = votes.mean(1)
    ways = {"majority": np.where(share == 0.5, 0.5, share > 0.5)}
    if scores is not None:
        ways["mean"] = (scores[kept].mean(1) >= 0.5).astype(np.float64)
    ways["weighted"] = weighted
    rules = tuple(_rule(name, passes, votes, best, truth, groups) for name, passes in ways.items())
    defined = [[None if math.isnan(phi) else float(phi) for phi in row] for row in matrix]
    return Panel(
        tuple(names),
        len(votes),
        int((~kept).sum()),
        int(place.max()) + 1,
        tuple(accuracies.tolist()),
        names[best],
        tuple(tuple(row) for row in defined),
        mean,
        effective,
        _eigen(matrix),
        rules,
        independent(votes, truth),
        rules[0].accuracy,
    )


def independent(votes: BoolArray, truth: BoolArray) -> float:
    """Share of rows a majority would judge right (ties half) if errors were independent given the
    label.
    """
    out = 0.0
    for side in (True, False):
        rows = truth == side
        if not rows.any():
            continue
        chance = np.ones(1)  # of 0, 1, 2 ... judges being right
        for right in (votes[rows] == side).mean(0):
            chance = np.convolve(chance, [1 - right, right])
        half = votes.shape[1] / 2
        number = np.arange(len(chance))
        out += float(chance[number > half].sum() + chance[number == half].sum() / 2) * float(
            rows.mean()
        )
    return out


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
    given = ~np.isnan(votes)
    size = given.sum(1)
    passes = np.where(given, votes, 0.0).sum(1)
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
    for one in range(int(fold.max()) + 1):
        test, train = fold == one, fold != one
        if not train.any():  # one cluster only: nothing to learn from
            train = test
        right = (votes[train] == truth[train, None]).sum(0)
        odds = np.log((right + 0.5) / (train.sum() - right + 0.5))
        total = np.where(votes[test], odds, -odds).sum(1)
        weighted[test] = np.where(np.abs(total) < 1e-12, 0.5, total > 0)
    return weighted


def _rule(
    name: str, passes: FloatArray, votes: BoolArray, best: int, truth: BoolArray, groups: IntArray
) -> Rule:
    def right(verdict: FloatArray) -> FloatArray:
        return np.where(verdict == 0.5, 0.5, verdict == truth)

    # The best of k looks better than it is, and is another one on other rows: an interval that
    # holds against all k at once (Bonferroni) holds against the one that is picked.
    judges = votes.shape[1]
    gain = paired_difference(
        zip(
            (votes[:, best] == truth).astype(float).tolist(),
            right(passes).tolist(),
            _names(groups),
            strict=True,
        ),
        1 - (1 - LEVEL) / judges,
    )
    gain = replace(gain, p=None if gain.p is None else min(1.0, judges * gain.p))
    observed, rate, passing = float(right(passes).mean()), float(truth.mean()), float(passes.mean())
    chance = rate * passing + (1 - rate) * (1 - passing)
    return Rule(name, observed, None if chance == 1 else (observed - chance) / (1 - chance), gain)


def _shared(
    wrong: FloatArray, place: IntArray, draws: int, seed: int
) -> tuple[Figure, Figure, FloatArray]:
    """Mean error correlation and effective number of judges with their intervals, and the
    correlation matrix.
    """
    n, judges = wrong.shape
    # What carries the figure is the rows with errors, and how few clusters may hold them.
    clusters, carried = (
        int(place.max()) + 1,
        np.bincount(place, weights=wrong.sum(1)).astype(np.float64),
    )
    freedom = max(1.0, bootstrap.effective(carried) - 1)
    if clusters > _MOST_GROUPS:
        place = (np.random.default_rng(seed).permutation(clusters) % _MOST_GROUPS)[place]
    groups = int(place.max()) + 1
    size = np.bincount(place).astype(np.float64)
    sums = np.zeros((groups, judges))
    np.add.at(sums, place, wrong)
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(size).astype(np.int64)
    both = np.stack(
        [
            wrong[order[end - int(s) : end]].T @ wrong[order[end - int(s) : end]]
            for end, s in zip(ends, size, strict=True)
        ]
    )
    upper = np.triu_indices(judges, 1)

    def phi(total: FloatArray, one: FloatArray, two: FloatArray) -> FloatArray:
        rate = one / total[:, None]
        spread = np.sqrt(rate * (1 - rate))
        with np.errstate(invalid="ignore", divide="ignore"):
            out = (two / total[:, None, None] - rate[:, :, None] * rate[:, None, :]) / (
                spread[:, :, None] * spread[:, None, :]
            )
        return np.where(np.isfinite(out), out, np.nan)

    whole = phi(np.array([float(n)]), wrong.sum(0)[None], both.sum(0)[None])[0]
    usable = ~np.isnan(whole[upper])
    if not usable.any():
        reason = "errors do not vary: at most one judge is neither always right nor always wrong"
        return (
            Figure("error_correlation", None, None, n, reason),
            Figure("effective_judges", None, None, n, reason),
            whole,
        )
    value = float(whole[upper][usable].mean())
    drawn = []
    for weight in bootstrap.weights(groups, draws, seed, _BLOCK):
        found = phi(weight @ size, weight @ sums, np.tensordot(weight, both, axes=1))[
            :, upper[0], upper[1]
        ][:, usable]
        count = (~np.isnan(found)).sum(1)
        drawn.append(np.where(count > 0, np.nansum(found, 1) / np.maximum(count, 1), np.nan))
    reason = few(clusters)
    interval = None
    if clusters >= 2:
        deviation = float(bootstrap.spread(np.concatenate(drawn)))
        if math.isnan(deviation):
            reason = "errors are too rare for an interval"
        else:
            interval = bootstrap.interval(
                value, deviation, freedom, -1.0, 1.0, clustered=clusters < n
            )
    else:
        reason = "one cluster only: no interval can be given"
    mean = Figure("error_correlation", value, interval, n, reason)
    ends_ = None
    if (
        interval is not None
    ):  # falls as the correlation rises, so its ends are those of the other one, swapped
        low, high = effective_judges(judges, interval.high), effective_judges(judges, interval.low)
        ends_ = type(interval)(low, high, interval.level, f"{interval.method}, of the correlation")
    return (
        mean,
        Figure("effective_judges", effective_judges(judges, value), ends_, n, reason),
        whole,
    )


def _eigen(matrix: FloatArray) -> float | None:
    """Participation ratio of the correlation matrix's eigenvalues, over the judges whose errors
    vary.
    """
    held = ~np.isnan(np.diag(matrix))
    if not held.any():
        return None
    values = np.linalg.eigvalsh(matrix[np.ix_(held, held)])
    return float(values.sum() ** 2 / (values**2).sum())


def _fleiss(m: FloatArray, passes: FloatArray, groups: IntArray, draws: int, seed: int) -> Figure:
    n = len(m)
    if not n:
        return Figure("kappa", None, None, 0, "no row has two verdicts")
    place = np.unique(groups, return_inverse=True)[1].reshape(-1)
    same = 1 - 2 * passes * (m - passes) / (m * (m - 1))
    # rows, agreement, verdicts, passes, and each row's share of passes: rows with gaps weigh no
    # less (Gwet 2014)
    sums = [np.bincount(place, weights=w) for w in (np.ones(n), same, m, passes, passes / m)]
    table = np.column_stack(sums).astype(np.float64)

    def kappa(t: FloatArray) -> FloatArray:
        rate = t[..., 4] / t[..., 0]
        chance = rate**2 + (1 - rate) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            out = (t[..., 1] / t[..., 0] - chance) / (1 - chance)
        return np.where(chance < 1, out, np.nan)

    value = float(kappa(table.sum(0)))
    if math.isnan(value):
        return Figure(
            "kappa",
            None,
            None,
            n,
            "all verdicts are the same: there is no agreement beyond chance to speak of",
        )
    clusters = len(table)
    if clusters < 2:
        return Figure("kappa", value, None, n, "one cluster only: no interval can be given")
    drawn = np.concatenate(
        [kappa(weight @ table) for weight in bootstrap.weights(clusters, draws, seed, _BLOCK)]
    )
    deviation = float(bootstrap.spread(drawn))
    if math.isnan(deviation):
        return Figure("kappa", value, None, n, "one of the verdicts is too rare for an interval")
    # The rarer verdict carries the figure.
    rare = (
        np.minimum(table[:, 3], table[:, 2] - table[:, 3])
        if clusters == n
        else np.where(
            table[:, 3].sum() * 2 <= table[:, 2].sum(), table[:, 3], table[:, 2] - table[:, 3]
        )
    )
    freedom = max(
        1.0, min(bootstrap.effective(rare.astype(np.float64)), bootstrap.effective(table[:, 0])) - 1
    )
    reason = few(clusters)
    interval = bootstrap.interval(value, deviation, freedom, -1.0, 1.0, clustered=clusters < n)
    return Figure("kappa", value, interval, n, reason)


def _mean(name: str, values: FloatArray, groups: IntArray) -> Figure:
    mean = MeanAccumulator()
    for value, group in zip(values.tolist(), _names(groups), strict=True):
        mean.add(value, group)
    found = mean.result()
    reason = few(found.clusters) if found.n else "no row has two verdicts"
    return Figure(name, found.mean, found.interval, found.n, reason)


def _names(groups: IntArray) -> list[str]:
    return [str(group) for group in groups.tolist()]


def _check(verdicts: FloatArray) -> None:
    if verdicts.ndim != 2 or not (np.isnan(verdicts) | (verdicts == 0) | (verdicts == 1)).all():
        raise ValueError("verdicts are a matrix of 1 (pass), 0 (fail) and NaN (lost)")
