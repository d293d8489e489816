"""Whether a time or an amount is told to lie before or behind something, or to be more or less."""

from __future__ import annotations

import re

_BEFORE = re.compile(r"\b(?:before|prior to|earlier than|until)(?: the| about)?\s*$", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:after|from|since|as of|later than|following|starting)(?: on| the| about)?\s*$",
    re.IGNORECASE,
)
_TO = re.compile(r"[^.;]{0,24}?\b(?:to|until|till)\b", re.IGNORECASE)


_COMPARED = re.compile(r"\s*(?:of )?([a-z]+)\b(?! than)", re.IGNORECASE)
_OF_ALL = frozenset(("weight", "price", "length", "size"))
_MORE_OR_LESS = {
    "more": (_OF_ALL, 1),
    "less": (_OF_ALL, -1),
    "fewer": (_OF_ALL, -1),
    "heavier": (frozenset(["weight"]), 1),
    "lighter": (frozenset(["weight"]), -1),
    "dearer": (frozenset(["price"]), 1),
    "pricier": (frozenset(["price"]), 1),
    "cheaper": (frozenset(["price"]), -1),
    "longer": (frozenset(["length"]), 1),
    "shorter": (frozenset(["length"]), -1),
    "larger": (frozenset(["size"]), 1),
    "bigger": (frozenset(["size"]), 1),
    "higher": (frozenset(["size"]), 1),
    "taller": (frozenset(["size"]), 1),
    "smaller": (frozenset(["size"]), -1),
    "lower": (frozenset(["size"]), -1),
    "later": (frozenset(["time"]), 1),
    "earlier": (frozenset(["time"]), -1),
    "older": (frozenset(["age"]), 1),
    "younger": (frozenset(["age"]), -1),
}
"""Word behind an amount -> what it may be of, and whether that is more (1) or less (-1)."""


def compared(text: str, end: int) -> tuple[frozenset[str], int, int] | None:
    """What an amount that ends there may be of, whether it is told to be so much more (1) or less
    (-1), and where the word ends that says so; None where it is not compared.
    """
    match = _COMPARED.match(text, end)
    known = _MORE_OR_LESS.get(match.group(1).lower()) if match is not None else None
    return None if match is None or known is None else (*known, match.end())


def direction(text: str, start: int) -> str:
    """ "before" or "after" by the word in front of a time that begins at `start`; "" where there is
    none, and where the time is one end of two.
    """
    before = text[max(0, start - 24) : start]
    if _BEFORE.search(before):
        return "before"
    if _AFTER.search(before) and not _TO.match(text, start):
        return "after"
    return ""
