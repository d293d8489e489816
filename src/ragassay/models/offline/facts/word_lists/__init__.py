"""Lists of English words that the reader of facts goes by, as text files."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent


def lines(name: str) -> list[str]:
    """The lines of a list, without its comments."""
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def word_set(name: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(" ".join(lines(name)).split())
