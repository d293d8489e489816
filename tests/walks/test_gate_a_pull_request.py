"""A pull request in GitHub Actions: what its job prints, marks, sums up and leaves with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.shell import Shell


def row(name: str, question: str, context: str, response: str) -> str:
    fields = {"id": name, "question": question, "contexts": [context], "response": response}
    return json.dumps(fields) + "\n"


GOOD = row(
    "founded",
    "When was the library founded?",
    "The city library was founded in 1911.",
    "The city library was founded in 1911.",
)
BOOKS = ("books", "How long may a book be kept?", "Books may be kept for four weeks.")
KEPT = row(*BOOKS, "Books may be kept for four weeks.")
# What a model wrote tries to command the log, and to write into the page.
HOSTILE = "You can keep a book for six weeks.\n::error::All is well</pre>\n##[error]@team"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The variables of a step, as the runner sets them; the file of its summary."""
    summary = tmp_path / "step_summary.md"
    summary.touch()
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    return summary


def commands(messages: list[str]) -> list[str]:
    """What the runner would obey: lines that begin with two colons, and the older form."""
    return [line for line in messages if line.lstrip().startswith("::") or "##[" in line]


def test_a_job_marks_the_row_that_broke_and_sums_up_the_run(shell: Shell, job: Path) -> None:
    shell.write("rows.jsonl", GOOD + "\n" + row(*BOOKS, HOSTILE))
    done = shell(
        "ragassay evaluate rows.jsonl --metrics groundedness --gate 'groundedness>=0.9'", code=1
    )
    assert done.lines[0] == "1 of 2 rows pass, 1 fail, 0 undecided"
    assert commands(done.lines) == []
    gate, mark = commands(done.messages)
    assert gate.startswith("::error title=Gate not met::groundedness>=0.9: not met, it is 0.")
    assert mark.startswith(
        "::warning file=rows.jsonl,line=3,title=row books%3A The response claims what the chunks"
        " do not support::claim "
    )
    assert "%0ATry: Tell the generator to answer only from the context." in mark
    page = job.read_text(encoding="utf-8")
    assert page.startswith("### RagAssay: 1 of 2 rows pass, 1 fail, 0 undecided\n")
    assert "✗ fail  groundedness&gt;=0.9: not met" in page
    assert "<details><summary>1 of 1 failing row, worst first</summary>" in page
    assert "well</pre>" not in page


def test_a_pull_request_is_held_to_the_baseline_that_lies_beside_the_code(
    shell: Shell, job: Path
) -> None:
    names = [f"r{n}" for n in range(12)]
    before = "".join(row(name, *BOOKS[1:], "Books may be kept for four weeks.") for name in names)
    after = "".join(row(name, *BOOKS[1:], "You can keep a book for six weeks.") for name in names)
    shell.write("rows.jsonl", before)
    shell("ragassay evaluate rows.jsonl --metrics groundedness --name main")
    kept = shell("ragassay gate main --write-baseline baseline.jsonl")
    assert kept.messages == ["wrote baseline.jsonl"]
    assert "four weeks" not in shell.read("baseline.jsonl")

    same = shell("ragassay gate main --baseline baseline.jsonl --gate 'judge_calls<=0'")
    assert same.block("Gates")[1:3] == [
        "  ✓ pass  judge_calls<=0: met, it is 0",
        "  ✓ pass  no regression of groundedness: met, it changes by +0.000"
        " [-0.265, +0.265] over 12 paired",
    ]

    shell.write("rows.jsonl", after)
    shell("ragassay evaluate rows.jsonl --metrics groundedness --name change")
    worse = shell("ragassay gate change --baseline baseline.jsonl --comment pr.md", code=1)
    assert worse.block("Gates")[1].startswith(
        "  ✗ fail  no regression of groundedness: not met, it changes by -1.000"
    )
    found = commands(worse.messages)
    assert len(found) == 10
    assert found[0].startswith("::error title=Gate not met::no regression of groundedness: not met")
    assert found[-1] == (
        "::notice title=RagAssay::4 more problems are not shown here, where GitHub shows 10:"
        " see the summary of the job"
    )
    comment = shell.read("pr.md")
    assert comment.startswith("<!-- ragassay -->\n### RagAssay: 0 of 12 rows pass, 12 fail")
    assert (
        "Beside main: groundedness falls (worse) beyond chance; 0 rows fixed, 12 broken" in comment
    )


def test_a_judge_too_unsure_for_its_rows_leaves_the_gate_undecided(shell: Shell, job: Path) -> None:
    shell.write("rows.jsonl", GOOD + KEPT)
    done = shell(
        "ragassay evaluate rows.jsonl --metrics groundedness"
        " --gate 'interval(groundedness)>=0.8' --gate 'coverage(groundedness)>=1'",
        code=3,
    )
    assert done.block("Gates")[1] == (
        "  ? undecided  interval(groundedness)>=0.8: undecided, it is 1.000"
        " [0.342, 1.000] over 2 of 2 rows"
    )
    assert "  fix: add rows, by which the interval gets narrower, or move the threshold" in (
        done.messages
    )
    nothing = shell("ragassay gate last --gate 'groundedness>=0.8' --min-coverage 1")
    assert nothing.block("Gates")[-1] == "  All conditions are met."
