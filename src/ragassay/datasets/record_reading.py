"""Reading back a Sample from our own row shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields

from ragassay.core import BadRow, DataError, Sample
from ragassay.datasets.columns import Columns
from ragassay.datasets.rows import RowMaker
from ragassay.datasets.source import Counted, Row, Trouble


class _OneRecord:
    """The place of a record that is read alone."""

    source = "memory"
    textual = False
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    counted_by: Counted = "position"

    def rows(self) -> Iterator[tuple[int, Row | Trouble]]:
        return iter(())

    def where(self, line: int) -> str:
        return "the record"

    def content_hash(self) -> str:
        return ""


# A record has every field of a Sample but the line, which is of the file it was read from.
_OWN_COLUMNS = Columns(
    "",
    {field.name: field.name for field in fields(Sample) if field.name != "line"},
    (),
    [],
    {},
    frozenset(),
)


def from_record(record: Mapping[str, object]) -> Sample:
    """The Sample of a dict as `to_record` writes it. Raises DataError when it is not such a
    dict.
    """
    sample = RowMaker(_OWN_COLUMNS, _OneRecord(), False, Counter()).make(0, dict(record))
    if isinstance(sample, BadRow):
        raise DataError(
            sample.code,
            "A stored row cannot be read back.",
            where=sample.what,
            why=sample.why,
            fix=sample.fix,
        )
    return sample
