"""What a list denies of each of its members: "Dents, rust and cut cables are not covered", "it does
not cover dents, rust or cut cables".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.concepts import Item, items, says_one
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place, trimmed
from ragassay.models.offline.facts.meaning import ClauseMeaning, item_weight
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, things are told in too many places."""

_LONGEST = 8
"""Words of a member at most."""

_LEAST_TOLD = 0.6
"""Share of the claim's clause that the passage has."""

_AUXILIARIES = word_set("auxiliaries")
_DENIES_ALL = re.compile(
    r"\b(?:is|are|was|were|can|may|must|will|should|do|does|did|has|have)(?: not|n't)\b|\bcannot\b",
    re.IGNORECASE,
)
_DENIES_EACH = re.compile(
    r"\b(?:do|does|did|can|may|must|will|should)(?: not|n't) [a-z]+\b|\bcannot [a-z]+\b",
    re.IGNORECASE,
)
_NARROWS = re.compile(
    r"\b(?:unless|except|until|only|without|if|when|than|just|necessarily|all|every|always|but)\b"
    r"|\bnot (?:be )?(?:more|less|later|earlier|exceed)",
    re.IGNORECASE,
)
_JOINS = re.compile(r"\s*,?\s*\b(?:and|or|nor)\b|\s*,|\s*;", re.IGNORECASE)
_LAST = re.compile(r"(?:\s*,)?\s*\b(?:and|or|nor)\b", re.IGNORECASE)


class _Member(NamedTuple):
    """A member of a list, and what is denied of it."""

    passage: int
    place: tuple[int, int]
    items: tuple[Item, ...]
    denied: tuple[Item, ...]


class DeniedLists:
    """The rule over one claim and its passages. weight: how rare a stem is."""

    def __init__(
        self, claim: TextFacts, passages: Sequence[TextFacts], weight: Callable[[str], float]
    ) -> None:
        self._claim, self._passages, self._weight = claim, passages, weight
        self._members: list[_Member] = []
        if sum(len(passage.reading.sentences) for passage in passages) <= _MOST_SENTENCES:
            for number, passage in enumerate(passages):
                for place in passage.reading.sentences:
                    self._members += _members(number, passage, place)

    def findings(self) -> list[Finding]:
        """The clauses of the claim that affirm of a member what the passages deny of each."""
        found: list[Finding] = []
        for mine in self._claim.meanings:
            if mine.denies or mine.is_mixed or mine.is_condition:
                continue
            member = next((each for each in self._members if self._speaks_of(mine, each)), None)
            if member is None or _is_told(member, self._passages):
                continue
            start, end = trimmed(self._claim.reading.text, mine.start, mine.end)
            said = self._claim.reading.text[start:end]
            says = self._passages[member.passage].reading.text[slice(*member.place)].strip()
            place = Place(member.passage, *member.place)
            found.append(Finding("negation", CONFLICT, start, end, said, says, place, 1.0))
        return found

    def without_agreed(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings but those in clauses that deny of a member what the passages deny of it."""
        agreed: list[tuple[int, int]] = []
        for mine in self._claim.meanings:
            is_denied = mine.denies and not mine.is_mixed
            if is_denied and any(self._speaks_of(mine, each) for each in self._members):
                agreed.append((mine.start, mine.end))
        return [each for each in findings if not _is_within(each, agreed)]

    def _speaks_of(self, mine: ClauseMeaning, member: _Member) -> bool:
        """Whether a clause of the claim says of a member what is denied of it, or denies it."""
        heavy = [item for item in member.items if not item.is_light]
        if not heavy or not all(says_one(mine.items, item) for item in heavy):
            return False
        if not any(says_one(mine.items, item) for item in member.denied):
            return False
        meanings = self._passages[member.passage].meanings
        whole = list(chain.from_iterable(each.items for each in meanings))
        total = sum(item_weight(item, self._weight) for item in mine.items)
        told = (item_weight(i, self._weight) for i in mine.items if says_one(whole, i))
        return sum(told) >= _LEAST_TOLD * total


def _members(number: int, passage: TextFacts, place: tuple[int, int]) -> Iterator[_Member]:
    text = passage.reading.text
    start, end = place
    if _NARROWS.search(text, start, end):
        return
    clauses = [each for each in passage.meanings if start <= each.start < end]
    for at, clause in enumerate(clauses):
        denial = _DENIES_ALL.search(text, clause.start, clause.end)
        if denial is None:
            continue
        each_denial = _DENIES_EACH.search(text, clause.start, clause.end)
        before = _list_before(passage, clauses, at)
        if before and _LAST.match(text, clause.start):
            denied = tuple(items(passage.reading.words_in(denial.end(), clause.end)))
            own = [*before, (clause.start, denial.start())]
            for low, high in own:
                member = tuple(items(passage.reading.words_in(low, high)))
                yield _Member(number, place, member, denied)
        behind = _list_behind(passage, clauses, at)
        if behind and each_denial is not None:
            verb = passage.reading.words_in(denial.end(), each_denial.end())
            denied = tuple(items(verb))
            own = [(each_denial.end(), clause.end), *behind]
            for low, high in own:
                member = tuple(items(passage.reading.words_in(low, high)))
                yield _Member(number, place, member, denied)


def _list_before(
    passage: TextFacts, clauses: Sequence[ClauseMeaning], at: int
) -> list[tuple[int, int]]:
    """The members before the one that says what is denied, where all the clauses are some."""
    found: list[tuple[int, int]] = []
    for clause in reversed(clauses[:at]):
        if not _is_noun(passage.reading.words_in(clause.start, clause.end)):
            return []
        found.append((clause.start, clause.end))
    return found


def _list_behind(
    passage: TextFacts, clauses: Sequence[ClauseMeaning], at: int
) -> list[tuple[int, int]]:
    """The members behind the one that says what is denied; the last one is joined by "or"."""
    text = passage.reading.text
    found: list[tuple[int, int]] = []
    for clause in clauses[at + 1 :]:
        if not _JOINS.match(text, clause.start):
            break
        if not _is_noun(passage.reading.words_in(clause.start, clause.end)):
            return []
        found.append((clause.start, clause.end))
        joined = _LAST.match(text, clause.start)
        if joined is not None:
            is_or = joined.group().strip(" ,").lower() != "and"
            return found if is_or else []
    return []


def _is_noun(words: Sequence[Word]) -> bool:
    """Whether a clause has no verb of its own."""
    if not 0 < len(words) <= _LONGEST:
        return False
    return not any(word.lower in _AUXILIARIES for word in words)


def _is_told(member: _Member, passages: Sequence[TextFacts]) -> bool:
    """Whether another sentence affirms of the member what the list denies."""
    heavy = [item for item in member.items if not item.is_light]
    for number, passage in enumerate(passages):
        for clause in passage.meanings:
            inside = member.place[0] <= clause.start < member.place[1]
            if clause.denies or (number == member.passage and inside):
                continue
            has_member = all(says_one(clause.items, item) for item in heavy)
            if has_member and any(says_one(clause.items, item) for item in member.denied):
                return True
    return False


def _is_within(finding: Finding, places: Sequence[tuple[int, int]]) -> bool:
    return any(start <= finding.start < end for start, end in places)
