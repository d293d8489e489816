"""What can befall a run, as functions with a dose: shared by the tests (small doses) and benchmarks/hardening (large).

A run is a process of its own (`Victim`) against a scripted server of its own (`ServerProcess`), so that it can be killed,
starved and robbed of its disk. Each scenario returns figures and raises AssertionError where an invariant is broken.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragassay.store import Store
from support.invariants import CANARIES, check_output
from support.llm_server import ServerProcess

ROOT = Path(__file__).resolve().parents[2]
COLOURS = ("red", "blue", "green", "white", "black", "yellow", "brown", "grey")


def make_rows(count: int, tag: str = "") -> list[dict[str, Any]]:
    """Rows no two of which ask anything alike: three calls each with the default metrics."""
    return [
        {
            "id": f"row-{number:05}",
            "question": f"What colour is bridge {tag}{number}?",
            "contexts": [f"Bridge {tag}{number} is {COLOURS[number % 8]} and was built in {1800 + number % 200}."],
            "response": f"Bridge {tag}{number} is {COLOURS[(number + number % 3) % 8]}.",
        }
        for number in range(count)
    ]


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


class Victim:
    """`ragassay ...` in a process of its own.

    prelude: Python run in it before the command, such as a limit on memory. The key is a canary (I6).
    """

    def __init__(self, *arguments: object, prelude: str = "", cwd: Path | None = None, **environment: str) -> None:
        program = f"{prelude}\nimport sys\nfrom ragassay.cli import main\nsys.exit(main())"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("OPENAI", "RAGASSAY", "CI"))}
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
            env=clean | {"OPENAI_API_KEY": CANARIES[0], "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "200"} | environment,
            # A shell that runs the tests in the background has Ctrl-C ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        self.out = self.err = ""

    def wait(self, timeout: float = 60.0) -> int:
        """Its exit code; I6 holds of what it printed."""
        self.out, self.err = self.process.communicate(timeout=timeout)
        check_output(self.out + self.err)
        return int(self.process.returncode)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal, if it still runs."""
        if self.process.poll() is None:
            self.process.send_signal(number)


def command(rows: Path, server: ServerProcess, store: Path, *more: object, concurrency: int = 8) -> list[object]:
    """`evaluate` with the judge behind the scripted server, at its own price."""
    judge = ("--judge", "openai:mock", "--base-url", server.url, "--price", "1,2")
    return ["evaluate", rows, *judge, "--store", store, "--concurrency", concurrency, *more]


def until(ready: Callable[[], bool], process: Victim | None = None, patience: float = 30.0) -> bool:
    """Wait until it is so; False where the process ended before."""
    end = time.monotonic() + patience
    while not ready():
        if process is not None and process.process.poll() is not None:
            return False
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.005)
    return True


def wait_for_a_call(server: ServerProcess, sent: int, process: Victim, patience: float = 60.0) -> bool:
    """Wait until the server has got more than so many calls; False where the process ended before."""
    return until(lambda: server.stats()["calls"] > sent, process, patience)


def settled(server: ServerProcess) -> dict[str, Any]:
    """The server's books once nothing is in flight there."""
    until(lambda: server.stats()["in_flight"] == 0)
    return server.stats()


def dice(seed: int) -> random.Random:
    """Chance that can be repeated."""
    return random.Random(seed)


def resume_with_done_rows(folder: Path, count: int, *, open_rows: int = 4) -> float:
    """Seconds from the start of `ragassay resume` to its first call, with so many rows done and a few not."""
    source = write_rows(folder / "many.jsonl", make_rows(count + open_rows))
    store = folder / "many.db"
    with ServerProcess(latency=0.01) as server:
        victim = Victim(*command(source, server, store, "-m", "answer_relevance", concurrency=1))
        until(lambda: server.stats()["calls"] > 2, victim, patience=120)
        victim.kill(signal.SIGTERM)
        victim.wait()
        with Store.open(store) as held:
            run_id = held.resolve("last")
            done = next(held.rows(run_id))
            assert done.sample is not None
            known = held.done(run_id)
            for start in range(0, count, 2000):
                held.put_rows(
                    run_id,
                    [
                        replace(done, index=i, sample=replace(done.sample, id=f"row-{i:05}"))
                        for i in range(start, min(start + 2000, count))
                        if i not in known
                    ],
                )
        sent = server.stats()["calls"]
        begun = time.monotonic()
        victim = Victim("resume", "--store", store)
        assert wait_for_a_call(server, sent, victim), victim.wait()
        ready = time.monotonic() - begun
        victim.kill()
        victim.wait()
    return ready
