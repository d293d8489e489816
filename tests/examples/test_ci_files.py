"""The files for CI services to copy: their commands run as they stand, and the pages show them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import ragassay
from ragassay.report import write_baseline
from support.workflow import Job

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "ci"
# What a model wrote tries to command the log.
HOSTILE = "It has ninety lions.\n::error::All is well\n##[error]@team"


def row(number: int, response: str = "") -> str:
    """A row as JSON; without a response, with the right one."""
    right = f"The bridge was opened in 19{number}."
    fields = {"question": "When was it opened?", "contexts": [right], "response": response or right}
    return json.dumps({"id": f"r{number}", **fields}) + "\n"


NUMBERS = range(30, 42)
RIGHT = "".join(row(number) for number in NUMBERS)
WRONG = "".join(row(number, HOSTILE) for number in NUMBERS)


def steps_of_github() -> list[dict[str, Any]]:
    job = yaml.safe_load((FOLDER / "github.yml").read_text())["jobs"]["evaluate"]
    found: list[dict[str, Any]] = job["steps"]
    return found


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job on the checkout of a pull request: rows, and the baseline of main beside them."""
    found = Job(tmp_path, {"github.token": "t0ken", "github.event.number": "7"})
    rows = found.checkout / "rows.jsonl"
    rows.write_text(RIGHT)
    metrics = "groundedness,answer_relevance"
    with ragassay.evaluate(rows, metrics, name="main", store=tmp_path / "main.db") as main:
        write_baseline(main.store, main.id, found.checkout / "baseline.jsonl")
    return found


def test_a_job_on_a_pull_request_that_breaks_rows_marks_each_once_and_comments(job: Job) -> None:
    (job.checkout / "rows.jsonl").write_text(WRONG)
    job.run(steps_of_github())
    assert [step.code for step in job.steps] == [0, 0, 1, 0], job.steps
    _, judge, gate, _ = job.steps
    *rows, rest = [line.split("::")[1] for line in judge.commands]
    assert [one.partition(",title")[0] for one in rows] == [
        f"warning file=rows.jsonl,line={line}" for line in range(1, 10)
    ]
    assert rest == "notice title=RagAssay"
    # The rows are marked already, and none of the hostile texts became a command.
    assert [line.partition(": not met")[0] for line in gate.commands] == [
        "::error title=Gate not met::groundedness>=0.4",
        "::error title=Gate not met::no regression of groundedness",
        "::error title=Gate not met::no regression of answer_relevance",
    ]
    assert "<summary>12 of 12 failing rows, worst first</summary>" in judge.summary
    assert "✗ fail  no regression of groundedness" in gate.summary
    assert "<table>" not in gate.summary
    assert "12 of 12 failing rows" in (job.checkout / "comment.md").read_text()
    assert job.told == [
        "pip install ragassay",
        "gh pr comment 7 --edit-last --create-if-none --body-file comment.md",
    ]


def test_a_job_whose_rows_cannot_be_read_fails_and_comments_nothing(job: Job) -> None:
    (job.checkout / "rows.jsonl").write_text("{")
    job.run(steps_of_github())
    assert [step.code for step in job.steps] == [0, 2]
    assert job.told == ["pip install ragassay"]


def of_gitlab() -> list[str]:
    script: list[str] = yaml.safe_load((FOLDER / "gitlab.yml").read_text())["rag"]["script"]
    return script


def of_jenkins() -> list[str]:
    return re.findall(r"'(ragassay [^']*)'", (FOLDER / "Jenkinsfile").read_text())


def asked(line: str) -> list[str]:
    """What a command asks, without the name of its run and the further files that it writes."""
    words = line.split()
    for option in ("--name", "--html", "--comment"):
        if option in words:
            place = words.index(option)
            del words[place : place + 2]
    return words[:2] + words[3:]


@pytest.mark.parametrize("commands", [of_gitlab, of_jenkins])
def test_the_other_services_are_given_the_commands_that_the_job_above_ran(
    commands: Callable[[], list[str]],
) -> None:
    theirs = [line for line in commands() if line.startswith("ragassay ")]
    ours = [step["run"] for step in steps_of_github() if "ragassay " in step.get("run", "")]
    assert [asked(line) for line in theirs] == [asked(line) for line in ours]


@pytest.mark.parametrize(
    ("page", "file"),
    [
        ("gates-and-ci.md", "github.yml"),
        ("ci-gitlab.md", "gitlab.yml"),
        ("ci-jenkins.md", "Jenkinsfile"),
    ],
)
def test_a_page_shows_the_file_as_it_is(page: str, file: str) -> None:
    assert (FOLDER / file).read_text() in (ROOT / "docs" / page).read_text()
