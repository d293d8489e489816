"""X9: calls that kills of workers, kills of the command and stops cost over Ray."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

import ragassay
from ragassay.testing import ServerProcess
from support.faults import Clock
from support.invariants import canonical, check_ledger, check_run, ledger_of
from support.postgres import Postgres
from support.ray_runs import KEY, METRICS, make_rows

RUNS = {"commit": 5, "nightly": 25, "release": 100}
ROWS, CALLS_A_ROW, IN_FLIGHT, WORKERS = 600, 2, 16, 2
MOST_STOPS = 4
"""What happens to one run at most; after that it is left alone."""


@dataclass
class Tally:
    """What was done to the runs, and what it cost. lost: calls that may have been in flight."""

    stops: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    again: int = 0
    lost: int = 0
    over: int = 0


def measure(dose: str) -> dict[str, Any]:
    """Runs of 600 rows (1,200 calls) on two workers, into SQLite and PostgreSQL, with and without
    caps, killed and stopped at random moments, each resumed by an engine drawn at random until it
    has finished.
    """
    rng, tally = random.Random(1), Tally()
    clock = Clock()
    os.environ.update({KEY: "sk-test", "RAY_USAGE_STATS_ENABLED": "0"})
    with tempfile.TemporaryDirectory() as name, ServerProcess() as server, Postgres() as postgres:
        base = Path(name)
        rows = base / "rows.parquet"
        pq.write_table(pa.Table.from_pylist(make_rows(ROWS)), rows, row_group_size=50)
        undisturbed = base / "undisturbed.db"
        ragassay.evaluate(str(rows), METRICS, store=undisturbed, **_judge(server)).close()
        expected = canonical(undisturbed)
        while tally.runs < RUNS[dose] and not clock.over:
            folder = base / f"run-{tally.runs}"
            folder.mkdir()
            store = (
                str(folder / "store.db")
                if rng.random() < 2 / 3
                else postgres.url(postgres.database())
            )
            _one(rng, server, rows, store, folder, expected, tally)
    figures = {
        "runs": [tally.runs, f"{RUNS[dose]} at this dose"],
        **{f"stops: {what}": [count, ""] for what, count in sorted(tally.stops.items())},
        "calls sent again, all runs": [tally.again, f"<= {tally.lost} (in flight at kills)"],
        "runs with more calls sent again than were in flight": [tally.over, "0"],
    }
    return {
        "dose": (
            f"{tally.runs} runs of {ROWS} rows ({ROWS * CALLS_A_ROW:,} calls),"
            f" {sum(tally.stops.values())} stops"
        ),
        "figures": figures,
        "passed": tally.over == 0,
        "note": (
            "after each run: results to the byte those of a run that nothing happened to, the"
            " ledger against the server's bill, no file or folder left; half of the resumes began"
            " while the killed command's workers were still alive"
        ),
    }


def _judge(server: Any) -> dict[str, Any]:
    return {"judge": "openai:mock", "base_url": server.url, "price": "1,2", "api_key_env": KEY}


def _one(
    rng: random.Random,
    server: Any,
    rows: Path,
    store: str,
    folder: Path,
    expected: bytes,
    tally: Tally,
) -> None:
    """One run, disturbed until it has finished, and checked."""
    server.script(reset=True, latency=rng.choice([0.0, 0.02, 0.1]), faults=[], fault_rates={})
    options = _judge(server)
    command = [
        *(
            "evaluate",
            str(rows),
            "--metrics",
            METRICS,
            "--store",
            store,
            "--judge",
            options["judge"],
        ),
        *("--base-url", options["base_url"], "--api-key-env", KEY, "--price", options["price"]),
        *("--engine", "ray", "--workers", str(WORKERS), "--concurrency", str(IN_FLIGHT)),
        *(("--max-cost", "5", "--max-calls", "5000") if rng.random() < 0.3 else ()),
    ]
    lost = stops = 0
    code = 1
    while code != 0:
        process = subprocess.Popen(
            [sys.executable, "-m", "ragassay", *command],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        what = (
            rng.choice(["command killed", "worker killed", "Ctrl-C", "none"])
            if stops < MOST_STOPS
            else "none"
        )
        target = server.stats()["answers"] + rng.randint(1, ROWS)
        while what != "none" and process.poll() is None and server.stats()["answers"] < target:
            time.sleep(0.02)
        if process.poll() is None and what != "none":
            lost += _stop(rng, process, what)
            stops += 1
            tally.stops[what] += 1
        _, said = process.communicate(timeout=300)
        code = process.returncode
        assert code in (0, 130, -signal.SIGKILL), said.decode()[-1000:]
        command = ["resume", "last", "--store", store, "--engine", rng.choice(["ray", "local"])]
    check_run(store)
    assert canonical(store) == expected, (
        "I3: the results are not those of a run that nothing happened to"
    )
    books = server.stats()
    check_ledger(ledger_of(store), books)
    left = [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("store.db")
    ]
    left += folder.rglob("*.parts")
    assert not left, f"I7: {left}"
    tally.runs += 1
    tally.again += books["answered_twice"]
    tally.lost += lost
    tally.over += books["answered_twice"] > lost


def _stop(rng: random.Random, process: subprocess.Popen[bytes], what: str) -> int:
    """Do it; how many calls may have been in flight then."""
    if what == "Ctrl-C":
        process.send_signal(signal.SIGINT)
        return 0
    family: dict[psutil.Process, str] = {}
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                family[child] = "".join(child.cmdline())
    if what == "worker killed":
        workers = [child for child, line in family.items() if "ray::Worker" in line]
        with suppress(psutil.NoSuchProcess):
            if workers:
                rng.choice(workers).kill()
        return IN_FLIGHT // WORKERS
    process.kill()
    if rng.random() < 0.5:  # else it is resumed while they end
        psutil.wait_procs(
            [child for child, line in family.items() if "Agent" not in line], timeout=15
        )
    return IN_FLIGHT


IDS = {"X9": measure}
