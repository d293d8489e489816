"""The schema version of a database: a new store is made, an older one migrated; a newer one, one of
before the first release and a foreign database are refused.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, inspect, select
from sqlalchemy.exc import OperationalError

from ragassay.core import EnvironmentFailure
from ragassay.store import codec, schema

MIGRATIONS = Path(__file__).with_name("migrations")


def version(connection: Connection, where: str) -> str | None:
    """The schema version; None for a database that holds nothing yet.

    Raises EnvironmentFailure E0501 for a database that is not a store, or one of before the first
    release, E0502 for a store of a newer version.
    """
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    number = None
    if schema.VERSION_TABLE in tables:
        number = connection.scalar(select(schema.version.c.version_num))
    # Never taken for an empty database: tables of ours would be made among somebody else's.
    if number is None:
        raise EnvironmentFailure(
            "E0501",
            "There is a database, but it is not a RagAssay store.",
            where=where,
            why="it holds the table " + min(tables),
            fix="name another one with --store",
        )
    if not isinstance(number, str):
        raise codec.damaged("its version is no text", where)
    if not number.isdecimal() or int(number) > int(schema.HEAD):
        raise EnvironmentFailure(
            "E0502",
            "The store was written by a newer RagAssay.",
            where=where,
            why=f"its schema is version {number}; this RagAssay knows versions up to {schema.HEAD}",
            fix="upgrade RagAssay (pip install -U ragassay), or name another store with --store",
        )
    # No release wrote one of these, so there are no migrations from them.
    if int(number) < int(schema.FIRST):
        raise EnvironmentFailure(
            "E0501",
            "The store was written before the first release of RagAssay, and cannot be opened.",
            where=where,
            why=f"its schema is version {number}; releases begin with version {schema.FIRST}",
            fix="name another store with --store; this one is left as it is",
        )
    return str(number)


def create(connection: Connection) -> None:
    """Make the tables of the newest version in an empty database."""
    schema.metadata.create_all(connection)
    connection.execute(schema.version.insert().values(version_num=schema.HEAD))


def upgrade(connection: Connection) -> None:
    """Run the migrations that the store has not had, inside the connection's transaction."""
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, schema.HEAD)
    except CommandError as error:
        raise OperationalError(
            f"the migration to version {schema.HEAD} failed", None, error
        ) from error
