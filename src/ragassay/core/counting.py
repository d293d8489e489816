"""A number with its noun, which every room tells users in one way."""

from __future__ import annotations


def count(n: int, noun: str, plural: str = "") -> str:
    """1 row, 1,204 rows. plural: of a noun that takes no s, and where a verb follows the noun."""
    if n != 1:
        noun = plural or noun + "s"
    return f"{n:,} {noun}"
