"""Speed and memory of all figures of agreement with their intervals.

    python benchmarks/agreement_speed/run.py [--rows 75000] [--draws 2000]

75,000 rows in 3,000 clusters and 10 slices, 2,000 cluster-bootstrap draws, every figure pooled,
macro and by slice; once for a judge that gives grades 0-3, once for one that gives any number in
[0, 1]. Each in a fresh process; the limit is 20 seconds on two cores and 500 MB at the peak, numpy
included.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import numpy as np

from ragassay.scoring import agreement

SEED, CLUSTERS, SLICES = 20261121, 3000, 10
LIMIT_SECONDS, LIMIT_MB = 20, 500


def ratings(rows: int, graded: bool) -> agreement.Ratings:
    """Rows whose judge sees people's grade through noise."""
    rng = np.random.default_rng(SEED)
    cluster = rng.integers(0, CLUSTERS, rows)
    slices = cluster % SLICES
    names = tuple(f"slice {i}" for i in range(SLICES))
    quality = rng.normal(size=rows) + 0.5 * rng.normal(size=CLUSTERS)[cluster]
    seen = quality + rng.normal(size=rows)
    cuts = [-0.5, 0.5, 1.2]
    label = np.digitize(quality, cuts)
    if graded:
        grade = np.digitize(seen, cuts)
        return agreement.Ratings(
            label.astype(np.float64),
            grade.astype(np.float64),
            grade >= 2,
            label >= 2,
            grade / 3,
            (label, grade),
            (0.0, 1.0, 2.0, 3.0),
            cluster,
            slices,
            names,
        )
    unit = 1 / (1 + np.exp(-seen))
    truth = label >= 2
    return agreement.Ratings(
        label.astype(np.float64), unit, unit >= 0.6, truth, unit, None, (), cluster, slices, names
    )


def measure(rows: int, draws: int, graded: bool) -> dict[str, float]:
    """Seconds of `figures` and the process's peak memory in MB."""
    r = ratings(rows, graded)
    start, cpu = time.perf_counter(), time.process_time()
    found = agreement.figures(r, draws=draws, seed=SEED)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    count = len(found.pooled) + len(found.macro) + sum(len(part.figures) for part in found.slices)
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak, "figures": count}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=75_000)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--one", choices=["graded", "continuous"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(arguments.rows, arguments.draws, arguments.one == "graded")))
        return 0
    found = {}
    for kind in ("graded", "continuous"):
        command = [
            sys.executable,
            __file__,
            "--one",
            kind,
            "--rows",
            str(arguments.rows),
            "--draws",
            str(arguments.draws),
        ]
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found[kind] = json.loads(out)
    result = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"python": platform.python_version(), "cores": os.cpu_count()},
        "rows": arguments.rows,
        "draws": arguments.draws,
        "clusters": CLUSTERS,
        "slices": SLICES,
        "seed": SEED,
        "judges": found,
    }
    lines = [
        "# Speed of the figures of agreement",
        "",
        (
            f"{arguments.rows} rows, {CLUSTERS} clusters, {SLICES} slices, {arguments.draws} draws,"
            f" seed {SEED}. Limit: {LIMIT_SECONDS} s, {LIMIT_MB} MB."
        ),
        "",
        "| judge | figures | seconds | CPU seconds | peak MB |",
        "|---|---|---|---|---|",
    ]
    for kind, one in found.items():
        lines.append(
            f"| {kind} | {one['figures']:.0f} | {one['seconds']:.2f} | {one['cpu_seconds']:.2f} |"
            f" {one['peak_mb']:.0f} |"
        )
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "agreement_speed.json").write_text(json.dumps(result, indent=1) + "\n")
    (RESULTS / "agreement_speed.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    return int(
        any(one["seconds"] > LIMIT_SECONDS or one["peak_mb"] > LIMIT_MB for one in found.values())
    )


if __name__ == "__main__":
    sys.exit(main())
