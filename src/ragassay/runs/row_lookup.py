"""The lookup of one row of a run, with an error that says where its rows are listed."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from ragassay.core import RowResult, SetupError, nearest
from ragassay.runs.commands import store_option

if TYPE_CHECKING:
    from ragassay.runs.run import Run

_MOST_NAMES = 2000
"""Row ids that are compared with one that is not there: enough to find a slip of the keys."""


def find_row(run: Run, row_id: str) -> RowResult:
    """The row with this id. Raises SetupError (E0108) where the run has none."""
    row = run.store.row(run.id, row_id)
    if row is not None:
        return row
    command = f"ragassay export {run.id} --format jsonl{store_option(run.store_location)}"
    raise SetupError(
        "E0108",
        f"The row is not in the run.{like_row(run, row_id)}",
        where=f"--row {row_id}",
        fix=f"list the rows with: {command}",
    )


def like_row(run: Run, row_id: str) -> str:
    """The id of the run that is most like this one, as a question; "" for none."""
    if not isinstance(row_id, str):
        return (
            f" Rows are looked up by their id, a text: run[{str(row_id)!r}]; run.rows() gives all."
        )
    known = [row.id for row in islice(run.rows(), _MOST_NAMES)]
    # The number alone of a row that was numbered.
    if f"row-{row_id}" in known:
        return f" Did you mean {f'row-{row_id}'!r}?"
    return nearest(row_id, known)
