"""The end of a reply that lacks its last brackets."""

from __future__ import annotations

import re

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\]]', re.DOTALL)
# What may stand behind a value: nothing that could be a part of it.
_PROSE = re.compile(r"(?:[\s`][^\"{}\[\]]*+)?")
# A reply about twenty items has some hundreds.
_MOST_TOKENS = 3_000
_CLOSES = {"{": "}", "[": "]"}


def with_end(text: str, start: int) -> str | None:
    """The text with the brackets that the value from `start` on lacks at its end; None where more
    is missing than the end of the list of entries and of what is around it.

    A reply that ends within an entry stays as it is: what is missing there may be a digit.
    """
    text, behind = _parts(text)
    if _PROSE.fullmatch(behind) is None:
        return None
    opened: list[str] = []
    for count, match in enumerate(_STRING_OR_BRACKET.finditer(text, start)):
        if count > _MOST_TOKENS:
            return None
        mark = match[0]
        if mark in _CLOSES:
            opened.append(_CLOSES[mark])
        elif mark in ("}", "]") and (not opened or opened.pop() != mark):
            return None
    # What is missing is around an entry that has ended, or around the list of them.
    lacks = "".join(reversed(opened))
    if (text[-1:], lacks) not in (("]", "}"), ("}", "]"), ("}", "]}")):
        return None
    return text + lacks + behind


def _parts(text: str) -> tuple[str, str]:
    """A text up to its last closing bracket, and what stands behind that."""
    end = max(text.rfind("}"), text.rfind("]")) + 1
    return text[:end], text[end:]
