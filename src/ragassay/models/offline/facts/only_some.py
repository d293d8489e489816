"""What the claim says of some alone, and the passages of all: "Only managers must take the course"
beside "all employees must take the course".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain

from ragassay.models.offline.facts.concepts import Item, says_one
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place, trimmed
from ragassay.models.offline.facts.meaning import ClauseMeaning, item_weight
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, things are told in too many places."""

_LEAST = 0.7
"""Share of what the claim says of some that a sentence says of all."""

_ONLY = re.compile(r"\W*only\b", re.IGNORECASE)
_ALL = re.compile(r"\W*(?:all|every|each|everyone|everybody|anyone|anybody)\b", re.IGNORECASE)
_NARROWS = re.compile(
    r"\b(?:only|except|unless|but|until|other than|apart from|not|no|never)\b|n't\b", re.IGNORECASE
)
_RESTRICTS = re.compile(r"\b(?:who|that|which|with|whose)\b", re.IGNORECASE)
_AUXILIARIES = word_set("auxiliaries")


def only_some(
    claim: TextFacts, passages: Sequence[TextFacts], weight: Callable[[str], float]
) -> list[Finding]:
    """The clauses of the claim that say of some alone what a sentence of the passages says of all.
    weight: how rare a stem is.
    """
    found: list[Finding] = []
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return found
    for mine in claim.meanings:
        if not _ONLY.match(claim.reading.text, mine.start) or mine.denies:
            continue
        said = _behind_verb(claim, mine)
        place = _told_of_all(said, passages, weight) if said else None
        if place is not None:
            start, end = trimmed(claim.reading.text, mine.start, mine.end)
            words = claim.reading.text[start:end]
            says = passages[place.passage].reading.text[place.start : place.end].strip()
            found.append(Finding("quantifier", CONFLICT, start, end, words, says, place, 1.0))
    return found


def _behind_verb(claim: TextFacts, mine: ClauseMeaning) -> list[Item]:
    """What a clause says of its subject: the items behind its first auxiliary."""
    words = claim.reading.words_in(mine.start, mine.end)
    verb = next((at for at, word in enumerate(words) if word.lower in _AUXILIARIES), None)
    if verb is None:
        return []
    said = [item for item in mine.items if item.first > verb]
    return said if sum(not item.is_light for item in said) > 1 else []


def _told_of_all(
    said: Sequence[Item], passages: Sequence[TextFacts], weight: Callable[[str], float]
) -> Place | None:
    """The sentence that says it of all, where none says it with a restriction."""
    total = sum(item_weight(item, weight) for item in said)
    found: Place | None = None
    for number, passage in enumerate(passages):
        text = passage.reading.text
        for sentence, (start, end) in enumerate(passage.reading.sentences):
            clauses = (each for each in passage.meanings if each.sentence == sentence)
            there = list(chain.from_iterable(each.items for each in clauses))
            told = [item for item in said if says_one(there, item)]
            share = sum(item_weight(item, weight) for item in told) / total
            if share < _LEAST:
                continue
            if _NARROWS.search(text, start, end):
                return None
            if _ALL.match(text, start) and not _RESTRICTS.search(text, start, end):
                found = found or Place(number, start, end)
    return found
