"""Panels and cascades through whole runs against a real server with several models. Its books are
the oracle.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import SetupError, Status
from ragassay.testing import LLMServer, ServerProcess, answer_by_words

ROW = {
    "id": "bridge",
    "question": "When was the bridge opened?",
    "contexts": ["The bridge was opened in 1932.", "Tickets for the ferry cost two dollars."],
    "response": "The bridge was opened in 1932.",
}
METRIC = "chunk_relevance"


def rows(n: int) -> list[dict[str, Any]]:
    return [
        ROW | {"id": f"r{i}", "contexts": [f"{c} Note {i}." for c in ROW["contexts"]]}
        for i in range(n)
    ]


def ratings(**of: int) -> Any:
    """An answer for the server: each model gives every item its own rating."""

    def answer(body: dict[str, Any]) -> Any:
        reply = answer_by_words(body)
        if body["model"] in of and isinstance(reply, dict):
            for entry in reply["verdicts"]:
                entry["rating"] = of[body["model"]]
        return reply

    return answer


def by_model(server: LLMServer) -> Counter[str]:
    return Counter(str(body["model"]) for body in server.bodies)


def test_a_panel_of_three_models_votes_and_names_the_votes(tmp_path: Path) -> None:
    with LLMServer(models=["a", "b", "c"], answer=ratings(a=3, b=0, c=3)) as server:
        options: dict[str, Any] = {
            "judge": "panel:openai:a+openai:b+openai:c",
            "base_url": server.url,
            "store": tmp_path / "s.db",
            "price": "1,2",
        }
        expected = (
            ragassay.forecast([ROW], METRIC, **options) if hasattr(ragassay, "forecast") else None
        )
        with ragassay.evaluate([ROW], METRIC, **options) as run:
            (score,) = run["bridge"].scores
            ledger = run.summary.ledger
        books = server.stats()
        assert score.value == 1.0
        assert all("2 of 3 members pass it" in part.rationale for part in score.parts)
        assert all("[openai:b] 0, fails" in part.rationale for part in score.parts)
        asked = by_model(server)
        assert asked["a"] == asked["b"] == asked["c"] > 0
        assert ledger.confirmed.calls == books["calls"]
        assert ledger.confirmed.cost == pytest.approx(books["cost"])
        assert expected is None or expected.calls >= books["calls"]
        before = server.calls
        ragassay.evaluate([ROW], METRIC, **options).close()
        ragassay.evaluate([ROW], METRIC, **options | {"judge": "openai:b"}).close()
        assert server.calls == before  # the panel's verdict and each member's are known


def test_a_judge_that_was_run_alone_before_is_not_asked_again_by_the_panel(tmp_path: Path) -> None:
    with LLMServer(models=["a", "b"]) as server:
        options: dict[str, Any] = {"base_url": server.url, "store": tmp_path / "s.db"}
        ragassay.evaluate([ROW], METRIC, judge="openai:a", **options).close()
        first = by_model(server)
        ragassay.evaluate([ROW], METRIC, judge="panel:offline+openai:a+openai:b", **options).close()
        assert by_model(server)["a"] == first["a"]
        assert by_model(server)["b"] == first["a"]


def test_a_member_whose_calls_fail_has_no_vote_and_two_of_two_decide(tmp_path: Path) -> None:
    with LLMServer(
        models=["a", "b", "c"],
        answer=ratings(a=3, c=3),
        fault_for=lambda body: "400" if body["model"] == "b" else None,
    ) as server:
        with ragassay.evaluate(
            [ROW],
            METRIC,
            judge="panel:openai:a+openai:b+openai:c",
            base_url=server.url,
            store=tmp_path / "s.db",
        ) as run:
            (score,) = run["bridge"].scores
        assert score.value == 1.0
        assert all("1 gave no verdict" in part.rationale for part in score.parts)


def test_two_models_that_differ_leave_the_row_unscored(tmp_path: Path) -> None:
    with LLMServer(models=["a", "b"], answer=ratings(a=3, b=0)) as server:
        with ragassay.evaluate(
            [ROW],
            METRIC,
            judge="panel:openai:a+openai:b",
            base_url=server.url,
            store=tmp_path / "s.db",
        ) as run:
            (score,) = run["bridge"].scores
        assert score.value is None
        assert all(part.status is Status.ABSTAINED for part in score.parts)


def test_a_checked_judges_verdict_is_disputed_in_the_row_and_stands(tmp_path: Path) -> None:
    with LLMServer(models=["m"], answer=ratings(m=0)) as server:
        options: dict[str, Any] = {"base_url": server.url, "store": tmp_path / "s.db"}
        with ragassay.evaluate([ROW], METRIC, judge="offline", **options) as run:
            passes = [part.passed for part in run["bridge"].scores[0].parts]
        assert any(passes)
        with ragassay.evaluate(
            [ROW], METRIC, judge="checked:openai:m>offline@0.01", **options
        ) as run:
            score = run["bridge"].scores[0]
        assert score.value == 0.0
        assert ["disputed" in part.flags for part in score.parts] == passes
        assert all(
            "Disputed: offline says pass" in part.rationale for part in score.parts if part.flags
        )
        calls = server.calls
        with ragassay.evaluate([ROW], METRIC, judge="checked:openai:m>offline@1", **options) as run:
            assert not any(part.flags for part in run["bridge"].scores[0].parts)
        assert server.calls == calls  # both members' verdicts are known
        with ragassay.evaluate(
            [ROW], "groundedness", judge="checked:openai:m>offline@0.01", **options
        ) as run:
            assert "not supported, disputed" in run.html(tmp_path / "report.html").read_text()


def test_a_cascade_asks_the_expensive_model_only_about_what_is_unsure(tmp_path: Path) -> None:
    with LLMServer(models=["m"]) as server:
        options: dict[str, Any] = {"base_url": server.url, "store": tmp_path / "s.db"}
        with ragassay.evaluate([ROW], METRIC, judge="offline", **options) as run:
            sure = [
                max(p.probability, 1 - p.probability)
                for p in run["bridge"].scores[0].parts
                if p.probability
            ]
        between = sum(sure) / 2
        assert min(sure) < between < max(sure)
        with ragassay.evaluate(
            [ROW], METRIC, judge=f"cascade:offline>openai:m@{between:.6f}", **options
        ) as run:
            parts = run["bridge"].scores[0].parts
        assert sorted("escalated" in part.flags for part in parts) == [False, True]
        assert server.stats()["calls"] == 1
        with ragassay.evaluate(
            [ROW], METRIC, judge="cascade:offline>openai:m@0.01", **options
        ) as run:
            assert not any("escalated" in part.flags for part in run["bridge"].scores[0].parts)
        assert server.stats()["calls"] == 1


def test_what_a_cascade_may_cost_at_most_is_told_before_it_runs(tmp_path: Path) -> None:
    from ragassay.runs.forecast import forecast
    from ragassay.runs.options import make_options
    from ragassay.runs.plan import make_plan

    with LLMServer(models=["a", "b"]) as server:
        for uri in (
            "cascade:offline>openai:a@1",
            "cascade:openai:a>openai:b@1",
            "panel:offline+openai:a+openai:b",
        ):
            plan = make_plan(
                [ROW], make_options({"judge": uri, "base_url": server.url, "price": "1,2"}), METRIC
            )
            told = forecast(
                [row for _, row in plan.rows()],
                metrics=plan.metrics,
                judge=plan.judge,
                model=plan.model,
                store=None,
                concurrency=1,
            )
            server.reset()
            ragassay.evaluate(
                [ROW],
                METRIC,
                judge=uri,
                base_url=server.url,
                price="1,2",
                store=tmp_path / f"{len(uri)}.db",
            ).close()
            assert told.calls >= server.calls > 0
            assert told.bound is not None
            assert told.bound >= server.cost


def test_judgments_of_another_sample_are_asked_anew(tmp_path: Path) -> None:
    with LLMServer(models=["a"]) as server:
        options: dict[str, Any] = {
            "judge": "openai:a",
            "base_url": server.url,
            "store": tmp_path / "s.db",
            "temperature": 1.0,
        }
        calls = []
        for sample in (0, 1, 2, 1, 0):
            asyncio.run(ragassay.aevaluate([ROW], METRIC, sample=sample, **options)).close()
            calls.append(server.calls)
        assert calls[0] < calls[1] < calls[2] == calls[3] == calls[4]


def test_a_composed_judge_over_the_network_is_forbidden_where_the_network_is(
    tmp_path: Path,
) -> None:
    with pytest.raises(SetupError, match="E0407"):
        ragassay.evaluate(
            [ROW], METRIC, judge="panel:offline+openai:a", no_network=True, store=tmp_path / "s.db"
        )
    with pytest.raises(SetupError, match="E0410"):
        ragassay.evaluate([ROW], METRIC, judge="panel:offline", store=tmp_path / "s.db")


def test_after_kill_9_a_panel_buys_no_members_answer_twice(tmp_path: Path) -> None:
    data, store = tmp_path / "rows.jsonl", str(tmp_path / "s.db")
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(30)), encoding="utf-8")
    # The offline member's judgments are there already: how many answers wait for its own would
    # depend on what else the machine does.
    ragassay.evaluate(data, METRIC, judge="offline", store=store).close()
    with ServerProcess(latency=0.05) as server:
        options = [
            "--judge",
            "panel:offline+openai:a+openai:b",
            "--base-url",
            server.url,
            "--store",
            store,
        ]
        command = [
            sys.executable,
            "-m",
            "ragassay",
            "evaluate",
            str(data),
            "--metrics",
            METRIC,
            "--concurrency",
            "4",
        ]
        process = subprocess.Popen(
            [*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 300
        while server.stats()["answers"] < 20 and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        answered = server.stats()["answers"]
        assert 20 <= answered < 60
        with ragassay.evaluate(
            data,
            METRIC,
            judge="panel:offline+openai:a+openai:b",
            base_url=server.url,
            store=store,
            concurrency=4,
        ) as run:
            assert run.summary.rows == 30
        books = server.stats()
        assert books["prompts_answered"] == 60
        assert (
            books["answered_twice"] <= 8
        )  # what was in flight, and answers that waited for their twin's


def test_after_ctrl_c_what_a_member_answered_is_kept_and_nothing_is_bought_twice(
    tmp_path: Path,
) -> None:
    data, store = tmp_path / "rows.jsonl", str(tmp_path / "s.db")
    data.write_text("".join(json.dumps(row) + "\n" for row in rows(30)), encoding="utf-8")
    with ServerProcess(latency=0.1) as server:
        options = [
            "--judge",
            "panel:openai:a+openai:b+openai:c",
            "--base-url",
            server.url,
            "--store",
            store,
        ]
        command = [
            sys.executable,
            "-m",
            "ragassay",
            "evaluate",
            str(data),
            "--metrics",
            METRIC,
            "--concurrency",
            "4",
        ]
        process = subprocess.Popen(
            [*command, *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        deadline = time.monotonic() + 300
        while server.stats()["answers"] < 15 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 130
        assert 15 <= server.stats()["answers"] < 90
        again = subprocess.run(
            [sys.executable, "-m", "ragassay", "resume", "--store", store, "--json"],
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert again.returncode == 0, again.stderr
        summary, books = json.loads(again.stdout), server.stats()
        assert summary["rows"] == 30
        assert all(m["coverage"] == 1 for m in summary["metrics"])
        assert (books["prompts_answered"], books["answered_twice"]) == (90, 0)
