"""The passages of a level in their order, and the check that what was asked for is there."""

from __future__ import annotations

from collections.abc import Sequence

from ragassay.core import Context
from ragassay.stress.distractors import Distractor
from ragassay.stress.levels import Position

_FILLER_TEXT = """
This part of the page is kept free. Nothing is said in it, and nothing follows from it. The lines
are here for the layout only. A reader can pass over them and go on with the next part. They hold no
statement about any person, place or thing. What comes before them and what comes after them stands
for itself.
"""
_FILLER = _FILLER_TEXT.split()
SHORTEST, LONGEST = 25, 120
"""Words of a slot of the length-matched arm."""


def placed(
    own: Sequence[Context], distractors: Sequence[Context], position: Position
) -> tuple[Context, ...] | None:
    """The row's own passages with distractors in front, behind, or in the middle: between them, or
    on both sides of a single one. None where one distractor would stand in the middle of one.
    """
    if position is Position.FIRST:
        return (*distractors, *own)
    if position is Position.LAST:
        return (*own, *distractors)
    if len(own) > 1:
        half = (len(own) + 1) // 2
        return (*own[:half], *distractors, *own[half:])
    if len(distractors) < 2:
        return None
    half = (len(distractors) + 1) // 2
    return (*distractors[:half], *own, *distractors[half:])


def matched(
    own: Sequence[Context], texts: Sequence[str], most: int, position: Position, size: int
) -> tuple[Context, ...]:
    """The row's own passages and `most` further ones of `size` words each: in front of them, behind
    them, or half on either side. Of the further ones these texts are distractors, the outermost in
    front or behind and the nearest in the middle; the others are filler.
    """
    slots = [fillers(size, number) for number in range(most)]
    half = (most + 1) // 2
    start = {
        Position.FIRST: 0,
        Position.MIDDLE: half - (len(texts) + 1) // 2,
        Position.LAST: most - len(texts),
    }[position]
    slots[start : start + len(texts)] = texts
    contexts = [Context(text) for text in slots]
    before = {Position.FIRST: most, Position.MIDDLE: half, Position.LAST: 0}[position]
    return (*contexts[:before], *own, *contexts[before:])


def fillers(size: int, number: int = 0) -> str:
    """Text of so many words that says nothing. number: which one, so that they differ."""
    start = 7 * number % len(_FILLER)
    return " ".join(_FILLER[(start + n) % len(_FILLER)] for n in range(size))


def slot_size(distractors: Sequence[Distractor]) -> int:
    """Words of a slot: about the middle length of the distractors, and room for what must stay."""
    lengths = sorted(len(d.text.split()) for d in distractors)
    middle = lengths[len(lengths) // 2] if lengths else SHORTEST
    return max(SHORTEST, min(LONGEST, middle))


def fitted(distractor: Distractor, size: int) -> str:
    """A distractor of exactly so many words: cut around what must stay, or filled up."""
    before = distractor.text[: distractor.keep[0]].split()
    kept = distractor.text[distractor.keep[0] : distractor.keep[1]].split()
    after = distractor.text[distractor.keep[1] :].split()
    room = size - len(kept)
    if room < 0:
        return " ".join(kept[:size])
    left = min(len(before), max(room // 2, room - len(after)))
    right = min(len(after), room - left)
    words = [*before[len(before) - left :], *kept, *after[:right]]
    words += fillers(size - len(words)).split()
    return " ".join(words)
