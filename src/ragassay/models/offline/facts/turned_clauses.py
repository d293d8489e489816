"""Who does what to whom, without names: "the director reports to the head" beside "the head reports
to the director", and "the cat was chased by the dog" beside "the cat chased the dog".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.concepts import base_stem
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_MOST_SENTENCES = 60
"""Sentences of the passages; where there are more, the same words stand in them by accident."""

_MOST_WORDS = 4
"""Content words of what a verb is said of."""

_HELPING = word_set("auxiliaries") | {"being", "been", "also", "then", "now", "later"}
_BE = frozenset(("is", "are", "was", "were", "been", "being", "be", "got", "gets"))
_LINKS = frozenset(("by", "to", "from", "into", "for", "on", "at", "over", "of", "after", "under"))
_ARTICLES = frozenset(("the", "a", "an", "its", "their", "his", "her", "our"))
# Base stems of what is said of both sides alike.
_EITHER_WAY = frozenset(
    {
        *("mar", "marry", "marri", "meet", "merg", "differ", "border", "tie", "draw", "join"),
        *("equal", "resembl", "neighbour", "neighbor", "overlap", "match", "correspond"),
        *("correlat", "interact", "compet", "fight", "play", "fac", "cooperat", "communicat"),
        *("alternat", "relat", "connect", "link", "touch", "cross", "intersect", "argu"),
    }
)


class _Deed(NamedTuple):
    """A verb, by its stem; who does it and to whom, by stems in order; what joins the second.

    `whom` goes on to the end of the clause. [start, end): its place in the text.
    """

    verb: str
    who: tuple[str, ...]
    link: str
    whom: tuple[str, ...]
    is_passive: bool
    start: int
    end: int


def turned_clauses(claim: TextFacts, passages: Sequence[TextFacts]) -> list[Finding]:
    """The deeds of the claim that the passages tell the other way round, and nowhere as it does."""
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return []
    mine = list(_deeds(claim))
    if not mine:
        return []
    theirs = [passage.once(_by_verb) for passage in passages]
    found: list[Finding] = []
    for deed in mine:
        place = _turned(deed, passages, theirs)
        if place is not None:
            said = claim.reading.text[deed.start : deed.end]
            says = passages[place.passage].reading.text[place.start : place.end].strip()
            found.append(Finding("role", CONFLICT, deed.start, deed.end, said, says, place, 1.0))
    return found[:1]


def _turned(
    deed: _Deed, passages: Sequence[TextFacts], theirs: Sequence[Mapping[str, Sequence[_Deed]]]
) -> Place | None:
    turned: Place | None = None
    for number, deeds in enumerate(theirs):
        for other in deeds.get(deed.verb, ()):
            if _is_said(deed, other):
                return None
            if _is_turned(deed, other):
                turned = Place(number, *passages[number].sentence(other.start))
    return turned


def _is_said(deed: _Deed, other: _Deed) -> bool:
    """Whether both have the same on both sides of the verb, or the other side in another voice."""
    if deed.is_passive == other.is_passive:
        return deed.link == other.link and deed.who == other.who and _begins(other, deed.whom)
    return _begins(deed, other.who) and _begins(other, deed.who)


def _is_turned(deed: _Deed, other: _Deed) -> bool:
    if deed.is_passive == other.is_passive:
        return deed.link == other.link and _begins(deed, other.who) and _begins(other, deed.who)
    active = other if deed.is_passive else deed
    if active.link or deed.who != other.who:
        return False
    length = _in_common(deed.whom, other.whom)
    return length > 0


def _begins(deed: _Deed, stems: tuple[str, ...]) -> bool:
    """Whether what is done to begins with these stems."""
    return deed.whom[: len(stems)] == stems


def _in_common(some: Sequence[str], others: Sequence[str]) -> int:
    length = 0
    for one, other in zip(some, others, strict=False):
        if one != other:
            break
        length += 1
    return length


def _deeds(text: TextFacts) -> Iterator[_Deed]:
    """The verbs of a text that stand right behind what does them."""
    clauses: dict[int, list[Word]] = {}
    for word in text.reading.words:
        clauses.setdefault(word.clause, []).append(word)
    for words in clauses.values():
        if len(words) < 3 or text.clause_denies(words[0].start):
            continue
        for at in range(1, len(words) - 1):
            deed = _deed(words, at)
            if deed is not None:
                yield deed


def _by_verb(text: TextFacts) -> Mapping[str, Sequence[_Deed]]:
    """Verb -> the deeds of a text that it tells, in order."""
    found: dict[str, list[_Deed]] = {}
    for deed in _deeds(text):
        found.setdefault(deed.verb, []).append(deed)
    return found


def _deed(words: Sequence[Word], at: int) -> _Deed | None:
    """What the word tells if it is a verb; None where something else stands around it."""
    verb = words[at]
    if not verb.content or not verb.written.islower() or base_stem(verb.lower) in _EITHER_WAY:
        return None
    behind = at - 1
    while behind >= 0 and words[behind].lower in _HELPING:
        behind -= 1
    if behind < 0 or not words[behind].content:
        return None
    who = tuple(word.stem for word in words[: behind + 1] if word.content)
    link, first = "", at + 1
    if words[first].lower in _LINKS:
        link, first = words[first].lower, first + 1
    while first < len(words) and words[first].lower in _ARTICLES:
        first += 1
    if first == len(words) or not words[first].content or len(who) > _MOST_WORDS:
        return None
    whom = tuple(word.stem for word in words[first:] if word.content)
    is_passive = link == "by" and any(word.lower in _BE for word in words[behind + 1 : at])
    if link == "by" and not is_passive:
        return None
    return _Deed(base_stem(verb.lower), who, link, whom, is_passive, words[0].start, words[-1].end)
