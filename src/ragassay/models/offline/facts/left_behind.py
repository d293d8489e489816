"""A place or name that something has left, told as where it is now: "the office is in Porto", which
moved from Porto to Lisbon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.names import Name
from ragassay.models.offline.facts.text_facts import TextFacts

_LEFT = re.compile(
    r"\b(?:mov|relocat|transferr?|switch|migrat|renam|changed? (?:its|the|their|his|her) name)"
    r"(?:e|es|ed|ing|s)?\b",
    re.IGNORECASE,
)
_FROM, _TO = re.compile(r"\bfrom (?:the )?$", re.I), re.compile(r"\b(?:in)?to (?:the )?$", re.I)
_PRESENT = re.compile(r"\b(?:is|are|now|since|currently|today)\b", re.IGNORECASE)
_PAST = re.compile(
    r"\b(?:from|until|till|before|was|were|had|former|formerly|previously|originally|once|left"
    r"|earlier|prior|no longer|not|used)\b|n't\b",
    re.IGNORECASE,
)
_OF_NOW = frozenset(
    ("located", "based", "situated", "now", "currently", "today", "called", "named", "since")
)


def left_behind(
    claim: TextFacts,
    mine: Sequence[Name],
    passages: Sequence[TextFacts],
    theirs: Sequence[Sequence[Name]],
) -> list[Finding]:
    """The sentences of the claim that say of something that it is where, or called what, it no
    longer is. mine: the names of the claim; theirs: of each passage.
    """
    found: list[Finding] = []
    for number, passage in enumerate(passages):
        for old, new in passage.once_of(_moves, theirs[number]):
            for name in mine:
                if set(name.words) != set(old.words):
                    continue
                start, end = claim.sentence(name.start)
                if _is_told_of_now(claim, name, new, passage, old):
                    place = Place(number, *passage.sentence(old.start))
                    said = claim.reading.text[start:end].strip()
                    says = passage.reading.text[place.start : place.end].strip()
                    found.append(Finding("exchange", CONFLICT, start, end, said, says, place, 1.0))
    return found[:1]


def _moves(passage: TextFacts, names: Sequence[Name]) -> list[tuple[Name, Name]]:
    """What was left, and what came instead."""
    text, found = passage.reading.text, []
    for old, new in pairwise(names):
        start, end = passage.sentence(old.start)
        if not start <= new.start < end or not _TO.search(text, old.end, new.start):
            continue
        if _FROM.search(text, start, old.start) and _LEFT.search(text, start, old.start):
            found.append((old, new))
    return found


def _is_told_of_now(claim: TextFacts, name: Name, new: Name, passage: TextFacts, old: Name) -> bool:
    """Whether the sentence of a name is on what moved, and on how it is now."""
    start, end = claim.sentence(name.start)
    sentence = claim.reading.text[start:end]
    if not _PRESENT.search(sentence) or _PAST.search(sentence):
        return False
    words = claim.reading.words_in(start, end)
    if any(word.lower in new.words for word in words):
        return False
    there = passage.reading.words_in(*passage.sentence(old.start))
    stems = {word.stem for word in there}
    rest = [word.stem for word in words if _counts(word, name)]
    return bool(rest) and stems.issuperset(rest)


def _counts(word: Word, name: Name) -> bool:
    return (
        word.content
        and not name.start <= word.start < name.end
        and word.lower not in _OF_NOW
        and not word.written[0].isdigit()
    )
