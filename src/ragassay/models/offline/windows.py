"""The part of the passages that the model reads beside a text: the sentences most like it.

A window is a choice of sentences, not a cut: those that hold the text's rare words and their
neighbours, in the order of the passages, as many as fit. Short passages are read whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline.features import Rarity, distinct
from ragassay.models.offline.reading import CONTENT, PassageIndex, tokens, units
from ragassay.models.offline.wordpiece import WordPiece

# Tokens of a text and a window with the three marks around them.
LONGEST = 384
# Tokens of the text among them at most.
LONGEST_TEXT = 160
# Tokens of a window at most: on development rows longer ones judge no better, and take time.
ROOM = 224
# Words of a text that are looked up; the window of a longer text is chosen by its beginning.
_MOST_WORDS = 512
# Share of each neighbour's score that a sentence gets on top of its own.
_NEIGHBOUR = 0.3

# A claim of several sentences is read sentence by sentence; of more sentences than this some are
# read together.
MOST_PARTS = 16
# A claim that takes more than so many readings, some 40,000 tokens, is an error.
MOST_READ = 256
# What is shorter is read with the sentence before it.
_SHORTEST_PART = 10


def parts(claim: str, size: Callable[[str], int]) -> list[tuple[int, int]]:
    """Start and end of each part of a claim that is read by itself: its sentences, each with a
    window of its own.

    The parts cover the claim, and none has more than LONGEST_TEXT tokens. size(text): its tokens.
    """
    spans: list[tuple[int, int]] = []
    for start, end in units(claim):
        if spans and min(end - start, spans[-1][1] - spans[-1][0]) < _SHORTEST_PART:
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    if len(spans) < 2:
        spans = [(0, len(claim))]
    sentences_each = math.ceil(len(spans) / MOST_PARTS)
    places: list[tuple[int, int]] = []
    for at in range(0, len(spans), sentences_each):
        together = spans[at : at + sentences_each]
        places += _fitting(claim, together[0][0], together[-1][1], size)
    return places


def _fitting(claim: str, start: int, end: int, size: Callable[[str], int]) -> list[tuple[int, int]]:
    """The stretch in pieces of at most LONGEST_TEXT tokens, halved at white space where there is
    some.
    """
    if size(claim[start:end]) <= LONGEST_TEXT or end - start < 2:
        return [(start, end)]
    middle = (start + end) // 2
    gap = max(claim.rfind(" ", start + 1, middle), claim.rfind("\n", start + 1, middle))
    # A gap far before the middle would leave a second half that hardly shrinks.
    if gap > start + (end - start) // 4:
        middle = gap
    return [*_fitting(claim, start, middle, size), *_fitting(claim, middle, end, size)]


class NetworkInput(NamedTuple):
    """A text and a window as the model reads them: [CLS] text [SEP] window [SEP].

    ids: all tokens. text: how many of them are the text's; they stand at 1 ... text.
    """

    ids: tuple[int, ...]
    text: int


def network_input(
    text: str, passage_index: PassageIndex, rarity: Rarity, tokenizer: WordPiece
) -> NetworkInput | None:
    """The text beside its window; None when there is nothing to read on a side."""
    text_ids = tokenizer.ids(text, LONGEST_TEXT)
    room = min(ROOM, LONGEST - 3 - len(text_ids))
    read: dict[int, tuple[int, ...]] = {}

    def size(unit: int) -> int:
        read[unit] = tokenizer.ids(passage_index.text(unit), LONGEST)
        return len(read[unit])

    chosen = choose(text, passage_index, rarity, room, size) if text_ids else []
    window: list[int] = []
    for unit in chosen:
        window += read[unit]
    if not window:
        return None
    tokens = (tokenizer.start, *text_ids, tokenizer.end, *window[:room], tokenizer.end)
    return NetworkInput(tokens, len(text_ids))


def scores(text: str, passage_index: PassageIndex, rarity: Rarity) -> NDArray[np.float64]:
    """For each unit: the idf-weighted share of the text's content words in it, and a part of its
    neighbours' shares.
    """
    leading = tokens(text[: 40 * _MOST_WORDS])[:_MOST_WORDS]
    by_key = {token.key: token for token in leading if token.kind & CONTENT}
    count = len(passage_index.places)
    if not by_key or not count:
        return np.zeros(count)
    keys = np.array(sorted(by_key), np.uint32)
    weights = rarity.of([by_key[int(key)] for key in keys])
    at = np.minimum(np.searchsorted(keys, passage_index.keys), len(keys) - 1)
    hit = keys[at] == passage_index.keys
    pairs = distinct(passage_index.unit_of[hit].astype(np.int64) * len(keys) + at[hit])
    unit, word = np.divmod(pairs, len(keys))
    own = np.bincount(unit, weights[word], minlength=count) / max(float(weights.sum()), 1e-9)
    passage = passage_index.places[:, 0]
    beside = np.zeros(count)
    same = passage[1:] == passage[:-1]
    beside[1:] += np.where(same, own[:-1], 0.0)
    beside[:-1] += np.where(same, own[1:], 0.0)
    return np.asarray(own + _NEIGHBOUR * beside, np.float64)


def choose(
    text: str, passage_index: PassageIndex, rarity: Rarity, room: int, size: Callable[[int], int]
) -> list[int]:
    """The units of the window, in order. size(unit): its tokens; room: how many there may be in
    all.

    The best-scored go in first, earlier ones first among equals; one that does not fit is passed
    over. When not even the best one fits, it is the window alone, and the caller cuts it.
    """
    odds = scores(text, passage_index, rarity)
    chosen: list[int] = []
    left = room
    # Each size costs a run of the tokenizer, so that the search ends after twice as many units
    # as could fit at one token each. Units without a token do not count: there may be any number.
    measured = 0
    for unit in np.argsort(-odds, kind="stable").tolist():
        if left <= 0 or measured == 2 * room:
            break
        tokens_in = size(unit)
        measured += tokens_in > 0
        if 0 < tokens_in <= left:
            chosen.append(unit)
            left -= tokens_in
        elif tokens_in and not chosen:
            return [unit]
    return sorted(chosen)
