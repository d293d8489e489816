"""The place of a quote in the contexts: exact but for spaces, case and typography, or in pieces.

A quote that is not found is never kept as Evidence. What is kept is the text of the context itself,
with its offsets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from ragassay.core import Evidence

# One character each, so that an offset maps back one to one: typography that models retype
# differently.
_TYPOGRAPHY = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´ʼ", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "‹": "<",
        "›": ">",
    }
)
_UNSEEN = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
# No open-ended run before or after the dots: it would make the search quadratic, and the pieces are
# stripped anyway.
_ELLIPSIS = re.compile(r"\[\s?(?:\.{3}|…)\s?\]|\(\s?(?:\.{3}|…)\s?\)|\.{3,}|…")
_EDGE = " \t\r\n\"'“”„«»‘’"
# A shorter piece than this would be found almost anywhere, so it proves nothing.
_LEAST = 3
# A longer quote is no quote but a copy of the contexts, or an attack; it counts as not found.
_MOST = 20_000
_MOST_PIECES = 8


class Normal:
    """A text with spaces joined, typography evened out and case folded, and the way back to its own
    offsets.
    """

    __slots__ = ("_at", "text")

    def __init__(self, original: str) -> None:
        out: list[str] = []
        at: list[int] = []
        gap = False
        for offset, char in enumerate(original.translate(_TYPOGRAPHY)):
            if char.isspace():
                gap = bool(out)
                continue
            if char in _UNSEEN:
                continue
            if gap:
                out.append(" ")
                at.append(offset)
                gap = False
            for folded in char.casefold():
                out.append(folded)
                at.append(offset)
        self.text, self._at = "".join(out), at

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets into the original of text[start:end], which is not empty and begins and ends with
        no space.
        """
        return self._at[start], self._at[end - 1] + 1


class _Passage:
    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def normal(self) -> Normal:
        return Normal(self.text)


class Finder:
    """Finds quotes in the contexts of one Request; what it has read of a context it keeps for the
    next quote.
    """

    def __init__(self, contexts: Sequence[str]) -> None:
        self._passages = [_Passage(text) for text in contexts]

    def find(self, quote: str, passage: int | None = None) -> tuple[Evidence, ...]:
        """Where the quote stands: one Evidence, or one a piece for a quote with ellipses; () when
        nowhere.

        passage: index (from 0) of the context to look in first. A quote of more than 20,000
        characters is not looked for. Time is linear in the lengths of the quote and the contexts.
        """
        if len(quote) > _MOST:
            return ()
        quote = quote.strip(_EDGE)
        if len(quote) < _LEAST:
            return ()
        order = list(range(len(self._passages)))
        if passage is not None and 0 <= passage < len(order):
            order.insert(0, order.pop(passage))
        for index in order:
            start = self._passages[index].text.find(quote)
            if start >= 0:
                return (self._evidence(index, start, start + len(quote)),)
        for pieces in self._readings(quote):
            for index in order:
                if found := self._in_order(index, pieces):
                    return found
        return ()

    @staticmethod
    def _readings(quote: str) -> list[list[str]]:
        whole = Normal(quote).text
        pieces = [Normal(piece.strip().strip(_EDGE)).text for piece in _ELLIPSIS.split(quote)]
        pieces = [piece for piece in pieces if piece]
        fits = 1 <= len(pieces) <= _MOST_PIECES and all(len(piece) >= _LEAST for piece in pieces)
        return [[whole]] * (len(whole) >= _LEAST) + [pieces] * (fits and pieces != [whole])

    def _in_order(self, index: int, pieces: list[str]) -> tuple[Evidence, ...]:
        normal, at, found = self._passages[index].normal, 0, list[Evidence]()
        for piece in pieces:
            start = normal.text.find(piece, at)
            if start < 0:
                return ()
            at = start + len(piece)
            found.append(self._evidence(index, *normal.span(start, at)))
        return tuple(found)

    def _evidence(self, index: int, start: int, end: int) -> Evidence:
        return Evidence(index, start, end, self._passages[index].text[start:end])


def find(quote: str, contexts: Sequence[str], passage: int | None = None) -> tuple[Evidence, ...]:
    """`Finder(contexts).find(quote, passage)`."""
    return Finder(contexts).find(quote, passage)
