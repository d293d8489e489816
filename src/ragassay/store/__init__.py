"""The store of judgments, rows and runs: durable when a call returns, and never changed afterwards.

The door is light: SQLAlchemy is imported when `Store` is first named, alembic only when a store
must be migrated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragassay.store.codec import read
from ragassay.store.indices import IndexSet
from ragassay.store.lines import RowLine, ScoreLine, StoredRun
from ragassay.store.location import default_location, is_there, shown_location
from ragassay.store.sharing import Claimed, OtherRuns

if TYPE_CHECKING:
    from ragassay.store.copying import Copied, copy_store
    from ragassay.store.merging import take
    from ragassay.store.sqlite import copy_file
    from ragassay.store.store import Store

__all__ = [
    "Claimed",
    "Copied",
    "IndexSet",
    "OtherRuns",
    "RowLine",
    "ScoreLine",
    "Store",
    "StoredRun",
    "copy_file",
    "copy_store",
    "default_location",
    "is_there",
    "read",
    "shown_location",
    "take",
]


def __getattr__(name: str) -> object:
    if name == "Store":
        from ragassay.store.store import Store

        return Store
    if name in ("Copied", "copy_store"):
        from ragassay.store import copying

        return getattr(copying, name)
    if name == "take":
        from ragassay.store.merging import take

        return take
    if name == "copy_file":
        from ragassay.store.sqlite import copy_file

        return copy_file
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
