"""A team's suite judges its application: rows as tests, one evaluation, recorded for CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragassay.testing import LLMServer
from support.pytest_suite import Suite
from support.shell import Shell

ROWS = [
    ("founded", "When was the library founded?", "The city library was founded in 1911."),
    ("books", "How long may a book be kept?", "Books may be kept for four weeks."),
    ("card", "What does a lost card cost?", "A lost card costs two euros."),
]
APP = """\
ANSWERS = {
    "When was the library founded?": "The city library was founded in 1911.",
    "How long may a book be kept?": "You can keep a book for six weeks.",
    "What does a lost card cost?": "A lost card costs two euros.",
}

def my_rag(question):
    return ANSWERS[question]
"""
TESTS = """\
import os
import pytest
from my_rag import my_rag

@pytest.mark.ragassay(
    rows="rows.jsonl", metrics=["groundedness"], judge="openai:mock", base_url=os.environ["JUDGE"]
)
def test_app(row):
    return my_rag(row.question)

def test_gate(ragassay_run):
    ragassay_run.assert_metric("groundedness", at_least=0.8, by="mean", coverage=0.95)
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    found = Suite(tmp_path)
    lines = []
    for name, question, context in ROWS:
        lines.append(json.dumps({"id": name, "question": question, "contexts": [context]}))
    found.write("rows.jsonl", "\n".join(lines))
    found.write("my_rag.py", APP)
    found.write("test_rag.py", TESTS)
    return found


def test_a_suite_finds_the_wrong_answer_asks_what_the_command_asks_and_replays_it(
    suite: Suite,
) -> None:
    with LLMServer() as server:
        failed = suite("-v", "--ragassay-store", "judgments.db", JUDGE=server.url)
        assert failed.code == 1
        assert failed.outcome("test_app[books]") == "PASSED"
        assert failed.outcome("test_gate") == "FAILED"
        assert failed.last == "1 failed, 3 passed"
        shown = [line.strip() for line in failed.out.splitlines()]
        for line in (
            "test_rag.py:12: groundedness>=0.8: not met, it is 0.667 over 3 of 3 rows",
            "row books: The response claims what the chunks do not support",
            "claim: “You can keep a book for six weeks.”",
            "context: “Books may be kept for four weeks.”",
            "why: 29% of the words are there.",
        ):
            assert line in shown, failed.out
        asked = server.calls

        # The command that is printed shows the row, and the command by itself asks as much.
        shell = Shell(suite.folder)
        command = next(
            line for line in shown if line.startswith("ragassay show") and "books" in line
        )
        assert "You can keep a book for six weeks." in shell(command).out
        server.reset()
        shell(
            "ragassay evaluate rows.jsonl --app my_rag:my_rag --metrics groundedness"
            f" --judge openai:mock --base-url {server.url} --no-cache"
        )
        assert server.calls == asked == 3
        server.reset()
        recorded = (suite.folder / "judgments.db").read_bytes()
        replay = ("--ragassay-store", "judgments.db", "--ragassay-replay")
        again = suite("-v", *replay, JUDGE=server.url)
        assert again.last == failed.last
        assert (server.calls, server.preflights) == (0, 0)
    # In CI there is no server. The answer is mended, and its judgment is not recorded yet.
    suite.write("my_rag.py", APP.replace("six weeks", "four weeks"))
    stale = suite("-v", *replay, JUDGE=server.url)
    assert stale.outcome("test_gate") == "FAILED"
    assert "E0606: A judgment that the run needs is not recorded." in stale.out
    assert "where: row books, rubric groundedness" in stale.out
    assert "fix: run pytest once without --ragassay-replay" in stale.out
    assert (suite.folder / "judgments.db").read_bytes() == recorded


def test_a_gate_that_too_few_rows_leave_open_is_neither_passed_nor_failed(suite: Suite) -> None:
    suite.write(
        "my_rag.py", APP.replace("You can keep a book for six", "Books may be kept for four")
    )
    suite.write(
        "test_rag.py", TESTS.replace('by="mean", ', "").replace('"openai:mock"', '"offline"')
    )
    done = suite("-v", JUDGE="")
    assert done.code == 3
    assert done.outcome("test_gate") == "UNDECIDED"
    assert done.last == "3 passed, 1 undecided"
    assert "interval(groundedness)>=0.8: undecided, it is 1.000 [0.439, 1.000]" in done.out
