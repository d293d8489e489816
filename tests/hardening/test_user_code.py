"""The user's own code may hang, block, exit or exhaust itself: its row fails in time, and the rest
of the run finishes.
"""

from __future__ import annotations

import _thread
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ragassay
from ragassay import Request
from ragassay.core import SetupError, Status

ROWS = [{"id": str(n), "question": f"q{n}?", "response": f"answer {n}"} for n in range(12)]
SICK = "answer 3"
TIMEOUT = 0.5


def spins() -> None:
    while True:
        pass


def spins_and_swallows() -> None:
    while True:
        try:
            while True:
                time.sleep(0.001)
        except Exception:
            continue


def spawns() -> None:
    for _ in range(20):
        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
    time.sleep(3600)


def recurses(n: int = 0) -> int:
    return recurses(n + 1) + 1


def interrupts() -> None:
    raise KeyboardInterrupt


def fills_the_memory() -> None:
    raise MemoryError


def stops_iterating() -> None:
    raise StopIteration(1.0)


def returns_late() -> None:
    time.sleep(2 * TIMEOUT)


HANGS: dict[str, Callable[[], Any]] = {
    "never returns": lambda: time.sleep(3600),
    "spins": spins,
    "ignores every error": spins_and_swallows,
    "waits on a lock": lambda: _thread.allocate_lock().acquire() and threading.Event().wait(),
    "spawns threads": spawns,
    "returns too late": returns_late,
}
RAISES: dict[str, tuple[Callable[[], Any], str]] = {
    "sys.exit": (lambda: sys.exit(3), "SystemExit"),
    "KeyboardInterrupt": (interrupts, "KeyboardInterrupt"),
    "MemoryError": (fills_the_memory, "MemoryError"),
    "RecursionError": (recurses, "RecursionError"),
    "StopIteration": (stops_iterating, "StopIteration"),
    "an error of ours": (lambda: ragassay.evaluate("nowhere.jsonl"), "E0102"),
}


def sick(what: Callable[[], Any]) -> Any:
    @ragassay.metric(name="mine")
    def mine(response: str) -> bool:
        if response == SICK:
            what()
        return True

    return mine


@pytest.mark.timing
@pytest.mark.parametrize("name", HANGS)
def test_a_metric_that_hangs_fails_on_its_row_at_its_deadline_and_the_rest_is_scored(
    name: str, tmp_path: Path
) -> None:
    called: list[float] = []

    def hang() -> None:
        called.append(time.monotonic())
        HANGS[name]()

    with ragassay.evaluate(
        ROWS, [sick(hang), "app_error"], metric_timeout=TIMEOUT, store=tmp_path / "s.db"
    ) as run:
        took = time.monotonic() - called[0]
        scores = {row.sample.id: row.scores[0] for row in run if row.sample is not None}
        assert run.state == "finished"
    assert took < TIMEOUT + 1
    assert scores["3"].status is Status.FAILED
    assert scores["3"].value is None
    assert scores["3"].reason == f"no score of the metric: it did not return within {TIMEOUT} s"
    assert [scores[str(n)].value for n in range(12) if n != 3] == [1.0] * 11


@pytest.mark.parametrize("name", RAISES)
def test_a_metric_that_exits_or_exhausts_itself_fails_on_its_row_alone(
    name: str, tmp_path: Path
) -> None:
    what, says = RAISES[name]
    with ragassay.evaluate(ROWS, [sick(what)], store=tmp_path / "s.db") as run:
        scores = {row.sample.id: row.scores[0] for row in run if row.sample is not None}
        assert run.state == "finished"
    assert scores["3"].status is Status.FAILED
    assert says in scores["3"].reason
    assert sum(score.value == 1.0 for score in scores.values()) == 11


def test_time_that_a_metric_waits_for_the_judge_or_for_a_thread_is_not_its_own(
    tmp_path: Path,
) -> None:
    @ragassay.metric(name="mine")
    def mine(question: str, response: str) -> Any:
        time.sleep(0.2)
        yield Request("answer_relevance", {"question": question, "response": response})
        return True

    # 24 rows through 8 threads: the last ones wait longer than the deadline, and none is late.
    rows = [{"id": str(n), "question": f"q{n}?", "response": f"answer {n}"} for n in range(24)]
    with ragassay.evaluate(rows, [mine], metric_timeout=TIMEOUT, store=tmp_path / "s.db") as run:
        assert {row.scores[0].status for row in run} == {Status.JUDGED}


def test_both_halves_of_a_metric_that_asks_share_one_deadline(tmp_path: Path) -> None:
    @ragassay.metric(name="mine")
    def mine(question: str, response: str) -> Any:
        time.sleep(0.35)
        yield Request("answer_relevance", {"question": question, "response": response})
        time.sleep(0.35)
        return True

    with ragassay.evaluate(
        ROWS[:1], [mine], metric_timeout=TIMEOUT, store=tmp_path / "s.db"
    ) as run:
        assert run["0"].scores[0].status is Status.FAILED


def test_calls_that_never_come_back_are_bounded(tmp_path: Path) -> None:
    before = threading.active_count()

    @ragassay.metric(name="mine")
    def mine(response: str) -> bool:
        open_end, _held = os.pipe()
        os.read(open_end, 1)  # nobody can end this from outside
        return True

    rows = [{"id": str(n), "response": f"answer {n}"} for n in range(80)]
    with ragassay.evaluate(rows, [mine], metric_timeout=0.05, store=tmp_path / "s.db") as run:
        reasons = [row.scores[0].reason for row in run]
    assert threading.active_count() - before <= 40
    assert sum("did not return within" in reason for reason in reasons) in range(32, 41)
    assert all("did not return" in reason or "was not called" in reason for reason in reasons)


def test_a_forecast_does_not_hang_or_fail_with_a_metric_of_the_users_own(tmp_path: Path) -> None:
    for what in (lambda: time.sleep(3600), lambda: sys.exit(1)):
        found = ragassay.forecast(ROWS, [sick(what)], metric_timeout=0.2, store=tmp_path / "s.db")
        assert found.rows == 12


def test_a_direct_question_fails_at_its_deadline_too(tmp_path: Path) -> None:
    score = ragassay.judge.score(
        sick(lambda: time.sleep(3600)), response=SICK, metric_timeout=0.2, store=tmp_path / "s.db"
    )
    assert score.status is Status.FAILED


def test_the_deadline_must_be_a_time(tmp_path: Path) -> None:
    with pytest.raises(SetupError):
        ragassay.evaluate(ROWS, "app_error", metric_timeout=0, store=tmp_path / "s.db")


def test_the_threads_end_with_the_run(tmp_path: Path) -> None:
    before = {thread.ident for thread in threading.enumerate()}
    ragassay.evaluate(ROWS, [sick(spins)], metric_timeout=0.2, store=tmp_path / "s.db").close()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        left = [
            t
            for t in threading.enumerate()
            if t.ident not in before and t.name == "ragassay-own-code"
        ]
        if not left:
            break
        time.sleep(0.05)
    assert left == []  # also the one that span: it was ended by force


PROGRAM = """
import time
import ragassay

@ragassay.metric
def mine(response):
    import os
    os.read(os.pipe()[0], 1)
    return True
"""


def test_a_program_ends_although_a_call_never_comes_back(tmp_path: Path) -> None:
    (tmp_path / "own_metrics_of_mine.py").write_text(textwrap.dedent(PROGRAM))
    (tmp_path / "rows.jsonl").write_text(
        '{"id": "a", "response": "x"}\n{"id": "b", "response": "y"}\n'
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "ragassay",
            "evaluate",
            "rows.jsonl",
            "-m",
            "own_metrics_of_mine:mine,app_error",
            "--metric-timeout",
            "0.3",
            "--store",
            "s.db",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert "did not return within 0.3 s" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


# -- the application


@pytest.mark.parametrize("name", [name for name in HANGS if name != "returns too late"])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_application_that_hangs_fails_on_its_row_and_the_rest_is_answered(
    name: str, asynchronous: bool, tmp_path: Path
) -> None:
    what = HANGS[name]

    def app(question: str) -> str:
        if question == "q3?":
            what()
        return "It is so."

    async def late(question: str) -> str:
        return app(question)  # it blocks the loop it runs in

    rows = [{"id": str(n), "question": f"q{n}?"} for n in range(12)]
    with ragassay.evaluate(
        rows,
        "app_error",
        app=late if asynchronous else app,
        app_timeout=TIMEOUT,
        app_concurrency=2,
        store=tmp_path / "s.db",
    ) as run:
        errors = {row.sample.id: row.sample.error for row in run if row.sample is not None}
        assert run.state == "finished"
    assert "no answer in" in str(errors["3"])
    # One more may have waited in the loop that was blocked.
    assert sum(error is None for error in errors.values()) >= (10 if asynchronous else 11)


def test_a_signal_stops_a_run_whose_metric_hangs(tmp_path: Path) -> None:
    (tmp_path / "own_metrics_of_mine.py").write_text(
        textwrap.dedent(PROGRAM).replace(
            "import os\n", 'import os\n    open("began", "w").close()\n'
        )
    )
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "response": "x"}\n')
    running = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ragassay",
            "evaluate",
            "rows.jsonl",
            "-m",
            "own_metrics_of_mine:mine",
            "--store",
            "s.db",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 300
    while not (tmp_path / "began").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    began = time.monotonic()
    running.send_signal(signal.SIGTERM)  # as Ctrl-C, which a shell may have its background ignore
    _, said = running.communicate(timeout=300)
    assert running.returncode == 130
    assert (
        time.monotonic() - began < 20
    )  # four seconds of grace and the end of the process; the deadline is 120
    assert "ragassay resume" in said
    assert "Traceback" not in said
