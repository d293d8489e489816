"""From which probability should a claim pass? Shown on whole responses of train and dev rows.

    python training/choose_cut.py [--data ../shared/data] [--keep 0.25]

A response passes when at least 0.9 of its claims pass, so a cut that treats both mistakes alike
fails most good responses of several sentences. For each cut the table says how many responses that
people call faithful pass, and how many others fail. Reads train and dev, each by itself, for the
network was fitted on the train rows. `--keep` writes the cut into card.json, where the metric reads
it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from training.offline_data import rows  # noqa: E402

import ragassay  # noqa: E402

CUTS = (0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1)
FOLDER = ROOT / "src/ragassay/models/offline/weights"
SENTENCE = re.compile(r"(?<=[.!?]) ")


def labelled(data: Path, split: str) -> dict[str, list[tuple[dict[str, Any], bool]]]:
    """Responses with whether they are faithful: rated by people; written by people; with one
    foreign sentence.
    """
    rated = [
        (row, row["label"] >= 3)
        for row in rows(data, "mtrag_human", split)
        if row["label"] is not None and row["contexts"]
    ]
    written = [row for row in rows(data, "clapnq", split) if row["label"] == 1]
    chance = random.Random(0)
    mixed = []
    for row in written:
        other = chance.choice(written)
        foreign = [s for s in SENTENCE.split(other["response"]) if len(s) > 30]
        if foreign and other["group"] != row["group"]:
            mixed.append(
                ({**row, "response": f"{row['response']} {chance.choice(foreign)}"}, False)
            )
    return {
        "mtrag_human": rated,
        "clapnq": [(row, True) for row in written],
        "clapnq with a foreign sentence": mixed,
    }


def claims(found: list[tuple[dict[str, Any], bool]]) -> list[tuple[bool, list[float]]]:
    """(faithful, probabilities of its claims) of each response."""
    data = [
        {
            "id": str(n),
            "question": row.get("question"),
            "contexts": row["contexts"],
            "response": row["response"],
        }
        for n, (row, _) in enumerate(found)
    ]
    result = []
    with (
        tempfile.TemporaryDirectory() as folder,
        ragassay.evaluate(data, "groundedness", store=f"{folder}/s.db") as run,
    ):
        for line in run:
            score = line.score("groundedness")
            parts = score.parts if score is not None else ()
            odds = [
                1.0 if "abstention" in part.flags else part.probability
                for part in parts
                if part.probability is not None
            ]
            if odds:
                result.append((found[int(line.id)][1], odds))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("RAGASSAY_DATA", ROOT.parent / "shared/data")
    )
    parser.add_argument("--keep", type=float, metavar="CUT", help="write this cut into card.json")
    options = parser.parse_args()
    if options.keep is not None:
        path = FOLDER / "card.json"
        card = json.loads(path.read_text(encoding="utf-8"))
        card["cuts"]["support"] = options.keep
        path.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
        return
    for split in ("train", "dev"):
        for name, found in labelled(Path(options.data), split).items():
            tell(f"{name}, {split}", claims(found))


def tell(name: str, measured: list[tuple[bool, list[float]]]) -> None:
    """Print what each cut does."""
    good = [odds for faithful, odds in measured if faithful]
    bad = [odds for faithful, odds in measured if not faithful]
    print(f"{name}: {len(good)} faithful responses, {len(bad)} others")
    for cut in CUTS:
        passes = [
            [sum(p >= cut for p in odds) >= 0.9 * len(odds) for odds in side]
            for side in (good, bad)
        ]
        kept = f"{sum(passes[0]) / len(good):.2f} of the faithful pass" if good else ""
        caught = f"{1 - sum(passes[1]) / len(bad):.2f} of the others fail" if bad else ""
        print(f"  cut {cut:.2f}: {kept}{', ' if kept and caught else ''}{caught}")


if __name__ == "__main__":
    main()
