"""What a provider does to a run, in the doses of every commit; the larger ones are in
benchmarks/hardening.
"""

import asyncio
import json
import time
from typing import Any

import pytest

import ragassay
from ragassay.core import ChatCall, Message, ProviderError, RunState
from ragassay.dispatch import CallPolicy, LocalBudget
from ragassay.dispatch.dispatcher import Dispatcher, Stopped
from ragassay.metrics import parse
from ragassay.models import connect
from ragassay.runs import Stall, Watchdog
from ragassay.runs.progress import Progress
from ragassay.testing import LLMServer
from support.provider_faults import r07, r09, rows


def test_faults_of_every_kind_end_typed_keep_retry_after_and_multiply_no_calls() -> None:
    result = r07("commit")
    assert result["passed"], json.dumps(result["figures"], indent=1)


@pytest.mark.timing
def test_a_provider_that_is_down_pauses_the_run_which_goes_on_at_full_speed() -> None:
    result = r09("commit")
    assert result["passed"], json.dumps(result["figures"], indent=1)


@pytest.mark.timing
@pytest.mark.parametrize("burst", [5, 50])
def test_a_limit_of_a_provider_that_does_not_say_when_to_come_back_is_used_in_full(
    tmp_path, burst
) -> None:
    limit, calls = 20, 180
    with LLMServer(
        latency=0.05, per_minute=60 * limit, burst=burst, retry_after=None, keep_bodies=False
    ) as server:
        begun = time.monotonic()
        run = ragassay.evaluate(
            list(rows(calls // 3, "limited")),
            judge="openai:mock",
            base_url=server.url,
            price="1,2",
            store=tmp_path / "s.db",
        )
        took = time.monotonic() - begun
        statuses = server.stats()["statuses"]
    assert run.summary.metrics[0].judged == run.summary.metrics[0].asked
    # Every call of the run is refused once at first: none of them may wait for a new call that pays
    # for its retry.
    assert took <= 2 * (calls - burst) / limit
    assert statuses["429"] <= 4 * calls


@pytest.mark.timing
def test_a_provider_that_was_never_up_ends_the_run_and_says_what_it_answers() -> None:
    with LLMServer(down="503") as server:
        policy = CallPolicy(
            timeout=2, probe_interval=1.0, first_answer_limit=1.5, backoff=0.01, attempts=50
        )
        model = connect("openai:mock", base_url=server.url)

        async def main():
            dispatcher = Dispatcher(
                model, LocalBudget(model.price), policy, 16, on_budget=lambda: None
            )
            calls = [dispatcher.call(ChatCall((Message("user", f"{n}"),))) for n in range(40)]
            try:
                return await asyncio.gather(*calls, return_exceptions=True)
            finally:
                dispatcher.close()
                await model.close()

        begun = time.monotonic()
        ends = asyncio.run(main())
        assert time.monotonic() - begun < 10
        assert {type(end) for end in ends} == {ProviderError, Stopped}
        first = next(end for end in ends if isinstance(end, ProviderError))
        assert first.code == "E0411"
        assert "503" in first.why
        assert server.stats()["calls"] <= 60, "40 calls, not 40 times the attempts"


def test_the_run_outlives_an_outage_longer_than_all_attempts_of_a_call(tmp_path) -> None:
    said: list[Any] = []
    told: list[Any] = []
    with LLMServer(latency=0.01) as server:

        def watch(progress) -> None:
            if server.calls > 20 and server.down is None and not said:
                server.down = "reset"
            if progress.traffic.down is not None:
                said.append(progress.traffic.waiting)
                if len(said) > 10:  # two seconds
                    server.down = None

        run = ragassay.evaluate(
            list(rows(60, "outlive")),
            judge="openai:mock",
            base_url=server.url,
            store=tmp_path / "s.db",
            attempts=2,
            concurrency=8,
            watch=watch,
            tell=told.append,
        )
        assert run.state is RunState.FINISHED
        assert all(metric.judged == metric.asked for metric in run.summary.metrics if metric.asked)
        assert server.stats()["answered_twice"] == 0
    assert "the provider is down" in said


def test_a_long_wait_is_told_with_its_row_its_metric_and_its_reason(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("ragassay.runs.watchdog.LONG_WAIT", 0.5)
    monkeypatch.setattr(Watchdog.__init__, "__kwdefaults__", {"long_wait": 0.5, "interval": 0.1})
    told: list[Any] = []
    with LLMServer(faults=["silence"]) as server:
        ragassay.evaluate(
            list(rows(1, "slow")),
            "context_relevance",
            judge="openai:mock",
            base_url=server.url,
            store=tmp_path / "s.db",
            call_timeout=1.5,
            tell=told.append,
        )
    line = next(line for line in told if "has waited" in line)
    assert "slow-0" in line
    assert "context_relevance" in line
    assert "answer" in line


def test_a_computation_that_holds_the_event_loop_is_named() -> None:
    told: list[Any] = []

    progress = Progress(1, computes=(parse("rouge_l"), "7"))

    async def main() -> None:
        with Watchdog(progress, told.append, long_wait=0.3, interval=0.1):
            time.sleep(1.0)
            await asyncio.sleep(0.3)

    asyncio.run(main())
    assert told
    assert "rouge_l on row 7" in told[0]


@pytest.mark.parametrize("seconds", [10.0, 75.4])
def test_a_stall_reads_as_a_sentence(seconds) -> None:
    assert str(Stall("r1", "the judge's answer for faithfulness", seconds)).startswith(
        f"row r1 has waited {seconds:.0f} s"
    )
