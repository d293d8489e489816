"""Which rows of a run should a person label next, so that few labels say most and still say the
truth?

Labels are worth most where the judge may be wrong. With p the judge's probability that a person
passes the row, a label differs from p with standard deviation sqrt(p (1 - p)), and a corrected mean
has its smallest variance when rows are drawn in proportion to it (Neyman 1934 for strata; Zrnic &
Candes 2024, "Active statistical inference", for rows). p is kept off 0 and 1: a judge that is sure
may be wrong.

Every choice has a known probability, and a share of the rows (the audit) is drawn with the same
probability everywhere, so that an estimate that trusts no judge stays possible. The rows are drawn
systematically (Madow 1949): laid end to end on a line in a random order, each as long as its
inclusion probability, and taken where a comb with teeth one apart touches them. So exactly n rows
come out, each with exactly its probability, and with equal probabilities it is simple random
sampling. The order is random inside strata of slice and judge's score, so that every stratum gets
its share to within one row; or cluster by cluster, which keeps a cluster to its limit.

Rounds: each draws from what earlier ones left, so its probabilities hold given those. `combined`
joins the rounds into one weight a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.core import RowResult, SetupError, Status, nearest
from ragassay.scoring.clusters import codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

METHODS = ("uniform", "stratified", "active")
AUDIT = 0.2
SUREST = 0.01
"""Nearest to 0 and 1 that a judge's probability is believed."""
BINS = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that may be labelled. probability: of "a person passes this row" by the judge, None
    where the judge was lost (such a row counts as fully unsure). slice: value of one slice field.
    """

    id: str
    probability: float | None
    cluster: str | None = None
    slice: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A row to label. inclusion_probability: the chance of being chosen in this round, audit or
    not. stream: "audit" is drawn with one chance for all rows, the others are named by their
    method. stratum: a code that says nothing of the verdict.
    """

    id: str
    inclusion_probability: float
    stream: str
    stratum: str
    round: int


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, in random order. pool: rows it was chosen from. asked: how many were asked
    for. audit_probability: the chance that a row of the pool is in the audit. run: the run's id,
    clusters: those of the rows chosen, where the caller knows them.
    """

    rows: tuple[Chosen, ...]
    pool: int
    asked: int
    audit_probability: float
    notes: tuple[str, ...] = ()
    run: str = ""
    clusters: int = 0


def candidates(
    rows: Iterable[RowResult], metric: str, *, slice: str | None = None
) -> tuple[Candidate, ...]:
    """The rows of a run to which the metric applies, with what its judge thinks.

    The score in [0, 1] is read with the pass mark as the point of most doubt: mark m goes to 0.5,
    in straight lines to 0 and 1. slice: name of a slice field.
    """
    found = []
    for row in rows:
        score = row.score(metric)
        if row.sample is None or score is None or score.status is Status.NOT_APPLICABLE:
            continue
        value = score.value
        if value is not None and not 0 <= value <= 1:
            value = None
        doubt = None if value is None else _doubt(value, score.pass_mark)
        part = row.sample.slices.get(slice, "") if slice else ""
        found.append(Candidate(row.id, doubt, row.sample.cluster, part))
    return tuple(found)


def _doubt(value: float, mark: float | None) -> float:
    if mark is None or not 0 < mark <= 1:
        return value
    if value < mark:
        return value / mark / 2
    return 0.5 + (value - mark) / (1 - mark) / 2 if mark < 1 else 1.0


def choose(
    given: Sequence[Candidate],
    n: int,
    *,
    method: str = "active",
    audit: float = AUDIT,
    taken: Collection[str] = (),
    round: int = 1,
    per_cluster: int | None = None,
    seed: int = 0,
) -> Choice:
    """Choose n rows to label.

    method: "uniform" draws every row alike; "stratified" draws more from strata (slice, fifth of
    the judge's probability) in which the judge is unsure, all rows of a stratum alike; "active"
    draws each row in proportion to how unsure the judge is of it. audit: share of n that is drawn
    with one chance for all rows. taken: ids that were chosen in earlier rounds, which are left out.
    per_cluster: most rows of one cluster in this round (those without a cluster are their own); it
    takes chance away from large clusters. Fewer rows than asked come back when there are no more,
    and a note says so.

    Every row of the pool has a chance above 0. Raises SetupError E0101 for an unknown method, n or
    per_cluster below 1, or an audit outside [0, 1]; ValueError for a probability outside [0, 1] or
    an id that comes twice.
    """
    if method not in METHODS:
        raise SetupError(
            "E0101",
            f"Rows cannot be chosen by {method!r}.{nearest(method, METHODS)}",
            where="--method",
            fix=f"one of {', '.join(METHODS)}",
        )
    for where, value in (
        ("--count", n),
        ("--per-cluster", 1 if per_cluster is None else per_cluster),
        ("round", round),
    ):
        if value < 1:
            raise SetupError(
                "E0101", f"{where} is 1 or more.", where=where, why=str(value), fix="give 1 or more"
            )
    if not 0 <= audit <= 1:
        raise SetupError(
            "E0101",
            "The audit is a share.",
            where="--audit",
            why=f"{audit:g}",
            fix="0 to 1, as in 0.2",
        )
    if len({row.id for row in given}) != len(given):
        raise ValueError("two candidates have one id")
    if any(row.probability is not None and not 0 <= row.probability <= 1 for row in given):
        raise ValueError("a probability lies in [0, 1]")
    left_out = set(taken)
    pool = [row for row in given if row.id not in left_out]
    if not pool:
        return Choice((), 0, n, 0.0, ("no row is left to label",))
    rng = np.random.default_rng((seed, round))  # one seed for all rounds must not tie them together
    cluster = codes(row.cluster for row in pool)
    stratum, names = _strata(pool, rng)
    unsure = _unsure(pool)
    if method == "uniform":
        size, audit = np.ones(len(pool)), 1.0
    elif method == "stratified":
        squares = np.bincount(stratum, unsure**2) / np.bincount(stratum)
        size = np.sqrt(squares)[stratum]
    else:
        size = unsure
    size = audit / len(pool) + (1 - audit) * size / size.sum()
    most = len(pool)
    if per_cluster is not None:
        most = int(np.minimum(np.bincount(cluster), per_cluster).sum())
    count = min(n, most)
    chance = _inclusion(size, count, cluster if per_cluster is not None else None, per_cluster or 0)
    if per_cluster is not None:
        order = np.lexsort(
            (rng.random(len(pool)), rng.permutation(int(cluster.max()) + 1)[cluster])
        )
    else:
        order = np.lexsort(
            (rng.random(len(pool)), np.zeros(len(pool)) if method == "uniform" else stratum)
        )
    taken_now = order[_comb(chance[order], float(rng.random()))]
    # Of what was taken, a row is in the audit with the chance that makes it alike for all rows.
    even = min(audit * count / len(pool), float(chance.min()))
    audited = (
        set(taken_now[_comb(even / chance[taken_now], float(rng.random()))].tolist())
        if even > 0
        else set()
    )
    rest = method
    rows = tuple(
        Chosen(
            pool[i].id,
            min(1.0, float(chance[i])),
            "audit" if i in audited else rest,
            names[stratum[i]],
            round,
        )
        for i in rng.permutation(taken_now).tolist()
    )
    notes = (
        []
        if len(rows) >= n
        else [f"{len(rows)} rows instead of {n}: there are no more to choose from"]
    )
    if per_cluster is not None and even < audit * count / len(pool) * (1 - 1e-9):
        notes.append(
            f"the audit is smaller than asked, because a cluster gives at most {per_cluster} rows"
        )
    lost = sum(row.probability is None for row in pool)
    if lost and method != "uniform":
        notes.append(f"{lost} rows without a judge's score count as fully unsure")
    return Choice(rows, len(pool), n, even, tuple(notes))


def combined(labelled: Sequence[tuple[int, float]], population: int) -> tuple[float, ...]:
    """One inclusion probability a row for labels of several rounds, (round, probability in that
    round) -> probability.

    population: rows that could have been chosen at the start, labelled ones included. A row not yet
    labelled before round j stands for 1 / q rows in round j; each round so gives an unbiased total
    (earlier rows, which count once, plus its own weighted ones), and the rounds are averaged (Des
    Raj 1956) with weights that make rounds of equal chances the same as one simple random sample.
    The weight of a row of round j is then w_j / q + (sum of w_k over later rounds k), whatever the
    later rounds looked at, labels included. Its inverse is returned. Where one exceeds 1 (a row
    that was certain to be chosen in a late round), all are divided by the largest: a mean that
    divides by the sum of weights does not care. Raises ValueError for probabilities outside (0, 1]
    or more rows than the population.
    """
    if any(not 0 < q <= 1 for _, q in labelled):
        raise ValueError("an inclusion probability lies in (0, 1]")
    total = len(labelled)
    if total > population:
        raise ValueError(f"{total} labelled rows of {population}")
    rounds = sorted({round for round, _ in labelled})
    if len(rounds) < 2:
        return tuple(q for _, q in labelled)
    size = {round: sum(one == round for one, _ in labelled) for round in rounds}
    weight: dict[int, float] = {}
    later: dict[int, float] = {}
    behind, left = 0.0, population - total
    for round in reversed(rounds):
        left += size[round]  # rows that this round drew from
        later[round] = behind
        weight[round] = (population / total - behind) * size[round] / left
        behind += weight[round]
    found = [1 / (weight[round] / q + later[round]) for round, q in labelled]
    most = max(1.0, *found)
    return tuple(value / most for value in found)


def _unsure(pool: Sequence[Candidate]) -> FloatArray:
    p = np.array([0.5 if row.probability is None else row.probability for row in pool]).clip(
        SUREST, 1 - SUREST
    )
    found: FloatArray = np.sqrt(p * (1 - p))
    return found


def _strata(pool: Sequence[Candidate], rng: np.random.Generator) -> tuple[IntArray, list[str]]:
    """Slice and fifth of the judge's probability; numbered at random, so that a sheet does not say
    what the judge said.
    """
    p = np.array([np.nan if row.probability is None else row.probability for row in pool])
    known = p[~np.isnan(p)]
    bins = np.full(len(pool), BINS)
    if len(known):
        edges = np.unique(np.quantile(known, np.arange(1, BINS) / BINS))
        bins = np.where(np.isnan(p), BINS, np.searchsorted(edges, p, side="right"))
    code = codes((row.slice, int(bin)) for row, bin in zip(pool, bins, strict=True))
    numbers = rng.permutation(int(code.max()) + 1)[code]
    names = [""] * (int(code.max()) + 1)
    for number, row in zip(numbers.tolist(), pool, strict=True):
        names[number] = f"{row.slice}/{number + 1}" if row.slice else str(number + 1)
    return numbers, names


def _inclusion(size: FloatArray, count: int, cluster: IntArray | None, most: int) -> FloatArray:
    """Probabilities in proportion to size that sum to count, none above 1 and no cluster's sum
    above `most`.

    What reaches a limit stays there, and what is left over goes to the others, until nothing
    exceeds any limit.
    """
    chance, fixed = np.zeros(len(size)), np.zeros(len(size), dtype=bool)
    while not fixed.all():
        free = ~fixed
        chance[free] = size[free] * max(0.0, count - chance[fixed].sum()) / size[free].sum()
        over = free & (chance >= 1)
        if over.any():
            chance[over], fixed = 1.0, fixed | over
            if cluster is None:
                continue
        if cluster is None:
            break
        sums = np.bincount(cluster, chance)
        full = (sums > most + 1e-12)[cluster] & ~fixed
        if not full.any():
            if not over.any():
                break
            continue
        within = np.nonzero((sums > most + 1e-12)[cluster])[0]
        within = within[np.argsort(cluster[within], kind="stable")]
        for rows in np.split(within, np.nonzero(np.diff(cluster[within]))[0] + 1):
            chance[rows] = _inclusion(size[rows], most, None, 0)
        fixed[within] = True
    return np.minimum(chance, 1.0)


def _comb(chance: FloatArray, start: float) -> IntArray:
    """Places on the line that a comb with teeth at start, start + 1 ... touches."""
    ends = np.cumsum(chance)
    whole = float(np.rint(ends[-1])) if len(ends) else 0.0
    if len(ends) and abs(ends[-1] - whole) < 1e-6 * max(1.0, whole):
        ends = ends * (whole / ends[-1]) if whole else ends
    teeth = np.arange(start, float(ends[-1]) if len(ends) else 0.0)
    found: IntArray = np.minimum(np.searchsorted(ends, teeth, side="right"), len(ends) - 1)
    return found
