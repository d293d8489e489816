"""Agreement of the rule that tells refusals from answers with readers.

    python benchmarks/declining/run.py [--data ../shared/data]

labels.json says, by row id, whether a response only declines or admits not knowing (true) or claims
something, if beside an admission (false). Read by hand: of evouna the wrong answers that hold a
word of hedging, of mtrag_un the responses to unanswerable questions. Taken for answers unread: all
other rows of evouna and the answerable and partly answerable rows of mtrag_un and clapnq; clapnq's
unanswerable rows have no response. The rule was written on train and dev rows; the test rows were
labelled before it and not looked at since.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from ragassay.judges import declines

SETS = ("evouna", "mtrag_un", "clapnq")
LABELS = Path(__file__).parent / "labels.json"


def rows_of(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Its rows with a response; without those that nobody labelled (underspecified questions)."""
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row.get("label") is not None and (row.get("response") or "").strip():
                yield row


def measure(data: Path) -> tuple[dict[str, dict[str, int]], list[tuple[str, str, bool, str]]]:
    """Counts by set and part, and the rows on which rule and reader differ."""
    labels: dict[str, dict[str, bool]] = json.loads(LABELS.read_text("utf-8"))
    figures: dict[str, dict[str, int]] = {}
    differ = []
    for name in SETS:
        for row in rows_of(data, name):
            label = labels.get(name, {}).get(row["id"], False)
            verdict = declines(row["response"])
            part = "test" if row["split"] == "test" else "train and dev"
            counts = figures.setdefault(f"{name}, {part}", Counter())
            counts["rows"] += 1
            counts["decline"] += label
            counts["called"] += verdict
            counts["both"] += label and verdict
            if label is not verdict:
                differ.append((part, row["id"], verdict, row["response"]))
    return figures, differ


def ratio(part: int, whole: int) -> str:
    """ "31 of 32 (97 %)"."""
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "-"


def markdown(figures: dict[str, dict[str, int]], took: str) -> str:
    lines = [
        "# Refusals told from answers",
        "",
        f"{took} `python benchmarks/declining/run.py`. A response declines when it refuses or"
        " admits not knowing and claims nothing else.",
        "",
        "| rows | responses | decline, by readers | found by the rule | answers called refusals |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, counts in figures.items():
        found = ratio(counts["both"], counts["decline"])
        wrong = counts["called"] - counts["both"]
        lines.append(f"| {name} | {counts['rows']:,} | {counts['decline']} | {found} | {wrong} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("RAGASSAY_DATA", str(ROOT.parent / "shared/data"))
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument(
        "--show", action="store_true", help="print the train and dev rows that differ"
    )
    options = parser.parse_args()
    started = time.perf_counter()
    figures, differ = measure(options.data)
    seconds = time.perf_counter() - started
    if options.show:
        for part, name, verdict, text in differ:
            if part != "test":
                print(f"{name}: the rule says {'refusal' if verdict else 'answer'}: {text[:300]!r}")
    day = datetime.now(UTC).date()
    text = markdown(figures, f"{day}; Python {platform.python_version()}; {seconds:.0f} s;")
    conditions = {"date": str(day), "python": platform.python_version(), "seconds": round(seconds)}
    RESULTS.mkdir(exist_ok=True)
    stored = json.dumps({"conditions": conditions, "figures": figures}, indent=1)
    (RESULTS / "declining.json").write_text(stored + "\n", "utf-8")
    (RESULTS / "declining.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
