"""The corrected rate at 60 to 100 labels: coverage and width beside textbook estimators.

    python benchmarks/small_labels/run.py [--trials 2000] [--no-write]
    python benchmarks/small_labels/run.py --page     # the page anew from the stored figures

A world has a pass rate, a judge with a sensitivity and a specificity, and rows of a run, of which
some are labelled, drawn with one chance for all. Ours is `ragassay.scoring.ppi.estimate`, as
`ragassay estimate` and `ragassay trust` print it. Beside it stand the labels alone (Wilson), PPI++
as in its paper (weight tuned on these labels, normal quantile), and the correction by
sensitivity and specificity (Rogan and Gladen 1978, with the delta method). The truth is known.

How narrow an interval can be is bounded by the labels, whatever is done with them. The efficient
variance is v = sum over verdicts of (share * rate * (1 - rate)) / labels + (variance of the rates
between verdicts) / rows: no regular estimator has less as labels grow (Robins, Rotnitzky and Zhao
1994). For a normal estimate of this variance two bounds are printed, at a coverage of .94: "at
every truth" is the mean width below which no interval stays at all truths near this one,
2 z(.97) sqrt(v); "at this truth" is that of an interval which gives up width elsewhere to be narrow
just here (Pratt 1961), 2 sqrt(v) (z Phi(z) + phi(z)) with z = z(.94). They are of large samples:
with few labels a mean width may lie a few per cent below the first.

The worlds here are drawn by another seed than those on which `by_verdict.PRIOR` was chosen; the
first is that of benchmarks/trust_walks. Writes benchmarks/results/small_labels.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np
from numpy.typing import NDArray

from ragassay.core import Interval
from ragassay.scoring import ppi
from ragassay.scoring.intervals import normal_quantile, rate_interval

SEED = 20261124
Z = normal_quantile(0.975)
COVERAGE = 0.94
"""That the bounds of the width are for."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """passing: true pass rate; rows: of the run."""

    passing: float
    sensitivity: float
    specificity: float
    rows: int


def worlds() -> Iterator[World]:
    """The world of the walks, and 15 that are drawn: half of them with a strong judge."""
    yield World(0.78, 0.8, 0.8, 400)
    yield World(0.78, 0.8, 0.8, 5000)
    rng = np.random.default_rng(SEED)
    for number in range(14):
        least = 0.6 if number % 2 else 0.85
        yield World(
            round(float(rng.uniform(0.08, 0.92)), 2),
            round(float(rng.uniform(least, 0.98)), 2),
            round(float(rng.uniform(least, 0.98)), 2),
            int(rng.choice([400, 1000, 3000])),
        )


def ours(label: Floats, score: Floats, run: Floats) -> Interval:
    places = np.arange(len(label))
    got = ppi.estimate(label, score, run, units=(places, np.arange(len(run))))
    assert got.interval is not None
    return got.interval


def labels_alone(label: Floats, score: Floats, run: Floats) -> Interval:
    interval = rate_interval(int(label.sum()), len(label))
    assert interval is not None
    return interval


def textbook(label: Floats, score: Floats, run: Floats) -> Interval:
    """PPI++ with the power-tuned weight, cut to [0, 1] as in the paper."""
    others = run[len(label) :]
    spread = float(score.var())
    weight = 0.0
    if spread:
        weight = float(np.cov(label, score, bias=True)[0, 1]) / spread
        weight /= 1 + len(label) / len(others)
    return ppi.plain(label, score, others, min(1.0, max(0.0, weight))).interval


def rogan_gladen(label: Floats, score: Floats, run: Floats) -> Interval:
    """(judge's rate + specificity - 1) / (sensitivity + specificity - 1), with the delta method."""
    good, bad = score[label == 1], score[label == 0]
    if not len(good) or not len(bad):
        return labels_alone(label, score, run)
    sensitivity, specificity, rate = good.mean(), 1 - bad.mean(), run.mean()
    gap = sensitivity + specificity - 1
    if gap < 0.05:
        return Interval(0.0, 1.0, 0.95, "Rogan-Gladen")
    value = min(1.0, max(0.0, (rate + specificity - 1) / gap))
    variance = rate * (1 - rate) / len(run)
    variance += value**2 * sensitivity * (1 - sensitivity) / len(good)
    variance += (1 - value) ** 2 * specificity * (1 - specificity) / len(bad)
    reach = Z * math.sqrt(variance) / gap
    return Interval(max(0.0, value - reach), min(1.0, value + reach), 0.95, "Rogan-Gladen")


METHODS: dict[str, Callable[[Floats, Floats, Floats], Interval]] = {
    "ragassay": ours,
    "labels alone": labels_alone,
    "PPI++ as in the paper": textbook,
    "Rogan-Gladen": rogan_gladen,
}


def bounds(world: World, labels: int) -> tuple[float, float]:
    """The least mean width of an interval that holds the truth .94 of the time: at every truth near
    this one, and at this one alone; see the module.
    """
    passed = world.passing * world.sensitivity + (1 - world.passing) * (1 - world.specificity)
    of_passed = world.passing * world.sensitivity / passed
    of_failed = world.passing * (1 - world.sensitivity) / (1 - passed)
    within = passed * of_passed * (1 - of_passed) + (1 - passed) * of_failed * (1 - of_failed)
    between = world.passing * (1 - world.passing) - within
    spread = math.sqrt(within / labels + between / world.rows)
    z = normal_quantile(COVERAGE)
    density = math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    here = 2 * spread * (z * COVERAGE + density)
    return 2 * normal_quantile(0.5 + COVERAGE / 2) * spread, here


def cells(trials: int) -> Iterator[dict[str, Any]]:
    """One a world and number of labels: coverage and mean width by method."""
    for number, world in enumerate(worlds()):
        for count in (60, 80, 100):
            rng = np.random.default_rng([SEED, number, count])
            held = dict.fromkeys(METHODS, 0)
            width = dict.fromkeys(METHODS, 0.0)
            for _ in range(trials):
                truth = rng.random(world.rows) < world.passing
                chance = np.where(truth, world.sensitivity, world.specificity)
                right = rng.random(world.rows) < chance
                run = np.where(right, truth, ~truth).astype(float)
                label = truth[:count].astype(float)
                for name, method in METHODS.items():
                    got = method(label, run[:count], run)
                    held[name] += got.low <= world.passing <= got.high
                    width[name] += got.high - got.low
            yield {
                "world": world.__dict__,
                "labels": count,
                "coverage": {name: held[name] / trials for name in METHODS},
                "width": {name: width[name] / trials for name in METHODS},
            }


def table(stored: dict[str, Any]) -> str:
    """The result as Markdown: "coverage (mean width)"."""
    lines = [
        "# The corrected rate at 60 to 100 labels",
        "",
        f"Made by `python benchmarks/small_labels/run.py`: {stored['trials']} trials a cell,"
        f" seed {SEED}; {stored['conditions']}; {stored['seconds']} s.",
        "A cell is the share of 95 % intervals that hold the truth, and their mean width.",
        "",
        "The last two columns bound the width of any interval with a coverage of .94, in large",
        "samples: at every truth, and at this truth alone (the benchmark's first lines say how).",
        "",
        "| pass rate, sensitivity, specificity, rows | labels | "
        + " | ".join(METHODS)
        + " | least at every truth | least at this truth |",
        "|---" * (len(METHODS) + 4) + "|",
    ]
    least: list[tuple[float, float]] = []
    for cell in stored["cells"]:
        world = ", ".join(f"{value:g}" for value in cell["world"].values())
        shown = [f"{cell['coverage'][n]:.3f} ({cell['width'][n]:.3f})" for n in METHODS]
        least.append(bounds(World(**cell["world"]), cell["labels"]))
        shown += [f"{width:.3f}" for width in least[-1]]
        lines.append(f"| {world} | {cell['labels']} | " + " | ".join(shown) + " |")
    lines += ["", "| method | least coverage | median | cells under .94 | mean width |"]
    lines.append("|---|---|---|---|---|")
    for name in METHODS:
        shares = np.array([cell["coverage"][name] for cell in stored["cells"]])
        widths = [cell["width"][name] for cell in stored["cells"]]
        lines.append(
            f"| {name} | {shares.min():.3f} | {np.median(shares):.3f} |"
            f" {int((shares < 0.94).sum())} of {len(shares)} | {np.mean(widths):.3f} |"
        )
    everywhere, here = np.mean(least, axis=0)
    lines += ["", f"Least mean width: {everywhere:.3f} at every truth, {here:.3f} at these alone."]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--no-write", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the page anew, measure nothing")
    args = parser.parse_args()
    if args.page:
        stored = json.loads((RESULTS / "small_labels.json").read_text())
        (RESULTS / "small_labels.md").write_text(table(stored))
        return
    start = time.perf_counter()
    found = list(cells(args.trials))
    stored = {
        "schema": 1,
        "trials": args.trials,
        "seconds": round(time.perf_counter() - start),
        "conditions": f"Python {platform.python_version()}, numpy {np.__version__},"
        f" {datetime.now(UTC):%Y-%m-%d}",
        "cells": found,
    }
    text = table(stored)
    if not args.no_write:
        (RESULTS / "small_labels.json").write_text(json.dumps(stored, indent=1) + "\n")
        (RESULTS / "small_labels.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
