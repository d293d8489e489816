"""GitHub Actions: marks beside the code, a summary of the job, and a log that texts cannot command.

Only where GITHUB_ACTIONS is "true", as the runner sets it.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragassay.core import Summary
    from ragassay.report import Comparison, GateResult
    from ragassay.runs.run import Run

_COMMAND = re.compile(r"^(\s*)::|##\[", re.MULTILINE)


def on_github() -> bool:
    """Whether the command runs in a job of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


class GuardedStream:
    """A stream whose text the runner takes for no command: `::` at the start of a line, or `##[`,
    gets a space. Judged texts are printed, and could otherwise write annotations of their own.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text without commands; the number of characters of the text itself."""
        self.stream.write(_COMMAND.sub(_without_effect, text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _without_effect(match: re.Match[str]) -> str:
    found = match.group()
    return f"{match.group(1)}: :" if found.endswith("::") else "## ["


def guard_output() -> None:
    """Guard the streams of this process that the runner may read, in a job of GitHub Actions."""
    if not on_github():
        return
    if not _is_file(sys.stdout):
        sys.stdout = GuardedStream(sys.stdout)
    if not _is_file(sys.stderr):
        sys.stderr = GuardedStream(sys.stderr)


def _is_file(stream: Any) -> bool:
    """Whether the stream was redirected into a file: no runner reads it, and data stay as they
    are.
    """
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def announce(
    run: Run,
    summary: Summary,
    gates: GateResult,
    comparison: Comparison | None = None,
    *,
    again: bool = False,
) -> None:
    """Print the annotations on stderr, where --json leaves them room, and add the run to the
    summary of the job. again: the figures and rows of a run that an earlier step of the job has
    told of are not told twice.
    """
    if not on_github():
        return
    from ragassay.report import github_annotations

    told = _tell(run) and again
    stream = sys.stderr
    if isinstance(stream, GuardedStream):
        stream = stream.stream
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    for line in github_annotations(run.store, summary, gates, workspace, with_rows=not told):
        stream.write(line + "\n")
    file = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if file:
        _add_summary(Path(file), run, summary, gates, comparison, told)


def _tell(run: Run) -> bool:
    """Whether an earlier step of this job has told of the run; from now on one has.

    RUNNER_TEMP is the folder that the runner empties before and after each job.
    """
    folder = os.environ.get("RUNNER_TEMP", "")
    if not folder:
        return False
    try:
        os.close(os.open(Path(folder, f"ragassay-{run.id}"), os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return True
    except OSError:
        # Without the folder everything is told once more, which is better than not at all.
        return False
    return False


def _add_summary(
    file: Path,
    run: Run,
    summary: Summary,
    gates: GateResult,
    comparison: Comparison | None,
    told: bool,
) -> None:
    from ragassay.cli.output import note
    from ragassay.report import SUMMARY_LIMIT, markdown_page

    try:
        # Earlier commands of the same step have written into the same file.
        taken = file.stat().st_size if file.exists() else 0
        page = markdown_page(
            run.store,
            summary,
            gates,
            comparison,
            limit=SUMMARY_LIMIT - taken,
            decisions_only=told,
        )
        with open(file, "a", encoding="utf-8", newline="\n") as out:
            out.write(page)
    except OSError as error:
        # The gate has been decided; a summary that cannot be written does not change it.
        note(f"the summary of the job cannot be written: {error}")
