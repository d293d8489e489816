"""Two values told of two things, and exchanged: "Mount Solen erupted in 1982 and Mount Tarek in
1956", where each year stands in the sentences on the other mountain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import product

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.dates import MONTH_NAMES, WEEKDAY_NAMES
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.near_quotes import is_number, key
from ragassay.models.offline.facts.text_facts import TextFacts

_MOST_SENTENCES = 30
"""Sentences of the passages; where there are more, things stand together by accident."""

_MOST_WORDS = 14
"""Content words of a clause that are looked at."""

_SCORE = 0.8

_Sentence = tuple[int, int]


def crossed_values(claim: TextFacts, passages: Sequence[TextFacts]) -> list[Finding]:
    """Pairs of clauses of the claim of which each tells a number or day that the passages
    tell of what the other one is on, and neither of its own.
    """
    if sum(len(passage.reading.sentences) for passage in passages) > _MOST_SENTENCES:
        return []
    pairs = list(_neighbours(claim))
    if not pairs:
        return []
    where = _sentences_of(passages, {key(word.lower) for word in claim.reading.words})
    found: list[Finding] = []
    for first, second in pairs:
        place = _crossing(first, second, where)
        if place is not None:
            number, sentence = place
            reading = passages[number].reading
            low, high = reading.sentences[sentence]
            start, end = first[0].start, second[-1].end
            said, says = claim.reading.text[start:end], reading.text[low:high].strip()
            at = Place(number, low, high)
            found.append(Finding("exchange", CONFLICT, start, end, said, says, at, _SCORE))
    return found


def _sentences_of(
    passages: Sequence[TextFacts], keys: AbstractSet[str]
) -> dict[str, set[_Sentence]]:
    """What words say -> the sentences that have one of them; of these keys alone."""
    where: dict[str, set[_Sentence]] = {}
    for number, passage in enumerate(passages):
        its = passage.once(_sentences_by_key)
        for each in keys & its.keys():
            where.setdefault(each, set()).update((number, sentence) for sentence in its[each])
    return where


def _sentences_by_key(text: TextFacts) -> dict[str, set[int]]:
    """What words say -> the sentences of one text that have one of them."""
    found: dict[str, set[int]] = {}
    for word in text.reading.words:
        if _counts(word):
            found.setdefault(key(word.lower), set()).add(word.sentence)
    return found


def _counts(word: Word) -> bool:
    return word.content or is_number(word)


def _neighbours(claim: TextFacts) -> Iterator[tuple[list[Word], list[Word]]]:
    """The words that say something of two clauses of a sentence, and that only one of them has."""
    reading = claim.reading
    for at, (start, end) in enumerate(reading.clauses[:-1]):
        if reading.sentence_of_clause[at] != reading.sentence_of_clause[at + 1]:
            continue
        one = [word for word in reading.words_in(start, end) if _counts(word)]
        other = [word for word in reading.words_in(*reading.clauses[at + 1]) if _counts(word)]
        here, there = {key(word.lower) for word in one}, {key(word.lower) for word in other}
        first = [word for word in one if key(word.lower) not in there]
        second = [word for word in other if key(word.lower) not in here]
        if not 2 <= len(first) <= _MOST_WORDS or not 2 <= len(second) <= _MOST_WORDS:
            continue
        if not is_number(first[-1]) or not is_number(second[0]):  # "April 9, 2011"
            yield first, second


def _crossing(
    first: Sequence[Word], second: Sequence[Word], where: dict[str, set[_Sentence]]
) -> _Sentence | None:
    """A sentence that has what one clause is on beside the value of the other, where a second one
    has the rest, and none has the two of one clause.
    """
    known = _placed(first, where), _placed(second, where)
    for (one, with_one), (other, with_other) in product(*known):
        if _kind(one) != _kind(other) or not _kind(one):
            continue
        for (thing, with_thing), (second_thing, with_second) in product(*known):
            if thing is one or second_thing is other or is_number(thing) or is_number(second_thing):
                continue
            if with_thing & with_one or with_second & with_other:
                continue
            together, beside = with_thing & with_other, with_second & with_one
            if together and beside and together != beside:
                return min(together)
    return None


def _placed(
    words: Sequence[Word], where: dict[str, set[_Sentence]]
) -> list[tuple[Word, set[_Sentence]]]:
    """The words that stand in the passages, each with the sentences that have it."""
    keys = [key(word.lower) for word in words]
    return [(word, where[each]) for word, each in zip(words, keys, strict=True) if each in where]


def _kind(word: Word) -> str:
    """Whether a word is a number or a day; "" where it is neither."""
    if is_number(word):
        return "number"
    return "day" if word.lower in WEEKDAY_NAMES or word.lower in MONTH_NAMES else ""
