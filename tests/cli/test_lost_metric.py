"""A metric of which no verdict was given ends the command with exit code 3, and says why."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from ragassay import open_run
from ragassay.testing import Body, LLMServer
from support.commands import run_in_process
from support.faults import make_rows, write_rows

METRICS = "groundedness,answer_relevance"


def broken_groundedness(body: Body) -> str | None:
    """A server that refuses one rubric for good, such as one whose schema it cannot take."""
    text = json.dumps(body["messages"])
    return "400" if "Bridge" in text and '"groundedness' in json.dumps(body) else None


@pytest.fixture
def evaluate(tmp_path: Path):
    write_rows(tmp_path / "rows.jsonl", make_rows(12))

    def run(server: LLMServer, *options: str, command: str = "evaluate") -> CompletedProcess[str]:
        judge = ("--judge", "openai:mock", "--base-url", server.url, "--price", "1,2")
        rows = ("rows.jsonl", "--metrics", METRICS, *judge) if command == "evaluate" else ()
        environment = {"OPENAI_API_KEY": "k", "COLUMNS": "200"}
        arguments = (command, *rows, "--store", "s.db", *options)
        return run_in_process(tmp_path, *arguments, environment=environment)

    return run


@pytest.fixture
def server():
    with LLMServer(fault_for=broken_groundedness) as running:
        yield running


def test_a_metric_without_any_verdict_is_no_success(evaluate, server) -> None:
    done = evaluate(server)
    assert done.returncode == 3
    assert "12 of 24 verdicts were lost" in done.stderr
    assert "error[E0603]: A metric was lost: no verdict was given." in done.stderr
    assert "why: groundedness: none of 12 (call failed" in done.stderr
    assert "--retry-failed, or judge with another model" in done.stderr
    summary = " ".join(done.stdout.split())
    assert "groundedness is lost, for none of its 12 verdicts was given: call failed" in summary
    assert "Ask again: ragassay resume --retry-failed" in summary


def test_json_and_python_name_the_metric_that_was_lost(evaluate, server, tmp_path) -> None:
    done = evaluate(server, "--json")
    metrics = {metric["metric"]: metric["lost"] for metric in json.loads(done.stdout)["metrics"]}
    assert metrics == {"groundedness": True, "answer_relevance": False}
    with open_run(store=tmp_path / "s.db") as run:
        assert [metric.metric for metric in run.summary.lost_metrics] == ["groundedness"]


def test_asked_again_and_judged_it_is_a_success(evaluate, server) -> None:
    evaluate(server)
    server.fault_for = None
    assert evaluate(server, "--retry-failed", command="resume").returncode == 0


def test_a_gate_that_failed_stays_a_failed_gate(evaluate, server) -> None:
    done = evaluate(server, "--gate", "answer_relevance>=0.999")
    assert done.returncode == 1
    assert "E0602" in done.stderr
    assert "E0603" in done.stderr


def test_one_verdict_of_many_is_enough_to_be_no_lost_metric(evaluate, server) -> None:
    server.fault_for = lambda body: (
        None if "bridge 0?" in json.dumps(body) else broken_groundedness(body)
    )
    done = evaluate(server)
    assert done.returncode == 0
    assert "11 of 24 verdicts were lost" in done.stderr


def test_a_metric_that_applies_to_no_row_is_not_lost(evaluate, server) -> None:
    server.fault_for = None
    done = evaluate(server, "--metrics", "answer_relevance,context_recall")  # of a reference
    assert done.returncode == 0
    assert "does not apply to any row: context_recall" in " ".join(done.stdout.split())
    table = evaluate(server, "--metrics-table", "--metrics", "answer_relevance,context_recall")
    assert "context_recall: not applicable in 12 rows" in " ".join(table.stdout.split())
