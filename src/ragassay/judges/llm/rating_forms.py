"""The whole number that a value in the place of a rating spells: "2", "2/3", "**2**", "two",
"2 - mostly supported". A number in a sentence is none.
"""

from __future__ import annotations

import re

# Not \d, which holds the digits of every script.
_NUMBER = re.compile(
    r"""[\s*_`"']*+(?P<sign>[+-]?)(?P<number>[0-9]{1,9})(?:\.0{0,9})?+
    (?:\s*+/\s*+(?P<top>[0-9]{1,9}))?+[\s*_`"']*+
    (?:(?:[-–—:,(]|\s-)\s*+(?P<meaning>[^0-9]{1,300}))?""",
    re.VERBOSE,
)
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.I)
_RATING_LIKE = re.compile(r"(?:rating|score|verdict|grade|judge?ment|value|label)(?!s)")
_OF_THE_SCALE = re.compile(r"max|min|scale|range|out_?of|threshold")


def whole_number(text: str, top: object) -> int | None:
    """The number that a text is; None for any other text. top: the highest rating of the scale, the
    only one that may stand behind a stroke.
    """
    word = text.strip("*_`\"' \t\r\n.").lower()
    if word in _WORDS:
        return _WORDS.index(word)
    match = _NUMBER.fullmatch(text)
    if match is None or (match["top"] is not None and int(match["top"]) != top):
        return None
    # What it means may name another one.
    if match["meaning"] is not None and _WORD.search(match["meaning"]) is not None:
        return None
    return int(match["sign"] + match["number"])


def is_rating_like(name: str) -> bool:
    """Whether a field of this name (in small letters) may hold a rating."""
    return _RATING_LIKE.search(name) is not None and _OF_THE_SCALE.search(name) is None
