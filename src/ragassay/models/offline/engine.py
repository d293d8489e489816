"""What answers a MatchCall: the weights, read once and checked, and the way from a call to a reply.

`Engine` is the seam: whatever replaces the model keeps `load`, `answer` and the files' hashes in
card.json.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragassay.core import CallError, EnvironmentFailure, Evidence, MatchCall, MatchReply, Spend
from ragassay.models.offline.closeness import FIGURES
from ragassay.models.offline.closeness import figures as closeness
from ragassay.models.offline.combiner import (
    TREES,
    Combiner,
    Joined,
    inputs,
    lowest,
    sigmoid,
    support_odds,
    unpack,
)
from ragassay.models.offline.encoder import Encoder
from ragassay.models.offline.features import TASKS, Found, Rarity
from ragassay.models.offline.heads import Head
from ragassay.models.offline.heads import unpack as unpack_trees
from ragassay.models.offline.network import Arrays, Network, Vectors, Words
from ragassay.models.offline.reader import Reader
from ragassay.models.offline.reading import Shelf, Shelves, has_words
from ragassay.models.offline.windows import LONGEST_TEXT, MOST_READ, pair, parts
from ragassay.models.offline.wordpiece import WordPiece

ENCODER, JUDGE, WEIGHTS = "encoder.onnx", "judge.onnx", "weights.npz"
VOCABULARY, RARITY, COMBINER, HEADS = "vocab.txt", "rarity.npz", "combiner.json", "heads.npz"
FILES = (ENCODER, JUDGE, WEIGHTS, VOCABULARY, RARITY, COMBINER, HEADS)

# The figures that explain a reply to a reader, by task.
_EXPLAIN = {
    "support": (
        "coverage",
        "coverage_near",
        "missing_words",
        "numbers_missing",
        "names_missing",
        "negation_mismatch",
    ),
    "relevance": ("coverage", "coverage_near", "missing_words", "names_missing"),
    "answer": ("coverage", "yes_fits", "number_fits", "name_fits"),
}


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

    def __init__(
        self,
        encoder: Encoder,
        reader: Reader,
        tokenizer: WordPiece,
        rarity: Rarity,
        judges: Mapping[str, Combiner | Joined | Head],
        pieces: NDArray[np.float64],
    ) -> None:
        """judges: task -> what gives its probability. pieces [vocabulary]: how rare each word piece
        is.
        """
        self.encoder, self.reader, self.tokenizer = encoder, reader, tokenizer
        self.rarity, self._judges, self._pieces = rarity, judges, pieces
        self._shelves = Shelves()

    @classmethod
    def shared(cls, folder: Path) -> Engine:
        """The engine of these weights, the one of this process where it was read already and no
        file has changed since. Raises as `load`.
        """
        try:
            stats = [(folder / name).stat() for name in ("card.json", *FILES)]
            seen = tuple((stat.st_size, stat.st_mtime_ns) for stat in stats)
        except OSError as error:
            raise damaged(folder, f"{type(error).__name__}: {error}") from error
        return _shared(folder, seen)

    @classmethod
    def load(cls, folder: Path) -> Engine:
        """Read the weights. Raises EnvironmentFailure E0505 when a file is missing or not the one
        of card.json.
        """
        try:
            hashes = json.loads((folder / "card.json").read_text(encoding="utf-8"))["files"]
            contents = {name: (folder / name).read_bytes() for name in FILES}
            for name, content in contents.items():
                if hashlib.sha256(content).hexdigest() != hashes[name]:
                    raise damaged(folder, f"{name} is not the file that card.json names")
            lines, trees, rare = (
                json.loads(contents[COMBINER]),
                _arrays(contents[HEADS]),
                _arrays(contents[RARITY]),
            )
            tokenizer = WordPiece(contents[VOCABULARY].decode("utf-8").split("\n"))
            encoder, reader = networks(
                contents[ENCODER], contents[JUDGE], _arrays(contents[WEIGHTS]), tokenizer
            )
            judges = {task: _judge(task, lines, trees) for task in TASKS}
            return cls(
                encoder, reader, tokenizer, rarity(rare), judges, rare["pieces"].astype(np.float64)
            )
        except EnvironmentFailure:
            raise
        except Exception as error:  # onnxruntime and numpy raise their own kinds for a broken file
            raise damaged(folder, f"{type(error).__name__}: {error}") from error

    def shelf(self, call: MatchCall) -> Shelf:
        """The passages of a call, read."""
        return self._shelves.read(call.passages if call.task == "support" else call.passages[:1])

    def answer(self, call: MatchCall) -> MatchReply:
        """The reply to one call; the same call gives the same reply, whatever was asked before or
        beside it.

        Nothing to read (no word in the text, or in all passages) is probability 0: nothing can be
        supported by, relevant in, answered by or similar to nothing.
        """
        started = time.perf_counter()
        reply = (
            MatchReply(self._similarity(call)) if call.task == "similarity" else self._read(call)
        )
        spend = Spend(calls=1, cost=0.0, seconds=time.perf_counter() - started)
        return MatchReply(
            reply.probability, reply.evidence, reply.features, spend, reply.unsupported
        )

    def _read(self, call: MatchCall) -> MatchReply:
        shelf = self.shelf(call)
        found = TASKS[call.task](call.text, shelf, self.rarity)
        explained = {name: round(found.figures[name], 4) for name in _EXPLAIN[call.task]}
        places = parts(call.text, self._length) if call.task == "support" else [(0, len(call.text))]
        if len(places) > MOST_READ:
            raise CallError(
                "too_long",
                f"the claim has more than the {MOST_READ * LONGEST_TEXT:,} tokens that are read",
            )
        made = [
            (at, end, pair(call.text[at:end], shelf, self.rarity, self.tokenizer))
            for at, end in places
        ]
        read = [(at, end, one) for at, end, one in made if one is not None]
        if not read or not shelf.keys.any() or not has_words(call.text):
            return MatchReply(0.0, features=explained)
        judge, known = self._judges[call.task], dict(found.figures)
        unsupported: tuple[tuple[int, int], ...] = ()
        if not set(judge.names) <= known.keys() | FIGURES:
            told = [self.reader.read(one) for _, _, one in read]
            known |= inputs(call.task, lowest(told))
            if call.task == "support":
                explained["contradicted"] = round(sigmoid(known["contradicted"]), 4)
                for (at, stop, _), said in zip(read, told, strict=True):
                    spans = self._unsupported(call.text[at:stop], said.unsupported)
                    if not spans and len(read) > 1 and support_odds(said) < 0:
                        spans = ((0, stop - at),)  # no word of it is wrong by itself
                    unsupported += tuple((at + start, at + end) for start, end in spans)
        if not FIGURES.isdisjoint(judge.names):
            known |= self._closeness(call, shelf, found)
        probability = round(judge.probability(known), 4)
        return MatchReply(
            probability, _evidence(shelf, found, probability), explained, unsupported=unsupported
        )

    def _length(self, text: str) -> int:
        """Tokens of a text, counted as far as it matters."""
        return len(self.tokenizer.ids(text, LONGEST_TEXT + 1))

    def figures(self, call: MatchCall) -> dict[str, float]:
        """All figures of a call but those of the judge's network, to fit trees on."""
        shelf = self.shelf(call)
        found = TASKS[call.task](call.text, shelf, self.rarity)
        return found.figures | self._closeness(call, shelf, found)

    def _closeness(self, call: MatchCall, shelf: Shelf, found: Found) -> dict[str, float]:
        sentences = [shelf.text(unit) for unit in found.listed]
        return closeness(call.text, sentences, self._pieces, self.encoder.sentence)

    def _unsupported(self, text: str, odds: NDArray[np.float32]) -> tuple[tuple[int, int], ...]:
        """The stretches of the text of which every word has a part that is more likely unsupported
        than not.
        """
        if not (odds > 0).any():
            return ()
        spans: list[tuple[int, int]] = []
        places = self.tokenizer.places(text, LONGEST_TEXT)
        for start, end in dict.fromkeys(
            place for place, odd in zip(places, odds, strict=False) if odd > 0
        ):
            between = text[spans[-1][1] : start] if spans else ""
            # One stretch also where a mark alone parts them, as in 1,000 or well-known.
            if spans and (len(between) <= 1 or not between.strip()):
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return tuple(spans)

    def _similarity(self, call: MatchCall) -> float:
        """Mean over the passages of the cosine of their vector and the text's, negative ones as 0;
        0 without passages.
        """
        text = self.encoder.whole(call.text)
        others = [self.encoder.whole(passage) for passage in call.passages]
        if text is None or not others:
            return 0.0
        cosines = [
            0.0 if other is None else min(1.0, max(0.0, float(text @ other))) for other in others
        ]
        return round(math.fsum(cosines) / len(cosines), 4)


def _evidence(shelf: Shelf, found: Found, probability: float) -> tuple[Evidence, ...]:
    """The sentences that share enough words with the text; of a text that passes without them, the
    one that shares most.
    """
    units: Sequence[int] = found.units or (found.listed[:1] if probability >= 0.5 else ())
    evidence = []
    for unit in units:
        passage, start, end = (int(v) for v in shelf.places[unit])
        evidence.append(Evidence(passage, start, end, shelf.passages[passage][start:end]))
    return tuple(evidence)


@lru_cache(maxsize=1)
def _shared(folder: Path, _seen: tuple[tuple[int, int], ...]) -> Engine:
    return Engine.load(folder)


def _judge(
    task: str, lines: Mapping[str, Any], trees: Mapping[str, NDArray[Any]]
) -> Combiner | Joined | Head:
    """What gives a task's probability: a line over the network, one that has trees among its
    inputs, or trees alone.
    """
    if task not in lines:
        return unpack_trees(task, trees)
    line = unpack(lines[task])
    return Joined(line, unpack_trees(task, trees)) if TREES in line.names else line


def networks(
    encoder: bytes, judge: bytes, arrays: dict[str, NDArray[Any]], tokenizer: WordPiece
) -> tuple[Encoder, Reader]:
    """The sentence encoder and the judge from their graphs: one table of words, and the weights of
    each.

    The judge's integers are stored as their difference to what is expected of them.
    """

    def named(prefix: str) -> dict[str, NDArray[Any]]:
        return {
            name.removeprefix(prefix): value
            for name, value in arrays.items()
            if name.startswith(prefix)
        }

    words, own, judges = (
        Words(arrays["words"], arrays["words.scale"]),
        named("encoder/"),
        named("judge/"),
    )
    whole = {
        n: d + expected(own, judges, n) if d.dtype == np.int8 else d for n, d in judges.items()
    }
    return (
        Encoder(Network(encoder, own, words, arrays["encoder.positions"]), tokenizer),
        Reader(
            Network(judge, whole, words, arrays["judge.positions"].astype(np.float32)),
            named("head/"),
        ),
    )


def expected(encoder: Arrays, judge: Arrays, name: str) -> NDArray[np.int8]:
    """The integers of a matrix of the judge, had training not moved it: the encoder's, brought to
    the judge's scales.

    Only operations that IEEE 754 rounds alike on every machine.
    """
    matrix: Vectors = encoder[name].astype(np.float32)
    name = name.removesuffix(".weight")
    if f"{name}.calm" in judge:
        calm: Vectors = judge[f"{name}.calm"]
        matrix = matrix / calm[:, None]
    return np.clip(
        np.rint(matrix * (encoder[f"{name}.scale"] / judge[f"{name}.scale"])), -128, 127
    ).astype(np.int8)


def _arrays(content: bytes) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def rarity(arrays: dict[str, NDArray[Any]]) -> Rarity:
    """The idf table of rarity.npz. Raises KeyError when a part is missing."""
    keys, values = arrays["keys"], arrays["idf"].astype(np.float64)
    return Rarity(dict(zip(keys.tolist(), values.tolist(), strict=True)), float(arrays["unseen"]))
