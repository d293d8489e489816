"""The interface of a database to the store, and the waits for one: `sqlite` and `postgres` are
the two there are.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import URL, Connection, Table
from sqlalchemy.sql import ColumnElement

T = TypeVar("T")

PATIENCE_S = 120.0
"""How long a write or a read waits for a database that is locked, down or read-only, before it
gives up.
"""

SHOWN_AFTER_S = 2.0


class Database(Protocol):
    """One open database."""

    waits: Waits
    read_only: bool
    """This process may not write where it lies."""

    @property
    def location(self) -> str:
        """Its path or URL as it may be shown and used again: without a password."""

    @property
    def address(self) -> Path | URL:
        """Its path or URL as it can be opened again, in this process only: with its password."""

    def prepare(self) -> Path | None:
        """Bring the schema to `schema.HEAD`; the path of the copy made before a migration, where
        one was made.
        """

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction, and again where that came to nothing for a reason that
        passes.

        Durable when it returns, and done once, also where the connection was lost while it was
        committed. `work` must not do anything but read and write the database.
        """

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one snapshot; again where the connection was lost."""

    def insert(
        self,
        connection: Connection,
        table: Table,
        names: Sequence[str],
        values: Sequence[tuple[Any, ...]],
    ) -> None:
        """Add many rows of a table in the quickest way; `names` are its columns in the order of the
        values.
        """

    def alone(self, connection: Connection, what: str) -> None:
        """Keep other writers of `what` waiting until this transaction ends."""

    def hashed(self, column: ColumnElement[str], value: str) -> list[ColumnElement[bool]]:
        """What besides `column = value` to ask for, so that the index of an id is used."""

    def now(self, connection: Connection) -> float:
        """Unix time by the clock that all who share the database see."""

    def integrity(self, connection: Connection) -> list[str]:
        """What the database's own check finds wrong."""

    def close(self) -> None:
        """Give all connections back. Whoever waits stops waiting."""


class Waits:
    """Who waits for the database and for what; `str` is what a user is shown of it, "" where nobody
    waits long.
    """

    def __init__(self) -> None:
        self._now: dict[int, tuple[float, str]] = {}

    @contextlib.contextmanager
    def on(self, what: str) -> Iterator[None]:
        """This thread waits for `what`, until `over` or the block's end. An inner block only says
        it in other words.
        """
        thread = threading.get_ident()
        outer = self._now.get(thread)
        self._now[thread] = (outer[0] if outer else time.monotonic(), what)
        try:
            yield
        finally:
            if outer is None:
                self._now.pop(thread, None)

    def over(self) -> None:
        """What this thread waited for is there."""
        self._now.pop(threading.get_ident(), None)

    def seconds(self, thread: int) -> float:
        """How long a thread has waited, 0 where it does not. thread: its identifier."""
        waiting = self._now.get(thread)
        return 0.0 if waiting is None else time.monotonic() - waiting[0]

    def __str__(self) -> str:
        longest = min(list(self._now.values()), default=None)
        if longest is None or time.monotonic() - longest[0] < SHOWN_AFTER_S:
            return ""
        return longest[1]
