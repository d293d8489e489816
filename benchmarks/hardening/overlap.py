"""What stays behind after many calls, and whether the order in which answers come shows in the
results (R21, R23).
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from support import leaks, orders

Dose = Literal["commit", "nightly", "release"]


def leak_hunt(dose: Dose) -> dict[str, Any]:
    """R21: 10,000 cancelled, 10,000 failing, 100,000 good calls, or as many of each as fit into
    seven minutes.
    """
    share = {"commit": 50, "nightly": 10, "release": 1}[dose]
    figures: dict[str, list[Any]] = {}
    passed, made = True, []
    kinds: tuple[tuple[leaks.Kind, int], ...] = (
        ("cancelled", 10_000),
        ("failing", 10_000),
        ("good", 100_000),
    )
    for kind, calls in kinds:
        with tempfile.TemporaryDirectory() as folder:
            rounds = 10 if dose == "release" else 5
            found = leaks.hunt(
                kind,
                rounds,
                max(64, calls // share // rounds),
                Path(folder),
                float(os.environ.get("DOSE_SECONDS", 450)),
            )
        made.append(f"{found.calls:,} {kind}")
        figures |= {
            f"{kind}: descriptors": [found.descriptors, "within 2"],
            f"{kind}: threads": [found.threads, "within 2"],
            f"{kind}: tasks": [found.tasks, "within 2"],
            f"{kind}: MB per 10,000 calls": [
                found.slope,
                "<= 1" if kind == "failing" and dose == "release" else "",
            ],
        }
        passed = passed and max(map(abs, (found.descriptors, found.threads, found.tasks))) <= 2
        # In a few hundred calls a block of the allocator is a slope of several MB: only the whole
        # dose says something.
        passed = passed and not (dose == "release" and kind == "failing" and found.slope > 1)
    return {"dose": f"{', '.join(made)} calls", "figures": figures, "passed": passed, "note": ""}


def determinism(dose: Dose) -> dict[str, Any]:
    """R23: recorded answers in another order each time, at 1, 8, 64 and 256 calls at once."""
    runs = {"commit": 5, "nightly": 50, "release": 200}[dose]
    seen: dict[str, set[str]] = {}
    with orders.server() as server, tempfile.TemporaryDirectory() as folder:
        for seed in range(runs):
            found = orders.prints(server, 40, (1, 8, 64, 256)[seed % 4], seed, Path(folder))
            for path in Path(folder).iterdir():
                path.unlink()
            for what, digest in found.items():
                seen.setdefault(what, set()).add(digest)
    figures: dict[str, list[Any]] = {
        f"different: {what}": [len(found), "1"] for what, found in seen.items()
    }
    return {
        "dose": (
            f"{runs} orders of completion at 1, 8, 64 and 256 calls at once, 40 rows x 8 metrics"
        ),
        "figures": figures,
        "passed": all(len(found) == 1 for found in seen.values()),
        "note": "",
    }


IDS = {"R21": leak_hunt, "R23": determinism}
