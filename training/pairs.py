"""How does an example become what the network reads? [CLS] text [SEP] window [SEP], token types 0
and 1.

The window is chosen as in the package (models/offline/windows.py); token ids come from the
`tokenizers` library, which gives the same ids as the package's own tokenizer and offsets besides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from training.offline_data import Example

from ragassay.core import MatchCall
from ragassay.models.offline.engine import RARITY, rarity
from ragassay.models.offline.features import TASKS, Rarity
from ragassay.models.offline.reading import PassageIndex, PassageIndexes
from ragassay.models.offline.windows import ROOM, choose, parts

START, END, PAD = 101, 102, 0
# Tokens of a whole input; of the text (claim, question) at most so many.
LENGTH, TEXT = 384, 160


class Pair(NamedTuple):
    """An example as numbers. ids: the whole input. text: tokens of the text; they are ids[1 : 1 +
    text].

    faults: for each token of the text 1 where it is not supported, 0 where it is; None when nobody
    said. figures: the lexical figures of the call. sentences: those of a longer text, each with a
    window of its own.
    """

    source: str
    group: str
    task: str
    label: int
    kind: int
    ids: NDArray[np.int32]
    text: int
    faults: NDArray[np.int8] | None
    figures: NDArray[np.float32]
    sentences: tuple[Any, ...] = ()


class Maker:
    """Examples to Pairs, with the vocabulary and the word counts of the package's weights."""

    def __init__(
        self, weights: Path, tokenizer: Path, *, length: int = LENGTH, room: int = ROOM
    ) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        with np.load(weights / RARITY, allow_pickle=False) as stored:
            self._rarity: Rarity = rarity({name: stored[name] for name in stored.files})
        self._passage_indexes = PassageIndexes()
        self._units: dict[str, list[int]] = {}
        self._length, self._room = length, room
        self.names: dict[str, tuple[str, ...]] = {}

    def _ids(self, text: str) -> list[int]:
        known = self._units.get(text)
        if known is None:
            known = self._tokenizer.encode(text, add_special_tokens=False).ids
            if len(self._units) > 200_000:
                self._units.clear()
            self._units[text] = known
        return known

    def passage_index(self, call: MatchCall) -> PassageIndex:
        """The passages, read."""
        return self._passage_indexes.read(
            call.passages if call.task == "support" else call.passages[:1]
        )

    def figures(self, call: MatchCall, passage_index: PassageIndex) -> NDArray[np.float32]:
        """Lexical figures of a call."""
        found = TASKS[call.task](call.text, passage_index, self._rarity).figures
        self.names.setdefault(call.task, tuple(found))
        return np.array(list(found.values()), np.float32)

    def pair(self, example: Example, *, figures: bool = True) -> Pair:
        """One example as a Pair."""
        call = example.call
        encoded = self._tokenizer.encode(call.text, add_special_tokens=False)
        text = encoded.ids[:TEXT]
        faults = None
        if example.spans is not None and call.task == "support":
            faults = np.zeros(len(text), np.int8)
            for at, (start, end) in enumerate(encoded.offsets[: len(text)]):
                faults[at] = any(start < high and low < end for low, high in example.spans)
        passage_index = self.passage_index(call)
        room = min(self._room, self._length - 3 - len(text))
        units = choose(
            call.text,
            passage_index,
            self._rarity,
            room,
            lambda unit: len(self._ids(passage_index.text(unit))),
        )
        window = [i for unit in units for i in self._ids(passage_index.text(unit))][:room]
        ids = np.array([START, *text, END, *window, END], np.int32)
        measured = self.figures(call, passage_index) if figures else np.zeros(0, np.float32)
        return Pair(
            example.source,
            example.group,
            call.task,
            example.label,
            example.kind,
            ids,
            len(text),
            faults,
            measured,
        )

    def pairs(
        self, examples: Iterable[Example], *, figures: bool = True, apart: bool = False
    ) -> list[Pair]:
        """All examples as Pairs; those without a word in the text or the passages are left out.

        apart: with their sentences, as a claim is judged; a network is fitted on whole texts, which
        have the labels.
        """
        made = ((e, self.pair(e, figures=figures)) for e in examples if e.call.text.strip())
        found = [(e, p) for e, p in made if 0 < p.text < len(p.ids) - 3]
        return [p._replace(sentences=self._sentences(e)) if apart else p for e, p in found]

    def _sentences(self, example: Example) -> tuple[Pair, ...]:
        call = example.call
        places = (
            parts(call.text, lambda text: len(self._ids(text))) if call.task == "support" else []
        )
        if len(places) < 2:
            return ()
        each = [
            example._replace(call=replace(call, text=call.text[a:b]), spans=None) for a, b in places
        ]
        return tuple(self.pairs(each, figures=False))
