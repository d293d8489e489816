"""Whole walks by the command: from rows and labels to a gate on the corrected rate.

    python benchmarks/trust_walks/by_command.py [--walks 20] [--no-write]

Each walk is an engineer's: 400 rows, a judge behind a real server that is right on 80 % of either
class, 100 labels of rows drawn at random in a file of their own, and three commands: `evaluate`,
`label import`, `trust --gate`. Counted is in how many walks the printed interval of the corrected
rate holds the true rate of the world. Writes benchmarks/results/trust_walks_by_command.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks/results"

from ragassay.testing import LLMServer

ROWS, LABELS, PASSING, AGREEMENT, SEED = 400, 100, 0.78, 0.8, 20261125
METRIC = "groundedness"
REFUSED = 3
GATE = f"corrected({METRIC})>=0.7"


@dataclass(frozen=True)
class Walk:
    """What a walk printed: ends of the corrected rate's interval, and the gate's exit code.

    code: 3 where the labels were refused as unlike the other rows; low and high are then 0.
    """

    low: float
    high: float
    code: int

    @property
    def holds(self) -> bool:
        return self.low <= PASSING <= self.high


def write_files(folder: Path, seed: int) -> None:
    """Rows and labels of one world. The judge compares words: it passes what the context says."""
    chance = random.Random(seed)
    rows, people = [], {}
    for number in range(ROWS):
        good = chance.random() < PASSING
        judge_passes = good if chance.random() < AGREEMENT else not good
        fact = f"The ferry of day {number} carried {1200 + number} passengers over the strait."
        other = f"Gardener {number} prunes quince hedges beside old observatories."
        name = f"case-{number}"
        rows.append(
            {
                "id": name,
                "question": "What is known of the day?",
                "contexts": [fact, "Tickets are sold at the pier."],
                "response": fact if judge_passes else other,
            }
        )
        people[name] = int(good)
    drawn = chance.sample(sorted(people), LABELS)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    lines = [f"{name},{people[name]}\n" for name in drawn]
    (folder / "labels.csv").write_text("id,label\n" + "".join(lines))


def walk(folder: Path, seed: int, url: str) -> Walk:
    """One walk in a folder and a store of its own. Raises RuntimeError where a command fails."""
    write_files(folder, seed)
    judge = ["--judge", "openai:mock", "--base-url", url]
    command(folder, "evaluate", "rows.jsonl", "--metrics", METRIC, *judge)
    command(folder, "label", "import", "last", "labels.csv")
    done = command(folder, "trust", "last", "--gate", GATE, "--json", codes=(0, 1, REFUSED))
    interval = json.loads(done.stdout)["corrected"]["interval"]
    if interval is None:
        return Walk(0.0, 0.0, done.returncode)
    return Walk(interval["low"], interval["high"], done.returncode)


def command(
    folder: Path, *words: str, codes: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "RAGASSAY_STORE": str(folder / "store.db")}
    call = [sys.executable, "-m", "ragassay", *words]
    done = subprocess.run(
        call, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(words)}: exit code {done.returncode}\n{done.stderr[-800:]}")
    return done


def page(walks: list[Walk], seconds: float) -> str:
    given = [one for one in walks if one.code != REFUSED]
    held = sum(one.holds for one in given)
    width = sum(one.high - one.low for one in given) / max(1, len(given))
    passed = sum(one.code == 0 for one in given)
    lines = [
        "# Walks from labels to a decision, by the command",
        "",
        f"Made by `python benchmarks/trust_walks/by_command.py --walks {len(walks)}`: seed {SEED},",
        f"{ROWS} rows and {LABELS} labels a walk; {datetime.now(UTC):%Y-%m-%d}, {seconds:.0f} s.",
        "Three commands a walk: `evaluate`, `label import`, `trust --gate`. A true pass rate of",
        f"{PASSING}, and a judge that is right on {AGREEMENT:.0%} of either class.",
        "",
        f"- The interval of the corrected rate holds the truth in {held} of {len(given)} walks;",
        f"  mean width {width:.3f}.",
        f"- The gate `{GATE}` is met in {passed} of these {len(given)} walks.",
        f"- In {len(walks) - len(given)} of {len(walks)} walks the labels, which do not say how",
        "  their rows were drawn, were refused as unlike the other rows: wrongly, for they were",
        "  drawn at random. Labels of a sheet of `label next` say it, and are not tested.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--walks", type=int, default=20)
    parser.add_argument("--no-write", action="store_true")
    args = parser.parse_args()
    start = time.perf_counter()
    walks = []
    with LLMServer() as server:
        for number in range(args.walks):
            with tempfile.TemporaryDirectory() as folder:
                walks.append(walk(Path(folder), SEED + number, server.url))
            print(walks[-1], flush=True)
    text = page(walks, time.perf_counter() - start)
    print(text)
    if not args.no_write:
        (RESULTS / "trust_walks_by_command.md").write_text(text)


if __name__ == "__main__":
    main()
