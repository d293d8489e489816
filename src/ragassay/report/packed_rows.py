"""Rows of a page, packed: what opens in a row takes a fifth of its space.

Rows repeat chunks, reasons and markup, so they are compressed together, in blocks. A block stands
in an element that a browser never renders, in letters that end no element; the page's script
unpacks it. What it unpacks was escaped before, as all that the page shows.
"""

from __future__ import annotations

import base64
import json
import zlib

from markupsafe import Markup

BLOCK = 64
"""Rows that are packed together. The page's script knows the number."""


class PackedRows:
    """The rows of one page, to be added in its order."""

    def __init__(self) -> None:
        self._rows: list[str] = []

    def add(self, row: Markup) -> Markup:
        """Add what a row shows when it is open, as HTML; the element with its block, where that is
        full, else nothing.
        """
        self._rows.append(str(row))
        return self.rest() if len(self._rows) == BLOCK else Markup()

    def rest(self) -> Markup:
        """The element with the rows since the last block."""
        if not self._rows:
            return Markup()
        data = zlib.compress(json.dumps(self._rows, ensure_ascii=False).encode(), 9)
        self._rows = []
        return Markup(f"<template class=z>{base64.b64encode(data).decode()}</template>")


def unpacked(element: str) -> list[str]:
    """The rows of the text in one such element."""
    rows: list[str] = json.loads(zlib.decompress(base64.b64decode(element)))
    return rows
