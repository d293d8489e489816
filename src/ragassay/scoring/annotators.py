"""Agreement of people with each other, and the test of whether a judge may take a person's place.

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
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ragassay.core import Figure, HumanLabel
from ragassay.scoring import agreement, bootstrap
from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray, numbered
from ragassay.scoring.clusters import FEWEST, codes, few_clusters_note
from ragassay.scoring.coefficients import ratio
from ragassay.scoring.intervals import MeanAccumulator, t_p_value
from ragassay.scoring.ratings import GRADES, Ratings

LEAST_RARE = 5
"""With fewer rows that hold any but the commonest value, no interval is given."""
MOST_RATIOS = 2000
"""With more distinct values there is no alpha for sizes: it takes a table of all their pairs."""
BLOCK = 2_000_000
"""Numbers in memory at a time while coefficients are drawn: the draws are made in blocks."""
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


JUDGE = "the judge"
"""How the judge is called among people."""


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
        rows, people = len(self.rows), len(self.people)
        if self.values.shape != (rows, people) or self.cluster.shape != (rows,):
            raise ValueError("a value for every row and person, and a cluster for every row")
        if np.isinf(self.values).any():
            raise ValueError("values must be finite")

    @property
    def counts(self) -> IntArray:
        """How many people labelled each row."""
        counts: IntArray = (~np.isnan(self.values)).sum(1)
        return counts


def votes(labels: Iterable[HumanLabel], clusters: Mapping[str, str | None] | None = None) -> Votes:
    """Labels as a table, people and rows in the order in which they come.

    clusters: row id -> cluster; a row without one is its own. Raises ValueError when a person
    labels a row twice with different values.
    """
    people: dict[str, int] = {}
    rows: dict[str, int] = {}
    cells: dict[tuple[int, int], float] = {}
    for label in labels:
        row = rows.setdefault(label.row_id, len(rows))
        person = people.setdefault(label.annotator, len(people))
        if cells.setdefault((row, person), label.value) != label.value:
            who = label.annotator or "one person"
            raise ValueError(f"{who} labelled {label.row_id} twice with different values")
    values = np.full((len(rows), len(people)), np.nan)
    for cell, value in cells.items():
        values[cell] = value
    cluster = codes((clusters or {}).get(row_id) for row_id in rows)
    return Votes(tuple(people), tuple(rows), values, cluster)


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
    votes: Votes,
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
    units = _Units(votes)
    return PeopleAgreement(
        people=votes.people,
        rows=len(votes.rows),
        shared=units.n,
        clusters=units.clusters,
        values=tuple(map(float, units.points)),
        figures=tuple(_coefficients(units, draws, seed, level)),
        pairs=tuple(_pairs(votes, units.points, draws, seed, level, pair_figures)),
        warnings=tuple(_warnings(votes, units)),
    )


def _warnings(votes: Votes, units: _Units) -> Iterator[str]:
    """What to beware of when reading the agreement of these people."""
    if len(votes.people) < 2:
        yield "only one person labelled: agreement needs a second"
    if 0 < units.clusters < FEWEST:
        yield few_clusters_note(units.clusters, "intervals")
    rows, shared = len(votes.rows), units.n
    if 0 < shared < rows:
        yield f"rows with one label only, which say nothing of agreement: {rows - shared}"
    labelled = (~np.isnan(votes.values)).sum(0).tolist()
    for person, count in zip(votes.people, labelled, strict=True):
        if 2 * count < shared:
            yield (
                f"{person} labelled {count} of {rows} rows: if these were chosen because others"
                " differ on them, figures of all people together are too low"
            )


def coefficient(name: str, values: FloatArray) -> float | None:
    """One of `COEFFICIENTS` over values (rows, people) with NaN for gaps; None where it is not
    defined.
    """
    rows, people = values.shape
    votes = Votes(
        tuple(map(str, range(people))), tuple(map(str, range(rows))), values, np.arange(rows)
    )
    return _number(_Units(votes).figure(name))


class _Units:
    """Counts by cluster from which every coefficient follows, for one set of rows or for thousands
    of resampled ones.

    Each pair of labels of a row with r of them counts 2 / (r - 1), so that a row counts as many
    values as it has labels. Rows with one label only say how common the values are (Fleiss, AC1: as
    Gwet has it); alpha leaves them out.
    """

    def __init__(self, votes: Votes) -> None:
        present = ~np.isnan(votes.values)
        counts = present.sum(1)
        shared = counts >= 2
        labelled = counts >= 1
        self.points, self.code = _coded(votes.values, present)
        self.cluster, self.groups = _renumbered(votes.cluster, labelled)
        self.n = int(shared.sum())
        self.clusters = len(np.unique(self.cluster[shared]))
        ones = np.ones(len(counts))
        self.margin = self._by_value(present & shared[:, None], ones)
        self.share = self._by_value(present, 1 / np.maximum(counts, 1))
        self.labelled = self._by_cluster(self.cluster[labelled], ones[labelled])
        self.shared = self._by_cluster(self.cluster[shared], ones[shared])
        self.effective = bootstrap.effective(self.shared)
        self._set_pairs(present, counts)
        # What carries a chance-corrected figure is the rows that hold any but the commonest value.
        common = int(self.margin.sum(0).argmax()) if len(self.points) else -1
        rare = (present & (self.code != common)).any(1) & shared
        self.rare = int(rare.sum())
        self.carried = bootstrap.effective(self._by_cluster(self.cluster[rare], ones[rare]))

    def _set_pairs(self, present: BoolArray, counts: IntArray) -> None:
        """Every pair of labels of a row: the index of either value, its cluster and its weight."""
        rows, first, second = [], [], []
        for i, j in combinations(range(present.shape[1]), 2):
            by_both = np.nonzero(present[:, i] & present[:, j])[0]
            rows.append(by_both)
            first.append(self.code[by_both, i])
            second.append(self.code[by_both, j])
        row = _joined(rows)
        self.first, self.second = _joined(first), _joined(second)
        self.pair_cluster = self.cluster[row]
        self.gain = 2 / (counts[row] - 1)
        same = self.first == self.second
        self.agreed = self._by_cluster(self.pair_cluster, same * self.gain / counts[row])

    def _by_cluster(self, cluster: IntArray, weight: FloatArray) -> FloatArray:
        """(clusters,) sums of the weights."""
        sums = np.bincount(cluster, weights=weight, minlength=self.groups)
        return sums.astype(np.float64)

    def _by_value(self, chosen: BoolArray, weight: FloatArray) -> FloatArray:
        """(clusters, values) sums of the weights of the rows of the chosen labels."""
        size = len(self.points)
        row, person = np.nonzero(chosen)
        at = self.cluster[row] * size + self.code[row, person]
        flat = np.bincount(at, weights=weight[row], minlength=self.groups * size)
        return flat.reshape(self.groups, size).astype(np.float64)

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
        """(draws,) the coefficient under weights (draws, clusters).

        added: (draws, 4) rows added where there are two values: rows of two labels that are both
        the first value, differ in either order, or are both the second.
        """
        w = np.ones((1, self.groups)) if weight is None else weight
        if not self.n:
            return np.full(len(w), np.nan)
        if name in ("observed_agreement", "fleiss_kappa", "ac1"):
            return self._beyond_chance(name, w, added)
        margin = w @ self.margin
        if name == "alpha_ordinal":
            middle = np.cumsum(margin, -1) - margin / 2
            observed = self._observed_of_ranks(w, middle)
            expected = _spread(margin, middle)
        else:
            observed = w @ self._by_cluster(self.pair_cluster, self.distance(name) * self.gain)
            if name == "alpha" and added is not None:
                # A row of two labels is two values, and its pair of labels counts 2 / (2 - 1).
                mixed = added[:, 1] + added[:, 2]
                margin = margin + np.stack(
                    [
                        2 * added[:, 0] + added[:, 1] + added[:, 2],
                        2 * added[:, 3] + added[:, 1] + added[:, 2],
                    ],
                    1,
                )
                observed = observed + 2 * mixed
            expected = self._expected(name, margin)
        # 1 - (N - 1) * observed / expected, N values in rows with two labels or more.
        alpha: FloatArray = 1 - ratio((margin.sum(-1) - 1) * observed, expected)
        return alpha

    def _observed_of_ranks(self, w: FloatArray, middle: FloatArray) -> FloatArray:
        """(draws,) disagreement of all pairs, the values as the mid-ranks (draws, values).

        The mid-ranks are others in every draw, so that pairs cannot be summed by cluster before;
        blocks of draws bound the memory.
        """
        observed = np.empty(len(w))
        block = max(1, BLOCK // max(1, len(self.first)))
        for start in range(0, len(w), block):
            part = slice(start, start + block)
            gap = (middle[part, self.first] - middle[part, self.second]) ** 2
            observed[part] = (w[part][:, self.pair_cluster] * gap * self.gain).sum(-1)
        return observed

    def _expected(self, name: str, margin: FloatArray) -> FloatArray:
        """(draws,) disagreement of values paired at random, for names, numbers or sizes."""
        expected: FloatArray
        if name == "alpha":
            expected = margin.sum(-1) ** 2 - (margin**2).sum(-1)
        elif name == "alpha_interval":
            # Around their mean: sums of squares of large, close values would cancel.
            centred = self.points - float((margin @ self.points).sum() / margin.sum())
            expected = _spread(margin, np.broadcast_to(centred, margin.shape))
        else:
            total = self.points[:, None] + self.points[None, :]
            gap = np.nan_to_num(ratio(self.points[:, None] - self.points[None, :], total)) ** 2
            expected = ((margin @ gap) * margin).sum(-1)
        return expected

    def _beyond_chance(self, name: str, w: FloatArray, added: FloatArray | None) -> FloatArray:
        """(draws,) the observed agreement, or Fleiss' kappa or AC1 of it."""
        agreed = w @ self.agreed
        shared = w @ self.shared
        share = w @ self.share
        labelled = w @ self.labelled
        if added is not None:
            more = added.sum(1)
            half = (added[:, 1] + added[:, 2]) / 2
            agreed = agreed + added[:, 0] + added[:, 3]
            shared = shared + more
            labelled = labelled + more
            share = share + np.stack([added[:, 0] + half, added[:, 3] + half], 1)
        observed = ratio(agreed, shared)
        if name == "observed_agreement":
            return observed
        if len(self.points) < 2:
            return np.full(len(w), np.nan)
        # How common each value is; chance agreement is the sum of squares (Fleiss), or (1 - that) /
        # (values - 1) (Gwet).
        common = ratio(share, labelled[:, None])
        squares = (common**2).sum(-1)
        chance = squares if name == "fleiss_kappa" else (1 - squares) / (len(self.points) - 1)
        return ratio(observed - chance, 1 - chance)


def _coded(values: FloatArray, present: BoolArray) -> tuple[FloatArray, IntArray]:
    """The distinct values, rising, and the index of each cell's value among them, -1 for gaps."""
    points, inverse = np.unique(values[present], return_inverse=True)
    code = np.full(values.shape, -1)
    code[present] = inverse.reshape(-1)
    return points, code


def _renumbered(cluster: IntArray, labelled: BoolArray) -> tuple[IntArray, int]:
    """Codes from 0 for the clusters of labelled rows (-1 for others), and how many those are."""
    names = np.unique(cluster[labelled])
    if not len(cluster):
        return np.zeros(0, np.int64), 0
    place = np.full(int(cluster.max()) + 1, -1)
    place[names] = np.arange(len(names))
    return place[cluster], len(names)


def _joined(parts: Sequence[IntArray]) -> IntArray:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _spread(margin: FloatArray, at: FloatArray) -> FloatArray:
    """Sum over all ordered pairs of values of margin * margin * (difference of `at`) squared."""
    spread: FloatArray = 2 * (
        margin.sum(-1) * (margin * at**2).sum(-1) - (margin * at).sum(-1) ** 2
    )
    return spread


def _coefficients(units: _Units, draws: int, seed: int, level: float) -> Iterator[Figure]:
    names = _coefficient_names(units)
    values = {name: _number(units.figure(name)) for name in names}
    drawn: Mapping[str, FloatArray] = {}
    if units.clusters > 1 and any(value is not None for value in values.values()):
        drawn = _draw(units, names, draws, seed)
    for name in names:
        yield _figure(name, values[name], units, drawn.get(name), level)


def _coefficient_names(units: _Units) -> list[str]:
    """The coefficients that make sense for these values; ranks and numbers need three of them."""
    names = ["observed_agreement", "alpha"]
    if len(units.points) > 2:
        names += ["alpha_ordinal", "alpha_interval"]
        if units.points[0] >= 0 and len(units.points) <= MOST_RATIOS:
            names.append("alpha_ratio")
    return [*names, "fleiss_kappa", "ac1"]


def _draw(units: _Units, names: Sequence[str], draws: int, seed: int) -> dict[str, FloatArray]:
    """(draws,) of each coefficient over resampled clusters."""
    added = None
    if len(units.points) == 2:
        effect = max(1.0, units.n / units.effective)
        added = bootstrap.added_rows((draws, 4), effect, seed)
    blocks: dict[str, list[FloatArray]] = {name: [] for name in names}
    block = max(1, min(draws, BLOCK // max(1, units.groups)))
    at = 0
    for weight in bootstrap.weights(units.groups, draws, seed, block):
        more = None if added is None else added[at : at + len(weight)]
        for name in names:
            blocks[name].append(units.figure(name, weight, more))
        at += len(weight)
    return {name: np.concatenate(parts) for name, parts in blocks.items()}


def _figure(
    name: str, value: float | None, units: _Units, drawn: FloatArray | None, level: float
) -> Figure:
    if value is None:
        return Figure(name, None, None, units.n, _undefined(units))
    chance_corrected = name != "observed_agreement"
    carried = min(units.carried, units.effective) if chance_corrected else units.effective
    if units.clusters < 2 or drawn is None:
        return Figure(name, value, None, units.n, "no interval: all rows lie in one cluster")
    if chance_corrected and (units.rare < LEAST_RARE or carried < LEAST_RARE - 1):
        rows = "row holds" if units.rare == 1 else "rows hold"
        reason = f"no interval: only {units.rare} {rows} any but the commonest value"
        return Figure(name, value, None, units.n, reason)
    deviation = float(bootstrap.spread(drawn))
    # Fleiss' kappa and AC1 may fall below -1, where the logit scale of [-1, 1] has no place for
    # them.
    if not math.isfinite(deviation) or value < -1:
        reason = "no interval: resampling hardly ever leaves a figure in range"
        return Figure(name, value, None, units.n, reason)
    interval = bootstrap.interval(
        min(1.0, value),
        deviation,
        max(1.0, carried - 1),
        -1.0 if chance_corrected else 0.0,
        1.0,
        level=level,
        clustered=units.clusters < units.n,
    )
    return Figure(name, value, interval, units.n, few_clusters_note(units.clusters))


def _undefined(units: _Units) -> str:
    """Why a coefficient has no value."""
    if not units.n:
        return "not defined: no row has labels of two people"
    if len(units.points) < 2:
        return "not defined: everyone gave every row the same value"
    return "not defined: the values leave nothing to disagree on"


def _pairs(
    votes: Votes,
    points: FloatArray,
    draws: int,
    seed: int,
    level: float,
    names: Sequence[str] | None,
) -> Iterator[PairAgreement]:
    graded = len(points) <= GRADES
    cut = _even_cut(votes, points)
    if names is None:
        names = BINARY_PAIR_FIGURES if len(points) <= 2 else PAIR_FIGURES
    for i, j in combinations(range(len(votes.people)), 2):
        by_both = ~np.isnan(votes.values[:, i]) & ~np.isnan(votes.values[:, j])
        a, b = votes.values[by_both, i], votes.values[by_both, j]
        if not len(a):
            yield PairAgreement(votes.people[i], votes.people[j], 0, ())
            continue
        ratings = Ratings(
            label=a,
            score=b,
            passes=b >= cut,
            truth=a >= cut,
            grades=(np.searchsorted(points, a), np.searchsorted(points, b)) if graded else None,
            points=tuple(map(float, points)) if graded else (),
            cluster=votes.cluster[by_both],
        )
        figures = agreement.figures(ratings, names=names, draws=draws, seed=seed, level=level)
        yield PairAgreement(votes.people[i], votes.people[j], len(a), figures.pooled)


def _even_cut(votes: Votes, points: FloatArray) -> float:
    """The value from which on a label passes, chosen so that the labels split most evenly.

    Graded figures hang on the rarer side of a cut: this one loses fewest intervals.
    """
    labels = np.sort(votes.values[~np.isnan(votes.values)])

    def unevenness(value: float) -> int:
        return abs(2 * int(np.searchsorted(labels, value)) - len(labels))

    return min(map(float, points[1:]), key=unevenness, default=0.0)


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
    votes: Votes,
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

    judge: its value for each row of `votes`, on the people's scale, NaN where it gave none.
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
    _check_test(values, votes, epsilon, score, rate)
    usable = (votes.counts >= 2) & ~np.isnan(values)
    tests: list[PersonTest] = []
    wins = np.full(votes.values.shape, np.nan)
    for at in range(len(votes.people)):
        rows = np.nonzero(usable & ~np.isnan(votes.values[:, at]))[0]
        test, judge_wins = _person(votes, at, rows, values[rows], _SCORES[score], epsilon, least)
        tests.append(test)
        if judge_wins is not None:
            wins[rows, at] = judge_wins
    tests = _corrected(tests, rate)
    tested = [i for i, test in enumerate(tests) if test.p is not None]
    winning = sum(tests[i].beaten for i in tested) / len(tested) if tested else None
    return AltTest(
        score=score,
        epsilon=epsilon,
        rate=rate,
        winning_rate=winning,
        advantage=_advantage(wins[:, tested], votes.cluster, draws, seed, level),
        may_replace=None if winning is None else winning >= 0.5,
        people=tuple(tests),
        warnings=tuple(_cautions(votes, usable, tests)),
    )


def _check_test(values: FloatArray, votes: Votes, epsilon: float, score: str, rate: float) -> None:
    if len(values) != len(votes.rows):
        raise ValueError("the judge needs a value (or NaN) for every row")
    if np.isinf(values).any():
        raise ValueError("values must be finite")
    if score not in _SCORES:
        raise ValueError(f"{score!r} is not one of {', '.join(_SCORES)}")
    if not (0 <= epsilon < 1 and 0 < rate < 1):
        raise ValueError("epsilon lies in [0, 1), the rate in (0, 1)")


def _person(
    votes: Votes,
    at: int,
    rows: IntArray,
    judge: FloatArray,
    score: _Score,
    epsilon: float,
    least: int,
) -> tuple[PersonTest, BoolArray | None]:
    """The test of the person in column `at`, before the correction over all people, and on which of
    `rows` the judge wins; None where the person was not tested.

    rows: places of the rows that the person, another one and the judge (`judge`) have values for.
    """
    person = votes.people[at]
    clusters = len(np.unique(votes.cluster[rows]))
    reason = ""
    if len(rows) < least:
        reason = f"labelled {len(rows)} of the shared rows, fewer than {least}"
    elif clusters < 2:
        reason = "one cluster"
    if reason:
        reason = f"not tested: {reason}"
        return PersonTest(person, len(rows), clusters, None, None, None, False, reason), None
    others = np.delete(votes.values[rows], at, axis=1)
    of_judge = score(judge, others)
    of_person = score(votes.values[rows, at], others)
    # Equal means may differ in the last bit.
    close = np.isclose(of_judge, of_person, rtol=1e-12, atol=1e-12)
    judge_wins = (of_judge > of_person) | close
    person_wins = (of_person > of_judge) | close
    test = PersonTest(
        person=person,
        n=len(rows),
        clusters=clusters,
        judge_rate=float(judge_wins.mean()),
        person_rate=float(person_wins.mean()),
        p=_below(person_wins.astype(float) - judge_wins, votes.cluster[rows], epsilon),
        beaten=False,
    )
    return test, judge_wins


def _corrected(tests: Sequence[PersonTest], rate: float) -> list[PersonTest]:
    """The tests with `beaten` set where p is still a discovery among those of all people."""
    limit = _yekutieli([test.p for test in tests if test.p is not None], rate)
    return [
        replace(test, beaten=True) if test.p is not None and test.p <= limit else test
        for test in tests
    ]


def _accuracy(value: FloatArray, others: FloatArray) -> FloatArray:
    """(rows,) share of the others who gave the same value."""
    same = np.where(np.isnan(others), np.nan, value[:, None] == others)
    share: FloatArray = np.nanmean(same, axis=1)
    return share


def _rmse(value: FloatArray, others: FloatArray) -> FloatArray:
    """(rows,) minus the root of the mean squared difference from the others."""
    error: FloatArray = -np.sqrt(np.nanmean((value[:, None] - others) ** 2, axis=1))
    return error


_Score = Callable[[FloatArray, FloatArray], FloatArray]
_SCORES: Mapping[str, _Score] = {"accuracy": _accuracy, "rmse": _rmse}


def _below(differences: FloatArray, cluster: IntArray, epsilon: float) -> float:
    """One-sided p of "the mean difference is at least epsilon"."""
    mean = MeanAccumulator(-1.0, 1.0)
    for value, code in zip(differences.tolist(), cluster.tolist(), strict=True):
        mean.add(value, str(code))
    middle, variance = mean.mean, mean.variance
    if middle is None or variance is None:
        return 1.0
    if variance == 0.0:
        if middle >= epsilon:
            return 1.0
        # A share u of clusters at 1 would lift the mean to epsilon; none of K clusters met one.
        unmet = (epsilon - middle) / (1 - middle)
        p: float = (1 - unmet) ** mean.effective
        return p
    t = (middle - epsilon) / math.sqrt(variance)
    two_sided = t_p_value(t, max(1.0, mean.effective - 1))
    return two_sided / 2 if t < 0 else 1 - two_sided / 2


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
    name = "advantage_probability"
    rows = np.nonzero((~np.isnan(wins)).any(1))[0]
    if not len(rows):
        return Figure(name, None, None, 0, "not defined: nobody could be tested")
    code = numbered(cluster[rows])
    groups = int(code.max()) + 1

    def by_cluster(cells: FloatArray) -> FloatArray:
        """(clusters, people) sums."""
        sums = [np.bincount(code, weights=column, minlength=groups) for column in cells.T]
        return np.stack(sums, 1)

    won = by_cluster(np.nan_to_num(wins[rows]))
    n = by_cluster((~np.isnan(wins[rows])).astype(float))
    value = float((won.sum(0) / n.sum(0)).mean())
    means = []
    for weight in bootstrap.weights(groups, draws, seed, max(1, BLOCK // groups)):
        means.append(ratio(weight @ won, weight @ n).mean(-1))
    deviation = float(bootstrap.spread(np.concatenate(means)))
    if groups < 2 or not math.isfinite(deviation):
        return Figure(name, value, None, len(rows), "no interval: too few clusters")
    freedom = max(1.0, bootstrap.effective(np.bincount(code).astype(np.float64)) - 1)
    interval = bootstrap.interval(
        value, deviation, freedom, 0.0, 1.0, level=level, clustered=groups < len(rows)
    )
    return Figure(name, value, interval, len(rows), few_clusters_note(groups))


def _cautions(votes: Votes, usable: BoolArray, tests: Sequence[PersonTest]) -> Iterator[str]:
    tested = [test for test in tests if test.p is not None]
    if len(tested) == 2:
        yield (
            "two people only: each is compared with the other alone; the test was made for three or"
            " more"
        )
    if len(tested) == 1:
        yield "one person only could be tested: the winning rate is all or nothing"
    unjudged = int(((votes.counts >= 2) & ~usable).sum())
    if unjudged:
        yield f"shared rows without a value of the judge, left out: {unjudged}"
    judged = int(usable.sum())
    for test in tested:
        if test.n < judged / 2 and len(votes.people) > 2:
            yield (
                f"{test.person} labelled {test.n} of {judged} rows: if they were called in where"
                " others differed, leave them out"
            )
