"""Speed of the offline path from end to end, and its memory over the number of rows.

    python benchmarks/offline_path/run.py [--rows 400] [--many 50000] [--data ../shared/data]

Speed: rows of 4 contexts of 100 words and 4 claims, cut from real texts, through
`ragassay.evaluate` with the default metrics and the offline judge: reading, judging, journal,
store, summary. Memory: peak resident size of a process that evaluates 1,000 rows and of one that
evaluates 50,000. For the large file the rows repeat, so that their judgments come from the store,
and the run takes minutes instead of half an hour: reading, planning, scoring, storing and summing
are done for every row.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"
SEED = 20261120


def rows(data: Path, count: int, distinct: int) -> Iterator[dict[str, object]]:
    """`count` rows of 4 contexts of 100 words and 4 claims; `distinct` of them differ."""
    from training.offline_data import support

    chance = random.Random(SEED)
    contexts: list[str] = []
    said: list[str] = []
    questions: list[str] = []
    for example in support(data, "test", ("wice", "factcheck_gpt")):
        words = example.call.passages[0].split()
        contexts += [" ".join(words[at : at + 100]) for at in range(0, len(words) - 100, 100)]
        claim = " ".join(example.call.text.split())
        if 40 <= len(claim) <= 200 and claim.count(".") <= 1:
            said.append(claim.rstrip(".") + ".")
        if example.call.question:
            questions.append(example.call.question)
    made = [
        {
            "question": chance.choice(questions),
            "contexts": chance.sample(contexts, 4),
            "response": " ".join(chance.sample(said, 4)),
        }
        for _ in range(distinct)
    ]
    for n in range(count):
        yield {"id": f"row-{n}", **made[n % distinct]}


def child(path: str, folder: str) -> None:
    """Evaluate a file and print seconds, CPU seconds and peak memory."""
    import ragassay

    started, cpu = time.perf_counter(), time.process_time()
    with ragassay.evaluate(path, store=f"{folder}/{Path(path).stem}.db") as run:
        summary = run.summary
    print(
        json.dumps(
            {
                "rows": summary.scored,
                "seconds": time.perf_counter() - started,
                "cpu": time.process_time() - cpu,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        )
    )


def measure(folder: str, data: Path, count: int, distinct: int) -> dict[str, float]:
    """Figures of one fresh process over a file of `count` rows."""
    path = Path(folder, f"rows-{count}-{distinct}.jsonl")
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows(data, count, distinct))
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(path), folder],
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3])
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--many", type=int, default=50_000)
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        fresh = [measure(folder, options.data, options.rows, options.rows - n) for n in range(3)]
        speed = sorted(fresh, key=lambda f: f["seconds"])[1]
        few = measure(folder, options.data, 1_000, 500)
        some = measure(folder, options.data, 10_000, 500)
        many = measure(folder, options.data, options.many, 500)
    rate = speed["rows"] / speed["seconds"]
    later = many["peak_mb"] - some["peak_mb"]
    growth = many["peak_mb"] - few["peak_mb"]
    text = "\n".join(
        [
            "# The offline path",
            "",
            (
                f"{datetime.now(UTC).date()}; Python {platform.python_version()};"
                f" {len(os.sched_getaffinity(0))} cores; load before {load:.1f}; `python"
                " benchmarks/offline_path/run.py`; 4 contexts of 100 words, 4 claims; start-up of"
                " the model, journal, store and summary included; speed is the median of 3"
                " processes."
            ),
            "",
            "| what | measured | limit | |",
            "|---|---:|---:|---|",
            (
                f"| rows a second, {int(speed['rows'])} new rows | {rate:.1f} | 15 |"
                f" {'reached' if rate >= 15 else 'NOT reached'} |"
            ),
            f"| CPU a row | {1000 * speed['cpu'] / speed['rows']:.1f} ms | | |",
            f"| peak memory, 1,000 rows | {few['peak_mb']:.0f} MB | | |",
            f"| peak memory, 10,000 rows | {some['peak_mb']:.0f} MB | | the caches are full |",
            (
                f"| peak memory, {options.many:,} rows | {many['peak_mb']:.0f} MB | flat |"
                f" {growth:+.0f} MB on 1,000, {later:+.0f} MB on 10,000 |"
            ),
            (
                f"| rows a second, {options.many:,} rows, judgments known |"
                f" {many['rows'] / many['seconds']:.0f} | | |"
            ),
        ]
    )
    print(text)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "offline_path.md").write_text(text + "\n", encoding="utf-8")
    figures = {"speed": fresh, "few": few, "some": some, "many": many, "load_before": load}
    (RESULTS / "offline_path.json").write_text(
        json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
