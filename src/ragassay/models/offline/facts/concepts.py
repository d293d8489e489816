"""Words and phrases that say the same: what each word of a text means, as far as lists tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.word_lists import lines
from ragassay.models.offline.reading import stem

_LONGEST = 5
"""Words of a phrase at most."""

_LEAST_ROOT = 4
_SUFFIXES = (
    *("ability", "ibility", "ations", "ation", "ators", "ator", "ements", "ement", "ments"),
    *("ances", "ences", "ance", "ence", "ness", "ment", "ions", "able", "ible", "ates", "ated"),
    *("ion", "ers", "ors", "ist", "ive", "ity", "ant", "ent", "ate", "age", "al", "er", "or", "y"),
    # as `stem` leaves them, which takes off a last "e"
    *("abl", "ibl", "anc", "enc", "iv", "at", "ag", "ur"),
)

_STATES = frozenset(["closed"])
"""Forms of a verb that say what something is, and no more what it does: who closes at five is
open.
"""


class Meaning(NamedTuple):
    """A concept that a word may stand for. sign: which side of it; denies: whether its other side
    denies what is said; light: whether it says little by itself.
    """

    concept: str
    sign: int
    denies: bool
    light: bool


class Item(NamedTuple):
    """A word or phrase that says something, words[first:last] of its clause. meanings: what it may
    stand for; root: the part of it that its forms have in common. keys: what another item must
    share one of to say the same or the contrary.
    """

    first: int
    last: int
    stem: str
    root: str
    meanings: tuple[Meaning, ...]
    keys: frozenset[str]

    @property
    def may_deny(self) -> bool:
        """Whether the other side of what it may stand for denies what is said."""
        return bool(self.meanings) and any(meaning.denies for meaning in self.meanings)

    @property
    def is_light(self) -> bool:
        """Whether it says little by itself."""
        return bool(self.meanings) and any(meaning.light for meaning in self.meanings)


@cache
def _base_forms() -> dict[str, str]:
    """Irregular form -> its base."""
    found: dict[str, str] = {}
    for line in lines("irregular"):
        base, *forms = line.split()
        found.update((form, base) for form in forms)
    return found


def is_irregular(lower: str) -> bool:
    """Whether a word is an irregular form of another: "went"."""
    return lower in _base_forms()


@lru_cache(maxsize=50_000)
def base_stem(lower: str) -> str:
    """The stem of a word, of an irregular form that of its base."""
    lower = lower.replace("’", "'")
    if lower in _STATES:
        return lower
    if lower.endswith("ied") and len(lower) > 4:
        lower = f"{lower[:-3]}y"
    return stem(_base_forms().get(lower, lower))


@lru_cache(maxsize=50_000)
def root(stemmed: str) -> str:
    """A stem without one ending that makes another kind of word of it: "operator", "operation"."""
    for suffix in _SUFFIXES:
        if stemmed.endswith(suffix) and len(stemmed) - len(suffix) >= _LEAST_ROOT:
            return stemmed[: -len(suffix)]
    return stemmed


@cache
def _phrases() -> dict[tuple[str, ...], tuple[Meaning, ...]]:
    """Stems of a phrase -> what it may stand for."""
    found: dict[tuple[str, ...], dict[Meaning, None]] = {}
    for number, line in enumerate(lines("concepts")):
        marks, _, rest = line.partition(" ") if line[0] in "~!" else ("", "", line)
        for sign, side in zip((1, -1), rest.split(" = "), strict=False):
            for phrase in side.split(","):
                key = tuple(base_stem(word) for word in phrase.split())
                meaning = Meaning(f"concept {number}", sign, "!" in marks, "~" in marks)
                found.setdefault(key, {})[meaning] = None
    return {key: tuple(meanings) for key, meanings in found.items()}


@cache
def _openers() -> dict[str, int]:
    """First stem of a phrase -> the words of the longest one."""
    found: dict[str, int] = {}
    for key in _phrases():
        found[key[0]] = max(len(key), found.get(key[0], 0))
    return found


def items(words: Sequence[Word]) -> Iterator[Item]:
    """What the words of a clause say, phrases as one."""
    known = [_forms(word.lower) for word in words]
    stems = [each[0] for each in known]
    openers = _openers()
    at = 0
    while at < len(words):
        stemmed, part, keys = known[at]
        length, meanings = _phrase_at(stems, at) if stemmed in openers else (0, ())
        if length:
            stemmed = " ".join(stems[at : at + length])
            part = root(stemmed)
            keys = frozenset((stemmed, part, *(meaning.concept for meaning in meanings)))
            yield Item(at, at + length, stemmed, part, meanings, keys)
            at += length
            continue
        if words[at].content:
            yield Item(at, at + 1, stemmed, part, (), keys)
        at += 1


@lru_cache(maxsize=50_000)
def _forms(lower: str) -> tuple[str, str, frozenset[str]]:
    """The stem and the root of a word, and the two as keys."""
    stemmed = base_stem(lower)
    part = root(stemmed)
    return stemmed, part, frozenset((stemmed, part))


def keys_of(found: Iterable[Item]) -> frozenset[str]:
    """All that another word may share with one of these."""
    return frozenset[str]().union(*(item.keys for item in found))


def _phrase_at(stems: Sequence[str], at: int) -> tuple[int, tuple[Meaning, ...]]:
    """The longest phrase that begins with this opener: its words, and what it may stand for."""
    phrases = _phrases()
    longest = min(_LONGEST, _openers()[stems[at]], len(stems) - at)
    for length in range(longest, 0, -1):
        found = phrases.get(tuple(stems[at : at + length]))
        if found is not None:
            return length, found
    return 0, ()


def sign_between(one: Item, other: Item) -> int:
    """1 where two items say the same, -1 where they take the two sides of one thing, 0 where they
    are of two things.
    """
    if one.keys.isdisjoint(other.keys):
        return 0
    if one.stem == other.stem or (one.root == other.root and not one.meanings):
        return 1
    sign = 0
    for mine in one.meanings:
        for theirs in other.meanings:
            if mine.concept == theirs.concept:
                if mine.sign == theirs.sign:
                    return 1
                sign = -1
    if not sign and one.root == other.root:
        return 1
    return sign


def says_one(others: Sequence[Item], item: Item) -> bool:
    """Whether one of the others says the same."""
    return next_same(others, item) is not None


def next_same(others: Iterable[Item], item: Item) -> Item | None:
    """The first of the others that says the same."""
    keys = item.keys
    for other in others:
        if not keys.isdisjoint(other.keys) and sign_between(item, other) > 0:
            return other
    return None


def is_told(others: Iterable[Item], item: Item) -> bool:
    """Whether one of the others says the same, or takes the other side of one thing."""
    keys = item.keys
    for other in others:
        if keys.isdisjoint(other.keys):
            continue
        if sign_between(item, other):
            return True
    return False
