"""`ragassay doctor`: the set-up, the servers of this machine, and what a judge can do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ragassay.testing import LLMServer
from support.commands import run_in_process
from support.odd_server import Answer, OddServer


def doctor(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run_in_process(folder, "doctor", *arguments, environment={})


def test_it_says_what_is_installed_and_which_keys_are_set_without_their_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROQ_API_KEY", "canary-0123456789")
    done = doctor(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "keys set: " in done.stdout
    assert "GROQ_API_KEY" in done.stdout
    assert "canary" not in done.stdout
    assert "store: none yet; the first run makes it" in done.stdout


def test_a_server_on_its_usual_port_is_found_with_its_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with LLMServer(models=["qwen3:8b", "gemma3"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        done = doctor(tmp_path, "--json")
    found = json.loads(done.stdout)["servers"]
    assert {"Ollama"} <= {each["title"] for each in found}
    ollama = next(each for each in found if each["title"] == "Ollama")
    assert ollama["judges"] == ["ollama:gemma3", "ollama:qwen3:8b"]


def test_a_judge_is_examined_and_what_its_server_refuses_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with LLMServer(rejects=["json_schema", "temperature"], thinks=2500) as server:
        how = ["--judge", "openai:mock", "--base-url", server.url]
        done = doctor(tmp_path, *how, "--price", "1,2")
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0] == "openai:mock judges the known example: 4 of 4 verdicts right"
    assert f"  texts go to: 127.0.0.1:{server.port}" in lines
    assert "  form of a reply   any JSON object" in lines
    assert "  room to think     8,192 tokens" in lines
    assert "  temperature       no" in lines
    assert "  learnt: no temperature is sent" in lines


def test_a_judge_that_cannot_judge_is_exit_code_5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with LLMServer(answer=lambda body: "I like cats.", known_example=False) as server:
        how = ["--judge", "openai:mock", "--base-url", server.url]
        done = doctor(tmp_path, *how)
        as_json = doctor(tmp_path, *how, "--json")
    assert done.returncode == as_json.returncode == 5
    assert "does not judge the known example: 0 of 4 verdicts right" in done.stdout
    (model,) = json.loads(as_json.stdout)["models"]
    assert "no verdict could be read" in model["problem"]


def test_a_judge_that_does_not_answer_is_shown_with_the_servers_words_and_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with OddServer(lambda body: Answer(400, "daily maintenance window")) as server:
        how = ["--judge", "openai:mock", "--base-url", server.url, "--store", "new.db"]
        done = doctor(tmp_path, *how)
    lines = done.stdout.splitlines()
    assert done.returncode == 5
    assert lines[0] == "openai:mock has not answered the known example"
    assert "answered 400: daily maintenance window" in lines[1]
    assert any("; 1 request, " in line for line in lines)
    assert not any(line.startswith(("  form of", "  temperature")) for line in lines)


def test_only_what_was_seen_is_listed_and_a_new_store_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with LLMServer() as server:
        how = ["--judge", "openai:mock", "--base-url", server.url, "--store", "new.db"]
        done = doctor(tmp_path, *how)
        sent = server.preflights
    assert (done.returncode, sent) == (0, 1)
    assert "  temperature       yes" in done.stdout.splitlines()
    assert "seed" not in done.stdout, "no request had one"
    again = doctor(tmp_path, "--store", "new.db")
    assert "openai:mock at " in again.stdout


def test_the_reply_of_a_judge_that_judges_wrongly_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with LLMServer(answer=lambda body: "I like cats.", known_example=False) as server:
        done = doctor(tmp_path, "--judge", "openai:mock", "--base-url", server.url)
    assert "  its reply begins: I like cats." in done.stdout.splitlines()


def test_a_judge_of_this_machine_has_no_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = doctor(tmp_path, "--judge", "offline")
    assert (done.returncode, done.stdout.strip()) == (
        0,
        "offline runs on this machine: there is no server to ask",
    )
