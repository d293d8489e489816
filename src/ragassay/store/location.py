"""Which file a store lives in: from RAGASSAY_STORE, a path, or an URL."""

from __future__ import annotations

import os
from pathlib import Path

from ragassay.core import SetupError

FOLDER = ".ragassay"


def default_location() -> str:
    """The environment variable RAGASSAY_STORE, else `.ragassay/store.db` in the current folder."""
    return os.environ.get("RAGASSAY_STORE") or str(Path(FOLDER) / "store.db")


def file_of(location: str | Path) -> Path:
    """The absolute path, links resolved, of the SQLite file that a path or `sqlite:///path` names.

    Raises SetupError E0101 for another kind of database (the URL is not repeated: it may hold a password).
    """
    text = str(location)
    scheme, separator, rest = text.partition("://")
    fix = "give the path of a file, for example --store .ragassay/store.db"
    if separator and scheme.replace("+", "").isalnum():
        kind = scheme.lower().partition("+")[0]
        if kind in ("postgresql", "postgres"):
            raise SetupError(
                "E0101", "The store cannot be a PostgreSQL database in this version; only a SQLite file.",
                where="--store", fix=fix,
            )  # fmt: skip
        if kind != "sqlite":
            raise SetupError(
                "E0101", f"The store cannot be a {kind!r} database; only a SQLite file.", where="--store", fix=fix
            )  # fmt: skip
        text = rest.removeprefix("/")
    if text in ("", ":memory:"):
        raise SetupError(
            "E0101", "The store must be a file: what is judged has to survive the process.", where="--store", fix=fix
        )  # fmt: skip
    if "\0" in text:
        raise SetupError(
            "E0101", "The path of the store holds a NUL character.", where="--store", fix=fix
        )  # fmt: skip
    try:
        return Path(text).expanduser().resolve()
    except (OSError, RuntimeError) as error:  # a loop of links; a ~user that does not exist
        raise SetupError(
            "E0101", "The path of the store cannot be followed.", where=text, why=str(error), fix=fix
        ) from error  # fmt: skip
