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
    run: Run, summary: Summary, gates: GateResult, comparison: Comparison | None = None
) -> None:
    """Print the annotations on stderr, where --json leaves them room, and add the run to the
    summary of the job.
    """
    if not on_github():
        return
    from ragassay.report import github_annotations

    stream = sys.stderr
    if isinstance(stream, GuardedStream):
        stream = stream.stream
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    for line in github_annotations(run.store, summary, gates, workspace):
        stream.write(line + "\n")
    file = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if file:
        _add_summary(Path(file), run, summary, gates, comparison)


def _add_summary(
    file: Path, run: Run, summary: Summary, gates: GateResult, comparison: Comparison | None
) -> None:
    from ragassay.cli.output import note
    from ragassay.report import SUMMARY_LIMIT, markdown_page

    try:
        # Earlier commands of the same step have written into the same file.
        taken = file.stat().st_size if file.exists() else 0
        page = markdown_page(run.store, summary, gates, comparison, limit=SUMMARY_LIMIT - taken)
        with open(file, "a", encoding="utf-8", newline="\n") as out:
            out.write(page)
    except OSError as error:
        # The gate has been decided; a summary that cannot be written does not change it.
        note(f"the summary of the job cannot be written: {error}")
