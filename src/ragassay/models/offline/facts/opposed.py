"""Sentences of the passages that speak of the opposite of what a sentence of the claim speaks of:
of unopened items, where the claim is on opened ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ragassay.models.offline.facts.text_facts import TextFacts

_LEAST = 4
"""Letters of a word that may have an opposite in "un"."""

_PREFIXES = ("un", "non", "in", "ir", "im", "dis")


def opposed_sentences(
    claim: TextFacts, passages: Sequence[TextFacts]
) -> dict[int, frozenset[tuple[int, int]]]:
    """Sentence of the claim -> the sentences (passage, its number) that have the opposite of one of
    its words and not the word, where another one has the word.
    """
    found: dict[int, set[tuple[int, int]]] = {}
    known = frozenset[str]().union(*(passage.vocabulary for passage in passages))
    for sentence, words in claim.content_by_sentence.items():
        said = {word.lower for word in words}
        for word in said & known:
            for other in (_opposites(word) & known) - said:
                found.setdefault(sentence, set()).update(_having(other, word, passages))
    return {sentence: frozenset(places) for sentence, places in found.items()}


@lru_cache(maxsize=4096)
def _opposites(word: str) -> frozenset[str]:
    """The forms of a word that deny it: "unopened" of "opened", and the other way round."""
    if len(word) < _LEAST:
        return frozenset()
    found = {prefix + word for prefix in _PREFIXES}
    for prefix in _PREFIXES:
        if word.startswith(prefix) and len(word) - len(prefix) >= _LEAST:
            found.add(word.removeprefix(prefix))
    return frozenset(found)


def _having(one: str, other: str, passages: Sequence[TextFacts]) -> set[tuple[int, int]]:
    """The sentences that have one word and not the other."""
    found: set[tuple[int, int]] = set()
    for number, passage in enumerate(passages):
        if one not in passage.vocabulary:
            continue
        for sentence, words in passage.content_by_sentence.items():
            lower = {word.lower for word in words}
            if one in lower and other not in lower:
                found.add((number, sentence))
    return found
