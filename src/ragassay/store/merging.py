"""The part of a run, which was written into a store of its own, taken into the store of the run.

A payload is sealed for its run and row and not for its store, so it is checked and moved, and never
decoded. Every page is a commit of its own; the whole may be broken off and repeated: what is there
already is not added again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select

from ragassay.store import codec, paging, schema
from ragassay.store.access import IN_LIST
from ragassay.store.exchanges import EXCHANGE
from ragassay.store.judgments import JUDGMENT, group_by_judge
from ragassay.store.paging import portions
from ragassay.store.rows import BODY, ROW, delete_unfinished, touch_run
from ragassay.store.store import Store

Values = tuple[Any, ...]
"""The values of a table's columns, the run's number first."""


def take(store: Store, part: Store, run_id: str) -> None:
    """Add to a run the judgments and rows that another store holds of it. A row that is done stays
    as it is.
    """
    number = store.run_records.number(run_id)
    number_in_part = part.run_records.number(run_id)
    _take_judgments(store, number, part, number_in_part)
    _take_exchanges(store, number, part, run_id, number_in_part)
    _take_rows(store, number, part, number_in_part)


def _take_exchanges(
    store: Store, number: int, part: Store, run_id: str, number_in_part: int
) -> None:
    for page in part.exchange_records.pages(run_id, number_in_part):
        _add_exchanges(store, number, page)


def _add_exchanges(store: Store, number: int, page: Sequence[Values]) -> None:
    """Add those exchanges that the run does not have, in one commit."""

    def work(connection: Connection) -> None:
        table = schema.exchanges.c
        indices = sorted({index for index, _, _ in page})
        present = set[tuple[int, bytes]]()
        for start in range(0, len(indices), IN_LIST):
            query = select(table.idx, table.payload).where(
                table.run == number, table.idx.in_(indices[start : start + IN_LIST])
            )
            present.update((index, payload) for index, payload in connection.execute(query))
        new = [(number, *value) for value in page if (value[0], value[2]) not in present]
        if new:
            store.database.insert(connection, schema.exchanges, EXCHANGE, new)

    store.access.write(work)


def _take_judgments(store: Store, number: int, part: Store, number_in_part: int) -> None:
    table = schema.judgments
    columns = [table.c[name] for name in (*JUDGMENT, "id")]
    query = select(*columns).where(table.c.run == number_in_part).order_by(table.c.id)
    for page in part.access.pages(query, (table.c.id,), paging.LINES_A_PAGE):
        values = [(number, row.judge, row.key, row.status, row.payload) for row in page]
        for _, judge, key, _, payload in values:
            store.access.checked(codec.unseal, payload, judge, key)
        _add_judgments(store, number, values)


def _add_judgments(store: Store, number: int, values: Sequence[Values]) -> None:
    """Add those judgments that the run does not have, in one commit."""
    # Compared with the payload: a run may have several judgments of one address, and keeps each.

    def work(connection: Connection) -> None:
        present = _present(connection, number, values)
        new = [value for value in values if (value[1], value[2], value[4]) not in present]
        if new:
            store.database.insert(connection, schema.judgments, JUDGMENT, new)

    store.access.write(work)


def _present(
    connection: Connection, number: int, values: Sequence[Values]
) -> set[tuple[str, str, bytes]]:
    """Which of these judgments the run has: (judge, key, payload)."""
    table = schema.judgments.c
    present = set[tuple[str, str, bytes]]()
    for judge, keys in group_by_judge((value[1], value[2]) for value in values).items():
        for start in range(0, len(keys), IN_LIST):
            batch = keys[start : start + IN_LIST]
            query = select(table.key, table.payload).where(
                table.run == number, table.judge == judge, table.key.in_(batch)
            )
            present.update((judge, row.key, row.payload) for row in connection.execute(query))
    return present


def _take_rows(store: Store, number: int, part: Store, number_in_part: int) -> None:
    rows = schema.rows.c
    sizes = select(rows.size, rows.idx).where(rows.run == number_in_part).order_by(rows.idx)
    for page in part.access.pages(sizes, (rows.idx,), paging.ROWS_A_PAGE):
        for indices in portions([(row.idx, row.size) for row in page]):
            stored = {
                name: _values(part, name, number_in_part, number, indices)
                for name in ("rows", "bodies")
            }
            _add_rows(store, number, indices, stored)


def _values(
    part: Store, table_name: str, number_in_part: int, number: int, indices: Sequence[int]
) -> list[Values]:
    """The rows of a table with these indices, with the number that the run has in its own store."""
    table = schema.metadata.tables[table_name]
    columns = [table.c[name] for name in COLUMNS[table_name][1:]]
    query = select(*columns).where(table.c.run == number_in_part, table.c.idx.in_(indices))
    return [(number, *row) for row in part.access.all(query)]


COLUMNS = {"rows": ROW, "bodies": BODY}


def _add_rows(
    store: Store, number: int, indices: Sequence[int], stored: dict[str, list[Values]]
) -> None:
    """Add those rows, with their bodies, that are not done in the run, in one commit."""

    def work(connection: Connection) -> None:
        touch_run(connection, number, updated=schema.runs.c.updated)
        final = delete_unfinished(connection, number, indices)
        for table_name, values in stored.items():
            index_at = COLUMNS[table_name].index("idx")
            new = [value for value in values if value[index_at] not in final]
            if new:
                table = schema.metadata.tables[table_name]
                store.database.insert(connection, table, COLUMNS[table_name], new)

    store.access.write(work)
