"""What an optimisation tried, one by one, to be looked at beside its report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragassay.core import shorten
from ragassay.judges.rubric_file import rubric_text
from ragassay.report import number_words
from ragassay.runs.report_items import ReportItem
from ragassay.tuning import parts

if TYPE_CHECKING:
    from ragassay.judges import Rubric
    from ragassay.tuning.certify import Finalist
    from ragassay.tuning.optimise import Optimisation
    from ragassay.tuning.search import Tried

CANDIDATES, EDITS = "Candidates for the certificate", "Edits tried"
_TITLE = 120


def tried_items(result: Optimisation) -> Iterator[ReportItem]:
    """The candidates with their rubrics, then each edit that was tried."""
    tested = {}
    if result.certificate is not None:
        tested = {finalist.name: finalist for finalist in result.certificate.finalists}
    for name, rubric in result.finalists:
        yield _candidate(result, name, rubric, tested.get(name))
    if result.result is not None:
        for one in result.result.tried:
            if one.edit is not None:
                yield _edit(one)


def _candidate(
    result: Optimisation, name: str, rubric: Rubric | None, tested: Finalist | None
) -> ReportItem:
    """A rubric beside the one before; of a new pass mark alone, what it rests on."""
    if tested is None:
        outcome = "not tested on the sealed rows"
    else:
        gain = number_words(tested.gain.difference, tested.gain.interval, sign=True)
        why = "; ".join(tested.objections) or "certified"
        outcome = f"{gain} in {result.aim.title} on {tested.rows} sealed rows: {why}"
    if rubric is None:
        texts = (("The pass mark", result.step.reason),)
        if result.orders is not None:
            texts = (("Both orders of a pair", result.orders.reason),)
        return ReportItem(CANDIDATES, name, outcome, texts)
    before, after = rubric_text(result.rubric_before), rubric_text(rubric)
    return ReportItem(CANDIDATES, name, outcome, before=before, after=after)


def _edit(one: Tried) -> ReportItem:
    edit = one.edit
    assert edit is not None
    new = edit.new if edit.example is None else parts.example_text(edit.example)
    outcome = one.dropped or f"taken: it mends {one.mended} of {one.asked}"
    texts = [("Proposed for the errors", one.group), ("Why, as the proposer says", edit.reason)]
    if one.asked:
        counts = f"mends {one.mended} of {one.asked} errors"
        counts += f", breaks {one.broken} of {one.checked} rows that were right"
        texts.append(("On rows to search on", counts))
    told = tuple((name, text) for name, text in texts if text)
    return ReportItem(EDITS, shorten(str(edit), _TITLE), outcome, told, edit.old, new)
