"""A name of which the passages have one half with another: "Border Services" beside "Anker
Services".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.names import Name, same_word
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_TITLES = word_set("titles")
_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, halves of names are alike by accident."""


def half_named(
    claim: TextFacts,
    names: Sequence[Name],
    passages: Sequence[TextFacts],
    of_passages: Sequence[Sequence[Name]],
    knows: Callable[[str], bool],
) -> list[Finding]:
    """The names of the claim with one word that stands nowhere, where the passages have the rest
    of them beside another. names: of the claim; of_passages: of each passage; knows: whether a word
    stands in the passages.
    """
    found: list[Finding] = []
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return found
    for name in names:
        strange = [word for word in name.words if not knows(word)]
        if len(name.words) < 2 or len(strange) != 1 or strange[0] in _TITLES:
            continue
        if " of " in claim.reading.text[name.start : name.end]:
            continue  # of another place, and so another title
        for number, passage in enumerate(passages):
            other = next((o for o in of_passages[number] if _differs(name, o, strange[0])), None)
            if other is not None:
                place = Place(number, *passage.sentence(other.start))
                said = claim.reading.text[name.start : name.end]
                says = passage.reading.text[other.start : other.end]
                found.append(
                    Finding("name", CONFLICT, name.start, name.end, said, says, place, 1.0)
                )
                break
    return found


def _differs(name: Name, other: Name, strange: str) -> bool:
    """Whether another name is the same but for the one word."""
    if len(name.words) != len(other.words):
        return False
    for mine, theirs in zip(name.words, other.words, strict=True):
        if mine == strange:
            if (
                theirs in _TITLES
                or same_word(mine, theirs)
                or mine.rstrip("s") == theirs.rstrip("s")
            ):
                return False
        elif not same_word(mine, theirs):
            return False
    return True
