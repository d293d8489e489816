"""What does a kill cost? `kill -9` at random points of a run and of its resumes, until it is
finished.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from ragassay.store import Store
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
    canonical,
    check_exit,
    check_ledger,
    check_run,
    check_unlocked,
    ledger_of,
    snapshot,
)

ARRIVALS = """
import os, orjson
from hashlib import blake2b
from ragassay.models.http_client import HttpClient
_book = os.open({book!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
_send = HttpClient.send
async def _noted(self, method, url, body, *rest):
    answer = await _send(self, method, url, body, *rest)
    if body is not None and answer[0] == 200:
        prompt = blake2b(orjson.dumps(orjson.loads(body)["messages"]), digest_size=12).hexdigest()
        os.write(_book, (prompt + "\\n").encode())
    return answer
HttpClient.send = _noted
"""
"""Writes down, in the victim, each prompt whose answer it has read to its last byte: the moment
that a reply has arrived, seen below the product's own log.
"""

INSIDE = """
import os, signal
from ragassay.store import Store
_count = {after}
def _dies(method):
    def wrapped(*a, **k):
        global _count
        _count -= 1
        if _count == 0 and {early}:
            os.kill(os.getpid(), signal.SIGKILL)
        result = method(*a, **k)
        if _count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return wrapped
Store.{method} = _dies(Store.{method})
"""
"""Dies just before or just after the store's method is called for the so many-th time."""

COMMIT = """
import os, signal
from sqlalchemy import event
from ragassay.store import sqlite
_engine, _count = sqlite.writer_engine, {after}
def _watched(*a, **k):
    engine = _engine(*a, **k)
    @event.listens_for(engine, "commit")
    def _commit(connection):
        global _count
        _count -= 1
        if _count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return engine
sqlite.writer_engine = _watched
"""
"""Dies between the statements of a transaction and its COMMIT."""


def points(seed: int) -> list[str]:
    """Preludes that die inside a commit, before and after rows and judgments are written, and while
    the run is finalised.
    """
    chance = dice(seed)
    found = [COMMIT.format(after=chance.randint(1, 40)) for _ in range(2)]
    for method in ("put_judgments", "put_rows", "update_run", "release", "create_run", "acquire"):
        most = {"put_judgments": 30, "put_rows": 4, "update_run": 2}.get(method, 1)
        found.append(
            INSIDE.format(
                method=method, after=chance.randint(1, most), early=chance.choice((True, False))
            )
        )
    return found


def kill_runs(
    folder: Path,
    *,
    rows: int,
    kills: int,
    latency: float = 0.02,
    concurrency: int = 8,
    seed: int = 0,
    last: float = 0.4,
) -> dict[str, Any]:
    """Runs of so many rows, each killed until it is finished, until there were so many kills. I1 to
    I8 hold of each.

    last: a kill comes at most so many seconds after the process has sent its first call.
    """
    chance, clock = dice(seed), Clock()
    source = write_rows(folder / "rows.jsonl", make_rows(rows))
    done = runs = resent = arrived_again = 0
    worst = known = 0
    with ServerProcess(latency=latency) as server:
        clean = Victim(*command(source, server, folder / "clean.db", concurrency=concurrency))
        check_exit(clean.wait(), 0)
        expected = canonical(folder / "clean.db")
        calls = server.stats()["calls"]
        while done < kills and not clock.over:
            runs += 1
            store, book = folder / f"run-{runs}.db", folder / f"book-{runs}"
            before = snapshot(folder)
            planned = points(seed + runs)
            chance.shuffle(planned)
            server.script(reset=True)
            known = 0
            first = command(source, server, store, concurrency=concurrency)
            while True:
                arguments = ["resume", "--store", store] if _begun(store) else first
                prelude, sent = ARRIVALS.format(book=str(book)), server.stats()["calls"]
                more = done < kills and not clock.over
                inside = more and bool(planned) and chance.random() < 0.3
                victim = Victim(*arguments, prelude=prelude + (planned.pop() if inside else ""))
                if not inside and more and wait_for_a_call(server, sent, victim):
                    time.sleep(chance.uniform(0, last))
                    victim.kill()
                code = victim.wait()
                books = settled(server)
                check_exit(0 if code == -9 else code, 0)
                done += code == -9
                # What this process had sent and has no reply to: that is what its kill makes
                # another one send again, the next or a later one (rows are not begun in the same
                # order each time).
                arrivals = Counter(book.read_text().split() if book.exists() else ())
                without = sum(books["asked"].values()) - sum(arrivals.values())
                worst, known = max(worst, without - known), without
                if code == 0:
                    break
            check_run(store)
            assert canonical(store) == expected, (
                "I3: the results are not those of the uninterrupted run"
            )
            check_ledger(ledger_of(store), books)
            check_unlocked(store)
            before.check(keep=("-wal", "-shm"))
            resent += books["calls"] - calls
            arrived_again += sum(arrivals.values()) - len(arrivals)
            store.unlink()
            book.unlink()
    return {
        "runs": runs,
        "kills": done,
        "calls_per_run": calls,
        "resent": resent,
        "resent_per_kill": resent / max(1, done),
        "resent_worst": worst,
        "arrived_and_resent": arrived_again,
    }


def _begun(store: Path) -> bool:
    """Whether there is a run to resume."""
    if not store.exists():
        return False
    with Store.open(store) as held:
        return bool(held.runs(1))
