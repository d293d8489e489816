"""Caps hold by what the server itself has counted, whatever it makes of the limits it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import BudgetExhausted, RunState
from ragassay.report import conclude
from ragassay.report.gate import GateResult
from ragassay.report.wording import headline
from ragassay.testing import Body, LLMServer
from support.odd_server import Answer, OddServer

LIMITS = ("max_tokens", "max_completion_tokens")


def rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"row-{n}",
            "question": f"When was library {n} founded?",
            "contexts": [f"Library {n} was founded in 19{n:02}."],
            "response": f"Library {n} was founded in 19{n:02}.",
        }
        for n in range(10, 10 + count)
    ]


def evaluate(server: OddServer, folder: Path, count: int = 40, **options: Any) -> Any:
    settings = {"price": "1,2", "metrics": "groundedness", **options}
    return ragassay.evaluate(
        rows(count), judge="openai:mock", base_url=server.url, store=folder / "s.db", **settings
    )


def refuse_limits(body: Body) -> Answer | None:
    named = next((name for name in LIMITS if name in body), None)
    return None if named is None else Answer(400, f"{named} is not supported by this model")


@pytest.mark.parametrize("count", [8, 40])
@pytest.mark.parametrize("refuse", [refuse_limits, lambda body: None])
def test_replies_longer_than_any_limit_stay_within_a_cap_on_dollars(
    count: int, refuse: Any, tmp_path: Path
) -> None:
    """A reply costs $0.04 at 20,000 tokens; after the first one each is reserved as long."""
    with (
        OddServer(refuse, tokens=20_000) as server,
        evaluate(server, tmp_path, count, max_cost=0.25) as run,
    ):
        assert run.state is RunState.BUDGET
        assert 0.1 < server.billed <= 0.25
        assert run.ledger.confirmed.cost == pytest.approx(server.billed)


@pytest.mark.parametrize("most", [0, 2, 4, 6])
def test_requests_by_which_a_server_is_learnt_count_against_a_cap_on_calls(
    most: int, tmp_path: Path
) -> None:
    refused = ["json_schema", "json_object", "tools", "temperature", "max_tokens"]
    for count in (4, 40):
        folder = tmp_path / str(count)
        folder.mkdir()
        with OddServer(rejects=refused) as server:
            with evaluate(server, folder, count, max_calls=most) as run:
                assert run.state is RunState.BUDGET
            assert server.requests <= most
            with ragassay.resume(store=folder / "s.db", rows=rows(count)) as run:
                assert run.state is RunState.BUDGET
            assert server.requests <= most


def test_pages_with_an_error_are_held_at_what_such_calls_cost(tmp_path: Path) -> None:
    seen: set[str] = set()

    def fails_once(body: Body) -> Answer | None:
        text = str(body["messages"])
        if "Harbour" in text or text in seen:
            return None
        seen.add(text)
        return Answer(502, "<html><h1>502 Bad Gateway</h1></html>")

    with (
        OddServer(fails_once) as server,
        evaluate(server, tmp_path, 12, max_cost=1.0, concurrency=3) as run,
    ):
        assert run.state is RunState.FINISHED
        ledger = run.ledger
    assert ledger.uncertain_calls == 12
    assert ledger.confirmed.cost == pytest.approx(server.billed)
    average = server.billed / 13
    # The first ones, before any row was answered, are held at more.
    assert 12 * average <= ledger.uncertain_cost < 3 * 12 * average


def test_a_cap_says_what_the_next_call_and_the_rest_may_cost(tmp_path: Path) -> None:
    with OddServer() as server:
        options = {"max_cost": 0.05, "metrics": "groundedness,answer_relevance", "concurrency": 2}
        with evaluate(server, tmp_path, 60, **options) as run:
            summary = run.summary
            assert run.state is RunState.BUDGET
            assert summary.pending
            spent = f"${summary.ledger.confirmed.cost:.6g} confirmed"
            assert summary.stop_reason.startswith("the next call, which may cost up to $0.0")
            assert spent in summary.stop_reason
            gates = GateResult((), (), 0)
            (error,) = conclude(summary, gates, resume="ragassay resume x", store="").messages
            reasons = {
                part.reason
                for row in run.rows()
                for score in row.scores
                for part in score.parts
                if part.reason
            }
            assert reasons == {"the cap of $0.05 leaves no room for another call"}
            assert {row.verdict.value for row in summary.worst if row.verdict} <= {"pass", "fail"}
            assert f"{summary.pending:,} not evaluated yet" in headline(summary)
            assert "0 undecided" in headline(summary)
            assert [metric.undecided for metric in summary.metrics] == [0, 0]
            over_budget = [note for note in summary.notes if "over budget" in note]
            assert len(over_budget) == 1
            assert over_budget[0].count("has no value in") == 2
        assert isinstance(error, BudgetExhausted)
        assert error.code == "E0604"
        cap = float(error.fix.split("--max-cost ")[1].split()[0])
        assert f"the {summary.pending} rows left need about $" in error.fix
        with ragassay.resume(store=tmp_path / "s.db", rows=rows(60), max_cost=cap) as run:
            assert run.state is RunState.FINISHED
        assert server.billed <= cap


def told_caps(run: ragassay.Run) -> dict[str, Any]:
    """The caps that the end of a run names for the rows that are left."""
    (error,) = conclude(
        run.summary, GateResult((), (), 0), resume="ragassay resume x", store=""
    ).messages
    assert isinstance(error, BudgetExhausted)
    words = str(error.fix).split()
    caps: dict[str, Any] = {}
    if "--max-calls" in words:
        caps["max_calls"] = int(words[words.index("--max-calls") + 1])
    if "--max-cost" in words:
        caps["max_cost"] = float(words[words.index("--max-cost") + 1])
    return caps


def test_the_cap_that_is_named_leaves_room_for_the_worst_case_of_a_model_that_thinks(
    tmp_path: Path,
) -> None:
    """One call of it is reserved at more than the rows that are left cost together."""
    with LLMServer(thinks=500) as server:
        settings: dict[str, Any] = {
            "judge": "openai:gpt-5",
            "base_url": server.url,
            "price": "1,2",
            "metrics": "groundedness",
            "store": tmp_path / "s.db",
            "max_cost": 0.05,
        }
        with ragassay.evaluate(rows(40), **settings) as run:
            caps = told_caps(run)
        state, cap = RunState.BUDGET, 0.05
        for _ in range(2):
            assert caps["max_cost"] > cap
            cap = caps["max_cost"]
            with ragassay.resume(store=tmp_path / "s.db", rows=rows(40), **caps) as run:
                state = run.state
                if state is RunState.FINISHED:
                    break
                caps = told_caps(run)
        assert state is RunState.FINISHED
        assert server.cost <= cap


def test_what_the_store_gave_for_nothing_is_not_taken_for_what_the_rest_costs(
    tmp_path: Path,
) -> None:
    with LLMServer() as server:
        settings: dict[str, Any] = {
            "judge": "openai:mock",
            "base_url": server.url,
            "store": tmp_path / "s.db",
            "metrics": "groundedness,answer_relevance",
        }
        ragassay.evaluate(rows(30), **settings).close()
        with ragassay.evaluate(rows(50), max_calls=8, **settings) as run:
            assert run.state is RunState.BUDGET
            pending = run.summary.pending
            caps = told_caps(run)
        # Two calls a row; what the rows cost that are left is known within a quarter.
        assert 2 * pending <= caps["max_calls"] - 8 <= 2.5 * pending + 3
