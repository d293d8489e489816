"""Cursors: where a page of a list ends, as one word that clients hand back and need not read."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any

import orjson

from ragassay.web.api.messages import Problem, Refused


def cursor(of: object, place: object) -> str:
    """The cursor of a place in a list. of: what the list is of, its filters and order."""
    return base64.urlsafe_b64encode(orjson.dumps([_mark(of), place])).decode().rstrip("=")


def place_of(text: str, of: object) -> Any:
    """The place that a cursor names, None for "". Raises Refused E1409 for what is none of this
    list.
    """
    if not text:
        return None
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        value = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        value = None
    if not isinstance(value, list) or len(value) != 2 or value[0] != _mark(of):
        raise foreign_cursor()
    return value[1]


def foreign_cursor() -> Refused:
    """The error of a cursor that this list has not given."""
    return Refused(
        "E1409",
        "The cursor is none of this list.",
        where="cursor",
        fix="take `next` of the last page, and leave the other parameters as they were",
        problems=(Problem("cursor", "is none that this list has given"),),
    )


def _mark(of: object) -> str:
    return hashlib.sha256(orjson.dumps(of)).hexdigest()[:10]
