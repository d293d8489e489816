"""How near does a run over an LLM judge come to what its server allows, and what does it cost of our own CPU?

    python benchmarks/engine/run.py [--rows 400] [--latency 0.2] [--in-flight 32] [--rounds 5]

A local server in a process of its own answers every call after a fixed time. `ragassay.evaluate` and a bare aiohttp
client that sends the very same requests take turns, each round in a fresh process. Bound: in flight / latency calls a
second. CPU: user + system time of the client's process, all threads, from before the first row is read until the Run
is there (reading, prompts, parsing, store and summary included; nothing is subtracted). Start-up, that is imports and a
first run over one row, is measured apart for either client. Medians over the rounds.
Writes benchmarks/results/engine.json and engine.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
FIRST = "Which row is the first of all?"
GOAL_SHARE, GOAL_CPU_MS = 0.90, 1.5

sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "src"))

TEXT = """river bridge council harbour engine winter letter market village teacher signal copper forest lantern archive
garden captain museum station theatre orchard factory island railway painter chapel district festival reservoir"""
WORDS = TEXT.split()


def make_rows(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """Rows of 4 contexts of 100 words and a response of 4 claims (sentences), no two alike."""
    dice = random.Random(seed)
    for number in range(count):
        contexts = []
        for place in range(4):
            words = [dice.choice(WORDS) for _ in range(100)]
            words[0] = f"Record {number} part {place}"
            contexts.append(" ".join(words) + ".")
        claims = [
            f"The {dice.choice(WORDS)} of {number} met the {dice.choice(WORDS)} in {1900 + dice.randrange(99)}."
            for _ in range(4)
        ]
        yield {
            "id": f"row-{number}",
            "question": f"What did record {number} say of the {dice.choice(WORDS)}?",
            "contexts": contexts,
            "response": " ".join(claims),
        }


def cpu_seconds() -> float:
    """User and system time of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def drive_own(url: str, rows: Path, in_flight: int, folder: Path) -> dict[str, float]:
    """One run of ours over the file of rows."""
    begun = cpu_seconds()
    import ragassay

    store = folder / f"{time.time_ns()}.db"
    first = [{**row, "id": "first", "question": FIRST} for row in make_rows(1, seed=0)]
    ragassay.evaluate(first, judge="openai:mock", base_url=url, store=store, cache=False)
    wall, cpu = time.perf_counter(), cpu_seconds()
    run = ragassay.evaluate(rows, judge="openai:mock", base_url=url, store=store, concurrency=in_flight, cache=False)
    spent = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, "start_up": cpu - begun}
    assert run.summary.pending == 0
    assert run.summary.bad == 0
    return spent


def drive_bare(url: str, bodies: Path, in_flight: int) -> dict[str, float]:
    """The same requests by a client that does nothing but send them and parse the JSON of the answers."""
    begun = cpu_seconds()
    import aiohttp
    import orjson

    requests = bodies.read_bytes().splitlines()

    async def main() -> None:
        left = iter(requests)
        headers = {"Content-Type": "application/json"}
        connector = aiohttp.TCPConnector(limit=in_flight)
        async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

            async def worker() -> None:
                for body in left:
                    async with session.post(f"{url}/chat/completions", data=body) as response:
                        orjson.loads(await response.read())

            await asyncio.gather(*(worker() for _ in range(in_flight)))

    wall, cpu = time.perf_counter(), cpu_seconds()
    asyncio.run(main())
    return {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, "start_up": cpu - begun}


def one(kind: str, url: str, source: Path, in_flight: int, folder: Path) -> dict[str, float]:
    """One round in a process of its own."""
    command = [sys.executable, __file__, "--one", kind, "--url", url, "--source", str(source), "--folder", str(folder)]
    command += ["--in-flight", str(in_flight)]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENAI_")}
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout
    return dict(json.loads(out.splitlines()[-1]))


def measure(count: int, latency: float, in_flight: int, rounds: int) -> dict[str, Any]:
    """All rounds; figures by client."""
    from support.llm_server import ServerProcess  # type: ignore[import-not-found]

    found: dict[str, list[dict[str, float]]] = {"ragassay": [], "bare aiohttp": []}
    with tempfile.TemporaryDirectory() as name, ServerProcess() as server:
        folder = Path(name)
        rows, bodies = folder / "rows.jsonl", folder / "bodies.jsonl"
        rows.write_text("".join(json.dumps(row) + "\n" for row in make_rows(count)), encoding="utf-8")
        server.script(keep_bodies=True)
        one("ragassay", server.url, rows, in_flight, folder)  # to know the requests, and to warm the disk's cache
        requests = [body for body in server.bodies() if FIRST not in str(body["messages"])]
        bodies.write_text("".join(json.dumps(body) + "\n" for body in requests), encoding="utf-8")
        server.script(keep_bodies=False, latency=latency, bodies=[])
        for number in range(rounds):
            for kind, source in (("ragassay", rows), ("bare aiohttp", bodies)):
                server.script(reset=True)
                spent = one(kind, server.url, source, in_flight, folder)
                books = server.stats()
                assert books["calls"] == books["answers"] > 0
                assert books["answered_twice"] == 0
                calls = len(requests)
                figures = {
                    "calls": calls,
                    "seconds": spent["wall"],
                    "calls_per_second": calls / spent["wall"],
                    "share_of_bound": calls / spent["wall"] / (in_flight / latency),
                    "cpu_ms_per_call": 1000 * spent["cpu"] / calls,
                    "start_up_cpu_s": spent["start_up"],
                    "peak_in_flight": books["peak"],
                }
                found[kind].append(figures)
                print(
                    f"round {number + 1} {kind}: {figures['calls_per_second']:.1f} calls/s, "
                    f"{figures['cpu_ms_per_call']:.2f} ms CPU a call",
                    file=sys.stderr,
                )
    medians = {
        kind: {name: statistics.median(r[name] for r in each) for name in each[0]} for kind, each in found.items()
    }
    return {
        "conditions": {
            "command": f"python benchmarks/engine/run.py --rows {count} --latency {latency:g} --in-flight {in_flight} "
            f"--rounds {rounds}",
            "rows": count,
            "row": "4 contexts of 100 words, 4 claims",
            "latency_s": latency,
            "in_flight": in_flight,
            "rounds": rounds,
            "bound_calls_per_second": in_flight / latency,
            "cpus": os.cpu_count(),
            "machine": platform.machine(),
            "system": platform.system(),
            "python": platform.python_version(),
            "aiohttp": version("aiohttp"),
            "load_before": os.getloadavg()[0],
        },
        "medians": medians,
        "rounds": found,
    }


def table(result: dict[str, Any]) -> str:
    """The medians as Markdown."""
    said = result["conditions"]
    own, bare = result["medians"]["ragassay"], result["medians"]["bare aiohttp"]
    lines = [
        "# The LLM path beside its bound",
        "",
        f"`{said['command']}`",
        "",
        f"{said['rows']} rows ({said['row']}), answers after {1000 * said['latency_s']:g} ms,"
        f" {said['in_flight']} in flight, bound {said['bound_calls_per_second']:g} calls a second;"
        f" medians of {said['rounds']} rounds in turns;"
        f" {said['cpus']} CPUs ({said['machine']}), Python {said['python']}, aiohttp {said['aiohttp']},"
        f" load before {said['load_before']:.2f}.",
        "",
        "| client | calls | seconds | calls/s | share of the bound | CPU ms a call | start-up CPU s |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {kind} | {m['calls']:g} | {m['seconds']:.2f} | {m['calls_per_second']:.1f} | {m['share_of_bound']:.1%} |"
        f" {m['cpu_ms_per_call']:.2f} | {m['start_up_cpu_s']:.2f} |"
        for kind, m in (("ragassay", own), ("bare aiohttp", bare))
    ]
    reached = own["share_of_bound"] >= GOAL_SHARE and own["cpu_ms_per_call"] <= GOAL_CPU_MS
    lines += [
        "",
        f"ragassay / bare: {own['calls_per_second'] / bare['calls_per_second']:.3f} of its speed,"
        f" {own['cpu_ms_per_call'] / bare['cpu_ms_per_call']:.2f} times its CPU."
        f" Goals (share >= {GOAL_SHARE:.0%}, CPU <= {GOAL_CPU_MS} ms): {'reached' if reached else 'NOT reached'}.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=800)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    for internal in ("--one", "--url", "--source", "--folder"):
        parser.add_argument(internal, help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.one == "ragassay":
        print(json.dumps(drive_own(a.url, Path(a.source), a.in_flight, Path(a.folder))))
    elif a.one:
        print(json.dumps(drive_bare(a.url, Path(a.source), a.in_flight)))
    else:
        result = measure(a.rows, a.latency, a.in_flight, a.rounds)
        text = table(result)
        print(text)
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "engine.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        (RESULTS / "engine.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
