"""What was asked is not asked again: after a kill, after a cap, and from recorded answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay.core import BudgetExhausted, NothingToDo, SetupError
from ragassay.testing import LLMServer
from stress.test_application import ROWS, TINY, clean, read

SYSTEM = """
import os, time

def answer(question, contexts):
    with open("asked.txt", "a") as log:
        log.write(question + "|" + str(len(contexts)) + "\\n")
    time.sleep(0.02)
    place = question.split()[3]
    return next((c.split()[-1] for c in contexts if place + " bridge" in c), "I do not know.")
"""
OPTIONS = "--noise --numbers 1,3 --kinds same-topic --arms added --app-concurrency 2"


def command(folder: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "ragassay", "stress", "--app", "my_app:answer", "--json"),
        *("--rows", "set.jsonl", "--store", "s.db", *OPTIONS.split()),
    ]


def asked(folder: Path) -> int:
    log = folder / "asked.txt"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_after_kill_9_the_same_command_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "my_app.py").write_text(SYSTEM)
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    env = {**os.environ, "PYTHONPATH": str(Path(ragassay.__file__).parents[1])}
    killed = subprocess.Popen(command(tmp_path), cwd=tmp_path, env=env, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while asked(tmp_path) < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    before = asked(tmp_path)
    assert before >= 20

    done = subprocess.run(command(tmp_path), cwd=tmp_path, env=env, capture_output=True, check=True)
    result = json.loads(done.stdout)
    # 8 questions: 2 clean, 1 without passages, 1 beside (one distractor in front and behind), 3.
    assert result["askings"] == 64
    # Of what was in flight at the kill no answer could be kept: 2 at a time.
    assert 64 <= asked(tmp_path) <= 64 + 2 + 2
    assert result["noise"]["floor"]["right"] == 1.0


def test_a_cap_stops_it_and_a_higher_one_goes_on(tmp_path: Path) -> None:
    calls: list[str] = []

    def system(question: str, contexts: list[str]) -> str:
        calls.append(question)
        return f"It was opened in {read(question, contexts)}"

    with LLMServer() as server:
        options: dict[str, Any] = {
            "judge": "openai:mock",
            "base_url": server.url,
            "store": tmp_path / "s.db",
        }
        with pytest.raises(BudgetExhausted) as stopped:
            ragassay.stress_test(system, ROWS, **TINY, **options, max_calls=6)
        assert stopped.value.code == "E0604"
        assert server.calls <= 6
        result = ragassay.stress_test(system, ROWS, **TINY, **options, max_calls=200)
        # 32 askings, of which 24 are judged; answers alike are judged once.
        assert result.askings == 32
        assert len(calls) == 32
        assert server.stats()["answered_twice"] == 0
        assert result.ledger.confirmed.calls == server.calls + server.preflights
        assert result.metric == "correctness"


def test_recorded_answers_of_a_run_or_a_file_repeat_the_test_without_the_system(
    tmp_path: Path,
) -> None:
    store = tmp_path / "s.db"
    out = tmp_path / "rows.jsonl"
    first = ragassay.stress_test(read, ROWS, **TINY, store=store, out=out)
    of_run = ragassay.stress_test(None, ROWS, **TINY, store=store, recorded=first.run)
    of_file = ragassay.stress_test(None, ROWS, **TINY, store=store, recorded=str(out))
    assert of_run.noise == of_file.noise == first.noise
    assert clean(of_file) == 1.0


def test_planned_rows_can_be_answered_elsewhere(tmp_path: Path) -> None:
    """A system that cannot be called from here: the rows go out, the answers come in."""
    out = tmp_path / "rows.jsonl"
    with pytest.raises(NothingToDo):
        ragassay.stress_test(read, ROWS, **TINY, out=out, confirm=lambda _: False)
    answered = []
    for line in out.read_text().splitlines():
        row = json.loads(line)
        assert "response" not in row
        answered.append(
            json.dumps({"id": row["id"], "response": read(row["question"], row["contexts"])})
        )
    out.write_text("\n".join(answered[:-1]))
    result = ragassay.stress_test(None, ROWS, **TINY, store=tmp_path / "s.db", recorded=str(out))
    # One answer is missing: an error of that row, and no more.
    assert result.errors == {"LookupError: no answer was recorded": 1}


@pytest.mark.parametrize(
    "line", ["not json", '{"response": "x"}', '{"id": "a", "response": 3}', "[]"]
)
def test_a_file_that_holds_no_answers_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    out = tmp_path / "rows.jsonl"
    out.write_text('{"id": "a", "response": "x"}\n' + line)
    with pytest.raises(SetupError) as refused:
        ragassay.stress_test(None, ROWS, **TINY, store=tmp_path / "s.db", recorded=str(out))
    assert refused.value.code == "E1105"
    assert refused.value.where == f"{out}:2"
