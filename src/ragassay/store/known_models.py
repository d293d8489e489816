"""What is known of the models behind servers, each under a hash of its address and settings."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select, update

from ragassay.core import KnownModel
from ragassay.store import codec, schema
from ragassay.store.access import Access


class KnownModelRecords:
    """The known models of one open store. Thread-safe."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def put(self, model: KnownModel) -> None:
        """Keep what is known of a model, in place of what was."""
        table, key = schema.models, codec.as_key(model.key)
        payload = codec.seal(codec.encode(model), "model", model.key)
        change = update(table).where(table.c.key == key).values(payload=payload)

        def work(connection: Connection) -> None:
            # Updated, else inserted: alone, or two could both find nothing to update.
            self._access.database.alone(connection, "models")
            if not connection.execute(change).rowcount:
                connection.execute(insert(table).values(key=key, payload=payload))

        self._access.write(work)

    def get(self, key: str) -> KnownModel | None:
        """The model of this key, None where it is not known."""
        table = schema.models.c
        query = select(table.payload).where(table.key == codec.as_key(key))
        for row in self._access.all(query):
            return self._access.value(KnownModel, row.payload, "model", key)
        return None

    def all(self) -> tuple[KnownModel, ...]:
        """All of them, by their key."""
        if self._access.lacks(schema.models):
            return ()
        table = schema.models.c
        query = select(table.key, table.payload).order_by(table.key)
        return tuple(
            self._access.value(KnownModel, row.payload, "model", codec.from_key(row.key))
            for row in self._access.all(query)
        )
