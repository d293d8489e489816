"""The check that rows have the fields that are to be judged, before anything is asked about them.

Rows may well have no contexts (an answer from the model alone, set beside a reference) or no
response (a ranking with judged documents). But where columns are left unread that could be the
field, the rows have probably been misread, and a result without them would reassure for no reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from ragassay.core import SetupError, shorten

if TYPE_CHECKING:
    from ragassay.datasets import Dataset, Scan, Unread
    from ragassay.runs.plan import Setup

# Field -> fields that say why rows would be without it.
_REASONS: Mapping[str, frozenset[str]] = {
    "question": frozenset(),
    "contexts": frozenset({"reference", "expected_facts", "context_ids", "relevant_ids"}),
    "response": frozenset({"relevant_ids"}),
}


_MOST_CHOICES = 3
_NOUNS = {"question": "a question", "contexts": "contexts", "response": "a response"}


def guess_fields(dataset: Dataset, scan: Scan, setup: Setup) -> dict[str, str]:
    """Field -> the column that `--yes` reads as it, for fields that no row has. Raises SetupError
    E0318 where a column could be such a field and is not to be taken.
    """
    missing = _missing(scan, setup)
    if not missing:
        return {}
    read = set(scan.mapping.values())
    unread = [
        each
        for each in dataset.unread(missing)
        # Prose that may be anything is no reason to stop where the rows make sense without it.
        if each.is_clear or not read & _REASONS[each.field]
    ]
    if unread and "reference" not in scan.fields:
        # Rows may well have no right answer; but whoever names columns names this one, too.
        unread += [each for each in dataset.unread(["reference"]) if each.guess]
    if unread and not (setup.options.yes and all(each.guess for each in unread)):
        raise _unread_error(unread, scan, setup.options.yes)
    return {each.field: each.guess for each in unread}


def _missing(scan: Scan, setup: Setup) -> list[str]:
    """The fields that no row has and that a metric is not to be had without."""
    absent = [field for field in _REASONS if field not in scan.given]
    if setup.application is not None:
        absent = [field for field in absent if field == "question"]
    needed: set[str] = set()
    for metric in setup.metrics:
        for need in metric.declaration.needs:
            alternatives = set(need.split("|"))
            if not alternatives & (scan.given | set(scan.mapping.values()) - set(absent)):
                needed |= alternatives
    return [field for field in absent if field in needed]


def _unread_error(unread: Sequence[Unread], scan: Scan, took_guesses: bool) -> SetupError:
    missed = [each for each in unread if each.field in _NOUNS]
    fields = " or ".join(_NOUNS[each.field] for each in missed)
    columns = list(dict.fromkeys(chain.from_iterable(each.candidates for each in missed)))
    verb = "is" if len(columns) == 1 else "are"
    in_memory = scan.source == "memory"
    yes, metrics = ("yes=True", "metrics=[...]") if in_memory else ("--yes", "--metrics")
    fixes = [_fix(choice, in_memory) for choice in _choices(unread)]
    if took_guesses and not in_memory:
        # Without it the columns that were guessed so far are refused again.
        fixes = [f"{fix} --yes" for fix in fixes]
    fix = " or ".join(fixes)
    takes = f", which {yes} takes" if all(each.guess for each in unread) else ""
    if len(fixes) > 1:
        takes = ", since nothing says clearly which"
    elif "COLUMN" in fix:
        takes = ", with the names of columns; nothing says clearly which"
    return SetupError(
        "E0318",
        f"No row has {fields}, and {', '.join(map(shorten, columns))} {verb} not read.",
        where=scan.source,
        why=f"{shorten(columns[0])} holds {_shown(unread[0].example)}",
        fix=f"{fix}{takes}; or name with {metrics} what can be measured without",
    )


def _choices(unread: Sequence[Unread]) -> list[dict[str, str]]:
    """Field -> column, in the ways in which the columns may be meant: several where one field alone
    may be one of several.
    """
    columns = {each.field: _column(each, unread) for each in unread}
    doubtful = [each for each in unread if columns[each.field] == "COLUMN"]
    if len(doubtful) != 1:
        return [columns]
    (each,) = doubtful
    return [{**columns, each.field: candidate} for candidate in each.candidates[:_MOST_CHOICES]]


def _fix(columns: Mapping[str, str], in_memory: bool) -> str:
    """The options, or the parameter of Python, that read these columns as the fields."""
    from ragassay.datasets.columns import quote

    if in_memory:
        return f"mapping={dict(columns)}"
    return " ".join(f"--map {field}={quote(column)}" for field, column in columns.items())


def _column(unread: Unread, others: Sequence[Unread]) -> str:
    """The column that is meant, or a placeholder: where it may be one of several, or where one
    column may be either of two fields.
    """
    if not unread.guess and len(unread.candidates) > 1:
        return "COLUMN"
    column = unread.guess or unread.candidates[0]
    meant = [each for each in others if not set(unread.candidates).isdisjoint(each.candidates)]
    return column if len(meant) == 1 else "COLUMN"


def _shown(value: object) -> str:
    """The beginning of a value."""
    from ragassay.datasets.cells import chunk_text

    if isinstance(value, list) and value:
        value = value[0]
    value = chunk_text(value) or value
    return shorten(value if isinstance(value, str) else repr(value), 60)
