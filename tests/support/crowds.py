"""Several runs at once: one run started twice, a shared store, a lock that was left behind."""

from __future__ import annotations

import platform
import time
from functools import partial
from pathlib import Path
from typing import Any

import ragassay
from ragassay.store import Store
from ragassay.testing import ServerProcess
from support.faults import (
    Clock,
    Victim,
    command,
    dice,
    make_rows,
    refused,
    settled,
    wait_for_a_call,
    write_rows,
)
from support.invariants import canonical, check_exit, check_run, check_unlocked


def twice(folder: Path, *, times: int, seed: int = 0) -> dict[str, Any]:
    """A run that works is resumed: seconds to the refusal. Then its process is killed: seconds to
    the take-over.
    """
    chance, refusal, takeover = dice(seed), 0.0, 0.0
    source = write_rows(folder / "rows.jsonl", make_rows(20))
    with ServerProcess() as server:
        clock, done = Clock(), 0
        for number in range(times):
            if clock.over:
                break
            done += 1
            store = folder / f"twice-{number}.db"
            server.script(reset=True, latency=2.0)
            victim = Victim(*command(source, server, store))
            assert wait_for_a_call(server, 3, victim)
            begun = time.monotonic()
            error = refused(partial(ragassay.resume, store=store))
            refusal = max(refusal, time.monotonic() - begun)
            assert error is not None, "the second start was not refused"
            assert error.code == "E0504", error
            assert str(victim.pid) in str(error), error
            assert platform.node() in str(error), error
            second = Victim("resume", "--store", store)
            check_exit(second.wait(), 5)
            assert str(victim.pid) in second.err, second.err
            time.sleep(chance.uniform(0, 0.2))
            victim.kill()
            victim.wait()
            server.script(latency=0.01)
            begun = time.monotonic()
            with Store.open(store) as held:
                held.acquire(held.resolve("last"))
                takeover = max(takeover, time.monotonic() - begun)
            second = Victim("resume", "--store", store)
            check_exit(second.wait(), 0)
            check_run(store)
            check_unlocked(store)
    return {"times": done, "refusal": refusal, "takeover": takeover}


def eight_runs(folder: Path, *, rows: int, runs: int = 8) -> dict[str, Any]:
    """Runs in one store at once: rows lost or twice, and results unlike those of a run alone."""
    source = write_rows(folder / "rows.jsonl", make_rows(rows))
    lost = wrong = 0
    with ServerProcess(latency=0.01) as server:
        victim = Victim(*command(source, server, folder / "clean.db"))
        check_exit(victim.wait(500), 0)
        expected, calls = canonical(folder / "clean.db"), server.stats()["calls"]
        server.script(reset=True)
        store = folder / "shared.db"
        victims = [
            Victim(*command(source, server, store, "--name", f"n{i}", "--no-cache"))
            for i in range(runs)
        ]
        for victim in victims:
            check_exit(victim.wait(500), 0)
            assert "locked" not in victim.err, victim.err
        books = settled(server)
        with Store.open(store) as held:
            assert len(held.runs(100)) == runs
            ledger_calls = 0
            for number in range(runs):
                run_id = held.resolve(f"n{number}")
                check_run(held, run_id)
                lost += rows - held.run(run_id).done
                wrong += canonical(held, run_id) != expected
                ledger_calls += held.run(run_id).ledger.confirmed.calls
        sums = (
            f"{books['calls']} calls, {books['preflights']} before them, {ledger_calls} in ledgers"
        )
        assert books["calls"] == runs * calls, sums
        assert books["calls"] + books["preflights"] == ledger_calls, sums
    return {"runs": runs, "rows": rows, "lost": lost, "wrong": wrong}


def left_behind(folder: Path) -> dict[str, str]:
    """Locks of processes that are gone: of this machine, of a pid that was given away, of another
    machine.
    """
    from sqlalchemy import update

    from ragassay.store import schema

    source, found = write_rows(folder / "rows.jsonl", make_rows(20)), {}
    with ServerProcess(latency=0.05) as server:
        victim = Victim(*command(source, server, folder / "s.db"))
        assert wait_for_a_call(server, 3, victim)
        victim.kill()
        victim.wait()
    for name, values, free in (
        ("its process is gone", {}, True),
        ("its pid is another process now", {"pid": 1}, True),
        ("of another machine, seen now", {"host": "elsewhere", "seen": time.time()}, False),
        (
            "of another machine, seen an hour ago",
            {"host": "elsewhere", "seen": time.time() - 3600},
            True,
        ),
    ):
        with Store.open(folder / "s.db") as held:
            run_id = held.resolve("last")
            if values:
                held.access.execute(update(schema.run_locks).values(**values))
            begun = time.monotonic()
            error = refused(partial(held.acquire, run_id))
            assert (error is None) is free, f"{name}: {error}"
            found[name] = "taken over" if error is None else "refused"
            if error is None:  # as the process that is gone had it
                held.access.execute(update(schema.run_locks).values(token="gone", pid=2**22 + 1))
                held.locks._held.clear()
                held.locks._end_heartbeat()
            else:
                assert "elsewhere" in str(error)
            assert time.monotonic() - begun < 2
    return found
