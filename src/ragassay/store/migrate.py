"""Is the file a store of this version? Makes a new one, migrates an older one, refuses a newer or a foreign one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, select

from ragassay.core import EnvironmentFailure
from ragassay.store import schema, sqlite

MIGRATIONS = Path(__file__).with_name("migrations")


def ensure(engine: Engine, path: Path) -> Path | None:
    """Bring the store at `path` to `schema.HEAD`; the caller holds the lock of writers.

    Returns the path of the copy made before a migration, else None. Raises EnvironmentFailure E0501 for a database
    that is not a store, E0502 for a store of a newer version.
    """
    with engine.connect() as connection:
        found = _version(connection, path)
    if found == schema.HEAD:
        return None
    if found is None:
        sqlite.use_wal(path)
    backup: Path | None = None
    with engine.begin() as connection:
        found = _version(connection, path)  # again, now that no other process can change it
        if found is None:
            schema.metadata.create_all(connection)
            connection.execute(schema.version.insert().values(version_num=schema.HEAD))
        elif found != schema.HEAD:
            backup = path.with_name(f"{path.name}.{found}.backup")
            sqlite.copy(path, backup)
            _upgrade(connection)
    return backup


def _version(connection: Connection, path: Path) -> str | None:
    """The schema version; None for a file that holds nothing yet."""
    tables = inspect(connection).get_table_names()
    if not tables:
        return None
    found = connection.scalar(select(schema.version.c.version_num)) if schema.VERSION_TABLE in tables else None
    if found is None:
        raise EnvironmentFailure(
            "E0501", "The file is a database, but not a RagAssay store.", where=str(path),
            why="it holds the table " + min(tables), fix="name another file with --store",
        )  # fmt: skip
    if not found.isdecimal() or int(found) > int(schema.HEAD):
        raise EnvironmentFailure(
            "E0502", "The store was written by a newer RagAssay.", where=str(path),
            why=f"its schema is version {found}; this RagAssay knows versions up to {schema.HEAD}",
            fix="upgrade RagAssay (pip install -U ragassay), or name another file with --store",
        )  # fmt: skip
    return str(found)


def _upgrade(connection: Connection) -> None:
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
        raise sqlite3.OperationalError(f"the migration to version {schema.HEAD} failed: {error}") from error
