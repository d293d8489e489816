"""Near duplicates among questions: the same words, nearly the same letters, the same meaning, or
the same answer with the same evidence.

Letters are compared by MinHash (Broder 1997) over runs of four characters, so that each question is
compared with few others.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ragassay.models.offline import OfflineModel
from ragassay.testsets.values import Question
from ragassay.testsets.words import listed, plain, stems, words

SAME_LETTERS = 0.8
"""Share of common runs of letters (Jaccard) from which two questions are near duplicates."""

SAME_MEANING = 0.96
"""Cosine of the sentence vectors likewise; numbers and names have to be the same, too."""

_WH = listed("who whom whose what which when where why how")
_DIGIT = re.compile(r"\d")
_RUN = 4
_BANDS, _ROWS = 24, 4
_PRIME = (1 << 61) - 1


@dataclass
class Duplicates:
    """The questions that were taken so far. by_meaning: whether sentence vectors are compared."""

    by_meaning: bool = True
    seed: int = 0
    _taken: list[tuple[Question, frozenset[int]]] = field(default_factory=list)
    _texts: dict[str, str] = field(default_factory=dict)
    _answers: dict[tuple[object, ...], str] = field(default_factory=dict)
    _bands: dict[tuple[int, bytes], list[int]] = field(default_factory=dict)
    _vectors: NDArray[np.float32] | None = None
    """Those of the questions in their order, with room for more."""
    _last: tuple[str, NDArray[np.float32]] | None = None

    def of(self, question: Question) -> str:
        """Why it is a near duplicate of one that was taken; "" where it is none."""
        same = self._texts.get(_text(question))
        if same:
            return f"the same words as {same}"
        same = self._answers.get(_answer(question))
        if same:
            return f"the same answer and evidence as {same}"
        runs = _runs(_text(question))
        for place in self._near(runs):
            other, theirs = self._taken[place]
            share = len(runs & theirs) / max(1, len(runs | theirs))
            if share >= SAME_LETTERS and _says_the_same(question, other):
                return f"{share:.0%} of the letters of {other.id}"
        return self._by_meaning(question)

    def take(self, question: Question) -> None:
        """Add a question, to which later ones are compared."""
        runs = _runs(_text(question))
        self._texts[_text(question)] = question.id
        self._answers[_answer(question)] = question.id
        for band in _signature(runs, self.seed):
            self._bands.setdefault(band, []).append(len(self._taken))
        if self.by_meaning:
            self._keep(len(self._taken), self._vector(question.question))
        self._taken.append((question, runs))

    def _keep(self, place: int, vector: NDArray[np.float32]) -> None:
        """Put a vector at its place; room is doubled, so that each is copied a few times alone."""
        if self._vectors is None:
            self._vectors = np.zeros((64, len(vector)), np.float32)
        if place == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._vectors[place] = vector

    def _vector(self, text: str) -> NDArray[np.float32]:
        """The vector of a text; the last one is kept, which is compared and then taken."""
        if self._last is None or self._last[0] != text:
            self._last = (text, OfflineModel().vectors([text])[0])
        return self._last[1]

    def _near(self, runs: frozenset[int]) -> list[int]:
        places: dict[int, None] = {}
        for band in _signature(runs, self.seed):
            places.update(dict.fromkeys(self._bands.get(band, ())))
        return list(places)

    def _by_meaning(self, question: Question) -> str:
        if not self.by_meaning or self._vectors is None:
            return ""
        cosines = self._vectors[: len(self._taken)] @ self._vector(question.question)
        for place in np.flatnonzero(cosines >= SAME_MEANING).tolist():
            other = self._taken[place][0]
            if _says_the_same(question, other):
                return f"the meaning of {other.id} (cosine {cosines[place]:.2f})"
        return ""


def _says_the_same(one: Question, other: Question) -> bool:
    """Whether names, numbers and rare words are the same: two questions that differ in a year alone
    are two.
    """
    if one.history != other.history or _asked(one) != _asked(other):
        return False
    mine, theirs = set(stems(one.question)), set(stems(other.question))
    numbers = [word for word in mine ^ theirs if _DIGIT.search(word)]
    return not numbers and len(mine & theirs) >= 0.6 * max(len(mine | theirs), 1)


def _text(question: Question) -> str:
    """What two questions are compared by: what they ask for, without how they ask."""
    turns = " ".join(turn.question for turn in question.history)
    text = f"{turns} {question.question}"
    return " ".join([*_asked(question), *stems(text)]) or plain(text)


def _asked(question: Question) -> list[str]:
    """The word that says what is asked for: "when"."""
    return [word for word in words(question.question) if word in _WH][-1:]


def _answer(question: Question) -> tuple[object, ...]:
    if not question.evidence or not question.reference:
        return (_text(question), question.type)
    places = tuple(sorted((e.document, e.start) for e in question.evidence))
    return (question.type, plain(question.reference), places)


def _runs(text: str) -> frozenset[int]:
    padded = f" {text} "
    return frozenset(
        zlib.crc32(padded[at : at + _RUN].encode()) for at in range(len(padded) - _RUN + 1)
    )


def _signature(runs: frozenset[int], seed: int) -> list[tuple[int, bytes]]:
    """The bands of a MinHash signature: two sets that share many runs share a band."""
    if not runs:
        return []
    factors, terms = _hashes(seed)
    values = np.fromiter(runs, np.uint64, len(runs))
    least = ((factors * values + terms) % np.uint64(_PRIME)).min(axis=1)
    return [(band, least[band * _ROWS : (band + 1) * _ROWS].tobytes()) for band in range(_BANDS)]


@cache
def _hashes(seed: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Factors and terms of the hash functions of a signature."""
    dice = np.random.default_rng(seed)
    shape = (_BANDS * _ROWS, 1)
    factors = dice.integers(1, 1 << 31, shape, dtype=np.uint64)
    return factors, dice.integers(0, 1 << 31, shape, dtype=np.uint64)
