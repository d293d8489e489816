"""A run in a job of GitHub Actions: marks beside the code, and the summary of the job."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.report.comparison import Comparison
from ragassay.report.gate import GateResult
from ragassay.report.job_summary import SUMMARY_LIMIT, markdown_page
from ragassay.report.workflow_commands import MOST, github_annotations

if TYPE_CHECKING:
    from ragassay.core import Summary
    from ragassay.store import Store


def tell_github(
    store: Store,
    summary: Summary,
    gates: GateResult,
    comparison: Comparison | None = None,
    *,
    write: Callable[[str], object],
    again: bool = False,
    most: int = MOST,
    beside: tuple[str, int] | None = None,
) -> str:
    """Write the annotations, and add the run to the summary of the job. Returns why that could not
    be, "" where it could.

    write: prints a line that the runner reads. again: the figures and rows of a run that an earlier
    step of the job has told of are not told twice. most, beside: as of `github_annotations`.
    """
    told = _tell(summary.manifest.run_id) and again
    workspace = os.environ.get("GITHUB_WORKSPACE", "")
    lines = github_annotations(
        store, summary, gates, workspace, with_rows=not told, most=most, beside=beside
    )
    for line in lines:
        write(line)
    file = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not file:
        return ""
    try:
        _add_summary(Path(file), store, summary, gates, comparison, told)
    except OSError as error:
        # The gate has been decided; a summary that cannot be written does not change it.
        return f"the summary of the job cannot be written: {error}"
    return ""


def _tell(run_id: str) -> bool:
    """Whether an earlier step of this job has told of the run; from now on one has.

    RUNNER_TEMP is the folder that the runner empties before and after each job.
    """
    folder = os.environ.get("RUNNER_TEMP", "")
    if not folder:
        return False
    try:
        os.close(os.open(Path(folder, f"ragassay-{run_id}"), os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return True
    except OSError:
        # Without the folder everything is told once more, which is better than not at all.
        return False
    return False


def _add_summary(
    file: Path,
    store: Store,
    summary: Summary,
    gates: GateResult,
    comparison: Comparison | None,
    told: bool,
) -> None:
    # Earlier commands of the same step have written into the same file.
    taken = file.stat().st_size if file.exists() else 0
    page = markdown_page(
        store, summary, gates, comparison, limit=SUMMARY_LIMIT - taken, decisions_only=told
    )
    with open(file, "a", encoding="utf-8", newline="\n") as out:
        out.write(page)
