"""Whether a time or an amount is told to lie before or behind something."""

from __future__ import annotations

import re

_BEFORE = re.compile(r"\b(?:before|prior to|earlier than|until)(?: the| about)?\s*$", re.IGNORECASE)
_AFTER = re.compile(
    r"\b(?:after|from|since|as of|later than|following|starting)(?: on| the| about)?\s*$",
    re.IGNORECASE,
)
_TO = re.compile(r"[^.;]{0,24}?\b(?:to|until|till)\b", re.IGNORECASE)


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
