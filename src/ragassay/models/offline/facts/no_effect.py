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
_ENDS = re.compile(r"[.;!?]")
_LIMITS = re.compile(
    r"[,:()]|\b(?:but|and|or|yet|in|for|at|among|under|over|with|within|when|if|unless|except"
    r"|until|after|before|although|though|while|whereas)\b",
    re.IGNORECASE,
)
_NOT_PLAIN = re.compile(
    r"\b(?:whether|if|hop\w+|expect\w*|test\w*|stud\w+|tri\w+|aim\w*|meant|suppos\w+|claim\w*"
    r"|belie\w+|idea|assum\w+|(?:un)?likely|may|might|could|would|should|refut\w+|false|wrong"
    r"|myth|doubt\w*)\b",
    re.IGNORECASE,
)
"""What makes a clause that tells a change no plain one."""

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
    if _NOT_PLAIN.search(text):
        return []
    changed: list[frozenset[str]] = []
    for passage in passages:
        changed += passage.once(_changed)
    for clause, number, each in _met(claim, passages):
        if clause.denies or clause.is_mixed or clause.is_condition:
            continue
        if any(each.thing <= stems for stems in changed):
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
    unchanged: list[tuple[int, _Unchanged]] = []
    for number, passage in enumerate(passages):
        unchanged += [(number, each) for each in passage.once(_unchanged)]
    for clause in claim.meanings if unchanged else ():
        change = _CHANGE.search(claim.reading.text, clause.start, clause.end)
        if change is None:
            continue
        before = _stems(claim, clause.start, change.start())
        behind = _stems(claim, change.end(), clause.end)
        for number, each in unchanged:
            # "Improved memory", and "memory was improved by it".
            is_active = each.thing <= behind and each.by <= before
            is_passive = each.thing <= before and each.by <= behind
            if is_active or is_passive:
                yield clause, number, each


def _unchanged(passage: TextFacts) -> tuple[_Unchanged, ...]:
    """What a passage says is not changed, without any limit."""
    text = passage.reading.text
    found: list[_Unchanged] = []
    for match in _NO_EFFECT.finditer(text):
        start, end = passage.sentence(match.start())
        stop = _ENDS.search(text, match.end(), end)
        last = stop.start() if stop else end
        if _LIMITS.search(text, match.end(), last):
            continue
        thing = _stems(passage, match.end(), last)
        by = _stems(passage, start, match.start())
        if by and 0 < len(thing) <= _MOST_WORDS:
            found.append(_Unchanged(thing, by - thing, match.start()))
    return tuple(found)


def _changed(passage: TextFacts) -> tuple[frozenset[str], ...]:
    """The stems of each sentence of a passage that tells a change."""
    text = passage.reading.text
    denied = [match.span() for match in _NO_EFFECT.finditer(text)]
    found: list[frozenset[str]] = []
    for match in _CHANGE.finditer(text):
        if not any(start <= match.start() < end for start, end in denied):
            found.append(_stems(passage, *passage.sentence(match.start())))
    return tuple(found)


def _stems(text: TextFacts, start: int, end: int) -> frozenset[str]:
    words = text.reading.words_in(start, end)
    return frozenset(base_stem(word.lower) for word in words if word.content)
