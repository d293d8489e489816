"""What does the main job say of real, human-labelled rows? The whole path, offline, beside the
labels.

    python benchmarks/real_rows/run.py [--data ../shared/data]

`test` rows of wice (claims against articles), ragtruth_qa (answers of six LLMs), mtrag_human
(graded answers) and clapnq (answerable or not). For the first three the verdict of `groundedness`
stands beside the human label of the response; for clapnq the verdict of `chunk_relevance` beside
"the passage answers the question". Every set but ragtruth_qa and wice had rows of its train split
in the training of the offline model; no test row was.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

import ragassay
from ragassay.core import Verdict
from ragassay.scoring import clustered_rate_interval

SETS: dict[str, tuple[str, Callable[[dict[str, Any]], bool]]] = {
    "wice": ("groundedness", lambda row: row["label"] == 1),
    "ragtruth_qa": ("groundedness", lambda row: row["label"] == 1),
    "mtrag_human": ("groundedness", lambda row: row["label"] >= 3),
    "clapnq": ("chunk_relevance", lambda row: row["label"] == 1),
}


def load(data: Path, name: str) -> list[dict[str, Any]]:
    """The test rows of a set; of wice the slice with whole articles."""
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [
        row
        for row in found
        if row["split"] == "test"
        and row["label"] is not None
        and (name != "wice" or row["slice"] == "claim")
    ]


def evaluate(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Run one set through the main job and set its verdicts beside the labels."""
    metric, good = SETS[name]
    labels = {row["id"]: good(row) for row in rows}
    clusters = {row["id"]: row["group"] for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        with ragassay.evaluate(path, store=f"{folder}/s.db") as run:
            summary = run.summary
            verdicts = {r.id: s.verdict for r in run if (s := r.score(metric)) is not None}
    pairs = [
        (labels[i], v, clusters[i])
        for i, v in verdicts.items()
        if v in (Verdict.PASS, Verdict.FAIL)
    ]
    sides = {}
    for side, verdict in ((True, Verdict.PASS), (False, Verdict.FAIL)):
        right = [(v is verdict, cluster) for label, v, cluster in pairs if label is side]
        heaps: dict[str, tuple[int, int]] = {}
        for hit, cluster in right:
            hits, n = heaps.get(cluster, (0, 0))
            heaps[cluster] = hits + hit, n + 1
        interval = clustered_rate_interval(list(heaps.values()))
        sides[side] = (
            (sum(r for r, _ in right) / len(right), interval, len(right))
            if right
            else (0.0, None, 0)
        )
    return {
        "set": name,
        "metric": metric,
        "rows": len(rows),
        "scored": summary.scored,
        "bad": summary.bad,
        "undecided": summary.undecided,
        "seconds": summary.seconds,
        "judged": len(pairs),
        "good_pass": sides[True][0],
        "good": sides[True][2],
        "good_interval": _plain(sides[True][1]),
        "bad_fail": sides[False][0],
        "bad_n": sides[False][2],
        "bad_interval": _plain(sides[False][1]),
        "balanced_accuracy": (sides[True][0] + sides[False][0]) / 2,
        "causes": dict(Counter({c.cause.name: c.rows for c in summary.causes})),
    }


def _plain(interval: Any) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    options = parser.parse_args()
    found = [evaluate(name, load(options.data, name)) for name in SETS]
    total = sum(f["rows"] for f in found)
    lines = [
        "# The main job on real rows",
        "",
        (
            f"{datetime.now(UTC).date()}; offline judge; Python {platform.python_version()};"
            f" `python benchmarks/real_rows/run.py`; {total} rows, every one scored or recorded:"
            f" {sum(f['scored'] + f['bad'] for f in found)}. Intervals: 95 %, clustered by source"
            " document, question or conversation."
        ),
        "",
        (
            "| set | verdict of | rows | good rows that pass | bad rows that fail | balanced"
            " accuracy | undecided | seconds |"
        ),
        "|---|---|---:|---|---|---:|---:|---:|",
    ]
    for f in found:
        sides = [
            f"{f[rate]:.2f} [{f[span][0]:.2f}, {f[span][1]:.2f}] of {f[n]}" if f[span] else "–"
            for rate, span, n in (
                ("good_pass", "good_interval", "good"),
                ("bad_fail", "bad_interval", "bad_n"),
            )
        ]
        lines.append(
            f"| {f['set']} | {f['metric']} | {f['rows']} | {sides[0]} | {sides[1]} |"
            f" {f['balanced_accuracy']:.2f} | {f['undecided']} | {f['seconds']:.0f} |"
        )
    lines += ["", "Balanced accuracy of a verdict that is always the same: 0.50."]
    text = "\n".join(lines)
    print(text)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "real_rows.md").write_text(text + "\n", encoding="utf-8")
    (RESULTS / "real_rows.json").write_text(
        json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
