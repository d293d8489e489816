"""R22, R25, R26: spending under a cap, through faults, kills and bills that do not come; a resume
that has to finish under it; two commands that share what they buy.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from support.money import capped_runs, kills_under_a_cap
from support.two_commands import both_to_the_end, first_ends


def budgets(dose: str) -> dict[str, Any]:
    """R22."""
    times = {"commit": 20, "nightly": 200, "release": 1000}[dose]
    with tempfile.TemporaryDirectory() as name:
        found = capped_runs(Path(name), times=times, seed=1)
    figures = {
        "times the bill passed the cap": [found["over"], "0"],
        "largest bill of a capped run, share of its cap": [found["closest"], "<= 1"],
        "kills": [found["kills"], ""],
        "runs that a cap stopped (exit 4)": [found["capped"], ""],
        "runs that finished under it (exit 0)": [found["finished"], ""],
    }
    note = (
        "confirmed <= bill <= confirmed + uncertain <= cap held in exact decimals after every run"
    )
    return {
        "dose": f"{found['runs']} runs",
        "figures": figures,
        "passed": found["over"] == 0,
        "note": note,
    }


def resumes(dose: str) -> dict[str, Any]:
    """R25."""
    times = {"commit": 10, "nightly": 100, "release": 1000}[dose]
    with tempfile.TemporaryDirectory() as name:
        found = kills_under_a_cap(Path(name), times=times, seed=1)
    figures = {
        "resumes that finished, of those whose bill fits": [found["finished"], f"{found['runs']}"],
        "kills": [found["kills"], ""],
        "times the bill passed the cap": [found["over"], "0"],
        "most held as uncertain, of what was in flight": [found["uncertain"], "<= 1.5"],
        "times it was less than that": [found["missed"], "<= 1 %"],
    }
    passed = (
        found["finished"] == found["runs"]
        and found["over"] == 0
        and found["uncertain"] <= 1.5
        and found["missed"] <= 0.01 * found["runs"]
    )
    note = (
        "caps of 1.4 to 2.5 times the bill of the whole run, 32 calls at once, a kill at a random"
        " call; in flight: what the server had been asked and the client had no answer to"
    )
    return {"dose": f"{found['runs']} runs", "figures": figures, "passed": passed, "note": note}


def purchases(dose: str) -> dict[str, Any]:
    """R26."""
    rows = {"commit": 100, "nightly": 300, "release": 1000}[dose]
    shares = []
    again: dict[str, int] = {}
    for apart in (0.0, 0.5, 1.5):
        with tempfile.TemporaryDirectory() as name:
            found = both_to_the_end(Path(name), rows=rows, apart=apart)
        shares.append(found["purchases"])
    for how in ("killed", "stopped", "capped", "suspended"):
        with tempfile.TemporaryDirectory() as name:
            again[how] = first_ends(Path(name), how)["bought_again"]
    figures: dict[str, Any] = {
        "purchases a question, two commands at once": [max(shares), "<= 1.02"]
    }
    for how, answers in again.items():
        figures[f"answers bought again where the first was {how}"] = [answers, "<= 16"]
    return {
        "dose": f"{len(shares)} pairs of {rows} rows, {len(again)} of which one ends early",
        "figures": figures,
        "passed": max(shares) <= 1.02 and max(again.values()) <= 16,
        "note": "started together, 0.5 s and 1.5 s apart",
    }


IDS = {"R22": budgets, "R25": resumes, "R26": purchases}
