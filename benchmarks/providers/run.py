"""What the client makes of what real providers were recorded to say, beside what a person reads.

    python benchmarks/providers/run.py [--data ../shared/recorded/provider_replies] [--no-write]

Some 870 recorded exchanges with 38 providers, answered again over HTTP by a local server to the
model that a user would connect (`models.connect` with the provider's URI and --base-url).

- Replies: the answer's text, its end, the tokens as billed (input with what a cache served, output
  with what was thought), the cost that the provider tells; of errors their class and the wait that
  the server asks for. What a person reads is in oracle.py, which uses nothing of the package.
- Verdicts: a judge asks the known example (four claims), and the server puts a right answer where
  the recorded one stood; all four are to be read, and none from an envelope without an answer (cut,
  refused, filtered, failed, no chat). A cut answer ends within its first verdict.
- Runs: `ragassay.evaluate` where the first answer is an error that passes, where a field is refused
  as long as it is sent, and where the set-up is wrong (one call, one error within 3 s).

Writes benchmarks/results/providers.json and providers.md; every miss is listed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
RESULTS = ROOT / "benchmarks" / "results"
DATA = ROOT.parent / "shared" / "recorded" / "provider_replies"

from benchmarks.providers.recorded import load
from benchmarks.providers.replay import Outcome, replay
from benchmarks.providers.runs import RunResult, run_all
from benchmarks.providers.verdicts import Read, read_all

ASPECTS = ("text", "finish", "usage", "cost", "class", "wait")
WHAT = {
    "whole": "an envelope of each provider and dialect",
    "passes": "an error that passes",
    "refused": "a refused field",
    "set-up": "a wrong set-up",
}


def by_provider(
    outcomes: Sequence[Outcome], reads: Sequence[Read], runs: Sequence[RunResult]
) -> dict[str, dict[str, Any]]:
    """Right and all, for each provider and aspect."""
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for outcome in outcomes:
        missed = {miss[0] for miss in outcome.misses}
        for aspect in _aspects(outcome):
            _count(counts, outcome.exchange.provider, aspect, aspect not in missed)
    for read in reads:
        aspect = "verdicts" if read.there else "no verdict"
        _count(counts, read.exchange.provider, aspect, not read.is_miss)
    for run in runs:
        _count(counts, run.exchange.provider, "runs", run.is_right)
    return {provider: dict(counts[provider]) for provider in sorted(counts)}


def _count(counts: Any, provider: str, aspect: str, is_right: bool) -> None:
    entry = counts[provider][aspect]
    entry[0] += is_right
    entry[1] += 1


def _aspects(outcome: Outcome) -> list[str]:
    """What there was to read in this exchange."""
    reading = outcome.reading
    if reading.failure:
        return ["class", *(["wait"] if reading.wait is not None else [])]
    aspects = ["class", "finish", "text"]
    if reading.tokens is not None:
        aspects.append("usage")
        aspects += ["cost"] if reading.tokens.dollars is not None else []
    return aspects


def misses(
    outcomes: Sequence[Outcome], reads: Sequence[Read], runs: Sequence[RunResult]
) -> list[str]:
    """Each miss in a line."""
    lines = []
    for outcome in outcomes:
        for aspect, ours, theirs in outcome.misses:
            lines.append(f"{outcome.exchange.id}, {aspect}: {ours!r}; a person reads {theirs!r}")
    for read in reads:
        if read.is_miss:
            there = read.asked if read.there else 0
            lines.append(f"{read.exchange.id}, verdicts: {read.read} of {there}; {read.why}")
    for run in runs:
        if not run.is_right:
            lines.append(f"{run.exchange.id}, run ({WHAT[run.what]}): {run.ended}")
    return lines


def share(counts: Iterable[int] | None) -> str:
    """ "41 / 42", "" where there was nothing to read."""
    if counts is None:
        return ""
    right, asked = counts
    return f"{right} / {asked}"


COLUMNS = (*ASPECTS, "verdicts", "no verdict", "runs")


def table(providers: dict[str, dict[str, Any]]) -> list[str]:
    """The table by provider, the sum at its end."""
    total = {
        column: [sum(each.get(column, (0, 0))[n] for each in providers.values()) for n in (0, 1)]
        for column in COLUMNS
    }
    head = " | ".join(COLUMNS)
    lines = [f"| provider | {head} |", "|---" + "|---:" * len(COLUMNS) + "|"]
    for name, counts in [*providers.items(), ("**all**", total)]:
        cells = " | ".join(share(counts.get(column)) for column in COLUMNS)
        lines.append(f"| {name} | {cells} |")
    return lines


def markdown(result: dict[str, Any]) -> str:
    """The page."""
    runs = [
        f"| {WHAT[name]} | {one['right']} / {one['runs']} | {one['requests']:g} |"
        f" {one['seconds']:.1f} |"
        for name, one in result["runs"].items()
    ]
    listed = [f"- {miss}" for miss in result["misses"]] or ["None."]
    return "\n".join(
        [
            "# Recorded replies of real providers",
            "",
            f"`python benchmarks/providers/run.py`, {result['when']}, {result['machine']};"
            f" {result['exchanges']} exchanges, {result['seconds']:.0f} s. Right / all, where a"
            " person reads something of the kind. verdicts: envelopes of which all four verdicts"
            " were read; no verdict: envelopes without an answer, of which none was; runs: whole"
            " runs that ended as they should.",
            "",
            *table(result["providers"]),
            "",
            "## Whole runs",
            "",
            "| the server answers with | right / all | requests, median | longest, s |",
            "|---|---:|---:|---:|",
            *runs,
            "",
            "## Misses",
            "",
            *listed,
            "",
            "The texts of errors are matched in time that grows with them; the recordings stay"
            " where they are and are no part of the project. What is right here is right for"
            " these recordings: a person's reading was written from them and from the providers'"
            " documentation, without the package. The reader was mended until no miss was left, so"
            " that these shares say nothing of servers that are not among them.",
            "",
        ]
    )


def run_figures(runs: Sequence[RunResult]) -> dict[str, dict[str, float]]:
    """The runs of each kind."""
    figures = {}
    for what in WHAT:
        of_kind = [run for run in runs if run.what == what]
        requests = sorted(run.requests for run in of_kind)
        figures[what] = {
            "runs": len(of_kind),
            "right": sum(run.is_right for run in of_kind),
            "requests": requests[len(requests) // 2] if requests else 0,
            "seconds": max((run.seconds for run in of_kind), default=0.0),
        }
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    default = os.environ.get("RAGASSAY_RECORDED", DATA)
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--no-write", action="store_true")
    options = parser.parse_args()
    started = time.monotonic()
    exchanges = load(options.data)
    outcomes, reads, runs = replay(exchanges), read_all(exchanges), run_all(exchanges)
    result = {
        "when": datetime.now(UTC).strftime("%Y-%m-%d"),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}",
        "exchanges": len(exchanges),
        "seconds": time.monotonic() - started,
        "providers": by_provider(outcomes, reads, runs),
        "runs": run_figures(runs),
        "misses": misses(outcomes, reads, runs),
    }
    page = markdown(result)
    print(page)
    if not options.no_write:
        (RESULTS / "providers.json").write_text(json.dumps(result, indent=1) + "\n")
        (RESULTS / "providers.md").write_text(page)
    return 1 if result["misses"] else 0


if __name__ == "__main__":
    sys.exit(main())
