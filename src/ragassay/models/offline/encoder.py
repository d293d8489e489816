"""What a sentence means as vectors: the int8 MiniLM encoder, one text a run, with a cache of the texts seen last.

Each text runs alone, never padded: int8 activations are quantised by one scale for the whole input, so a text's
vectors would depend on what shares its batch. Alone, the same text gives the same bits; on these short texts a batch
would hardly be faster (docs/decisions/0002-offline-model.md).
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

# Its official builds report sessions to their maker from 1.29 on, unless this is set before the library is loaded.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime

from ragassay.models.offline.wordpiece import WordPiece

Vectors = NDArray[np.float32]
Made = TypeVar("Made")
# Tokens read of one text: sentences are shorter, windows are cut before.
LONGEST = 64
# A whole text is read in windows of at most so many tokens, the length that the encoder was trained on; and so many of
# them at most, which is some 6,000 words and takes less than a second.
WINDOW, MOST_WINDOWS = 128, 64
_KEPT_TEXTS = 512


class Encoded(NamedTuple):
    """A text as vectors. mean [384]: unit vector of the mean. pieces [n, 384]: unit vectors of the word pieces.

    ids [n]: the pieces' ids; the marks for start and end are left out of pieces and ids.
    """

    mean: Vectors
    pieces: Vectors
    ids: NDArray[np.int64]


class _Kept(Generic[Made]):
    """What was made of the texts seen last. Safe across threads: what two ask for at once is made by one."""

    def __init__(self, make: Callable[[str], Made]) -> None:
        self._make = make
        self._kept: OrderedDict[str, Future[Made]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, text: str) -> Made:
        """What is made of this text, kept or new."""
        with self._lock:
            known = self._kept.get(text)
            if known is not None:
                self._kept.move_to_end(text)
            else:
                mine: Future[Made] = Future()
                self._kept[text] = mine
                if len(self._kept) > _KEPT_TEXTS:
                    self._kept.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            mine.set_result(self._make(text))
        except BaseException as error:
            mine.set_exception(error)
            with self._lock:
                self._kept.pop(text, None)
        return mine.result()


class Encoder:
    """Texts to vectors. Safe across threads: a text asked for by two at once is computed by one."""

    def __init__(self, model: bytes, vocabulary: str) -> None:
        options = onnxruntime.SessionOptions()
        # Parallel work is done by the caller's threads, a text each: inside one short text there is little to share.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        onnxruntime.disable_telemetry_events()  # where somebody else had loaded it before
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._tokenizer = WordPiece(vocabulary.split("\n"))
        self._sentences = _Kept(self._run)
        self._texts = _Kept(self._whole)

    def encode(self, text: str) -> Encoded:
        """The vectors of one text (its first LONGEST tokens)."""
        # No kept key is longer than what is read of it.
        return self._sentences.of(text[: LONGEST * 16])

    def whole(self, text: str) -> Vectors | None:
        """One unit vector [384] for a whole text (its first MOST_WINDOWS * WINDOW tokens or 65,536
        characters); None when it has no token.

        A text of up to WINDOW tokens is read at once, a longer one in windows of about equal length; then it is the
        mean of their unit vectors.
        """
        return self._texts.of(text[: MOST_WINDOWS * WINDOW * 8])

    def _run(self, text: str) -> Encoded:
        ids = np.array([self._tokenizer.encode(text, LONGEST)], np.int64)
        states: Vectors = self._session.run(None, {"input_ids": ids})[0][0]
        mean = states.mean(axis=0)
        pieces = states[1:-1]
        norms = np.maximum(np.sqrt((pieces * pieces).sum(axis=1, keepdims=True)), np.float32(1e-9))
        return Encoded(mean / max(float(np.sqrt((mean * mean).sum())), 1e-9), pieces / norms, ids[0, 1:-1])

    def _whole(self, text: str) -> Vectors | None:
        room = WINDOW - 2
        start, *ids, end = self._tokenizer.encode(text, MOST_WINDOWS * room + 2)
        if not ids:
            return None
        size = math.ceil(len(ids) / math.ceil(len(ids) / room))
        windows = [[start, *ids[at : at + size], end] for at in range(0, len(ids), size)]
        mean = np.mean([self._mean(window) for window in windows], axis=0)
        unit: Vectors = mean / max(float(np.sqrt((mean * mean).sum())), 1e-9)
        return unit

    def _mean(self, ids: list[int]) -> Vectors:
        """The unit vector of the mean over one window, its marks for start and end included."""
        states: Vectors = self._session.run(None, {"input_ids": np.array([ids], np.int64)})[0][0]
        mean: Vectors = states.mean(axis=0)
        return mean / max(float(np.sqrt((mean * mean).sum())), 1e-9)
