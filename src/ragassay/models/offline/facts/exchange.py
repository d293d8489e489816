"""Two things told of two others, and exchanged: "line 7 every 8 minutes and line 3 every 12"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Reading, Word, content_words
from ragassay.models.offline.facts.dates import MONTH_NAMES, WEEKDAY_NAMES
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.number_words import SMALL
from ragassay.models.offline.facts.text_facts import TextFacts

_MOST = 16
"""Words of a clause that are looked at: numbers and names first, then the rarest."""

_LEAST_WEIGHT = 0.15

_NUMBER, _NAME, _OTHER = "number", "name", ""


class _ClausePlace(NamedTuple):
    """A clause of a passage."""

    passage: int
    clause: int
    sentence: int


_Where = Mapping[str, frozenset[_ClausePlace]]
_Own = Mapping[str, str]  # stem -> _NUMBER, _NAME or _OTHER


def exchanged(
    claim: TextFacts,
    passages: Sequence[TextFacts],
    capitals: Collection[str],
    weight: Callable[[str], float],
) -> list[Finding]:
    """Neighbouring clauses of the claim of which each has the number or name that the passages have
    in one clause with what the other one says. capitals: the words that are names; weight: how rare
    a stem is.
    """
    by_clause = content_words(claim.reading, "clause")
    if len(by_clause) < 2:
        return []
    where = _places(passages, {_key(word) for word in claim.reading.words if word.content})
    found: list[Finding] = []
    for one, other in _neighbours(claim.reading, sorted(by_clause)):
        first = _own(by_clause[one], by_clause[other], where, capitals, weight)
        second = _own(by_clause[other], by_clause[one], where, capitals, weight)
        place = _crossing(first, second, where)
        if place is not None:
            start, end = _span(claim.reading, one)
            passage = passages[place.passage]
            low, high = _span(passage.reading, place.clause)
            sentence = Place(place.passage, *passage.sentence(low))
            said, says = claim.reading.text[start:end], passage.reading.text[low:high]
            found.append(Finding("exchange", CONFLICT, start, end, said, says, sentence, 1.0))
    return found


def _places(passages: Sequence[TextFacts], stems: Collection[str]) -> _Where:
    """Stem -> the clauses of the passages that have it."""
    where: dict[str, set[_ClausePlace]] = defaultdict(set)
    for number, passage in enumerate(passages):
        its = passage.once(_clauses_by_key)
        for stem in stems:
            for clause, sentence in its.get(stem, ()):
                where[stem].add(_ClausePlace(number, clause, sentence))
    return {stem: frozenset(places) for stem, places in where.items()}


def _clauses_by_key(text: TextFacts) -> dict[str, set[tuple[int, int]]]:
    """Stem -> the clauses of one text that have it, each with its sentence."""
    found: dict[str, set[tuple[int, int]]] = {}
    for word in text.reading.words:
        if word.content:
            found.setdefault(_key(word), set()).add((word.clause, word.sentence))
    return found


def _neighbours(reading: Reading, clauses: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of clauses of one sentence or of two that follow each other, at most one between."""
    for at, one in enumerate(clauses):
        for other in clauses[at + 1 : at + 3]:
            if reading.sentence_of_clause[other] - reading.sentence_of_clause[one] <= 1:
                yield one, other


def _own(
    words: Sequence[Word],
    others: Sequence[Word],
    where: _Where,
    capitals: Collection[str],
    weight: Callable[[str], float],
) -> _Own:
    """The words of a clause that the other has not and the passages have, each with its kind."""
    shared = {_key(word) for word in others}
    kinds: dict[str, str] = {}
    for word in words:
        key = _key(word)
        if key not in shared and key in where and weight(key) >= _LEAST_WEIGHT:
            kinds[key] = kinds.get(key) or _kind(word, capitals)
    ranked = sorted(kinds, key=lambda stem: (not kinds[stem], -weight(stem), stem))
    return {stem: kinds[stem] for stem in ranked[:_MOST]}


def _key(word: Word) -> str:
    """The stem of a word; of a number in words its digits."""
    number = SMALL.get(word.lower)
    return word.stem if number is None else str(number)


def _kind(word: Word, capitals: Collection[str]) -> str:
    if word.written[0].isdigit() or word.lower in SMALL:
        return _NUMBER
    if word.lower in WEEKDAY_NAMES or word.lower in MONTH_NAMES:
        return _NUMBER
    return _NAME if word.lower in capitals else _OTHER


def _crossing(first: _Own, second: _Own, where: _Where) -> _ClausePlace | None:
    """A clause of the passages that has a number or name of the second clause beside what the first
    one says, where the same holds the other way round; None where they are told as in the claim.
    """
    for mine, theirs in product(first, second):
        if first[mine] == _OTHER or first[mine] != second[theirs] or where[mine] & where[theirs]:
            continue
        if not any(_is_near(one, two) for one, two in product(where[mine], where[theirs])):
            continue
        here, crossed = _apart(where, mine, theirs, first)
        there, crossed_too = _apart(where, theirs, mine, second)
        if crossed and crossed_too and len(crossed) + len(crossed_too) > len(here) + len(there):
            return min(where[theirs] & where[min(crossed)])
    return None


def _apart(where: _Where, mine: str, theirs: str, own: _Own) -> tuple[list[str], list[str]]:
    """The other words of a clause that the passages have beside its own value alone, and those that
    they have beside the other clause's alone.
    """
    straight: list[str] = []
    crossed: list[str] = []
    for stem in own:
        beside, beside_other = where[mine] & where[stem], where[theirs] & where[stem]
        if stem != mine and beside and not beside_other:
            straight.append(stem)
        elif stem != mine and beside_other and not beside:
            crossed.append(stem)
    return straight, crossed


def _is_near(one: _ClausePlace, other: _ClausePlace) -> bool:
    return one.passage == other.passage and abs(one.sentence - other.sentence) <= 1


def _span(reading: Reading, clause: int) -> tuple[int, int]:
    """Start and end of a clause without the blanks and the word that joins it."""
    words = [word for word in reading.words if word.clause == clause]
    first = next((word for word in words if word.lower not in ("and", "but", "while")), words[0])
    return first.start, words[-1].end
