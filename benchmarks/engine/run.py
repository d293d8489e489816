"""Throughput of a run over an LLM judge against what its server allows, and its own CPU, beside
the peers.

    python benchmarks/engine/run.py [--bench ../shared/bench] [--cache .cache/peers] [--rounds 5]
    [--rows N] [--only A,B] [--before FOLDER]

The triad (context relevance, groundedness, answer relevance) on rows with 4 contexts of about 95
words and 4 claims, against one local server that answers every call after 50 or 200 ms, with 32 and
with 128 calls in flight. The rows, the server and the peers' drivers are those of the common bench
(`--bench`), each peer as its documentation has it, in an environment of its own (`--cache`; made on
first use, versions as in CLIENTS). What the common bench lacks stands beside this file: server.py
has its server answer our schema, ours.py is our driver, bare.py sends our very requests and no
more.

All clients take turns, each run in a fresh process; medians over the rounds. Bound: in flight /
latency calls a second. CPU: user + system of the client's process, all threads, from the rows to
the scores; the rest of the process (imports, set-up; for ours also one row) is the column
"start-up". Tokens: characters of prompts and schemas by 4. Of a part of the clients or conditions
nothing is stored. Writes benchmarks/results/engine.json and engine.md; with --before, which sets
another checkout of the project beside this one in place of the peers, engine_before.json and
engine_before.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "benchmarks" / "results"
GOAL_SHARE, GOAL_CPU_MS, GOAL_CALLS = 0.95, 0.9, 3
OURS, BARE = "ragassay", "bare aiohttp, our requests"
BEFORE = "ragassay before"
LATENCIES_MS, IN_FLIGHT = [50, 200], [32, 128]
LIMIT_S = 300
QUIET = 0.25
"""Cores that other work may take in the median run before the page warns of it."""

SERVER = ("aiohttp==3.14.5", "httptools==0.9.0", "orjson==3.13.0", "uvloop==0.23.0")


@dataclass(frozen=True, slots=True)
class Client:
    """One client: its environment ("" = ours), its driver in the common bench, what is installed,
    rows of a run.

    The rows of the slow ones are fewer, so that a run takes seconds; 0 = what keeps the client busy
    for ten seconds.
    """

    environment: str
    driver: str
    requirements: tuple[str, ...] = ()
    rows: int = 0
    variant: str = ""


CLIENTS = {
    OURS: Client("", "ours.py"),
    BEFORE: Client("", "ours.py"),
    BARE: Client("", "bare.py"),
    "bare aiohttp, its own prompts": Client("raw", "raw_client.py", SERVER, 400, "aiohttp:3"),
    "openevals": Client(
        "openevals", "openevals_judges.py", ("openevals==0.2.2", "openai==3.54.0"), 200
    ),
    "Phoenix evals": Client(
        "phoenix", "phoenix_evals.py", ("arize-phoenix-evals==3.9.4", "openai==3.54.0"), 100
    ),
    "Inspect": Client(
        "inspect", "inspect_graded.py", ("inspect-ai==0.3.285", "openai==3.54.0"), 80
    ),
    "Ragas collections": Client(
        "ragas",
        "ragas_collections.py",
        ("ragas==0.4.3", "langchain-community==0.3.31", "openai==3.3.0"),
        100,
    ),
    "Ragas evaluate": Client(
        "ragas",
        "ragas_evaluate.py",
        ("ragas==0.4.3", "langchain-community==0.3.31", "openai==3.3.0"),
        40,
    ),
    "TruLens": Client(
        "trulens", "trulens_batch.py", ("trulens==2.16.0", "trulens-providers-openai==2.16.0"), 80
    ),
    "MLflow": Client("mlflow", "mlflow_genai.py", ("mlflow==3.17.2", "openai==3.54.0"), 16),
    "DeepEval": Client("deepeval", "deepeval_evaluate.py", ("deepeval==4.3.1",), 16),
}


# -- environments


def python_of(cache: Path, environment: str) -> Path:
    """The interpreter of an environment."""
    return cache / environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def install(cache: Path, environment: str, requirements: tuple[str, ...]) -> str:
    """Make an environment unless it is there as it should be; "" or why it could not be made."""
    home, said = cache / environment, "\n".join(requirements)
    ready = home / "requirements.txt"
    if ready.exists() and ready.read_text(encoding="utf-8") == said:
        return ""
    shutil.rmtree(home, ignore_errors=True)
    home.parent.mkdir(parents=True, exist_ok=True)
    python = str(python_of(cache, environment))
    if uv := shutil.which("uv"):
        steps = [
            [
                uv,
                "venv",
                "-q",
                "--python",
                f"{sys.version_info[0]}.{sys.version_info[1]}",
                str(home),
            ]
        ]
        steps += [
            [uv, "pip", "install", "-q", "--compile-bytecode", "--python", python, *requirements]
        ]
    else:
        steps = [
            [sys.executable, "-m", "venv", str(home)],
            [python, "-m", "pip", "install", "-q", *requirements],
        ]
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            return f"not installed: {(done.stderr.strip() or done.stdout.strip())[-300:]}"
    ready.write_text(said, encoding="utf-8")
    return ""


# -- the server


class Server:
    """The common mock endpoint in a process of its own, taught our schema."""

    def __init__(self, python: Path, bench: Path, *options: str) -> None:
        command = [str(python), str(HERE / "server.py"), str(bench), "--port", "0", *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port = json.loads(self._process.stdout.readline())["port"]

    def ask(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """/stats, or /reset with settings."""
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"http://127.0.0.1:{self.port}{path}", data=data, timeout=10) as reply:
            return dict(json.load(reply))

    def cpu_seconds(self) -> float:
        """What the server has used so far."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def serving(python: Path, bench: Path, *options: str) -> Iterator[Server]:
    """The server, ended in any case."""
    server = Server(python, bench, *options)
    try:
        yield server
    finally:
        server.close()


# -- one run


@dataclass(frozen=True, slots=True)
class Place:
    """Where things are: the common bench, the environments, the file of rows, the recorded requests
    of ours, the checkout beside ours.
    """

    bench: Path
    cache: Path
    rows: Path
    bodies: Path
    before: Path


def children_seconds() -> float:
    """CPU seconds of the processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def busy_seconds() -> float:
    """CPU seconds that the whole machine has used so far."""
    used = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(used) - used[3] - used[4]) / os.sysconf("SC_CLK_TCK")


def command_of(name: str, place: Place) -> list[str]:
    """The driver and what only it needs."""
    client = CLIENTS[name]
    if not client.environment:
        extra = ["--bodies", str(place.bodies)] if name == BARE else []
        return [sys.executable, str(HERE / client.driver), "--bench", str(place.bench), *extra]
    folder = place.bench / ("" if client.environment == "raw" else "peers")
    variant = ["--variant", client.variant] if client.variant else []
    return [str(python_of(place.cache, client.environment)), str(folder / client.driver), *variant]


def one(
    name: str, place: Place, server: Server, rows: int, in_flight: int, latency_ms: float
) -> dict[str, Any]:
    """One run in a fresh process; its figures, or {"failed": why}."""
    server.ask("/reset", {"latency": f"{latency_ms:g}"})
    with tempfile.TemporaryDirectory() as folder:
        # A home of its own: what a peer writes there (settings, telemetry ids) is thrown away with
        # it.
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": folder,
            "LANG": "C.UTF-8",
            "TMPDIR": folder,
        }
        if not CLIENTS[name].environment:
            checkout = place.before if name == BEFORE else ROOT
            environment |= {"PYTHONHASHSEED": "0", "PYTHONPATH": str(checkout / "src")}
        command = [*command_of(name, place), "--rows", str(place.rows), "--n", str(rows)]
        command += [
            "--concurrency",
            str(in_flight),
            "--base-url",
            f"http://127.0.0.1:{server.port}/v1",
        ]
        log, out = Path(folder, "driver.log"), Path(folder, "result.json")
        before, served, ended, begun = (
            busy_seconds(),
            server.cpu_seconds(),
            children_seconds(),
            time.perf_counter(),
        )
        with log.open("wb") as said:
            process = subprocess.Popen(
                [*command, "--out", str(out)],
                cwd=folder,
                env=environment,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                return {"failed": f"not done after {LIMIT_S} s"}
        wall, busy, all_cpu = (
            time.perf_counter() - begun,
            busy_seconds() - before,
            children_seconds() - ended,
        )
        books = server.ask("/stats")
        if not out.exists():
            return {"failed": log.read_text(encoding="utf-8", errors="replace")[-300:]}
        driver = json.loads(out.read_text(encoding="utf-8"))
        stored = sum(path.stat().st_size for path in Path(folder).glob("store.db*"))
    if driver["exception"]:
        return {"failed": driver["exception"]}
    calls, seconds, cpu = books["requests"], driver["eval_s"], driver["eval_cpu_s"]
    others = busy - all_cpu - (server.cpu_seconds() - served)
    return {
        "rows": rows,
        "calls_a_row": calls / rows,
        "seconds": seconds,
        "calls_per_second": calls / seconds,
        "share_of_bound": calls / seconds / (in_flight / latency_ms * 1000),
        "rows_per_second": rows / seconds,
        "cpu_ms_per_call": 1000 * cpu / calls,
        "cpu_ms_per_row": 1000 * cpu / rows,
        "start_up_cpu_s": all_cpu - cpu,
        "peak_mb": driver["peak_rss_mb"],
        "words_a_row": books["prompt_words"] / rows,
        "tokens_a_row": (books["prompt_chars"] + books["schema_chars"]) / 4 / rows,
        "peak_in_flight": books["peak_inflight"],
        "scored": driver["rows_fully_scored"] / rows,
        "store_kb_a_row": stored / 1000 / rows,
        "others_cores": max(0.0, others) / wall,
    }


def rows_of(name: str, in_flight: int, latency_ms: float, given: int) -> int:
    """Rows of one run: ten seconds of ours at the bound, at most 2,400."""
    if CLIENTS[name].rows:
        return CLIENTS[name].rows
    return given or min(2400, round(10_000 * in_flight / latency_ms / GOAL_CALLS))


# -- all runs


def measure(a: argparse.Namespace, names: list[str]) -> dict[str, Any]:
    """All rounds of all clients under all conditions."""
    bench, cache = Path(a.bench).resolve(), Path(a.cache).resolve()
    failed = {
        name: why
        for name in names
        if (c := CLIENTS[name]).environment
        if (why := install(cache, c.environment, c.requirements))
    }
    if why := install(cache, "raw", SERVER):
        sys.exit(f"the server's environment was {why}")
    python = python_of(cache, "raw")
    conditions = [(latency, in_flight) for latency in a.latency for in_flight in a.in_flight]
    most = max(
        rows_of(name, in_flight, latency, a.rows)
        for name in names
        for latency, in_flight in conditions
    )
    found: dict[str, dict[str, list[dict[str, Any]]]] = {
        f"{lat:g} ms, {c} in flight": {} for lat, c in conditions
    }
    with tempfile.TemporaryDirectory() as folder:
        rows_file, bodies = Path(folder, "rows.json"), Path(folder, "bodies.jsonl")
        place = Place(bench, cache, rows_file, bodies, Path(a.before).resolve())
        subprocess.run(
            [sys.executable, str(bench / "rows.py"), "--n", str(most), "--out", str(place.rows)],
            check=True,
        )
        if BARE in names:
            record(place, python, most)
        with serving(python, bench) as server:
            for number in range(a.rounds):
                for latency, in_flight in conditions:
                    for name in names:
                        if name in failed:
                            continue
                        rows = rows_of(name, in_flight, latency, a.rows)
                        figures = one(name, place, server, rows, in_flight, latency)
                        found[f"{latency:g} ms, {in_flight} in flight"].setdefault(name, []).append(
                            figures
                        )
                        say(
                            f"round {number + 1}, {latency:g} ms, {in_flight} in flight, {name}",
                            figures,
                        )
    return {
        "command": (
            f"python benchmarks/engine/run.py --rounds {a.rounds}"
            + (f" --rows {a.rows}" if a.rows else "")
            + (" --before FOLDER" if a.before else "")
        ),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "rounds": a.rounds,
        "cpus": len(os.sched_getaffinity(0)),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": (
            {OURS: version("ragassay"), "aiohttp": version("aiohttp")}
            | {
                name: ", ".join(CLIENTS[name].requirements)
                for name in names
                if CLIENTS[name].requirements
            }
        ),
        "not_installed": failed,
        "conditions": [
            {
                "latency_ms": latency,
                "in_flight": in_flight,
                "bound": 1000 * in_flight / latency,
                "found": found[f"{latency:g} ms, {in_flight} in flight"],
            }
            for latency, in_flight in conditions
        ],
    }


def record(place: Place, python: Path, rows: int) -> None:
    """Have our driver's requests written down, for the client that sends them and does nothing
    else.
    """
    heard = place.bodies.with_name("heard.jsonl")
    with serving(python, place.bench, "--record", str(heard)) as server:
        done = one(OURS, place, server, rows, 32, 1)
    if "failed" in done:
        sys.exit(f"our own driver failed: {done['failed']}")
    with heard.open("rb") as lines, place.bodies.open("wb") as out:
        out.writelines(line for line in lines if b"Which row is the first of all?" not in line)


def say(what: str, figures: dict[str, Any]) -> None:
    """A line of progress."""
    if "failed" in figures:
        print(f"{what}: FAILED: {figures['failed']}", file=sys.stderr)
        return
    print(
        f"{what}: {figures['calls_per_second']:.1f} calls/s, {figures['share_of_bound']:.1%} of the"
        f" bound, {figures['cpu_ms_per_call']:.2f} ms CPU a call, {figures['seconds']:.1f} s,"
        f" others {figures['others_cores']:.2f} cores",
        file=sys.stderr,
    )


# -- the page


def medians(rounds: list[dict[str, Any]]) -> dict[str, float] | None:
    """The median of each figure over the rounds that ended; None when none did."""
    ended = [each for each in rounds if "failed" not in each]
    return (
        {name: statistics.median(each[name] for each in ended) for name in ended[0]}
        if ended
        else None
    )


def table(result: dict[str, Any]) -> str:
    """The medians as Markdown."""
    lines = [
        "# The LLM path beside its bound and its peers",
        "",
        f"`{result['command']}`",
        "",
        (
            f"{result['date']}; {result['cpus']} cores ({result['machine']}), shared by client and"
            f" server; Python {result['python']}; medians of {result['rounds']} rounds in turns."
            " The triad on rows with 4 contexts of about 95 words and 4 claims; one server for"
            " all. CPU: the client's own, all threads, from the rows to the scores. Tokens:"
            ' characters of prompts and schemas by 4. "Speed" and "CPU" at the right: rows a'
            " second of ours by theirs, CPU a row of theirs by ours. Calls of a row cannot be"
            " compared without what they ask: ours asks about each chunk and each claim, with a"
            " reason and quotes."
        ),
        "",
        *goals(result),
    ]
    others = [
        each["others_cores"]
        for condition in result["conditions"]
        for rounds in condition["found"].values()
        for each in rounds
        if "failed" not in each
    ]
    if others and statistics.median(others) > QUIET:
        lines += [
            "",
            (
                f"**The machine was busy**: other work took {statistics.median(others):.2f} of"
                f" {result['cpus']} cores in the median run. Speeds and shares of the bound are far"
                " lower than on a quiet machine, and CPU a call is higher."
            ),
        ]
    for condition in result["conditions"]:
        lines += [
            "",
            (
                f"## {condition['latency_ms']:g} ms, {condition['in_flight']} in flight: at most"
                f" {condition['bound']:,.0f} calls a second"
            ),
            "",
        ]
        lines += peers(condition, result["not_installed"])
    lines += ["", "## Versions", ""]
    lines += [f"- {name}: {said}" for name, said in result["versions"].items()]
    return "\n".join([*lines, ""])


def goals(result: dict[str, Any]) -> list[str]:
    """The goals, and what was measured beside them."""
    lines = [
        (
            "| | calls/s | share of the bound | goal | bare client, same requests | ours by bare |"
            " CPU ms a call | goal | calls a row | goal | KB in the store a row |"
        ),
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | --- | ---: | --- | ---: |",
    ]
    for condition in result["conditions"]:
        own, bare = (medians(condition["found"].get(name, [])) for name in (OURS, BARE))
        if own is None:
            continue
        share, cpu, calls = own["share_of_bound"], own["cpu_ms_per_call"], own["calls_a_row"]
        beside = f"{bare['share_of_bound']:.1%}" if bare else "-"
        ratio = f"{own['calls_per_second'] / bare['calls_per_second']:.3f}" if bare else "-"
        lines.append(
            f"| {condition['latency_ms']:g} ms, {condition['in_flight']} in flight |"
            f" {own['calls_per_second']:.1f} | {share:.1%} | {_reached(share >= GOAL_SHARE)} (>="
            f" {GOAL_SHARE:.0%}) | {beside} | {ratio} | {cpu:.2f} | {_reached(cpu <= GOAL_CPU_MS)}"
            f" (<= {GOAL_CPU_MS}) | {calls:.2f} | {_reached(calls <= GOAL_CALLS)} (<= {GOAL_CALLS})"
            f" | {own['store_kb_a_row']:.1f} |"
        )
    return lines


def _reached(yes: bool) -> str:
    return "reached" if yes else "NOT reached"


def peers(condition: dict[str, Any], missing: dict[str, str]) -> list[str]:
    """One condition, all clients."""
    lines = [
        (
            "| client | rows | calls a row | calls/s | share of the bound | rows/s | CPU ms a call"
            " | CPU ms a row | start-up CPU s | peak MB | prompt words a row | tokens a row | peak"
            " in flight | rows scored | speed | CPU |"
        ),
        "| --- |" + " ---: |" * 15,
    ]
    own = medians(condition["found"].get(OURS, []))
    for name, rounds in condition["found"].items():
        found, lost = medians(rounds), [each["failed"] for each in rounds if "failed" in each]
        if found is None:
            lines.append(f"| {name} | every run failed: {_cell(lost[0])} |" + " |" * 14)
            continue
        faster = f"{own['rows_per_second'] / found['rows_per_second']:.1f}" if own else "-"
        lighter = f"{found['cpu_ms_per_row'] / own['cpu_ms_per_row']:.1f}" if own else "-"
        lines.append(
            f"| {name}{f' ({len(lost)} of {len(rounds)} runs failed)' if lost else ''} |"
            f" {found['rows']:g} | {found['calls_a_row']:.1f} | {found['calls_per_second']:.1f} |"
            f" {found['share_of_bound']:.1%} | {found['rows_per_second']:.1f} |"
            f" {found['cpu_ms_per_call']:.2f} | {found['cpu_ms_per_row']:.1f} |"
            f" {found['start_up_cpu_s']:.2f} | {found['peak_mb']:.0f} | {found['words_a_row']:.0f}"
            f" | {found['tokens_a_row']:.0f} | {found['peak_in_flight']:.0f} |"
            f" {found['scored']:.0%} | {faster} | {lighter} |"
        )
    lines += [f"| {name} | {_cell(why)} |" + " |" * 14 for name, why in missing.items()]
    others = [
        each["others_cores"]
        for rounds in condition["found"].values()
        for each in rounds
        if "failed" not in each
    ]
    if others:
        lines += [
            "",
            (
                f"Other work on the machine meanwhile: {statistics.median(others):.2f} cores in the"
                f" median run, {max(others):.2f} in the worst."
            ),
        ]
    return lines


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[-200:]


def main() -> None:
    """Measure, print, store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--bench", default=str(ROOT.parent / "shared" / "bench"), help="folder of the common bench"
    )
    parser.add_argument(
        "--cache", default=str(ROOT / ".cache" / "peers"), help="folder of the peers' environments"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--rows", type=int, default=0, help="rows of ours and of the bare client with our requests"
    )
    parser.add_argument(
        "--only", default="", help="some clients: parts of their names, with commas"
    )
    parser.add_argument("--before", default="", help="another checkout, in place of the peers")
    parser.add_argument(
        "--latency", type=_numbers, default=LATENCIES_MS, help="milliseconds, with commas"
    )
    parser.add_argument("--in-flight", type=_numbers, default=IN_FLIGHT)
    a = parser.parse_args()
    if not Path(a.bench, "mock_llm.py").exists():
        sys.exit(f"no common bench in {a.bench}: name its folder with --bench")
    names = clients(a.only, a.before)
    result = measure(a, names)
    text = table(result)
    print(text)
    whole = names == clients("", a.before)
    if whole and (a.latency, a.in_flight) == (LATENCIES_MS, IN_FLIGHT):  # a part is no result
        page = "engine_before" if a.before else "engine"
        RESULTS.mkdir(exist_ok=True)
        written = json.dumps(result, indent=1) + "\n"
        (RESULTS / f"{page}.json").write_text(written, encoding="utf-8")
        (RESULTS / f"{page}.md").write_text(text, encoding="utf-8")


def clients(only: str, before: str) -> list[str]:
    """The names of the clients: all but another checkout of ours, or it and ours."""
    wanted = [part.strip().lower() for part in only.split(",") if part.strip()]
    names = [OURS, BEFORE] if before else [name for name in CLIENTS if name != BEFORE]
    return [name for name in names if not wanted or any(part in name.lower() for part in wanted)]


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
