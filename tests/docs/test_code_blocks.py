"""The python and bash blocks of the README and the documentation, run offline as they stand."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from ragassay.datasets.examples import rows_path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def _load() -> Any:
    spec = importlib.util.spec_from_file_location(
        "documentation_code_blocks", Path(__file__).with_name("code_blocks.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


code_blocks = _load()


@pytest.mark.timeout(400)  # the README has a dozen commands that load the offline model
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_the_page_runs_in_a_folder_with_nothing_but_the_examples_and_tables(
    page: Path, tmp_path: Path
) -> None:
    shutil.copy(rows_path(), tmp_path / "rows.jsonl")
    for example in (ROOT / "examples").glob("*"):
        shutil.copytree(
            example,
            tmp_path / "examples" / example.name,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    shutil.copytree(ROOT / "docs" / "data", tmp_path / "docs" / "data")
    problems = []
    for block in code_blocks.blocks(page.read_text(encoding="utf-8")):
        if block.language in ("python", "bash"):
            problem = code_blocks.run(block, tmp_path)
            if problem:
                problems.append(f"{page.name}:{block.line}: {problem}")
    assert not problems, "\n\n".join(problems)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_of_the_page_leads_to_a_file_of_the_project(page: Path) -> None:
    text = code_blocks.FENCE.sub("", page.read_text(encoding="utf-8"))
    links = [
        link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"[a-z]+:|#", link)
    ]
    missing = [link for link in links if not (page.parent / link.partition("#")[0]).exists()]
    assert not missing


def test_a_prompt_line_is_a_command_and_the_lines_after_it_are_its_output(tmp_path: Path) -> None:
    [block] = code_blocks.blocks(
        "text\n```bash\n$ echo one; echo two\none\n...\n$ printf '%s' \\\n> three\nthree\n```\n"
    )
    assert block.line == 3
    assert code_blocks.steps(block.code) == [
        ("echo one; echo two", "one\n..."),
        ("printf '%s' \\\nthree", "three"),
    ]
    assert code_blocks.run(block, tmp_path) == ""
    wrong = code_blocks.Block("bash", "$ echo one\ntwo\n", 1)
    assert "another output" in code_blocks.run(wrong, tmp_path)
    assert "exit code 1" in code_blocks.run(code_blocks.Block("bash", "false\n", 1), tmp_path)
