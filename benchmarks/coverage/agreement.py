"""Coverage of the intervals of a judge's agreement with people, which should be 95 %.

Two studies. A world with known truth: people's quality of a row and what the judge sees of it are
normal, correlated by the judge's worth, each with an effect of the row's cluster (intra-cluster
correlation); cuts make grades 0-3 of them, the prevalence is that of grades 2 and 3. The true
figures are those of 600,000 rows. And real labels as the population: clusters of rows (all answers
to one query) are drawn with replacement from recorded judgments next to human labels, and the
figure over all of them is the truth; beside the clustered interval stands the one that takes rows
for independent, as most tools do.
"""

from __future__ import annotations

import gzip
import math
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import NormalDist

import numpy as np
import orjson
from benchmarks.coverage.simulate import Cell
from numpy.typing import NDArray

from ragassay.core import Interval
from ragassay.scoring import agreement, gold_token_recall
from ragassay.scoring.agreement import Ratings

GATE, DRAWS, POPULATION = 0.93, 500, 600_000
DATA = Path(
    os.environ.get("RAGASSAY_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")
)
PAIRED = ("accuracy", "precision", "recall", "f1", "kappa", "auc", "kappa_quadratic", "spearman")
COMPARED = ("accuracy", "precision", "recall", "kappa", "mcc", "auc", "prevalence")
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class World:
    """One set-up. continuous: the judge gives a calibrated probability instead of a grade. slices:
    over which macro is taken.
    """

    n: int
    clusters: int
    prevalence: float
    correlation: float
    icc: float = 0.0
    unequal: bool = False
    continuous: bool = False
    slices: int = 0


def worlds(dose: str) -> list[World]:
    """The set-ups of a dose."""
    if dose == "ci":
        return [
            World(100, 100, 0.5, 0.6),
            World(100, 20, 0.5, 0.8, 0.2),
            World(300, 60, 0.1, 0.8, 0.1, unequal=True),
            World(60, 60, 0.9, 0.6, continuous=True),
        ]
    sizes = (
        (30, 30, 0.0),
        (30, 10, 0.1),
        (100, 100, 0.0),
        (100, 20, 0.4),
        (300, 60, 0.05),
        (2000, 100, 0.4),
    )
    shares = (
        (0.02, 0.6),
        (0.1, 0.3),
        (0.1, 0.8),
        (0.5, 0.0),
        (0.5, 0.6),
        (0.5, 0.95),
        (0.9, 0.6),
        (0.98, 0.8),
    )
    plain = [
        World(
            n,
            clusters,
            prevalence,
            correlation,
            icc,
            unequal=clusters < n and i % 3 == 0,
            continuous=i % 4 == 1,
        )
        for i, ((n, clusters, icc), (prevalence, correlation)) in enumerate(product(sizes, shares))
    ]
    more = [
        World(2000, 25, 0.5, 0.6, 0.4),
        World(2000, 25, 0.98, 0.8, 0.4),
        World(300, 15, 0.1, 0.8, 0.4, unequal=True),
        World(300, 60, 0.5, 0.8, 0.2, slices=3),
        World(500, 500, 0.2, 0.6, slices=5),
        World(1000, 50, 0.5, 0.6, 0.2, slices=5),
        World(200, 5, 0.5, 0.6, 0.1, continuous=True),
        World(320, 8, 0.3, 0.8, 0.1, continuous=True),
        World(480, 12, 0.5, 0.6, 0.1, continuous=True),
        World(400, 10, 0.5, 0.6, 0.1, continuous=True, slices=2),
    ]
    return plain + more


def sample(
    world: World,
    rng: np.random.Generator,
    n: int,
    clusters: int,
    icc: float,
    worths: Sequence[float] = (),
) -> list[Ratings]:
    """n rows of this world in so many clusters, judged by a judge of each worth (the world's own,
    where none is named).

    Sizes of unequal clusters are lognormal.
    """
    cluster: NDArray[np.int64] = np.arange(n) % clusters
    if world.unequal and clusters < n:
        weight = np.exp(rng.normal(size=clusters))
        cluster = np.concatenate(
            [np.arange(clusters), rng.choice(clusters, n - clusters, p=weight / weight.sum())]
        )

    def normal() -> Floats:
        return np.asarray(
            np.sqrt(icc) * rng.normal(size=clusters)[cluster]
            + np.sqrt(1 - icc) * rng.normal(size=n),
            dtype=np.float64,
        )

    quality, p = normal(), world.prevalence
    cuts = [NormalDist().inv_cdf(1 - above) for above in ((1 + p) / 2, p, p / 2)]
    label = np.digitize(quality, cuts)
    truth = label >= 2
    chosen = rng.integers(0, world.slices, n) if world.slices else None
    names = tuple(f"slice {i}" for i in range(world.slices))
    out = []
    for worth in worths or (world.correlation,):
        noise = math.sqrt(1 - worth**2)
        seen = worth * quality + noise * normal()
        truths = label.astype(np.float64)
        if world.continuous:
            unit = _normal_cdf((worth * seen - cuts[1]) / noise)
            out.append(
                Ratings(truths, unit, seen > cuts[1], truth, unit, None, (), cluster, chosen, names)
            )
        else:
            grade, points = np.digitize(seen, cuts), (0.0, 1.0, 2.0, 3.0)
            grades = (label, grade)
            out.append(
                Ratings(
                    truths,
                    grade.astype(np.float64),
                    grade >= 2,
                    truth,
                    grade / 3,
                    grades,
                    points,
                    cluster,
                    chosen,
                    names,
                )
            )
    return out


def _normal_cdf(x: Floats) -> Floats:
    """By Abramowitz & Stegun 26.2.17, to 1e-7."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (
        0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    )
    tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * series
    return np.asarray(np.where(x > 0, 1 - tail, tail), dtype=np.float64)


class Tally:
    """How often a figure had an interval, how often that held the truth, how wide it was."""

    def __init__(self) -> None:
        self.printed, self.held, self.width = 0, 0, 0.0

    def add(self, interval: Interval | None, truth: float) -> None:
        if interval is not None:
            self.printed += 1
            self.held += interval.low - 1e-9 <= truth <= interval.high + 1e-9
            self.width += interval.high - interval.low

    def cell(
        self, quantity: str, method: str, world: World, trials: int, gate: float | None
    ) -> Cell:
        seen = max(1, self.printed)
        return Cell(
            quantity=quantity,
            method=method,
            n=world.n,
            clusters=world.clusters,
            prevalence=world.prevalence,
            icc=world.icc,
            correlation=world.correlation,
            trials=trials,
            printed=self.printed / trials,
            coverage=self.held / seen,
            width=self.width / seen,
            gate=gate,
            reason=(
                ""
                if gate
                else "for comparison, never printed: rows of a cluster taken for independent"
            ),
        )


def cells(dose: str, seed: int) -> Iterator[Cell]:
    """Coverage by figure and set-up; quantities "kappa", "kappa, macro", "kappa, llmjudge_labels"
    ...
    """
    trials = 100 if dose == "ci" else 300
    for number, world in enumerate(worlds(dose)):
        yield from _simulated(world, np.random.default_rng([seed, number]), trials)
    for number, world in enumerate(worlds(dose)):
        if number % 3 == 0 and not (world.continuous or world.slices) and world.correlation:
            yield from _differences(world, np.random.default_rng([seed, number, 1]), trials)
    for name, clusters in (("llmjudge_labels", 25), ("evouna", 100)):
        population = _population(name)
        if population:
            yield from _resampled(
                name,
                population,
                clusters,
                np.random.default_rng([seed, clusters]),
                30 if dose == "ci" else 200,
            )


def _simulated(world: World, rng: np.random.Generator, trials: int) -> Iterator[Cell]:
    (large,) = sample(world, rng, POPULATION, POPULATION, 0.0)
    names = large.figures()
    truth = {name: agreement.point(name, large) for name in names}
    tallies: dict[str, Tally] = defaultdict(Tally)
    for trial in range(trials):
        (r,) = sample(world, rng, world.n, world.clusters, world.icc)
        found = agreement.figures(r, draws=DRAWS, seed=trial)
        for ending, figures in (("", found.pooled), (", macro", found.macro)):
            for figure in figures:
                known = truth.get(figure.name)
                if known is not None:
                    tallies[figure.name + ending].add(figure.interval, known)
    kind = "cluster bootstrap, " + ("probabilities" if world.continuous else "grades")
    if world.unequal:
        kind += ", unequal clusters"
    for quantity, tally in tallies.items():
        if tally.printed >= trials / 10:  # of fewer, the share that holds the truth says nothing
            yield tally.cell(quantity, kind, world, trials, GATE)


def _differences(world: World, rng: np.random.Generator, trials: int) -> Iterator[Cell]:
    """Two judges of unlike worth on the same rows."""
    worths = (world.correlation, 0.9 * world.correlation)
    first, second = sample(world, rng, POPULATION, POPULATION, 0.0, worths)
    truth = {
        name: (agreement.point(name, second) or 0.0) - (agreement.point(name, first) or 0.0)
        for name in PAIRED
    }
    tallies: dict[str, Tally] = defaultdict(Tally)
    for trial in range(trials):
        a, b = sample(world, rng, world.n, world.clusters, world.icc, worths)
        for found in agreement.differences({"a": a, "b": b}, PAIRED, DRAWS, trial):
            tallies[found.figure].add(found.interval, truth[found.figure])
    for name, tally in tallies.items():
        if tally.printed >= trials / 10:
            yield tally.cell(
                f"{name}, difference of two judges", "paired cluster bootstrap", world, trials, GATE
            )


def _population(name: str) -> dict[str, list[tuple[float, float]]]:
    """Cluster -> (label, score) of its rows; empty where the data are not at hand."""
    path, out = DATA / name / f"{name}.jsonl.gz", defaultdict(list)
    if not path.exists():
        return {}
    with gzip.open(path) as file:
        for row in map(orjson.loads, file):
            score = (
                row["judges"].get("willia-umbrela1")
                if name == "llmjudge_labels"
                else gold_token_recall(row["response"], row["reference"])
            )
            if score is not None:
                out[row["group"]].append((float(row["label"]), float(score)))
    return dict(out)


def _ratings(
    groups: Sequence[Sequence[tuple[float, float]]], graded: bool, clustered: bool
) -> Ratings:
    label, score = np.array([pair for group in groups for pair in group]).T
    cluster = (
        np.repeat(np.arange(len(groups)), [len(group) for group in groups]) if clustered else None
    )
    cut, judge_cut = (2, 2) if graded else (1, 0.5)
    return Ratings(label, score, score >= judge_cut, label >= cut, cluster=cluster)


def _resampled(
    name: str,
    population: dict[str, list[tuple[float, float]]],
    clusters: int,
    rng: np.random.Generator,
    trials: int,
) -> Iterator[Cell]:
    groups, graded = list(population.values()), name == "llmjudge_labels"
    whole = _ratings(groups, graded, True)
    known = {figure: agreement.point(figure, whole) for figure in COMPARED}
    tallies: dict[tuple[str, bool], Tally] = defaultdict(Tally)
    rows = 0
    for trial in range(trials):
        drawn = [groups[i] for i in rng.integers(0, len(groups), clusters)]
        for clustered in (True, False):
            r = _ratings(drawn, graded, clustered)
            rows += len(r)
            for figure in agreement.figures(r, names=COMPARED, draws=DRAWS, seed=trial).pooled:
                tallies[figure.name, clustered].add(figure.interval, known[figure.name] or 0.0)
    about = World(rows // (2 * trials), clusters, float(whole.truth.mean()), 0.0)
    for (quantity, clustered), tally in tallies.items():
        method = "cluster bootstrap" if clustered else "rows taken for independent"
        # Only the clustered interval is ever printed where rows have clusters.
        yield tally.cell(f"{quantity}, {name}", method, about, trials, GATE if clustered else None)
