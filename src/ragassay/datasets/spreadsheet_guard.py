"""The guard of texts against spreadsheets, which take some for formulas and run them.

A text that begins like a formula gets an apostrophe before it, and one that begins with such an
apostrophe another, so that reading takes away exactly what writing added.
"""

from __future__ import annotations

import re

# How a text begins that a spreadsheet takes for a formula; behind apostrophes, since one is added
# to these too.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")


def guarded(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula."""
    return "'" + text if _FORMULA.match(text) else text


def without_guard(cell: object) -> object:
    """A text as it was before it was guarded.

    One that a person typed, or whose apostrophe a program dropped, stays.
    """
    if isinstance(cell, str) and cell.startswith("'") and _FORMULA.match(cell):
        return cell[1:]
    return cell
