"""Whole runs through a provider's batches, over HTTP. The server's books say what was bought, and
how often.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import ragassay
from ragassay.core import ProviderError, RunState, SetupError
from ragassay.models import batch as batches
from ragassay.models import batch_api
from ragassay.testing import LLMServer
from support.batch_server import BatchProcess, BatchServer

CHUNKS = (
    "The store is one SQLite file. Every judgment is written to disk before it is used.",
    "A run that was stopped goes on with ragassay resume. Nothing that was judged is asked again.",
)
COMMAND = """
import sys
import ragassay.models.batch as b
b.LINGER, b.FIRST_POLL = 0.2, 0.2
from ragassay.cli import main
sys.argv = ["ragassay", *sys.argv[1:]]
sys.exit(main())
"""


def rows(n):
    return [
        {
            "id": f"row-{i}",
            "question": f"Where are judgments kept, case {i}?",
            "contexts": [f"{c} Note {i}." for c in CHUNKS],
            "response": (
                f"Judgments are kept in one SQLite file in case {i}. They are written to disk"
                " before use."
            ),
        }
        for i in range(n)
    ]


@pytest.fixture(autouse=True)
def _hasty(monkeypatch) -> None:
    monkeypatch.setattr(batches, "LINGER", 0.15)
    monkeypatch.setattr(batches, "FIRST_POLL", 0.05)


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "s.db")


def evaluate(server, data, store, **options):
    options = {"batch": True, "price": "0.5,1", **options}
    return ragassay.evaluate(data, judge="openai:mock", base_url=server.url, store=store, **options)


def results(run):
    """Everything that came of the rows, without what it cost."""
    return [(row.id, row.scores, row.diagnosis) for row in run]


def usual(data, tmp_path, **options):
    """The same without batches, once the model is known: through batches no example is asked."""
    with LLMServer() as server:
        settings = {
            "judge": "openai:mock",
            "base_url": server.url,
            "store": tmp_path / "usual.db",
            "price": "1,2",
            "cache": False,
            **options,
        }
        ragassay.evaluate(data, **settings).close()
        with ragassay.evaluate(data, **settings) as run:
            return results(run), run.ledger


def test_a_run_through_batches_says_the_same_at_half_of_the_price(store, tmp_path) -> None:
    expected, dear = usual(rows(20), tmp_path)
    with BatchServer(batch_latency=0.2) as server, evaluate(server, rows(20), store) as run:
        books = server.stats()
        assert results(run) == expected
        ledger, options = run.ledger, run.manifest.options
    assert (books["calls"], books["batches"], options["batch"]) == (0, 1, True)
    assert books["lines"] == ledger.confirmed.calls == 60
    assert (books["answered_twice"], books["bought_twice"], ledger.uncertain_calls) == (0, 0, 0)
    assert ledger.confirmed.cost == pytest.approx(books["cost"], abs=1e-9)
    assert ledger.confirmed.cost == pytest.approx(dear.confirmed.cost / 2, rel=0.01)


def test_flows_with_several_steps_take_a_batch_a_step(store, tmp_path) -> None:
    options = {"metrics": "groundedness,answer_relevance_reverse", "claims": "llm"}
    expected, _ = usual(rows(10), tmp_path, **options)
    with (
        BatchServer(batch_latency=0.1) as server,
        evaluate(server, rows(10), store, **options) as run,
    ):
        assert results(run) == expected
        assert server.stats()["batches"] == 2


@pytest.mark.parametrize("fault", ["duplicates", "strays", "malformed"])
def test_lines_in_any_order_twice_or_of_nobody_change_nothing(store, tmp_path, fault) -> None:
    expected, _ = usual(rows(10), tmp_path)
    with BatchServer(batch_faults=[fault]) as server, evaluate(server, rows(10), store) as run:
        books = server.stats()
        assert results(run) == expected
        assert run.ledger.confirmed.calls == 30
    assert (books["batches"], books["answered_twice"]) == (1, 0)


def test_an_expired_batch_keeps_what_it_answered_and_the_rest_is_asked_once_more(
    store, tmp_path
) -> None:
    expected, _ = usual(rows(10), tmp_path)
    with BatchServer(batch_faults=["expire"]) as server, evaluate(server, rows(10), store) as run:
        books = server.stats()
        assert results(run) == expected
    assert (books["batches"], books["lines"], books["answered_twice"]) == (2, 30, 0)


def test_a_batch_that_expires_twice_is_not_sent_for_ever(store) -> None:
    with (
        BatchServer(batch_faults=["expire"] * 9) as server,
        evaluate(server, rows(10), store) as run,
    ):
        assert server.stats()["batches"] == 2
        assert run.state is RunState.FINISHED
        assert (
            0
            < sum(m.judged for m in run.summary.metrics)
            < sum(m.asked for m in run.summary.metrics)
        )
        assert run.ledger.confirmed.calls == server.stats()["lines"] == 22


def test_a_batch_that_somebody_cancelled_is_not_sent_again_until_it_is_asked_for(
    store, tmp_path
) -> None:
    expected, _ = usual(rows(10), tmp_path)
    with BatchServer(batch_faults=["cancel"]) as server:
        with evaluate(server, rows(10), store) as run:
            assert server.stats()["batches"] == 1
        with ragassay.resume(run.id, store=store, rows=rows(10), retry_failed=True) as again:
            assert results(again) == expected
        assert (server.stats()["lines"], server.stats()["answered_twice"]) == (30, 0)


def test_a_line_that_is_left_out_may_have_been_billed_and_is_asked_again(store, tmp_path) -> None:
    expected, _ = usual(rows(10), tmp_path)
    with BatchServer(batch_faults=["missing"]) as server, evaluate(server, rows(10), store) as run:
        assert results(run) == expected
        assert (run.ledger.confirmed.calls, run.ledger.uncertain_calls) == (30, 1)


def test_lines_that_fail_for_now_go_into_the_next_batch(store, tmp_path) -> None:
    expected, _ = usual(rows(10), tmp_path)
    faults = ["500", "429", None, "503", *[None] * 26]
    with BatchServer(faults=faults) as server, evaluate(server, rows(10), store) as run:
        books = server.stats()
        assert results(run) == expected
        assert run.ledger.retries == 3
    assert (books["batches"], books["lines"], books["answered_twice"]) == (2, 30, 0)


def test_a_line_that_is_refused_for_good_is_that_rows_loss(store) -> None:
    with (
        BatchServer(faults=["400", *[None] * 29]) as server,
        evaluate(server, rows(10), store) as run,
    ):
        assert server.stats()["batches"] == 1
        assert sum(m.asked - m.judged for m in run.summary.metrics) >= 1
        assert run.state is RunState.FINISHED


def test_what_the_server_does_not_take_is_learnt_from_a_batch(store, tmp_path) -> None:
    expected, _ = usual(rows(5), tmp_path)
    with (
        BatchServer(rejects=["max_tokens", "temperature"]) as server,
        evaluate(server, rows(5), store) as run,
    ):
        assert results(run) == expected
        assert (server.stats()["batches"], server.stats()["lines"]) == (3, 15)


def test_looks_that_fail_never_end_a_run(store, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(batch_api, "LONGEST_PAUSE", 0.1)
    expected, _ = usual(rows(5), tmp_path)
    faults = ["500", "reset", "429", "503", "404", None, "500", "reset"]
    with (
        BatchServer(batch_latency=0.1, look_faults=faults) as server,
        evaluate(server, rows(5), store) as run,
    ):
        assert results(run) == expected
        assert (server.stats()["batches"], server.stats()["lines"]) == (1, 15)
        assert not server.look_faults


def test_orders_that_are_refused_for_now_or_answered_by_nobody_are_not_given_twice(
    store, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(batch_api, "LONGEST_PAUSE", 0.1)
    expected, _ = usual(rows(5), tmp_path)
    with (
        BatchServer(batch_faults=["429", "500", "lost"]) as server,
        evaluate(server, rows(5), store) as run,
    ):
        assert results(run) == expected
        assert (server.stats()["batches"], server.stats()["lines"]) == (1, 15)


def test_an_order_is_not_looked_for_among_batches_of_long_ago(store, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(batch_api, "LONGEST_PAUSE", 0.1)
    with BatchServer(batch_faults=["500"]) as server:
        for n in range(250):
            name = f"batch_old_{n}"
            server._batches[name] = {
                "id": name,
                "created_at": n,
                "metadata": None,
                "begun": 0.0,
                "files": {},
                "counts": {"completed": 0},
                "ends": "completed",
                "errors": None,
            }
        with evaluate(server, rows(2), store) as run:
            assert run.state is RunState.FINISHED
        assert server.stats()["looks"] <= 4  # a page of the list, looks at the batch, its file


@pytest.mark.parametrize("status", ["400", "401", "403", "302", "501"])
def test_answers_that_cannot_be_fetched_stay_at_the_provider_and_are_not_bought_again(
    store, tmp_path, status
) -> None:
    expected, _ = usual(rows(5), tmp_path)
    with BatchServer(file_faults=[status] * 2) as server:
        with pytest.raises(ProviderError, match="E0412") as caught:
            evaluate(server, rows(5), store)
        assert "batch_1 are there and cannot be fetched" in str(caught.value)
        assert [one.ledger.uncertain_calls for one in ragassay.list_runs(store=store)] == [15]
        with pytest.raises(ProviderError, match="E0412"):  # nor may the one who resumes
            ragassay.resume("last", store=store, rows=rows(5))
        assert [one.ledger.uncertain_calls for one in ragassay.list_runs(store=store)] == [15]
        with ragassay.resume("last", store=store, rows=rows(5)) as run:
            assert run.state is RunState.FINISHED
            assert results(run) == expected
            assert (run.ledger.confirmed.calls, run.ledger.uncertain_calls) == (15, 0)
            assert run.ledger.confirmed.cost == pytest.approx(server.stats()["cost"], abs=1e-9)
        assert (server.stats()["batches"], server.stats()["lines"]) == (1, 15)


@pytest.mark.parametrize("status", ["400", "501"])
def test_a_batch_that_cannot_be_looked_at_ends_the_run_and_is_not_bought_again(
    store, tmp_path, monkeypatch, status
) -> None:
    monkeypatch.setattr(batch_api, "LONGEST_PAUSE", 0.1)
    expected, _ = usual(rows(5), tmp_path)
    with BatchServer(batch_latency=0.1, look_faults=[status, "500", *[status] * 3]) as server:
        with pytest.raises(ProviderError, match="E0412"):
            evaluate(server, rows(5), store)
        assert server.stats()["looks"] == 5
        with ragassay.resume("last", store=store, rows=rows(5)) as run:
            assert results(run) == expected
        assert (server.stats()["batches"], server.stats()["lines"]) == (1, 15)


def test_a_file_that_is_there_a_moment_after_its_batch_is_waited_for(store, tmp_path) -> None:
    expected, _ = usual(rows(5), tmp_path)
    with BatchServer(file_faults=["404", "404"]) as server, evaluate(server, rows(5), store) as run:
        assert results(run) == expected
        assert (server.stats()["batches"], server.stats()["lines"]) == (1, 15)
        assert not server.file_faults


@pytest.mark.parametrize(
    "faults",
    [
        {"file_faults": ["404"] * 3},
        {"file_faults": ["410"] * 3},
        {"look_faults": ["404", "410", "404"]},
        {"batch_faults": ["no_file"]},
    ],
)
def test_answers_that_are_gone_are_bought_again_only_when_it_is_asked_for(
    store, tmp_path, faults
) -> None:
    expected, _ = usual(rows(5), tmp_path)
    with BatchServer(**faults) as server:
        with evaluate(server, rows(5), store) as run:
            assert (server.stats()["batches"], run.ledger.uncertain_calls) == (1, 15)
            assert sum(m.judged for m in run.summary.metrics) == 0
        with ragassay.resume(run.id, store=store, rows=rows(5), retry_failed=True) as again:
            assert results(again) == expected
        assert server.stats()["batches"] == 2


@pytest.mark.parametrize(
    "faults", [{"upload_faults": [None, "413"]}, {"batch_faults": [None, "400"]}]
)
def test_a_later_batch_that_is_refused_ends_the_run_and_its_rows_stay_open(
    store, tmp_path, faults
) -> None:
    options = {"metrics": "groundedness,answer_relevance_reverse", "claims": "llm"}
    expected, _ = usual(rows(5), tmp_path, **options)
    with BatchServer(**faults) as server:
        with pytest.raises(ProviderError, match="E0412"):
            evaluate(server, rows(5), store, **options)
        with ragassay.resume("last", store=store, rows=rows(5)) as run:
            assert run.state is RunState.FINISHED
            assert results(run) == expected
            assert run.ledger.confirmed.calls == server.stats()["lines"]
        assert (server.stats()["batches"], server.stats()["answered_twice"]) == (2, 0)


def test_a_batch_that_fails_validation_ends_the_run_before_more_is_sent(store) -> None:
    with BatchServer(batch_faults=["invalid"]) as server:
        with pytest.raises(ProviderError, match="E0412") as caught:
            evaluate(server, rows(5), store)
        assert "not parseable" in str(caught.value)
        assert "(line 1)" in str(caught.value)
        assert "ragassay resume" in str(caught.value)
        assert server.stats()["batches"] == 1


def test_a_server_without_batches_is_told_apart(store) -> None:
    with LLMServer() as server, pytest.raises(ProviderError, match="has no batch API"):
        evaluate(server, rows(2), store)


def test_a_wrong_key_ends_the_run(store, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-wrong-wrong")
    with BatchServer(key="right") as server, pytest.raises(ProviderError, match="E0403"):
        evaluate(server, rows(2), store)


def test_a_server_that_is_not_there_ends_the_run(store, monkeypatch) -> None:
    monkeypatch.setattr(batch_api, "LONGEST_PAUSE", 0.05)
    with BatchServer() as server:
        gone = server.url
    with pytest.raises(ProviderError, match="E0405"):
        ragassay.evaluate(rows(2), judge="openai:mock", base_url=gone, store=store, batch=True)


def test_too_many_tokens_at_once_are_sent_in_parts_one_after_the_other(store, tmp_path) -> None:
    expected, _ = usual(rows(10), tmp_path)
    with BatchServer(most_lines=8) as server, evaluate(server, rows(10), store) as run:
        books = server.stats()
        assert results(run) == expected
    assert (books["lines"], books["answered_twice"]) == (30, 0)
    assert books["statuses_of_batches"].count("completed") == 4


def test_a_full_batch_is_sent_and_the_next_one_begun(store, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(batches, "MAX_CALLS", 12)
    expected, _ = usual(rows(10), tmp_path)
    with BatchServer(batch_latency=0.1) as server, evaluate(server, rows(10), store) as run:
        assert results(run) == expected
        assert (server.stats()["batches"], server.stats()["lines"]) == (3, 30)


def test_a_cap_on_cost_is_kept_with_a_whole_batch_in_hand(store) -> None:
    with BatchServer(batch_latency=0.1) as server:
        run = evaluate(server, rows(24), store, max_cost=0.012)
        with run:
            assert run.state is RunState.BUDGET
            assert 0 < server.stats()["cost"] <= 0.012
            assert run.ledger.confirmed.cost == pytest.approx(server.stats()["cost"], abs=1e-9)
        with ragassay.resume(run.id, store=store, rows=rows(24), max_cost=1.0) as rest:
            assert rest.state is RunState.FINISHED
        assert (server.stats()["lines"], server.stats()["answered_twice"]) == (72, 0)


def test_a_run_that_does_not_wait_leaves_and_resume_collects(store, tmp_path) -> None:
    expected, _ = usual(rows(10), tmp_path)
    with BatchServer(batch_latency=3.0) as server:
        with evaluate(server, rows(10), store, wait=False) as run:
            assert run.state is RunState.INTERRUPTED
            assert "batch batch_1: " in run.stop_reason
            assert run.ledger.uncertain_calls == 30
        with ragassay.resume(run.id, store=store, rows=rows(10), wait=False) as early:
            assert early.state is RunState.INTERRUPTED
            assert early.ledger.uncertain_calls == 30
        with ragassay.resume(run.id, store=store, rows=rows(10)) as late:
            assert late.state is RunState.FINISHED
            assert results(late) == expected
            assert (late.ledger.confirmed.calls, late.ledger.uncertain_calls) == (30, 0)
            assert late.ledger.confirmed.cost == pytest.approx(server.stats()["cost"], abs=1e-9)
        assert (server.stats()["batches"], server.stats()["lines"]) == (1, 30)


@pytest.mark.parametrize("judge", ["offline", "panel:openai:a+openai:b"])
def test_batches_are_for_one_llm_judge(store, judge) -> None:
    with pytest.raises(SetupError, match="E0104"):
        ragassay.evaluate(
            rows(2), judge=judge, base_url="http://127.0.0.1:9/v1", store=store, batch=True
        )


def test_a_kill_in_the_second_step_costs_neither_step_again(store, tmp_path, monkeypatch) -> None:
    """The process is torn away, as far as a test can in its own: nothing is closed, nothing is
    said.
    """
    options = {"metrics": "groundedness,answer_relevance_reverse", "claims": "llm"}
    expected, _ = usual(rows(10), tmp_path, **options)
    kept = batches.BatchModel._save
    seen = []

    async def torn(self, record) -> None:
        await kept(self, record)
        seen.append(record.state)
        if seen.count("submitted") == 2:
            raise KeyboardInterrupt

    with BatchServer(batch_latency=0.5) as server:
        with monkeypatch.context() as patched:
            patched.setattr(batches.BatchModel, "_save", torn)
            with pytest.raises(KeyboardInterrupt):
                evaluate(server, rows(10), store, **options)
        with ragassay.resume("last", store=store, rows=rows(10)) as run:
            assert results(run) == expected
            assert run.ledger.confirmed.calls == server.stats()["lines"]
            assert run.ledger.uncertain_calls == 0
        assert (server.stats()["batches"], server.stats()["answered_twice"]) == (2, 0)


def test_a_batch_that_does_not_end_is_given_up_and_collected_when_it_is_asked_for(
    store, tmp_path, monkeypatch
) -> None:
    expected, _ = usual(rows(4), tmp_path)
    with BatchServer(batch_latency=3600) as server:
        monkeypatch.setattr(batches, "PATIENCE", 0.5)
        with evaluate(server, rows(4), store) as run:
            assert (server.stats()["batches"], run.ledger.uncertain_calls) == (1, 12)
            assert sum(m.judged for m in run.summary.metrics) == 0
        server.batch_latency = 0.0
        with ragassay.resume(run.id, store=store, rows=rows(4), retry_failed=True) as late:
            assert results(late) == expected
            assert (late.ledger.confirmed.calls, late.ledger.uncertain_calls) == (12, 0)
        assert (server.stats()["batches"], server.stats()["lines"]) == (1, 12)


def test_not_to_wait_is_for_batches(store) -> None:
    with pytest.raises(SetupError, match="E0104"):
        ragassay.evaluate(rows(2), store=store, wait=False)


# -- processes


def start(*words):
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def wait_for(server, count, process, what="batches") -> None:
    deadline = time.monotonic() + 300
    while server.stats()[what] < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("fault", [None, "lost"])
def test_after_kill_9_another_process_collects_what_was_paid(tmp_path, fault) -> None:
    data, store = tmp_path / "rows.jsonl", tmp_path / "s.db"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(30)), encoding="utf-8")
    expected, _ = usual(str(data), tmp_path)
    with BatchProcess(batch_latency=1.5, batch_faults=[fault]) as server:
        words = ("--judge", "openai:mock", "--base-url", server.url, "--price", "0.5,1", "--batch")
        process = start("evaluate", data, *words, "--store", store)
        wait_for(server, 1, process)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        with ragassay.resume("last", store=store) as run:
            books = server.stats()
            assert run.state is RunState.FINISHED
            assert results(run) == expected
            assert (run.ledger.confirmed.calls, run.ledger.uncertain_calls) == (90, 0)
            assert run.ledger.confirmed.cost == pytest.approx(books["cost"], abs=1e-9)
    assert (books["batches"], books["lines"], books["answered_twice"], books["bought_twice"]) == (
        1,
        90,
        0,
        0,
    )


@pytest.mark.timing
def test_ctrl_c_leaves_the_batch_at_once_and_says_how_to_go_on(tmp_path) -> None:
    data, store = tmp_path / "rows.jsonl", tmp_path / "s.db"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(10)), encoding="utf-8")
    with BatchProcess(batch_latency=3.0) as server:
        words = ("--judge", "openai:mock", "--base-url", server.url, "--batch", "--store", store)
        process = start("evaluate", data, *words)
        wait_for(server, 1, process, "looks")
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        _, err = process.communicate(timeout=10)
        assert time.monotonic() - begun < 2
        assert process.returncode == 130
        assert "batches at the provider go on" in err
        command = (
            next(line for line in err.splitlines() if "ragassay resume" in line)
            .split("ragassay ")[1]
            .split()
        )
        resumed = start(*command)
        _, err = resumed.communicate(timeout=300)
        assert resumed.returncode == 0, err
        assert "30 calls are at the provider already" in err
        books = server.stats()
    assert (books["batches"], books["lines"], books["answered_twice"]) == (1, 30, 0)
