"""Annotations of a run for GitHub Actions: lines that its log turns into marks beside the code.

Form: `::error file=F,line=N,title=T::message`, as GitHub documents workflow commands. What stands
in them comes from judged texts, so every character that could end a field is written as GitHub
escapes it, and the older form of a command (`##[error]`), which begins anywhere, gets a space.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.core import Manifest, RowResult, Summary, Verdict
from ragassay.report.gate import GateResult
from ragassay.report.proof import proof, worst_score
from ragassay.report.text import inert, one_line
from ragassay.report.wording import cause_words

if TYPE_CHECKING:
    from ragassay.store import Store

MOST = 10
"""GitHub shows so many of a step and drops the others without a word."""

_LINES = (".jsonl", ".ndjson")
"""Endings of files in which row n stands in line n."""

_TABLES = (".csv", ".tsv")
"""Endings of tables, whose first row is a header and whose rows may take several lines."""


def github_annotations(
    store: Store,
    summary: Summary,
    gates: GateResult,
    workspace: str,
    *,
    with_rows: bool = True,
    most: int = MOST,
    beside: tuple[str, int] | None = None,
) -> list[str]:
    """At most `most` workflow commands: gates that are not met, then the failing rows, worst first.
    Where some are cut, the last one says how many.

    workspace: the folder of the checkout, to which paths are relative. with_rows: False where an
    earlier step has marked the rows of this run. beside: the file and the line, from 1, that the
    rows are marked at; None for their own lines in the file that they were read from.
    """
    if most < 1:
        return []
    conditions = list(_conditions(gates))
    every = len(conditions) + (summary.failed if with_rows else 0)
    # One of the places is for saying what is cut.
    shown = most if every <= most else most - 1
    lines = conditions[:shown]
    if with_rows:
        lines += _of_rows(store, summary, workspace, shown - len(lines), beside)
    if every > most:
        words = (
            f"{every - shown:,} more problems are not shown here, where GitHub shows {MOST}:"
            " see the summary of the job"
        )
        lines.append(workflow_command("notice", words, title="RagAssay"))
    return lines


def _of_rows(
    store: Store, summary: Summary, workspace: str, most: int, beside: tuple[str, int] | None
) -> Iterator[str]:
    """The worst rows, each beside its line."""
    worst = store.rows(summary.manifest.run_id, order="worst", verdict=Verdict.FAIL)
    rows = list(islice(worst, most))
    if beside is not None:
        for row in rows:
            yield _of_row(row, *beside, summary.manifest)
        return
    file = _file(summary.manifest, workspace)
    numbers = _line_numbers(Path(summary.manifest.source), {row.index for row in rows})
    for row in rows:
        yield _of_row(row, file, numbers.get(row.index), summary.manifest)


def _conditions(gates: GateResult) -> Iterator[str]:
    for outcome in gates.outcomes:
        if outcome.passed is False:
            yield workflow_command("error", outcome.message, title="Gate not met")
    for message in gates.incomplete:
        yield workflow_command("error", message, title="Not decided")


def _of_row(row: RowResult, file: str, line: int | None, manifest: Manifest) -> str:
    score = worst_score(row, manifest)
    cause = row.diagnosis.cause
    title = f"row {row.id}: {cause_words(cause) if cause is not None else 'fails'}"
    words = []
    if score is not None:
        shown = proof(score, row.sample)
        quote = f"“{one_line(shown.quote, 300)}”" if shown.quote else ""
        words = [shown.what, quote, one_line(shown.rationale, 300)]
    if cause is not None:
        words.append(f"Try: {cause.remedy}")
    fields: dict[str, str] = {}
    if file:
        fields["file"] = file
    if line is not None:
        fields["line"] = str(line)
    message = "\n".join(word for word in words if word)
    return workflow_command("warning", message, **fields, title=one_line(title, 200))


def _file(manifest: Manifest, workspace: str) -> str:
    """The file of the rows as GitHub names it, "" where there is none."""
    if manifest.source == "memory":
        return ""
    path = Path(manifest.source)
    for folder in (workspace, os.getcwd()):
        if folder and path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.as_posix()


def _line_numbers(path: Path, indices: set[int]) -> dict[int, int]:
    """Index of a row -> its first line, from 1, in JSON Lines or a table; {} for any other file."""
    numbers: dict[int, int] = {}
    ending = path.suffix.lower()
    if ending in _TABLES and indices:
        return _lines_of_table(path, indices)
    if ending not in _LINES or not indices:
        return numbers
    row = 0
    try:
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                if row in indices and line.strip():
                    numbers[row] = number
                # Empty lines are no rows.
                row += bool(line.strip())
    except OSError:
        # The run is read from the store; its file may be gone.
        return {}
    return numbers


def _lines_of_table(path: Path, indices: set[int]) -> dict[int, int]:
    numbers: dict[int, int] = {}
    try:
        with open(path, encoding="utf-8-sig", newline="") as text:
            header = text.readline()
            text.seek(0)
            table = csv.reader(text, delimiter=max(",;\t", key=header.count))
            before, row = 0, -1  # the header is no row
            for cells in table:
                if row in indices:
                    numbers[row] = before + 1
                before = table.line_num
                row += bool(cells)
    except (OSError, ValueError, csv.Error):
        # Gone, in another encoding, or no table: the rows are marked without a line.
        return {}
    return numbers


def workflow_command(name: str, message: str, **fields: str) -> str:
    """A command to the runner: name "error", "warning" or "notice"; fields: title, file, line."""
    written = ",".join(f"{key}={_field(value)}" for key, value in fields.items())
    return f"::{name} {written}::{_message(message)}"


def _message(text: str) -> str:
    """As the toolkit of GitHub Actions escapes data, and without a command of the older form."""
    return inert(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _field(text: str) -> str:
    """As it escapes the value of a field."""
    return _message(text).replace(":", "%3A").replace(",", "%2C")
