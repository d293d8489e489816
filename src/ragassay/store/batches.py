"""Batches of calls that a run handed to providers."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from ragassay.core import Batch
from ragassay.store import codec, schema
from ragassay.store.access import Access, now_utc
from ragassay.store.runs import RunRecords

BATCH = ("run", "batch", "state", "created", "updated", "payload")
"""The columns of a batch, in the order in which they are inserted."""


class BatchRecords:
    """The batches of one open store. Thread-safe."""

    def __init__(self, access: Access, runs: RunRecords) -> None:
        self._access = access
        self._runs = runs

    def put(self, run_id: str, batch: Batch) -> None:
        """Record what was handed to a provider. One of this id that the run has already is
        replaced.
        """
        number, table = self._runs.number(run_id), schema.batches
        key = codec.as_key(batch.id)
        values = {
            "state": codec.as_key(batch.state),
            "created": codec.as_key(batch.created),
            "updated": now_utc(),
            "payload": codec.seal(codec.encode(batch), run_id, "batch", batch.id),
        }
        change = update(table).where(table.c.run == number, table.c.batch == key).values(values)

        def work(connection: Connection) -> None:
            # Updated, else inserted: alone, or two could both find nothing to update.
            self._access.database.alone(connection, "batches")
            if not connection.execute(change).rowcount:
                connection.execute(insert(table).values(run=number, batch=key, **values))

        self._access.write(work)

    def of_run(self, run_id: str) -> tuple[Batch, ...]:
        """What the run handed to providers, in the order in which it did."""
        table = schema.batches.c
        query = (
            select(table.batch, table.payload)
            .where(table.run == self._runs.number(run_id))
            .order_by(table.id)
        )
        return tuple(
            self._access.value(Batch, row.payload, run_id, "batch", codec.from_key(row.batch))
            for row in self._access.all(query)
        )
