"""Power of the certificate, and the honesty of the gain that is printed.

+.10 with 300 independent sealed rows is asked to be found in .95 of runs, +.05 with the rows and
clusters that the plan asked for in .80. Three finalists: the first, found best on other rows, has
the gain, the second four fifths of it, the third half. Printed less true gain is over all runs,
certified or not, of the finalist whose gain is printed; asked: within .003.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from benchmarks.optimise.false_gains import certified
from benchmarks.optimise.worlds import World, draw

from ragassay.tuning.aim import Aim
from ragassay.tuning.plan import search_plan

TITLE = "Power, and the printed gain"
SEED, RUNS = 20261125, 600
LATER = (1.0, 0.8, 0.5)
"""Gains of the three finalists, as shares of the first one's."""
AIMS: Mapping[str, Aim] = {"accuracy": Aim("accuracy"), "f1": Aim("f1"), "kappa": Aim("kappa")}


@dataclass(frozen=True, slots=True)
class Case:
    """A gain in accuracy to be found. asked: the power that is asked for, None where none is.
    cluster_size: None for the rows of `World`, else rows as the plan asks for.
    """

    name: str
    gain: float
    churn: float
    cluster_size: int | None = None
    icc: float = 0.0
    rows: int = 300
    finalists: int = 3
    aim: str = "accuracy"
    asked: float | None = None


CASES = (
    Case("300 rows", 0.1, 0.16, finalists=1, asked=0.95),
    Case("300 rows", 0.1, 0.16, asked=0.95),
    Case("300 rows", 0.1, 0.2, finalists=1, asked=0.95),
    Case("300 rows", 0.1, 0.2, asked=0.95),
    Case("300 rows", 0.05, 0.2),
    Case("300 rows", 0.02, 0.2),
    Case("300 rows", 0.0, 0.2),
    Case("300 rows", 0.1, 0.2, aim="kappa"),
    Case("300 rows", 0.1, 0.2, aim="f1"),
    Case("planned, rows alone", 0.05, 0.2, cluster_size=1, finalists=1, asked=0.8),
    Case("planned, rows alone", 0.05, 0.2, cluster_size=1, asked=0.8),
    Case("planned, clusters of 5", 0.05, 0.2, cluster_size=5, icc=0.3, finalists=1, asked=0.8),
    Case("planned, clusters of 5", 0.05, 0.2, cluster_size=5, icc=0.3, asked=0.8),
    Case("planned, clusters of 10", 0.05, 0.1, cluster_size=10, icc=0.1, asked=0.8),
    Case("planned, rows alone", 0.05, 0.2, cluster_size=1, aim="kappa", asked=0.8),
)


def planned(case: Case) -> tuple[int, int]:
    """Rows and clusters that the plan asks for."""
    if case.cluster_size is None:
        return case.rows, case.rows
    plan = search_plan(
        AIMS[case.aim],
        np.repeat(np.arange(20), case.cluster_size),
        passed=0.5,
        max_calls=2000,
        churn=case.churn,
        icc=icc_of_changes(case),
        finalists=case.finalists,
        # Kappa on balanced classes gains twice what accuracy does.
        targets=(case.gain * (2 if case.aim == "kappa" else 1),),
    )
    needed = plan.needed[0]
    assert needed.rows is not None
    clusters = -(-needed.rows // case.cluster_size)
    return clusters * case.cluster_size, clusters


def icc_of_changes(case: Case) -> float:
    """The ICC of rows' changes in these worlds, measured in a large one."""
    if case.icc == 0 or case.cluster_size is None:
        return 0.0
    rows = 200_000
    world = replace(_world(case, rows, rows // case.cluster_size), gains=(case.gain,))
    truth, cluster, baseline, (finalist,) = draw(world, np.random.default_rng(SEED))
    change = (finalist == truth).astype(float) - (baseline == truth)
    change -= change.mean()
    sums = np.bincount(cluster, weights=change)
    pairs = float((sums**2).sum() - (change**2).sum())
    size = case.cluster_size
    return pairs / (len(sums) * size * (size - 1)) / float((change**2).mean())


def _world(case: Case, rows: int, clusters: int) -> World:
    gains = tuple(case.gain * share for share in LATER[: case.finalists])
    return World(rows, clusters, case.churn, gains=gains, icc=case.icc)


def true_gains(case: Case) -> list[float]:
    """Of each finalist, in the aim's value: known for accuracy, measured in a large world else."""
    if case.aim == "accuracy":
        return list(_world(case, 1, 1).gains)
    rows = 1_000_000
    aim = AIMS[case.aim]
    world = replace(_world(case, rows, rows), icc=0.0)
    truth, _, baseline, finalists = draw(world, np.random.default_rng(SEED))
    before = aim.score(truth, baseline)
    return [aim.score(truth, one) - before for one in finalists]


def runs_of(case: Case, number: int, runs: int) -> dict[str, Any]:
    rows, clusters = planned(case)
    aim = AIMS[case.aim]
    rng = np.random.default_rng([SEED, number])
    world = _world(case, rows, clusters)
    truths = true_gains(case)
    found, excess = 0, []
    for _ in range(runs):
        truth, cluster, baseline, finalists = draw(world, rng)
        passed, printed, whose = certified(aim, truth, cluster, baseline, finalists)
        found += any(passed)
        excess.append(printed - truths[whose])
    return {
        **asdict(case),
        "rows": rows,
        "clusters": clusters,
        "runs": runs,
        "power": found / runs,
        "true": truths[0],
        "excess": float(np.mean(excess)),
        "error": float(np.std(excess) / np.sqrt(runs)),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    runs = RUNS // 10 if options.quick else RUNS
    return {"runs": runs, "cases": [runs_of(case, at, runs) for at, case in enumerate(CASES)]}


def page(found: dict[str, Any]) -> list[str]:
    cases = found["cases"]
    plain = [one["excess"] for one in cases if one["aim"] != "kappa"]
    of_kappa = [one["excess"] for one in cases if one["aim"] == "kappa"]
    lines = [
        (
            f"{found['runs']:,} runs a line. Printed less true gain, mean over all runs with the"
            f" aims accuracy and F1: {np.mean(plain):+.4f}, from {min(plain):+.4f} to"
            f" {max(plain):+.4f} (asked: within .003); kappa, whose gains are twice as large:"
            f" {min(of_kappa):+.4f} to {max(of_kappa):+.4f}."
        ),
        "",
        "| sealed rows | clusters | ICC | churn | aim | finalists | true gain | power | asked |"
        " printed less true |",
        "|---|--:|--:|--:|---|--:|--:|--:|--:|--:|",
    ]
    for one in cases:
        asked = "" if one["asked"] is None else f"{one['asked']:.2f}"
        power = f"{one['power']:.3f} ± {_half_width(one):.3f}"
        excess = f"{one['excess']:+.4f} ± {1.96 * one['error']:.4f}"
        lines.append(
            f"| {one['rows']:,} ({one['name']}) | {one['clusters']:,} | {one['icc']:g} |"
            f" {one['churn']:g} | {one['aim']} | {one['finalists']} | {one['true']:+.3f} |"
            f" {power} | {asked} | {excess} |"
        )
    return lines


def _half_width(one: dict[str, Any]) -> float:
    """Of the 95 % interval of a power."""
    return float(1.96 * np.sqrt(one["power"] * (1 - one["power"]) / one["runs"]))
