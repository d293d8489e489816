"""Runs that somebody stops: Ctrl-C once, twice, and SIGTERM."""

from __future__ import annotations

import re
import shlex
import signal
import time
from pathlib import Path
from typing import Any

from ragassay.testing import ServerProcess
from support.faults import (
    Clock,
    Victim,
    command,
    dice,
    make_rows,
    settled,
    until,
    wait_for_a_call,
    write_rows,
)
from support.invariants import (
    canonical,
    check_exit,
    check_ledger,
    check_run,
    check_unlocked,
    ledger_of,
    snapshot,
)

RESUME = re.compile(r"ragassay (resume \S+(?: --store \S+)?)")


def stop_once(folder: Path, *, times: int, seed: int = 0, rows: int = 60) -> dict[str, Any]:
    """One signal at a random moment: calls made later than 100 ms after it, seconds to the end;
    then the printed command.
    """
    chance, late, slowest = dice(seed), 0, 0.0
    source = write_rows(folder / "rows.jsonl", make_rows(rows))
    with ServerProcess(latency=0.05) as server:
        victim = Victim(*command(source, server, folder / "clean.db"))
        check_exit(victim.wait(), 0)
        expected = canonical(folder / "clean.db")
        clock, done = Clock(), 0
        for number in range(times):
            if clock.over:
                break
            done += 1
            store, before = folder / f"stop-{number}.db", snapshot(folder)
            server.script(reset=True, latency=chance.choice((0.05, 0.05, 0.3)))
            victim = Victim(*command(source, server, store))
            assert wait_for_a_call(server, 0, victim)
            time.sleep(chance.uniform(0, 0.5))
            victim.kill(chance.choice((signal.SIGINT, signal.SIGTERM)))
            told = time.monotonic()
            time.sleep(0.1)
            then = server.stats()["calls"]
            until(victim.over, patience=10)
            slowest = max(slowest, time.monotonic() - told)
            code = victim.wait()
            books = settled(server)
            late += books["calls"] - then
            if code != 0:  # else it had just finished
                check_exit(code, 130)
                check_run(store, finished=False)
                check_ledger(ledger_of(store), books, complete=True)
                found = RESUME.search(victim.err)
                assert found is not None, f"no resume command: {victim.err}"
                victim = Victim(*shlex.split(found[1]))
                check_exit(victim.wait(), 0)
            check_run(store)
            assert canonical(store) == expected
            books = settled(server)
            check_ledger(ledger_of(store), books, complete=True)
            assert books["answered_twice"] == 0
            check_unlocked(store)
            before.check()
            store.unlink()
    return {"stops": done, "late_calls": late, "slowest": slowest}


def stop_twice(folder: Path, *, times: int, seed: int = 0) -> dict[str, Any]:
    """Two signals while answers take long: seconds from the second to the end."""
    chance, slowest = dice(seed), 0.0
    source = write_rows(folder / "rows.jsonl", make_rows(20))
    with ServerProcess(latency=30.0) as server:
        clock, done = Clock(), 0
        for number in range(times):
            if clock.over:
                break
            done += 1
            store = folder / f"twice-{number}.db"
            server.script(reset=True)
            victim = Victim(*command(source, server, store))
            assert wait_for_a_call(server, 3, victim)
            victim.kill(signal.SIGINT)
            time.sleep(chance.uniform(0.05, 0.4))
            victim.kill(chance.choice((signal.SIGINT, signal.SIGTERM)))
            told = time.monotonic()
            until(victim.over, patience=10)
            slowest = max(slowest, time.monotonic() - told)
            check_exit(victim.wait(), 130)
            assert RESUME.search(victim.err), victim.err
            check_run(store, finished=False)
            check_unlocked(store)
            settled(server)
            check_ledger(ledger_of(store), server.stats())
    return {"stops": done, "slowest": slowest}
