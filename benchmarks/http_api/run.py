"""What a judgment over HTTP adds to the same call in Python, and what Schemathesis finds:
`python benchmarks/http_api/run.py [--examples N]` writes benchmarks/results/http_api.md.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

import ragassay
from ragassay.store import Store
from ragassay.web import Server, WebSettings, start_server

RESULT = ROOT / "benchmarks" / "results" / "http_api.md"
CALLS = 300
ROW = {
    "contexts": ["The bridge was opened in 1937 and is painted red. Tickets cost two dollars."],
    "response": "The bridge was opened in 1937.",
    "reference": "It was opened in 1937.",
}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=0, help="of Schemathesis, an operation")
    examples = parser.parse_args().examples
    load = os.getloadavg()[0]
    lines = [
        "# The HTTP API",
        "",
        f"`python benchmarks/http_api/run.py --examples {examples}`, Python"
        f" {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores, load"
        f" {load:.0f} when it began.",
        "",
        *overhead(),
    ]
    if examples:
        lines += ["", *any_request(examples)]
    text = "\n".join(lines) + "\n"
    print(text)
    RESULT.write_text(text, encoding="utf-8")


def overhead() -> list[str]:
    """The table of the times of one judgment, asked anew in turn: Python, HTTP, Python, HTTP ..."""
    with Store.open(Path(tempfile.mkdtemp()) / "runs.db") as store:
        server = start_server(store, WebSettings())
        thread = server.start()
        lines = [
            f"One row judged {CALLS} times in Python and over HTTP in turn, on a connection that"
            " stays open; milliseconds.",
            "",
            "| metric | what the store knows | Python | HTTP | added: median | 95th percentile |",
            "|---|---|---:|---:|---:|---:|",
        ]
        try:
            for metric, cached in (
                ("groundedness", True),
                ("groundedness", False),
                ("token_f1", True),
            ):
                lines.append(_pair(server, store, metric, cached))
        finally:
            server.stop()
            thread.join(20)
    return lines


def _pair(server: Server, store: Store, metric: str, cached: bool) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {
        "Authorization": f"Bearer {server.settings.token}",
        "Content-Type": "application/json",
    }
    body = json.dumps({"row": ROW, "cache": cached})

    def over_http() -> None:
        connection.request("POST", f"/api/v1/judge/{metric}", body, headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content

    def in_python() -> None:
        ragassay.judge.score(metric, **ROW, cache=cached, store=store.location)

    own, other = [], []
    for _ in range(10):
        in_python()
        over_http()
    for _ in range(CALLS):
        own.append(_seconds(in_python))
        other.append(_seconds(over_http))
    connection.close()
    added = sorted(1000 * (b - a) for a, b in zip(own, other, strict=True))
    known = "the judgment" if cached else "nothing"
    return (
        f"| {metric} | {known} | {1000 * statistics.median(own):.2f} |"
        f" {1000 * statistics.median(other):.2f} |"
        f" {statistics.median(added):.2f} | {added[int(0.95 * len(added))]:.2f} |"
    )


def _seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def any_request(examples: int) -> list[str]:
    """What came of requests that Schemathesis made up, with all of its checks."""
    from report.conftest import Maker
    from web.api.test_any_request import checked
    from web.conftest import mixed_rows, save

    make = Maker()
    start = time.perf_counter()
    with Store.open(Path(tempfile.mkdtemp()) / "runs.db") as store:
        save(store, mixed_rows(make), name="before")
        save(store, mixed_rows(make), "run2", name="after", created="2026-11-21T09:00:00Z")
        phases = ["examples", "coverage", "fuzzing", "stateful"]
        failures, statuses = checked(store, examples, phases)
        assert store.check() == ()
    seconds = time.perf_counter() - start
    faults = sum(count for status, count in statuses.items() if status >= 500)
    answered = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    return [
        f"Schemathesis, {examples} examples an operation, all phases (examples, coverage, fuzzing,"
        f" stateful), in {seconds:,.0f} s:",
        "",
        f"- requests: {statuses.total():,} ({answered})",
        f"- failures: {len(failures)}; answers with 5xx: {faults}",
        "- afterwards the store is sound",
        *(f"- {failure.splitlines()[0]}" for failure in failures[:20]),
    ]


if __name__ == "__main__":
    main()
