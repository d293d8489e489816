"""Certificates of judges, kept under the hash of their content."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from ragassay.core import Certificate
from ragassay.store import codec, schema
from ragassay.store.access import Access


class CertificateRecords:
    """The certificates of one open store. Thread-safe."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def put(self, certificate: Certificate) -> None:
        """Keep a certificate; one of the same id is there already and stays. Raises ValueError for
        NaN and infinities.
        """
        table, key = schema.certificates, codec.as_key(certificate.id)
        values = {
            "id": key,
            "created": codec.as_key(certificate.created),
            "judge": codec.as_key(certificate.judge),
            "metric": codec.as_key(certificate.metric),
            "dataset": codec.as_key(certificate.dataset),
            "payload": codec.seal(codec.encode(certificate), certificate.id),
        }

        def work(connection: Connection) -> None:
            # Alone, or two could both find that it is not there yet.
            self._access.database.alone(connection, "certificates")
            if connection.scalar(select(table.c.id).where(table.c.id == key)) is None:
                connection.execute(insert(table).values(values))

        self._access.write(work)

    def newest_first(self, metric: str | None) -> tuple[Certificate, ...]:
        """All certificates; metric: only those of the metric with this printed name."""
        table = schema.certificates.c
        query = select(table.id, table.payload).order_by(table.created.desc(), table.id)
        if metric is not None:
            query = query.where(table.metric == codec.as_key(metric))
        return tuple(
            self._access.value(Certificate, row.payload, codec.from_key(row.id))
            for row in self._access.all(query)
        )
