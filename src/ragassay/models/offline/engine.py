"""What answers a MatchCall: the weights, read once and checked, and the way from a call to a reply.

`Engine` is the seam: whatever replaces the model keeps `load`, `answer` and the files' hashes in card.json.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from ragassay.core import EnvironmentFailure, Evidence, MatchCall, MatchReply, Spend
from ragassay.models.offline.encoder import Encoder
from ragassay.models.offline.features import TASKS, Found, Rarity
from ragassay.models.offline.heads import Head, unpack
from ragassay.models.offline.reading import Shelf, Shelves

ENCODER, VOCABULARY, HEADS = "encoder.int8.onnx", "vocab.txt", "heads.npz"

# The figures that explain a reply to a reader, by task.
_EXPLAIN = {
    "support": (
        "coverage", "coverage_near", "missing_words", "numbers_missing", "names_missing", "negation_mismatch", "cosine",
    ),
    "relevance": ("coverage", "coverage_near", "missing_words", "names_missing", "cosine"),
    "answer": ("coverage", "cosine", "yes_fits", "number_fits", "name_fits"),
}  # fmt: skip


def damaged(folder: Path, why: str) -> EnvironmentFailure:
    """E0505 for the weights in a folder."""
    return EnvironmentFailure(
        "E0505",
        "The offline model cannot be loaded.",
        where=str(folder),
        why=why,
        fix="install ragassay again (pip install --force-reinstall --no-deps ragassay)",
    )


class Engine:
    """The offline model without threads: `answer` may be called from several at once."""

    def __init__(self, encoder: Encoder, rarity: Rarity, heads: dict[str, Head]) -> None:
        self._encoder, self._rarity, self._heads = encoder, rarity, heads
        self._shelves = Shelves()

    @classmethod
    def load(cls, folder: Path) -> Engine:
        """Read the weights. Raises EnvironmentFailure E0505 when a file is missing or not the one of card.json."""
        try:
            hashes = json.loads((folder / "card.json").read_text(encoding="utf-8"))["files"]
            contents = {name: (folder / name).read_bytes() for name in (ENCODER, VOCABULARY, HEADS)}
            for name, content in contents.items():
                if hashlib.sha256(content).hexdigest() != hashes[name]:
                    raise damaged(folder, f"{name} is not the file that card.json names")
            with np.load(io.BytesIO(contents[HEADS]), allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
            encoder = Encoder(contents[ENCODER], contents[VOCABULARY].decode("utf-8"))
            return cls(encoder, rarity(arrays), {task: unpack(task, arrays) for task in TASKS})
        except EnvironmentFailure:
            raise
        except Exception as error:  # onnxruntime and numpy raise their own kinds for a broken file
            raise damaged(folder, f"{type(error).__name__}: {error}") from error

    def figures(self, call: MatchCall) -> tuple[Shelf, Found]:
        """The figures of a call and the shelf that its units point into."""
        passages = call.passages if call.task == "support" else call.passages[:1]
        shelf = self._shelves.read(passages)
        return shelf, TASKS[call.task](call.text, shelf, self._rarity, self._encoder.encode)

    def answer(self, call: MatchCall) -> MatchReply:
        """The reply to one call; the same call gives the same reply, whatever was asked before or beside it.

        Nothing to read (no word in the text, or in all passages) is probability 0: nothing can be supported by,
        relevant in, answered by or similar to nothing.
        """
        started = time.perf_counter()
        if call.task == "similarity":
            near = self._similarity(call)
            return MatchReply(near, spend=Spend(calls=1, cost=0.0, seconds=time.perf_counter() - started))
        shelf, found = self.figures(call)
        empty = not call.text.strip() or not len(shelf.places)
        probability = 0.0 if empty else self._heads[call.task].probability(found.figures)
        evidence = []
        for unit in found.units:
            passage, start, end = (int(v) for v in shelf.places[unit])
            evidence.append(Evidence(passage, start, end, shelf.passages[passage][start:end]))
        spend = Spend(calls=1, cost=0.0, seconds=time.perf_counter() - started)
        explained = {name: round(found.figures[name], 4) for name in _EXPLAIN[call.task]}
        return MatchReply(round(probability, 4), tuple(evidence), explained, spend)

    def _similarity(self, call: MatchCall) -> float:
        """Mean over the passages of the cosine of their vector and the text's, negative ones as 0; 0 without passages."""
        text = self._encoder.whole(call.text)
        others = [self._encoder.whole(passage) for passage in call.passages]
        if text is None or not others:
            return 0.0
        cosines = [0.0 if other is None else min(1.0, max(0.0, float(text @ other))) for other in others]
        return round(math.fsum(cosines) / len(cosines), 4)


def rarity(arrays: dict[str, Any]) -> Rarity:
    """The idf tables of heads.npz. Raises KeyError when one is missing."""
    keys, values = arrays["words.keys"], arrays["words.idf"].astype(np.float64)
    table = dict(zip(keys.tolist(), values.tolist(), strict=True))
    return Rarity(table, float(arrays["words.unseen"]), arrays["pieces.idf"].astype(np.float64))
