"""A clause of the claim that joins what two parallel clauses of the passages tell apart: "Weil
teaches Form 7", where Form 7 is taught by Oduya and Form 8 by Weil.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from ragassay.models.offline.facts.clause_places import ClauseAt, clause_places
from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.concepts import Item, is_irregular, sign_between
from ragassay.models.offline.facts.dates import MONTH_NAMES, WEEKDAY_NAMES
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place, trimmed
from ragassay.models.offline.facts.meaning import ClauseMeaning
from ragassay.models.offline.facts.number_words import SMALL
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_MOST = 10
"""Items of a clause of the claim that are looked at; of one with more, some are told elsewhere."""

_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, things stand together by accident."""

_LEAST_WEIGHT = 0.1
_LEAST_TOLD = 0.6
"""Share of the items of the claim's clause that the sentence has."""

_APART = 3
"""Clauses from the one to the other at most."""

_NUMBER, _NAME, _OTHER = "number", "name", "other"
_PASSED_OVER = frozenset(
    ["the", "a", "an", "its", "their", "his", "her", "our", "your", "my", "each", "every"]
)
_OPENS = "^"
_CONJUNCTIONS = frozenset(["and", "but", "while", "whereas", "or", "although", "though"])
_NO_SUBJECTS = (
    word_set("auxiliaries")
    | word_set("links")
    | word_set("pronouns")
    | frozenset(["by", "as", "not", "then", "these"])
)
_STAND_FOR_IT = frozenset(["those", "one", "ones"])
"""Words for what the clause before is on: "those in the south"."""

_UNTIL = frozenset(("until", "till"))
"""Words that tell an end by what lasts until then: "open until 9" is "opens at 7, closes at 9"."""

_EARLY = 3
"""Words at the beginning of a clause among which the one is that it is about."""

_AUXILIARIES = word_set("auxiliaries")
_LINKS = word_set("links") | {"after", "by"}
_TITLES = word_set("titles") | {"dr", "mr", "mrs", "ms", "prof", "coach"}


class _Part(NamedTuple):
    """What an item of a clause is, and the word that it stands behind; _OPENS at its beginning.
    is_early: whether it is one of the first words of its clause.
    """

    item: Item
    kind: str
    slot: str
    is_early: bool


_Where = Mapping[Item, frozenset[ClauseAt]]


class Paired:
    """The rule over one claim and its passages. capitals: the words that are names; weight: how
    rare a stem is.
    """

    def __init__(
        self,
        claim: TextFacts,
        passages: Sequence[TextFacts],
        capitals: Collection[str],
        weight: Callable[[str], float],
    ) -> None:
        self._claim, self._passages = claim, passages
        self._capitals, self._weight = capitals, weight

    def findings(self) -> list[Finding]:
        """The clauses of the claim that join what the passages tell apart."""
        if sum(len(passage.reading.sentences) for passage in self._passages) > _MOST_SENTENCES:
            return []
        found: list[Finding] = []
        for mine in self._claim.meanings:
            if mine.denies or mine.is_mixed or mine.is_condition:
                continue
            place = self._joined(mine)
            if place is not None:
                found.append(self._finding(mine, place))
        return found

    def _joined(self, mine: ClauseMeaning) -> ClauseAt | None:
        """The clause that has one of two things that a clause of the claim joins."""
        parts = [part for part in self._parts(self._claim, mine) if self._counts(part.item)]
        if not 2 <= len(parts) <= _MOST:
            return None
        where = clause_places([part.item for part in parts], self._passages)
        for value, key in product(parts, parts):
            if value is key or value.kind == _OTHER != key.kind or value.slot in _UNTIL:
                continue
            if len(where[value.item]) != 1:
                continue
            there = min(where[value.item])
            beside = [each for each in where[key.item] if _is_beside(each, there, 0)]
            if len(beside) != 1 or beside[0] == there:
                continue
            here = beside[0]
            is_behind = value.slot in _LINKS and key.slot in _LINKS
            if not is_behind and not self._has_subject(max(here, there)):
                continue
            is_known = len(where[key.item]) == 1
            if self._is_parallel(value, key, here, there, mine, is_known=is_known):
                told = [part for part in parts if _is_any_beside(here, where[part.item])]
                if len(told) >= _LEAST_TOLD * len(parts):
                    return here
        return None

    def _is_parallel(
        self,
        value: _Part,
        key: _Part,
        here: ClauseAt,
        there: ClauseAt,
        mine: ClauseMeaning,
        *,
        is_known: bool,
    ) -> bool:
        """Whether one clause has the key with another value, in the place in which the other one
        has the value with another key. is_known: whether the key stands nowhere else.
        """
        of_key, of_value = self._parts_at(here), self._parts_at(there)
        own = next((part for part in of_value if sign_between(part.item, value.item) > 0), None)
        known = next((part for part in of_key if sign_between(part.item, key.item) > 0), None)
        if own is None or known is None:
            return False
        others = [part for part in of_key if _is_rival(part, own, mine)]
        rest = [part for part in of_value if part is not own and _is_new(part.item, mine)]
        if not others or not rest:
            return False
        if any(_is_rival(part, known, mine) for part in rest):
            return True
        if value.kind == _OTHER or known.kind != _OTHER or not is_known:
            return False
        return known.slot in _LINKS or (known.is_early and own.slot in _LINKS)

    def _has_subject(self, at: ClauseAt) -> bool:
        """Whether a clause has its own subject, and not that of the one before: "was tested in 3.1
        and removed in 4.0".
        """
        passage = self._passages[at.passage]
        clause = passage.meanings[at.clause]
        words = passage.reading.words_in(clause.start, clause.end)
        first = next((word for word in words if word.lower not in _CONJUNCTIONS), None)
        if first is None or first.lower in _NO_SUBJECTS:
            return False
        if any(word.lower in _STAND_FOR_IT for word in words[:_EARLY]):
            return False
        is_verb = first.lower.endswith(("ed", "ing")) or is_irregular(first.lower)
        return not is_verb or first.lower in self._capitals

    def _parts_at(self, at: ClauseAt) -> list[_Part]:
        passage = self._passages[at.passage]
        clause = passage.meanings[at.clause]
        if clause.denies:
            return []
        return list(self._parts(passage, clause))

    def _parts(self, text: TextFacts, clause: ClauseMeaning) -> Iterator[_Part]:
        words = text.reading.words_in(clause.start, clause.end)
        for item in clause.items:
            slot = _slot(words, item.first)
            is_early = item.first < _EARLY and slot not in _AUXILIARIES
            yield _Part(item, self._kind(words[item.first]), slot, is_early)

    def _kind(self, word: Word) -> str:
        if word.written[0].isdigit() or word.lower in SMALL:
            return _NUMBER
        if word.lower in WEEKDAY_NAMES or word.lower in MONTH_NAMES:
            return _NUMBER
        return _NAME if word.lower in self._capitals and word.written[0].isupper() else _OTHER

    def _counts(self, item: Item) -> bool:
        if item.is_light:
            return False
        return max(self._weight(part) for part in item.stem.split(" ")) >= _LEAST_WEIGHT

    def _finding(self, mine: ClauseMeaning, at: ClauseAt) -> Finding:
        passage = self._passages[at.passage]
        place = Place(at.passage, *passage.sentence(passage.meanings[at.clause].start))
        start, end = trimmed(self._claim.reading.text, mine.start, mine.end)
        said = self._claim.reading.text[start:end]
        says = passage.reading.text[place.start : place.end].strip()
        return Finding("exchange", CONFLICT, start, end, said, says, place, 1.0)


def _is_rival(part: _Part, own: _Part, mine: ClauseMeaning) -> bool:
    """Whether a part of one clause is what another one is in its own, and not said by the claim."""
    return (part.kind, part.slot) == (own.kind, own.slot) and _is_new(part.item, mine)


def _is_new(item: Item, mine: ClauseMeaning) -> bool:
    """Whether a clause of the claim does not say it."""
    return not item.is_light and not any(sign_between(item, each) for each in mine.items)


def _is_beside(one: ClauseAt, other: ClauseAt, least: int = 1) -> bool:
    """Whether two clauses are of one sentence, and not too far from each other."""
    if one.passage != other.passage or one.sentence != other.sentence:
        return False
    return least <= abs(one.clause - other.clause) <= _APART


def _is_any_beside(one: ClauseAt, others: Collection[ClauseAt]) -> bool:
    return any(_is_beside(one, other, 0) for other in others)


def _slot(words: Sequence[Word], at: int) -> str:
    """The stem of the word before one, without articles and titles."""
    while at:
        at -= 1
        lower = words[at].lower
        if lower in _PASSED_OVER or lower in _TITLES:
            continue
        if lower in _CONJUNCTIONS and not at:
            return _OPENS
        return lower if not words[at].content else words[at].stem
    return _OPENS
