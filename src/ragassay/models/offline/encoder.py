"""What a sentence means as vectors: the int8 MiniLM encoder, one text a run, with a cache of the texts seen last.

Each text runs alone, never padded: int8 activations are quantised by one scale for the whole input, so a text's
vectors would depend on what shares its batch. Alone, the same text gives the same bits; on these short texts a batch
would hardly be faster (docs/decisions/0002-offline-model.md).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from ragassay.models.offline.wordpiece import WordPiece

Vectors = NDArray[np.float32]
# Tokens read of one text: sentences are shorter, windows are cut before.
LONGEST = 64
_KEPT_TEXTS = 512


class Encoded(NamedTuple):
    """A text as vectors. mean [384]: unit vector of the mean. pieces [n, 384]: unit vectors of the word pieces.

    ids [n]: the pieces' ids; the marks for start and end are left out of pieces and ids.
    """

    mean: Vectors
    pieces: Vectors
    ids: NDArray[np.int64]


class Encoder:
    """Texts to vectors. Safe across threads: a text asked for by two at once is computed by one."""

    def __init__(self, model: bytes, vocabulary: str) -> None:
        options = onnxruntime.SessionOptions()
        # Parallel work is done by the caller's threads, a text each: inside one short text there is little to share.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._tokenizer = WordPiece(vocabulary.split("\n"))
        self._kept: OrderedDict[str, Future[Encoded]] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, text: str) -> Encoded:
        """The vectors of one text (its first LONGEST tokens)."""
        # No kept key is longer than what is read of it.
        text = text[: LONGEST * 16]
        with self._lock:
            known = self._kept.get(text)
            if known is not None:
                self._kept.move_to_end(text)
            else:
                mine: Future[Encoded] = Future()
                self._kept[text] = mine
                if len(self._kept) > _KEPT_TEXTS:
                    self._kept.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            mine.set_result(self._run(text))
        except BaseException as error:
            mine.set_exception(error)
            with self._lock:
                self._kept.pop(text, None)
        return mine.result()

    def _run(self, text: str) -> Encoded:
        ids = np.array([self._tokenizer.encode(text, LONGEST)], np.int64)
        states: Vectors = self._session.run(None, {"input_ids": ids})[0][0]
        mean = states.mean(axis=0)
        pieces = states[1:-1]
        norms = np.maximum(np.sqrt((pieces * pieces).sum(axis=1, keepdims=True)), np.float32(1e-9))
        return Encoded(mean / max(float(np.sqrt((mean * mean).sum())), 1e-9), pieces / norms, ids[0, 1:-1])
