"""Runs on a machine with too little memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragassay.testing import ServerProcess
from support.faults import Clock, Victim, command, make_rows, settled, write_rows
from support.invariants import check_exit, check_ledger, check_run, ledger_of

STARVE = """
import resource
import ragassay.api
_page = resource.getpagesize()
_now = int(open("/proc/self/statm").read().split()[0]) * _page
resource.setrlimit(resource.RLIMIT_AS, (_now + {room} * 2**20, resource.RLIM_INFINITY))
"""
"""So many megabytes more than the loaded program has, and not one further."""


def starve(
    folder: Path, *, levels: list[int], size: int = 300_000, rows: int = 24
) -> dict[str, Any]:
    """Rows of a megabyte, many calls at once, so little memory; then a resume with enough of it and
    less at once.
    """
    large = [
        row | {"contexts": [row["contexts"][0] + " word" * (size // 5)]} for row in make_rows(rows)
    ]
    source = write_rows(folder / "large.jsonl", large)
    counts = {"levels": 0, "starved": 0, "crashed": 0, "enough": 0, "advised": 0}
    codes = list[int]()
    with ServerProcess(latency=0.05) as server:
        clock = Clock()
        for level in levels:
            if clock.over:
                break
            counts["levels"] += 1
            store = folder / f"memory-{level}.db"
            server.script(reset=True)
            arguments = command(source, server, store, "-m", "groundedness", concurrency=16)
            victim = Victim(*arguments, prelude=STARVE.format(room=level))
            code = victim.wait(500)
            codes.append(code)
            assert code in (0, 5, -6, -11), (
                f"exit code {code}: {victim.err}"
            )  # a signal is counted: see "crashed"
            if code == 0:
                counts["enough"] += 1
                check_run(store)
                continue
            counts["starved"] += 1
            counts["crashed"] += code < 0
            counts["advised"] += "E0509" in victim.err and "--concurrency" in victim.err
            begun = store.exists() and "ragassay resume" in victim.err
            victim = Victim(
                *(["resume", "--store", store, "--concurrency", 2] if begun else arguments)
            )
            check_exit(victim.wait(500), 0)
            check_run(store)
            check_ledger(ledger_of(store), settled(server))
    return {**counts, "codes": codes}
