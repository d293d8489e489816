"""What is a yes just above the offline judge's cut worth?

    python benchmarks/near_cut/run.py [--data ../shared/data]

Of the dev rows that lie in the band above the cut of a task: how many there are, and how often
people agree with the yes; each set weighs the same. The bands were chosen on these rows by
training/choose_near.py, so the figures describe that choice and are no measurement on new data.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from training.choose_near import FOLDER, Band, dev_bands

NAMES = {"support": "claims", "relevance": "chunks", "answer": "answers"}


def markdown(found: dict[str, Band], cuts: dict[str, float], day: str) -> str:
    lines = [
        "# A yes just above the cut",
        "",
        f"{day}; Python {platform.python_version()}; `python benchmarks/near_cut/run.py`. Dev rows,"
        " on which the bands were chosen; each set weighs the same.",
        "",
        "| what | band | rows in it | share of the dev rows | people agree |",
        "|---|---|---:|---:|---:|",
    ]
    lines += [
        f"| {NAMES[task]} | {cuts[task]:.2f} to {band.end:.2f} | {band.rows} | {band.share:.1%}"
        f" | {band.agree:.1%} |"
        for task, band in found.items()
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("RAGASSAY_DATA", str(ROOT.parent / "shared/data"))
    parser.add_argument("--data", type=Path, default=Path(default))
    options = parser.parse_args()
    card = json.loads((FOLDER / "card.json").read_text(encoding="utf-8"))
    found = {
        task: next(band for band in bands if band.end == card["near"][task])
        for task, _, bands in dev_bands(options.data)
    }
    day = str(datetime.now(UTC).date())
    stored = {
        "conditions": {"date": day, "python": platform.python_version()},
        "bands": {task: band._asdict() for task, band in found.items()},
    }
    (RESULTS / "near_cut.json").write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    text = markdown(found, card["cuts"], day)
    (RESULTS / "near_cut.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
