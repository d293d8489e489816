"""The sentence encoder: a vector for a whole text, and one for each word piece of a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline.cache import SharedCache
from ragassay.models.offline.network import Network, Vectors
from ragassay.models.offline.wordpiece import WordPiece

# Tokens read of one sentence.
LONGEST = 64
# A text is read in windows of at most so many tokens, the length that the encoder was trained on;
# and so many of them at most, which is some 6,000 words and takes less than a second.
WINDOW, MOST_WINDOWS = 128, 64
_CACHED_TEXTS = 512


class Encoded(NamedTuple):
    """A sentence as vectors. mean [384]: unit vector of the mean. pieces [n, 384]: unit vectors of
    the word pieces.

    ids [n]: the pieces' ids; the marks for start and end are left out of pieces and ids.
    """

    mean: Vectors
    pieces: Vectors
    ids: NDArray[np.int64]


class Encoder:
    """Texts to vectors. Safe across threads: a text asked for by two at once is computed by one."""

    def __init__(self, network: Network, tokenizer: WordPiece) -> None:
        self._network, self._tokenizer = network, tokenizer
        self._texts = SharedCache(self._whole, _CACHED_TEXTS)
        self._sentences = SharedCache(self._sentence, _CACHED_TEXTS)

    def sentence(self, text: str) -> Encoded:
        """The vectors of one sentence (its first LONGEST tokens)."""
        # The key is cut: a text of megabytes must not stay in the cache.
        return self._sentences.of(text[: LONGEST * 16])

    def whole(self, text: str) -> Vectors | None:
        """One unit vector [384] for a whole text (its first MOST_WINDOWS * WINDOW tokens or 65,536
        characters); None when it has no token.

        A text of up to WINDOW tokens is read at once, a longer one in windows of about equal
        length; then it is the mean of their unit vectors.
        """
        return self._texts.of(text[: MOST_WINDOWS * WINDOW * 8])

    def _sentence(self, text: str) -> Encoded:
        ids = self._tokenizer.encode(text, LONGEST)
        states = self._network.states(ids, len(ids))
        mean, pieces = states.mean(axis=0), states[1:-1]
        norms = np.maximum(np.sqrt((pieces * pieces).sum(axis=1, keepdims=True)), np.float32(1e-9))
        unit: Vectors = mean / max(float(np.sqrt((mean * mean).sum())), 1e-9)
        return Encoded(unit, pieces / norms, np.array(ids[1:-1], np.int64))

    def _whole(self, text: str) -> Vectors | None:
        room = WINDOW - 2
        ids = self._tokenizer.ids(text, MOST_WINDOWS * room)
        if not ids:
            return None
        size = math.ceil(len(ids) / math.ceil(len(ids) / room))
        mean = np.mean([self._mean(ids[at : at + size]) for at in range(0, len(ids), size)], axis=0)
        unit: Vectors = mean / max(float(np.sqrt((mean * mean).sum())), 1e-9)
        return unit

    def _mean(self, ids: Sequence[int]) -> Vectors:
        """The unit vector of the mean over one window, its marks for start and end included."""
        window = [self._tokenizer.start, *ids, self._tokenizer.end]
        mean: Vectors = self._network.states(window, len(window)).mean(axis=0)
        return mean / max(float(np.sqrt((mean * mean).sum())), 1e-9)
