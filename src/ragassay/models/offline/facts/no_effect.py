"""A change that the claim tells of what the passages say is not changed: "the supplement improved
memory" beside "had no effect on memory".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.concepts import base_stem
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place, trimmed
from ragassay.models.offline.facts.meaning import ClauseMeaning
from ragassay.models.offline.facts.text_facts import TextFacts

_NO_EFFECT = re.compile(
    r"\b(?:no|not (?:have|show|find) an?y?|n't (?:have|show|find) an?y?|without(?: any)?)"
    r" (?:[a-z]+ ){0,2}?(?:effect|influence|impact|bearing)s? (?:on|upon)\b"
    r"|\b(?:not|n't|never) (?:[a-z]+ly )?(?:affect|influence|change|alter)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:improv|increas|reduc|lower|rais|boost|worsen|weaken|strengthen|harm|impair|decreas"
    r"|shorten|lengthen|enhanc|affect|influenc|alter|lessen)(?:e|es|ed|s|en|ens|ened)?\b",
    re.IGNORECASE,
)
_ENDS_THING = re.compile(r"[,.;:!?()]|\b(?:but|and|or|in|for|when|if|although|though|while)\b")
_MOST_WORDS = 3
"""Content words of what is not changed."""


class _Unchanged(NamedTuple):
    """What is not changed, and by what, in stems; start: where it is said."""

    thing: frozenset[str]
    by: frozenset[str]
    start: int


def changes_of_unchanged(claim: TextFacts, passages: Sequence[TextFacts]) -> list[Finding]:
    """The first clause of the claim that tells a change of what the passages say is not changed."""
    text = claim.reading.text
    for clause, number, each in _met(claim, passages):
        if clause.denies or clause.is_mixed or clause.is_condition:
            continue
        passage = passages[number]
        place = Place(number, *passage.sentence(each.start))
        start, end = trimmed(text, clause.start, clause.end)
        says = passage.reading.text[place.start : place.end].strip()
        return [Finding("negation", CONFLICT, start, end, text[start:end], says, place, 1.0)]
    return []


def denied_changes(claim: TextFacts, passages: Sequence[TextFacts]) -> list[tuple[int, int]]:
    """Where clauses of the claim deny a change that the passages deny too."""
    return [(clause.start, clause.end) for clause, _, _ in _met(claim, passages) if clause.denies]


def _met(
    claim: TextFacts, passages: Sequence[TextFacts]
) -> Iterator[tuple[ClauseMeaning, int, _Unchanged]]:
    """The clauses of the claim on a change of what a passage says is not changed."""
    for clause in claim.meanings:
        change = _CHANGE.search(claim.reading.text, clause.start, clause.end)
        if change is None:
            continue
        before = _stems(claim, clause.start, change.start())
        behind = _stems(claim, change.end(), clause.end)
        for number, passage in enumerate(passages):
            for each in _unchanged(passage):
                # "Improved memory", and "memory was improved by it".
                is_active = each.thing <= behind and not each.by.isdisjoint(before)
                is_passive = each.thing <= before and not each.by.isdisjoint(behind)
                if is_active or is_passive:
                    yield clause, number, each


def _unchanged(passage: TextFacts) -> Iterator[_Unchanged]:
    text = passage.reading.text
    for match in _NO_EFFECT.finditer(text):
        start, end = passage.sentence(match.start())
        stop = _ENDS_THING.search(text, match.end(), end)
        thing = _stems(passage, match.end(), stop.start() if stop else end)
        by = _stems(passage, start, match.start())
        if by and 0 < len(thing) <= _MOST_WORDS:
            yield _Unchanged(thing, by - thing, match.start())


def _stems(text: TextFacts, start: int, end: int) -> frozenset[str]:
    words = text.reading.words_in(start, end)
    return frozenset(base_stem(word.lower) for word in words if word.content)
