"""GitHub Actions: what a command tells the runner, and a log that judged texts cannot command."""

from __future__ import annotations

import os
import re
import stat
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragassay.core import Summary
    from ragassay.report import Comparison, GateResult
    from ragassay.runs.run import Run

_COMMAND = re.compile(r"^(\s*)::|##\[", re.MULTILINE)


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
    if os.environ.get("GITHUB_ACTIONS") != "true":
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
    summary of the job. again: as of `tell_github`.
    """
    from ragassay.report import on_github

    if not on_github():
        return
    from ragassay.cli.output import note
    from ragassay.report import tell_github

    trouble = tell_github(run.store, summary, gates, comparison, write=_to_runner, again=again)
    if trouble:
        note(trouble)


def announce_error(what: str) -> None:
    """Mark the job with an error that ended the command before there was a run to tell of."""
    from ragassay.report import on_github

    if on_github():
        from ragassay.report import workflow_command

        _to_runner(workflow_command("error", what, title="RagAssay"))


def _to_runner(line: str) -> None:
    """Print a line that the runner is to obey."""
    stream = sys.stderr
    if isinstance(stream, GuardedStream):
        stream = stream.stream
    stream.write(line + "\n")
