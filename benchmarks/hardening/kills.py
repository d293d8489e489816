"""R01: calls that a `kill -9` at any moment costs, and the time until a resume works."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from support.faults import resume_with_done_rows
from support.kills import kill_runs

KILLS = {"commit": 10, "nightly": 100, "release": 1000}
READY_ROWS = {"commit": 10_000, "nightly": 100_000, "release": 100_000}
IN_FLIGHT = 8


def measure(dose: str) -> dict[str, Any]:
    """Kills of runs with 2,000 rows (6,000 calls; 100 rows per commit), each run resumed until it
    has finished.
    """
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        rows = 100 if dose == "commit" else 2000
        found = kill_runs(
            Path(name), rows=rows, kills=KILLS[dose], concurrency=IN_FLIGHT, latency=0.01, seed=1
        )
    killing = time.monotonic() - begun
    with tempfile.TemporaryDirectory() as name:
        ready = resume_with_done_rows(Path(name), READY_ROWS[dose])
    figures = {
        "kills": [found["kills"], f"{KILLS[dose]} at this dose"],
        "calls sent again for the worst kill": [
            found["resent_worst"],
            f"<= {IN_FLIGHT} (in flight)",
        ],
        "calls sent again a kill, on average": [found["resent_per_kill"], f"<= {IN_FLIGHT}"],
        "sent again though the reply had arrived": [found["arrived_and_resent"], "0"],
        f"resume to its first call, {READY_ROWS[dose]:,} rows done, s": [ready, "<= 2"],
    }
    passed = (
        max(found["resent_worst"], found["resent_per_kill"]) <= IN_FLIGHT
        and found["arrived_and_resent"] == 0
        and ready <= 2
    )
    dosage = (
        f"{found['kills']} kills over {found['runs']} runs of {rows} rows ({found['calls_per_run']}"
        " calls)"
    )
    note = (
        "about one kill in four inside a commit, before or after rows, judgments or the end are"
        f" written; {killing:.0f} s; a reply has arrived when the client has read its last byte,"
        " seen below the product's own log"
    )
    return {"dose": dosage, "figures": figures, "passed": passed, "note": note}


IDS = {"R01": measure}
