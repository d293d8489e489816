"""A search by words over passages: BM25 (Robertson & Zaragoza 2009), k1 = 1.2, b = 0.75.

Gates ask it for the passages in which an answer might stand besides its own source, and the report
how easily a question finds its source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from ragassay.testsets.words import stems

_K1, _B = 1.2, 0.75


class WordSearch:
    """An index of texts, by their place from 0. tokens: the words by which texts are found."""

    def __init__(self, texts: Iterable[str], tokens: Callable[[str], list[str]] = stems) -> None:
        self._tokens = tokens
        self.numbers: dict[str, int] = {}
        owners: list[NDArray[np.int32]] = []
        terms: list[NDArray[np.int32]] = []
        counts: list[NDArray[np.float32]] = []
        lengths: list[int] = []
        for place, text in enumerate(texts):
            found = Counter(tokens(text))
            numbered = [self.numbers.setdefault(word, len(self.numbers)) for word in found]
            terms.append(np.array(numbered, np.int32))
            counts.append(np.fromiter(found.values(), np.float32, len(found)))
            owners.append(np.full(len(found), place, np.int32))
            lengths.append(sum(found.values()))
        self.size = len(lengths)
        term = np.concatenate(terms) if terms else np.empty(0, np.int32)
        order = np.argsort(term, kind="stable")
        self.owner = np.concatenate(owners)[order] if owners else np.empty(0, np.int32)
        self.bounds = np.searchsorted(term[order], np.arange(len(self.numbers) + 1))
        self._weigh(np.concatenate(counts)[order] if counts else np.empty(0, np.float32), lengths)

    def _weigh(self, count: NDArray[np.float32], lengths: list[int]) -> None:
        length = np.array(lengths, np.float32)
        mean = max(1.0, float(length.mean())) if len(length) else 1.0
        norm = _K1 * (1 - _B + _B * length / mean)
        frequency = np.diff(self.bounds)
        self.idf = np.log(1 + (self.size - frequency + 0.5) / (frequency + 0.5))
        saturated = count * (_K1 + 1) / (count + norm[self.owner])
        self.weight = saturated * np.repeat(self.idf, frequency)

    def scores(self, question: str) -> NDArray[np.float64]:
        """The score of each text."""
        scores = np.zeros(self.size)
        for word in set(self._tokens(question)):
            number = self.numbers.get(word)
            if number is not None:
                first, last = self.bounds[number], self.bounds[number + 1]
                scores[self.owner[first:last]] += self.weight[first:last]
        return scores

    def best(self, question: str, k: int, without: Iterable[int] = ()) -> list[int]:
        """The places of the k best texts that share a word with the question, the best first."""
        scores = self.scores(question)
        scores[list(without)] = 0.0
        k = min(k, self.size)
        if not k:
            return []
        top = np.argpartition(-scores, k - 1)[:k]
        ordered = sorted(top.tolist(), key=lambda place: (-scores[place], place))
        return [place for place in ordered if scores[place] > 0]

    def places(self, word: str) -> NDArray[np.int32]:
        """The places of the texts that hold a word, in rising order."""
        number = self.numbers.get(word)
        if number is None:
            return np.empty(0, np.int32)
        return self.owner[self.bounds[number] : self.bounds[number + 1]]
