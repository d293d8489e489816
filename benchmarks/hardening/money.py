"""R22: spending under a cap, through faults, kills and bills that do not come."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from support.money import capped_runs


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


IDS = {"R22": budgets}
