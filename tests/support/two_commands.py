"""Two commands over the same rows at once: each question is bought once, whatever ends either."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from pathlib import Path
from typing import Any

from ragassay.store import Store
from ragassay.testing import ServerProcess
from support.faults import Victim, command, make_rows, settled, wait_for_a_call, write_rows
from support.invariants import bill_of, canonical, check_exit, check_run, exact

SOON = """
from ragassay.store import claims, locks
claims.EXPIRES_S, locks.BEAT_S = 1.5, 0.5
"""
"""A process that is suspended counts as gone after a second and a half."""


def both_to_the_end(folder: Path, *, rows: int, apart: float = 0.0) -> dict[str, Any]:
    """Both finish. apart: seconds between their starts. purchases: answers a question."""
    source, store = write_rows(folder / "rows.jsonl", make_rows(rows)), folder / "s.db"
    with ServerProcess(latency=0.03) as server:
        arguments = command(source, server, store, concurrency=16)
        first = Victim(*arguments, "--name", "first")
        time.sleep(apart)
        second = Victim(*arguments, "--name", "second")
        check_exit(first.wait(500), 0)
        check_exit(second.wait(500), 0)
        books = settled(server)
    ledgers = []
    with Store.open(store) as held:
        for name in ("first", "second"):
            run_id = held.resolve(name)
            check_run(held, run_id)
            ledgers.append(held.run(run_id).ledger)
        same = canonical(held, held.resolve("first")) == canonical(held, held.resolve("second"))
    assert sum(exact(ledger.confirmed.cost) for ledger in ledgers) == bill_of(books)
    return {
        "purchases": books["answers"] / books["prompts"],
        "reused": [ledger.cached_judgments for ledger in ledgers],
        "same_results": same,
    }


def _suspend(victim: Victim, folder: Path) -> None:
    """Stop a process where it does not hold the lock of the store's writers, for which everybody
    would wait.
    """
    lock = os.open(folder, os.O_RDONLY)
    try:
        while True:
            victim.kill(signal.SIGSTOP)
            time.sleep(0.02)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                victim.kill(signal.SIGCONT)
                time.sleep(0.005)
    finally:
        os.close(lock)


def first_ends(folder: Path, how: str, *, rows: int = 60) -> dict[str, Any]:
    """The first of two is killed, suspended or stopped, or reaches its cap; the second one finishes
    without it.

    bought_again: answers to questions that had one.
    """
    source, store = write_rows(folder / "rows.jsonl", make_rows(rows)), folder / "s.db"
    prelude = SOON if how == "suspended" else ""
    with ServerProcess(latency=0.1) as server:
        arguments = command(source, server, store, concurrency=8)
        cap = ("--max-calls", 30) if how == "capped" else ()
        first = Victim(*arguments, *cap, prelude=prelude)
        wait_for_a_call(server, 8, first)
        second = Victim(*arguments, "--name", "second", prelude=prelude)
        if how != "capped":
            wait_for_a_call(server, 60, second)
            if how == "suspended":
                _suspend(first, folder)
            else:
                first.kill(signal.SIGKILL if how == "killed" else signal.SIGINT)
        begun = time.monotonic()
        check_exit(second.wait(500), 0)
        seconds = time.monotonic() - begun
        if how == "suspended":
            first.kill()
        first.wait()
        books = settled(server)
        with Store.open(store) as held:
            check_run(held, held.resolve("second"))
    return {"bought_again": books["answers"] - books["prompts_answered"], "seconds": seconds}
