"""R03, R04, R17, F4: full, forbidden and vanished disks; torn and rotten files."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from support.disks import bad_places, full_before_the_first_call, full_disk
from support.rot import cut_journal, rot, rotten_journal

IN_FLIGHT = 8


def disks(dose: str) -> dict[str, Any]:
    """R03."""
    times = {"commit": 5, "nightly": 50, "release": 250}[dose]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found, none = (
            full_disk(folder, times=times, in_flight=IN_FLIGHT),
            full_before_the_first_call(folder),
        )
    figures = {
        "calls sent after the first failed write, worst": [
            found["sent_after_failure"],
            f"<= {IN_FLIGHT} (in flight)",
        ],
        "paid calls where the disk was full before": [none["calls"], "0"],
    }
    passed = found["sent_after_failure"] <= IN_FLIGHT and none["calls"] == 0
    note = (
        f"{found['file_systems']} times a small file system, else a limit on files; each was"
        " resumed and had the results of a run with room"
    )
    return {"dose": f"{found['times']} points", "figures": figures, "passed": passed, "note": note}


def places(dose: str) -> dict[str, Any]:
    """R04."""
    with tempfile.TemporaryDirectory() as name:
        found = bad_places(Path(name))
    figures = {"places as they must be": [len(found), "all"]}
    return {
        "dose": "all",
        "figures": figures,
        "passed": True,
        "note": "; ".join(f"{k}: {v}" for k, v in found.items()),
    }


def torn(dose: str) -> dict[str, Any]:
    """R17."""
    cuts, flips = {"commit": (1000, 1000), "nightly": (0, 20_000), "release": (0, 100_000)}[dose]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cut = cut_journal(folder, times=cuts)
        journal = rotten_journal(folder, times=max(200, flips // 20))
        found = rot(folder, times=flips, kinds=("bit", "bit", "bit", "zero", "swap"))
    return _rot(
        f"{cut['cuts']} cuts, {journal['flips']} bits of a journal, {found['done']} damages of a"
        " file (3 in 5 a bit)",
        found,
        {
            "cuts that gave not exactly what was committed": [cut["wrong"], "0"],
            "bits of a journal that gave no prefix": [journal["wrong"], "0"],
        },
    )


def mutated(dose: str) -> dict[str, Any]:
    """F4."""
    seconds = {"commit": 20, "nightly": 600, "release": 1200}[dose]
    with tempfile.TemporaryDirectory() as name:
        found = rot(Path(name), times=10**9, seconds=seconds, seed=4)
    return _rot(f"{found['done']} mutations", found, {})


def _rot(dose: str, found: dict[str, Any], figures: dict[str, list[Any]]) -> dict[str, Any]:
    figures |= {
        "damages that were said": [found["said"], ""],
        "damages that changed nothing shown": [found["harmless"], ""],
        "wrong values shown": [found["wrong"], "0"],
        "errors that are not ours": [found["untyped"], "0"],
    }
    wrong = [value for value, mark in figures.values() if mark == "0" and value]
    return {
        "dose": dose,
        "figures": figures,
        "passed": not wrong,
        "note": "; ".join(found["problems"][:5]),
    }


IDS = {"R03": disks, "R04": places, "R17": torn, "F4": mutated}
