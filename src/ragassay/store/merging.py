"""How is a run's part, which was written into a store of its own, taken into the store of the run?
Payloads as they are.

A payload is sealed for its run and row and not for its store, so it is checked and moved, and never
decoded. Every page is a commit of its own; the whole may be broken off and repeated: what is there
already is not added again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Connection, select, update

from ragassay.store import codec, schema
from ragassay.store.store import (
    BODY,
    IN_LIST,
    JUDGMENT,
    LINES_A_PAGE,
    ROW,
    ROWS_A_PAGE,
    Store,
    make_way,
    portions,
)

T = TypeVar("T")


def take(store: Store, part: Store, run_id: str) -> None:
    """Add to a run the judgments and rows that another store holds of it. A row that is done stays
    as it is.
    """
    _take_judgments(store, part, run_id)
    _take_rows(store, part, run_id)


def _take_judgments(store: Store, part: Store, run_id: str) -> None:
    number, table = store._number(run_id), schema.judgments
    columns = [table.c[name] for name in (*JUDGMENT, "id")]
    query = select(*columns).where(table.c.run == part._number(run_id)).order_by(table.c.id)
    for page in part._pages(query, (table.c.id,), LINES_A_PAGE):
        values = [(number, row.judge, row.key, row.status, row.payload) for row in page]
        for _, judge, key, _, payload in values:
            store._checked(codec.unseal, payload, judge, key)

        def work(connection: Connection, values: list[tuple[Any, ...]] = values) -> None:
            known = _known(connection, number, values)
            fresh = [value for value in values if (value[1], value[2], value[4]) not in known]
            if fresh:
                store.database.insert(connection, table, JUDGMENT, fresh)

        store._write(work)


def _known(
    connection: Connection, number: int, values: list[tuple[Any, ...]]
) -> set[tuple[str, str, bytes]]:
    """Which of these judgments the run has: (judge, key, payload)."""
    table, wanted = schema.judgments.c, dict[str, list[str]]()
    for _, judge, key, *_ in values:
        wanted.setdefault(judge, []).append(key)
    known = set[tuple[str, str, bytes]]()
    for judge, keys in wanted.items():
        for some in _batched(keys):
            here = select(table.key, table.payload).where(
                table.run == number, table.judge == judge, table.key.in_(some)
            )
            known.update((judge, row.key, row.payload) for row in connection.execute(here))
    return known


def _take_rows(store: Store, part: Store, run_id: str) -> None:
    number, theirs, rows, bodies = (
        store._number(run_id),
        part._number(run_id),
        schema.rows,
        schema.bodies,
    )
    sizes = select(rows.c.size, rows.c.idx).where(rows.c.run == theirs).order_by(rows.c.idx)
    for page in part._pages(sizes, (rows.c.idx,), ROWS_A_PAGE):
        for indices in portions([(row.idx, row.size) for row in page]):
            lines, texts = (
                part._all(select(table).where(table.c.run == theirs, table.c.idx.in_(indices)))
                for table in (rows, bodies)
            )

            def work(
                connection: Connection,
                indices: Any = indices,
                lines: Any = lines,
                texts: Any = texts,
            ) -> None:
                # First of all, so that two who write rows of one run take turns and none sees half
                # of the other's.
                touched = (
                    update(schema.runs)
                    .where(schema.runs.c.id == number)
                    .values(updated=schema.runs.c.updated)
                )
                connection.execute(touched)
                final = make_way(connection, number, indices)
                for table, names, found in ((rows, ROW, lines), (bodies, BODY, texts)):
                    fresh = [
                        (number, *(getattr(row, name) for name in names[1:]))
                        for row in found
                        if row.idx not in final
                    ]
                    if fresh:
                        store.database.insert(connection, table, names, fresh)

            store._write(work)


def _batched(values: Iterable[T]) -> Iterator[list[T]]:
    rest = iter(values)
    while some := list(islice(rest, IN_LIST)):
        yield some
