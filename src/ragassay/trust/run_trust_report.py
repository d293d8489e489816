"""How far a run's judge can be trusted, in lines and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragassay.core.counting import count
from ragassay.report import number_words
from ragassay.report.tables import Block, Table, figure_table
from ragassay.report.wording import corrected_words
from ragassay.trust.label_reports import labeller_lines

if TYPE_CHECKING:
    from ragassay.scoring.error_groups import ErrorGroup
    from ragassay.trust.measure.run_trust import RunTrust

_SIGNIFICANT = 0.05
_GROUPS_SHOWN = 5
_NOTES_SHOWN = 4


def run_trust_report(result: RunTrust) -> list[Block]:
    """The decision first; then labels, figures, groups of rows, and the command that comes next."""
    blocks: list[Block] = [_headline(result)]
    if not result.labels:
        return [*blocks, f"next: {result.next}"]
    blocks += [f"  {use}" for use in _uses(result)]
    blocks += ["", _labels(result)]
    if result.scale:
        blocks.append(result.scale)
    if result.corrected is not None:
        blocks.append(f"{result.metric} {corrected_words(result.corrected)}")
    if result.labellers is not None:
        blocks += ["", *labeller_lines(result.labellers)]
    blocks += ["", "The judge beside people:", figure_table(result.figures)]
    blocks += ["", *_groups(result.groups)]
    blocks += [f"beware: {note}" for note in result.notes[:_NOTES_SHOWN]]
    if result.more:
        blocks.append(_more(result.more, result.reaches))
    return [*blocks, f"next: {result.next}"]


def _more(labels: int, reaches: float) -> str:
    from ragassay.trust.measure.run_trust import CLOSE

    more = count(labels, "more label")
    if reaches <= CLOSE:
        return f"{more} would show the corrected figure to within about {CLOSE:g}"
    return (
        f"{more}, of all rows that are left, would show the corrected figure to within about"
        f" {reaches:.2f}; within {CLOSE:g} takes more rows"
    )


def _headline(result: RunTrust) -> str:
    who = f"{result.judge} on {result.metric}"
    if not result.labels:
        return f"{who}: not known, no row of {result.rows} is labelled"
    usable = [use.what for use in result.uses if use.usable]
    if not usable:
        return f"{who}: usable for nothing yet, by {count(result.labels, 'label')}"
    return f"{who}: usable for {'; '.join(usable)}"


def _uses(result: RunTrust) -> list[str]:
    return [
        f"{'usable for' if use.usable else 'not usable for'} {use.what}: {use.why}"
        for use in result.uses
    ]


def _labels(result: RunTrust) -> str:
    line = f"labels: {result.labels} of {count(result.rows, 'row')}"
    if result.people > 1:
        line += f" by {count(result.people, 'person', 'people')}"
    line += f"; {result.drawn}"
    if result.worth is not None:
        line += f" (worth {result.worth:.0f} of equal chance)"
    return line


def _groups(groups: Sequence[ErrorGroup]) -> list[Block]:
    """The groups of rows on which the judge errs otherwise; else how many were tried."""
    if not groups:
        return ["Whether its errors differ between rows cannot be tested: too few labels"]
    differ = [group for group in groups if group.p < _SIGNIFICANT]
    if not differ:
        tried = "; ".join(group.name for group in groups[:_GROUPS_SHOWN])
        return [f"Its errors are not shown to differ between rows (tried: {tried})"]
    rows = []
    for group in differ[:_GROUPS_SHOWN]:
        difference = number_words(group.difference, group.interval, sign=True)
        error = f"{group.error:+.3f}, else {group.other_error:+.3f}"
        rows.append((group.name, str(group.rows), error, difference, f"{group.p:.3f}"))
    head = ("rows with", "labels", "judge - people", "difference [95 %]", "p, corrected")
    return ["Its errors differ between rows:", Table(head, tuple(rows))]
