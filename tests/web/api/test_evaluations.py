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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

import ragassay
from ragassay.core import Ledger, RunState
from ragassay.store import Store
from ragassay.testing import LLMServer
from ragassay.web import WebSettings
from ragassay.web.api.operations import runs
from ragassay.web.api.posted_rows import PostedRows, Request
from report.conftest import Maker
from web.api.conftest import ROW, Program, after
from web.conftest import save, serving


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
    # Nor by a cost that is counted by prices of the request's own.
    free = {"max_cost": 1.0, "price": "0,0"}
    problem = program.value("POST", "/runs", body | free, status=422)
    assert (problem["code"], problem["where"]) == ("E1410", "/max_calls")
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
    # It goes on over HTTP, as with the command: the rows that were posted are still there.
    before = llm.calls
    llm.latency = 0
    goes_on = program.value("POST", f"/runs/{run}/resume", {"concurrency": 8}, status=202)
    assert goes_on["driven"]
    assert goes_on["notes"] == [f"goes on: {done} of 60 rows are done"]
    last = after(f"/runs/{run}/events", program)[-1][1]
    assert (last["state"], last["done"]) == ("finished", 60)
    assert llm.calls - before <= 60
    until(lambda: not store.driven(run))
    # There is nothing more to do.
    problem = program.value("POST", f"/runs/{run}/resume", {}, status=409)
    assert (problem["code"], problem["why"]) == ("E1412", "it has finished")


def test_the_same_request_again_is_one_run_and_pays_once(judged, store: Store) -> None:
    program, llm = judged
    llm.latency = 0.15
    body = {
        "rows": rows(24),
        "metrics": ["groundedness"],
        "judge": "openai:mock",
        "max_calls": 500,
        "concurrency": 2,
        "cache": False,
    }
    key = {"Idempotency-Key": "order 7"}

    def post(body: dict) -> tuple[int, dict]:
        status, _, content = program("POST", "/runs", body, key)
        return status, json.loads(content)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(post, [body] * 4))
    assert {status for status, _ in answers} == {202}
    (run,) = {answer["run_id"] for _, answer in answers}
    # Another body is another request, and takes a key of its own.
    status, problem = post(body | {"name": "other"})
    assert (status, problem["code"], problem["where"]) == (422, "E1409", "Idempotency-Key")
    # Stopped in the middle, and sent once more: it goes on, also where its rows were lost.
    until(lambda: store.run(run).done > 0)
    program.value("POST", f"/runs/{run}/cancel", status=202)
    after(f"/runs/{run}/events", program)
    until(lambda: not store.driven(run))
    for left in Path(store.location).with_name("posted-rows").glob("*.jsonl"):
        left.unlink()
    assert post(body)[1]["run_id"] == run
    assert after(f"/runs/{run}/events", program)[-1][1]["done"] == 24
    until(lambda: not store.driven(run))
    asked = llm.calls
    assert post(body)[1]["state"] == "finished"
    assert (llm.calls, store.count_runs()) == (asked, 1)
    assert llm.stats()["answered_twice"] == 0
    status, _, content = program("POST", "/runs", body, {"Idempotency-Key": "k" * 201})
    assert (status, json.loads(content)["where"]) == (422, "Idempotency-Key")


def test_the_stream_of_a_run_whose_process_is_gone_ends(store: Store, make: Maker, monkeypatch):
    save(store, [make.row(0)], "killed", total=5, state=RunState.RUNNING)
    monkeypatch.setattr(runs, "GONE_S", 0.1)
    with serving(store) as client:
        program = Program(client.server)
        name, last = after("/runs/killed/events", program)[-1]
        assert (name, last["state"], last["driven"]) == ("end", "running", False)
        assert (last["done"], last["total"]) == (1, 5)
        # Its rows are wherever it began: nothing of this machine is read for a request.
        problem = program.value("POST", "/runs/killed/resume", {}, status=409)
        assert problem["code"] == "E1412"
        assert "ragassay resume" in problem["remedy"]


def test_what_is_needed_no_more_is_removed_when_the_server_starts(store: Store, make: Maker):
    posted = PostedRows(store)
    kept, finished, orphan, young = (posted.new_file() for _ in range(4))
    for path in (kept, finished, orphan, young):
        posted.write(path, [{"question": "?"}])
    request = Request("old", "digest")
    posted.remember(request, "any")
    (key,) = (kept.parent / "keys").iterdir()
    for path, days in ((orphan, 2), (finished, 0), (kept, 2), (key, 31)):
        then = time.time() - days * 86_400
        os.utime(path, (then, then))
    stopped = replace(make.manifest("stopped", 1), source=str(kept))
    done = replace(make.manifest("done", 1), source=str(finished))
    for manifest in (stopped, done):
        store.create_run(manifest)
    store.update_run("done", state=RunState.FINISHED, stop_reason="", ledger=Ledger(), seconds=0.0)
    posted.tidy()
    assert set(kept.parent.glob("*.jsonl")) == {kept, young}
    assert posted.run_of(request) is None


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


def goes_beyond(store: Store, run: str, done: int) -> bool:
    return store.run(run).done > done


@contextmanager
def server_process(store: Store, llm: LLMServer) -> Iterator[tuple[Program, subprocess.Popen]]:
    """`ragassay serve` over the store in a process of its own, which may be killed."""
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
    server = SimpleNamespace(port=port, settings=WebSettings(token="t" * 30))
    try:
        yield Program(server), process  # type: ignore[arg-type]
    finally:
        process.kill()
        process.wait(120)
        process.stdout.close()


@pytest.mark.soak
def test_a_request_to_a_server_that_was_killed_is_sent_again_and_nothing_is_paid_twice(
    store: Store,
) -> None:
    body = {
        "rows": rows(30),
        "metrics": ["groundedness"],
        "judge": "openai:mock",
        "max_calls": 500,
        "concurrency": 1,
        "cache": False,
    }
    key = {"Idempotency-Key": "order 8"}
    with LLMServer() as llm:
        llm.latency = 0.2
        for _ in range(3):
            with server_process(store, llm) as (program, process):
                run = json.loads(program("POST", "/runs", body, key)[2])["run_id"]
                before = store.run(run).done
                until(partial(goes_beyond, store, run, before + 2))
                process.send_signal(signal.SIGKILL)
                process.wait(120)
        with server_process(store, llm) as (program, _):
            name, last = after(f"/runs/{run}/events", program)[-1]
            assert (name, last["state"], last["driven"]) == ("end", "running", False)
            assert json.loads(program("POST", "/runs", body, key)[2])["run_id"] == run
            name, last = after(f"/runs/{run}/events", program)[-1]
            assert (name, last["state"], last["done"]) == ("end", "finished", 30)
        assert store.count_runs() == 1
        assert llm.stats()["answered_twice"] == 0


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
            connection = socket.create_connection(("127.0.0.1", program.server.port), timeout=300)
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
        thread.join(300)
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
