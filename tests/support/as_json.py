"""A record as the program that reads its JSON sees it."""

from __future__ import annotations

from typing import Any

import orjson


def as_json(record: object) -> Any:
    """The record, written as the command line writes it, and read back."""
    return orjson.loads(orjson.dumps(record))
