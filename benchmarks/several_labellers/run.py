"""The corrected rate with labels of several people who err: three ways to join them.

    python benchmarks/several_labellers/run.py [--trials 100] [--no-write]

A world has a pass rate, people with a sensitivity and a specificity each, a judge that is right on
80 or 90 % of the rows, and a run of which some rows are labelled, drawn with one chance for all.
The labels of a row are joined to their mean, to the side of the majority, or by how often each
person errs (`ragassay.scoring.labellers`, after Dawid and Skene 1979), and the corrected rate is
estimated from each (`ragassay.scoring.ppi.estimate`), as `ragassay estimate` does. The truth is
known. One world breaks the model's assumption: on some of its rows everybody errs together.

Writes benchmarks/results/several_labellers.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np
from numpy.typing import NDArray

from ragassay.scoring import ppi
from ragassay.scoring.annotators import Votes
from ragassay.scoring.labellers import labeller_model

SEED = 20261127
WAYS = ("how often each errs", "their mean", "their majority")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class World:
    """passing: true pass rate; people: sensitivity and specificity of each; judge: the share of
    rows on which it is right; gaps: share of the labels that are missing; together: share of the
    rows on which all people err.
    """

    passing: float
    people: tuple[tuple[float, float], ...]
    labelled: int
    rows: int
    judge: float = 0.8
    gaps: float = 0.0
    together: float = 0.0

    @property
    def title(self) -> str:
        people = ", ".join(f"{right:.2f}/{wrong:.2f}" for right, wrong in self.people)
        words = f"{self.passing:.2f} of {self.rows}; {self.labelled} by {people}"
        if self.gaps:
            words += f"; {self.gaps:.0%} of labels missing"
        return words + (f"; together wrong on {self.together:.0%}" if self.together else "")


THREE = ((0.9, 0.85), (0.8, 0.9), (0.95, 0.7))
FOUR = ((0.95, 0.95), (0.9, 0.9), (0.85, 0.8), (0.6, 0.6))
FIVE = ((0.97, 0.9), (0.95, 0.9), (0.9, 0.8), (0.9, 0.8), (0.9, 0.9))
WORLDS = (
    World(0.75, THREE, 100, 400),
    World(0.75, THREE, 60, 400),
    World(0.75, ((0.9, 0.85), (0.85, 0.9), (0.5, 0.5)), 100, 400),
    World(0.75, ((0.99, 0.99),) * 3, 100, 400),
    World(0.5, FOUR, 200, 1000, gaps=0.25),
    World(0.9, FIVE, 150, 1000, judge=0.9, gaps=0.3),
    World(0.75, THREE, 100, 400, together=0.05),
)


def voted(world: World, truth: NDArray[np.bool_], rng: np.random.Generator) -> Votes:
    """The labels of the people, 1 for pass and 0 for fail; each row has one at least."""
    values = np.empty((len(truth), len(world.people)))
    for place, (sensitivity, specificity) in enumerate(world.people):
        is_right = rng.random(len(truth)) < np.where(truth, sensitivity, specificity)
        values[:, place] = np.where(is_right, truth, ~truth)
    together = rng.random(len(truth)) < world.together
    values[together] = (~truth[together])[:, None]
    gap = rng.random(values.shape) < world.gaps
    gap[gap.all(1), 0] = False
    values[gap] = np.nan
    names = tuple("abcde"[: len(world.people)])
    return Votes(names, tuple(map(str, range(len(truth)))), values, np.arange(len(truth)))


def one(world: World, rng: np.random.Generator, seed: int) -> tuple[dict[str, ppi.Estimate], bool]:
    """The estimate by each way of joining; whether the labels allowed a model."""
    truth = rng.random(world.rows) < world.passing
    score = np.where(rng.random(world.rows) < world.judge, truth, ~truth).astype(float)
    labelled = rng.permutation(world.rows)[: world.labelled]
    votes = voted(world, truth[labelled], rng)
    units = (labelled, np.arange(world.rows))

    def estimate(labels: Floats) -> ppi.Estimate:
        return ppi.estimate(labels, score[labelled], score, units=units)

    mean = np.nanmean(votes.values, axis=1)
    found = {WAYS[1]: estimate(mean), WAYS[2]: estimate((mean > 0.5).astype(float))}
    model = labeller_model(votes, seed=seed)
    if isinstance(model, str):
        return {**found, WAYS[0]: found[WAYS[1]]}, False
    chance = np.array([model.chance[row] for row in votes.rows])
    joined = ppi.with_noise(estimate(chance), model.noise, 0.0, 1.0)
    return {**found, WAYS[0]: joined}, True


def measured(world: World, trials: int) -> dict[str, Any]:
    """Coverage, mean width and bias of each way, and the share of trials with a model."""
    rng = np.random.default_rng(SEED)
    cells = {way: [0.0, 0.0, 0.0] for way in WAYS}
    models = 0
    for trial in range(trials):
        found, has_model = one(world, rng, trial)
        models += has_model
        for way, estimate in found.items():
            interval, value = estimate.interval, estimate.value
            assert interval is not None
            assert value is not None
            cells[way][0] += interval.low <= world.passing <= interval.high
            cells[way][1] += interval.high - interval.low
            cells[way][2] += value - world.passing
    return {
        "world": {**asdict(world), "title": world.title},
        "models": models / trials,
        "ways": {
            way: dict(zip(("holds", "width", "bias"), (x / trials for x in cell), strict=True))
            for way, cell in cells.items()
        },
    }


def page(results: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = [
        "# The corrected rate with labels of several people who err",
        "",
        f"Made by `python benchmarks/several_labellers/run.py`: {results['trials']} trials a world,"
        f" seed {SEED}; Python {results['python']}, numpy {results['numpy']}, {results['date']};"
        f" {results['seconds']:.0f} s.",
        "A cell is the share of 95 % intervals that hold the truth, their mean width, and the mean"
        " error of the estimate.",
        "",
        f"| pass rate of rows; labelled rows by people (sensitivity/specificity) |"
        f" {' | '.join(WAYS)} |",
        "|---|---|---|---|",
    ]
    for each in results["worlds"]:
        cells = [
            f"{cell['holds']:.2f} ({cell['width']:.3f}, {cell['bias']:+.3f})"
            for cell in (each["ways"][way] for way in WAYS)
        ]
        lines.append(f"| {each['world']['title']} | {' | '.join(cells)} |")
    lines += [
        "",
        "Where everybody errs together on the same rows, no way of joining can know; the common"
        " error is in all three.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    began = time.monotonic()
    worlds = [measured(world, options.trials) for world in WORLDS]
    results = {
        "trials": options.trials,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seconds": time.monotonic() - began,
        "worlds": worlds,
    }
    print(page(results))
    if not options.no_write:
        (RESULTS / "several_labellers.json").write_text(json.dumps(results, indent=1) + "\n")
        (RESULTS / "several_labellers.md").write_text(page(results))


if __name__ == "__main__":
    main()
