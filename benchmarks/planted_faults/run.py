"""Does the offline judge fail an answer with one planted fault, and pass its twin without it?

    python benchmarks/planted_faults/run.py [--data ../shared/data]
    python benchmarks/planted_faults/run.py --rows FILE           # other pairs of the same form
    python benchmarks/planted_faults/run.py --show number 20      # what was judged wrongly

Pairs written by hand (rows_by_hand.jsonl, rows_close_by_hand.jsonl) and pairs made by rules from
rows that people called supported, of eight kinds of fault, under the metric groundedness as it is
by default. Beside it word overlap: the share of an answer's words that stand in its passages, with
the cut that is best for it on these very pairs. The second table counts claims of supported dev
rows in which a rule of the judge named a conflict. --rows and --show store nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from benchmarks.planted_faults import overturned
from benchmarks.planted_faults.by_rules import made_pairs
from benchmarks.planted_faults.figures import Judged, figures
from benchmarks.planted_faults.markdown import markdown
from benchmarks.planted_faults.pairs import KINDS, Pair, pairs_by_hand, read_pairs
from benchmarks.planted_faults.verdicts import judged

from ragassay.models.offline import OfflineModel


def main() -> None:
    options = _options()
    started = time.perf_counter()
    kind, count = options.show or (None, 0)
    pairs = _pairs(options, kind)
    if not pairs:
        sys.exit("There are no such pairs.")
    found = judged(pairs)
    if kind is not None:
        print(_misses(found, int(count)))
        return
    result: dict[str, Any] = {"conditions": _conditions(options), "sources": figures(found)}
    if options.rows is None:
        result["overturned"] = overturned.measured(options.data)
    result["conditions"]["seconds"] = round(time.perf_counter() - started)
    text = markdown(result)
    print(text)
    if options.rows is None:
        RESULTS.mkdir(parents=True, exist_ok=True)
        stored = json.dumps(result, indent=1, allow_nan=False)
        (RESULTS / "planted_faults.json").write_text(stored + "\n", encoding="utf-8")
        (RESULTS / "planted_faults.md").write_text(text + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    parser.add_argument("--rows", type=Path, help="a file of pairs, measured instead of ours")
    parser.add_argument(
        "--show", nargs=2, metavar=("KIND", "N"), help="print N misses of a kind, store nothing"
    )
    parser.add_argument(
        "--hand", action="store_true", help="with --show: only the pairs written by hand"
    )
    options = parser.parse_args()
    options.data = Path(options.data)
    if options.show and (options.show[0] not in KINDS or not options.show[1].isdigit()):
        parser.error(f"--show takes one of {', '.join(KINDS)} and a number")
    return options


def _pairs(options: argparse.Namespace, kind: str | None) -> list[Pair]:
    """The pairs that are asked for; of one kind where it is named."""
    if options.rows is not None:
        pairs = read_pairs(options.rows, options.rows.stem)
    else:
        pairs = pairs_by_hand()
        if not (options.hand and kind):
            pairs += made_pairs(options.data)
    return [pair for pair in pairs if kind in (None, pair.kind)]


def _conditions(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "model": OfflineModel().version,
        "python": platform.python_version(),
        "command": "python benchmarks/planted_faults/run.py"
        + (f" --rows {options.rows.name}" if options.rows else ""),
    }


def _misses(found: list[Judged], count: int) -> str:
    """The first misses: bad answers that do not fail, good ones that do not pass."""
    lines = []
    for one in found:
        for side, text, verdict, right in (
            ("bad", one.pair.bad, one.bad, "fail"),
            ("good", one.pair.good, one.good, "pass"),
        ):
            if verdict != right:
                lines += [
                    f"{one.pair.id} ({one.pair.source}): the {side} twin, {verdict}",
                    f"  question: {one.pair.question or '–'}",
                    f"  answer:   {text}",
                    f"  twin:     {one.pair.good if side == 'bad' else one.pair.bad}",
                    *(f"  passage:  {passage[:600]}" for passage in one.pair.contexts),
                ]
                count -= 1
            if count <= 0:
                return "\n".join(lines)
    return "\n".join(lines) or "No miss."


if __name__ == "__main__":
    main()
