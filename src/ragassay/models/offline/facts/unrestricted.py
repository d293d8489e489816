"""A claim on all of a kind, of which the passages tell that only some of them are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.units_of_measure import unit_named

_LEAST = 0.5
"""Share of the words of the claim's sentence that the restricted one must have."""

_LEAST_WORDS = 2
_RESTRICTS = re.compile(
    r"\b(?:only|solely|exclusively|except|unless|other than|apart from|provided)\b", re.IGNORECASE
)


_CONDITION = re.compile(r"\b(?:unless|provided)\b", re.IGNORECASE)
_UP_TO = re.compile(r"\bup to \W?\d", re.IGNORECASE)


def unrestricted(
    claim: TextFacts, passages: Sequence[TextFacts], weight: Callable[[str], float]
) -> list[Finding]:
    """The sentences of the claim that say of all what the passages say of some. weight: how rare a
    stem is.
    """
    found: list[Finding] = []
    text = claim.reading.text
    for level in claim.levels:
        start, end = claim.sentence(level.word.start)
        if level.level != "all" or _RESTRICTS.search(text, start, end):
            continue
        words = {w.stem: weight(w.stem) for w in claim.reading.words_in(start, end) if w.content}
        words.pop(level.word.stem, None)
        if level.head.stem not in words or len(words) < _LEAST_WORDS:
            continue
        place = _restricted(words, level.head.stem, passages, is_all=level.word.lower == "all")
        if place is not None and unit_named(level.head.lower) is not None:
            # "Renewed each year" holds of what is, "unless it is cancelled".
            says = passages[place.passage].reading.text[place.start : place.end]
            place = None if _CONDITION.search(says) else place
        if place is not None:
            passage = passages[place.passage].reading.text
            said, says = text[start:end], passage[place.start : place.end]
            found.append(Finding("quantifier", CONFLICT, start, end, said, says, place, 1.0))
    return found


def _restricted(
    words: dict[str, float], head: str, passages: Sequence[TextFacts], *, is_all: bool
) -> Place | None:
    """The sentence nearest to the words, where it says of the head that only some are meant."""
    total = sum(words.values())
    best, nearest = 0.0, None
    for number, passage in enumerate(passages):
        for sentence, theirs in passage.content_by_sentence.items():
            stems = {word.stem for word in theirs}
            share = sum(words[stem] for stem in words.keys() & stems) / total
            if head in stems and share > best:
                best, nearest = share, Place(number, *passage.reading.sentences[sentence])
    if nearest is None or best < _LEAST:
        return None
    text = passages[nearest.passage].reading.text
    if is_all and _UP_TO.search(text, nearest.start, nearest.end):
        return nearest
    return nearest if _RESTRICTS.search(text, nearest.start, nearest.end) else None
