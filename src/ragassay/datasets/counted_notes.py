"""What was read in a way worth knowing, with how often: "1 row has ...", "2 rows have ..."."""

from __future__ import annotations

_SINGULAR = {
    "rows have their": "row has its",
    "rows have": "row has",
    "rows hold": "row holds",
    "rows are rankings": "row is a ranking",
    "rows are": "row is",
    "traces have": "trace has",
    "traces could": "trace could",
    "empty cells were": "empty cell was",
    "cells of contexts were": "cell of contexts was",
    "error cells hold no text and were": "error cell holds no text and was",
    "contexts cells that begin with [ and hold no list were": (
        "contexts cell that begins with [ and holds no list was"
    ),
}
"""Beginnings of notes on several -> those of a note on one; of two that fit, the longer first."""


def counted_note(count: int, note: str) -> str:
    """A note with its count. note: as it is said of several."""
    if count == 1:
        for several, one in _SINGULAR.items():
            if note.startswith(several):
                return f"1 {one}{note.removeprefix(several)}"
    return f"{count} {note}"
