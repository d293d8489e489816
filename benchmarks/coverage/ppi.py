"""Coverage of corrected rates, whatever the judge is worth and however labels were drawn.

A world: true rate p; clusters of rows with beta-binomial correlation; a judge that tells the truth
with probability r and else draws 0 or 1 blindly (r is its correlation with the label where its
blind rate is p; "biased": blind rate .7), or a graded judge (the same, blurred by noise). A run of
N rows is drawn from the world, n of them are labelled: rows at random, whole clusters, fixed
numbers within strata, or more often where the judge is unsure (known probabilities).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from benchmarks.coverage.simulate import GATE, Cell, cell_of
from numpy.typing import NDArray

from ragassay.scoring import ppi

Floats = NDArray[np.float64]
SIZE = 5
"""Rows in a cluster."""


@dataclass(frozen=True)
class World:
    """One cell's set-up."""

    n: int
    total: int
    rate: float
    correlation: float
    icc: float = 0.0
    judge: str = "blind"
    drawn: str = "rows"
    values: str = "binary"


def is_by_verdict(world: World) -> bool:
    """Whether the estimate is taken apart by verdict: two verdicts, two labels, no clusters."""
    plain = not world.icc and world.drawn == "rows"
    return plain and world.judge != "graded" and world.values == "binary"


def worlds(dose: str) -> list[World]:
    """The set-ups of a dose; "by-verdict": those of "full" in which it is taken apart so."""
    if dose == "ci":
        return [
            World(50, 500, 0.5, 0.8),
            World(100, 2000, 0.1, 0.9),
            World(100, 1000, 0.7, 0.0),
            World(200, 1000, 0.5, 0.8, icc=0.2, drawn="clusters"),
            World(100, 2000, 0.3, 0.8, drawn="active"),
        ]
    plain = [
        World(n, total, rate, r, judge=judge)
        for n, total in ((50, 500), (50, 5000), (100, 5000), (200, 1000), (500, 5000))
        for rate, r in product((0.02, 0.1, 0.5, 0.9, 0.98), (0.0, 0.5, 0.8, 0.95))
        for judge in (("blind", "biased") if rate in (0.1, 0.5) and r > 0 else ("blind",))
    ]
    plain += [
        World(n, 2000, rate, r, judge="graded")
        for n, rate, r in product((50, 200), (0.1, 0.5, 0.98), (0.5, 0.95))
    ]
    plain += [
        World(n, 2000, rate, r, values="bounded")
        for n, rate, r in product((50, 200), (0.1, 0.5), (0.0, 0.9))
    ]
    grouped = [
        World(n, 2000, rate, r, icc, drawn=drawn)
        for n, rate, r, icc, drawn in product(
            (75, 200, 500), (0.1, 0.5), (0.0, 0.8, 0.95), (0.1, 0.4), ("rows", "clusters")
        )
    ]
    known = [
        World(n, 3000, rate, r, drawn=drawn, judge="graded" if drawn == "active" else "biased")
        for n, rate, r, drawn in product(
            (100, 200, 400), (0.1, 0.5, 0.9), (0.0, 0.5, 0.9), ("active", "strata")
        )
    ]
    return plain + grouped + known


def trial(world: World, rng: np.random.Generator, seed: int) -> ppi.Estimate:
    """One run and its labels."""
    total, n, p = world.total, world.n, world.rate
    cluster = np.arange(total) // (SIZE if world.icc else 1)
    groups = int(cluster.max()) + 1
    if world.icc:
        a = (1 - world.icc) / world.icc
        chance = rng.beta(p * a, (1 - p) * a, groups)[cluster]
        truth = (
            rng.beta(world.correlation * a, (1 - world.correlation) * a, groups)[cluster]
            if world.correlation
            else 0.0
        )
    else:
        chance, truth = np.full(total, p), world.correlation
    if (
        world.values == "bounded"
    ):  # beta-distributed labels with mean p; the judge sees them with noise
        label = rng.beta(2 * p, 2 * (1 - p), total)
        score = world.correlation * label + (1 - world.correlation) * rng.random(total)
    else:
        label = (rng.random(total) < chance).astype(float)
        blind = (rng.random(total) < (0.7 if world.judge == "biased" else p)).astype(float)
        score = np.where(rng.random(total) < truth, label, blind)
        if world.judge == "graded":
            score = np.clip(score + rng.normal(0, 0.3, total), 0, 1)
    inclusion = strata = None
    if world.drawn == "active":
        unsure = 0.1 + np.minimum(score, 1 - score)
        chances = np.minimum(1.0, n * unsure / unsure.sum())
        places = np.flatnonzero(rng.random(total) < chances)
        inclusion = chances[places]
    elif world.drawn == "strata":
        layer = (score >= 0.5).astype(int)
        sizes = np.bincount(layer, minlength=2)
        take = np.minimum(sizes, [n // 2, n - n // 2])
        places = np.concatenate(
            [rng.permutation(np.flatnonzero(layer == h))[: take[h]] for h in (0, 1)]
        )
        inclusion = (take / np.maximum(sizes, 1))[layer[places]]
        strata = layer[places], layer
    elif world.drawn == "clusters":
        places = np.flatnonzero(np.isin(cluster, rng.permutation(groups)[: n // SIZE]))
    else:
        places = rng.permutation(total)[:n]
    return ppi.estimate(
        label[places],
        score[places],
        score,
        units=(cluster[places], cluster),
        inclusion=inclusion,
        strata=strata,
        seed=seed,
    )


def cells(dose: str, seed: int) -> Iterator[Cell]:
    """Coverage of the printed interval, cell by cell; beside it, under another quantity, that of
    the labels alone.
    """
    trials = 1000 if dose == "full" else 400
    for number, world in enumerate(worlds(dose)):
        if dose == "by-verdict" and not is_by_verdict(world):
            continue
        rng = np.random.default_rng([seed, number])
        done = [trial(world, rng, k) for k in range(trials)]
        clusters = world.n // SIZE if world.drawn == "clusters" else world.n
        name = f"N {world.total}, {world.judge} judge, {world.drawn} drawn" + (
            ", bounded" if world.values != "binary" else ""
        )
        mostly_alone = sum(one.weight == 0 for one in done) > trials / 2
        for quantity, intervals, gate, reason in (
            (
                "rate corrected by labels",
                [one.interval for one in done],
                None if mostly_alone else GATE,
                "mostly the labels alone, which the intervals of rates answer for"
                if mostly_alone
                else "",
            ),
            (
                "rate of the labels alone",
                [one.labels_only_interval for one in done],
                None,
                "beside the corrected one; the intervals of rates answer for it",
            ),
        ):
            yield cell_of(
                quantity,
                name,
                world.rate,
                intervals,
                n=world.n,
                clusters=clusters,
                icc=world.icc,
                correlation=world.correlation,
                gate=gate,
                reason=reason,
            )
