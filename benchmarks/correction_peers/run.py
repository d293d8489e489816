"""The corrected pass rate beside other packages, on the same rows.

    python -m venv peers && peers/bin/pip install ppi-python judgy truescore orjson pyyaml
    peers/bin/python benchmarks/correction_peers/run.py [--trials 300] [--no-write]

Each trial draws a run and its labels from a world with a known pass rate; every package gets the
same labels and verdicts, and is called as its documentation shows. Coverage is the share of 95 %
intervals that hold the pass rate. Packages that are not installed are left out. Writes
benchmarks/results/correction_peers.md.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np
from numpy.typing import NDArray

SEED = 20261125
BOOTSTRAP = 2000
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


def ragassay(label: Floats, score: Floats, run: Floats) -> Ends:
    from ragassay.scoring import ppi

    units = np.arange(len(label)), np.arange(len(run))
    interval = ppi.estimate(label, score, run, units=units).interval
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


def cell(method: str, world: tuple[float, float, float, int, int], trials: int) -> str:
    """ "coverage (mean width)" of a method in a world; failures are counted."""
    rate, sensitivity, specificity, rows, count = world
    rng = np.random.default_rng([SEED, rows, count, int(rate * 100)])
    held = failed = 0
    widths = []
    for _ in range(trials):
        truth = rng.random(rows) < rate
        right = rng.random(rows) < np.where(truth, sensitivity, specificity)
        run = np.where(right, truth, ~truth).astype(float)
        label = truth[:count].astype(float)
        try:
            low, high = METHODS[method][1](label, run[:count], run)
        except (ValueError, ZeroDivisionError):
            failed += 1
            continue
        held += low <= rate <= high
        widths.append(high - low)
    shown = len(widths)
    if not shown:
        return "no result"
    text = f"{held / shown:.3f} ({np.mean(widths):.3f})"
    return f"{text}, {failed} failed" if failed else text


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    methods = installed()
    head = [
        f"{name} ({version})" if version != "this one" else name
        for name, version in methods.items()
    ]
    lines = ["| pass rate, sensitivity, specificity, rows, labels | " + " | ".join(head) + " |"]
    lines.append("|---" * (len(head) + 1) + "|")
    for world in WORLDS:
        cells = [cell(name, world, args.trials) for name in methods]
        lines.append(f"| {', '.join(f'{x:g}' for x in world)} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    text = "\n".join(
        [
            "# The corrected pass rate beside other packages",
            "",
            f"Made by `benchmarks/correction_peers/run.py`: {args.trials} trials, seed {SEED},"
            f" judgy with {BOOTSTRAP} draws; {datetime.now(UTC):%Y-%m-%d},"
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
