"""Names in a text: words with capitals that belong together, and whether two are of one thing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Reading, Word
from ragassay.models.offline.facts.dates import MONTH_NAMES, WEEKDAY_NAMES
from ragassay.models.offline.facts.word_lists import lines, word_set
from ragassay.models.offline.reading import STOP_WORDS

_JOINING = word_set("joining")
_NO_NAMES = word_set("no_names") | MONTH_NAMES | WEEKDAY_NAMES


def _read_same() -> dict[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for line in lines("same_names"):
        same = line.split()
        for word in same:
            groups.setdefault(word, set()).update(same)
    return {word: frozenset(others) for word, others in groups.items()}


_SAME_NAMES = _read_same()


@cache
def peoples() -> frozenset[str]:
    """Words for what belongs to a country or a city: "German"."""
    return frozenset(line.split()[0] for line in lines("same_names"))


_BEFORE_OPENING = frozenset(" \t\"'“”‘’(*_#>-")
"""What may stand between the end of a sentence and the first word of the next one."""


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A name at [start, end): its words in lower case, without those that join others."""

    start: int
    end: int
    words: tuple[str, ...]


class Capitals(NamedTuple):
    """The words of a text, in lower case, that have a capital. inside: those that stand with it
    inside a sentence, names beyond doubt; opening: those that open a sentence and may be names.
    """

    inside: frozenset[str]
    opening: frozenset[str]


def capitals(reading: Reading) -> Capitals:
    """The words of a text that have a capital, and may be names."""
    inside: set[str] = set()
    opening: set[str] = set()
    for word in reading.words:
        if _is_name(word):
            (opening if _opens(reading, word) else inside).add(word.lower)
    return Capitals(frozenset(inside), frozenset(opening))


def names(
    reading: Reading, inside: Collection[str], known: Collection[str] = frozenset()
) -> list[Name]:
    """The names of a text, in order. inside: its words that are names beyond doubt; known: words
    that are names where they open a sentence.
    """
    found: list[Name] = []
    group: list[Word] = []
    for word in reading.words:
        if not group and not word.written[0].isupper():
            continue
        joins = group and word.lower in _JOINING and word.written.islower()
        is_unit = reading.text[max(0, word.start - 1) : word.start] == "°"
        belongs = joins or (not is_unit and _belongs(reading, word, inside, known, group))
        apart = group and reading.text[group[-1].end : word.start].strip(" .'’&-\u2010")
        if group and (not belongs or apart or word.clause != group[-1].clause):
            _close(found, group)
            group = []
            belongs = belongs and not joins
        if belongs:
            group.append(word)
    _close(found, group)
    return found


def _belongs(
    reading: Reading,
    word: Word,
    inside: Collection[str],
    known: Collection[str],
    group: list[Word],
) -> bool:
    if not _is_name(word):
        return False
    if group or not _opens(reading, word) or _begins_a_name(reading, word):
        return True
    acronym = len(word.written) > 1 and word.written[1:2].isupper()
    return acronym or word.lower in inside or word.lower in known


def _begins_a_name(reading: Reading, word: Word) -> bool:
    """Whether a word that opens a sentence is followed by another with a capital: "Anna Weiss"."""
    at = reading.first_word_at(word.start + 1)
    if at == len(reading.words) or word.lower in STOP_WORDS:
        return False
    following = reading.words[at]
    return reading.text[word.end : following.start] == " " and _is_name(following)


def _is_name(word: Word) -> bool:
    return word.written[0].isupper() and word.lower.removesuffix("'s") not in _NO_NAMES


def _opens(reading: Reading, word: Word) -> bool:
    """Whether a word opens a sentence, a line or a quotation, where any word has a capital."""
    text, at = reading.text, word.start - 1
    while at >= 0 and text[at] in _BEFORE_OPENING:
        at -= 1
    return at < 0 or text[at] in ".!?:;\n•|" or word.start == reading.sentences[word.sentence][0]


def _close(found: list[Name], group: list[Word]) -> None:
    while group and group[-1].lower in _JOINING:
        group.pop()
    if group:
        words = tuple(w.lower.removesuffix("'s") for w in group if w.lower not in _JOINING)
        found.append(Name(group[0].start, group[-1].end, words))


def forms_of(word: str) -> frozenset[str]:
    """The words of names that stand for the same as a word by the list: "France" of "French"."""
    return _SAME_NAMES.get(word, frozenset())


def same_word(one: str, other: str) -> bool:
    """Whether two words of names stand for the same: equal, one an ending longer, or a form of it
    ("French", "France").
    """
    if one == other or other in _SAME_NAMES.get(one, ()):
        return True
    if one[:1] != other[:1]:
        return False
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if len(short) >= 4 and long.startswith(short) and len(long) - len(short) <= 4:
        return True
    return len(short) >= 6 and _one_letter_apart(short, long)


def _one_letter_apart(short: str, long: str) -> bool:
    """Whether one insertion, removal, change or exchange of neighbours makes one of the other."""
    if len(long) - len(short) > 1:
        return False
    at = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    return short[at + 1 :] == long[at + 1 :] or (
        sorted(short[at : at + 2]) == sorted(long[at : at + 2])
        and short[at + 2 :] == long[at + 2 :]
    )


def same_name(one: Name, other: Name) -> bool:
    """Whether two names may be of one thing: they share a word, or one is the other's initials."""
    if max(len(one.words), len(other.words)) > _MOST_KEPT:
        return _same_words(one.words, other.words)
    return _same_words_kept(one.words, other.words)


_MOST_KEPT = 8
"""Words of a name of which it is kept what other ones it may be one with."""


def _same_words(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    for mine in one:
        forms, first = forms_of(mine), mine[:1]
        for theirs in other:
            if theirs in forms or (theirs[:1] == first and same_word(mine, theirs)):
                return True
    return _is_short_for(one, other) or _is_short_for(other, one)


# Several rules set each name of a claim beside each of the passages.
_same_words_kept = lru_cache(maxsize=8192)(_same_words)


def is_short_for(short: Name, name: Name) -> bool:
    """Whether a name is the initials of another one: "UN", "U.S."."""
    return _is_short_for(short.words, name.words)


def _is_short_for(short: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if len(words) < 2:
        return False
    if max(len(short), len(words)) > _MOST_KEPT:
        return _letters(short) == _initials(words)
    return _letters_kept(short) == _initials_kept(words)


def _letters(words: tuple[str, ...]) -> str:
    return "".join(words).replace(".", "")


def _initials(words: tuple[str, ...]) -> str:
    return "".join(word[0] for word in words)


_letters_kept = lru_cache(maxsize=8192)(_letters)
_initials_kept = lru_cache(maxsize=8192)(_initials)
