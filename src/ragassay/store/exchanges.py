"""Exchanges: the calls to judges' models with their replies, stored beside the judgments.

They prove what was asked and answered, and nothing is computed from them: a run goes on without
them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import select

from ragassay.core import Exchange
from ragassay.store import codec, paging, schema
from ragassay.store.access import IN_LIST, Access
from ragassay.store.runs import RunRecords

EXCHANGE = ("run", "idx", "key", "payload")
"""The columns of an exchange, in the order in which they are inserted."""

_LEVEL = 1
"""Of compression: higher levels take twice the time for a tenth less space."""

MOST_BYTES = 1 << 22
"""Of one exchange without compression: more is no exchange, and must not fill the memory."""


def values_of(exchanges: Sequence[Exchange], run_id: str, number: int) -> list[tuple[Any, ...]]:
    """The columns of exchanges of a run."""
    return [
        (number, each.row, codec.as_key(each.keys[0]), _packed(each, run_id)) for each in exchanges
    ]


def _packed(exchange: Exchange, run_id: str) -> bytes:
    data = zlib.compress(codec.encode(exchange), _LEVEL)
    return codec.seal(data, run_id, "exchange", exchange.row)


def unpacked(payload: bytes, run_id: str, row: int) -> Exchange:
    """The exchange that was stored for this row. Raises Damaged."""
    data = codec.unseal(payload, run_id, "exchange", row)
    reader = zlib.decompressobj()
    try:
        plain = reader.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise codec.Damaged(str(error)) from error
    return codec.decode(Exchange, plain)


class ExchangeRecords:
    """The exchanges of one open store. Thread-safe."""

    def __init__(self, access: Access, runs: RunRecords) -> None:
        self._access = access
        self._runs = runs

    def of_row(self, run_id: str, index: int) -> list[Exchange]:
        """What a row asked, in order."""
        if self._access.lacks(schema.exchanges):
            return []
        table = schema.exchanges.c
        query = (
            select(table.payload)
            .where(table.run == self._runs.number(run_id), table.idx == index)
            .order_by(table.id)
        )
        return [
            self._access.checked(unpacked, payload, run_id, index)
            for (payload,) in self._access.all(query)
        ]

    def rows_that_asked(self, keys: Sequence[str]) -> list[tuple[str, int]]:
        """(run, index of the row) of the exchanges that begin with one of these Requests, the
        oldest first.
        """
        if self._access.lacks(schema.exchanges):
            return []
        table, runs = schema.exchanges.c, schema.runs.c
        places: dict[tuple[str, int], None] = {}
        for start in range(0, len(keys), IN_LIST):
            query = (
                select(runs.run_id, table.idx)
                .where(table.run == runs.id, table.key.in_(keys[start : start + IN_LIST]))
                .order_by(table.id)
            )
            for run_id, index in self._access.all(query):
                places[codec.from_key(run_id), index] = None
        return list(places)

    def pages(self, run_id: str, number: int) -> Iterator[list[tuple[Any, ...]]]:
        """The columns of a run's exchanges behind the run's number, checked against their seals."""
        if self._access.lacks(schema.exchanges):
            return
        table = schema.exchanges.c
        query = select(table.idx, table.key, table.payload).where(table.run == number)
        for page in self._access.pages(query.order_by(table.id), (table.id,), paging.ROWS_A_PAGE):
            for index, _, payload, *_ in page:
                self._access.checked(codec.unseal, payload, run_id, "exchange", index)
            yield [tuple(row[:3]) for row in page]

    def problems(self, run_id: str, number: int) -> Iterator[str]:
        """What is wrong with the exchanges of a run."""
        if self._access.lacks(schema.exchanges):
            return
        table = schema.exchanges.c
        query = select(table.idx, table.key, table.payload).where(table.run == number)
        for page in self._access.pages(query.order_by(table.id), (table.id,), paging.ROWS_A_PAGE):
            for index, key, payload, *_ in page:
                try:
                    exchange = unpacked(payload, run_id, index)
                    if (exchange.row, codec.as_key(exchange.keys[0])) != (index, key):
                        yield f"run {run_id}, row {index}: an exchange does not fit its columns"
                except (ValueError, IndexError) as error:
                    yield f"run {run_id}, row {index}: an exchange: {error}"
