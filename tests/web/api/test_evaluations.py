"""An evaluation over HTTP is that of the command: the same options, caps and judgments; it can be
stopped, followed by clients that leave, and gone on with when its server was killed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import ragassay
from ragassay.core import RunState
from ragassay.store import Store
from ragassay.testing import LLMServer
from ragassay.web import WebSettings
from web.api.conftest import ROW, Program, after
from web.conftest import serving


def rows(count: int) -> list[dict]:
    return [
        {**ROW, "id": f"r{n}", "response": f"The bridge number {n} was opened in 1937."}
        for n in range(count)
    ]


def until(happened: Callable[[], bool], seconds: float = 20.0) -> None:
    ends = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.02)


@pytest.fixture
def judged(store: Store, monkeypatch):
    """A program, and the scripted server behind the one judge that its server allows."""
    with LLMServer() as llm:
        monkeypatch.setenv("OPENAI_BASE_URL", llm.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-server")
        with serving(store, WebSettings(judges=("openai:mock",))) as client:
            yield Program(client.server), llm


def test_an_evaluation_gives_the_scores_of_the_python_call(store: Store, tmp_path: Path) -> None:
    given = [
        *rows(3),
        {"id": "bad", "contexts": "{"},
        {**ROW, "response": "It was opened in 1950."},
    ]
    with serving(store) as client:
        program = Program(client.server)
        body = {"rows": given, "metrics": ["groundedness(pass_mark=0.8)"], "slices": ["id"]}
        run = program.value("POST", "/runs", body, status=202)["run_id"]
        name, last = after(f"/runs/{run}/events", program)[-1]
        assert (name, last["state"], last["done"]) == ("end", "finished", 5)
        scores = program.value("GET", f"/runs/{run}/scores")["items"]
        score = program.value(
            "POST",
            "/judge/groundedness",
            {
                "row": {"contexts": ROW["contexts"], "response": "It was opened in 1950."},
                "parameters": {"pass_mark": 0.8},
            },
        )
    with ragassay.evaluate(
        given, "groundedness(pass_mark=0.8)", slices=["id"], store=tmp_path / "other.db"
    ) as own:
        own.export(tmp_path / "own.jsonl")
    lines = (tmp_path / "own.jsonl").read_text(encoding="utf-8").splitlines()
    assert scores == [json.loads(line) for line in lines]
    assert score["value"] == scores[-1]["value"]
    assert list((tmp_path / "posted-rows").iterdir()) == []


def test_a_judge_behind_a_server_takes_a_cap_and_the_key_of_the_server_alone(judged) -> None:
    program, llm = judged
    body = {"rows": rows(1), "metrics": ["groundedness"], "judge": "openai:mock"}
    problem = program.value("POST", "/runs", body, status=422)
    assert (problem["code"], problem["where"]) == ("E1410", "/max_cost")
    assert llm.calls == 0
    run = program.value("POST", "/runs", body | {"max_calls": 1}, status=202)["run_id"]
    last = after(f"/runs/{run}/events", program)[-1][1]
    assert last["calls"] == llm.calls == 1
    assert llm.headers[0]["Authorization"] == "Bearer sk-of-the-server"


def test_a_run_is_stopped_and_what_was_judged_is_kept(judged, store: Store) -> None:
    program, llm = judged
    llm.latency = 0.15
    body = {
        "rows": rows(60),
        "metrics": ["groundedness"],
        "judge": "openai:mock",
        "max_calls": 500,
        "concurrency": 1,
    }
    run = program.value("POST", "/runs", body, status=202)["run_id"]
    until(lambda: store.run(run).done > 0)
    # A third evaluation is told to come again; nothing of it is begun.
    second = program.value("POST", "/runs", body, status=202)["run_id"]
    status, headers, content = program("POST", "/runs", body)
    assert (status, json.loads(content)["code"]) == (429, "E1411")
    assert int(headers["retry-after"]) > 0
    for each in (run, second):
        assert program.value("POST", f"/runs/{each}/cancel", status=202)["run_id"] == each
        name, last = after(f"/runs/{each}/events", program)[-1]
        assert (name, last["state"]) == ("end", "interrupted")
    done = store.run(run).done
    assert 0 < done < 60
    until(lambda: program("POST", f"/runs/{run}/cancel")[0] == 409)
    # It goes on with the command or from Python: the rows that were posted are still there.
    before = llm.calls
    llm.latency = 0
    with ragassay.resume(run, store=store.location) as resumed:
        assert resumed.state is RunState.FINISHED
        assert resumed.store.run(run).done == 60
    assert llm.calls - before <= 60


def test_a_client_that_leaves_a_stream_gives_its_place_back(judged, store: Store) -> None:
    program, llm = judged
    llm.latency = 0.2
    body = {
        "rows": rows(20),
        "metrics": ["groundedness"],
        "judge": "openai:mock",
        "max_calls": 100,
        "concurrency": 1,
    }
    run = program.value("POST", "/runs", body, status=202)["run_id"]
    streams = program.server.application.api.streams
    head = (
        f"GET /api/v1/runs/{run}/events HTTP/1.1\r\nHost: 127.0.0.1:{program.server.port}\r\n"
        f"Authorization: Bearer {program.server.settings.token}\r\n\r\n"
    )
    left = [socket.create_connection(("127.0.0.1", program.server.port)) for _ in range(5)]
    for connection in left:
        connection.sendall(head.encode())
        assert b"event: progress" in connection.recv(65536) + connection.recv(65536)
    assert streams.taken == 5
    for connection in left:
        connection.close()
    until(lambda: streams.taken == 0)
    # The run went on all the while; the end of the server stops it in order.
    assert store.run(run).state is RunState.RUNNING


@pytest.mark.soak
def test_a_server_that_was_killed_has_lost_nothing(tmp_path: Path, store: Store) -> None:
    with LLMServer() as llm:
        llm.latency = 0.2
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": llm.url,
            "OPENAI_API_KEY": "sk-x",
            "RAGASSAY_WEB_TOKEN": "t" * 30,
        }
        command = [sys.executable, "-m", "ragassay", "serve", "--port", "0", "--store"]
        command += [str(store.location), "--allow-judge", "openai:mock"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )
        assert process.stdout is not None
        port = int(process.stdout.readline().rpartition(":")[2].strip("/\n "))

        class Server:
            settings = WebSettings(token="t" * 30)

        Server.port = port  # type: ignore[attr-defined]
        program = Program(Server())  # type: ignore[arg-type]
        body = {
            "rows": rows(30),
            "metrics": ["groundedness"],
            "judge": "openai:mock",
            "max_calls": 500,
            "concurrency": 1,
        }
        run = program.value("POST", "/runs", body, status=202)["run_id"]
        until(lambda: store.run(run).done > 1)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stdout.close()
        done = store.run(run).done
        llm.latency = 0
        before = llm.calls
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", llm.url)
            patch.setenv("OPENAI_API_KEY", "sk-x")
            with ragassay.resume(run, store=store.location) as resumed:
                assert resumed.state is RunState.FINISHED
                assert resumed.store.run(run).done == 30
        # What was judged was not asked again: one call a row, and what was under way.
        assert llm.calls - before <= 30 - done + 2


def test_a_thousand_requests_at_once_are_answered_or_told_to_come_again(site, monkeypatch) -> None:
    program = Program(site.server)
    # So few that a fast machine, too, has to refuse some.
    monkeypatch.setattr(site.server.application.api.places, "_most", 4)
    found: list[tuple[int, str]] = []
    lock = threading.Lock()
    head = (
        f"GET /api/v1/runs/run1/summary HTTP/1.1\r\nHost: 127.0.0.1:{program.server.port}\r\n"
        f"Authorization: Bearer {program.server.settings.token}\r\nConnection: close\r\n\r\n"
    )

    def crowd(count: int) -> None:
        waiting = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", program.server.port), timeout=60)
            connection.sendall(head.encode())
            waiting.append(connection)
        for connection in waiting:
            text = b""
            while piece := connection.recv(65536):
                text += piece
            connection.close()
            with lock:
                found.append((int(text[9:12]), text.decode()))

    threads = [threading.Thread(target=crowd, args=(100,)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 1000
    assert {status for status, _ in found} <= {200, 429}
    refused = [text for status, text in found if status == 429]
    assert refused
    for text in refused:
        assert "retry-after: 1" in text.lower()
        assert '"code":"E1411"' in text
    assert any(status == 200 for status, _ in found)
    assert program.server.application.api.places.taken == 0
    assert program("GET", "/runs/run1/summary")[0] == 200
