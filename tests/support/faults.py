"""What can befall a run, as functions with a dose: shared by the tests (small doses) and
benchmarks/hardening (large).

A run is a process of its own (`Victim`) against a scripted server of its own (`ServerProcess`), so
that it can be killed, starved and robbed of its disk. Each scenario returns figures and raises
AssertionError where an invariant is broken.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import ragassay
from ragassay.core import RagAssayError
from ragassay.judges import RubricRegistry
from ragassay.store import Store
from ragassay.testing import ServerProcess
from support.invariants import CANARIES, check_output

COLOURS = ("red", "blue", "green", "white", "black", "yellow", "brown", "grey")


def make_rows(count: int, tag: str = "") -> list[dict[str, Any]]:
    """Rows no two of which ask anything alike: three calls each with the default metrics."""
    return [
        {
            "id": f"row-{number:05}",
            "question": f"What colour is bridge {tag}{number}?",
            "contexts": [
                f"Bridge {tag}{number} is {COLOURS[number % 8]} and was built in"
                f" {1800 + number % 200}."
            ],
            "response": f"Bridge {tag}{number} is {COLOURS[(number + number % 3) % 8]}.",
        }
        for number in range(count)
    ]


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The rows as JSONL."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


class Victim:
    """`ragassay ...` in a process of its own, forked from one that has loaded the package and runs
    no thread.

    prelude: Python run in it before the command, such as a limit on memory. The key is a canary
    (I6).
    """

    def __init__(
        self, *arguments: object, prelude: str = "", cwd: Path | None = None, **environment: str
    ) -> None:
        self._at = Path(tempfile.mkdtemp(prefix="victim"))
        order = {
            "arguments": list(map(str, arguments)),
            "prelude": prelude,
            "cwd": str(cwd or os.getcwd()),
            "environment": environment,
            "folder": str(self._at),
        }
        self.pid = nursery.bear(order)
        self.out = self.err = ""

    def over(self) -> bool:
        """Whether it has ended."""
        return (self._at / "code").exists()

    def wait(self, timeout: float = 300.0) -> int:
        """Its exit code, the negative number of the signal that ended it; I6 holds of what it
        printed.
        """
        end = time.monotonic() + timeout
        while not self.over():
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(
                    f"it ran for more than {timeout:.0f} s:"
                    f" {(self._at / 'err').read_text()[-1000:]}"
                )
            time.sleep(0.005)
        code = int((self._at / "code").read_text())
        self.out, self.err = (
            (self._at / name).read_text(encoding="utf-8", errors="replace")
            for name in ("out", "err")
        )
        shutil.rmtree(self._at)
        check_output(self.out + self.err)
        return code

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal, if it still runs."""
        if not self.over():
            os.kill(self.pid, number)


LOADED = (
    "ragassay.cli.app",
    "ragassay.api",
    "ragassay.runs.plan",
    "ragassay.runs.session",
    "ragassay.dispatch",
    "ragassay.runs",
    "ragassay.judges",
    "ragassay.report",
    "ragassay.models.offline",
    "ragassay.models.chat_model",
    "ragassay.diagnosis",
    "ragassay.datasets",
    "ragassay.store.store",
    "ragassay.runs.trust",
    "numpy",
    "rich.live",
    "rich.table",
    "rich.text",
    "sentencex",
    "yaml",
)
"""What a victim need not load: a command is then at work in a few hundredths of a second."""


class Nursery:
    """The process that victims are forked from; started when first needed, ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def bear(self, order: dict[str, Any]) -> int:
        """Fork a victim; its pid."""
        if self._process is None:
            tests, source = (
                Path(__file__).resolve().parents[1],
                Path(ragassay.__file__).resolve().parents[1],
            )
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": f"{source}:{tests}", "OPENBLAS_NUM_THREADS": "1"},
            )
            atexit.register(self.close)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(120)
            self._process.stdout.close()
            self._process = None


nursery = Nursery()


def _serve() -> None:
    """The nursery's own loop: an order a line; a child's exit code goes into its folder's file."""
    for name in LOADED:
        importlib.import_module(name)
    RubricRegistry.default()
    folders: dict[int, Path] = {}
    wake, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stream = sys.stdin.buffer.raw  # type: ignore[union-attr]
    kept = b""
    while True:
        ready, _, _ = select.select([wake, stream], [], [])
        if stream in ready:
            read = os.read(stream.fileno(), 1 << 20)
            if not read:
                return
            *lines, kept = (kept + read).split(b"\n")
            for line in lines:
                order = json.loads(line)
                if (pid := os.fork()) == 0:
                    os.close(wake)
                    signal.set_wakeup_fd(-1)
                    _live(order)
                folders[pid] = Path(order["folder"])
                os.write(1, f"{pid}\n".encode())
        if wake in ready:
            os.read(wake, 4096)
        while folders:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            folder = folders.pop(pid)
            if folder.exists():
                (folder / "code.new").write_text(str(os.waitstatus_to_exitcode(status)))
                (folder / "code.new").rename(folder / "code")


def _live(order: dict[str, Any]) -> NoReturn:
    """What the forked process does: the command line, as the installed command runs it."""
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(
            os.open(Path(order["folder"]) / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
            number,
        )
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = (
        open(1, "w", encoding="utf-8"),  # noqa: SIM115
        open(2, "w", encoding="utf-8", buffering=1),  # noqa: SIM115
    )
    for name in [n for n in os.environ if n.startswith(("OPENAI", "RAGASSAY", "CI"))]:
        del os.environ[name]
    os.environ |= {"OPENAI_API_KEY": CANARIES[0], "COLUMNS": "200", **order["environment"]}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(order["cwd"])
    sys.argv = ["ragassay", *order["arguments"]]
    code = 1
    try:
        exec(order["prelude"], {})
        from ragassay.cli import main

        main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 0 if left.code is None else 1
    except BaseException:
        traceback.print_exc()
    with suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def command(
    rows: Path, server: ServerProcess, store: Path, *more: object, concurrency: int = 8
) -> list[object]:
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


def wait_for_a_call(
    server: ServerProcess, sent: int, process: Victim, patience: float = 60.0
) -> bool:
    """Wait until the server has got more than so many calls; False if the process ended before."""
    return until(lambda: server.stats()["calls"] > sent, process, patience)


def settled(server: ServerProcess) -> dict[str, Any]:
    """The server's books once nothing is in flight there."""
    until(lambda: server.stats()["in_flight"] == 0)
    return server.stats()


def refused(act: Callable[[], object]) -> RagAssayError | None:
    """The error that it ends with, None where it does not."""
    try:
        act()
    except RagAssayError as error:
        return error
    return None


class Clock:
    """How long a dose may take: DOSE_SECONDS of the environment, for ever where it says nothing."""

    def __init__(self) -> None:
        self._end = time.monotonic() + float(os.environ.get("DOSE_SECONDS") or "inf")

    @property
    def over(self) -> bool:
        """Whether the time is up: what was reached by then is the dose."""
        return time.monotonic() > self._end


def dice(seed: int) -> random.Random:
    """Chance that can be repeated."""
    return random.Random(seed)


def resume_with_done_rows(folder: Path, count: int, *, open_rows: int = 4) -> float:
    """Seconds from the start of `ragassay resume` to its first call, with so many rows done and a
    few not.
    """
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


if __name__ == "__main__":
    _serve()
