"""The location of a store: from RAGASSAY_STORE, a path or an URL; shown without its password."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ragassay.core import SetupError, shorten

if TYPE_CHECKING:
    from sqlalchemy import URL

FOLDER = ".ragassay"

POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
SECRET = ("password", "sslpassword")  # what libpq takes in the query part of an URL

_FIX = (
    "give the path of a file, for example --store .ragassay/store.db, or a PostgreSQL database, "
    "for example --store postgresql://user@host/database"
)


def default_location() -> str:
    """The environment variable RAGASSAY_STORE, else `.ragassay/store.db` in the current folder."""
    return os.environ.get("RAGASSAY_STORE") or str(Path(FOLDER) / "store.db")


def shown_location(location: str | Path | URL) -> str:
    """A store's path or URL as it may be printed: absolute, and without a password."""
    return shown(address_of(location))


def is_there(location: str | Path | URL) -> bool:
    """Whether a file is at the path that is named; of a database it is not asked."""
    address = address_of(location)
    return not isinstance(address, Path) or address.is_file()


def address_of(location: str | Path | URL) -> Path | URL:
    """The absolute path, links resolved, of the SQLite file that a path or `sqlite:///path` names,
    or a database's URL.

    Raises SetupError E0101 for another kind of database (the URL is not repeated: it may hold a
    password).
    """
    if not isinstance(location, (str, Path)):
        return location
    text = str(location)
    scheme, separator, rest = text.partition("://")
    if separator and scheme.replace("+", "").isalnum():
        kind = scheme.lower()
        if kind in POSTGRES:
            return _url(text)
        if kind != "sqlite":
            raise _refused(
                f"The store cannot be a {kind!r} database; only a SQLite file or PostgreSQL."
            )
        text = rest.removeprefix("/")
    if text in ("", ":memory:"):
        raise _refused("The store must be a file: what is judged has to survive the process.")
    if "\0" in text:
        raise _refused("The path of the store holds a NUL character.")
    try:
        path = Path(text).expanduser().resolve()
        if os.path.isdir(path):  # False for what cannot be looked at: opening it says why
            raise _refused(f"{shorten(text)} is a folder; the store is a file in it.")
        return path
    except (OSError, RuntimeError) as error:  # a loop of links; a ~user that does not exist
        raise SetupError(
            "E0101",
            "The path of the store cannot be followed.",
            where=text,
            why=str(error),
            fix=_FIX,
        ) from error


def _url(text: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    # An unescaped @ in a password would be taken for the host's, and shown.
    if url is None or "@" in f"{url.host}{url.database}" or not url.database:
        raise _refused(
            "The URL of the store cannot be read, or names no database.",
            "write it as postgresql://user@host:5432/database, special characters of a password as"
            " %40 and so on; better, leave the password to PGPASSWORD or ~/.pgpass",
        ) from None
    return url.set(drivername="postgresql+psycopg")


def shown(address: Path | URL) -> str:
    """A store's path or URL as it may be printed and used again: without a password."""
    if isinstance(address, Path):
        return str(address)
    from sqlalchemy import URL

    query = {name: value for name, value in address.query.items() if name not in SECRET}
    bare = URL.create(
        "postgresql", address.username, None, address.host, address.port, address.database, query
    )
    return bare.render_as_string(hide_password=False)


def _refused(what: str, fix: str = _FIX) -> SetupError:
    return SetupError("E0101", what, where="--store", fix=fix)
