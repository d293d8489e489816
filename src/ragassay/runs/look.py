"""A look at a file of rows: how each column is read, and what could be a field that is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from ragassay.core import SetupError, shorten
from ragassay.runs.config_file import FoundColumn

if TYPE_CHECKING:
    from ragassay.datasets import Dataset, Scan

_FIRST_ROWS = 50
_MAIN_FIELDS = ("question", "contexts", "response")


@dataclass(frozen=True, slots=True)
class Look:
    """columns: those of the file, in order. open_fields: the fields among question, contexts and
    response that no column is read as. advice: what to do about them, and what is read from inside
    a column.
    """

    columns: tuple[FoundColumn, ...]
    open_fields: tuple[str, ...]
    advice: tuple[str, ...]


def look_at(source: str) -> Look:
    """How the rows of a file are read. Raises as `open_rows` and `Dataset.scan`."""
    from ragassay.datasets import open_records, open_rows, walk_path

    try:
        dataset = open_rows(source, guess=True)
    except SetupError as error:
        # Of no column is known what it is: the file is written to be filled in.
        if error.code != "E0307":
            raise
        return _look_at_unknown(source)
    scan = dataset.scan()
    missing = [field for field in _MAIN_FIELDS if field not in scan.given]
    sought = missing if "reference" in scan.fields else [*missing, "reference"]
    unread = dataset.unread(sought)
    guesses = {each.guess: each.field for each in unread if each.guess}
    guesses |= {column: field for field, column in dataset.guesses.items()}
    fields = _fields_by_column(dataset, scan, guesses)
    # A path into an object stands beside the columns, for it is what is read.
    columns = dict.fromkeys((*scan.columns, *fields))
    examples: dict[str, str] = {}
    for _, _, row in islice(open_records(source), _FIRST_ROWS):
        for column in columns:
            value = walk_path(row, column)
            if column not in examples and value not in (None, "", [], {}):
                examples[column] = _shown(value)
    found: list[FoundColumn] = []
    for column in columns:
        if column not in fields and any(path.startswith(f"{column}.") for path in fields):
            continue  # what is read of it has a line of its own
        for field in fields.get(column, ("",)):
            example = examples.get(column, "")
            found.append(FoundColumn(column, field, example, column in guesses))
    open_fields = tuple(field for field in missing if field not in guesses.values())
    doubtful = {each.field: each.candidates for each in unread if not each.guess}
    advice = [_advice(field, doubtful) for field in open_fields]
    shown = {each.field for each in found}
    inside = [field for field in _MAIN_FIELDS if field in scan.fields and field not in shown]
    if inside:
        advice.append(f"also read, from inside these columns: {', '.join(inside)}")
    return Look(tuple(found), open_fields, tuple(advice))


def _fields_by_column(
    dataset: Dataset, scan: Scan, guesses: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Column -> what it is read as: two fields where one cell holds both. Of contexts that are put
    together from several columns, each of these. guesses: column -> field.
    """
    columns = dataset.columns
    # The mapping of the scan knows columns that first appear later, and one field of each.
    pairs = [*scan.mapping.items(), *guesses.items()]
    pairs += [(column, field) for field, column in columns.read.items() if field in scan.fields]
    fields: dict[str, tuple[str, ...]] = {}
    for column, field in pairs:
        parts = columns.joined if field == "contexts" and columns.joined else (column,)
        for part in parts:
            if field not in fields.get(part, ()):
                fields[part] = (*fields.get(part, ()), field)
    return fields


def _look_at_unknown(source: str) -> Look:
    """The columns of rows of which nothing is read."""
    from ragassay.datasets import open_records

    examples: dict[str, str] = {}
    for _, _, row in islice(open_records(source), _FIRST_ROWS):
        for column, value in row.items():
            if column not in examples and value not in (None, "", [], {}):
                examples[column] = _shown(value)
    found = tuple(FoundColumn(column, "", example, False) for column, example in examples.items())
    advice = tuple(f"no column is read as {field}: name it under [map]" for field in _MAIN_FIELDS)
    return Look(found, _MAIN_FIELDS, advice)


def _advice(field: str, candidates: Mapping[str, tuple[str, ...]]) -> str:
    could_be = candidates.get(field, ())
    if not could_be:
        return f"no column is read as {field}; rows may do without"
    names = ", ".join(shorten(column, 40) for column in could_be)
    return f"{field} could be {names}: write it under [map]"


def _shown(value: object) -> str:
    if isinstance(value, list) and value:
        return f"{len(value)} x {_shown(value[0])}" if len(value) > 1 else _shown(value[0])
    if isinstance(value, Mapping):
        value = "{" + ", ".join(map(str, value)) + "}"
    return shorten(value if isinstance(value, str) else repr(value), 60)
