"""Small pieces of Markdown that the pages share."""

from __future__ import annotations

from pathlib import Path

from ragassay.metrics import Elsewhere

_FOLDER = Path(__file__).parent


def fragment(name: str) -> str:
    """The text of a data file beside the pages."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def cell(text: str) -> str:
    """The text as a cell of a table."""
    return text.replace("|", "\\|")


def differs(other: Elsewhere) -> str:
    """How the quantity of another tool differs from ours, in words."""
    return other.differs or "the same quantity"
