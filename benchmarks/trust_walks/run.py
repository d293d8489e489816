"""How often the intervals that a walk from labels to a decision prints hold the truth.

    python benchmarks/trust_walks/run.py [--walks 2000] [--no-write]

Each walk draws 400 rows of a world, has a judge of 80 % agreement judge them, chooses 100 of them
for labelling as `ragassay label next` does, and computes every figure as `ragassay trust` prints
it: the corrected pass rate over all rounds, and the judge's figures beside people. The truth is the
world's own. Writes benchmarks/results/trust_walks.{json,md}.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np

from ragassay.core import HumanLabel
from ragassay.runs.corrected import row_labels
from ragassay.scoring.agreement import Ratings, figures
from ragassay.scoring.correction import RunRow, corrected_metric
from ragassay.scoring.label_rounds import drawn_rows
from ragassay.trust.measure.run_trust import SHOWN
from ragassay.trust.sampling import Candidate, choose

ROWS, LABELS, PASSING, AGREEMENT, SEED, DRAWS = 400, 100, 0.78, 0.8, 20261123, 400
FIGURES = (*SHOWN, "f1")


@dataclass(frozen=True)
class Design:
    """A way to choose rows: labels of each round, and by which method."""

    name: str
    method: str
    rounds: tuple[int, ...]


DESIGNS = (
    Design("uniform, one round", "uniform", (LABELS,)),
    Design("uniform, two rounds", "uniform", (60, 40)),
    Design("active, one round", "active", (LABELS,)),
    Design("active, two rounds", "active", (60, 40)),
)


@dataclass(frozen=True)
class World:
    """Rows as a judge and people see them. sure: the judge is surer where it is right."""

    name: str
    passing: float
    specificity: float
    sensitivity: float
    informative: bool

    def truth(self) -> dict[str, float]:
        """Every figure of this judge in the whole world."""
        tp = self.passing * self.sensitivity
        fn = self.passing - tp
        tn = (1 - self.passing) * self.specificity
        fp = 1 - self.passing - tn
        precision, recall = tp / (tp + fp), self.sensitivity
        chance = (tp + fp) * self.passing + (fn + tn) * (1 - self.passing)
        return {
            "corrected": self.passing,
            "precision": precision,
            "recall": recall,
            "specificity": self.specificity,
            "accuracy": tp + tn,
            "balanced_accuracy": (recall + self.specificity) / 2,
            "kappa": (tp + tn - chance) / (1 - chance),
            "f1": 2 * precision * recall / (precision + recall),
        }


WORLDS = (
    World("agrees on 80 % of either class", PASSING, 0.8, 0.8, False),
    World("the same, surer where it is right", PASSING, 0.8, 0.8, True),
    World("generous: passes 6 of 10 bad rows", 0.65, 0.4, 0.95, True),
)


def walk(
    world: World, design: Design, seed: int, *, whole: bool = True
) -> dict[str, tuple[float, float] | None]:
    """The printed interval of every figure in one walk; None where none is printed.

    whole: the judge's figures as well, and not the corrected rate alone.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random(ROWS) < world.passing
    right = rng.random(ROWS) < np.where(truth, world.sensitivity, world.specificity)
    passes = np.where(right, truth, ~truth)
    sure = rng.random(ROWS) < np.where(right & world.informative, 0.8, 0.5)
    confidence = np.where(sure, 0.97, 0.6)
    probability = np.where(passes, confidence, 1 - confidence)
    candidates = [Candidate(str(row), float(probability[row])) for row in range(ROWS)]
    labels: list[HumanLabel] = []
    for number, count in enumerate(design.rounds, 1):
        taken = {label.row_id for label in labels}
        chosen = choose(
            candidates, count, method=design.method, taken=taken, round=number, seed=seed
        )
        for row in chosen.rows:
            value = float(truth[int(row.id)])
            labels.append(
                HumanLabel(
                    row.id,
                    "m",
                    "",
                    value,
                    inclusion_probability=row.inclusion_probability,
                    round=number,
                    pool=row.pool,
                    drawn=row.drawn,
                )
            )
    drawn = drawn_rows(labels, ROWS)
    rows = [RunRow(str(row), float(passes[row])) for row in range(ROWS)]
    correction = corrected_metric(rows, row_labels(labels, drawn.chance))
    corrected = correction.estimate.interval
    if not whole:
        return {"corrected": None if corrected is None else (corrected.low, corrected.high)}
    at = np.array([int(label.row_id) for label in labels])
    weight = None
    if not drawn.equal:
        weight = np.array([1 / drawn.chance[label.row_id] for label in labels])
    ratings = Ratings(truth[at] * 1.0, passes[at] * 1.0, passes[at], truth[at], weight=weight)
    measured = figures(ratings, names=FIGURES, draws=DRAWS, seed=seed)
    intervals = {"corrected": corrected}
    intervals |= {figure.name: figure.interval for figure in measured.pooled}
    return {
        name: None if interval is None else (interval.low, interval.high)
        for name, interval in intervals.items()
    }


def measured(
    world: World, design: Design, walks: int, *, whole: bool = True
) -> list[dict[str, object]]:
    """Coverage and mean width of each figure's interval over so many walks."""
    truth = world.truth() if whole else {"corrected": world.passing}
    held = dict.fromkeys(truth, 0)
    printed = dict.fromkeys(truth, 0)
    width = dict.fromkeys(truth, 0.0)
    for number in range(walks):
        for name, interval in walk(world, design, SEED + number, whole=whole).items():
            if interval is None:
                continue
            low, high = interval
            printed[name] += 1
            held[name] += low <= truth[name] <= high
            width[name] += high - low
    cells = []
    for name in truth:
        shown = max(1, printed[name])
        cells.append(
            {
                "world": world.name,
                "design": design.name,
                "figure": name,
                "walks": walks,
                "printed": printed[name] / walks,
                "coverage": held[name] / shown,
                "width": width[name] / shown,
            }
        )
    return cells


def markdown(stored: dict[str, object], cells: list[dict[str, object]]) -> str:
    """The stored table: a figure a row, a design a column, "coverage (mean width)"."""
    lines = [
        "# Intervals along the walk from labels to a decision",
        "",
        f"Made by `python benchmarks/trust_walks/run.py`: {stored['walks']} walks a cell, in one",
        f"process. {ROWS} rows a walk, {LABELS} labels (two rounds: 60 and 40), seed {SEED},",
        f"{DRAWS} draws. {stored['conditions']}; {stored['seconds']} s. A cell is the share of",
        "95 % intervals that hold the truth, and their mean width.",
    ]
    if stored.get("others"):
        lines += [f'Measured then is the figure "corrected"; the others: {stored["others"]}.']
    names = [design.name for design in DESIGNS]
    for world in WORLDS:
        lines += ["", f"## Judge: {world.name}", "", "| figure | " + " | ".join(names) + " |"]
        lines.append("|---" * (len(names) + 1) + "|")
        for figure in world.truth():
            cells_of = " | ".join(_shown(cells, world.name, name, figure) for name in names)
            lines.append(f"| {figure.replace('_', ' ')} | {cells_of} |")
    least = min(cells, key=lambda cell: float(str(cell["coverage"])))
    lines += [
        "",
        f"Least coverage of all: {least['coverage']:.3f} ({least['figure']}, {least['design']}).",
    ]
    return "\n".join(lines) + "\n"


def _shown(cells: list[dict[str, object]], world: str, design: str, figure: str) -> str:
    for cell in cells:
        if (cell["world"], cell["design"], cell["figure"]) == (world, design, figure):
            return f"{cell['coverage']:.3f} ({cell['width']:.3f})"
    return "–"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--walks", type=int, default=2000)
    parser.add_argument(
        "--corrected-only",
        action="store_true",
        help="The corrected rate alone; the stored cells of the other figures stay.",
    )
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    start = time.perf_counter()
    cells: list[dict[str, object]] = []
    for world in WORLDS:
        for design in DESIGNS:
            for cell in measured(world, design, args.walks, whole=not args.corrected_only):
                cells.append(cell)
                print(
                    f"{cell['coverage']:.3f}  width {cell['width']:.3f}  {cell['figure']};"
                    f" {design.name}; {world.name}",
                    flush=True,
                )
    others = ""
    if args.corrected_only:
        before = json.loads((RESULTS / "trust_walks.json").read_text())
        others = before.get("others") or f"{before['conditions']}, {before['seconds']} s"
        cells += [cell for cell in before["cells"] if cell["figure"] != "corrected"]
    stored: dict[str, object] = {
        "walks": args.walks,
        "seconds": round(time.perf_counter() - start),
        "conditions": f"Python {platform.python_version()}, numpy {np.__version__},"
        f" {datetime.now(UTC):%Y-%m-%d}",
        "others": others,
    }
    if not args.no_write:
        values = json.dumps({"schema": 1, **stored, "cells": cells}, indent=1)
        (RESULTS / "trust_walks.json").write_text(values + "\n")
        (RESULTS / "trust_walks.md").write_text(markdown(stored, cells))
    low = [cell for cell in cells if float(str(cell["coverage"])) < 0.93]
    print(f"{len(low)} cells under 0.93")
    return 1 if low else 0


if __name__ == "__main__":
    raise SystemExit(main())
