"""Where the claim puts what the passages put elsewhere: "phones must be off in the clubhouse",
where they must be on the greens; and what they except: "every weekday except Friday".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from ragassay.models.offline.facts.concepts import Item, keys_of, says_one, sign_between
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place, trimmed
from ragassay.models.offline.facts.meaning import ClauseMeaning, item_weight
from ragassay.models.offline.facts.text_facts import TextFacts

_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, things are told in too many places."""

_SCORE = 0.45
"""Of a finding: one that names the very word that is denied comes before it."""

_LEAST_TOLD = 0.5
"""Share of a clause of the claim that the one has which excepts a part of it."""

_PLACES = frozenset(["in", "at", "on", "inside", "outside", "near", "behind", "under"])
_EXCEPTS = re.compile(
    r"\W*(?:(?:but |and )?(?:except|excluding|apart from|other than)|(?:but|and) (?:not|never))\b",
    re.IGNORECASE,
)
_EXCEPTION = re.compile(
    r"\b(?:except|excluding|apart from|other than|but not|unless|only)\b", re.IGNORECASE
)
_RESERVED = re.compile(
    r"\b(?:reserved (?:only )?for|reserved to|for the exclusive use of|(?:only|exclusively|solely)"
    r" (?:for|open to|available to))\b",
    re.IGNORECASE,
)
_MARKERS = frozenset(("reserv", "exclusiv", "sole", "open", "availabl", "use"))
_BEHIND = 3
"""Words behind what begins a place at most, before the place itself."""


class _Spot(NamedTuple):
    """An item of a clause that says where: the last thing of its clause, behind a preposition."""

    item: Item
    beside: tuple[Item, ...]


def elsewhere(
    claim: TextFacts, passages: Sequence[TextFacts], weight: Callable[[str], float]
) -> list[Finding]:
    """The clauses of the claim that tell of one place, or of an exception, what the passages tell
    of another. weight: how rare a stem is.
    """
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return []
    found: list[Finding] = []
    for mine in claim.meanings:
        if mine.is_condition or mine.is_mixed or not mine.items:
            continue
        place = _excepted(claim, mine, passages, weight)
        place = place or _other_place(claim, mine, passages)
        place = place or _reserved(claim, mine, passages)
        if place is not None:
            passage = passages[place.passage]
            start, end = trimmed(claim.reading.text, mine.start, mine.end)
            said = claim.reading.text[start:end]
            says = passage.reading.text[place.start : place.end].strip()
            found.append(Finding("elsewhere", CONFLICT, start, end, said, says, place, _SCORE))
    return found


def _excepted(
    claim: TextFacts,
    mine: ClauseMeaning,
    passages: Sequence[TextFacts],
    weight: Callable[[str], float],
) -> Place | None:
    """A sentence that says what a clause of the claim does, and excepts what it says it of."""
    if _EXCEPTION.search(claim.reading.text, *claim.sentence(mine.start)):
        return None
    total = sum(item_weight(item, weight) for item in mine.items)
    for number, passage in enumerate(passages):
        for main, clause in passage.once(_excepting):
            is_of_it = main.sentence == clause.sentence and main.denies == mine.denies
            said = [item for item in mine.items if says_one(clause.items, item)]
            excepted = [item for item in said if not says_one(main.items, item)]
            if not is_of_it or not excepted or not _is_all(clause, excepted):
                continue
            if any(sign_between(one, other) < 0 for one, other in product(mine.items, main.items)):
                continue  # "On Sundays you pay", where it is free except then
            told = [item for item in mine.items if says_one(main.items, item) or item in excepted]
            share = sum(item_weight(item, weight) for item in told) / total if total else 0.0
            is_told = any(not i.is_light and i not in excepted for i in told)
            if is_told and share >= _LEAST_TOLD and not _is_told_of(mine, excepted, passages):
                return Place(number, *passage.sentence(clause.start))
    return None


def _is_told_of(
    mine: ClauseMeaning, excepted: Sequence[Item], passages: Sequence[TextFacts]
) -> bool:
    """Whether another clause has what is excepted beside something else of the claim's."""
    others = [item for item in mine.items if item not in excepted and not item.is_light]
    for passage in passages:
        for clause in passage.meanings:
            has_both = any(says_one(clause.items, item) for item in excepted)
            has_both = has_both and any(says_one(clause.items, item) for item in others)
            if has_both and clause.denies == mine.denies:
                return True
    return False


def _reserved(claim: TextFacts, mine: ClauseMeaning, passages: Sequence[TextFacts]) -> Place | None:
    """A clause that reserves for some what a clause of the claim denies them, or gives to
    others.
    """
    if _EXCEPTION.search(claim.reading.text, *claim.sentence(mine.start)):
        return None
    for number, passage in enumerate(passages):
        for clause, begins in passage.once(_reserving):
            its = [item for item in clause.items if item.first >= begins]
            thing = [item for item in clause.items if item.last <= begins and not item.is_light]
            thing = [item for item in thing if item.stem not in _MARKERS]
            told = [item for item in mine.items if says_one(thing, item)]
            others = [item for item in mine.items if item not in told and not item.is_light]
            if not told or not its or not _is_opened_by(mine, others):
                continue
            if any(says_one(its, item) for item in others) == mine.denies:
                return Place(number, *passage.sentence(clause.start))
    return None


def _excepting(text: TextFacts) -> Sequence[tuple[ClauseMeaning, ClauseMeaning]]:
    """The clauses of a text that except something, each behind the one before it."""
    found: list[tuple[ClauseMeaning, ClauseMeaning]] = []
    for before, clause in pairwise(text.meanings):
        if _EXCEPTS.match(text.reading.text, clause.start):
            found.append((before, clause))
    return found


def _reserving(text: TextFacts) -> Sequence[tuple[ClauseMeaning, int]]:
    """The clauses of a text that reserve something, and how many words stand before for whom."""
    found: list[tuple[ClauseMeaning, int]] = []
    for clause in text.meanings:
        marker = _RESERVED.search(text.reading.text, clause.start, clause.end)
        if marker is not None and not clause.denies:
            words = text.reading.words_in(clause.start, clause.end)
            found.append((clause, sum(word.start < marker.end() for word in words)))
    return found


def _is_opened_by(mine: ClauseMeaning, others: Sequence[Item]) -> bool:
    """Whether a clause opens with one of these: with who does it."""
    return bool(others) and mine.items[0] == others[0]


def _is_all(clause: ClauseMeaning, excepted: Sequence[Item]) -> bool:
    """Whether nothing else narrows what a clause excepts: "except Friday"."""
    heavy = [item for item in clause.items if not item.is_light]
    return sum(says_one(excepted, item) for item in heavy) * 2 >= len(heavy)


def _other_place(
    claim: TextFacts, mine: ClauseMeaning, passages: Sequence[TextFacts]
) -> Place | None:
    """A clause that has all of a clause of the claim but where it is, and tells another place."""
    spot = _spot(claim, mine)
    if spot is None or not any(not item.is_light for item in spot.beside):
        return None
    keys = keys_of([spot.item])
    found: Place | None = None
    is_known = False
    for number, passage in enumerate(passages):
        for clause in passage.meanings:
            if not keys.isdisjoint(clause.keys):
                if any(says_one(clause.items, item) for item in spot.beside if not item.is_light):
                    return None
                is_known = True
            elif (
                found is None
                and clause.denies == mine.denies
                and all(says_one(clause.items, item) for item in spot.beside)
            ):
                there = _spot(passage, clause)
                if there is not None and not says_one(mine.items, there.item):
                    found = Place(number, *passage.sentence(clause.start))
    if found is None or not is_known:
        return None
    start, end = found.start, found.end
    inside = passages[found.passage].reading.words_in(start, end)
    return None if any(word.stem == spot.item.stem for word in inside) else found


def _spot(text: TextFacts, clause: ClauseMeaning) -> _Spot | None:
    """Where a clause says that something is, if that ends it."""
    words = text.reading.words_in(clause.start, clause.end)
    if not clause.items:
        return None
    item = clause.items[-1]
    if item.last != len(words) or item.meanings or words[item.first].written[0].isupper():
        return None
    begins = max((at for at in range(item.first) if words[at].lower in _PLACES), default=len(words))
    if not 1 <= item.first - begins <= _BEHIND:
        return None
    inside = [each for each in clause.items if each.first > begins]
    if len(inside) > 1:
        return None
    return _Spot(item, tuple(each for each in clause.items if each.first < begins))
