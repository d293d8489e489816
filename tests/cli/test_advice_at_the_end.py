"""What a command advises at the end of a run follows from why verdicts were lost."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from ragassay.testing import Body, LLMServer
from support.commands import run_in_process
from support.faults import make_rows, write_rows
from support.odd_server import Answer, OddServer


@pytest.fixture
def evaluate(tmp_path: Path) -> Any:
    write_rows(tmp_path / "rows.jsonl", make_rows(12))

    def run(
        server: LLMServer, *options: str, metrics: str = "groundedness"
    ) -> CompletedProcess[str]:
        judge = ("--judge", "openai:mock", "--base-url", server.url, "--price", "1,2")
        rows = ("rows.jsonl", "--metrics", metrics, "--store", "s.db")
        environment = {"OPENAI_API_KEY": "k", "COLUMNS": "200"}
        return run_in_process(
            tmp_path, "evaluate", *rows, *judge, *options, environment=environment
        )

    return run


def of_some_rows(fault: str) -> Any:
    def choose(body: Body) -> str | None:
        text = json.dumps(body["messages"])
        return fault if any(f"bridge {n}?" in text.lower() for n in (3, 4, 5)) else None

    return choose


def test_replies_that_max_tokens_cuts_off_need_a_higher_one(evaluate: Any) -> None:
    with LLMServer(fault_for=of_some_rows("length")) as server:
        done = evaluate(server, "--max-tokens", "900")
    assert done.returncode == 0
    assert "3 of 12 verdicts were lost" in done.stderr
    assert "Raise --max-tokens (it is 900), or leave it out" in done.stderr
    assert "--retry-failed" not in done.stderr + done.stdout


def test_texts_that_a_filter_refuses_are_not_to_be_asked_again(evaluate: Any) -> None:
    with LLMServer(fault_for=of_some_rows("filter")) as server:
        done = evaluate(server)
    assert "3 of 12 verdicts were lost" in done.stderr
    assert "a filter of the provider refuses these texts" in done.stderr.lower()
    assert "--retry-failed" not in done.stderr + done.stdout


def test_verdicts_that_two_metrics_share_are_lost_once(evaluate: Any) -> None:
    with LLMServer(fault_for=of_some_rows("400")) as server:
        done = evaluate(server, metrics="groundedness,hallucination")
    assert "3 of 12 verdicts were lost" in done.stderr
    assert "--retry-failed" in done.stderr


def test_the_bill_counts_all_requests_where_some_were_refused(evaluate: Any) -> None:
    seen: set[str] = set()

    def busy_once(body: Body) -> Answer | None:
        text = str(body["messages"])
        if "Harbour" in text or text in seen or len(seen) == 4:
            return None
        seen.add(text)
        return Answer(503, "busy")

    with OddServer(busy_once) as server:
        done = evaluate(server)
    assert server.requests == 12 + 1 + 4
    assert ": 17 requests (13 answered, 4 refused), " in done.stdout


def test_texts_that_the_judge_cannot_read_are_not_to_be_asked_again(tmp_path: Path) -> None:
    row = {
        "question": "Wann öffnet das Museum am Sonntag und was kostet der Eintritt?",
        "contexts": ["Das Museum öffnet am Sonntag um zehn Uhr, der Eintritt kostet acht Euro."],
        "response": "Das Museum öffnet am Sonntag um zehn Uhr, der Eintritt kostet neun Euro.",
    }
    english = {"question": "Who won?", "contexts": ["Rovers won."], "response": "Rovers won."}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n" + json.dumps(english))
    done = run_in_process(tmp_path, "evaluate", "rows.jsonl", "--store", "s.db", environment={})
    # Said once: under the metrics, with what to do below.
    assert "no value in 1 row, judge abstained: language: " in done.stdout
    assert "verdicts were not given" not in done.stderr
    everything = " ".join((done.stdout + done.stderr).split())
    assert "--retry-failed" not in everything
    assert everything.count("--judge openai:MODEL") == 1
