"""Given the same verdicts, is our number the peer's? One command; each peer runs its own code in
its own environment.

    python benchmarks/parity/run.py [--peers ragas,mlflow] [--environments DIR]

Makes a throw-away environment for each peer and installs the pinned peer into it (a peer that does
not install is a row that says so), hands the same seeded verdicts to the peer's own metric code and
to our own metric flows, prints the table and writes benchmarks/results/parity.{json,md}. Leaves
with 1 when a difference is unexplained. Installing takes a few minutes, a network and 2 GB for as
long as it runs; `--environments` keeps what it installed for the next time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from benchmarks.parity.ours import Number, measure
from benchmarks.parity.pairs import (
    EDGES,
    HEADLINE,
    NOT_COMPARED,
    PAIRS,
    PEERS,
    SAME_NUMBER,
    Pair,
    Peer,
)
from benchmarks.parity.rows import CASES, RANDOM_ROWS, SEED, Row, all_rows

import ragassay

RESULTS = ROOT / "benchmarks/results"
QUIET = {
    "RAGAS_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
PATIENCE = 1200
"""Seconds that one step of an installation may take."""
ELSEWHERE = re.compile(r"\S*[/\\]\S*")
"""Addresses and paths of the machine, which say nothing to the reader of a result."""
Values = dict[str, dict[str, Number]]


@dataclass(slots=True)
class Comparison:
    """One line of the table. rows, equal: random rows on which the two must agree, and do. largest:
    their largest difference. others: the random rows outside, how many of them differ, and by how
    much (None: one side has no number). edges: what the edge cases give, why = "" where they agree.
    unexplained: differences without a reason, or with one that does not hold.
    """

    pair: Pair
    rows: int = 0
    equal: int = 0
    largest: float = 0.0
    others: int = 0
    others_differ: int = 0
    others_largest: float | None = None
    edges: list[dict[str, str]] = field(default_factory=list)
    unexplained: list[str] = field(default_factory=list)


def environment(peer: Peer, folder: Path) -> tuple[Path | None, str]:
    """The interpreter of an environment with the peer, or None and why it could not be made."""
    home = folder / peer.name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (home / "complete").exists():
        return python, ""
    steps = [[sys.executable, "-m", "venv", str(home)]]
    for packages, options in ((peer.alone, ["--no-deps"]), (peer.requires, [])):
        if packages:
            steps.append(
                [
                    str(python),
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--no-cache-dir",
                    *options,
                    *packages,
                ]
            )
    for step in steps:
        try:
            done = subprocess.run(
                step, capture_output=True, text=True, check=False, timeout=PATIENCE
            )
        except subprocess.TimeoutExpired:
            shutil.rmtree(home, ignore_errors=True)
            return None, f"it took longer than {PATIENCE} s"
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [
                "no reason given"
            ]
            shutil.rmtree(home, ignore_errors=True)
            return None, ELSEWHERE.sub("...", said[-1].removeprefix("ERROR: "))[:200]
    (home / "complete").touch()
    return python, ""


def peer_values(peer: Peer, folder: Path, rows: Path) -> tuple[str, Values, str]:
    """The peer's version and its numbers by metric and row, or why there are none."""
    python, why = environment(peer, folder)
    if python is None:
        return "", {}, f"not installed: {why}"
    out = folder / f"{peer.name}.json"
    command = [str(python), "-m", f"benchmarks.parity.drivers.{peer.module}", str(rows), str(out)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **QUIET, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return "", {}, f"installed, but its driver failed: {ELSEWHERE.sub('...', said)[:200]}"
    found = json.loads(out.read_text(encoding="utf-8"))
    return found["version"], found["values"], ""


def compare(
    pair: Pair, theirs: dict[str, Number], ours: dict[str, Number], rows: Iterable[Row]
) -> Comparison:
    """One line of the table from the two sides' numbers by row."""
    line = Comparison(pair)
    for row in rows:
        a, b = theirs[row["id"]], ours[row["id"]]
        gap = difference(a, b)
        agree = gap is not None and gap <= pair.tolerance
        if row["edge"]:
            _edge(line, row["edge"], a, b, agree)
        elif pair.where is None or pair.where.holds(row):
            agree = (
                agree and "value" in a
            )  # a random row has every verdict, so both sides must have a number
            line.rows += 1
            line.equal += agree
            line.largest = max(line.largest, gap or 0.0)
            if not agree:
                line.unexplained.append(f"{row['id']}: {shown(a)} there, {shown(b)} here")
        else:
            line.others += 1
            line.others_differ += not agree
            if gap is not None:
                line.others_largest = max(line.others_largest or 0.0, gap)
            if "value" not in a or abs(a["value"] - pair.where.peer(row)) > pair.tolerance:
                line.unexplained.append(
                    f"{row['id']}: {shown(a)} there, by the reason {pair.where.peer(row):.3f}"
                )
    return line


def difference(a: Number, b: Number) -> float | None:
    """How far two outcomes are apart: 0 when neither is a number, None when one of them is."""
    if "value" in a and "value" in b:
        return abs(a["value"] - b["value"])
    return 0.0 if "value" not in a and "value" not in b else None


def _edge(line: Comparison, name: str, a: Number, b: Number, agree: bool) -> None:
    partial = "value" in b and b["judged"] < b["asked"]
    why = ""
    if partial or not agree:
        # The general reasons say why there is no number here; where there is one, the pair must say
        # why.
        why = line.pair.edges.get(name) or ("" if "value" in b else EDGES.get(name, ""))
        why = why or (SAME_NUMBER if agree else "")
        if not why:
            line.unexplained.append(f"{name}: {shown(a)} there, {shown(b)} here")
            why = "UNEXPLAINED"
    line.edges.append({"case": name, "peer": shown(a), "ours": shown(b), "why": why})


def shown(number: Number) -> str:
    """An outcome in a few words."""
    if "value" not in number:
        return number["absent"].split(":")[0].replace("nan", "NaN")
    text = f"{number['value']:.3f}"
    if "asked" in number and number["judged"] < number["asked"]:
        text += (
            f" ({number['judged']} of {number['asked']}"
            f" judged{', ' + number['verdict'] if number['verdict'] else ''})"
        )
    return text


def markdown(result: dict[str, Any]) -> str:
    """The result as tables."""
    out = ["# Parity with the peers' own code", ""]
    out += [f"- {name}: {value}" for name, value in result["conditions"].items()]
    out += [
        "",
        (
            "Both sides are given the same verdicts; only the arithmetic after them can differ."
            " Equal: within 1e-9, or within the"
        ),
        (
            "stated tolerance; no number on either side (NaN, an exception, not applicable) counts"
            " as equal."
        ),
        "",
        (
            "| peer | its metric | ours | rows | equal | largest difference | edge cases equal |"
            " edge cases that differ (below) |"
        ),
        "|---|---|---|---:|---:|---:|---:|---|",
    ]
    for line in result["comparisons"]:
        cases = ", ".join(edge["case"] for edge in line["edges"] if edge["why"]) or "none"
        out.append(
            f"| {line['peer']} | {line['theirs']} | {line['ours']} | {line['rows']} |"
            f" {line['equal']} | {line['largest_difference']:.1e} | {line['edges_equal']} of"
            f" {line['edges_all']} | {cases} |"
        )
    out += [f"| {name} | {why} | | | | | | |" for name, why in result["missing"].items()]
    out += _headline(result["comparisons"])
    out += ["", "## Random rows on which they differ, deliberately", ""]
    out += [
        "| peer | its metric | rows that must agree | other rows | of them differ | largest | why |"
    ]
    out += ["|---|---|---|---:|---:|---:|---|"]
    for line in result["comparisons"]:
        if line["where"]:
            largest = line["other_rows_largest"]
            shown = "no number here" if largest is None else f"{largest:.3f}"
            out.append(
                f"| {line['peer']} | {line['theirs']} | {line['where']} | {line['other_rows']} |"
                f" {line['other_rows_differ']} | {shown} | {line['otherwise']} |"
            )
    loose = [line for line in result["comparisons"] if line["tolerance_why"]]
    out += ["", "Tolerances above 1e-9:"]
    out += [
        "",
        *(f"- {x['peer']} {x['theirs']}: {x['tolerance']:g}, {x['tolerance_why']}" for x in loose),
    ]
    out += ["", "## Edge cases that differ, deliberately"]
    for case, what in CASES.items():
        rows = _alike(case, result["comparisons"])
        if rows:
            out += [
                "",
                f"### {case}: {what}",
                "",
                "| peer | its metrics | our metric | peer | ours | why |",
                "|---|---|---|---|---|---|",
            ]
        out += [
            "| " + " | ".join([peer, ", ".join(theirs), *rest]) + " |"
            for (peer, *rest), theirs in rows.items()
        ]
    differing = {
        edge["case"] for line in result["comparisons"] for edge in line["edges"] if edge["why"]
    }
    agreed = [case for case in CASES if case not in differing]
    out += ["", f"No metric differs on: {', '.join(agreed)}.", "", "## Where the peers compute", ""]
    out += [f"- {line['peer']} {line['theirs']}: {line['code']}" for line in result["comparisons"]]
    out += [""]
    out += ["## Not compared", "", "| peer | metric | why |", "|---|---|---|"]
    out += [f"| {peer} | {metric} | {why} |" for peer, metric, why in result["not_compared"]]
    return "\n".join(out)


def _alike(case: str, comparisons: list[dict[str, Any]]) -> dict[tuple[str, ...], list[str]]:
    """Peer, our metric, both outcomes and the reason -> the peer's metrics that have all of them in
    common.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for line in comparisons:
        for edge in line["edges"]:
            if edge["case"] == case and edge["why"]:
                key = (line["peer"], line["ours"], edge["peer"], edge["ours"], edge["why"])
                alike.setdefault(key, []).append(line["theirs"])
    return alike


def _headline(comparisons: list[dict[str, Any]]) -> list[str]:
    """What becomes of the score when the judge answers for one claim of four, or for none."""
    out = [
        "",
        "## When verdicts are missing",
        "",
        "| peer | its metric | one yes for four | ours | none for four | ours |",
    ]
    out += ["|---|---|---:|---:|---:|---:|"]
    for line in comparisons:
        edges = {edge["case"]: edge for edge in line["edges"]}
        if (line["peer"], line["theirs"]) in HEADLINE:
            one, none = (
                edges[case] for case in (HEADLINE[line["peer"], line["theirs"]], "no_verdicts")
            )
            cells = [
                line["peer"],
                line["theirs"],
                one["peer"],
                one["ours"],
                none["peer"],
                none["ours"],
            ]
            out.append("| " + " | ".join(cells) + " |")
    return out


def as_record(line: Comparison) -> dict[str, Any]:
    """A line of the table as plain data."""
    pair, where = line.pair, line.pair.where
    return {
        "peer": pair.peer,
        "theirs": pair.theirs,
        "ours": pair.ours,
        "code": pair.code,
        "rows": line.rows,
        "equal": line.equal,
        "largest_difference": line.largest,
        "tolerance": pair.tolerance,
        "tolerance_why": pair.tolerance_why,
        "where": where.rows if where else "",
        "otherwise": where.otherwise if where else "",
        "other_rows": line.others,
        "other_rows_differ": line.others_differ,
        "other_rows_largest": line.others_largest,
        "edges_equal": sum(not edge["why"] for edge in line.edges),
        "edges_all": len(line.edges),
        "edges": line.edges,
        "unexplained": line.unexplained,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--peers", default=",".join(peer.name for peer in PEERS), help="which ones, by comma"
    )
    parser.add_argument(
        "--environments", type=Path, help="keep the environments in this folder and use them again"
    )
    options = parser.parse_args()
    chosen = [peer for peer in PEERS if peer.name in options.peers.split(",")]
    rows = all_rows()
    written = json.dumps(rows, indent=1)
    with tempfile.TemporaryDirectory(prefix="parity-") as temporary:
        folder = options.environments or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "rows.json").write_text(written, encoding="utf-8")
        found = {
            peer.name: peer_values(peer, folder.resolve(), folder.resolve() / "rows.json")
            for peer in chosen
        }
    pairs = [pair for pair in PAIRS if pair.peer in found and not found[pair.peer][2]]
    ours = {
        name: {row["id"]: measure(name, row) for row in rows}
        for name in {pair.ours for pair in pairs}
    }
    lines = [
        compare(pair, found[pair.peer][1][pair.theirs], ours[pair.ours], rows) for pair in pairs
    ]
    notes = {peer.name: f" ({peer.note})" if peer.note else "" for peer in chosen}
    result: dict[str, Any] = {
        "conditions": {
            "date": datetime.now(UTC).date().isoformat(),
            "ragassay": ragassay.__version__,
            **{name: f"{version or why}{notes[name]}" for name, (version, _, why) in found.items()},
            "python": platform.python_version(),
            "rows": (
                f"{RANDOM_ROWS} random (seed {SEED}), {len(rows) - RANDOM_ROWS} edge cases; "
                f"SHA-256 {hashlib.sha256(written.encode()).hexdigest()[:16]}"
            ),
            "command": "python benchmarks/parity/run.py",
        },
        "missing": {name: why for name, (_, _, why) in found.items() if why},
        "comparisons": [as_record(line) for line in lines],
        "not_compared": [list(row) for row in NOT_COMPARED],
    }
    text = markdown(result)
    print(text)
    if lines and len(chosen) == len(PEERS):  # a part of the table is no result
        RESULTS.mkdir(parents=True, exist_ok=True)
        (RESULTS / "parity.json").write_text(
            json.dumps(result, indent=1, sort_keys=True) + "\n", encoding="utf-8"
        )
        (RESULTS / "parity.md").write_text(text + "\n", encoding="utf-8")
    unexplained = [
        f"{line.pair.peer} {line.pair.theirs}: {what}"
        for line in lines
        for what in line.unexplained
    ]
    if unexplained:
        print(f"{len(unexplained)} unexplained:", *unexplained[:20], sep="\n", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
