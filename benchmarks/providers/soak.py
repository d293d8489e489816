"""Long runs against servers that nobody here wrote; nothing is stored.

    python benchmarks/providers/soak.py [--rows 100] [--kills 8]

llama.cpp's server with a tiny model whose replies its grammar holds to JSON: the run is killed at
random moments and resumed until it has finished; every score has to be there. llmock in eight
dialects, with errors on 12 % of the requests: every score is there or says why not, and llmock's
own verdict on the client (retries too early, of what no retry helps, too many) finds no fault.
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
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "src")]

from llmock.chaos import ChaosSettings
from llmock.testing import LLMockServer

from support.llama_server import llama_server
from support.mock_providers import PROVIDERS
from support.tiny_model import write_model

METRICS = "context_relevance,groundedness,answer_relevance"
ERRORS = {429: 0.04, 500: 0.04, 503: 0.04}
PATIENCE = 1800
NO_RUN = 2
"""The exit code of a resume where there is no run."""


def write_rows(folder: Path, count: int) -> Path:
    """Rows that each ask three questions."""
    path = folder / "rows.jsonl"
    with path.open("w") as lines:
        for number in range(count):
            row = {
                "question": f"When does museum {number} open?",
                "contexts": [f"Museum {number} opens at nine and closes at five."],
                "response": f"Museum {number} opens at nine.",
            }
            lines.write(json.dumps(row) + "\n")
    return path


def command(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """The command, started in this folder."""
    environment = os.environ | {"KEY": "sk-none-0123456789abcdef", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.Popen(
        [sys.executable, "-m", "ragassay", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def evaluate(judge: str, url: str) -> list[str]:
    """The arguments of a run."""
    asked = ["evaluate", "rows.jsonl", "--judge", judge, "--base-url", url, "--force"]
    return [*asked, "--metrics", METRICS, "--api-key-env", "KEY"]


def scores(folder: Path) -> list[dict[str, Any]]:
    """The scores of the run."""
    exported = command(folder, "export", "last", "-o", "scores.jsonl")
    if exported.wait(PATIENCE) != 0:
        return []
    return [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]


def killed_runs(rows: int, kills: int, seed: int) -> tuple[str, bool]:
    """llama.cpp: killed so often at a random moment, and resumed."""
    dice = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder, rows)
        done = 0
        with llama_server(write_model(folder / "tiny.gguf")) as url:
            asked = evaluate("llamacpp:tiny", url)
            run = command(folder, *asked)
            while done < kills:
                time.sleep(dice.uniform(2.0, 8.0))
                if run.poll() == NO_RUN:  # killed before there was one
                    run = command(folder, *asked)
                elif run.poll() is not None:
                    break
                else:
                    run.kill()
                    run.wait()
                    done += 1
                    run = command(folder, "resume", "last")
            code = run.wait(PATIENCE)
            if code == NO_RUN:
                code = command(folder, *asked).wait(PATIENCE)
        judged = [score for score in scores(folder) if score["status"] == "judged"]
    is_right = code == 0 and len(judged) == 3 * rows
    return f"llama.cpp: {done} kills, exit {code}, {len(judged)} of {3 * rows} scores", is_right


def turned_away(provider: str, rows: int) -> tuple[str, bool]:
    """llmock: a run with errors at random."""
    chaos = ChaosSettings(error_rates=ERRORS)
    with tempfile.TemporaryDirectory() as name, LLMockServer(chaos=chaos) as server:
        folder = Path(name)
        write_rows(folder, rows)
        code = command(folder, *evaluate(f"{provider}:m", server.url + PROVIDERS[provider])).wait(
            PATIENCE
        )
        found = scores(folder)
        with urllib.request.urlopen(f"{server.url}/_llmock/verdict", timeout=30) as answer:
            verdict = json.load(answer)
    judged = sum(score["status"] == "judged" for score in found)
    is_told = all(score["status"] == "judged" or score["reason"] for score in found)
    is_right = code in (0, 3) and len(found) == 3 * rows and is_told and verdict["passed"]
    line = (
        f"llmock, {provider}: exit {code}, {judged} of {3 * rows} scores,"
        f" {verdict['faults_injected']} faults in {verdict['attempts']} requests,"
        f" {verdict['errors']} errors of the client"
    )
    return line, is_right


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("llama.cpp", "llmock"))
    options = parser.parse_args()
    results: list[tuple[str, bool]] = []
    if options.only != "llmock":
        results.append(killed_runs(options.rows, options.kills, options.seed))
        print(results[-1][0], flush=True)
    for provider in PROVIDERS if options.only != "llama.cpp" else ():
        results.append(turned_away(provider, options.rows))
        print(results[-1][0], flush=True)
    return 0 if all(is_right for _, is_right in results) else 1


if __name__ == "__main__":
    sys.exit(main())
