"""Time that the trained judge takes to read a text beside a window, by its number of tokens.

    python benchmarks/window_speed/run.py [--texts 60]

Real claims and passages would have all lengths, so ids are drawn at random: the time does not
depend on which words they are. A text has 30 tokens, the window the rest. Alone: one call after
another. Side by side: a thread a core, each with texts of its own; the figure is the time of all
divided by the number of texts, which is what a run pays. Medians of five rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import onnxruntime

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from ragassay.models import offline
from ragassay.models.offline.engine import Engine
from ragassay.models.offline.windows import LONGEST, NetworkInput

TEXT, ROUNDS, LIMIT = 30, 5, 12.0


def pairs(tokens: int, count: int, chance: np.random.Generator) -> list[NetworkInput]:
    """Pairs of so many tokens, none twice."""
    return [
        NetworkInput(tuple(map(int, chance.integers(1000, 30000, tokens))), TEXT)
        for _ in range(count)
    ]


def milliseconds(engine: Engine, tokens: int, count: int, threads: int) -> float:
    """A text, when so many threads read."""
    chance = np.random.default_rng(0)
    taken = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(ROUNDS + 1):
            asked = pairs(tokens, count, chance)
            started = time.perf_counter()
            list(pool.map(engine.reader.read, asked))
            taken.append(1000 * (time.perf_counter() - started) / count)
    return statistics.median(taken[1:])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=60)
    options = parser.parse_args()
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    engine = Engine.load(Path(offline.__file__).parent / "weights")
    figures = {}
    for tokens in (64, 128, 192, 256, 320, LONGEST):
        alone = milliseconds(engine, tokens, options.texts // 2, 1)
        figures[str(tokens)] = {
            "alone": alone,
            "side_by_side": milliseconds(engine, tokens, options.texts, cores),
        }
    lines = [
        "# Reading a window",
        "",
        (
            f"{datetime.now(UTC).date()}; Python {platform.python_version()}; onnxruntime"
            f" {onnxruntime.__version__}; {cores} cores; load before {load:.1f}; `python"
            " benchmarks/window_speed/run.py`; ms a text."
        ),
        "",
        f"| tokens | alone, one thread | side by side, {cores} threads | limit |",
        "|---:|---:|---:|---|",
    ]
    for name, one in figures.items():
        limit = ""
        if name == str(LONGEST):
            limit = f"{LIMIT:g} {'reached' if one['side_by_side'] <= LIMIT else 'NOT reached'}"
        lines.append(f"| {name} | {one['alone']:.1f} | {one['side_by_side']:.1f} | {limit} |")
    text = "\n".join(lines)
    print(text)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "window_speed.md").write_text(text + "\n", encoding="utf-8")
    stored = {"cores": cores, "load_before": load, "milliseconds": figures}
    (RESULTS / "window_speed.json").write_text(
        json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
