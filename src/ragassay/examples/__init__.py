"""Where are the example rows that come with the package?"""

from __future__ import annotations

from pathlib import Path


def rows_path() -> Path:
    """The file of example rows (JSONL, 67 rows); README.md beside it says what is in it."""
    return Path(__file__).with_name("rows.jsonl")
