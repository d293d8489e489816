"""Which part of the passages is read beside a text? Sentences that share its rarer words, in windows of so many tokens.

A pair of texts is read at once, at most LONGEST tokens with its three marks: the text first (at most LONGEST_TEXT of
them), then a window. Short passages are one window, whole and in order. Of longer ones the sentences that hold most of
the text's words, or stand beside one that does, fill the first window, the next ones the second; inside a window they
stand in the order of the passages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline.reading import Shelf
from ragassay.models.offline.wordpiece import WordPiece

# Tokens of a pair, its three marks included; and of its first text.
LONGEST, LONGEST_TEXT = 384, 128
MARKS = 3
# What a sentence gains from those before and after it: "It was built in 1889." says little alone.
_NEIGHBOUR = 0.25
# Sentences that are looked at for one window: more do not fit, as a sentence has some five tokens at least.
_CANDIDATES = 96

Ids = Callable[[str], Sequence[int]]


class Window(NamedTuple):
    """Sentences of the passages that are read together. units: their places on the shelf, rising. ids: their tokens."""

    units: tuple[int, ...]
    ids: list[int]


class Pair(NamedTuple):
    """A text and a window as the model reads them: [CLS] text [SEP] window [SEP].

    ids, types [tokens]: types are 0 up to the first [SEP] and 1 after it. text: how many tokens the text has; they
    stand at 1 ... text. units: the window's sentences on the shelf.
    """

    ids: list[int]
    types: list[int]
    text: int
    units: tuple[int, ...]


def pairs(text: str, scores: NDArray[np.float64], shelf: Shelf, tokenizer: WordPiece, most: int) -> list[Pair]:
    """The text beside at most `most` windows of the shelf's passages, the best first; none when either is empty."""
    mine = tokenizer.ids(text, LONGEST_TEXT)
    if not mine:
        return []
    first = [tokenizer.start, *mine, tokenizer.end]
    room = LONGEST - MARKS - len(mine)
    found = windows(scores, shelf, lambda sentence: tokenizer.ids(sentence, room), room, most)
    return [
        Pair(
            [*first, *window.ids, tokenizer.end],
            [0] * len(first) + [1] * (len(window.ids) + 1),
            len(mine),
            window.units,
        )
        for window in found
    ]


def windows(scores: NDArray[np.float64], shelf: Shelf, ids_of: Ids, room: int, most: int) -> list[Window]:
    """At most `most` windows of at most `room` tokens, the best first; none when there is nothing to read.

    scores [units]: the share of the text's words that each unit of the shelf holds. ids_of: the tokens of a sentence, at
    most `room`.
    """
    ranked = _ranked(scores, shelf, _CANDIDATES * most)
    tokens = {unit: ids_of(shelf.text(unit)) for unit in ranked}
    left = [unit for unit in ranked if tokens[unit]]
    found: list[Window] = []
    while left and len(found) < most:
        chosen, rest, used = list[int](), list[int](), 0
        for unit in left:
            if used + len(tokens[unit]) <= room:
                chosen.append(unit)
                used += len(tokens[unit])
            else:
                rest.append(unit)
        chosen.sort()
        found.append(Window(tuple(chosen), [token for unit in chosen for token in tokens[unit]]))
        left = rest
    return found


def _ranked(scores: NDArray[np.float64], shelf: Shelf, count: int) -> list[int]:
    """The units by their own share and their neighbours' in the same passage; earlier ones first among equals."""
    total = scores.copy()
    if len(scores) > 1:
        together = shelf.places[1:, 0] == shelf.places[:-1, 0]
        total[1:] += _NEIGHBOUR * np.where(together, scores[:-1], 0.0)
        total[:-1] += _NEIGHBOUR * np.where(together, scores[1:], 0.0)
    among = np.arange(len(total))
    if len(total) > 4 * count:
        floor = np.partition(total, len(total) - count)[len(total) - count]
        among = np.concatenate([np.flatnonzero(total > floor), np.flatnonzero(total == floor)[:count]])
    order = np.lexsort((among, -total[among]))
    return [int(unit) for unit in among[order[:count]]]
