"""Who or what a clause is on, where it is no name: "the fund left it unchanged", "lowered by the
bank".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.concepts import is_irregular
from ragassay.models.offline.facts.names import Name
from ragassay.models.offline.facts.number_words import SMALL
from ragassay.models.offline.facts.polarity import is_negation
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_AUXILIARIES = word_set("auxiliaries")
_ARTICLES = frozenset(("the", "a", "an", "our", "your", "its", "their", "his", "her", "my"))
_OPENERS = frozenset(
    ("and", "but", "while", "whereas", "although", "though", "so", "then", "also", "yes", "no")
)
_ADVERBS = frozenset(("only", "also", "always", "usually", "just", "now", "still", "never", "then"))
_LINKS = word_set("links")
_FRONTED = 5
"""Words of a place or a time before a subject at most."""

_LONGEST = 3
"""Words of a subject at most."""


def actors(text: TextFacts, names: Sequence[Name] = ()) -> list[Name]:
    """The subjects of the clauses that have a verb, and what stands behind "by", in order; those
    that are one of the names as it is.
    """
    found: dict[int, Name] = {}
    for start, end in text.reading.clauses:
        words = text.reading.words_in(start, end)
        for noun in (_subject(words), *_agents(words)):
            if noun:
                one = next((each for each in names if _overlap(each, noun)), None)
                one = one or _name(noun)
                if one is not None:
                    found[one.start] = one
    return [found[start] for start in sorted(found)]


def _overlap(name: Name, noun: Sequence[Word]) -> bool:
    return name.start < noun[-1].end and noun[0].start < name.end


def _subject(words: Sequence[Word]) -> list[Word]:
    """The noun, with what describes it, that opens a clause before its verb."""
    at = 0
    while at < len(words) and words[at].lower in _OPENERS:
        at += 1
    if at < len(words) and words[at].lower in _LINKS:
        at = _behind_place(words, at)
    has_article = at < len(words) and words[at].lower in _ARTICLES
    at += has_article
    noun: list[Word] = []
    for place in range(at, len(words)):
        word = words[place]
        if word.lower in _AUXILIARIES or (noun and word.lower in _ADVERBS):
            break
        is_last = place + 1 == len(words) or words[place + 1].lower not in _AUXILIARIES
        if noun and is_last and _is_verb(word):
            break
        if not word.content or is_negation(word) or len(noun) == _LONGEST:
            return []
        noun.append(word)
    else:
        return []
    is_plural = bool(noun) and noun[-1].lower.endswith("s")
    is_name = bool(noun) and noun[0].written[0].isupper() and noun[-1].written[0].isupper()
    if not (has_article or is_plural or (is_name and at)):
        return []  # "Closing costs 25 euros"
    return noun


def _behind_place(words: Sequence[Word], at: int) -> int:
    """Where the subject may begin behind a place or a time: "in January the cook ..." """
    for place in range(at + 2, min(at + _FRONTED, len(words))):
        if words[place].lower in _ARTICLES:
            return place
    return at


def _agents(words: Sequence[Word]) -> Iterator[list[Word]]:
    """What stands behind "by" where something is done by it."""
    for at, word in enumerate(words[:-1]):
        if word.lower != "by" or not at or not _is_done(words[at - 1]):
            continue
        noun: list[Word] = []
        for other in words[at + 1 :]:
            if other.lower in _ARTICLES and not noun:
                continue
            if not other.content or len(noun) == _LONGEST:
                break
            noun.append(other)
        if noun:
            yield noun


def _is_done(word: Word) -> bool:
    """Whether a word may be the form of a verb that says what is done to something."""
    return word.lower.endswith(("ed", "en")) or is_irregular(word.lower)


def _name(noun: Sequence[Word]) -> Name | None:
    """The noun as a name; None where it is one, or a number."""
    for word in noun:
        if word.written[0].isdigit() or word.lower in SMALL:
            return None
    if any(word.written[0].isupper() for word in noun[1:]):
        return None
    return Name(noun[0].start, noun[-1].end, tuple(word.stem for word in noun))


def _is_verb(word: Word) -> bool:
    lower = word.lower
    if lower.endswith(("ss", "us", "is")):
        return False
    return lower.endswith(("ed", "s")) or is_irregular(lower)
