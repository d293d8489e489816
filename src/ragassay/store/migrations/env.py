"""The way alembic runs the migrations: on the connection and inside the transaction that the store
hands it.
"""

from __future__ import annotations

from alembic import context

from ragassay.store.schema import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    transactional_ddl=True,  # the store begins and ends the transaction: all migrations or none
    render_as_batch=True,
)
context.run_migrations()
