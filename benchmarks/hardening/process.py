"""R02, R10, R11, R18: signals, wrong clocks, crowds on one store, too little memory."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from support.clocks import under_wrong_clocks
from support.crowds import eight_runs, left_behind, twice
from support.memory import starve
from support.stops import stop_once, stop_twice


def signals(dose: str) -> dict[str, Any]:
    """R02."""
    times = {"commit": 10, "nightly": 100, "release": 500}[dose]
    with tempfile.TemporaryDirectory() as name:
        once = stop_once(Path(name), times=times - times // 3)
        two = stop_twice(Path(name), times=times // 3)
    figures = {
        "calls later than 100 ms after the signal": [once["late_calls"], "0"],
        "slowest clean stop, s": [once["slowest"], "<= 5"],
        "slowest end after a second signal, s": [two["slowest"], "<= 0.3"],
    }
    passed = once["late_calls"] == 0 and once["slowest"] <= 5 and two["slowest"] <= 0.3
    note = (
        "exit 130 each time; each printed command was run, and ended with the results of a run"
        " nobody stopped"
    )
    return {
        "dose": f"{once['stops']} single stops, {two['stops']} double ones",
        "figures": figures,
        "passed": passed,
        "note": note,
    }


def clocks(dose: str) -> dict[str, Any]:
    """R10."""
    times = {"commit": 10, "nightly": 50, "release": 50}[dose]
    with tempfile.TemporaryDirectory() as name:
        found = under_wrong_clocks(Path(name), times=times)
    figures = {
        "ids out of order": [int(not found["in_order"]), "0"],
        "negative or too long durations": [found["negative"], "0"],
        "slowest run, whose server asks to wait for 1.3 s, s": [found["slowest"], "<= 10"],
    }
    passed = found["in_order"] and found["negative"] == 0 and found["slowest"] <= 10
    note = (
        "ten clocks: an hour off either way, backwards, frozen, jumping at every look, leap second,"
        " DST, 1970, 2100, fast"
    )
    return {"dose": f"{times} runs", "figures": figures, "passed": passed, "note": note}


def crowds(dose: str) -> dict[str, Any]:
    """R11."""
    times, rows = {"commit": (5, 100), "nightly": (50, 1000), "release": (200, 1000)}[dose]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a").mkdir()
        second, locks = twice(folder, times=times), left_behind(folder / "a")
        crowd = eight_runs(folder, rows=rows)
    figures = {
        "slowest refusal of a second start, s": [second["refusal"], "<= 1"],
        "slowest take-over after a kill, s": [second["takeover"], "<= 2"],
        f"rows lost or doubled of 8 x {rows}": [crowd["lost"], "0"],
        "runs with other results than alone": [crowd["wrong"], "0"],
    }
    passed = (
        second["refusal"] <= 1 and second["takeover"] <= 2 and crowd["lost"] == crowd["wrong"] == 0
    )
    note = "; ".join(f"a lock when {name}: {what}" for name, what in locks.items())
    return {
        "dose": f"{second['times']} second starts, 8 runs of {rows} rows",
        "figures": figures,
        "passed": passed,
        "note": note,
    }


def memory(dose: str) -> dict[str, Any]:
    """R18."""
    count = {"commit": 3, "nightly": 20, "release": 60}[dose]
    with tempfile.TemporaryDirectory() as name:
        found = starve(Path(name), levels=[60 + 600 * i // count for i in range(count)])
    figures = {
        "starved runs": [found["starved"], ">= 1"],
        "of which said what to lower": [found["advised"], "all"],
        "of which ended in code that is not ours, by a signal": [found["crashed"], "0"],
    }
    passed = found["starved"] >= 1 and found["advised"] == found["starved"] and not found["crashed"]
    note = "every run was resumed with enough memory and finished"
    return {
        "dose": f"{found['levels']} limits of address space",
        "figures": figures,
        "passed": passed,
        "note": note,
    }


IDS = {"R02": signals, "R10": clocks, "R11": crowds, "R18": memory}
