"""The encoder's graph with one set of weights: tokens in, last hidden states out.

Each forward pass has one text and no padding. Int8 activations are quantised by one scale for the
whole input, so a text's states would depend on the texts that share the pass. Alone, the same
tokens give the same bits; and texts of this length gain nothing from sharing a pass
(docs/decisions/0010-trained-judge.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ragassay.models.onnx_session import Arrays, OnnxSession

Vectors = NDArray[np.float32]


class Words(NamedTuple):
    """The word embeddings, which both encoders share: int8 [vocabulary, 384] with a scale a row
    [vocabulary, 1].
    """

    packed: NDArray[np.int8]
    scale: Vectors

    def of(self, ids: Sequence[int]) -> Vectors:
        """The vectors [ids, 384]."""
        vectors: Vectors = self.packed[list(ids)].astype(np.float32) * self.scale[list(ids)]
        return vectors


class Network:
    """Safe across threads. positions [longest, 384]: what is added to the word at each place."""

    def __init__(self, graph: bytes, weights: Arrays, words: Words, positions: Vectors) -> None:
        self._session = OnnxSession(graph, weights)
        self._words, self._positions = words, positions

    def run(self, ids: Sequence[int], keep: int, types: Vectors | None = None) -> list[Vectors]:
        """The graph's outputs; the first are the last hidden states [1, keep, 384] of the first
        `keep` tokens.

        types [tokens, 384]: is added to every token.
        """
        embedded = self._words.of(ids) + self._positions[: len(ids)]
        if types is not None:
            embedded = embedded + types
        outputs: list[Vectors] = self._session.run(
            {"embedded": embedded[None], "keep": np.arange(keep)}
        )
        return outputs

    def states(self, ids: Sequence[int], keep: int, types: Vectors | None = None) -> Vectors:
        """The last hidden states [keep, 384] of the first `keep` tokens."""
        states: Vectors = self.run(ids, keep, types)[0][0]
        return states
