"""The choice of rows for people to label, so that few labels say most and still say the truth.

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

Rounds: each draws from what earlier ones left, so its probabilities hold given those.
`scoring.label_rounds` joins the rounds into one weight a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragassay.core import RowResult, SetupError, Status, nearest
from ragassay.core.counting import count
from ragassay.scoring.clusters import codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

METHODS = ("uniform", "stratified", "active")
AUDIT = 0.2
SUREST = 0.01
"""Nearest to 0 and 1 that a judge's probability is believed."""
BINS = 5
"""Fifths of the judge's probability, by which strata are made."""


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
class ChosenRow:
    """A row to label. inclusion_probability: the chance of being chosen in this round, audit or
    not. stream: "audit" is drawn with one chance for all rows, the others are named by their
    method. stratum: a code that says nothing of the verdict. pool: rows that this round was drawn
    from; drawn: how many it drew.
    """

    id: str
    inclusion_probability: float
    stream: str
    stratum: str
    round: int
    pool: int = 0
    drawn: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, in random order. pool: rows it was chosen from. asked: how many were asked
    for. audit_probability: the chance that a row of the pool is in the audit. run: the run's id,
    clusters: those of the rows chosen, scale: the values a label may take, where the caller knows
    them.
    """

    rows: tuple[ChosenRow, ...]
    pool: int
    asked: int
    audit_probability: float
    notes: tuple[str, ...] = ()
    run: str = ""
    clusters: int = 0
    scale: tuple[float, ...] = ()


def candidates(
    rows: Iterable[RowResult], metric: str, *, slice: str | None = None
) -> tuple[Candidate, ...]:
    """The rows of a run to which the metric applies, with what its judge thinks.

    The score in [0, 1] is read with the pass mark as the point of most doubt: mark m goes to 0.5,
    in straight lines to 0 and 1. slice: name of a slice field.
    """
    rows_to_label = []
    for row in rows:
        score = row.score(metric)
        if row.sample is None or score is None or score.status is Status.NOT_APPLICABLE:
            continue
        probability = None
        if score.value is not None and 0 <= score.value <= 1:
            probability = _probability(score.value, score.pass_mark)
        slice_value = row.sample.slices.get(slice, "") if slice else ""
        rows_to_label.append(Candidate(row.id, probability, row.sample.cluster, slice_value))
    return tuple(rows_to_label)


def _probability(value: float, mark: float | None) -> float:
    """A score in [0, 1] as a probability: 0.5 at the pass mark, straight lines to 0 and 1."""
    # Without a mark, or with one that every score reaches, there is no point of doubt to move.
    if mark is None or not 0 < mark <= 1:
        return value
    if value < mark:
        return value / mark / 2
    # The upper line has no length: only a full score passes.
    if mark == 1:
        return 1.0
    return 0.5 + (value - mark) / (1 - mark) / 2


def choose(
    candidates: Sequence[Candidate],
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
    _check_options(n, method, audit, round, per_cluster)
    _check_candidates(candidates)
    excluded = set(taken)
    pool = [row for row in candidates if row.id not in excluded]
    if not pool:
        return Choice((), 0, n, 0.0, ("no row is left to label",))
    # One seed for all rounds must not tie them together. The order of the draws is part of the
    # result: strata, places on the line, comb, audit, order of the sheet.
    rng = np.random.default_rng((seed, round))
    cluster = codes(row.cluster for row in pool)
    stratum, names = _strata(pool, rng)
    if method == "uniform":
        audit = 1.0
    # Size is what a chance is in proportion to, before any chance is cut off at 1.
    size = _sizes(pool, method, audit, stratum)
    count, chance = _chances(size, n, cluster, per_cluster)
    order = _order(rng, method, stratum, cluster if per_cluster is not None else None)
    chosen = order[_comb(chance[order], float(rng.random()))]
    # Of what was chosen, a row is in the audit with the chance that makes it alike for all rows.
    # It cannot exceed a row's own chance, which a limit on clusters may have made small.
    asked_audit = audit * count / len(pool)
    audit_chance = min(asked_audit, float(chance.min()))
    audited = _audited(rng, chosen, chance, audit_chance)
    # In random order, for the order of the draw would tell the strata, and so the judge's mind.
    rows = []
    for at in rng.permutation(chosen).tolist():
        inclusion = min(1.0, float(chance[at]))  # rounding may have made it 1.0000000000000002
        stream = "audit" if at in audited else method
        name = names[stratum[at]]
        rows.append(ChosenRow(pool[at].id, inclusion, stream, name, round, len(pool), len(chosen)))
    # The margin is for rounding: an audit as large as asked is no matter for a note.
    limit = per_cluster if audit_chance < asked_audit * (1 - 1e-9) else None
    notes = _notes(pool, method, len(rows), n, limit)
    return Choice(tuple(rows), len(pool), n, audit_chance, notes)


def _check_options(n: int, method: str, audit: float, round: int, per_cluster: int | None) -> None:
    if method not in METHODS:
        raise SetupError(
            "E0101",
            f"Rows cannot be chosen by {method!r}.{nearest(method, METHODS)}",
            where="--method",
            fix=f"one of {', '.join(METHODS)}",
        )
    counts = {"--count": n, "--per-cluster": per_cluster, "round": round}
    for where, value in counts.items():
        if value is not None and value < 1:
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


def _check_candidates(candidates: Sequence[Candidate]) -> None:
    if len({row.id for row in candidates}) != len(candidates):
        raise ValueError("two candidates have one id")
    if any(row.probability is not None and not 0 <= row.probability <= 1 for row in candidates):
        raise ValueError("a probability lies in [0, 1]")


def _sizes(pool: Sequence[Candidate], method: str, audit: float, stratum: IntArray) -> FloatArray:
    """How large each row is for the draw, the audit's equal share included; they sum to 1."""
    if method == "uniform":
        size = np.ones(len(pool))
    elif method == "stratified":
        # Neyman: a stratum's share is its rows times the standard deviation inside it.
        mean_square = np.bincount(stratum, _unsure(pool) ** 2) / np.bincount(stratum)
        size = np.sqrt(mean_square)[stratum]
    else:
        size = _unsure(pool)
    sizes: FloatArray = audit / len(pool) + (1 - audit) * size / size.sum()
    return sizes


def _chances(
    size: FloatArray, n: int, cluster: IntArray, per_cluster: int | None
) -> tuple[int, FloatArray]:
    """How many rows are chosen, and each row's inclusion probability."""
    if per_cluster is None:
        count = min(n, len(size))
        return count, _inclusion(size, count, None, 0)
    # Of each cluster its rows, up to the limit.
    most = int(np.minimum(np.bincount(cluster), per_cluster).sum())
    count = min(n, most)
    return count, _inclusion(size, count, cluster, per_cluster)


def _order(
    rng: np.random.Generator, method: str, stratum: IntArray, cluster: IntArray | None
) -> IntArray:
    """The rows in the order in which they are laid on the line: at random inside groups.

    Groups are clusters in a random order where they are limited, else strata; one for "uniform".
    """
    place = rng.random(len(stratum))
    # Rows of a cluster lie side by side: the comb then touches them as often as their chances
    # sum to, rounded up at most.
    if cluster is not None:
        group = rng.permutation(int(cluster.max()) + 1)[cluster]
    elif method == "uniform":
        group = np.zeros(len(stratum), dtype=np.int64)
    else:
        group = stratum
    return np.lexsort((place, group))


def _audited(
    rng: np.random.Generator, chosen: IntArray, chance: FloatArray, audit_chance: float
) -> set[int]:
    """Which of the chosen rows are in the audit."""
    if audit_chance <= 0:
        return set()
    in_audit = _comb(audit_chance / chance[chosen], float(rng.random()))
    return set(chosen[in_audit].tolist())


def _notes(
    pool: Sequence[Candidate], method: str, chosen: int, asked: int, limit: int | None
) -> tuple[str, ...]:
    """What is worth knowing of a choice. limit: rows a cluster, where it limits the audit."""
    notes = []
    if chosen < asked:
        rows = count(chosen, "row")
        notes.append(f"{rows} instead of {asked:,}: there are no more to choose from")
    if limit is not None:
        notes.append(
            f"the audit is smaller than asked, because a cluster gives at most {limit} rows"
        )
    lost = sum(row.probability is None for row in pool)
    if lost and method != "uniform":
        rows = count(lost, "row")
        verb = "counts" if lost == 1 else "count"
        notes.append(f"{rows} without a judge's score {verb} as fully unsure")
    return tuple(notes)


def _unsure(pool: Sequence[Candidate]) -> FloatArray:
    """How unsure the judge is of each row: the standard deviation of a label around it."""
    p = np.array([0.5 if row.probability is None else row.probability for row in pool])
    # Sure judges err too: no row may lose its whole chance of being looked at.
    p = p.clip(SUREST, 1 - SUREST)
    unsure: FloatArray = np.sqrt(p * (1 - p))
    return unsure


def _strata(pool: Sequence[Candidate], rng: np.random.Generator) -> tuple[IntArray, list[str]]:
    """The stratum of each row, and the name of each stratum.

    A stratum is a slice and a fifth of the judge's probability. Strata are numbered at random, so
    that a sheet does not say what the judge said.
    """
    p = np.array([np.nan if row.probability is None else row.probability for row in pool])
    probabilities = p[~np.isnan(p)]
    # Rows that the judge lost are a bin of their own, the last.
    bins = np.full(len(pool), BINS)
    if len(probabilities):
        # Quantiles that coincide make fewer bins: many rows may have one probability.
        edges = np.unique(np.quantile(probabilities, np.arange(1, BINS) / BINS))
        bins = np.where(np.isnan(p), BINS, np.searchsorted(edges, p, side="right"))
    code = codes((row.slice, int(bin)) for row, bin in zip(pool, bins, strict=True))
    count = int(code.max()) + 1
    stratum = rng.permutation(count)[code]
    names = [""] * count
    for number, row in zip(stratum.tolist(), pool, strict=True):
        names[number] = f"{row.slice}/{number + 1}" if row.slice else str(number + 1)
    return stratum, names


def _inclusion(size: FloatArray, count: int, cluster: IntArray | None, most: int) -> FloatArray:
    """Probabilities in proportion to size that sum to count, none above 1 and no cluster's sum
    above `most`.

    What reaches a limit stays there, and what is left over goes to the others, until nothing
    exceeds any limit.
    """
    chance = np.zeros(len(size))
    fixed = np.zeros(len(size), dtype=bool)
    while not fixed.all():
        free = ~fixed
        # Never below 0, where rounding let the fixed rows sum to more than `count`.
        chance[free] = size[free] * max(0.0, count - chance[fixed].sum()) / size[free].sum()
        certain = free & (chance >= 1)
        chance[certain] = 1.0
        fixed = fixed | certain
        changed = bool(certain.any())
        if cluster is not None:
            full = _rows_of_full_clusters(chance, cluster, most)
            # A cluster that was filled in an earlier round is full for good.
            if not fixed[full].all():
                for rows in _by_cluster(full, cluster):
                    chance[rows] = _inclusion(size[rows], most, None, 0)
                fixed[full] = True
                changed = True
        if not changed:
            break
    # Rounding again.
    return np.minimum(chance, 1.0)


def _rows_of_full_clusters(chance: FloatArray, cluster: IntArray, most: int) -> IntArray:
    """The rows of clusters whose chances sum to more than `most`."""
    sums = np.bincount(cluster, chance)
    # The margin is for rounding: a cluster that was just filled sums to `most`, or nearly.
    return np.nonzero((sums > most + 1e-12)[cluster])[0]


def _by_cluster(rows: IntArray, cluster: IntArray) -> list[IntArray]:
    """The rows of each cluster."""
    ordered = rows[np.argsort(cluster[rows], kind="stable")]
    return np.split(ordered, np.nonzero(np.diff(cluster[ordered]))[0] + 1)


def _comb(chance: FloatArray, start: float) -> IntArray:
    """Places on the line that a comb with teeth at start, start + 1 ... touches."""
    if not len(chance):
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(chance)
    # A sum that should be a whole number, but for rounding, must not gain or lose a tooth by it.
    whole = float(np.rint(ends[-1]))
    if whole and abs(ends[-1] - whole) < 1e-6 * max(1.0, whole):
        ends = ends * (whole / ends[-1])
    teeth = np.arange(start, float(ends[-1]))
    # A tooth at the very end would lie behind the last place.
    places: IntArray = np.minimum(np.searchsorted(ends, teeth, side="right"), len(ends) - 1)
    return places
