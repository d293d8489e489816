"""The corrected pass rate beside other packages, on the same rows.

    python -m venv peers && peers/bin/pip install ppi-python judgy truescore orjson pyyaml
    peers/bin/python benchmarks/correction_peers/run.py [--trials 300] [--no-write]

Each trial draws a run and its labels from a world with a known pass rate; every package gets the
same labels and verdicts, and is called as its documentation shows. Coverage is the share of 95 %
intervals that hold the pass rate. Packages that are not installed are left out.

A narrower interval that holds the truth less often is not the better one. So a second table gives,
for each package, how wide our interval is at the level at which it holds the truth as often as
theirs: the same trials, our level lowered or raised until the shares are the same. Writes
benchmarks/results/correction_peers.md.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np
from numpy.typing import NDArray

SEED = 20261125
BOOTSTRAP = 500
LEVELS = (0.8, 0.85, 0.88, 0.9, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995)
"""Levels at which our interval is tried, to meet the coverage of another package."""
Floats = NDArray[np.float64]
Ends = tuple[float, float]
# pass rate, sensitivity, specificity, rows, labels
WORLDS = (
    (0.78, 0.8, 0.8, 400, 100),
    (0.78, 0.8, 0.8, 400, 60),
    (0.9, 0.95, 0.7, 1000, 80),
    (0.2, 0.95, 0.9, 1000, 80),
    (0.65, 0.95, 0.4, 400, 100),
)
World = tuple[float, float, float, int, int]


def ragassay(label: Floats, score: Floats, run: Floats, level: float = 0.95) -> Ends:
    from ragassay.scoring import ppi

    units = np.arange(len(label)), np.arange(len(run))
    interval = ppi.estimate(label, score, run, units=units, level=level).interval
    assert interval is not None
    return interval.low, interval.high


def ppi_python(label: Floats, score: Floats, run: Floats) -> Ends:
    from ppi_py import ppi_mean_ci

    low, high = ppi_mean_ci(label, score, run[len(label) :], alpha=0.05)
    return float(np.squeeze(low)), float(np.squeeze(high))


def truescore_ppi(label: Floats, score: Floats, run: Floats) -> Ends:
    from truescore import ppi_estimate

    found = ppi_estimate(run, label, np.arange(len(label)), alpha=0.05)
    return found.low, found.high


def truescore_rogan_gladen(label: Floats, score: Floats, run: Floats) -> Ends:
    from truescore import rogan_gladen_estimate

    found = rogan_gladen_estimate(run, label, np.arange(len(label)), alpha=0.05)
    return found.low, found.high


def judgy(label: Floats, score: Floats, run: Floats) -> Ends:
    from judgy import estimate_success_rate

    _, low, high = estimate_success_rate(
        label.astype(int), score.astype(int), run.astype(int), bootstrap_iterations=BOOTSTRAP
    )
    return float(low), float(high)


METHODS: dict[str, tuple[str, Callable[[Floats, Floats, Floats], Ends]]] = {
    "ragassay": ("", ragassay),
    "ppi-python, PPI++": ("ppi-python", ppi_python),
    "truescore, PPI": ("truescore", truescore_ppi),
    "truescore, Rogan-Gladen": ("truescore", truescore_rogan_gladen),
    "judgy": ("judgy", judgy),
}


def installed() -> dict[str, str]:
    """Method -> version of its package, of those that are there."""
    found = {}
    for name, (package, _) in METHODS.items():
        try:
            found[name] = metadata.version(package) if package else "this one"
        except metadata.PackageNotFoundError:
            continue
    return found


def draws(world: World, trials: int) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Labels, the judge's verdicts on the labelled rows, and its verdicts on all rows."""
    rate, sensitivity, specificity, rows, count = world
    rng = np.random.default_rng([SEED, rows, count, int(rate * 100)])
    for _ in range(trials):
        truth = rng.random(rows) < rate
        right = rng.random(rows) < np.where(truth, sensitivity, specificity)
        run = np.where(right, truth, ~truth).astype(float)
        yield truth[:count].astype(float), run[:count], run


@dataclass(frozen=True)
class Measured:
    """Share of intervals that held the truth, mean width, trials that failed."""

    coverage: float
    width: float
    failed: int = 0

    def __str__(self) -> str:
        text = f"{self.coverage:.3f} ({self.width:.3f})"
        return f"{text}, {self.failed} failed" if self.failed else text


def measured(method: Callable[..., Ends], world: World, trials: int, **options: float) -> Measured:
    """A method in a world."""
    held, failed, widths = 0, 0, []
    for label, score, run in draws(world, trials):
        try:
            low, high = method(label, score, run, **options)
        except (ValueError, ZeroDivisionError):
            failed += 1
            continue
        held += low <= world[0] <= high
        widths.append(high - low)
    shown = max(1, len(widths))
    return Measured(held / shown, float(np.mean(widths or [np.nan])), failed)


def at_equal_coverage(ours: list[Measured], other: Measured) -> str:
    """Our mean width where it holds the truth as often, by the line between the levels tried."""
    shares, first = np.unique([one.coverage for one in ours], return_index=True)
    if not shares[0] <= other.coverage <= shares[-1]:
        return "–"
    width = float(np.interp(other.coverage, shares, [ours[place].width for place in first]))
    return f"{width:.3f} to {other.width:.3f}"


def tables(methods: dict[str, str], trials: int) -> list[str]:
    """Both tables, as lines of Markdown."""
    head = [
        f"{name} ({version})" if version != "this one" else name
        for name, version in methods.items()
    ]
    first = ["| pass rate, sensitivity, specificity, rows, labels | " + " | ".join(head) + " |"]
    first.append("|---" * (len(head) + 1) + "|")
    others = [name for name in methods if name != "ragassay"]
    second = ["| pass rate, sensitivity, specificity, rows, labels | " + " | ".join(others) + " |"]
    second.append("|---" * (len(others) + 1) + "|")
    for world in WORLDS:
        found = {name: measured(METHODS[name][1], world, trials) for name in methods}
        ours = [measured(ragassay, world, trials, level=level) for level in LEVELS]
        named = f"| {', '.join(f'{x:g}' for x in world)} | "
        first.append(named + " | ".join(str(found[name]) for name in methods) + " |")
        equal = [at_equal_coverage(ours, found[name]) for name in others]
        second.append(named + " | ".join(equal) + " |")
        print(first[-1], second[-1], sep="\n", flush=True)
    return [
        *first,
        "",
        "At equal coverage: our mean width, at the level at which it holds the truth as often as",
        "the other package's interval does, to the width of theirs.",
        "",
        *second,
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    lines = tables(installed(), args.trials)
    text = "\n".join(
        [
            "# The corrected pass rate beside other packages",
            "",
            f"Made by `benchmarks/correction_peers/run.py --trials {args.trials}`: {args.trials}"
            f" trials a cell, seed {SEED}, judgy with {BOOTSTRAP} draws; Python"
            f" {platform.python_version()}, numpy {np.__version__}, {datetime.now(UTC):%Y-%m-%d},"
            f" {time.perf_counter() - start:.0f} s.",
            "A cell is the share of 95 % intervals that hold the truth, and their mean width.",
            "",
            *lines,
            "",
        ]
    )
    if not args.no_write:
        (RESULTS / "correction_peers.md").write_text(text)


if __name__ == "__main__":
    main()
