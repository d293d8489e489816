"""How the user's application is run on rows: what it may be and return, its errors and latency, and
that it is paid once.
"""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Never

import pytest

import ragassay
from ragassay.core import AppUsage, Context, Sample, SetupError
from ragassay.runs.application import open_application, read_answer
from support.present import present

ROW = Sample("r", question="When?", contexts=(Context("known"),))
QUICK = "answer_relevance,app_error,app_latency"


def answer(function, row=ROW, **options):
    application = open_application(function, **{"timeout": 5.0, "concurrency": 2, **options})
    try:
        return asyncio.run(application.answer(row))
    finally:
        application.close()


# -- what it may return


@pytest.mark.parametrize(
    ("returned", "response", "contexts"),
    [
        ("in 1932", "in 1932", (Context("known"),)),
        (("in 1932", ["a", "b"]), "in 1932", (Context("a"), Context("b"))),
        ({"answer": "x", "contexts": []}, "x", ()),
        (
            {"response": "x", "contexts": [{"text": "a", "id": 7, "score": 0.5}]},
            "x",
            (Context("a", "7", 0.5),),
        ),
        (
            {
                "result": "x",
                "source_documents": [
                    SimpleNamespace(page_content="a", metadata={"source": "a.md"})
                ],
            },
            "x",
            (Context("a", "a.md"),),
        ),
        (
            SimpleNamespace(
                response="x",
                source_nodes=[
                    SimpleNamespace(node=SimpleNamespace(text="a", id_="n1"), score=0.25)
                ],
            ),
            "x",
            (Context("a", "n1", 0.25),),
        ),
        (
            {"output": SimpleNamespace(content="x"), "documents": [("a", 0.5)]},
            "x",
            (Context("a", None, 0.5),),
        ),
        ({"answer": "", "contexts": ["a"]}, "", (Context("a"),)),
    ],
    ids=[
        "text",
        "pair",
        "nothing retrieved",
        "mapping",
        "documents",
        "nodes",
        "chat message",
        "empty answer",
    ],
)
def test_a_returned_answer_is_read_with_its_contexts(returned, response, contexts) -> None:
    found = read_answer(ROW, returned)
    assert (found.response, found.contexts, found.error) == (response, contexts, None)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "returned nothing (None); expected a text"),
        (7, "a int"),
        ({"foo": 1}, "a mapping with the keys foo"),
        ({"answer": "x", "contexts": 5}, "as contexts"),
        ({"answer": "x", "contexts": [5]}, "context 1 that the application returned is a int"),
        ({"answer": "x", "contexts": {"a": 1}}, "expected a list"),
    ],
)
def test_an_answer_that_cannot_be_read_is_the_rows_error_and_says_what_was_expected(
    returned, said
) -> None:
    found = answer(lambda question: returned)
    assert found.response is None
    assert said in found.error


def test_usage_the_application_reports_is_kept_and_its_latency_outranks_the_measured_one() -> None:
    found = answer(
        lambda q: {
            "answer": "x",
            "usage": {"prompt_tokens": 7, "completion_tokens": 2, "cost": 0.5, "latency": 9.0},
        }
    )
    assert found.usage == AppUsage(input_tokens=7, output_tokens=2, cost=0.5, latency=9.0)
    odd = {"prompt_tokens": float("nan"), "completion_tokens": 10**400, "cost": -1}
    usage = answer(lambda q: {"answer": "x", "usage": odd}).usage
    assert usage.latency == pytest.approx(0, abs=2)
    assert usage == AppUsage(latency=usage.latency)


# -- what it may be


def test_a_synchronous_application_runs_beside_the_loop_and_an_asynchronous_one_in_it() -> None:
    async def later(question):
        await asyncio.sleep(0)
        return question + "!"

    assert answer(lambda question: question + "?").response == "When??"
    assert answer(later).response == "When?!"


def test_a_parameter_called_row_gets_the_whole_row() -> None:
    assert answer(lambda row: row.contexts[0].text).response == "known"


@pytest.mark.parametrize(
    ("app", "said"),
    [
        (5, "not something that can be called"),
        (lambda: "x", "takes no argument"),
        ("my_rag", "named as module:function"),
        ("no_such_module_here:answer", "cannot be loaded"),
        ("math:no_such_function", "cannot be loaded"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_first_row(app, said) -> None:
    with pytest.raises(SetupError, match=said) as raised:
        ragassay.evaluate([{"question": "a"}], app=app, store="s.db")
    assert raised.value.code == "E0109"
    assert raised.value.fix


# -- its errors and its latency


def test_its_error_is_kept_with_the_row_and_the_other_rows_go_on(tmp_path) -> None:
    def app(question) -> str:
        if "bad" in question:
            raise ValueError("no index")
        return "It is so."

    rows = [{"id": "a", "question": "good?"}, {"id": "b", "question": "bad?"}]
    with ragassay.evaluate(rows, QUICK, app=app, store=tmp_path / "s.db") as run:
        good, bad = run["a"], run["b"]
        assert present(bad.sample).error == "ValueError: no index"
        assert present(bad.score("app_error")).value == 1.0
        assert bad.diagnosis.verdict == "fail"
        assert present(bad.diagnosis.cause).name == "application_error"
        relevance = present(bad.score("answer_relevance"))
        assert relevance.status == "not_applicable"
        assert "application failed" in relevance.reason
        assert present(good.sample).response == "It is so."
        assert present(good.score("app_error")).value == 0.0


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class Touchy:
    @property
    def response(self) -> Never:
        raise KeyboardInterrupt


def endless():
    while True:
        yield "chunk"


RAISED = {
    "it called exit(3)": SystemExit(3),
    "TimeoutError: backend": TimeoutError("backend"),
    "CancelledError": asyncio.CancelledError(),
    "KeyboardInterrupt": KeyboardInterrupt(),
    "GeneratorExit": GeneratorExit(),
    "Unspeakable: (an error that cannot be shown)": Unspeakable(),
}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("said", [*RAISED, "StopIteration"])
def test_whatever_an_application_raises_costs_its_row_only(said, asynchronous) -> None:
    def raising(question) -> Never:
        raise RAISED[said]

    async def araising(question) -> Never:
        raise RAISED[said]

    app = araising if asynchronous else raising
    if said == "StopIteration":
        app = lambda question: next(iter([]))  # noqa: E731
    found = answer(app)
    assert found.error == said
    assert (found.response, found.usage.latency < 2) == (None, True)


def test_what_breaks_in_a_loop_that_was_given_up_is_told_to_nobody(monkeypatch) -> None:
    def breaks() -> Never:
        raise KeyboardInterrupt

    async def blocking(question) -> None:
        asyncio.get_running_loop().call_soon(breaks)
        while True:
            time.sleep(0.01)

    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", told.append)
    # Loops that other tests left blocked are theirs to end.
    before = set(threading.enumerate())
    assert answer(blocking, timeout=0.2).error == "no answer in 0.2 s"
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
        assert not thread.is_alive()
    assert told == []


@pytest.mark.parametrize("kind", ["asleep", "blocked", "blocking the loop"])
def test_an_application_that_hangs_is_given_up_at_the_timeout(kind) -> None:
    async def asleep(question) -> None:
        await asyncio.sleep(60)

    async def blocking(question) -> None:
        time.sleep(30)

    app = {
        "asleep": asleep,
        "blocked": lambda question: time.sleep(30),
        "blocking the loop": blocking,
    }[kind]
    started = time.monotonic()
    assert answer(app, timeout=0.2).error == "no answer in 0.2 s"
    assert time.monotonic() - started < 20


def test_calls_that_hang_do_not_take_the_place_of_other_rows(tmp_path) -> None:
    def app(question) -> str:
        if question in ("q0?", "q1?"):
            time.sleep(3)
        return "It is so."

    rows = [{"id": str(n), "question": f"q{n}?"} for n in range(6)]
    options = {"app_timeout": 0.3, "app_concurrency": 2, "store": tmp_path / "s.db"}
    with ragassay.evaluate(rows, QUICK, app=app, **options) as run:
        errors = [present(row.sample).error for row in run]
        assert errors == ["no answer in 0.3 s"] * 2 + [None] * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (Touchy(), "KeyboardInterrupt"),
        (("x", endless()), "more than 100,000 contexts"),
        (("x", [object()]), "context 1"),
    ],
)
def test_what_a_returned_object_does_when_it_is_read_costs_its_row_only(returned, said) -> None:
    assert said in answer(lambda question: returned).error


def test_an_asynchronous_application_keeps_its_clients_loop(tmp_path) -> None:
    """A client is bound to the loop in which it was made: all calls share one, and aevaluate uses
    the caller's.
    """
    loops = set()

    async def app(question) -> str:
        loops.add(asyncio.get_running_loop())
        return "It is so."

    rows = [{"question": f"q{n}?"} for n in range(5)]
    ragassay.evaluate(rows, QUICK, app=app, store=tmp_path / "s.db").close()
    assert len(loops) == 1
    loops.clear()

    async def notebook():
        (await ragassay.aevaluate(rows, QUICK, app=app, store=tmp_path / "t.db")).close()
        return asyncio.get_running_loop()

    assert loops == {asyncio.run(notebook())} or len(loops) == 1
    assert next(iter(loops)).is_closed()


def test_keys_and_passwords_in_an_error_are_not_kept(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "abcdefgh12345678")

    def app(question) -> Never:
        raise RuntimeError(
            "Bearer abc.def-ghi at https://user:hunter22@host with abcdefgh12345678 and"
            " sk-proj-123456789"
        )

    error = answer(app).error
    assert error == "RuntimeError: Bearer *** at https://user:***@host with *** and sk-***"


@pytest.mark.slow
def test_a_hung_application_does_not_keep_the_process_alive(tmp_path) -> None:
    (tmp_path / "hanging.py").write_text("import time\ndef app(question):\n    time.sleep(1000)\n")
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "question": "q?"}\n')
    command = [
        sys.executable,
        "-m",
        "ragassay",
        "evaluate",
        "rows.jsonl",
        "-m",
        "app_error",
        "--app",
        "hanging:app",
    ]
    done = subprocess.run(
        [*command, "--app-timeout", "0.5"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "no answer in 0.5 s" in done.stdout + done.stderr or "application" in done.stdout


def test_latency_is_what_the_call_took() -> None:
    def app(question) -> str:
        time.sleep(0.1)
        return "x"

    assert 0.1 <= answer(app).usage.latency < 2.0


def test_a_row_without_a_question_is_not_run(tmp_path) -> None:
    asked: list[str] = []
    with ragassay.evaluate(
        [{"reference": "x"}], QUICK, app=asked.append, store=tmp_path / "s.db"
    ) as run:
        (row,) = run
    assert not asked
    assert "no question" in present(present(row.sample).error)


@pytest.mark.slow
def test_at_most_so_many_rows_are_asked_at_once(tmp_path) -> None:
    running, most = 0, 0

    async def app(question) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return "x"

    rows = [{"question": f"q{n}?"} for n in range(20)]
    ragassay.evaluate(rows, QUICK, app=app, app_concurrency=3, store=tmp_path / "s.db").close()
    assert most == 3


# -- its answers are paid for once


APP = """
import pathlib, time
def answer(question):
    with pathlib.Path("asked.txt").open("a") as book:
        book.write(question + "\\n")
    time.sleep(0.02)
    return "It is so."
"""


@pytest.mark.slow
def test_a_killed_run_does_not_ask_the_application_again_for_what_it_answered(tmp_path) -> None:
    (tmp_path / "app_of_mine.py").write_text(textwrap.dedent(APP))
    (tmp_path / "rows.jsonl").write_text(
        "".join(f'{{"id": "{n}", "question": "q{n}?"}}\n' for n in range(120))
    )
    command = [
        sys.executable,
        "-m",
        "ragassay",
        "evaluate",
        "rows.jsonl",
        "-m",
        QUICK,
        "--app",
        "app_of_mine:answer",
    ]
    command += ["--app-concurrency", "2", "--store", "s.db"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    first = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    book = tmp_path / "asked.txt"
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and (
        not book.exists() or len(book.read_text().splitlines()) < 40
    ):
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = subprocess.run(
        [sys.executable, "-m", "ragassay", "resume", "last", "--store", "s.db"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    asked = book.read_text().splitlines()
    assert set(asked) == {f"q{n}?" for n in range(120)}
    # Two calls were in flight at the most, and as many answers on their way to the disk.
    assert len(asked) - 120 <= 4


def test_a_run_whose_application_is_not_importable_is_resumed_with_the_application_handed_over(
    tmp_path: Path,
) -> None:
    rows = [{"id": "a", "question": "q?"}]
    with ragassay.evaluate(rows, QUICK, app=lambda q: "x", store=tmp_path / "s.db") as run:
        name = run.id
    with ragassay.resume(name, rows=rows, app=lambda q: "x", store=tmp_path / "s.db") as run:
        assert run.state == "finished"
    with pytest.raises(SetupError):
        ragassay.resume(name, rows=rows, store=tmp_path / "s.db")


@pytest.mark.parametrize("metrics", [QUICK, "answer_relevance"])
def test_retry_failed_asks_the_application_again_where_it_had_failed(tmp_path, metrics) -> None:
    asked = []

    def app(question) -> str:
        asked.append(question)
        if len(asked) == 1:
            raise ValueError("once")
        return "It is so."

    rows = [{"id": "a", "question": "q?"}]
    with ragassay.evaluate(rows, metrics, app=app, store=tmp_path / "s.db") as run:
        assert present(run["a"].sample).error
        name = run.id
    with ragassay.resume(
        name, rows=rows, app=app, retry_failed=True, store=tmp_path / "s.db"
    ) as run:
        sample = present(run["a"].sample)
        assert sample.response == "It is so."
        assert sample.error is None
    assert len(asked) == 2


def test_a_row_is_looked_up_by_its_id_and_a_number_says_so(tmp_path) -> None:
    rows = [{"question": "good?"}]
    with ragassay.evaluate(
        rows, QUICK, app=lambda question: "Yes.", store=tmp_path / "s.db"
    ) as run:
        with pytest.raises(KeyError, match=r"Rows are looked up by their id.*run\['0'\]"):
            run[0]  # type: ignore[index]
        with pytest.raises(KeyError, match=r"Did you mean 'row-1'"):
            run["1"]
