"""The gate's own mistakes: each is said, and nothing that is read is written over."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from support.commands import run_in_process

ROW = {"question": "When was it opened?", "contexts": ["It was opened in 1937."]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows, a run of them called main, and its baseline."""
    made = tmp_path_factory.mktemp("gate")
    rows = [{"id": f"r{n}", **ROW, "response": "It was opened in 1937."} for n in range(3)]
    (made / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("evaluate", "rows.jsonl", "--metrics", "groundedness", "--name", "main")
    assert run_in_process(made, *words, environment={}).returncode == 0
    assert gate(made, "--write-baseline", "baseline.jsonl").returncode == 0
    return made


def gate(folder: Path, *words: str) -> CompletedProcess[str]:
    return run_in_process(folder, "gate", "main", *words, environment={"COLUMNS": "100"})


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("--write-baseline", "rows.jsonl"), "rows.jsonl"),
        (("--baseline", "baseline.jsonl", "--comment", "baseline.jsonl"), "baseline.jsonl"),
        (("--baseline", "baseline.jsonl", "--junit", "baseline.jsonl"), "baseline.jsonl"),
        (("--gate", "groundedness>=0", "--comment", "rows.jsonl"), "rows.jsonl"),
    ],
)
def test_no_file_that_the_gate_reads_is_written_over(
    folder: Path, words: tuple[str, ...], kept: str
) -> None:
    before = (folder / kept).read_bytes()
    done = gate(folder, *words)
    assert (done.returncode, "error[E0107]" in done.stderr) == (2, True), done.stderr
    assert (folder / kept).read_bytes() == before


def test_the_baseline_may_be_written_anew_from_the_run_that_is_held_to_it(folder: Path) -> None:
    words = ("--baseline", "baseline.jsonl", "--write-baseline", "baseline.jsonl")
    assert gate(folder, *words).returncode == 0


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--regression", "groundedness", "--gate", "groundedness>=0"), "E0101", "no --baseline"),
        (("--margin", "0.1", "--gate", "groundedness>=0"), "E0101", "no --baseline is given"),
        (("--baseline", "main", "--margin", "-1"), "E0101", "A margin lies above 0."),
        (("--baseline", "main", "--margin", "nan"), "E0101", "A margin lies above 0."),
        (("--baseline", "kept/main.json"), "E0607", "no file is there"),
        (("--baseline", "maim"), "E0103", "Did you mean 'main'?"),
        (("--baseline", "rows.jsonl"), "E0607", "why: it begins with"),
        (("--baseline", "empty.jsonl"), "E0607", "why: it begins with nothing"),
        (("--baseline", "newer.jsonl"), "E0607", "its form is 9, and this version reads 1"),
        (("--baseline", "cut.jsonl"), "E0607", "why: it lacks 'run'"),
        (("--gate", "is_grounded>=0.8"), "E0601", "Another tool calls groundedness so."),
    ],
)
def test_what_would_do_nothing_or_cannot_be_read_is_refused(
    folder: Path, words: tuple[str, ...], code: str, said: str
) -> None:
    (folder / "empty.jsonl").write_text("")
    (folder / "newer.jsonl").write_text('{"kind": "ragassay baseline", "schema": 9}\n')
    (folder / "cut.jsonl").write_text('{"kind": "ragassay baseline", "schema": 1}\n')
    done = gate(folder, *words)
    assert done.returncode == 2
    assert f"error[{code}]" in done.stderr
    assert said in done.stderr


def test_a_job_is_marked_also_where_the_command_cannot_begin(folder: Path) -> None:
    job = {"GITHUB_ACTIONS": "true"}
    done = run_in_process(folder, "evaluate", "no.jsonl", environment=job)
    marks = [line for line in done.stderr.splitlines() if line.startswith("::error")]
    assert len(marks) == 1
    assert marks[0].startswith("::error title=RagAssay::E0102: ")
    assert "no.jsonl" in marks[0]
    done = run_in_process(folder, "gate", "main", "--gate", "nonsense", environment=job)
    assert "::error title=RagAssay::E0601: The gate cannot be read." in done.stderr
    done = run_in_process(folder, "gate", "--nonsense", environment=job)
    assert "::error title=RagAssay::No such option: --nonsense" in done.stderr
    assert "::error" not in run_in_process(folder, "evaluate", "no.jsonl", environment={}).stderr


def test_a_row_that_is_gone_leaves_the_baseline_undecided_unless_so_few_are_asked_for(
    folder: Path,
) -> None:
    rows = [{"id": f"r{n}", **ROW, "response": "It was opened in 1937."} for n in range(2)]
    rows.append({"id": "r2", **ROW, "response": "", "error": "TimeoutError: 30 s"})
    (folder / "fewer.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("evaluate", "fewer.jsonl", "--metrics", "groundedness", "--name", "fewer")
    assert run_in_process(folder, *words, environment={}).returncode == 0
    held = ("gate", "fewer", "--baseline", "baseline.jsonl")
    done = run_in_process(folder, *held, environment={})
    assert done.returncode == 3
    assert "1 of the 3 rows of the baseline are not in this run" in " ".join(done.stdout.split())
    assert run_in_process(folder, *held, "--min-coverage", "0.6", environment={}).returncode == 0
