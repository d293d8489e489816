"""The place of a quote in the contexts: exact but for spaces, case and typography, or in pieces.

A quote that stands in no context never becomes Evidence. Evidence holds the text of the context
itself, with its offsets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
        self.text = "".join(out)
        self._at = at

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Offsets into the original of text[start:end], which is not empty and begins and ends with
        no space.
        """
        return self._at[start], self._at[end - 1] + 1


class Finder:
    """Finds quotes in the contexts of one Request; each context is normalized at most once for all
    of them.
    """

    def __init__(self, contexts: Sequence[str]) -> None:
        self._contexts = contexts
        self._normals: dict[int, Normal] = {}

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
        order = list(range(len(self._contexts)))
        if passage is not None and 0 <= passage < len(order):
            order.insert(0, order.pop(passage))
        # First as it is written: most quotes are exact, and nothing need be normalized for them.
        for index in order:
            start = self._contexts[index].find(quote)
            if start >= 0:
                return (self._evidence(index, start, start + len(quote)),)
        for pieces in self._readings(quote):
            for index in order:
                places = self._in_order(index, pieces)
                if places:
                    return places
        return ()

    @staticmethod
    def _readings(quote: str) -> list[list[str]]:
        """The ways to look for a quote: as one piece, and as the pieces between its ellipses."""
        whole = Normal(quote).text
        pieces = [Normal(piece.strip().strip(_EDGE)).text for piece in _ELLIPSIS.split(quote)]
        pieces = [piece for piece in pieces if piece]
        readings: list[list[str]] = []
        # The whole first: dots may stand in the text itself and leave nothing out.
        if len(whole) >= _LEAST:
            readings.append([whole])
        fits = 1 <= len(pieces) <= _MOST_PIECES and all(len(piece) >= _LEAST for piece in pieces)
        if fits and pieces != [whole]:
            readings.append(pieces)
        return readings

    def _in_order(self, index: int, pieces: list[str]) -> tuple[Evidence, ...]:
        """The places of the pieces one after the other in a context; () where one is missing."""
        normal = self._normal(index)
        at = 0
        places: list[Evidence] = []
        for piece in pieces:
            start = normal.text.find(piece, at)
            if start < 0:
                return ()
            at = start + len(piece)
            places.append(self._evidence(index, *normal.span(start, at)))
        return tuple(places)

    def _evidence(self, index: int, start: int, end: int) -> Evidence:
        return Evidence(index, start, end, self._contexts[index][start:end])

    def _normal(self, index: int) -> Normal:
        normal = self._normals.get(index)
        if normal is None:
            normal = self._normals[index] = Normal(self._contexts[index])
        return normal


def find(quote: str, contexts: Sequence[str], passage: int | None = None) -> tuple[Evidence, ...]:
    """`Finder(contexts).find(quote, passage)`."""
    return Finder(contexts).find(quote, passage)
