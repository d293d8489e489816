"""Simulated verdicts of a baseline and of finalists, with a known gain.

A row's baseline is right with some probability; a finalist turns a wrong verdict with one
probability and a right one with another, so that its share of right verdicts changes by the gain
and `churn` of the rows change. A row takes its cluster's own draw with probability sqrt(icc), else
one of its own, so that icc is the intraclass correlation of every draw. Finalists share each
draw with probability `alike`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragassay.scoring.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class World:
    """Rows, clusters, and how much finalists differ from the baseline and from each other.

    gains: of each finalist, in the share of right verdicts.
    sizes: "equal", or "unequal" for log-normal ones with a deviation of 0.9 of the logarithm.
    """

    rows: int
    clusters: int
    churn: float
    gains: tuple[float, ...] = (0.0, 0.0, 0.0)
    icc: float = 0.3
    right: float = 0.75
    passed: float = 0.5
    sizes: str = "equal"
    alike: float = 0.5


def cluster_codes(world: World, rng: np.random.Generator) -> IntArray:
    """(rows,) codes of clusters, each with at least one row."""
    if world.clusters == world.rows:
        return np.arange(world.rows)
    weight = np.ones(world.clusters)
    if world.sizes == "unequal":
        weight = rng.lognormal(0.0, 0.9, world.clusters)
    more = rng.choice(world.clusters, world.rows - world.clusters, p=weight / weight.sum())
    if world.sizes == "equal":
        more = np.arange(world.rows - world.clusters) % world.clusters
    return np.sort(np.concatenate([np.arange(world.clusters), more]))


def shared_uniform(cluster: IntArray, icc: float, rng: np.random.Generator) -> FloatArray:
    """(rows,) uniform draws, alike within clusters."""
    own = rng.random(len(cluster))
    whole = rng.random(int(cluster.max()) + 1)[cluster]
    return np.where(rng.random(len(cluster)) < np.sqrt(icc), whole, own)


def draw(
    world: World, rng: np.random.Generator
) -> tuple[BoolArray, IntArray, BoolArray, list[BoolArray]]:
    """Truth, clusters, the baseline's verdicts and those of each finalist."""
    cluster = cluster_codes(world, rng)
    icc = world.icc if world.clusters < world.rows else 0.0
    truth = shared_uniform(cluster, icc, rng) < world.passed
    right = shared_uniform(cluster, icc, rng) < world.right
    baseline = truth == right
    common = shared_uniform(cluster, icc, rng)
    finalists = []
    for gain in world.gains:
        mend = (world.churn + gain) / 2 / (1 - world.right)
        spoil = (world.churn - gain) / 2 / world.right
        own = shared_uniform(cluster, icc, rng)
        u = np.where(rng.random(len(cluster)) < world.alike, common, own)
        turned = np.where(right, u < spoil, u > 1 - mend)
        finalists.append(baseline ^ turned)
    return truth, cluster, baseline, finalists
