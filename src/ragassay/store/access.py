"""The ways into a store's database and out of it, which all its parts share.

A part of the store asks for rows and writes changes; here stand the transaction, the paging, and
what to do about a value that is not what was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, Executable, Row, Table, inspect, tuple_
from sqlalchemy.sql import ColumnElement, Select

from ragassay.store import codec
from ragassay.store.database import Database

T = TypeVar("T")

IN_LIST = 500
"""Values in one IN (...): well below every database's limit, few enough round trips."""


class Access:
    """Reads and writes of one open database. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.location = database.location
        self.closed = False

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction; durable when it returns."""
        self._check_open()
        return self.database.write(work)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one snapshot. Raises EnvironmentFailure E0503 where a column holds a value
        of another kind.
        """
        self._check_open()
        try:
            return self.database.read(work)
        except (TypeError, AttributeError, UnicodeDecodeError, OverflowError) as error:
            raise codec.damaged(str(error), self.location) from error

    def execute(self, change: Executable) -> None:
        """Run one statement in a transaction of its own."""
        self.write(lambda connection: connection.execute(change))

    def all(self, query: Executable) -> Sequence[Any]:
        """All rows of a query."""
        return self.read(lambda connection: connection.execute(query).all())

    def lacks(self, table: Table) -> bool:
        """Whether this is a store of an older version that may only be read, without the table."""
        if not self.database.read_only:
            return False
        return self.read(lambda connection: not inspect(connection).has_table(table.name))

    def scalar(self, query: Executable) -> Any:
        """The first column of a query's first row, None where there is none."""
        return self.read(lambda connection: connection.scalar(query))

    def pages(
        self,
        query: Select[*tuple[Any, ...]],
        keys: tuple[ColumnElement[Any], ...],
        size: int,
        *,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[Sequence[Row[*tuple[Any, ...]]]]:
        """The query's rows page by page, each in a transaction of its own, continued by the values
        of `keys`, by which the query is ordered; they stand at the end of each row.
        """
        # Continued by key: an OFFSET would have the database pass over all earlier rows once more
        # for every page.
        query = query.add_columns(*(key.label(f"key_{i}") for i, key in enumerate(keys)))
        after: tuple[object, ...] | None = None
        while limit is None or limit > 0:
            page = query.limit(size if limit is None else min(size, limit))
            if after is not None:
                page = page.where(_comes_after(keys, after))
            elif offset:
                page = page.offset(offset)
            rows = self.all(page)
            if not rows:
                return
            after = tuple(rows[-1][-len(keys) :])
            if limit is not None:
                limit -= len(rows)
            yield rows

    def value(self, kind: type[T], blob: bytes, *identity: object) -> T:
        """The value that was sealed for this identity. Raises EnvironmentFailure E0503 where it is
        not what was written.
        """
        return self.checked(lambda: codec.decode(kind, codec.unseal(blob, *identity)))

    def checked(self, read: Callable[..., T], *arguments: object) -> T:
        """What `read` makes of stored values. Raises EnvironmentFailure E0503 where it cannot."""
        try:
            return read(*arguments)
        except (ValueError, TypeError, KeyError) as error:
            raise codec.damaged(str(error), self.location) from error

    def _check_open(self) -> None:
        if self.closed:
            raise RuntimeError("the store is closed")


def _comes_after(
    keys: tuple[ColumnElement[Any], ...], last: tuple[object, ...]
) -> ColumnElement[bool]:
    if len(keys) == 1:
        return keys[0] > last[0]
    return tuple_(*keys) > tuple_(*last)


def now_utc() -> str:
    """This machine's time, ISO 8601 in UTC to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
