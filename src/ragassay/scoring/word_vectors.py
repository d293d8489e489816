"""Texts as vectors of hashed words: what words they share, quickly and without a model.

Each word adds +1 or -1 to one of `SIZE` numbers, both decided by a hash (Weinberger et al. 2009,
"Feature hashing for large scale multitask learning"); the vector is scaled to length 1. Texts that
say the same in other words are far apart: it is a measure of wording and not of meaning.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ragassay.scoring.arrays import FloatArray

SIZE = 256
"""Numbers of a vector."""
_MOST_CHARACTERS = 2_000
_WORD = re.compile(r"\w+")
_COMMON_WORDS = (
    "a an and are as at be by can could did do does for from had has have how i if in into is it"
    " its me my of on or our please should so than that the their them then there these they this"
    " those to us was we were what when where which who whom whose why will with would you your"
    " der die das und ist ein eine wie was wer le la les un une et est que qui el los las"
)
_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that say little of a question, in a few languages."""


def words_of(text: str) -> list[str]:
    """The words of a text's first 2,000 characters in small letters, without those that nearly
    every text has.
    """
    return [word for word in _WORD.findall(text[:_MOST_CHARACTERS].lower()) if word not in _COMMON]


def word_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """A row of `SIZE` numbers per text, of length 1; all 0 for a text without words."""
    rows: list[int] = []
    places: list[int] = []
    signs: list[float] = []
    for row, text in enumerate(texts):
        for number in map(_hash, words_of(text)):
            rows.append(row)
            places.append(number % SIZE)
            signs.append(1.0 if number & _SIGN else -1.0)
    vectors = np.zeros((len(texts), SIZE), dtype=np.float32)
    np.add.at(vectors, (np.array(rows, dtype=np.int64), np.array(places, dtype=np.int64)), signs)
    lengths = np.sqrt((vectors**2).sum(axis=1, keepdims=True))
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors


_SIGN = 1 << 20


def _hash(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "replace"))


def principal_axes(vectors: NDArray[np.float32], axes: int) -> tuple[FloatArray, FloatArray, float]:
    """(mean, axes as rows, share of the variance along them) of vectors. The sign of an axis is
    such that its largest number is positive, so that equal vectors give equal axes.
    """
    mean = vectors.mean(axis=0, dtype=np.float64)
    centred = vectors - mean.astype(np.float32)
    spread = (centred.T @ centred).astype(np.float64) / max(1, len(vectors))
    values, found = np.linalg.eigh(spread)
    chosen = found[:, ::-1][:, :axes].T
    largest = np.abs(chosen).argmax(axis=1)
    signs = np.sign(chosen[np.arange(len(chosen)), largest])
    total = float(values.sum())
    share = float(values[::-1][:axes].sum()) / total if total > 0 else 0.0
    return mean, chosen * np.where(signs == 0, 1, signs)[:, None], share
