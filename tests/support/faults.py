"""What can befall a run, as functions with a dose: shared by the tests (small doses) and benchmarks/hardening (large).

A run is a process of its own (`Victim`) against a scripted server of its own (`ServerProcess`), so that it can be killed,
starved and robbed of its disk. Each scenario returns figures and raises AssertionError where an invariant is broken.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragassay.store import Store
from support.invariants import CANARIES, check_output
from support.llm_server import ServerProcess

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


PRELOAD = ("ragassay.cli.app", "ragassay.api", "ragassay.planning", "ragassay.models.offline", "ragassay.report")
"""What every process begins with, loaded once: a process is then there in a few hundredths of a second."""


class Victim:
    """`ragassay ...` in a process of its own, forked from one that has loaded the package and runs no thread.

    prelude: Python run in it before the command, such as a limit on memory. The key is a canary (I6).
    """

    def __init__(self, *arguments: object, prelude: str = "", cwd: Path | None = None, **environment: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="victim")
        streams = [str(Path(self._folder.name) / name) for name in ("out", "err")]
        for stream in streams:
            Path(stream).touch()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOAD))
        words = list(map(str, arguments))
        self.process = context.Process(target=_live, args=(words, prelude, str(cwd or ""), environment, streams))
        self.process.start()
        assert self.process.pid is not None
        self.pid = self.process.pid
        self.out = self.err = ""

    def over(self) -> bool:
        """Whether it has ended."""
        return not self.process.is_alive()

    def wait(self, timeout: float = 60.0) -> int:
        """Its exit code; I6 holds of what it printed."""
        self.process.join(timeout)
        code = self.process.exitcode
        if code is None:
            self.kill()
            self.process.join()
        self.out, self.err = (
            (Path(self._folder.name) / name).read_text(encoding="utf-8", errors="replace") for name in ("out", "err")
        )
        self._folder.cleanup()
        self.process.close()
        assert code is not None, f"it ran for more than {timeout:.0f} s: {self.err[-1000:]}"
        check_output(self.out + self.err)
        return code

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal, if it still runs."""
        if not self.over():
            os.kill(self.pid, number)


def _live(arguments: list[str], prelude: str, cwd: str, environment: dict[str, str], streams: list[str]) -> None:
    """What the forked process does: the command line, as the installed command runs it."""
    for number, path in zip((1, 2), streams, strict=True):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = open(1, "w", encoding="utf-8"), open(2, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
    for name in [n for n in os.environ if n.startswith(("OPENAI", "RAGASSAY", "CI"))]:
        del os.environ[name]
    os.environ |= {"OPENAI_API_KEY": CANARIES[0], "COLUMNS": "200"} | environment
    for kind in (signal.SIGINT, signal.SIGTERM):  # the fork server ignores Ctrl-C, and children inherit that
        signal.signal(kind, signal.default_int_handler if kind == signal.SIGINT else signal.SIG_DFL)
    if cwd:
        os.chdir(cwd)
    sys.argv = ["ragassay", *arguments]
    exec(prelude, {})
    from ragassay.cli import main

    code = 1
    try:
        main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    sys.exit(code)


def command(rows: Path, server: ServerProcess, store: Path, *more: object, concurrency: int = 8) -> list[object]:
    """`evaluate` with the judge behind the scripted server, at its own price."""
    judge = ("--judge", "openai:mock", "--base-url", server.url, "--price", "1,2")
    return ["evaluate", rows, *judge, "--store", store, "--concurrency", concurrency, *more]


def until(ready: Callable[[], bool], process: Victim | None = None, patience: float = 30.0) -> bool:
    """Wait until it is so; False where the process ended before."""
    end = time.monotonic() + patience
    while not ready():
        if process is not None and process.over():
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
