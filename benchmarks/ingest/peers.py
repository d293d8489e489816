"""The same load of spans for `ragassay receive` and the servers of MLflow and Phoenix, one after
another, each ended by kill -9 at the end of its dose: what was acknowledged, and what of it is
stored.

    python benchmarks/ingest/peers.py --mlflow VENV --phoenix VENV [--seconds 60] [--pace 2000]

The two servers lie in virtual environments of their own. Requests are those of run.py. Writes
benchmarks/results/ingest-peers.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "tests")]

from benchmarks.ingest.run import RESULTS, SPANS, Export, identity, send

from support.receiver import Receiver


class Server:
    """Another server in a process of its own, on a free port."""

    def __init__(self, command: Sequence[str], folder: Path, port: int, ready: str) -> None:
        self.port = port
        self.headers = {"x-mlflow-experiment-id": "0"}
        environment = {
            **os.environ,
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(free_port()),
            "PHOENIX_WORKING_DIR": str(folder),
            "PHOENIX_TELEMETRY_ENABLED": "false",
            "MLFLOW_DISABLE_TELEMETRY": "true",
        }
        environment.pop("PYTHONPATH", None)
        self.process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + 180
        while time.monotonic() < until:
            try:
                if httpx.get(f"http://127.0.0.1:{port}{ready}").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.5)
        self.killed()
        raise SystemExit(f"{command[0]} does not get ready")

    def killed(self) -> None:
        """End it with all its processes, as kill -9 does."""
        for each in processes(self.process.pid):
            each.kill()
        self.process.wait()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def processes(pid: int) -> list[psutil.Process]:
    """A process and those it started."""
    process = psutil.Process(pid)
    return [*process.children(recursive=True), process]


def cpu_seconds(pid: int) -> float:
    """What they have used of the processors."""
    times = [each.cpu_times() for each in processes(pid)]
    return float(sum(each.user + each.system for each in times))


def stored_spans(folder: Path) -> int:
    """Rows of the table of spans in the database of a folder."""
    for path in folder.rglob("*.db"):
        connection = sqlite3.connect(path)
        try:
            return int(connection.execute("SELECT count(*) FROM spans").fetchone()[0])
        except sqlite3.OperationalError:
            continue
        finally:
            connection.close()
    raise SystemExit(f"no table of spans in {folder}")


def dose(server: Any, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One dose, the kill at its end, and what is stored then."""
    before = cpu_seconds(server.process.pid)
    load = os.getloadavg()[0]
    sent = send(server, Export(), seconds=options.seconds, pace=options.pace, connections=4)
    cpu = cpu_seconds(server.process.pid) - before
    rss = sum(each.memory_info().rss for each in processes(server.process.pid))
    if isinstance(server, Receiver):
        assert identity(server)[0]
    server.killed()
    acknowledged = len(sent.acknowledged) * SPANS
    stored = stored_spans(folder)
    return {
        "acknowledged spans": acknowledged,
        "acknowledged spans/s": round(sent.rate),
        "p50 ms": round(sent.quantile(0.5)),
        "p99 ms": round(sent.quantile(0.99)),
        "answers": dict(sent.statuses),
        "refusals without Retry-After": sent.without_retry,
        "stored after kill -9": stored,
        "acknowledged and lost": max(0, acknowledged - stored),
        "CPU us a span stored": round(1e6 * cpu / max(1, stored)),
        "RSS MB at the end": round(rss / 1e6),
        "load before": round(load, 1),
    }


def main() -> None:
    """Run the doses and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mlflow", type=Path)
    parser.add_argument("--phoenix", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pace", type=float, default=2_000)
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    folder = Path(tempfile.mkdtemp(prefix="ragassay-peers-"))
    with Receiver(folder) as receiver:
        results["ragassay receive"] = dose(receiver, folder, options)
    shutil.rmtree(folder)
    for name, venv in (("MLflow", options.mlflow), ("Phoenix", options.phoenix)):
        if venv is not None:
            results[name] = peer(name, venv, options)
    write(results, options)


def peer(name: str, venv: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The dose for one of the other servers."""
    folder = Path(tempfile.mkdtemp(prefix="ragassay-peers-"))
    port = free_port()
    commands: Mapping[str, tuple[list[str], str]] = {
        "MLflow": (
            [
                f"{venv}/bin/mlflow",
                "server",
                "--port",
                str(port),
                "--workers",
                "1",
                "--backend-store-uri",
                f"sqlite:///{folder}/mlflow.db",
            ],
            "/health",
        ),
        "Phoenix": ([f"{venv}/bin/phoenix", "serve"], "/healthz"),
    }
    server = Server(commands[name][0], folder, port, commands[name][1])
    try:
        figures = dose(server, folder, options)
        print(name, figures, flush=True)
        return figures
    finally:
        if server.process.poll() is None:
            server.killed()
        shutil.rmtree(folder, ignore_errors=True)


def write(results: Mapping[str, Mapping[str, Any]], options: argparse.Namespace) -> None:
    """The results as a table, one column a server."""
    lines = [
        "# Spans received beside other servers",
        "",
        f"`python benchmarks/ingest/peers.py --mlflow VENV --phoenix VENV --seconds"
        f" {options.seconds:g} --pace {options.pace:g}`, {os.cpu_count()} cores shared by sender"
        " and server, SQLite, 512 spans of 2 KB a request, gzip, 4 connections; the same load for"
        " each, one after another in one run, each killed at the end of its dose. Other work ran"
        " on the machine (`load before`), so compare the columns and not the figures with others.",
        "",
        "| figure | " + " | ".join(results) + " |",
        "|---|" + "---|" * len(results),
    ]
    for figure in next(iter(results.values())):
        values = [str(each[figure]) for each in results.values()]
        lines.append(f"| {figure} | " + " | ".join(values) + " |")
    (RESULTS / "ingest-peers.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
