"""How far do people agree with each other, and may a judge take a person's place?

Ratings of any number of people with gaps. Krippendorff's alpha (2011, "Computing Krippendorff's
alpha-reliability"), Fleiss' kappa (1971) in the form for unequal numbers of people and Gwet's AC1
for several people (Gwet 2014, "Handbook of inter-rater reliability", ch. 2), all from the same
counts of how often two people gave which pair of values. Intervals are cluster-bootstrap ones on
the logit scale, as in `bootstrap`.

The alternative annotator test (Calderon, Reichart & Dror 2025) leaves one person out at a time and
asks who agrees better with the others on each row, the judge or that person. By simulation the
intervals of two or three people hold the truth 0.93 to 0.99 of the time from 30 rows on where at
least five rows hold a value that is not the commonest one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ragassay.core import Figure, HumanLabel, Interval
from ragassay.scoring import agreement, bootstrap
from ragassay.scoring.coefficients import FloatArray, IntArray, ratio
from ragassay.scoring.intervals import MeanAccumulator, t_p_value
from ragassay.scoring.ratings import GRADES, Ratings

FEW_CLUSTERS = 10
LEAST_RARE = 5
"""With fewer rows that hold any but the commonest value, no interval is given."""
MOST_RATIOS = 2000
BLOCK = 2_000_000  # numbers held at a time
PAIR_FIGURES = (
    "graded_accuracy",
    "graded_kappa",
    "kappa_linear",
    "kappa_quadratic",
    "off_by_1",
    "pearson",
    "spearman",
)
BINARY_PAIR_FIGURES = ("accuracy", "kappa")
COEFFICIENTS: Mapping[str, str] = {
    "observed_agreement": (
        "share of pairs of people who gave a row the same value, averaged over rows"
    ),
    "alpha": "Krippendorff's alpha, values as mere names",
    "alpha_ordinal": "Krippendorff's alpha, values as ranks",
    "alpha_interval": "Krippendorff's alpha, values as numbers",
    "alpha_ratio": "Krippendorff's alpha, values as sizes from zero",
    "fleiss_kappa": "Fleiss' kappa, for rows with unequal numbers of people too",
    "ac1": "Gwet's AC1 for several people",
}
"""Name -> what it says. 1 = all agree, 0 = chance (the observed agreement: never); at least -1, but
for Fleiss' kappa and AC1 where rows with one label make chance look larger than it is among the
shared rows.
"""


@dataclass(frozen=True, slots=True)
class Votes:
    """What each person said of each row.

    values: (rows, people), NaN where the person said nothing; that NaN never leaves `scoring`.
    cluster: a code for each row. Raises ValueError for shapes that do not fit and for infinities.
    """

    people: tuple[str, ...]
    rows: tuple[str, ...]
    values: FloatArray
    cluster: IntArray

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.rows), len(self.people)) or self.cluster.shape != (
            len(self.rows),
        ):
            raise ValueError("a value for every row and person, and a cluster for every row")
        if np.isinf(self.values).any():
            raise ValueError("values must be finite")

    @property
    def counts(self) -> IntArray:
        """How many people labelled each row."""
        found: IntArray = (~np.isnan(self.values)).sum(1)
        return found


def votes(labels: Iterable[HumanLabel], clusters: Mapping[str, str | None] | None = None) -> Votes:
    """Labels as a table, people and rows in the order in which they come.

    clusters: row id -> cluster; a row without one is its own. Raises ValueError when a person
    labels a row twice with different values.
    """
    people: dict[str, int] = {}
    rows: dict[str, int] = {}
    cells: dict[tuple[int, int], float] = {}
    for label in labels:
        cell = (
            rows.setdefault(label.row_id, len(rows)),
            people.setdefault(label.annotator, len(people)),
        )
        if cells.setdefault(cell, label.value) != label.value:
            raise ValueError(
                f"{label.annotator or 'one person'} labelled {label.row_id} twice with different"
                " values"
            )
    values = np.full((len(rows), len(people)), np.nan)
    for (row, person), value in cells.items():
        values[row, person] = value
    codes: dict[object, int] = {}
    cluster = []
    for row_id in rows:
        name = (clusters or {}).get(row_id)
        cluster.append(codes.setdefault((row_id,) if name is None else name, len(codes)))
    return Votes(tuple(people), tuple(rows), values, np.array(cluster, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two people on the n rows that both labelled: names as in `core.FIGURES`, a read as the label,
    b as the judge.
    """

    a: str
    b: str
    n: int
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Agreement of people.

    rows: with a label; shared: with two or more; clusters: of the shared ones; values: that were
    given, rising. figures: of `COEFFICIENTS`; those for ranks and numbers only where there are more
    than two values.
    """

    people: tuple[str, ...]
    rows: int
    shared: int
    clusters: int
    values: tuple[float, ...]
    figures: tuple[Figure, ...]
    pairs: tuple[PairAgreement, ...]
    warnings: tuple[str, ...] = ()

    def figure(self, name: str) -> Figure | None:
        """The figure of this name over all people."""
        return next((figure for figure in self.figures if figure.name == name), None)


def measure(
    given: Votes,
    *,
    draws: int = 2000,
    seed: int = 0,
    level: float = 0.95,
    pair_figures: Sequence[str] | None = None,
) -> PeopleAgreement:
    """Every coefficient of agreement with its interval, over all people and for each two of them.

    pair_figures: names of `core.FIGURES` for the pairs, None = accuracy and kappa of two values,
    else the graded ones. What is not defined (fewer than two people on every row, one value
    throughout) has value None with the reason. Raises ValueError for fewer than 100 draws.
    """
    if draws < 100:
        raise ValueError("an interval needs at least 100 draws")
    shared = given.counts >= 2
    units = _Units(given)
    warnings = []
    if len(given.people) < 2:
        warnings.append("only one person labelled: agreement needs a second")
    if 0 < units.clusters < FEW_CLUSTERS:
        warnings.append(f"only {units.clusters} clusters: read the intervals with care")
    if 0 < shared.sum() < len(given.rows):
        warnings.append(
            "rows with one label only, which say nothing of agreement:"
            f" {len(given.rows) - int(shared.sum())}"
        )
    for person, labelled in zip(
        given.people, (~np.isnan(given.values)).sum(0).tolist(), strict=True
    ):
        if 2 * labelled < int(shared.sum()):
            warnings.append(
                f"{person} labelled {labelled} of {len(given.rows)} rows: if these were chosen"
                " because others differ on them, figures of all people together are too low"
            )
    return PeopleAgreement(
        given.people,
        len(given.rows),
        int(shared.sum()),
        units.clusters,
        tuple(map(float, units.points)),
        tuple(_coefficients(units, draws, seed, level)),
        tuple(_pairs(given, units.points, draws, seed, level, pair_figures)),
        tuple(warnings),
    )


def coefficient(name: str, values: FloatArray) -> float | None:
    """One of `COEFFICIENTS` over values (rows, people) with NaN for gaps; None where it is not
    defined.
    """
    n = len(values)
    given = Votes(
        tuple(map(str, range(values.shape[1]))), tuple(map(str, range(n))), values, np.arange(n)
    )
    return _number(_Units(given).figure(name))


class _Units:
    """Counts by cluster from which every coefficient follows, for one set of rows or for thousands
    of resampled ones.

    Each pair of labels of a row with r of them counts 2 / (r - 1), so that a row counts as many
    values as it has labels. Rows with one label only say how common the values are (Fleiss, AC1: as
    Gwet has it); alpha leaves them out.
    """

    def __init__(self, given: Votes) -> None:
        present = ~np.isnan(given.values)
        counts = present.sum(1)
        points, inverse = np.unique(given.values[present], return_inverse=True)
        code = np.full(given.values.shape, -1)
        code[present] = inverse.reshape(-1)
        shared = counts >= 2
        place = np.full(int(given.cluster.max(initial=-1)) + 1, -1)
        labelled = counts >= 1
        names = np.unique(given.cluster[labelled])
        place[names] = np.arange(len(names))
        cluster = place[given.cluster] if len(place) else np.zeros(0, np.int64)
        self.points, self.n, self.groups = points, int(shared.sum()), len(names)
        self.clusters = len(np.unique(cluster[shared]))
        size = len(points)

        def by_cluster(rows: IntArray, weight: FloatArray) -> FloatArray:
            return np.bincount(rows, weights=weight, minlength=self.groups).astype(np.float64)

        def by_value(chosen: NDArray[np.bool_], weight: FloatArray) -> FloatArray:
            row, person = np.nonzero(present & chosen[:, None])
            at = cluster[row] * size + code[row, person]
            flat = np.bincount(at, weights=weight[row], minlength=self.groups * size)
            return flat.reshape(self.groups, size).astype(np.float64)

        one = np.ones(len(counts))
        self.margin = by_value(shared, one)
        self.share = by_value(labelled, 1 / np.maximum(counts, 1))
        self.labelled = by_cluster(cluster[labelled], one[labelled])
        self.shared = by_cluster(cluster[shared], one[shared])
        columns = [(i, j) for i, j in combinations(range(len(given.people)), 2)]
        found = [np.nonzero(present[:, i] & present[:, j])[0] for i, j in columns]
        row = np.concatenate(found) if found else np.zeros(0, np.int64)
        self.first = (
            np.concatenate([code[r, i] for r, (i, _) in zip(found, columns, strict=True)])
            if found
            else row
        )
        self.second = (
            np.concatenate([code[r, j] for r, (_, j) in zip(found, columns, strict=True)])
            if found
            else row
        )
        self.pair_cluster = cluster[row]
        self.gain = 2 / (counts[row] - 1)
        self.agreed = by_cluster(
            self.pair_cluster, (self.first == self.second) * self.gain / counts[row]
        )
        self.by_cluster = by_cluster
        common = int(self.margin.sum(0).argmax()) if size else -1
        rare = (present & (code != common)).any(1) & shared
        self.rare, self.carried = (
            int(rare.sum()),
            bootstrap.effective(by_cluster(cluster[rare], one[rare])),
        )
        self.effective = bootstrap.effective(self.shared)

    def distance(self, name: str) -> FloatArray:
        """(pairs,) disagreement of the values of each pair of labels."""
        a, b = self.points[self.first], self.points[self.second]
        gap: FloatArray = a - b
        if name == "alpha":
            gap = (a != b).astype(np.float64)
        elif name == "alpha_ratio":
            gap = np.nan_to_num(ratio(a - b, a + b))
        squared: FloatArray = gap * gap
        return squared

    def figure(
        self, name: str, weight: FloatArray | None = None, added: FloatArray | None = None
    ) -> FloatArray:
        """(draws,) the coefficient under weights (draws, clusters); added: (draws, 4) rows more of
        each cell, two values.
        """
        w = np.ones((1, self.groups)) if weight is None else weight
        if not self.n:
            return np.full(len(w), np.nan)
        if name in ("observed_agreement", "fleiss_kappa", "ac1"):
            return self._chance(name, w, added)
        margin = w @ self.margin
        if name == "alpha_ordinal":
            middle = np.cumsum(margin, -1) - margin / 2
            observed = np.empty(len(w))
            block = max(1, BLOCK // max(1, len(self.first)))
            for start in range(0, len(w), block):
                part = slice(start, start + block)
                gap = (middle[part, self.first] - middle[part, self.second]) ** 2
                observed[part] = (w[part][:, self.pair_cluster] * gap * self.gain).sum(-1)
            expected = _spread(margin, middle)
        else:
            observed = w @ self.by_cluster(self.pair_cluster, self.distance(name) * self.gain)
            if name == "alpha":
                if added is not None:
                    margin = margin + np.stack(
                        [
                            2 * added[:, 0] + added[:, 1] + added[:, 2],
                            2 * added[:, 3] + added[:, 1] + added[:, 2],
                        ],
                        1,
                    )
                    observed = observed + 2 * (added[:, 1] + added[:, 2])
                expected = margin.sum(-1) ** 2 - (margin**2).sum(-1)
            elif name == "alpha_interval":
                centred = self.points - float((margin @ self.points).sum() / margin.sum())
                expected = _spread(margin, np.broadcast_to(centred, margin.shape))
            else:
                total = self.points[:, None] + self.points[None, :]
                gap = np.nan_to_num(ratio(self.points[:, None] - self.points[None, :], total)) ** 2
                expected = ((margin @ gap) * margin).sum(-1)
        found: FloatArray = 1 - ratio((margin.sum(-1) - 1) * observed, expected)
        return found

    def _chance(self, name: str, w: FloatArray, added: FloatArray | None) -> FloatArray:
        agreed, shared, share, labelled = (
            w @ self.agreed,
            w @ self.shared,
            w @ self.share,
            w @ self.labelled,
        )
        if added is not None:
            more = added.sum(1)
            agreed, shared, labelled = (
                agreed + added[:, 0] + added[:, 3],
                shared + more,
                labelled + more,
            )
            half = (added[:, 1] + added[:, 2]) / 2
            share = share + np.stack([added[:, 0] + half, added[:, 3] + half], 1)
        observed = ratio(agreed, shared)
        if name == "observed_agreement":
            return observed
        common = ratio(share, labelled[:, None])
        if len(self.points) < 2:
            return np.full(len(w), np.nan)
        squares = (common**2).sum(-1)
        chance = squares if name == "fleiss_kappa" else (1 - squares) / (len(self.points) - 1)
        return ratio(observed - chance, 1 - chance)


def _spread(margin: FloatArray, at: FloatArray) -> FloatArray:
    """Sum over all ordered pairs of values of margin * margin * (difference of `at`) squared."""
    found: FloatArray = 2 * (margin.sum(-1) * (margin * at**2).sum(-1) - (margin * at).sum(-1) ** 2)
    return found


def _coefficients(units: _Units, draws: int, seed: int, level: float) -> Iterator[Figure]:
    names = ["observed_agreement", "alpha", "fleiss_kappa", "ac1"]
    if len(units.points) > 2:
        names[2:2] = ["alpha_ordinal", "alpha_interval"]
        if units.points[0] >= 0 and len(units.points) <= MOST_RATIOS:
            names.insert(4, "alpha_ratio")
    values = {name: _number(units.figure(name)) for name in names}
    drawn: dict[str, list[FloatArray]] = {name: [] for name in names}
    if any(value is not None for value in values.values()) and units.clusters > 1:
        added = None
        if len(units.points) == 2:
            effect = max(1.0, units.n / units.effective)
            added = bootstrap.added_rows((draws, 4), effect, seed)
        block = max(1, min(draws, BLOCK // max(1, units.groups)))
        at = 0
        for weight in bootstrap.weights(units.groups, draws, seed, block):
            for name in names:
                more = None if added is None else added[at : at + len(weight)]
                drawn[name].append(units.figure(name, weight, more))
            at += len(weight)
    for name in names:
        yield _figure(name, values[name], units, drawn[name], level)


def _figure(
    name: str, value: float | None, units: _Units, drawn: Sequence[FloatArray], level: float
) -> Figure:
    if value is None:
        if not units.n:
            reason = "not defined: no row has labels of two people"
        elif len(units.points) < 2:
            reason = "not defined: everyone gave every row the same value"
        else:
            reason = "not defined: the values leave nothing to disagree on"
        return Figure(name, None, None, units.n, reason)
    plain = name == "observed_agreement"
    carried = units.effective if plain else min(units.carried, units.effective)
    if units.clusters < 2 or not drawn:
        return Figure(name, value, None, units.n, "no interval: all rows lie in one cluster")
    if not plain and (units.rare < LEAST_RARE or carried < LEAST_RARE - 1):
        return Figure(
            name,
            value,
            None,
            units.n,
            f"no interval: only {units.rare} rows hold any but the commonest value",
        )
    deviation = float(bootstrap.spread(np.concatenate(drawn)))
    if not math.isfinite(deviation) or value < -1:
        return Figure(
            name,
            value,
            None,
            units.n,
            "no interval: resampling hardly ever leaves a figure in range",
        )
    found = bootstrap.interval(
        min(1.0, value),
        deviation,
        max(1.0, carried - 1),
        0.0 if plain else -1.0,
        1.0,
        level=level,
        clustered=units.clusters < units.n,
    )
    few = (
        f"only {units.clusters} clusters: read the interval with care"
        if units.clusters < FEW_CLUSTERS
        else ""
    )
    return Figure(name, value, found, units.n, few)


def _pairs(
    given: Votes,
    points: FloatArray,
    draws: int,
    seed: int,
    level: float,
    names: Sequence[str] | None,
) -> Iterator[PairAgreement]:
    graded = len(points) <= GRADES
    # Graded figures hang on the rarer side of a cut; the cut that splits the labels most evenly
    # loses fewest intervals.
    every = np.sort(given.values[~np.isnan(given.values)])
    cut = min(
        map(float, points[1:]),
        key=lambda x: abs(2 * np.searchsorted(every, x) - len(every)),
        default=0.0,
    )
    if names is None:
        names = BINARY_PAIR_FIGURES if len(points) <= 2 else PAIR_FIGURES
    for i, j in combinations(range(len(given.people)), 2):
        both = ~np.isnan(given.values[:, i]) & ~np.isnan(given.values[:, j])
        a, b = given.values[both, i], given.values[both, j]
        if not len(a):
            yield PairAgreement(given.people[i], given.people[j], 0, ())
            continue
        ratings = Ratings(
            label=a,
            score=b,
            passes=b >= cut,
            truth=a >= cut,
            grades=(np.searchsorted(points, a), np.searchsorted(points, b)) if graded else None,
            points=tuple(map(float, points)) if graded else (),
            cluster=given.cluster[both],
        )
        found = agreement.figures(ratings, names=names, draws=draws, seed=seed, level=level)
        yield PairAgreement(given.people[i], given.people[j], len(a), found.pooled)


def _number(value: FloatArray) -> float | None:
    return float(value[0]) if np.isfinite(value[0]) else None


# ---- the alternative annotator test ----


@dataclass(frozen=True, slots=True)
class PersonTest:
    """One person left out. n: rows that this person, another one and the judge labelled.

    judge_rate: share of rows on which the judge agrees with the others at least as well as the
    person; person_rate: the other way round (ties count for both). p: one-sided, of "person_rate -
    judge_rate is at least epsilon". beaten: p is small enough after the correction over all people.
    reason: why the person was not tested.
    """

    person: str
    n: int
    clusters: int
    judge_rate: float | None
    person_rate: float | None
    p: float | None
    beaten: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AltTest:
    """May the judge stand in for a person?

    winning_rate: share of the tested people that the judge beats. advantage: mean over them of
    judge_rate, the probability that the judge is at least as good as a person; not moved by
    epsilon. may_replace: winning_rate is at least one half; None when nobody could be tested.
    """

    score: str
    epsilon: float
    rate: float
    winning_rate: float | None
    advantage: Figure
    may_replace: bool | None
    people: tuple[PersonTest, ...]
    warnings: tuple[str, ...] = ()


def alt_test(
    judge: Sequence[float] | FloatArray,
    given: Votes,
    *,
    epsilon: float = 0.2,
    score: str = "accuracy",
    rate: float = 0.05,
    least: int = 30,
    draws: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> AltTest:
    """The alternative annotator test of Calderon, Reichart & Dror (2025).

    judge: its value for each row of `given`, on the people's scale, NaN where it gave none.
    epsilon: by how much a person may be better and yet be replaced, because the judge costs less:
    the paper takes 0.2 for experts, 0.15 for trained and 0.1 for paid people. score: agreement with
    the others on a row, "accuracy" (share of them with the same value) or "rmse" (minus the root of
    the mean squared difference). rate: false discovery rate over people (Benjamini & Yekutieli
    2001). least: rows a person needs to be tested.

    For each person a one-sided paired t test of person - judge < epsilon over rows, cluster-robust
    where rows share clusters; without any spread among the differences p is the chance that so many
    clusters hid a large enough share of others. Raises ValueError for an unknown score, epsilon or
    rate outside [0, 1), or lengths that differ.
    """
    values = np.asarray(judge, dtype=float)
    if len(values) != len(given.rows):
        raise ValueError("the judge needs a value (or NaN) for every row")
    if np.isinf(values).any():
        raise ValueError("values must be finite")
    if score not in _SCORES:
        raise ValueError(f"{score!r} is not one of {', '.join(_SCORES)}")
    if not (0 <= epsilon < 1 and 0 < rate < 1):
        raise ValueError("epsilon lies in [0, 1), the rate in (0, 1)")
    usable = (given.counts >= 2) & ~np.isnan(values)
    tests: list[PersonTest] = []
    wins = np.full(given.values.shape, np.nan)
    for at, person in enumerate(given.people):
        rows = np.nonzero(usable & ~np.isnan(given.values[:, at]))[0]
        clusters = len(np.unique(given.cluster[rows]))
        if len(rows) < least or clusters < 2:
            reason = (
                f"labelled {len(rows)} of the shared rows, fewer than {least}"
                if len(rows) < least
                else "one cluster"
            )
            tests.append(
                PersonTest(
                    person, len(rows), clusters, None, None, None, False, f"not tested: {reason}"
                )
            )
            continue
        others = np.delete(given.values[rows], at, axis=1)
        ours, theirs = (
            _SCORES[score](values[rows], others),
            _SCORES[score](given.values[rows, at], others),
        )
        # Equal means may differ in the last bit.
        close = np.isclose(ours, theirs, rtol=1e-12, atol=1e-12)
        judge_wins, person_wins = (ours > theirs) | close, (theirs > ours) | close
        wins[rows, at] = judge_wins
        p = _below(person_wins.astype(float) - judge_wins, given.cluster[rows], epsilon)
        tests.append(
            PersonTest(
                person,
                len(rows),
                clusters,
                float(judge_wins.mean()),
                float(person_wins.mean()),
                p,
                False,
            )
        )
    tested = [i for i, test in enumerate(tests) if test.p is not None]
    limit = _yekutieli([tests[i].p or 0.0 for i in tested], rate)
    for i in tested:
        one = tests[i]
        if (one.p or 0.0) <= limit:
            tests[i] = PersonTest(
                one.person,
                one.n,
                one.clusters,
                one.judge_rate,
                one.person_rate,
                one.p,
                True,
                one.reason,
            )
    winning = sum(tests[i].beaten for i in tested) / len(tested) if tested else None
    return AltTest(
        score,
        epsilon,
        rate,
        winning,
        _advantage(wins[:, tested], given.cluster, draws, seed, level),
        None if winning is None else winning >= 0.5,
        tuple(tests),
        tuple(_cautions(given, usable, tests)),
    )


def _accuracy(value: FloatArray, others: FloatArray) -> FloatArray:
    found: FloatArray = np.nanmean(
        np.where(np.isnan(others), np.nan, value[:, None] == others), axis=1
    )
    return found


def _rmse(value: FloatArray, others: FloatArray) -> FloatArray:
    found: FloatArray = -np.sqrt(np.nanmean((value[:, None] - others) ** 2, axis=1))
    return found


_SCORES: Mapping[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "accuracy": _accuracy,
    "rmse": _rmse,
}


def _below(differences: FloatArray, cluster: IntArray, epsilon: float) -> float:
    """One-sided p of "the mean difference is at least epsilon"."""
    mean = MeanAccumulator(-1.0, 1.0)
    for value, code in zip(differences.tolist(), cluster.tolist(), strict=True):
        mean.add(value, str(code))
    middle, variance = mean.mean, mean.variance
    if middle is None or variance is None:
        return 1.0
    if variance == 0.0:
        # A share u of clusters at 1 would lift the mean to epsilon; none of K clusters met one.
        return (
            1.0 if middle >= epsilon else (1 - (epsilon - middle) / (1 - middle)) ** mean.effective
        )
    t = (middle - epsilon) / math.sqrt(variance)
    both = t_p_value(t, max(1.0, mean.effective - 1))
    return both / 2 if t < 0 else 1 - both / 2


def _yekutieli(pvalues: Sequence[float], rate: float) -> float:
    """The largest p that is still a discovery (Benjamini & Yekutieli 2001, any dependence); below 0
    when none is.
    """
    count = len(pvalues)
    harmonic = math.fsum(1 / k for k in range(1, count + 1))
    passed = [p for k, p in enumerate(sorted(pvalues), 1) if p <= k / count * rate / harmonic]
    return max(passed, default=-1.0)


def _advantage(wins: FloatArray, cluster: IntArray, draws: int, seed: int, level: float) -> Figure:
    """Mean over people of the share of their rows that the judge wins, resampling clusters."""
    rows = np.nonzero((~np.isnan(wins)).any(1))[0] if wins.shape[1] else np.zeros(0, np.int64)
    name = "advantage_probability"
    if not len(rows):
        return Figure(name, None, None, 0, "not defined: nobody could be tested")
    codes = np.unique(cluster[rows], return_inverse=True)[1].reshape(-1)
    groups = int(codes.max()) + 1
    seen = ~np.isnan(wins[rows])

    def total(cells: FloatArray) -> FloatArray:
        return np.stack(
            [np.bincount(codes, weights=column, minlength=groups) for column in cells.T], 1
        )

    won, n = total(np.nan_to_num(wins[rows])), total(seen.astype(float))
    value = float((won.sum(0) / n.sum(0)).mean())
    drawn = [
        ratio(w @ won, w @ n).mean(-1)
        for w in bootstrap.weights(groups, draws, seed, max(1, BLOCK // groups))
    ]
    deviation = float(bootstrap.spread(np.concatenate(drawn)))
    if groups < 2 or not math.isfinite(deviation):
        return Figure(name, value, None, len(rows), "no interval: too few clusters")
    freedom = max(1.0, bootstrap.effective(np.bincount(codes).astype(np.float64)) - 1)
    interval: Interval = bootstrap.interval(
        value, deviation, freedom, 0.0, 1.0, level=level, clustered=groups < len(rows)
    )
    few = f"only {groups} clusters: read the interval with care" if groups < FEW_CLUSTERS else ""
    return Figure(name, value, interval, len(rows), few)


def _cautions(
    given: Votes, usable: NDArray[np.bool_], tests: Sequence[PersonTest]
) -> Iterator[str]:
    tested = [test for test in tests if test.p is not None]
    if len(tested) == 2:
        yield (
            "two people only: each is compared with the other alone; the test was made for three or"
            " more"
        )
    if len(tested) == 1:
        yield "one person only could be tested: the winning rate is all or nothing"
    lost = int(((given.counts >= 2) & ~usable).sum())
    if lost:
        yield f"shared rows without a value of the judge, left out: {lost}"
    whole = int(usable.sum())
    for test in tested:
        if test.n < whole / 2 and len(given.people) > 2:
            yield (
                f"{test.person} labelled {test.n} of {whole} rows: if they were called in where"
                " others differed, leave them out"
            )
