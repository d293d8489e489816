"""Certified false gains: worlds in which nothing can be gained, three finalists in each.

Clusters with an intraclass correlation of .3, from 8 to 300 of them, equal and unequal, and rows of
their own; 6 to 50 % of the verdicts change; the aim is accuracy, a cost of 3 to 1, F1 or kappa.
A false gain is a certificate. Beside it what the mean over rows would certify if clusters were
ignored (McNemar's exact test, Holm), and what is shipped where the best of three on validation rows
of the same number is taken, if it is better there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
from benchmarks.optimise.worlds import World, draw

from ragassay.scoring import holm
from ragassay.scoring.arrays import BoolArray, IntArray
from ragassay.scoring.hypotheses import mcnemar
from ragassay.tuning.aim import Aim
from ragassay.tuning.certify import LEVEL, Pair, gain_of, selection_bias
from ragassay.tuning.values import Answers

TITLE = "Certified false gains"
SEED, WORLDS, DRAWS = 20261124, 10_000, 999
AIMS = {
    "accuracy": Aim("accuracy"),
    "cost 3:1": Aim("cost", false_pass=3),
    "f1": Aim("f1"),
    "kappa": Aim("kappa"),
}
SHAPES = (
    (300, 300, "equal"),
    (300, 60, "equal"),
    (300, 60, "unequal"),
    (300, 20, "unequal"),
    (160, 8, "equal"),
)
CHURN = (0.06, 0.2, 0.5)


def answers(passes: BoolArray) -> Answers:
    """Verdicts as a judge's answers."""
    return Answers(passes.astype(np.float64), passes)


def certified(
    aim: Aim, truth: BoolArray, cluster: IntArray, baseline: BoolArray, finalists: list[BoolArray]
) -> tuple[list[bool], float, int]:
    """Which finalists get the certificate, the printed gain and whose it is: `certify` without the
    figures that it prints beside them.
    """
    pairs = [Pair.of(truth, cluster, answers(baseline), answers(one)) for one in finalists]
    gains = [gain_of(aim, pair, draws=DRAWS) for pair in pairs]
    passed = [p <= LEVEL for p in holm([gain.p for gain in gains])]
    printed = passed.index(True) if any(passed) else 0
    bias = selection_bias(aim, pairs, gains)
    return passed, gains[printed].difference - bias, printed


def by_rows(truth: BoolArray, baseline: BoolArray, finalists: list[BoolArray]) -> bool:
    """Whether McNemar's test over rows certifies any."""
    p = []
    for one in finalists:
        wins = int(((one == truth) & (baseline != truth)).sum())
        losses = int(((one != truth) & (baseline == truth)).sum())
        p.append(mcnemar(wins, losses).exact / 2 if wins > losses else 1.0)
    return min(holm(p)) <= LEVEL


def shipped(
    world: World, score: Callable[[BoolArray, BoolArray], float], rng: np.random.Generator
) -> bool:
    """Whether the best of three on validation rows would be shipped."""
    truth, _, baseline, finalists = draw(world, rng)
    return max(score(truth, one) for one in finalists) > score(truth, baseline)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    cells = list(product(SHAPES, CHURN, AIMS))
    total = WORLDS // 10 if options.quick else WORLDS
    rows = []
    for number, ((n, clusters, sizes), churn, name) in enumerate(cells):
        rng = np.random.default_rng([SEED, number])
        aim = AIMS[name]
        world = World(n, clusters, churn, sizes=sizes)
        # Every cell has a share of the worlds, the first ones what is left over.
        worlds = total // len(cells) + (number < total % len(cells))
        false_gains = rows_alone = taken = 0
        printed = 0.0
        for _ in range(worlds):
            truth, cluster, baseline, finalists = draw(world, rng)
            passed, gain, _ = certified(aim, truth, cluster, baseline, finalists)
            false_gains += any(passed)
            printed += gain
            rows_alone += by_rows(truth, baseline, finalists)
            taken += shipped(world, aim.score, rng)
        rows.append(
            {
                **asdict(world),
                "aim": name,
                "worlds": worlds,
                "certified": false_gains,
                "by_rows": rows_alone,
                "shipped": taken,
                "printed": printed,
            }
        )
    return {"level": LEVEL, "worlds": total, "cells": rows}


def page(found: dict[str, Any]) -> list[str]:
    cells = found["cells"]
    total = found["worlds"]

    def share(key: str, of: list[dict[str, Any]]) -> float:
        return float(sum(one[key] for one in of) / sum(one["worlds"] for one in of))

    lines = [
        (
            f"{total:,} worlds where nothing can be gained, three finalists each: a certificate in"
            f" {share('certified', cells):.2%} (asked: at most 2.5 %); printed gain on average"
            f" {share('printed', cells):+.4f}. McNemar's test over rows, as if there were no"
            f" clusters: {share('by_rows', cells):.1%}. Best of three on validation rows, shipped"
            f" where it is better there: {share('shipped', cells):.0%}."
        ),
        "",
        "| worlds | number | certified | over rows | shipped by validation | printed gain |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    groups: list[tuple[str, list[dict[str, Any]]]] = []
    for n, clusters, sizes in SHAPES:
        name = f"{n} rows, {clusters} {sizes} clusters" if clusters < n else f"{n} rows alone"
        of = [one for one in cells if (one["clusters"], one["sizes"]) == (clusters, sizes)]
        groups.append((name, of))
    for churn in CHURN:
        of = [one for one in cells if one["churn"] == churn]
        groups.append((f"{churn:.0%} of the verdicts change", of))
    for aim in AIMS:
        groups.append((f"aim {aim}", [one for one in cells if one["aim"] == aim]))
    for name, of in groups:
        number = sum(one["worlds"] for one in of)
        lines.append(
            f"| {name} | {number:,} | {share('certified', of):.2%} | {share('by_rows', of):.1%} |"
            f" {share('shipped', of):.0%} | {share('printed', of):+.4f} |"
        )
    return lines
