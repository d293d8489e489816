"""What a session tells a job of GitHub Actions: marks beside the tests, and its runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ragassay.pytest_plugin.judging import Group

if TYPE_CHECKING:
    from ragassay.report import GateOutcome


def tell_github_of(
    groups: Sequence[Group], config: pytest.Config, write: Callable[[str], object]
) -> Iterator[str]:
    """Write the annotations of the runs, at most as many as GitHub shows of a step, and add the
    runs to the summary of the job. Yields what could not be done. write: prints a line.
    """
    from ragassay.report import on_github

    if not on_github():
        return
    from ragassay.report import GateResult, tell_github, workflow_command
    from ragassay.report.workflow_commands import MOST

    left = MOST

    def mark(line: str) -> None:
        nonlocal left
        left -= 1
        write(line)

    for group in groups:
        if group.run is None:
            if left > 0:
                mark(workflow_command("error", group.error, title=f"{group.function}: not judged"))
            continue
        outcomes: list[GateOutcome] = []
        incomplete: dict[str, None] = {}
        for result in group.results:
            outcomes += result.outcomes
            # Tests may assert the same thing twice.
            incomplete.update(dict.fromkeys(result.incomplete))
        trouble = tell_github(
            group.run.store,
            group.run.summary,
            GateResult(tuple(outcomes), tuple(incomplete), 0),
            write=mark,
            most=left,
            beside=_place(group, config),
        )
        if trouble:
            yield trouble


def _place(group: Group, config: pytest.Config) -> tuple[str, int]:
    """The file of the test function as GitHub names it, and its line, from 1."""
    file, line, _ = group.tests[0].location
    path = config.rootpath / file
    workspace = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    shown = path.relative_to(workspace) if path.is_relative_to(workspace) else Path(file)
    return shown.as_posix(), (line or 0) + 1
