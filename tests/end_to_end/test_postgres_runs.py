"""Whole runs into PostgreSQL against a real HTTP server, while the database crashes. The server's
bill is the oracle.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from pathlib import Path

import aiohttp
import pytest

import ragassay
from ragassay import api
from ragassay.core import RunState, SetupError
from ragassay.store import sqlite
from ragassay.testing import LLMServer, ServerProcess
from support.invariants import check_ledger
from support.postgres import PASSWORD, Postgres


def rows(count: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"row-{i}",
            "question": f"Where are judgments kept, case {i}?",
            "contexts": [f"Every judgment is written to disk before it is used. Note {i}."],
            "response": f"Judgments are kept on disk in case {i}.",
        }
        for i in range(count)
    ]


def write(path: Path, count: int) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(count)))
    return path


def wait_for_calls(server: ServerProcess, count: int) -> None:
    deadline = time.monotonic() + 300
    while server.stats()["calls"] < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def everything(postgres: Postgres, database: str) -> str:
    """All that a database holds, as text."""
    tables = postgres.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", database)
    found = []
    for (table,) in tables:
        for (row,) in postgres.sql(f"SELECT row_to_json(t)::text FROM {table} t", database):
            found.append(str(row))
    return "\n".join(found)


def test_a_crash_of_the_database_in_a_run_costs_no_call_and_no_judgment(
    postgres: Postgres, tmp_path: Path
) -> None:
    database = postgres.database()
    data = write(tmp_path / "rows.jsonl", 60)
    with ServerProcess(latency=0.05) as server:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "ragassay",
                "evaluate",
                str(data),
                "--judge",
                "openai:mock",
                "--base-url",
                server.url,
                "--store",
                postgres.url(database),
                "--concurrency",
                "4",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        wait_for_calls(server, 30)
        postgres.restart(0.5)
        before = server.stats()["calls"]
        wait_for_calls(server, min(180, before + 10))
        assert postgres.cut(database) >= 1
        out, err = process.communicate(timeout=400)
        books = server.stats()
    assert process.returncode == 0, err
    assert (books["calls"], books["answered_twice"]) == (180, 0)
    every, different = postgres.sql(
        "SELECT count(*), count(DISTINCT (judge, key)) FROM judgments", database
    )[0]
    assert every == different >= 180
    assert postgres.sql("SELECT count(*), count(DISTINCT idx) FROM rows WHERE done", database) == [
        (60, 60)
    ]
    held = everything(postgres, database)
    for secret in (PASSWORD, PASSWORD.encode().hex(), "Canary-7f3a"):
        assert secret not in out + err + held
    assert f"--store {postgres.url(database, None)}" in " ".join(
        out.split()
    )  # what is proposed next finds the run


def test_a_stopped_run_names_a_command_that_goes_on_with_it(
    postgres: Postgres, tmp_path: Path
) -> None:
    database = postgres.database()
    data = write(tmp_path / "rows.jsonl", 10)
    environment = {**os.environ, "PGPASSWORD": PASSWORD}
    with ServerProcess() as server:
        command = [
            sys.executable,
            "-m",
            "ragassay",
            "evaluate",
            str(data),
            "--judge",
            "openai:mock",
            "--base-url",
            server.url,
            "--store",
            postgres.url(database, None),
            "--max-calls",
            "12",
        ]
        stopped = subprocess.run(
            command, capture_output=True, text=True, env=environment, cwd=tmp_path
        )
        assert stopped.returncode == 4, stopped.stderr
        line = next(line for line in stopped.stderr.splitlines() if "ragassay resume" in line)
        named = shlex.split(line[line.index("ragassay resume") :].split(" with a higher")[0])
        resumed = subprocess.run(
            [sys.executable, "-m", *named, "--max-calls", "100"],
            capture_output=True,
            text=True,
            env=environment,
            cwd=tmp_path,
        )
        assert resumed.returncode == 0, resumed.stderr
        assert (server.stats()["calls"], server.stats()["answered_twice"]) == (30, 0)
    assert PASSWORD not in stopped.stdout + stopped.stderr + resumed.stdout + resumed.stderr


def test_a_run_goes_on_from_the_value_that_evaluate_returned(
    postgres: Postgres, tmp_path: Path
) -> None:
    url = postgres.url(postgres.database())
    with LLMServer() as server:
        run = ragassay.evaluate(rows(3), judge="openai:mock", base_url=server.url, store=url)
        assert run.state is RunState.FINISHED
        assert PASSWORD not in run.store_location + repr(run)
        again = ragassay.evaluate(rows(3), judge="openai:mock", base_url=server.url, store=url)
        assert server.stats()["calls"] == 9
        assert ragassay.compare(run, again).both == 3  # opened again with the password
        run.close()
        again.close()


def test_no_call_is_made_while_a_transaction_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: dict[int, int] = {}
    sent: list[int] = []
    original = aiohttp.ClientSession._request
    real_write, real_read = sqlite.SqliteDatabase.write, sqlite.SqliteDatabase.read

    def inside(real):
        def wrapped(self, work):
            def counted(connection):
                thread = threading.get_ident()
                opened[thread] = opened.get(thread, 0) + 1
                try:
                    return work(connection)
                finally:
                    opened[thread] -= 1

            return real(self, counted)

        return wrapped

    async def request(self, *arguments, **named):
        sent.append(opened.get(threading.get_ident(), 0))
        answer = await original(self, *arguments, **named)
        sent.append(opened.get(threading.get_ident(), 0))
        return answer

    monkeypatch.setattr(sqlite.SqliteDatabase, "write", inside(real_write))
    monkeypatch.setattr(sqlite.SqliteDatabase, "read", inside(real_read))
    monkeypatch.setattr(aiohttp.ClientSession, "_request", request)
    with LLMServer() as server:
        ragassay.evaluate(
            rows(10), judge="openai:mock", base_url=server.url, store=str(tmp_path / "s.db")
        ).close()
        # Thirty questions about rows, and the one about the known example.
        assert len(sent) == 2 * (server.calls + server.preflights) == 62
    assert set(sent) == {0}
    assert len(opened) >= 2  # the loop's thread and the journal's both used the store


@pytest.mark.parametrize(
    ("default", "option"),
    [
        ("postgresql://me:secret@host/db", ""),
        ("postgres://me@host/db", ""),
        ("postgresql://me@host/other", " --store postgresql://me@host/db"),
        ("mysql://me:secret@host/db", " --store postgresql://me@host/db"),
        (None, " --store postgresql://me@host/db"),
    ],
)
def test_commands_that_are_proposed_name_the_store_unless_it_is_the_default(
    default: str | None, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if default is not None:
        monkeypatch.setenv("RAGASSAY_STORE", default)
    assert api.resume_command("r1", "postgresql://me@host/db") == f"ragassay resume r1{option}"


def test_a_resume_that_is_refused_forgets_nothing_that_the_killed_run_had_spent(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.url(postgres.database())
    data = write(tmp_path / "rows.jsonl", 200)
    monkeypatch.chdir(tmp_path)
    with ServerProcess(latency=0.1) as server:
        monkeypatch.setenv("A_KEY", "sk-test")
        process = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-m",
                    "ragassay",
                    "evaluate",
                    str(data),
                    "--metrics",
                    "groundedness",
                ),
                *(
                    "--judge",
                    "openai:mock",
                    "--base-url",
                    server.url,
                    "--api-key-env",
                    "A_KEY",
                    "--price",
                    "1,2",
                ),
                *("--store", url, "--concurrency", "16"),
            ]
        )
        wait_for_calls(server, 80)
        process.kill()
        process.wait()
        monkeypatch.delenv("A_KEY")
        with pytest.raises(SetupError) as caught:
            ragassay.resume(store=url)
        assert caught.value.code == "E0402"
        monkeypatch.setenv("A_KEY", "sk-test")
        with ragassay.resume(store=url, max_calls=150) as run:
            assert run.state is RunState.BUDGET
            ledger = run.ledger
        books = server.stats()
        check_ledger(ledger, books)
        assert books["calls"] <= 150


def test_a_log_of_before_the_run_was_worked_on_elsewhere_is_not_believed(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two folders stand for two machines: the first's log is of before the second's calls."""
    url = postgres.url(postgres.database())
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    data = write(tmp_path / "rows.jsonl", 200)
    with ServerProcess(latency=0.1) as server:

        def killed_after(calls: int, folder: Path, *command: str) -> None:
            process = subprocess.Popen(
                [sys.executable, "-m", "ragassay", *command, "--store", url], cwd=folder
            )
            wait_for_calls(server, calls)
            time.sleep(3)  # the ledger is written every second, on a busy machine later
            process.kill()
            process.wait()

        judge = (
            "--judge",
            "openai:mock",
            "--base-url",
            server.url,
            "--price",
            "1,2",
            "--concurrency",
            "2",
        )
        killed_after(20, here, "evaluate", str(data), "--metrics", "groundedness", *judge)
        killed_after(90, there, "resume", "last")
        monkeypatch.chdir(here)
        with ragassay.resume(store=url, max_calls=1000) as run:
            assert run.state is RunState.FINISHED
            ledger = run.ledger
        check_ledger(ledger, server.stats())
