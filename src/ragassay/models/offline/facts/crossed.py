"""Two things told of two others, and exchanged, in whatever words: "hens may be kept, cockerels may
not" told as "cockerels but not hens".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import product

from ragassay.models.offline.facts.clause_places import ClauseAt, clause_places
from ragassay.models.offline.facts.concepts import Item, sign_between
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.meaning import ClauseMeaning
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_MOST = 10
"""Items of a clause that are looked at."""

_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, things stand together by accident."""

_LEAST_WEIGHT = 0.1


_CONTRAST = re.compile(r"\W*(?:but|while|whereas|although|though|not)\b|\s*;", re.IGNORECASE)
_NOT = re.compile(r"(?: not|n't)\W*$", re.IGNORECASE)
_PARALLEL = re.compile(
    r"\W*(?:and|but|while|whereas|although|though)\b(?! (?:who|which|that|because|if|when)\b)"
    r"|\s*[,;](?!\s*(?:who|which|that|because|if|when|as|including|such)\b)",
    re.IGNORECASE,
)
_VERBS = word_set("auxiliaries")
_FRONTED = re.compile(
    r"\W*(?:in|at|by|on|for|with|from|of|to|as|after|before|during)\b", re.IGNORECASE
)


def crossed(
    claim: TextFacts, passages: Sequence[TextFacts], weight: Callable[[str], float]
) -> list[Finding]:
    """Neighbouring clauses of the claim of which each has something that the passages have in one
    clause with what the other one says, and neither in the clause where it stands. weight: how rare
    a stem is.
    """
    found: list[Finding] = []
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return []
    for one, other in _neighbours(claim.meanings):
        if _is_fronted(claim, one) or not _is_parallel(claim, one, other):
            continue
        first, second = _apart(one, other, weight)
        if not first or not second:
            continue
        where = clause_places([*first, *second], passages)
        place = _crossing(first, second, where)
        if place is None:
            place = _denied_instead(claim, one, other, first, second, where, passages)
        if place is not None:
            found.append(_finding(claim, (one, other), place, passages))
    return found


def _neighbours(
    clauses: Sequence[ClauseMeaning],
) -> Iterator[tuple[ClauseMeaning, ClauseMeaning]]:
    for at, one in enumerate(clauses):
        for other in clauses[at + 1 : at + 3]:
            if other.sentence == one.sentence and one.items and other.items:
                yield one, other


def _is_parallel(claim: TextFacts, one: ClauseMeaning, other: ClauseMeaning) -> bool:
    """Whether two clauses each tell something, one beside the other."""
    if not _PARALLEL.match(claim.reading.text, other.start):
        return False
    words = claim.reading.words_in(one.start, one.end)
    for at, word in enumerate(words):
        if word.lower in _VERBS or (word.lower.endswith(("s", "ed")) and at):
            return True
    return bool(words) and words[0].content and words[0].lower not in claim.capitals


def _is_fronted(claim: TextFacts, clause: ClauseMeaning) -> bool:
    """Whether a clause only says where or when the next one holds: "In the south, ..." """
    return _FRONTED.match(claim.reading.text, clause.start) is not None


def _apart(
    one: ClauseMeaning, other: ClauseMeaning, weight: Callable[[str], float]
) -> tuple[list[Item], list[Item]]:
    """The items of two clauses that the other one has not."""

    def own(mine: ClauseMeaning, its: ClauseMeaning) -> list[Item]:
        found: list[Item] = []
        for item in mine.items:
            rare = max(weight(part) for part in item.stem.split(" ")) >= _LEAST_WEIGHT
            alike = any(sign_between(item, each) > 0 for each in its.items)
            if rare and not alike and not item.is_light:
                found.append(item)
        return found[:_MOST]

    return own(one, other), own(other, one)


def _crossing(
    first: Sequence[Item], second: Sequence[Item], where: dict[Item, frozenset[ClauseAt]]
) -> ClauseAt | None:
    """A clause that has something of the first clause beside something of the second, where a near
    one has the rest of both, and none has two of one.
    """
    for one, two in product(first, second):
        together = where[one] & where[two]
        if not together:
            continue
        for rest, other in product(first, second):
            if rest == one or other == two or where[one] & where[rest] or where[two] & where[other]:
                continue
            beside = where[rest] & where[other]
            near = _nearest(together, beside)
            if near is not None:
                return near
    return None


def _nearest(some: Collection[ClauseAt], others: Collection[ClauseAt]) -> ClauseAt | None:
    """The first clause that has one of the others near."""
    for one in sorted(some):
        if any(_is_near(one, other) for other in others):
            return one
    return None


def _is_near(one: ClauseAt, other: ClauseAt) -> bool:
    return (
        one != other
        and one.passage == other.passage
        and abs(one.sentence - other.sentence) <= 1
        and abs(one.clause - other.clause) <= 3
    )


def _denied_instead(
    claim: TextFacts,
    one: ClauseMeaning,
    other: ClauseMeaning,
    first: Sequence[Item],
    second: Sequence[Item],
    where: dict[Item, frozenset[ClauseAt]],
    passages: Sequence[TextFacts],
) -> ClauseAt | None:
    """A clause that affirms what the claim denies, beside one that denies what it affirms: "hens,
    but not cockerels".
    """
    if one.denies == other.denies:
        return None
    if one.is_mixed or other.is_mixed or one.is_condition or other.is_condition:
        return None
    text = claim.reading.text
    if not _CONTRAST.match(text, other.start) and not _NOT.search(text[: other.end].rstrip()):
        return None
    for mine, theirs in product(first, second):
        if len(where[mine]) != 1 or len(where[theirs]) != 1:
            continue
        here, there = min(where[mine]), min(where[theirs])
        if not _is_near(here, there) or here.sentence != there.sentence:
            continue
        clauses = passages[here.passage].meanings
        here_denies, there_denies = clauses[here.clause], clauses[there.clause]
        if here_denies.is_mixed or there_denies.is_mixed:
            continue
        if (here_denies.denies, there_denies.denies) == (other.denies, one.denies):
            return here
    return None


def _finding(
    claim: TextFacts,
    clauses: tuple[ClauseMeaning, ClauseMeaning],
    at: ClauseAt,
    passages: Sequence[TextFacts],
) -> Finding:
    passage = passages[at.passage]
    clause = passage.meanings[at.clause]
    place = Place(at.passage, *passage.sentence(clause.start))
    start, end = clauses[0].start, clauses[1].end
    said = claim.reading.text[start:end].strip(" ,;")
    says = passage.reading.text[place.start : place.end].strip()
    return Finding("exchange", CONFLICT, start, end, said, says, place, 1.0)
