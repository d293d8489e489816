"""The windows in which long passages are read: sentences in order, as many as fit at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ragassay.models.offline.reading import units

Count = Callable[[Sequence[str]], list[int]]


class Piece(NamedTuple):
    """A stretch of a passage: its sentences from `start` to `end`. tokens: about how many."""

    passage: int
    start: int
    end: int
    tokens: int


def pieces_of(passages: Sequence[str], count: Count) -> list[Piece]:
    """The sentences of the passages, in order. count: the number of tokens of each of several
    texts.
    """
    pieces: list[Piece] = []
    for number, passage in enumerate(passages):
        places = list(units(passage))
        counts = count([passage[start:end] for start, end in places])
        for (start, end), tokens in zip(places, counts, strict=True):
            pieces.append(Piece(number, start, end, tokens))
    return pieces


def fitting(
    passages: Sequence[str], pieces: Sequence[Piece], most: int, count: Count
) -> list[Piece]:
    """The pieces, those of more than `most` tokens cut."""
    fit: list[Piece] = []
    for piece in pieces:
        fit += _cut(passages[piece.passage], piece, most, count)
    return fit


def _cut(passage: str, piece: Piece, most: int, count: Count) -> list[Piece]:
    """The piece in halves, and those again, until each has at most so many tokens."""
    if piece.tokens <= most or piece.end - piece.start < 2:
        return [piece]
    middle = (piece.start + piece.end) // 2
    gap = passage.rfind(" ", piece.start + 1, middle)
    # A gap far before the middle would leave a second half that hardly shrinks.
    if gap > piece.start + (piece.end - piece.start) // 4:
        middle = gap
    ends = ((piece.start, middle), (middle, piece.end))
    counts = count([passage[start:end] for start, end in ends])
    halves: list[Piece] = []
    for (start, end), tokens in zip(ends, counts, strict=True):
        halves += _cut(passage, Piece(piece.passage, start, end, tokens), most, count)
    return halves


def windows_of(pieces: Sequence[Piece], room: int) -> list[list[Piece]]:
    """The pieces in windows of at most `room` tokens, in order; each piece is in one window.

    A passage that fits into a window of its own is not divided between two. Within a window the
    pieces of one passage are one.
    """
    lengths: dict[int, int] = {}
    for piece in pieces:
        lengths[piece.passage] = lengths.get(piece.passage, 0) + piece.tokens
    windows: list[list[Piece]] = []
    used = room + 1
    last = -1
    for piece in pieces:
        needed = piece.tokens
        # The first piece of a passage asks for room for all of it, where a window has that.
        if piece.passage != last and lengths[piece.passage] <= room:
            needed = lengths[piece.passage]
        if used + needed > room:
            windows.append([])
            used = 0
        _add(windows[-1], piece)
        used += piece.tokens
        last = piece.passage
    return windows


def _add(window: list[Piece], piece: Piece) -> None:
    if window and window[-1].passage == piece.passage:
        before = window[-1]
        window[-1] = Piece(piece.passage, before.start, piece.end, before.tokens + piece.tokens)
    else:
        window.append(piece)
