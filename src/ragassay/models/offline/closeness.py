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
    mine, others = encode(text), [encode(sentence) for sentence in sentences]
    cosines = np.array([float(mine.mean @ other.mean) for other in others] or [0.0], np.float64)
    align, low, least = _align(mine, others, pieces)
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
        turned = other.T
        for at in range(0, len(pieces), 8):
            block = (pieces[at : at + 8] @ turned).max(axis=1)
            np.maximum(best[at : at + 8], block, out=best[at : at + 8])
    return best


def _align(text: Encoded, others: Sequence[Encoded], pieces: Floats) -> tuple[float, float, float]:
    """How well the text's word pieces are matched by their nearest: (idf-weighted mean, lowest
    fifth, lowest).
    """
    if not len(text.ids) or not any(len(o.ids) for o in others):
        return 0.0, 0.0, 0.0
    near = _nearest(text.pieces, [o.pieces for o in others if len(o.ids)]).astype(np.float64)
    weights = pieces[text.ids]
    mean = float((near * weights).sum() / max(weights.sum(), 1e-9))
    heavy = np.sort(near[weights >= np.median(weights)])
    return mean, float(heavy[: max(1, len(heavy) // 5)].mean()), float(heavy[0])
