"""Runs on a machine whose clock jumps, goes backwards or stands still."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from unittest import mock

import ragassay
import ragassay.runs.run_ids
import ragassay.store.access
from ragassay.core import RunState
from ragassay.store import Store
from ragassay.testing import LLMServer
from support.faults import dice, make_rows
from support.invariants import canonical, check_ledger, check_run

HOUR = 3600.0


@contextmanager
def wall_clock(read: Callable[[float], float]) -> Iterator[None]:
    """The wall clock shows what `read` makes of the true time; the monotonic one goes on, as a
    machine's does.
    """
    true = time.time

    class Shown(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.fromtimestamp(read(true()), tz)

    with (
        mock.patch("time.time", new=lambda: read(true())),  # noqa: PT008
        mock.patch.object(ragassay.runs.run_ids, "datetime", Shown),
        mock.patch.object(ragassay.store.access, "datetime", Shown),
    ):
        yield


def clocks(seed: int) -> dict[str, Callable[[float], float]]:
    """Clocks that are wrong in different ways."""
    chance, start = dice(seed), time.time()

    def jumps(now: float) -> float:
        return now + chance.choice((-HOUR, 0, HOUR))

    return {
        "an hour ahead": lambda now: now + HOUR,
        "an hour back": lambda now: now - HOUR,
        "backwards": lambda now: start - 10 * (now - start),
        "frozen": lambda now: start,
        "jumps at every look": jumps,
        "a leap second": lambda now: now - (1.0 if now > start + 0.3 else 0.0),
        "daylight saving": lambda now: now - (HOUR if now > start + 0.2 else 0.0),
        "at the year 1970": lambda now: now - start + 1,
        "in the year 2100": lambda now: now - start + 4102444800,
        "a day an hour": lambda now: start + 24 * (now - start),
    }


def under_wrong_clocks(folder: Path, *, times: int, seed: int = 0) -> dict[str, Any]:
    """Runs in one store under one wrong clock after another, with refusals that say when to come
    back.
    """
    rows, ids, slowest, negative = make_rows(12), list[str](), 0.0, 0
    with LLMServer(latency=0.01) as server:
        options: dict[str, Any] = {
            "judge": "openai:mock",
            "base_url": server.url,
            "price": "1,2",
            "cache": False,
        }
        ragassay.evaluate(rows, store=folder / "clean.db", **options).close()
        expected = canonical(folder / "clean.db")
        for number in range(times):
            name, read = list(clocks(seed + number).items())[number % 10]
            server.script(
                reset=True,
                faults=[
                    "429:0.2",
                    "429-date:1" if number % 5 == 0 else None,
                    "503:0.2",
                    "429-ms:50",
                ],
            )
            with wall_clock(read):
                begun = time.monotonic()
                with ragassay.evaluate(rows, store=folder / "s.db", **options) as run:
                    taken = time.monotonic() - begun
                    slowest = max(slowest, taken)
                    assert run.state is RunState.FINISHED, name
                    ids.append(run.id)
                    summary = run.summary
                    ledger = run.ledger
                    negative += (
                        summary.seconds < 0
                        or ledger.confirmed.seconds < 0
                        or summary.seconds > taken
                    )
                    again = ragassay.resume(run.id, store=folder / "s.db", rows=rows)
                    again.close()
                    newest = Store.open(folder / "s.db")
                    with newest:
                        assert newest.resolve("last") == run.id, (
                            f"{name}: the newest run is not the last"
                        )
            with Store.open(folder / "s.db") as store:
                check_run(store, ids[-1])
                assert canonical(store, ids[-1]) == expected
            check_ledger(ledger, server.stats(), complete=True)
    return {
        "runs": times,
        "in_order": ids == sorted(ids),
        "distinct": len(set(ids)),
        "slowest": slowest,
        "negative": negative,
    }
