"""What a failed or undecided test prints: the claim, its evidence, the cause, and where more is."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from ragassay.core import RowResult, Score, Verdict
from ragassay.diagnosis import worst_part
from ragassay.report import inert, plain
from ragassay.report.proof import proof, worst_score
from ragassay.report.text import one_line
from ragassay.runs.commands import store_option

if TYPE_CHECKING:
    from ragassay.runs.run import Run

_SHOWN = 3
"""Rows that a failed assertion shows; the command that is named shows all."""


def of_assertion(run: Run, messages: list[str], metric: str) -> str:
    """Why an assertion is not met. metric: the one that it names, whose worst rows are shown; ""
    for the worst rows of all.
    """
    lines = [*messages, ""]
    rows = [row for row in run.failures() if not metric or _fails(row, metric)]
    for row in rows[:_SHOWN]:
        lines += _of_row(run, row, row.score(metric) if metric else None)
    if len(rows) > _SHOWN:
        lines.append(f"{len(rows) - _SHOWN:,} more rows fail.")
    lines.append(f"more: ragassay show {run.id}{_store(run)}")
    return inert(plain("\n".join(lines)))


def of_row(run: Run, row: RowResult) -> str:
    """Why a row fails or is undecided."""
    return inert(plain("\n".join(_of_row(run, row, None))))


def _fails(row: RowResult, metric: str) -> bool:
    score = row.score(metric)
    return score is not None and score.verdict is Verdict.FAIL


def _of_row(run: Run, row: RowResult, score: Score | None) -> Iterator[str]:
    score = score or worst_score(row, run.manifest)
    cause = row.diagnosis.cause
    nothing = "nothing could be measured" if score is None else "no cause"
    yield f"row {one_line(row.id)}: {cause.title if cause is not None else nothing}"
    if score is not None:
        shown = proof(score, row.sample)
        value = "no value" if score.value is None else f"{score.value:.3f}"
        yield f"  {score.metric} is {value}: {shown.what or score.reason}"
        if shown.quote:
            yield f"    claim: “{_short(shown.quote)}”"
        yield from _evidence(row, score)
        if shown.rationale:
            yield f"    why: {_short(shown.rationale)}"
    else:
        # No metric has a value that could decide anything.
        for one in islice((one for one in row.scores if one.reason), _SHOWN):
            yield f"  {one.metric} has no value: {one_line(one.reason)}"
    if cause is not None:
        yield f"  try: {cause.remedy}"
    yield f"  ragassay show {run.id}{_of_this(row.id)}{_store(run)}"


def _evidence(row: RowResult, score: Score) -> Iterator[str]:
    """The passages that the verdict rests on; without any, what was retrieved."""
    worst = worst_part(score, unjudged=True)
    quotes = [] if worst is None else [one.quote for one in worst[1].evidence]
    contexts = () if row.sample is None else row.sample.contexts or ()
    kind = "evidence" if quotes else "context"
    for text in islice(quotes or [context.text for context in contexts], 2):
        yield f"    {kind}: “{_short(text)}”"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"


def _of_this(row_id: str) -> str:
    """The option that names the row, in the shell's words; "" for an id that is no single line."""
    return f" --row {shlex.quote(row_id)}" if row_id.isprintable() else ""


def _store(run: Run) -> str:
    return store_option(run.store_location)
