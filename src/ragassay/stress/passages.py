"""The passages that distractors are taken from, ranked by how near they are to a question.

Near is what shares rare words: the cosine of the words' weights, ln(N / n) of a word in n of N
passages.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragassay.models.offline.reading import STOP_WORDS, stem
from ragassay.scoring import words


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the pool. cluster: that of the rows it comes from, "" where that is not
    known.
    """

    text: str
    id: str = ""
    cluster: str = ""


class PassagePool:
    """Passages without repeated ones, with an index of their words."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        unique: dict[str, Passage] = {}
        for passage in passages:
            key = " ".join(words(passage.text))
            if key:
                unique.setdefault(key, passage)
        self.passages: Sequence[Passage] = tuple(unique.values())
        counts = [Counter(_stems(passage.text)) for passage in self.passages]
        self._holders: dict[str, list[int]] = {}
        for number, count in enumerate(counts):
            for word in count:
                self._holders.setdefault(word, []).append(number)
        total = len(counts)
        self._weight = {w: math.log(1 + total / len(h)) for w, h in self._holders.items()}
        self._lengths = [self._length(count) for count in counts]

    def __len__(self) -> int:
        return len(self.passages)

    def ranked(self, text: str) -> list[int]:
        """The numbers of all passages, the nearest to the text first; equal ones in their order."""
        shared = [0.0] * len(self.passages)
        for word in sorted(set(_stems(text))):
            for number in self._holders.get(word, ()):
                shared[number] += self._weight[word] ** 2
        near = []
        for value, length in zip(shared, self._lengths, strict=True):
            near.append(value / length if length else 0.0)
        return sorted(range(len(near)), key=lambda number: (-near[number], number))

    def _length(self, count: Counter[str]) -> float:
        return math.sqrt(sum((n * self._weight[word]) ** 2 for word, n in sorted(count.items())))


def _stems(text: str) -> list[str]:
    return [stem(word) for word in words(text) if word not in STOP_WORDS]
