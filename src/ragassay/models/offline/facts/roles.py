"""Who does what to whom: two names of one sentence, and the verb between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Reading
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.names import Name
from ragassay.models.offline.facts.text_facts import TextFacts

# "A is a ligand for B" is no deed of A's.
_SAYS_WHAT_IT_IS = re.compile(
    r"\s*(?:is|are|was|were)\s+(?:an?|the|one|part|known|called|named|also)\b", re.IGNORECASE
)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|been|being|be|got)\b[^.;]*\bby\b", re.IGNORECASE)
_ENDS_A_LINK = re.compile(r"[.,;:()'’]|\b(?:and|or|while|whereas|but)\b")
_LONGEST = 60  # characters between two names
_MOST_WORDS = 3  # content words between them
# Stems of what is said of both names alike.
_EITHER_WAY = frozenset(
    {
        *("marr", "marri", "met", "meet", "merg", "differ", "border", "tie", "drew", "draw"),
        *("equal", "same", "join", "next", "near", "with"),
    }
)


class _Link(NamedTuple):
    """What stands between two names: the stems of its words, and whether the verb is passive."""

    stems: frozenset[str]
    is_passive: bool


def turned_roles(
    claim: TextFacts,
    mine: Sequence[Name],
    passages: Sequence[TextFacts],
    theirs: Sequence[Sequence[Name]],
) -> list[Finding]:
    """The pairs of names of the claim that the passages have around the same verb the other way
    round, and nowhere in this order. mine: the names of the claim; theirs: of each passage.
    """
    found: list[Finding] = []
    text = claim.reading.text
    for first, second in pairwise(mine):
        link = _link(claim.reading, first, second)
        other = None if link is None else _turned(first, second, link, passages, theirs)
        if other is not None:
            start, end = first.start, second.end
            place, words = other
            found.append(Finding("role", CONFLICT, start, end, text[start:end], words, place, 1.0))
    return found


def _link(reading: Reading, first: Name, second: Name) -> _Link | None:
    """What joins two names, first and second in this order; None where no one verb does."""
    if reading.sentence_at(first.start) != reading.sentence_at(second.start):
        return None
    between = reading.text[first.end : second.start]
    if len(between) > _LONGEST or _ENDS_A_LINK.search(between) is not None:
        return None
    if _SAYS_WHAT_IT_IS.match(between) is not None:
        return None
    words = reading.words_in(first.end, second.start)
    stems = frozenset(word.stem for word in words if word.content)
    if not 1 <= len(stems) <= _MOST_WORDS or not stems.isdisjoint(_EITHER_WAY):
        return None
    return _Link(stems, _PASSIVE.search(between) is not None)


def _turned(
    first: Name,
    second: Name,
    link: _Link,
    passages: Sequence[TextFacts],
    names: Sequence[Sequence[Name]],
) -> tuple[Place, str] | None:
    """Where the passages have these names the other way round; None where they do not, or have them
    in this order too.
    """
    turned: tuple[Place, str] | None = None
    for number, passage in enumerate(passages):
        for one, two in pairwise(names[number]):
            in_order = _in_order((first, second), (one, two))
            theirs = None if in_order is None else _link(passage.reading, one, two)
            if theirs is None or link.stems.isdisjoint(theirs.stems):
                continue  # another verb
            if in_order == (link.is_passive == theirs.is_passive):
                return None
            place = Place(number, *passage.sentence(one.start))
            turned = place, passage.reading.text[one.start : two.end]
    return turned


def _in_order(mine: tuple[Name, Name], theirs: tuple[Name, Name]) -> bool | None:
    """Whether two pairs of names are one in the same order; None where they are two pairs."""
    if _one_name(mine[0], theirs[0]) and _one_name(mine[1], theirs[1]):
        return True
    if _one_name(mine[0], theirs[1]) and _one_name(mine[1], theirs[0]):
        return False
    return None


def _one_name(one: Name, other: Name) -> bool:
    return not set(one.words).isdisjoint(other.words)
