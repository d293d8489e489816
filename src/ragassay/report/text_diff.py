"""The differences of two texts, by words, for two columns side by side."""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

MOST_WORDS = 4000
"""Words and blanks up to which two texts are compared by words; longer ones by lines."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")


class Piece(NamedTuple):
    """A piece of a text: whether the other one has it, too."""

    text: str
    same: bool


def text_diff(a: str, b: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces; joined, they are the texts again. What only one has is not `same`."""
    first, second = _WORDS.findall(a), _WORDS.findall(b)
    if len(first) + len(second) > 2 * MOST_WORDS:
        first, second = a.splitlines(keepends=True), b.splitlines(keepends=True)
    if len(first) + len(second) > 2 * MOST_WORDS:
        # Comparing takes time with the square of the length: so long a text is shown as it is.
        return [Piece(a, a == b)], [Piece(b, a == b)]
    left: list[Piece] = []
    right: list[Piece] = []
    matcher = difflib.SequenceMatcher(None, first, second, autojunk=False)
    for kind, start_a, end_a, start_b, end_b in matcher.get_opcodes():
        same = kind == "equal"
        if start_a < end_a:
            left.append(Piece("".join(first[start_a:end_a]), same))
        if start_b < end_b:
            right.append(Piece("".join(second[start_b:end_b]), same))
    return left, right
