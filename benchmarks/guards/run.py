"""Guards and decorators: latency, deadlines, order, leaks, policy, and the cost of a span.

    python benchmarks/guards/run.py [--judgments 10000] [--repeats 200]

Writes benchmarks/results/guards.md. Texts are made from a list of words with a seed; no figure here
is one of quality. The judge that hangs, is slow or fails is `ragassay.testing`'s server, a process
of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import platform
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))

import ragassay
from ragassay import guard
from ragassay.instrument import flush
from ragassay.testing import ServerProcess

RESULTS = ROOT / "benchmarks" / "results" / "guards.md"
_TEXT = (
    "harbour bridge opened traffic year work steel river council plan house school park library"
    " founded family museum tram line station engineer price visitors summer garden north old new"
)
WORDS = _TEXT.split()
AT_ONCE = 16
DEADLINE_MS = 200.0


def text(chance: random.Random, words: int) -> str:
    chosen = chance.choices(WORDS, k=words)
    sentences: list[str] = []
    for start in range(0, words, 12):
        sentence = " ".join(chosen[start : start + 12])
        sentences.append(f"{sentence.capitalize()} {1900 + chance.randrange(120)}.")
    return " ".join(sentences)


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def offline(repeats: int) -> dict[str, float]:
    """Milliseconds of a filter of 4 chunks of 100 words, and of one sentence against them. Every
    text is new: nothing is read from a cache, as it would be for the sentences of one answer.
    """
    chance = random.Random(1)
    options: dict[str, Any] = {"at_least": 0.5, "on_error": "block", "deadline_ms": 60_000}
    chunks_guard = guard.context_filter("context_relevance", **options)
    output_guard = guard.block_output("groundedness", **options)
    started = time.perf_counter()
    guard.warm()
    warmed = time.perf_counter() - started
    filters: list[float] = []
    cpu: list[float] = []
    sentence_cpu: list[float] = []
    firsts: list[float] = []
    sentences: list[float] = []
    for _ in range(repeats):
        chunks = [text(chance, 100) for _ in range(4)]
        worked = time.process_time()
        filters.append(chunks_guard.check(question=text(chance, 10), contexts=chunks).latency_ms)
        cpu.append(1000 * (time.process_time() - worked))
        # The first sentence of an answer reads the chunks, those behind it do not.
        worked = time.process_time()
        firsts.append(output_guard.check(response=text(chance, 12), contexts=chunks).latency_ms)
        sentence_cpu.append(1000 * (time.process_time() - worked))
        for _ in range(2):
            result = output_guard.check(response=text(chance, 12), contexts=chunks)
            sentences.append(result.latency_ms)
    return {
        "warm, s": warmed,
        "filter of 4 chunks, median ms": statistics.median(filters),
        "filter of 4 chunks, p95 ms": quantile(filters, 0.95),
        "filter of 4 chunks, median CPU ms": statistics.median(cpu),
        "first sentence, median ms": statistics.median(firsts),
        "first sentence, p95 ms": quantile(firsts, 0.95),
        "first sentence, median CPU ms": statistics.median(sentence_cpu),
        "further sentences, median ms": statistics.median(sentences),
        "further sentences, p95 ms": quantile(sentences, 0.95),
        "all sentences, p95 ms": quantile(firsts + sentences, 0.95),
    }


SLEEPER = """
import sys, threading, time
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
while not ended.is_set():
    started = time.perf_counter()
    time.sleep(0.2)
    print(1000 * (time.perf_counter() - started) - 200)
"""
"""What a process that does nothing but sleep for the same time is late by, on the same machine."""


class Sleeper:
    """The process that sleeps, while something else is measured."""

    def __enter__(self) -> Sleeper:
        command = [sys.executable, "-c", SLEEPER]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, *_: object) -> None:
        printed, _ignored = self._process.communicate()
        self.late = [float(line) for line in printed.split()]


def deadlines(judgments: int) -> dict[str, float]:
    """How far beyond its deadline a guard answers, and whether the policy was followed."""
    over: list[float] = []
    wrong = unjudged = 0
    servers: tuple[dict[str, Any], ...] = (
        {"latency": 60.0},
        {"latency": 0.2, "sigma": 0.6},
        {"fault_rates": {"500": 0.4, "reset": 0.3, "429:5": 0.3}},
    )
    late: list[float] = []
    worked = time.process_time()
    for number, settings in enumerate(servers):
        with ServerProcess() as server, Sleeper() as sleeper:
            share = judgments // 3 + (number < judgments % 3)
            results = asyncio.run(_judged(server, settings, share))
        late += sleeper.late
        over += [seconds for seconds, _, _ in results]
        for _, policy, result in results:
            unjudged += not result.judged
            wrong += not result.judged and result.verdict != policy
    return {
        "judgments": len(over),
        "CPU ms a judgment": 1000 * (time.process_time() - worked) / len(over),
        "of them unjudged": unjudged,
        "policy not followed": wrong,
        "over the deadline, median ms": statistics.median(over),
        "over the deadline, p90 ms": quantile(over, 0.9),
        "over the deadline, p99 ms": quantile(over, 0.99),
        "over the deadline, most ms": max(over),
        "share over by more than 20 ms": sum(each > 20 for each in over) / len(over),
        "a bare sleep beside it: late by, median ms": statistics.median(late),
        "a bare sleep beside it: late by, p99 ms": quantile(late, 0.99),
        "a bare sleep beside it: late by, most ms": max(late),
    }


async def _judged(
    server: ServerProcess, settings: dict[str, Any], count: int
) -> list[tuple[float, str, guard.GuardResult]]:
    made = {
        policy: guard.block_output(
            "groundedness",
            at_least=0.5,
            on_error=policy,
            deadline_ms=DEADLINE_MS,
            judge="openai:mock",
            base_url=server.url,
        )
        for policy in ("block", "pass")
    }
    # As an application does at its start; then the server begins to fail.
    guard.warm()
    server.script(**settings)
    results: list[tuple[float, str, guard.GuardResult]] = []
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            policy = "block" if number % 2 else "pass"
            started = time.perf_counter()
            result = await made[policy].acheck(
                response=f"It opened in {number}.", contexts=["It opened in 1932."]
            )
            took = 1000 * (time.perf_counter() - started)
            results.append((took - DEADLINE_MS, policy, result))

    await asyncio.gather(*[work() for _ in range(AT_ONCE)])
    return results


def order_and_leaks(rounds: int) -> dict[str, float]:
    """Filters that changed the order, and characters released of or behind a blocked sentence."""

    @ragassay.metric
    def innocent(contexts: list[str]) -> bool:
        return "spam" not in contexts[0]

    @ragassay.metric
    def harmless(response: str) -> bool:
        return "secret" not in response

    options: dict[str, Any] = {"at_least": 1, "on_error": "block", "deadline_ms": 60_000}
    keep = guard.context_filter(innocent, **options)
    chance = random.Random(2)
    changed = leaked = 0
    for _ in range(rounds):
        chunks = [f"{chance.choice(['spam', 'fine'])} {n}" for n in range(chance.randrange(1, 9))]
        kept = keep(lambda question, chunks=chunks: chunks)("q")
        changed += kept != [chunk for chunk in chunks if "spam" not in chunk]
        before = text(chance, chance.randrange(12, 40)) + " "
        answer = before + "The secret is 42. " + text(chance, 20)
        size = chance.randrange(1, 30)
        pieces = [answer[at : at + size] for at in range(0, len(answer), size)]
        released = "".join(guard.stream(iter(pieces), harmless, instead="", **options))
        leaked += max(0, len(released) - len(before)) + (released != before[: len(released)])
    return {"rounds": rounds, "order changed": changed, "leaked characters": leaked}


def microseconds(
    function: Callable[..., Any], clock: Callable[[], float] = time.perf_counter, calls: int = 1000
) -> float:
    """What a span adds to a call, the median of 9 doses."""
    plain = function.__wrapped__  # type: ignore[attr-defined]
    added: list[float] = []
    for _ in range(9):
        times: list[float] = []
        for each in (function, plain):
            started = clock()
            for _ in range(calls):
                each("When did it open?")
            times.append(clock() - started)
        added.append(1e6 * (times[0] - times[1]) / calls)
        flush()
    return statistics.median(added)


def both(name: str, function: Callable[..., Any]) -> dict[str, float]:
    """By the wall clock, and the CPU of the application's own thread: on a busy machine the first
    has the waits for a core in it.
    """
    return {
        f"{name}, us": microseconds(function),
        f"{name}, CPU us": microseconds(function, time.thread_time),
    }


def spans() -> dict[str, float]:
    """Microseconds that a span adds to a call, to the own sink and through OpenTelemetry."""
    chunks = [{"text": "word " * 100, "id": f"d{n}", "score": 0.5} for n in range(4)]
    found = ragassay.retriever(lambda question: chunks)
    answered = ragassay.trace(lambda question: "It opened in 1932.")
    figures = both("retriever of 4 documents", found) | both("trace", answered)
    figures |= dead_collector(answered)
    from opentelemetry import trace as otel
    from opentelemetry.sdk.trace import TracerProvider

    otel.set_tracer_provider(TracerProvider())
    figures |= both("retriever of 4 documents through OpenTelemetry", found)
    figures |= both("trace through OpenTelemetry", answered)
    return figures


def dead_collector(answered: Callable[..., Any]) -> dict[str, float]:
    """Milliseconds of a traced call where the collector refuses or never answers."""
    logging.getLogger("ragassay.instrument").setLevel(logging.ERROR)
    figures: dict[str, float] = {}
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        addresses = {"refuses": "http://127.0.0.1:9", "silent": f"http://127.0.0.1:{port}"}
        for name, address in addresses.items():
            os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = address
            times: list[float] = []
            cpu: list[float] = []
            for _ in range(5000):
                started, worked = time.perf_counter(), time.thread_time()
                answered("When did it open?")
                cpu.append(1000 * (time.thread_time() - worked))
                times.append(1000 * (time.perf_counter() - started))
            figures[f"collector {name}: median ms a call"] = statistics.median(times)
            figures[f"collector {name}: p99.9 ms a call"] = quantile(times, 0.999)
            figures[f"collector {name}: most ms a call"] = max(times)
            figures[f"collector {name}: most CPU ms a call"] = max(cpu)
        del os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"]
    flush(20)
    return figures


def page(figures: dict[str, dict[str, float]], conditions: dict[str, Any]) -> str:
    lines = [
        "# Guards and decorators",
        "",
        "Written by `python benchmarks/guards/run.py`. Speed and behaviour alone: no figure here",
        "is one of a judge's quality. Other work ran on the machine: the load is named.",
        "",
        *[f"- {name}: {value}" for name, value in conditions.items()],
        "",
        "| part | figure | value | to reach |",
        "|---|---|---|---|",
    ]
    for part, values in figures.items():
        for name, value in values.items():
            shown = f"{value:.3f}".rstrip("0").rstrip(".")
            lines.append(f"| {part} | {name} | {shown} | {TO_REACH.get(name, '')} |")
    return "\n".join([*lines, ""])


TO_REACH = {
    "filter of 4 chunks, p95 ms": "100",
    "all sentences, p95 ms": "40",
    "policy not followed": "0",
    "over the deadline, most ms": "20",
    "order changed": "0",
    "leaked characters": "0",
    "retriever of 4 documents, us": "50",
    "trace, us": "50",
    "collector refuses: most ms a call": "1",
    "collector silent: most ms a call": "1",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--judgments", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=200)
    arguments = parser.parse_args()
    conditions = {
        "measured": datetime.now(UTC).isoformat(timespec="seconds"),
        "Python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "load of the machine at the start": " ".join(f"{each:.1f}" for each in os.getloadavg()),
        "judgments at once": AT_ONCE,
        "deadline, ms": DEADLINE_MS,
    }
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RAGASSAY_STORE"] = str(Path(folder) / "store.db")
        figures = {
            "offline": offline(arguments.repeats),
            "deadline": deadlines(arguments.judgments),
            "order and leaks": order_and_leaks(1000),
            "spans": spans(),
        }
    conditions["load at the end"] = " ".join(f"{each:.1f}" for each in os.getloadavg())
    RESULTS.write_text(page(figures, conditions), encoding="utf-8")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
