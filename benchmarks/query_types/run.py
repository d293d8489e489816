"""How often do the rules for the type of a query call a question multi-hop?

    python benchmarks/query_types/run.py [--data ../shared/data]

Every question of hotpotqa_answer needs two documents; those of nq_open are questions that people
typed into a search engine, nearly all about one thing. Nobody labelled the types themselves.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from ragassay.diagnosis.query_type import query_type

SETS = {"hotpotqa_answer": "all need two documents", "nq_open": "nearly all ask one thing"}


def types_of(data: Path, name: str) -> Counter[str]:
    """Type of a query -> how many rows of the set have it; "none" where the rules cannot tell."""
    with gzip.open(data / name / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return Counter(query_type(json.loads(line)["question"]) or "none" for line in lines)


def markdown(found: dict[str, Counter[str]], day: str) -> str:
    lines = [
        "# Types of queries by rule",
        "",
        f"{day}; Python {platform.python_version()}; `python benchmarks/query_types/run.py`.",
        "",
        "| set | questions | | multi-hop | simple | others |",
        "|---|---:|---|---:|---:|---:|",
    ]
    for name, counts in found.items():
        whole = sum(counts.values())
        hops, simple = counts["multi-hop"] / whole, counts["simple"] / whole
        lines.append(
            f"| {name} | {whole:,} | {SETS[name]} | {hops:.1%} | {simple:.1%}"
            f" | {1 - hops - simple:.1%} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("RAGASSAY_DATA", str(ROOT.parent / "shared/data"))
    parser.add_argument("--data", type=Path, default=Path(default))
    options = parser.parse_args()
    found = {name: types_of(options.data, name) for name in SETS}
    day = str(datetime.now(UTC).date())
    stored = {"conditions": {"date": day, "python": platform.python_version()}, "types": found}
    (RESULTS / "query_types.json").write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    text = markdown(found, day)
    (RESULTS / "query_types.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
