"""Closeness in meaning of a text and a few sentences, as figures for heads that ask for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline.encoder import Encoded
from ragassay.models.offline.network import Vectors

Floats = NDArray[np.float64]
FIGURES = frozenset({"cosine", "cosine_mean", "align", "align_low", "align_least"})


def figures(
    text: str, sentences: Sequence[str], pieces: Floats, encode: Callable[[str], Encoded]
) -> dict[str, float]:
    """The figures named in FIGURES. pieces [vocabulary]: how rare each word piece is."""
    encoded = encode(text)
    others = [encode(sentence) for sentence in sentences]
    # Without a sentence the cosine is 0, as of unrelated texts.
    cosines = np.array([float(encoded.mean @ other.mean) for other in others] or [0.0], np.float64)
    align, low, least = _align(encoded, others, pieces)
    return {
        "cosine": float(cosines.max()),
        "cosine_mean": float(cosines.mean()),
        "align": align,
        "align_low": low,
        "align_least": least,
    }


def _nearest(pieces: Vectors, others: Sequence[Vectors]) -> Vectors:
    """The highest cosine of each piece with any piece of the others.

    In blocks below the size at which BLAS starts threads of its own: several calls are worked on at
    once anyway, and threads that wait for each other made this ten times slower.
    """
    best = np.full(len(pieces), -1.0, np.float32)
    for other in others:
        transposed = other.T
        for at in range(0, len(pieces), 8):
            block = (pieces[at : at + 8] @ transposed).max(axis=1)
            np.maximum(best[at : at + 8], block, out=best[at : at + 8])
    return best


def _align(text: Encoded, others: Sequence[Encoded], pieces: Floats) -> tuple[float, float, float]:
    """How well the text's word pieces are matched by their nearest: (idf-weighted mean, lowest
    fifth, lowest).
    """
    with_pieces = [other.pieces for other in others if len(other.ids)]
    if not len(text.ids) or not with_pieces:
        return 0.0, 0.0, 0.0
    near = _nearest(text.pieces, with_pieces).astype(np.float64)
    weights = pieces[text.ids]
    mean = float((near * weights).sum() / max(weights.sum(), 1e-9))
    # The rarer half of the pieces: a missing "the" says nothing about support.
    heavy = np.sort(near[weights >= np.median(weights)])
    return mean, float(heavy[: max(1, len(heavy) // 5)].mean()), float(heavy[0])
