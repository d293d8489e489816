"""Which of two things is more: "the X1 is cheaper than the X2", and the same told the other way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.polarity import is_negation
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import lines, word_set

_LEAST = 0.5
"""Share of the words for a thing that another's must have to be the same thing."""

_MOST_WORDS = 6
_OF_ALL = word_set("of_all")


class Comparison(NamedTuple):
    """The first thing is more, or less, of a kind than the second. kind: the first word of the line
    of comparatives; sign: 1 where the first is more. first, second: stems of the words for them.
    """

    kind: str
    sign: int
    first: frozenset[str]
    second: frozenset[str]
    start: int
    end: int


@cache
def _kinds() -> dict[str, tuple[str, int]]:
    """Comparative -> its kind, and which side of it."""
    table: dict[str, tuple[str, int]] = {}
    for line in lines("comparatives"):
        more, _, less = line.partition("=")
        kind = more.split(",")[0].strip()
        for sign, side in ((1, more), (-1, less)):
            for words in side.split(","):
                table[words.strip()] = (kind, sign)
    return table


def comparisons(text: TextFacts) -> Sequence[Comparison]:
    """The comparisons of a text that name both things."""
    return text.once(_all_comparisons)


def _all_comparisons(text: TextFacts) -> Sequence[Comparison]:
    return tuple(_comparisons(text)) if "than" in text.vocabulary else ()


def _comparisons(text: TextFacts) -> Iterator[Comparison]:
    reading = text.reading
    for start, end in reading.sentences:
        words = reading.words_in(start, end)
        for word in words:
            if word.lower != "than":
                continue
            beside = [each for each in words if each.clause == word.clause]
            before = [each for each in words if each.clause < word.clause]
            found = _comparison(beside, beside.index(word), before)
            if found is not None and not any(map(is_negation, beside)):
                yield found


def _comparison(words: Sequence[Word], than: int, before: Sequence[Word]) -> Comparison | None:
    """What the words of a clause compare. before: the words of its sentence before it, which tell
    the first thing where the clause does not: "5,000 came, which is more than in 2019".
    """
    for at in range(than - 1, max(-1, than - 1 - _MOST_WORDS), -1):
        pair = " ".join(word.lower for word in words[max(0, at - 1) : at + 1])
        is_pair = at > 0 and pair in _kinds()
        kind = _kinds().get(pair) or _kinds().get(words[at].lower)
        if kind is None:
            continue
        at -= is_pair
        second = _thing(words[than + 1 :])
        between = frozenset(w.stem for w in words[at + 1 + is_pair : than] if w.content)
        first = _stems(words[:at]) or _stems(before)
        if not first or not second:
            return None
        name, sign = kind
        if name == "more":
            name = f"more {' '.join(sorted(between))}"
        return Comparison(name, sign, first, second, words[0].start, words[-1].end)
    return None


def _thing(words: Sequence[Word]) -> frozenset[str]:
    """The words for what is behind "than", as far as its clause goes."""
    if not words:
        return frozenset()
    clause = words[0].clause
    return _stems(w for w in words[:_MOST_WORDS] if w.clause == clause) - _OF_ALL


def _stems(words: Iterable[Word]) -> frozenset[str]:
    return frozenset(_EARLIER.get(w.stem, w.stem) for w in words if w.content)


_EARLIER = dict.fromkeys(("previou", "preced", "prior"), "befor")
"""Stems that say "the year before" in other words."""


def turned_comparisons(claim: TextFacts, passages: Sequence[TextFacts]) -> list[Finding]:
    """The comparisons of the claim that the passages tell the other way round."""
    found: list[Finding] = []
    text = claim.reading.text
    for mine in comparisons(claim):
        for number, passage in enumerate(passages):
            other = next((each for each in comparisons(passage) if _is_turned(mine, each)), None)
            if other is not None:
                place = Place(number, *passage.sentence(other.start))
                said, says = text[mine.start : mine.end], passage.reading.text[slice(*place[1:])]
                found.append(
                    Finding("comparison", CONFLICT, mine.start, mine.end, said, says, place, 1.0)
                )
                break
    return found


def compares_alike(claim: TextFacts, passages: Sequence[TextFacts]) -> bool:
    """Whether a passage compares two things as the claim does, from either of them: "the old one is
    larger", "the new one is smaller than the old one".
    """
    for mine in comparisons(claim):
        for passage in passages:
            if any(_agrees(mine, other) is True for other in comparisons(passage)):
                return True
    return False


def _is_turned(mine: Comparison, other: Comparison) -> bool:
    return _agrees(mine, other) is False


def _agrees(mine: Comparison, other: Comparison) -> bool | None:
    """Whether two comparisons say the same; None where they are of other things."""
    if mine.kind != other.kind:
        return None
    only_mine = (mine.first - mine.second, mine.second - mine.first)
    only_theirs = (other.first - other.second, other.second - other.first)
    straight = _same(only_mine[0], only_theirs[0]) and _same(only_mine[1], only_theirs[1])
    crossed = _same(only_mine[0], only_theirs[1]) and _same(only_mine[1], only_theirs[0])
    if straight == crossed:
        return None
    return straight == (mine.sign == other.sign)


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two things are one by the words for the one that has fewer."""
    least = min(len(one), len(other))
    return bool(least) and len(one & other) >= _LEAST * least
