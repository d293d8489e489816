"""Share of filler that the sentence splitter drops, and of claims that it must not drop.

    python benchmarks/filler/run.py [--show]

sentences.txt: sentences as responses have them, written for this by hand, "filler" or "claim", with
a kind. Most of the claims look like filler at their beginning. All were written before the rules;
the rules were made on the first half (every other line), with the figures of the second half alone
in sight.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"
SENTENCES = Path(__file__).parent / "sentences.txt"
HALVES = {"first half, seen": 0, "second half, figures only": 1}

from ragassay.metrics import split_claims


def labelled() -> list[tuple[bool, str, str]]:
    """Whether it is filler, its kind, the sentence; in the order of the file."""
    rows = []
    for line in SENTENCES.read_text("utf-8").splitlines():
        label, kind, sentence = (part.strip() for part in line.split("|", 2))
        rows.append((label == "filler", kind, sentence))
    return rows


def dropped(sentence: str) -> bool:
    """Whether a response of this sentence alone makes no claim."""
    return all(piece.dropped for piece in split_claims(sentence))


def measure() -> dict[str, dict[str, tuple[int, int]]]:
    """Half -> kind -> how many are dropped, of how many."""
    figures = {}
    for half, at in HALVES.items():
        all_of: Counter[str] = Counter()
        dropped_of: Counter[str] = Counter()
        for is_filler, kind, sentence in labelled()[at::2]:
            name = f"filler: {kind}" if is_filler else f"claim: {kind}"
            all_of[name] += 1
            dropped_of[name] += dropped(sentence)
        figures[half] = {name: (dropped_of[name], all_of[name]) for name in all_of}
    return figures


def totals(kinds: dict[str, tuple[int, int]], label: str) -> tuple[int, int]:
    """Over the kinds of filler, or of claims."""
    rows = [counts for name, counts in kinds.items() if name.startswith(label)]
    return sum(cut for cut, _ in rows), sum(count for _, count in rows)


def markdown(figures: dict[str, dict[str, tuple[int, int]]], conditions: str) -> str:
    lines = ["# Filler dropped by the sentence splitter", "", conditions, ""]
    for half, kinds in figures.items():
        lines += [
            f"## {half[0].upper()}{half[1:]}",
            "",
            "| sentences | dropped |",
            "| --- | ---: |",
        ]
        for name, (cut, count) in kinds.items():
            lines.append(f"| {name} | {cut} of {count} |")
        for label in ("filler", "claim"):
            cut, count = totals(kinds, label)
            lines.append(f"| **{label}, all** | {cut} of {count} ({cut / count:.0%}) |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true", help="print what is wrong in the first half")
    options = parser.parse_args()
    figures = measure()
    if options.show:
        for is_filler, kind, sentence in labelled()[::2]:
            if dropped(sentence) is not is_filler:
                print(f"{'filler' if is_filler else 'claim'}, {kind}: {sentence}")
    day, python = str(datetime.now(UTC).date()), platform.python_version()
    text = markdown(figures, f"{day}; Python {python}; `python benchmarks/filler/run.py`.")
    stored = {"conditions": {"date": day, "python": python}, "figures": figures}
    (RESULTS / "filler.json").write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    (RESULTS / "filler.md").write_text(text, "utf-8")
    print(text)


if __name__ == "__main__":
    main()
