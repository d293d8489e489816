"""The files for CI services to copy: their commands run as they stand, and the pages show them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from ragassay.datasets.examples import rows_path
from support.shell import Shell

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "ci"


def of_github() -> list[str]:
    job = yaml.safe_load((FOLDER / "github.yml").read_text())["jobs"]["evaluate"]
    return [step["run"] for step in job["steps"] if "run" in step]


def of_gitlab() -> list[str]:
    script: list[str] = yaml.safe_load((FOLDER / "gitlab.yml").read_text())["rag"]["script"]
    return script


def of_jenkins() -> list[str]:
    return re.findall(r"'(ragassay [^']*)'", (FOLDER / "Jenkinsfile").read_text())


@pytest.mark.parametrize("commands", [of_github, of_gitlab, of_jenkins])
def test_the_commands_of_a_file_to_copy_run_as_they_stand(
    commands: Callable[[], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path)
    rows = rows_path().read_text(encoding="utf-8").splitlines(keepends=True)
    shell.write("rows.jsonl", "".join(rows[:12]))
    shell("ragassay evaluate rows.jsonl --metrics groundedness,answer_relevance --name main")
    shell("ragassay gate main --write-baseline baseline.jsonl")
    monkeypatch.setenv("CI", "true")
    ours = [line for line in commands() if line.startswith("ragassay ")]
    assert [line.split()[1] for line in ours] == ["evaluate", "gate"]
    for line in ours:
        shell(line)
    assert (tmp_path / "junit.xml").exists()


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
