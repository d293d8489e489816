"""Cost and gain of a run over Ray on one machine, beside the run in one process.

    python benchmarks/distributed/run.py [--rows 2000] [--offline-rows 600]

Two workloads from one Parquet file: a judge behind a local server that answers after 100 ms (64
calls in flight in all, so that waiting is the limit), and the offline judge (so that the CPU is).
Each is run in one process, with one Ray worker and with two. Start: seconds until the first row is
done, Ray's own start included. Rows a second: from then on. Merge: seconds that the driver spent on
taking parts into the store, beside the workers. Every run has to come to the same results as the
one in one process. Writes benchmarks/results/distributed.json and distributed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import ragassay
from ragassay.runs import Progress

METRICS = "context_relevance,groundedness,answer_relevance"
CONCURRENCY, LATENCY = 64, 0.1


def write_rows(path: Path, count: int) -> None:
    """Rows of about 2 KB with 4 contexts and 4 claims, no two alike, in row groups of 500."""
    import pyarrow
    from pyarrow import parquet

    filler = (
        "It was written down by the clerk of the town, who saw it with her own eyes on that day. "
        * 4
    )
    rows = [
        {
            "id": f"row-{n}",
            "question": f"What happened in the year {n}?",
            "contexts": [
                f"In the year {n} the bridge number {n + place} was built. {filler}"
                for place in range(4)
            ],
            "response": " ".join(
                f"In the year {n} the bridge number {n + place} was built." for place in range(4)
            ),
        }
        for n in range(count)
    ]
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=500)


@contextmanager
def timed_merges() -> Iterator[list[float]]:
    """Seconds that each taking in of a part takes."""
    from ragassay.distributed import driver

    seconds: list[float] = []
    real: Any = getattr(driver, "merge_part")  # noqa: B009

    def timed(*given: Any) -> Any:
        begun = time.perf_counter()
        try:
            return real(*given)
        finally:
            seconds.append(time.perf_counter() - begun)

    setattr(driver, "merge_part", timed)  # noqa: B010 - for as long as it is measured
    try:
        yield seconds
    finally:
        setattr(driver, "merge_part", real)  # noqa: B010


def measure(
    rows: Path, store: Path, workers: int, options: dict[str, Any]
) -> tuple[dict[str, Any], bytes]:
    """One run: what it took, and its results. workers 0: one process without Ray."""
    from support.invariants import canonical, check_run

    first: list[tuple[float, int]] = []
    begun = time.perf_counter()

    def watch(progress: Progress) -> None:
        if progress.rows and not first:
            first.append((time.perf_counter() - begun, progress.rows))

    how: dict[str, Any] = {"engine": "ray", "workers": workers} if workers else {}
    with (
        timed_merges() as merges,
        ragassay.evaluate(str(rows), METRICS, store=store, watch=watch, **how, **options) as run,
    ):
        total = time.perf_counter() - begun
        done = run.manifest.rows
    check_run(store)
    start, at = first[0]
    found = {
        "workers": workers,
        "rows": done,
        "total_s": round(total, 2),
        "start_s": round(start, 2),
        "rows_per_second": round((done - at) / (total - start), 1),
        "parts": len(merges),
        "merge_s": round(sum(merges), 2),
    }
    return found, canonical(store)


def workload(name: str, folder: Path, count: int, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The three runs over one file. Raises AssertionError where their results differ."""
    rows = folder / f"{name}.parquet"
    write_rows(rows, count)
    found, expected = [], b""
    for workers in (0, 1, 2):
        figures, results = measure(rows, folder / f"{name}-{workers}.db", workers, options)
        expected = expected or results
        assert results == expected, f"{name}, {workers} workers: other results than in one process"
        found.append({"workload": name, **figures})
        print(found[-1], flush=True)
    return found


def table(report: dict[str, Any]) -> str:
    """The figures as Markdown."""
    lines = [
        "# A run over Ray on one machine",
        "",
        (
            f"Made by `python benchmarks/distributed/run.py` on {report['machine']}. The machine"
            f" was busy with other work (load {report['load']} on {report['cores']} cores): compare"
            " the lines, not the figures with elsewhere."
            if report["load"] > 1
            else f"Made by `python benchmarks/distributed/run.py` on {report['machine']}."
        ),
        "",
        (
            "Server: a judge that answers after 100 ms, 64 calls in flight in all. Offline: the"
            " judge of the package."
        ),
        (
            "Start: until the first row is done, Ray's own start included. All runs of a workload"
            " came to the same results."
        ),
        "",
        (
            "| workload | engine | rows | start s | rows/s after it | parts | merging s in all |"
            " whole run s |"
        ),
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in report["runs"]:
        engine = (
            f"ray, {one['workers']} worker{'s' * (one['workers'] > 1)}"
            if one["workers"]
            else "one process"
        )
        lines.append(
            f"| {one['workload']} | {engine} | {one['rows']:,} | {one['start_s']} |"
            f" {one['rows_per_second']} | {one['parts'] or '-'} |"
            f" {one['merge_s'] if one['workers'] else '-'} | {one['total_s']} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    from ragassay.testing import ServerProcess

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--offline-rows", type=int, default=600)
    a = parser.parse_args()
    load = os.getloadavg()[0]
    os.environ["RAGASSAY_BENCH_KEY"] = "none"
    with (
        tempfile.TemporaryDirectory() as scratch,
        ServerProcess(latency=LATENCY, keep_bodies=False) as server,
    ):
        judge = {
            "judge": "openai:mock",
            "base_url": server.url,
            "api_key_env": "RAGASSAY_BENCH_KEY",
        }
        runs = workload("server", Path(scratch), a.rows, {**judge, "concurrency": CONCURRENCY})
        runs += workload("offline", Path(scratch), a.offline_rows, {})
    report = {
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "cores": os.cpu_count(),
        "load": round(load, 1),
        "runs": runs,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "distributed.json").write_text(json.dumps(report, indent=2) + "\n")
    text = table(report)
    (RESULTS / "distributed.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
