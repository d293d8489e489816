"""Does what is spent stay under the cap, whatever happens? Runs with a cap at a random cent, faults
and kills.
"""

from __future__ import annotations

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

from ragassay.core import RunState
from ragassay.testing import ServerProcess
from support.faults import (
    Clock,
    Victim,
    command,
    dice,
    make_rows,
    settled,
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
