"""Did a run keep its promises, whatever was done to it? I1 to I8, checked after every test of
survival.

    before = snapshot()                         # I7
    ...                                         # the run, the fault, the resume
    check_run(store, run_id)                    # I1 rows accounted for, I2 finite numbers, I5 the
    store is sound assert canonical(store, run_id) == expected # I3 the same results as a run that
    nothing happened to check_ledger(ledger, server.stats())        # I4 against the server's own
    bill check_output(done.stdout + done.stderr)     # I6 check_exit(done.returncode, 0)
    # I8 before.check()                              # I7 no process, thread, descriptor, lock or
    temporary file left

Each raises AssertionError with what is wrong. `store` is an open Store or where one lies.
"""

from __future__ import annotations

import gc
import json
import math
import os
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import psutil

from ragassay.core import Ledger, RowResult, RunState, Score, Status
from ragassay.report import row_json
from ragassay.store import Store

EXIT_CODES = {
    0: "finished",
    1: "a gate failed",
    2: "the command or the rows are wrong",
    3: "too little was judged",
    4: "a cap was reached",
    5: "the machine or the server failed",
    6: "there was no row",
    130: "stopped by the user",
    141: "the reader of the output has gone",
}
"""What docs/gates-and-ci.md says of them."""

CANARIES = ("sk-canary-0123456789abcdef", "Bearer sk-canary")
"""Hand the first as the API key; neither may be seen anywhere."""

NOT_RESULTS = frozenset({"latency", "seconds"})
"""Fields that tell times, which no two runs share."""


# -- I1, I2, I5


def check_run(store: Store | str | Path, run_id: str = "last", *, finished: bool = True) -> None:
    """I1, I2, I5. finished: every row must have an end; else rows may be pending."""
    with opened(store) as held:
        run_id = held.resolve(run_id)
        stored = held.run(run_id)
        rows = list(held.rows(run_id))
        total = stored.manifest.rows
        assert len({row.index for row in rows}) == len(rows), "I1: a row is stored twice"
        assert all(0 <= row.index < total for row in rows), (
            "I1: a row that the source does not have"
        )
        scored = sum(row.bad is None and row.done for row in rows)
        bad = sum(row.bad is not None for row in rows)
        pending = total - scored - bad
        assert pending >= 0, f"I1: {scored} scored + {bad} bad rows of {total}"
        if finished:
            assert stored.state is RunState.FINISHED, (
                f"I1: the run is {stored.state}: {stored.stop_reason}"
            )
            assert pending == 0, f"I1: {pending} of {total} rows have no end"
        for row in rows:
            _check_row(row, stored.manifest.metrics)
        _check_numbers(stored.ledger, "the ledger")
        problems = held.check()
        assert not problems, f"I5: {problems[:5]}"


def _check_row(row: RowResult, metrics: tuple[str, ...]) -> None:
    if row.bad is not None:
        assert row.bad.code, f"I1: row {row.id} is bad without a code"
        return
    assert row.sample is not None
    if row.done:
        assert [score.metric for score in row.scores] == list(metrics), (
            f"I1: row {row.id} lacks a score"
        )
    for score in row.scores:
        _check_score(score, row.id)


def _check_score(score: Score, row: str) -> None:
    where = f"{score.metric} of row {row}"
    c = score.counts
    lost = c.abstained + c.unparsed + c.refused + c.failed + c.over_budget
    assert c.asked == c.judged + lost, (
        f"I1: {where}: asked {c.asked}, judged {c.judged}, lost {lost}"
    )
    assert (score.value is None) == (score.status is not Status.JUDGED), (
        f"I1: {where}: {score.status} with {score.value}"
    )
    assert score.value is not None or score.reason or score.status is Status.ABSTAINED, (
        f"I1: {where}: no reason"
    )
    for number in (score.value, *score.extra.values(), *(part.value for part in score.parts)):
        _check_numbers(number, where)


def _check_numbers(value: object, where: str) -> None:
    """I2, through whatever is nested in it."""
    if isinstance(value, float):
        assert math.isfinite(value), f"I2: {where} holds {value}"
    elif isinstance(value, Mapping):
        for item in value.values():
            _check_numbers(item, where)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            _check_numbers(getattr(value, name), where)


# -- I3


def canonical(store: Store | str | Path, run_id: str = "last") -> bytes:
    """I3: the run's results as bytes: a line a row, ids sorted; times, attempts and spend are no
    results.
    """
    with opened(store) as held:
        lines = []
        for row in held.rows(held.resolve(run_id)):
            plain = _without_times(row_json(row))
            lines.append((row.id, json.dumps(plain, sort_keys=True, ensure_ascii=True)))
    return "\n".join(line for _, line in sorted(lines)).encode()


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without_times(item) for name, item in value.items() if name not in NOT_RESULTS
        }
    if isinstance(value, list):
        return [_without_times(item) for item in value]
    return value


# -- I4


def check_ledger(
    ledger: Ledger, books: Mapping[str, Any], *, complete: bool = False, priced: bool = True
) -> None:
    """I4: confirmed <= the server's bill <= confirmed + uncertain, in answers and, when priced, in
    dollars.

    complete: every answer arrived, so that nothing may be uncertain and both are equal. books:
    `LLMServer.stats()`; its price must be the one that the run was given (--price 1,2).
    """
    # A preflight's request is answered and billed as any other.
    answers = int(books["answers"]) + int(books["preflights"])
    calls = ledger.confirmed.calls
    sums = f"{calls} confirmed, {ledger.uncertain_calls} uncertain, the server answered {answers}"
    assert calls <= answers <= calls + ledger.uncertain_calls, f"I4: {sums}"
    if complete:
        assert calls == answers, f"I4: {sums}, though every answer arrived"
    if priced and answers:
        confirmed, uncertain = exact(ledger.confirmed.cost), exact(ledger.uncertain_cost)
        bill = bill_of(books)
        sums = f"${confirmed} confirmed, ${uncertain} uncertain, the server's bill is ${bill}"
        assert confirmed <= bill <= confirmed + uncertain, f"I4: {sums}"
        if complete:
            assert confirmed == bill, f"I4: {sums}, though every answer arrived"


def exact(amount: float | None) -> Decimal:
    """The decimal that a stored amount stands for."""
    return Decimal(0) if amount is None else Decimal(repr(amount))


def ledger_of(store: Store | str | Path, run_id: str = "last") -> Ledger:
    """The run's ledger as it is stored."""
    with opened(store) as held:
        return held.run(held.resolve(run_id)).ledger


def bill_of(books: Mapping[str, Any], price: tuple[str, str] = ("1", "2")) -> Decimal:
    """The server's bill, exactly: tokens times dollars per million."""
    tokens = Decimal(price[0]) * int(books["input_tokens"]) + Decimal(price[1]) * int(
        books["output_tokens"]
    )
    return tokens / 1_000_000


# -- I6, I8


def check_output(text: str, secrets: Iterable[str] = CANARIES) -> None:
    """I6: no secret, no traceback, no control sequence."""
    for secret in secrets:
        assert secret not in text, "I6: a secret is in the output"
    assert "Traceback (most recent call last)" not in text, f"I6: {text[-2000:]}"
    assert "Exception ignored in" not in text, f"I6: {text[-2000:]}"
    assert "never awaited" not in text, f"I6: {text[-2000:]}"


def check_exit(code: int | None, *expected: int) -> None:
    """I8: one of the expected codes, all of which are documented."""
    assert set(expected) <= EXIT_CODES.keys(), f"{expected} are not all documented"
    assert code in expected, f"I8: exit code {code}, expected {expected}"


# -- I7


@dataclass(frozen=True)
class Snapshot:
    """What belonged to this process when it was made."""

    threads: frozenset[str]
    files: frozenset[str]
    children: frozenset[int]
    temporary: frozenset[str]
    folder: Path | None

    def check(self, *, patience: float = 2.0, keep: Iterable[str] = ()) -> None:
        """I7: nothing was left behind; what still ends gets a moment. keep: endings of files that
        may stay.
        """
        end = time.monotonic() + patience
        while (left := self.left(tuple(keep))) and time.monotonic() < end:
            gc.collect()
            time.sleep(0.02)
        assert not left, f"I7: left behind: {left[:10]}"

    def left(self, keep: tuple[str, ...] = ()) -> list[str]:
        """What is there now and was not before."""
        now = snapshot(self.folder)
        found = [f"thread {name}" for name in now.threads - self.threads]
        found += [f"process {pid}" for pid in now.children - self.children if _runs(pid)]
        found += [f"open {path}" for path in now.files - self.files]
        found += [
            f"file {path}"
            for path in now.temporary - self.temporary
            if not path.endswith(keep or ("\0",))
        ]
        return found


def snapshot(folder: Path | None = None) -> Snapshot:
    """This process's threads, open files and children; temporary files of ours here and under
    `folder`.
    """
    threads = frozenset(
        thread.name for thread in threading.enumerate() if thread.name.startswith("ragassay")
    )
    files = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if path.startswith("/") and not path.startswith(("/dev/", "/proc/")) and ".so" not in path:
            files.add(path)
    children = frozenset(child.pid for child in psutil.Process().children(recursive=True))
    return Snapshot(threads, frozenset(files), children, frozenset(_temporary(folder)), folder)


def _temporary(folder: Path | None) -> Iterator[str]:
    """Files that only live while something is written: copies under way, replies not stored yet,
    SQLite's own.
    """
    for path in Path(tempfile.gettempdir()).glob("ragassay-rows-*"):
        yield str(path)
    if folder is not None:
        for path in folder.rglob("*"):
            if (
                path.name.endswith((".partial", ".tmp", "-wal", "-shm", "-journal"))
                or ".replies" in path.name
            ):
                yield str(path)


def _runs(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def check_unlocked(store: Store | str | Path, run_id: str = "last") -> None:
    """I7: nobody holds the run: it can be taken at once."""
    with opened(store) as held:
        run_id = held.resolve(run_id)
        held.acquire(run_id)
        held.release(run_id)


@contextmanager
def opened(store: Store | str | Path) -> Iterator[Store]:
    """The store itself, or one opened for the while."""
    if isinstance(store, Store):
        yield store
        return
    with Store.open(store) as held:
        yield held
