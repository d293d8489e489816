"""A model that was never asked here is asked about a known example before the rows cost money."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import KnownModel, ProviderError, RunState
from ragassay.models.capabilities import Capabilities
from ragassay.store import Store
from ragassay.testing import Body, LLMServer, ServerProcess, answer_by_words

ROWS = [
    {
        "id": f"row-{n}",
        "question": f"When was library {n} founded?",
        "contexts": [f"Library {n} was founded in 19{n:02}."],
        "response": f"Library {n} was founded in 19{n:02}.",
    }
    for n in range(10, 22)
]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.db") as opened:
        yield opened


def evaluate(server: LLMServer, tmp_path: Path, rows: object = ROWS, **options: Any) -> Any:
    return ragassay.evaluate(
        rows,
        "groundedness",
        judge="openai:mock",
        base_url=server.url,
        store=tmp_path / "s.db",
        **options,
    )


def known(tmp_path: Path) -> KnownModel:
    with Store.open(tmp_path / "s.db") as opened:
        (model,) = opened.known_models()
    return model


def test_what_is_learnt_once_is_known_to_the_next_run(tmp_path: Path) -> None:
    with LLMServer(rejects=["json_schema", "max_tokens", "seed"], thinks=3000) as server:
        with evaluate(server, tmp_path) as run:
            assert run.state is RunState.FINISHED
            (model,) = run.manifest.judge.models
            expected = run.summary.metrics
        assert server.statuses["400"] == 0  # of the rows' requests
        requests = server.preflights
        with evaluate(server, tmp_path, cache=False) as again:
            assert again.summary.metrics == expected
        assert server.preflights == requests
        assert server.calls == 2 * len(ROWS)
    capabilities = Capabilities.from_json(model.capabilities)
    assert (capabilities.format, capabilities.limit) == ("object", "max_completion_tokens")
    assert capabilities.room >= 3000
    assert (model.right, model.asked, model.problem) == (4, 4, "")
    assert known(tmp_path).capabilities == model.capabilities


def test_a_run_of_few_calls_is_not_preceded_by_one_more(tmp_path: Path) -> None:
    with LLMServer() as server:
        evaluate(server, tmp_path, ROWS[:9]).close()
        assert (server.preflights, server.calls) == (0, 9)
        evaluate(server, tmp_path, ROWS[:10]).close()
        assert (server.preflights, server.calls) == (1, 10)


def test_what_a_run_of_few_calls_has_learnt_is_not_refused_again(tmp_path: Path) -> None:
    with LLMServer(rejects=["json_schema", "seed"]) as server:
        evaluate(server, tmp_path, ROWS[:2]).close()
        refused = server.statuses["400"]
        assert refused > 0
        evaluate(server, tmp_path, ROWS[2:4]).close()
        assert server.statuses["400"] == refused


def prose(body: Body) -> str:
    return "What a lovely question about libraries."


def all_alike(body: Body) -> Any:
    answer = answer_by_words(body)
    assert isinstance(answer, dict)
    for entry in answer["verdicts"]:
        entry |= {"rating": 3, "nothing_found": False, "abstention": False}
    return answer


def reversed_(body: Body) -> Any:
    answer = answer_by_words(body)
    assert isinstance(answer, dict)
    for entry in answer["verdicts"]:
        entry |= {"rating": 3 - entry["rating"], "nothing_found": False, "abstention": False}
    return answer


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (prose, "no verdict could be read"),
        (all_alike, "it called all 4 claims supported, and half of them are"),
        (reversed_, "none of its 4 verdicts is right"),
    ],
)
def test_a_model_that_cannot_judge_is_told_before_the_rows_are_asked(
    answer: Any, why: str, tmp_path: Path
) -> None:
    with LLMServer(answer=answer, known_example=False) as server:
        with pytest.raises(ProviderError) as caught:
            evaluate(server, tmp_path)
        assert caught.value.code == "E0419"
        assert why in caught.value.why
        assert "--force" in caught.value.fix
        assert all("Harbour Museum" in str(body["messages"]) for body in server.bodies)
        before = server.calls
        # What is known of it is not asked again, and still stops a run.
        with pytest.raises(ProviderError):
            evaluate(server, tmp_path)
        assert server.calls == before
        with evaluate(server, tmp_path, force=True) as run:
            assert run.summary.rows == len(ROWS)
        assert server.calls >= before + len(ROWS)


def test_a_form_in_which_nothing_can_be_read_gives_way_to_a_simpler_one(tmp_path: Path) -> None:
    def only_without_schema(body: Body) -> Any:
        return "{}" if "response_format" in body else None

    with (
        LLMServer(answer=only_without_schema, known_example=False) as server,
        evaluate(server, tmp_path) as run,
    ):
        assert run.summary.metrics[0].judged == len(ROWS)
    assert known(tmp_path).capabilities["format"] in ("tool", "text")


def test_a_cap_leaves_the_preflight_out_where_it_has_no_room(tmp_path: Path) -> None:
    with LLMServer() as server:
        evaluate(server, tmp_path, max_calls=0).close()
        assert server.preflights + server.calls == 0
        evaluate(server, tmp_path, max_calls=4).close()
        assert server.preflights + server.calls == 4


def test_what_the_known_example_cost_is_in_the_runs_bill(tmp_path: Path) -> None:
    with LLMServer() as server, evaluate(server, tmp_path, price="1,2") as run:
        confirmed = run.ledger.confirmed
        assert confirmed.calls == server.calls + server.preflights == len(ROWS) + 1
        assert confirmed.cost == pytest.approx(server.cost)


def test_a_run_killed_or_stopped_at_the_known_example_knows_what_may_be_billed(
    tmp_path: Path,
) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    with ServerProcess(latency=30.0, known_example=False) as server:
        command = [
            *(sys.executable, "-m", "ragassay", "evaluate", str(data), "--metrics", "groundedness"),
            *("--judge", "openai:mock", "--base-url", server.url, "--price", "1,2", "--store"),
        ]
        killed = at_the_first_call([*command, str(tmp_path / "killed.db")], server)
        killed.kill()
        killed.communicate(timeout=300)
        stopped = at_the_first_call([*command, str(tmp_path / "stopped.db")], server)
        stopped.send_signal(signal.SIGINT)
        assert "To go on: ragassay resume" in stopped.communicate(timeout=300)[1]
        assert stopped.returncode == 130
        server.script(latency=0.0, known_example=True)
        for name in ("killed.db", "stopped.db"):
            with ragassay.resume(store=tmp_path / name) as run:
                assert run.state is RunState.FINISHED
                assert run.ledger.uncertain_calls == 1
                assert run.ledger.uncertain_cost > 0
                assert run.ledger.confirmed.calls == len(ROWS) + 1
    assert not list(tmp_path.glob("*.replies.*"))


def at_the_first_call(command: list[str], server: ServerProcess) -> subprocess.Popen[str]:
    """The command, run as far as to its next request."""
    before = server.stats()["calls"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while server.stats()["calls"] == before:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process


@pytest.mark.parametrize(
    ("settings", "uri", "code"),
    [
        ({"key": "right"}, "openai:mock", "E0403"),
        ({"models": ["a-model"], "strict_models": True}, "openai:mock", "E0404"),
    ],
)
def test_a_set_up_that_cannot_work_costs_one_call(
    settings: dict[str, Any], uri: str, code: str, tmp_path: Path
) -> None:
    with LLMServer(**settings) as server:
        with pytest.raises(ProviderError) as caught:
            evaluate(server, tmp_path)
        assert caught.value.code == code
        assert server.preflights + server.calls == 1


@pytest.mark.timing
def test_an_address_where_nothing_listens_is_told_in_three_seconds(tmp_path: Path) -> None:
    import time

    started = time.monotonic()
    with pytest.raises(ProviderError) as caught:
        ragassay.evaluate(
            ROWS,
            "groundedness",
            judge="openai:mock",
            base_url="http://127.0.0.1:9/v1",
            store=tmp_path / "s.db",
        )
    assert caught.value.code == "E0405"
    assert time.monotonic() - started < 10  # 3 on a machine with nothing else to do


def test_a_known_model_is_replaced_and_comes_back_the_same(store: Store) -> None:
    first = KnownModel("k", "openai:m", "http://h/v1", checked="2026-01-01T00:00:00+00:00")
    later = KnownModel(
        "k",
        "openai:m",
        "http://h/v1",
        right=4,
        asked=4,
        capabilities=Capabilities(format="object", refused_limits=("max_tokens",)).to_json(),
        dropped=("no seed is sent",),
    )
    assert store.known_model("k") is None
    store.put_known_model(first)
    store.put_known_model(later)
    assert store.known_models() == (store.known_model("k"),)
    stored = store.known_model("k")
    assert stored is not None
    assert Capabilities.from_json(stored.capabilities) == Capabilities(
        format="object", refused_limits=("max_tokens",)
    )
    assert stored.dropped == later.dropped
