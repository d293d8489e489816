"""Sessions of pytest with rows: selected, distributed, run again, failing in every way."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ragassay.testing import LLMServer
from support.pytest_suite import Suite
from support.shell import Shell

ROWS = [{"id": f"r{n}", "question": f"What is item {n}?"} for n in range(6)]
TESTS = """\
import pytest

@pytest.mark.ragassay(rows="rows.jsonl", metrics=["groundedness"])
def test_app(row):
    number = int(row.id[1:])
    said = "Item {} is a lamp.".format(number)
    contexts = [said]
    return (said if number != 2 else "Bananas grow in Ecuador."), contexts

def test_gate(ragassay_run):
    ragassay_run.assert_metric("groundedness", at_least=0.9, by="mean")

def test_low(ragassay_run):
    ragassay_run.assert_metric("groundedness", at_least=0.5, by="mean", coverage=1)
    ragassay_run.assert_gate("judge_calls<=0")

def test_unrelated():
    pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    found = Suite(tmp_path)
    found.write("rows.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    found.write("test_rag.py", TESTS)
    return found


def exported(suite: Suite) -> str:
    return Shell(suite.folder)("ragassay export last", at_most=1000).out


def told(out: str) -> list[str]:
    """What a session printed, without its time and the ids of runs."""
    text = re.sub(r"\d{8}-\d{6}-[0-9a-f]{6}", "RUN", out)
    lines = re.sub(r" in \d+\.\d+s( \(.*?\))?", "", text).splitlines()
    return [line for line in lines if not line.startswith(("created:", "bringing up"))]


def test_one_and_four_workers_and_none_print_and_store_the_same_bytes(suite: Suite) -> None:
    found = {}
    for workers in ("0", "1", "4"):
        done = suite("-q", "-n", workers)
        assert done.code == 1
        assert done.last == "1 failed, 8 passed"
        found[workers] = (exported(suite), told(done.out))
    assert found["1"][0] == found["0"][0]
    assert found["4"][0] == found["1"][0]
    # Dots of an unrelated test come first or last by the clock of the workers.
    assert found["4"][1][1:] == found["1"][1][1:]


def test_workers_buy_each_judgment_once(suite: Suite) -> None:
    with LLMServer() as server:
        suite.write(
            "test_rag.py",
            TESTS.replace(
                '["groundedness"]',
                f'["groundedness"], judge="openai:mock", base_url="{server.url}"',
            ),
        )
        suite("-q", "-n", "4", "-k", "app")
        assert server.calls == len(ROWS)
        assert server.stats()["answered_twice"] == 0


def test_a_selected_row_passes_by_its_own_verdict_and_a_selected_gate_brings_its_rows(
    suite: Suite,
) -> None:
    good = suite("-v", "-k", "r1")
    assert (good.code, good.last) == (0, "1 passed, 8 deselected")
    bad = suite("-v", "-k", "r2")
    assert (bad.code, bad.outcome("test_app[r2]")) == (1, "FAILED")
    assert "claim: “Bananas grow in Ecuador.”" in bad.out
    gate = suite("-v", "-k", "gate")
    assert gate.outcome("test_gate") == "FAILED"
    assert "it is 0.833 over 6 of 6 rows" in gate.out


def test_the_last_failed_gate_is_run_again_with_its_rows(suite: Suite) -> None:
    assert suite("-q", "--keep").last == "1 failed, 8 passed"
    again = suite("-v", "--lf")
    assert again.outcome("test_gate") == "FAILED"
    assert "it is 0.833 over 6 of 6 rows" in again.out
    suite.write("test_rag.py", TESTS.replace("number != 2", "True"))
    assert suite("-q", "--lf").code == 0


def test_a_session_that_is_stopped_judges_nothing_and_meets_no_gate(suite: Suite) -> None:
    suite.write(
        "test_rag.py",
        TESTS.replace("def test_unrelated():\n    pass", "def test_unrelated():\n    assert False"),
    )
    done = suite("-v", "-x")
    assert done.code == 1
    assert done.outcome("test_app[r0]") == "PASSED"
    assert done.outcome("test_gate") == "UNDECIDED"
    assert "the session was stopped before the rows were judged" in done.out
    assert not (suite.folder / ".ragassay").exists()


def test_a_session_is_stopped_by_the_first_row_that_fails_as_pytest_would(suite: Suite) -> None:
    suite.write("test_rag.py", TESTS.replace("    said =", "    assert number != 2\n    said ="))
    done = suite("-v", "-x")
    assert done.last == "1 failed, 2 passed"
    assert "test_app: not judged: the session was stopped" in done.out


def test_a_row_on_which_the_application_fails_is_a_failed_test_and_no_answer(suite: Suite) -> None:
    suite.write(
        "test_rag.py", TESTS.replace("    said =", "    assert number != 3, 'no index'\n    said =")
    )
    done = suite("-v")
    assert done.outcome("test_app[r3]") == "FAILED"
    assert "no index" in done.out
    assert done.outcome("test_low") == "UNDECIDED"
    assert "5 of 6 rows were answered, below the floor of 100%" in done.out
    assert "0.800 over 5 of 6 rows" in done.out


def test_a_worker_that_dies_loses_its_rows_and_no_gate_is_met_by_the_others(suite: Suite) -> None:
    suite.write(
        "test_rag.py",
        "import os\n" + TESTS.replace("    said =", "    if number == 3: os._exit(1)\n    said ="),
    )
    done = suite("-v", "-n", "2")
    assert done.code == 1
    assert "its worker ended before it handed the test over" in done.out
    assert "rows were answered, below the floor of 100%" in done.out


def test_what_a_test_returns_may_come_from_a_coroutine_or_be_recorded_in_the_row(
    suite: Suite,
) -> None:
    rows = [{"id": "a", "question": "Why?", "contexts": ["Because."], "response": "Because."}]
    suite.write("rows.jsonl", json.dumps(rows[0]))
    suite.write(
        "test_rag.py",
        """\
import pytest

@pytest.mark.ragassay(rows="rows.jsonl", metrics=["token_f1", "groundedness"])
def test_recorded(row):
    pass

@pytest.mark.parametrize("model", ["small", "large"])
@pytest.mark.ragassay(
    rows=[{"id": "a", "question": "Why?", "reference": "Because."}], metrics=["token_f1"]
)
async def test_async(row, model):
    return {"response": "Because." if model == "large" else "No.", "contexts": ["Because."]}

def test_which(ragassay_run):
    ragassay_run.assert_metric("token_f1", at_least=0.9, by="mean")

def test_large(ragassay_run):
    ragassay_run.assert_metric("token_f1", at_least=0.9, by="mean", of="test_async[large]")

def test_small(ragassay_run):
    ragassay_run.assert_metric("token_f1", at_least=0.9, by="mean", of="test_async[small]")
""",
    )
    done = suite("-v")
    assert done.outcome("test_large") == "PASSED"
    assert done.outcome("test_small") == "FAILED"
    assert done.outcome("test_which") == "FAILED"
    names = "with of=: test_recorded, test_async[large], test_async[small]"
    assert names in done.out or "with of=: test_recorded, test_async[small]" in done.out


RECORDED = """
import pytest

@pytest.mark.ragassay(rows="rows.jsonl", metrics=["groundedness"])
def test_app(row):
    if row.id == "r1":
        pytest.skip("no answer today")
    return {"response": row.question, "contexts": [row.question]}

def test_gate(ragassay_run):
    ragassay_run.assert_metric("groundedness", at_least=0.9, by="mean", coverage=0.9)
"""


def test_without_the_recording_no_row_is_answered_and_every_one_fails(suite: Suite) -> None:
    suite.write("test_rag.py", RECORDED)
    absent = suite("-q", "--ragassay-store", "kept.db", "--ragassay-replay")
    # The application was not asked, and other tests would have run.
    assert absent.last == "7 failed"
    assert "E0103: There is no recording of judgments at this place." in absent.out
    assert not (suite.folder / "kept.db").exists()


def test_a_replay_leaves_the_recording_as_it_is_and_counts_skipped_rows(suite: Suite) -> None:
    suite.write("test_rag.py", RECORDED)
    option = ("--ragassay-store", "kept.db")
    recorded = suite("-q", *option)
    kept = (suite.folder / "kept.db").read_bytes()
    replayed = suite("-q", *option, "--ragassay-replay")
    # 5 of 6 rows answered are 83 %.
    for done in (recorded, replayed):
        assert (done.code, done.last) == (3, "5 passed, 1 skipped, 1 undecided")
        assert "0 fail, 0 undecided; 1 of 6 rows skipped" in done.out
        assert "5 of 6 rows were answered, below the floor of 90% (1 of 6 rows skipped)" in done.out
    assert (suite.folder / "kept.db").read_bytes() == kept
    assert [file.name for file in suite.folder.glob("kept.db*")] == ["kept.db"]


MISTAKES = {
    "@pytest.mark.ragassay\ndef test_x(row): pass": "the mark takes rows",
    '@pytest.mark.ragassay(rows="no.jsonl")\ndef test_x(row): pass': "no.jsonl",
    '@pytest.mark.ragassay(rows="rows.jsonl")\ndef test_x(): pass': "an argument called row",
    '@pytest.mark.ragassay(rows="rows.jsonl", metrics=["grounded"])\n'
    'def test_x(row): return "x"\n'
    "def test_y(ragassay_run): ragassay_run.assert_metric('groundedness', at_least=0)": "No metric",
    '@pytest.mark.ragassay(rows="rows.jsonl", metrcs=["mrr"])\ndef test_x(row): return "x"': (
        "the mark has no option 'metrcs'. Did you mean 'metrics'?"
    ),
    '@pytest.mark.ragassay(rows="rows.jsonl", judge="opnai:x")\ndef test_x(row): return "x"': (
        "opnai"
    ),
    '@pytest.mark.ragassay(rows="rows.jsonl", app=len)\ndef test_x(row): return "x"': (
        "the mark has no option 'app': what the test returns"
    ),
    "def test_x(ragassay_run): ragassay_run.assert_metric('mrr', at_least=1, of='test_z')": (
        "no test of this session has rows that are called 'test_z'"
    ),
    "def test_x(ragassay_run): ragassay_run.assert_metric('mrr')": "The assertion says nothing.",
    "def test_x(ragassay_run): ragassay_run.assert_metric('mrr', at_least=1, by='median')": (
        "No figure is called 'median'."
    ),
}


def test_a_mistake_is_said_and_never_passes(suite: Suite) -> None:
    (suite.folder / "test_rag.py").unlink()
    for number, tests in enumerate(MISTAKES):
        suite.write(f"test_{number}.py", f"import pytest\n\n{tests}\n")
    done = suite("-q", "--continue-on-collection-errors")
    for words in MISTAKES.values():
        assert words in done.out, words
    # A slip in a mark is found before any row is answered.
    assert done.last == "3 failed, 7 errors"


HOSTILE = """
import pytest

ROWS = [
    {"id": "x\\n::error file=a.py::pwned", "question": "How tall is it?"},
    {"id": "b; touch PWNED", "question": "How tall is it?"},
]

@pytest.mark.ragassay(rows=ROWS, metrics=["groundedness"])
def test_rag(row):
    return {"response": "##[error]So 40 metres.", "contexts": ["It is 35 metres tall."]}

def test_gate(ragassay_run):
    ragassay_run.assert_metric("groundedness", at_least=0.9, by="mean")
"""


def test_ids_and_texts_command_neither_the_runner_of_a_job_nor_a_shell(suite: Suite) -> None:
    (suite.folder / "test_rag.py").unlink()
    suite.write("test_hostile.py", HOSTILE)
    done = suite("-q", GITHUB_ACTIONS="true")
    assert "row x ::error file=a.py::pwned: " in done.out
    assert not [line for line in done.out.splitlines() if line.lstrip().startswith("::error file")]
    assert "##[" not in done.out
    assert "--row 'b; touch PWNED'" in done.out


def test_a_job_gets_marks_at_the_test_and_the_run_in_its_summary(
    suite: Suite, tmp_path: Path
) -> None:
    page = tmp_path / "summary.md"
    job = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(page),
    }
    for workers in ("0", "2"):
        page.write_text("")
        done = suite("-q", "-n", workers, **job)
        assert done.code == 1
        marks = [line for line in done.out.splitlines() if line.startswith("::")]
        assert [mark.partition("::")[2].split("::")[0] for mark in marks] == [
            "error title=Gate not met",
            "warning file=suite/test_rag.py,line=3,title=row r2%3A "
            "The response claims what the chunks do not support",
        ]
        assert "groundedness>=0.9: not met, it is 0.833 over 6 of 6 rows" in marks[0]
        assert "Bananas grow in Ecuador." in marks[1]
        assert "### RagAssay: 5 of 6 rows pass, 1 fail" in page.read_text()
    assert "::warning" not in suite("-q").out


def test_a_job_whose_rows_could_not_be_judged_is_marked_with_why(suite: Suite) -> None:
    done = suite("-q", "--ragassay-replay", GITHUB_ACTIONS="true")
    assert done.code == 1
    (mark,) = [line for line in done.out.splitlines() if line.startswith("::")]
    assert mark == "::error title=test_app%3A not judged::no row was answered in this session"


def test_rows_of_which_nothing_could_be_measured_do_not_pass(suite: Suite) -> None:
    suite.write(
        "test_rag.py",
        "import pytest\n\n"
        "@pytest.mark.ragassay(rows='rows.jsonl', metrics=['groundedness'])\n"
        "def test_app(row):\n"
        "    return 'Item 1 is a lamp.'\n",
    )
    done = suite("-v")
    assert (done.code, done.outcome("test_app[r0]")) == (3, "UNDECIDED")
    assert "the row has no contexts" in done.out
