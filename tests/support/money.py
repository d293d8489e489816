"""Does what is spent stay under the cap, whatever happens? Runs with a cap at a random cent, faults
and kills.
"""

from __future__ import annotations

import time
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from ragassay.core import RunState
from ragassay.runs import ReplyLog
from ragassay.testing import Body, LLMServer, ServerProcess, answer_by_words
from ragassay.testing.replies import message_of
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
    bill_of,
    check_exit,
    check_ledger,
    check_run,
    exact,
    ledger_of,
    opened,
)

FAULTS = {
    "no_usage": 0.05,
    "500": 0.04,
    "429:0.05": 0.03,
    "truncated": 0.02,
    "reset": 0.02,
    "bad_json": 0.02,
    "502": 0.02,
}


def capped_runs(folder: Path, *, times: int, seed: int = 0, kills: float = 0.25) -> dict[str, Any]:
    """So many runs; a share of them is killed and resumed, once or twice. The bill is the server's
    own.
    """
    chance, source = dice(seed), write_rows(folder / "rows.jsonl", make_rows(25))
    counts = {"runs": 0, "kills": 0, "over": 0, "capped": 0, "finished": 0}
    closest = 0.0
    with ServerProcess(latency=0.005) as server:
        clock = Clock()
        for number in range(times):
            if clock.over:
                break
            store, cents = folder / f"money-{number}.db", chance.randint(1, 25)
            faulty = chance.random() < 0.7
            server.script(
                reset=True, seed=seed * 10_000 + number, fault_rates=FAULTS if faulty else {}
            )
            arguments = command(source, server, store, "--max-cost", cents / 100)
            for _ in range(3):
                sent = server.stats()["calls"]
                victim = Victim(*arguments)
                killed = chance.random() < kills and wait_for_a_call(server, sent, victim)
                if killed:
                    time.sleep(chance.uniform(0, 0.3))
                    victim.kill()
                code = victim.wait()
                books = settled(server)
                counts["over"] += bill_of(books) > Decimal(cents) / 100
                if code != -9:
                    break
                counts["kills"] += 1
                arguments = ["resume", "--store", store]
            if code == -9:
                victim = Victim(*arguments)
                code = victim.wait()
                books = settled(server)
            counts["runs"] += 1
            check_exit(code, 0, 4)
            cap, bill = Decimal(cents) / 100, bill_of(books)
            counts["over"] += bill > cap
            ledger = ledger_of(store)
            assert ledger.confirmed.cost is not None or not ledger.confirmed.calls
            assert exact(ledger.confirmed.cost) + exact(ledger.uncertain_cost) <= cap, (
                f"{ledger} passes {cap}"
            )
            check_ledger(ledger, books)
            with opened(store) as held:
                stored = held.run(held.resolve("last"))
                if code == 4:
                    counts["capped"] += 1
                    assert stored.state is RunState.BUDGET
                    assert f"cap of ${cents / 100:.2f}" in stored.stop_reason, stored.stop_reason
                    closest = max(closest, float(bill / cap))
                else:
                    counts["finished"] += 1
                check_run(held, finished=code == 0)
            store.unlink()
    return {**counts, "closest": closest}


class Received:
    """What the server was asked, and what it bills for each of these calls, answered or not."""

    def __init__(self) -> None:
        self.calls = 0
        self.cost = Decimal(0)

    def add(self, body: Body) -> None:
        """Count a request; as `LLMServer.fault_for`, it asks for no fault."""
        _, _, length = message_of(answer_by_words(body), "", half=False, prose=False)
        input_tokens = max(1, len(orjson.dumps(body)) // 4)
        self.calls += 1
        self.cost += Decimal(input_tokens + 2 * max(1, length // 4)) / 1_000_000


def kills_under_a_cap(
    folder: Path, *, times: int, rows: int = 40, concurrency: int = 32, seed: int = 0
) -> dict[str, Any]:
    """So many runs with a cap that their bill fits, each killed at a random moment and resumed.

    finished: ended with exit code 0; over: their bill passed the cap; uncertain: the largest share
    of what was in flight that the ledger held as uncertain after the kill; missed: kills after
    which it held less than that.
    """
    chance, source = dice(seed), write_rows(folder / "rows.jsonl", make_rows(rows))
    counts = {"runs": 0, "kills": 0, "finished": 0, "over": 0, "missed": 0}
    shares = [0.0]
    clock, received = Clock(), Received()
    with LLMServer(latency=0.05, sigma=0.5, fault_for=received.add, keep_bodies=False) as server:
        clean = folder / "clean.db"
        check_exit(Victim(*_capped(source, server, clean, None, concurrency)).wait(), 0)
        full = bill_of(server.stats())
        while counts["runs"] < times and not clock.over:
            counts["runs"] += 1
            store = folder / f"cut-{counts['runs']}.db"
            received.calls, received.cost = 0, Decimal(0)
            server.script(reset=True, seed=seed + counts["runs"])
            # Where the last call begins there must be room for its worst case, $0.012.
            cap = round(float(full) * chance.uniform(1.4, 2.5), 6)
            kill_at = chance.randint(1, 3 * rows)
            victim = Victim(*_capped(source, server, store, cap, concurrency))
            if until(partial(_has_received, received, kill_at), victim):
                victim.kill()
            code = victim.wait()
            if code == -9:
                counts["kills"] += 1
                until(partial(_nothing_in_flight, server))
                share = _uncertain_share(store, received)
                if share is not None:
                    shares.append(share)
                    counts["missed"] += share < 1
                code = Victim("resume", "--store", store).wait()
            check_exit(code, 0, 4)
            counts["finished"] += code == 0
            ledger, bill = ledger_of(store), bill_of(server.stats())
            counts["over"] += bill > exact(cap)
            assert exact(ledger.confirmed.cost) <= bill
            assert exact(ledger.confirmed.cost) + exact(ledger.uncertain_cost) <= exact(cap)
            check_run(store, finished=code == 0)
            store.unlink()
    return {**counts, "uncertain": max(shares)}


def _has_received(received: Received, calls: int) -> bool:
    return received.calls >= calls


def _nothing_in_flight(server: LLMServer) -> bool:
    return server.in_flight == 0


def _capped(
    source: Path, server: LLMServer, store: Path, cap: float | None, concurrency: int
) -> list[object]:
    caps = () if cap is None else ("--max-cost", cap)
    judge = ("--judge", "openai:mock", "--base-url", server.url, "--price", "1,2")
    return ["evaluate", source, *judge, "--store", store, "--concurrency", concurrency, *caps]


def _uncertain_share(store: Path, received: Received) -> float | None:
    """What a killed run's log holds as uncertain, as a share of what its calls in flight cost; None
    where none was.
    """
    with opened(store) as held:
        run_id = held.resolve("last")
    ledger = ReplyLog(store.with_name(f"ragassay-{run_id}.replies")).ledger
    assert ledger is not None
    in_flight = received.cost - exact(ledger.confirmed.cost)
    if received.calls == ledger.confirmed.calls:
        return None
    return float(exact(ledger.uncertain_cost) / in_flight)
