"""The driver with workers that give up, fail or never start; without Ray workers are answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragassay.core import ChatReply, EnvironmentFailure, Ledger, RunState, Spend
from ragassay.distributed.driver import RayEngine, _WorkerHandle
from ragassay.distributed.lease import LeaseUse, SharedBudget
from ragassay.distributed.messages import Heartbeat, PartResult
from ragassay.distributed.parts import Part
from ragassay.runs import ReplyLog

PAID = LeaseUse(sent=40, ledger=Ledger(Spend(40, 400, 200, 0, 0.4)))


def in_a_loop(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """The test, run to its end in an event loop of its own."""

    def run() -> None:
        asyncio.run(test())

    run.__name__ = test.__name__
    return run


class ActorDied(Exception):
    """Stands where Ray's own error does."""


def driver(shared: SharedBudget) -> RayEngine:
    """A driver of one part, whose Ray only knows how to kill."""
    engine = RayEngine.__new__(RayEngine)
    engine._ray = SimpleNamespace(
        exceptions=SimpleNamespace(RayActorError=ActorDied), kill=lambda _: None
    )
    engine._budget, engine._ended_parts, engine.without_usage = shared, Heartbeat(), 0
    engine._folder, engine._journals, engine._parts_ledger = Path("nowhere"), False, None
    engine._log, engine._merging, engine._merges = (
        ReplyLog(Path("nowhere") / "run"),
        asyncio.Lock(),
        set(),
    )
    engine._state, engine._reason, engine._fatal, engine._stopped = (
        RunState.RUNNING,
        "",
        None,
        asyncio.Event(),
    )
    engine._leases_granted = engine._leases_saved = 0
    engine._saving, engine._splitting = asyncio.Lock(), asyncio.Lock()
    engine._save, engine._tell = lambda: None, lambda _: None
    engine._parts = iter([(Part(0, 64), None)])
    return engine


def handle_of(run_part: Callable[..., Any]) -> _WorkerHandle:
    """A worker that reports what it has paid, and ends its part as it is told."""

    def answer(value: Any) -> Any:
        future: Future[Any] = Future()
        future.set_result(value)
        return SimpleNamespace(future=lambda: future)

    worker = _WorkerHandle(1, 4)
    worker.actor = SimpleNamespace(
        run_part=SimpleNamespace(remote=run_part),
        heartbeat=SimpleNamespace(remote=lambda: answer(Heartbeat(rows=10, use=PAID))),
        extend_lease=SimpleNamespace(remote=lambda _: None),
    )
    return worker


@in_a_loop
async def test_a_part_that_a_worker_gave_up_is_driven_again_and_counted_once() -> None:
    shared, calls = SharedBudget(max_calls=1000, max_cost=None, base=Ledger()), list[Ledger]()
    ends = [PartResult(RunState.INTERRUPTED, "the driver is gone", Heartbeat(rows=10, use=PAID))]
    ends.append(PartResult(RunState.FINISHED, "", Heartbeat(rows=64, use=PAID)))

    def run_part(part: Part, rows: Any, lease: Any, spent: Ledger) -> Any:
        calls.append(spent)
        future: Future[Any] = Future()
        future.set_result(ends[len(calls) - 1])
        return SimpleNamespace(future=lambda: future)

    engine = driver(shared)
    await asyncio.wait_for(engine._work(handle_of(run_part)), 10)
    assert calls == [Ledger(), PAID.ledger]
    assert engine._ended_parts.rows == 64
    assert shared.ledger().confirmed.calls == 40


@in_a_loop
async def test_workers_that_give_up_again_and_again_without_a_row_end_the_run_with_a_word() -> None:
    shared, begun = SharedBudget(max_calls=1000, max_cost=None, base=Ledger()), list[int]()
    # Twice no row more than before is borne, a third time is not; a row more is a new beginning.
    rows = [10, 10, 20, 20, 20, 30]

    def run_part(*_: Any) -> Any:
        future: Future[Any] = Future()
        future.set_result(
            PartResult(
                RunState.INTERRUPTED,
                "the driver is gone",
                Heartbeat(rows=rows[len(begun)], use=PAID),
            )
        )
        begun.append(1)
        return SimpleNamespace(future=lambda: future)

    with pytest.raises(
        EnvironmentFailure, match="E0510: 3 workers in a row heard nothing from the driver"
    ) as caught:
        await asyncio.wait_for(driver(shared)._work(handle_of(run_part)), 10)
    assert "the driver is gone" in str(caught.value)
    assert len(begun) == 5
    assert shared.ledger().confirmed.calls == 40


@in_a_loop
async def test_what_a_worker_paid_counts_when_its_part_ends_in_an_error() -> None:
    shared = SharedBudget(max_calls=1000, max_cost=None, base=Ledger())
    future: Future[Any] = Future()
    asyncio.get_running_loop().call_later(
        0.6, lambda: future.set_exception(OSError(28, "No space left"))
    )
    handle = handle_of(lambda *_: SimpleNamespace(future=lambda: future))
    with pytest.raises(OSError, match="No space left"):
        await driver(shared)._work(handle)
    assert shared.ledger().confirmed.calls == 40
    assert handle.actor is None


@in_a_loop
async def test_heartbeats_go_on_while_a_lease_is_written_to_disk() -> None:
    shared, heartbeats = SharedBudget(max_calls=1000, max_cost=None, base=Ledger()), list[int]()
    engine, written, future = driver(shared), threading.Event(), Future[Any]()
    saves: list[int] = []

    def save() -> None:
        saves.append(1)
        if len(saves) > 1:  # the first one is before the part begins
            written.wait(10)

    engine._save = save
    handle = handle_of(lambda *_: SimpleNamespace(future=lambda: future))
    heartbeat = handle.actor.heartbeat.remote

    def counted() -> Any:
        heartbeats.append(len(saves))
        if heartbeats.count(2) == 3:
            future.set_result(PartResult(RunState.FINISHED, "", Heartbeat(rows=64, use=PAID)))
        return heartbeat()

    handle.actor.heartbeat.remote = counted
    try:
        await asyncio.wait_for(engine._work(handle), 8)
    finally:
        written.set()
    assert heartbeats.count(2) == 3


@in_a_loop
async def test_a_stop_while_workers_start_is_no_error() -> None:
    engine = driver(SharedBudget(max_calls=None, max_cost=None, base=Ledger()))
    engine._handles = [_WorkerHandle(1, 1), _WorkerHandle(2, 1)]

    async def start(handle: _WorkerHandle) -> None:
        raise asyncio.CancelledError

    engine._ensure_worker = start  # type: ignore[method-assign]
    await engine._start_workers()
    assert all(
        handle.starting is not None and handle.starting.cancelled() for handle in engine._handles
    )


def test_a_log_that_begins_anew_forgets_what_was_spent_and_keeps_the_replies(
    tmp_path: Path,
) -> None:
    left = ReplyLog(tmp_path / "replies")
    left.begin(Ledger())
    left.arrived(
        left.sent(Decimal("0.01")), "key", ChatReply("text", "stop", "m", Spend(1, 10, 5, 0, 0.005))
    )
    left.close(finished=False)
    log = ReplyLog(tmp_path / "replies")
    assert log.ledger is not None
    assert log.ledger.confirmed.calls == 1
    log.begin(Ledger(), anew=True)
    log.close(finished=False)
    again = ReplyLog(tmp_path / "replies")
    assert again.ledger == Ledger()
    assert again.take("key") is not None


def test_a_shared_budget_is_read_by_one_thread_while_another_opens_parts() -> None:
    shared = SharedBudget(max_calls=10**9, max_cost=None, base=Ledger())
    with shared._lock:
        opening = threading.Thread(target=shared.open, args=("part",))
        opening.start()
        opening.join(0.2)
        assert opening.is_alive()
        assert not shared._open
    opening.join()
    assert shared.ledger() == Ledger()
