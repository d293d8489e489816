"""What stays behind in a process after many calls? Descriptors, threads, tasks and memory, round by
round.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal

import psutil

import ragassay
from ragassay.testing import ServerProcess

Kind = Literal["good", "failing", "cancelled"]
_numbers = count()


@dataclass(frozen=True)
class Held:
    """What the process holds at one moment. rss: bytes. calls: made so far by the server's log."""

    calls: int
    descriptors: int
    threads: int
    tasks: int
    rss: int


@dataclass(frozen=True)
class Leak:
    """After the first round against after the last. slope: MB a 10,000 calls, by least squares over
    the second half of the rounds: in the first, the allocators of Python and SQLite grow to what a
    run needs.
    """

    calls: int
    descriptors: int
    threads: int
    tasks: int
    slope: float


def hunt(kind: Kind, rounds: int, calls: int, folder: Path, seconds: float = 3600) -> Leak:
    """Make `calls` calls of this kind in each round, in one process and one event loop; no new
    round after `seconds`.
    """
    held = asyncio.run(_rounds(kind, rounds, calls, folder, time.monotonic() + seconds))
    first, last = held[0], held[-1]
    late = held[len(held) // 2 :]
    xs, ys = [h.calls / 10_000 for h in late], [h.rss / 1e6 for h in late]
    mx, my = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - mx) ** 2 for x in xs)
    slope = (
        sum((x - mx) * (y - my) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0
    )
    return Leak(
        last.calls,
        last.descriptors - first.descriptors,
        last.threads - first.threads,
        last.tasks - first.tasks,
        slope,
    )


async def _rounds(kind: Kind, rounds: int, calls: int, folder: Path, end: float) -> list[Held]:
    with ServerProcess(latency=1.0 if kind == "cancelled" else 0.0) as server:
        if kind == "failing":
            server.script(
                fault_rates={"wrong_schema": 0.5, "refusal": 0.2, "length": 0.2, "bad_json": 0.1},
                keep_bodies=False,
            )
        else:
            server.script(keep_bodies=False)
        held = []
        for n in range(rounds + 1):  # the first one fills caches
            await _round(kind, calls, server.url, folder / f"{n}.db")
            for path in folder.glob(f"{n}.db*"):
                path.unlink()
            gc.collect()
            await asyncio.sleep(0.3)
            held.append(_held(server.stats()["calls"]))
            if time.monotonic() > end and n >= 2:
                break
        return held[1:]


async def _round(kind: Kind, calls: int, url: str, store: Path) -> None:
    options: dict[str, Any] = {
        "judge": "openai:mock",
        "base_url": url,
        "store": store,
        "attempts": 1,
        "concurrency": 64,
    }
    if kind != "cancelled":
        # Failing replies are asked for a second time by the judge: half as many rows.
        run = await ragassay.aevaluate(_rows(calls), "answer_relevance", **options)
        run.close()
        return
    for _ in range(max(1, calls // 64)):
        sent = asyncio.Event()

        def watch(progress: Any, sent: asyncio.Event = sent) -> None:
            if progress.traffic.in_flight > 1:  # the first call goes alone
                sent.set()

        task = asyncio.ensure_future(
            ragassay.aevaluate(_rows(64), "answer_relevance", watch=watch, **options)
        )
        await asyncio.wait(
            {task, asyncio.ensure_future(sent.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        sent.set()
        task.cancel()
        with suppress(asyncio.CancelledError):
            (await task).close()


def _rows(count_: int) -> list[dict[str, str]]:
    return [
        {"question": f"Is it {(n := next(_numbers))}?", "response": f"It is {n}."}
        for _ in range(count_)
    ]


def _held(calls: int) -> Held:
    tasks = len(asyncio.all_tasks()) - 1
    return Held(
        calls,
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        tasks,
        psutil.Process().memory_info().rss,
    )
