"""Whole runs against servers that nobody here wrote: every run ends with verdicts or typed losses.

llama.cpp's server holds the replies of a tiny model, made here, to JSON by its grammar. llmock
speaks for ten providers, each in its own dialect with its own errors, and says what it thinks of a
client that it has turned away.
"""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from support.commands import run_in_process
from support.llama_server import llama_server
from support.mock_providers import PROVIDERS
from support.tiny_model import write_model

if sys.platform != "linux":
    pytest.skip("the servers are installed on Linux only", allow_module_level=True)

from llmock.testing import LLMockServer

KEY = "canary-0123456789abcdef"
METRICS = "context_relevance,groundedness,answer_relevance"
ROWS, ASKED = 4, 12


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Rows that a judge is asked 3 questions each about, 12 in all."""
    path = tmp_path / "rows.jsonl"
    lines = []
    for number in range(ROWS):
        row = {
            "question": f"When does museum {number} open?",
            "contexts": [f"Museum {number} opens at nine and closes at five."],
            "response": f"Museum {number} opens at nine.",
        }
        lines.append(json.dumps(row))
    path.write_text("\n".join(lines))
    return path


def evaluate(rows: Path, judge: str, url: str, *more: str) -> CompletedProcess[str]:
    return run_in_process(
        rows.parent,
        "evaluate",
        rows,
        "--judge",
        judge,
        "--base-url",
        url,
        "--metrics",
        METRICS,
        "--api-key-env",
        "KEY",
        *more,
        environment={"KEY": KEY, "COLUMNS": "200"},
    )


def scores(rows: Path) -> list[dict[str, Any]]:
    """The scores of the last run, each with the reason of one that is missing."""
    shown = run_in_process(rows.parent, "export", "last", environment={})
    assert shown.returncode == 0, shown.stderr
    return [json.loads(line) for line in shown.stdout.splitlines()]


def losses(rows: Path) -> set[str]:
    """Why scores of the last run are missing; all of them have to be."""
    missing = scores(rows)
    assert len(missing) == ASKED
    assert all(score["value"] is None for score in missing)
    return {score["reason"] for score in missing}


# -- llama.cpp


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture(scope="module")
def llama(model: Path) -> Iterator[str]:
    with llama_server(model) as url:
        yield url


def test_the_grammar_of_llama_cpp_holds_every_reply_to_a_verdict(rows: Path, llama: str) -> None:
    done = evaluate(rows, "llamacpp:tiny", llama, "--force", "--verbose")
    assert done.returncode == 0, done.stderr
    judged = scores(rows)
    assert len(judged) == ASKED
    assert {score["status"] for score in judged} == {"judged"}
    # It closes every text at once, so that no verdict has a reason.
    assert f"{ASKED} verdicts without a rationale" in done.stdout
    assert "from the provider's cache" in done.stdout


def test_a_model_that_talks_without_end_loses_its_verdicts_with_that_reason(
    rows: Path, tmp_path: Path
) -> None:
    with llama_server(write_model(tmp_path / "talks.gguf", closes=False)) as url:
        done = evaluate(rows, "llamacpp:tiny", url, "--force", "--max-tokens", "40")
    assert done.returncode == 3
    assert "E0603" in done.stderr
    (reason,) = losses(rows)
    assert reason.startswith("the reply was cut off at its length limit")


def test_a_context_that_is_too_small_is_said_with_its_numbers(rows: Path, model: Path) -> None:
    with llama_server(model, context=2048) as url:
        done = evaluate(rows, "llamacpp:tiny", url, "--force")
    assert done.returncode == 3
    reasons = losses(rows)
    assert all("exceeds the available context size (1024 tokens)" in why for why in reasons)
    assert "shorten or split the contexts" in done.stdout


@pytest.mark.timing
def test_a_key_that_llama_cpp_rejects_is_one_error_in_three_seconds(
    rows: Path, model: Path
) -> None:
    with llama_server(model, key="another") as url:
        started = time.monotonic()
        done = evaluate(rows, "llamacpp:tiny", url)
        seconds = time.monotonic() - started
    assert done.returncode == 5
    assert "E0403" in done.stderr
    assert seconds < 3


@pytest.mark.timing
def test_a_server_that_is_not_there_is_one_error_in_three_seconds(rows: Path) -> None:
    started = time.monotonic()
    done = evaluate(rows, "llamacpp:tiny", "http://127.0.0.1:9/v1")
    assert done.returncode == 5
    assert "E0405" in done.stderr
    assert time.monotonic() - started < 3


# -- llmock


@pytest.fixture
def mock() -> Iterator[LLMockServer]:
    with LLMockServer() as server:
        yield server


def tell(server: LLMockServer, path: str, body: object = None) -> Any:
    """What the server answers on one of its own pages."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}/_llmock/{path}", data=data)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_each_provider_is_spoken_to_in_its_own_dialect(
    rows: Path, mock: LLMockServer, provider: str
) -> None:
    done = evaluate(rows, f"{provider}:m", mock.url + PROVIDERS[provider], "--force")
    assert done.returncode == 0, done.stderr
    assert {score["status"] for score in scores(rows)} == {"judged"}
    asked = tell(mock, "requests")["requests"]
    assert {request["provider"] for request in asked} == {provider}
    # It has no schemas for Anthropic's models: a reply there becomes readable as a tool call.
    assert ("tool call" in done.stderr) == (provider == "anthropic")


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_client_that_is_turned_away_waits_as_it_is_told_and_buys_nothing_twice(
    rows: Path, mock: LLMockServer, provider: str
) -> None:
    faults = [
        {"type": "fail", "status": 429, "retry_after": 0.4, "times": 2},
        {"type": "fail", "status": 503, "times": 1},
        {"type": "fail", "status": 500, "times": 1},
    ]
    tell(mock, "scenario", {"behaviors": faults})
    done = evaluate(rows, f"{provider}:m", mock.url + PROVIDERS[provider], "--force")
    assert done.returncode == 0, done.stderr
    assert {score["status"] for score in scores(rows)} == {"judged"}
    verdict = tell(mock, "verdict")
    assert verdict["faults_injected"] == 4
    assert (verdict["passed"], verdict["findings"]) == (True, [])


@pytest.mark.parametrize(
    ("provider", "fault", "error"),
    [
        ("openai", {"status": 401}, "E0403"),
        ("anthropic", {"status": 404, "code": "model_not_found"}, "E0404"),
        ("gemini", {"status": 402, "message": "Insufficient Balance"}, "E0408"),
    ],
)
def test_a_wrong_set_up_is_one_question_and_one_error(
    rows: Path, mock: LLMockServer, provider: str, fault: dict[str, Any], error: str
) -> None:
    tell(mock, "scenario", {"behaviors": [{"type": "fail", "times": None, **fault}]})
    done = evaluate(rows, f"{provider}:m", mock.url + PROVIDERS[provider])
    assert (done.returncode, error in done.stderr) == (5, True), done.stderr
    asked = tell(mock, "requests")["requests"]
    questions = [each for each in asked if each["method"] == "POST"]
    assert len(questions) == 1
    assert tell(mock, "verdict")["passed"]


def test_prompts_that_are_too_long_are_losses_of_their_rows(rows: Path, mock: LLMockServer) -> None:
    message = "This model's maximum context length is 128 tokens. Please reduce the length."
    fault = {"type": "fail", "status": 400, "code": "context_length_exceeded", "times": None}
    tell(mock, "scenario", {"behaviors": [fault | {"message": message}]})
    done = evaluate(rows, "openai:m", mock.url + "/v1", "--force")
    assert done.returncode == 3
    assert all("maximum context length is 128 tokens" in why for why in losses(rows))
