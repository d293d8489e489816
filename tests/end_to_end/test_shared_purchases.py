"""Runs of one store that work at the same time, in one process or over several threads."""

from __future__ import annotations

import asyncio
import functools
import json
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

import ragassay
from ragassay import Run
from ragassay.runs import shared_purchases
from ragassay.testing import Body, LLMServer
from support.faults import make_rows

ROWS = make_rows(40)
QUESTIONS = 120  # three a row
CLAIMS = "SELECT (SELECT count(*) FROM claims) + (SELECT count(*) FROM asking_runs)"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


async def evaluate(server: LLMServer, store: Path | str, *, cache: bool = True) -> Run:
    """A run over the rows."""
    return await ragassay.aevaluate(
        ROWS,
        judge="openai:mock",
        base_url=server.url,
        price="1,2",
        concurrency=8,
        store=store,
        cache=cache,
    )


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """The test as a plain function, which runs it in a loop of its own."""

    @functools.wraps(test)
    def run(**fixtures: object) -> None:
        async def scenario() -> None:
            await test(**fixtures)

        asyncio.run(scenario())

    return run


def reused(*runs: Run) -> list[int]:
    return [run.ledger.cached_judgments for run in runs]


def left_over(run: Run) -> int:
    """Claims and asking runs that are still listed."""
    return run.store.access.read(lambda c: c.exec_driver_sql(CLAIMS).scalar_one())


@in_a_loop
async def test_two_runs_in_one_loop_buy_each_answer_once(tmp_path) -> None:
    with LLMServer(latency=0.03) as server:
        one, other = await asyncio.gather(
            evaluate(server, tmp_path / "s.db"), evaluate(server, tmp_path / "s.db")
        )
        assert server.stats()["answers"] == QUESTIONS
    with one, other:
        assert sum(reused(one, other)) == QUESTIONS
        assert one.summary.passed == other.summary.passed
        assert one.summary.scored == other.summary.scored == len(ROWS)
        assert left_over(one) == 0


@in_a_loop
async def test_three_runs_of_which_the_others_come_late_buy_each_answer_once(tmp_path) -> None:
    async def later(seconds: float) -> Run:
        await asyncio.sleep(seconds)
        return await evaluate(server, tmp_path / "s.db")

    with LLMServer(latency=0.1) as server:
        runs = await asyncio.gather(*[later(0.5 * n) for n in range(3)])
        assert server.stats()["answers"] <= 1.02 * QUESTIONS
    for run in runs:
        run.close()


@in_a_loop
async def test_a_run_without_the_cache_neither_waits_nor_is_waited_for(tmp_path) -> None:
    with LLMServer(latency=0.03) as server:
        runs = await asyncio.gather(
            evaluate(server, tmp_path / "s.db"), evaluate(server, tmp_path / "s.db", cache=False)
        )
        assert server.stats()["answers"] >= 2 * QUESTIONS - 10
    assert reused(*runs)[1] == 0
    for run in runs:
        run.close()


@pytest.mark.slow
def test_two_runs_in_threads_over_one_database_buy_each_answer_once(postgres_url) -> None:
    runs: list[Run] = []

    def work() -> None:
        runs.append(asyncio.run(evaluate(server, postgres_url)))

    with LLMServer(latency=0.03) as server:
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.stats()["answers"] <= 1.02 * QUESTIONS
    assert left_over(runs[0]) == 0
    for run in runs:
        run.close()


@in_a_loop
async def test_what_another_run_could_not_have_judged_is_asked_again(tmp_path) -> None:
    """Its refusals are no answers for the second run, which asks by itself."""
    refused = 2  # context relevance and groundedness of the row, both asked by the first run

    def refuses(body: Body) -> str | None:
        again = server.injected["refusal"] >= refused
        return "refusal" if not again and "Bridge 5 is" in json.dumps(body) else None

    with LLMServer(latency=0.1, fault_for=refuses) as server:
        first = asyncio.create_task(evaluate(server, tmp_path / "s.db"))
        while server.injected["refusal"] < refused:
            await asyncio.sleep(0.01)
        done, other = await asyncio.gather(first, evaluate(server, tmp_path / "s.db"))
        assert server.stats()["answers"] <= QUESTIONS + refused + 3
    with done, other:
        assert any(metric.coverage != 1 for metric in done.summary.metrics if metric.asked)
        assert all(metric.coverage == 1 for metric in other.summary.metrics if metric.asked)


@in_a_loop
async def test_nobody_waits_longer_than_a_run_is_patient(tmp_path, monkeypatch) -> None:
    """The first run is never answered; the second asks by itself in the end."""
    soon = property(lambda _: asyncio.get_running_loop().time() + 0.5)
    monkeypatch.setattr(shared_purchases.SharedPurchases, "deadline", soon)
    silent = threading.Event()
    silent.set()
    with LLMServer(fault_for=lambda body: "silence" if silent.is_set() else None) as server:
        first = asyncio.create_task(evaluate(server, tmp_path / "s.db"))
        while server.calls < 8:
            await asyncio.sleep(0.01)
        silent.clear()
        with await evaluate(server, tmp_path / "s.db") as second:
            assert second.state == "finished"
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


@in_a_loop
async def test_a_run_that_is_stopped_waits_for_no_other(tmp_path) -> None:
    silent = threading.Event()
    silent.set()
    with LLMServer(fault_for=lambda body: "silence" if silent.is_set() else None) as server:
        first = asyncio.create_task(evaluate(server, tmp_path / "s.db"))
        while server.calls < 8:
            await asyncio.sleep(0.01)
        second = asyncio.create_task(evaluate(server, tmp_path / "s.db"))
        await asyncio.sleep(1.5)  # it is waiting for the first by now
        for task in (second, first):
            task.cancel()
            (ended,) = await asyncio.wait_for(
                asyncio.gather(task, return_exceptions=True), timeout=10
            )
            assert isinstance(ended, asyncio.CancelledError)


@in_a_loop
async def test_a_run_that_is_alone_claims_nothing(tmp_path, monkeypatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("nobody else is there")

    for method in ("claim", "begin_claiming", "open_to_claim"):
        monkeypatch.setattr(f"ragassay.store.store.Store.{method}", never)
    with LLMServer(latency=0.05) as server, await evaluate(server, tmp_path / "s.db") as run:
        assert run.state == "finished"
        assert server.stats()["answers"] == QUESTIONS
