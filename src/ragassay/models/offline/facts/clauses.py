"""Words of a text with their places, in clauses and sentences, and what stands near a place."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from operator import attrgetter, itemgetter
from typing import Literal, NamedTuple

from ragassay.models.offline.facts.word_lists import lines
from ragassay.models.offline.reading import STOP_WORDS, stem, units

_WORD = re.compile(r"\d+(?:[.,:/]\d+)*(?![^\W\d_])|[^\W_]*\d[^\W_]*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_CLAUSE = re.compile(
    r",?\s*\b(?:but|while|whereas|although|though|however|and|or|which|who|because|unless|except|if|when"
    r"|(?:as|so) long as|provided(?: that)?|on condition that)\b"
    r"|[;:()\[\]—–•|\n]|,(?!\d)|\s-\s",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\bbetween\b(?:(?!\band\b)[^,;:])*$", re.IGNORECASE)


class Word(NamedTuple):
    """A word at [start, end) of its text: as written, and its stem. clause and sentence: which of
    the text's it is in.
    """

    written: str
    lower: str
    stem: str
    start: int
    end: int
    clause: int
    sentence: int
    content: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a text. sentences and clauses: start and end of each, in order."""

    text: str
    words: tuple[Word, ...]
    sentences: tuple[tuple[int, int], ...]
    clauses: tuple[tuple[int, int], ...]
    sentence_of_clause: tuple[int, ...]
    _word_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _sentence_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _clause_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Places are looked up so often that a key function for every step of a search is dear.
        object.__setattr__(self, "_word_starts", tuple(map(attrgetter("start"), self.words)))
        object.__setattr__(self, "_sentence_starts", tuple(map(itemgetter(0), self.sentences)))
        object.__setattr__(self, "_clause_starts", tuple(map(itemgetter(0), self.clauses)))

    def sentence_at(self, place: int) -> int:
        """Number of the sentence that holds the place, or of the one before it."""
        return max(0, bisect_right(self._sentence_starts, place) - 1)

    def clause_at(self, place: int) -> int:
        """Number of the clause that holds the place, or of the one before it."""
        return max(0, bisect_right(self._clause_starts, place) - 1)

    def words_in(self, start: int, end: int) -> Sequence[Word]:
        """The words that begin in [start, end)."""
        first = bisect_left(self._word_starts, start)
        return self.words[first : bisect_left(self._word_starts, end, first)]

    def first_word_at(self, place: int) -> int:
        """Number of the first word that begins at the place or behind it."""
        return bisect_left(self._word_starts, place)

    def of_sentence(self, number: int) -> str:
        """The sentence."""
        start, end = self.sentences[number]
        return self.text[start:end]


def read(text: str) -> Reading:
    """The words, clauses and sentences of a text. Time grows with its length."""
    sentences = tuple(units(text))
    clauses: list[tuple[int, int]] = []
    sentence_of_clause: list[int] = []
    words: list[Word] = []
    for number, (start, end) in enumerate(sentences):
        for low, high in _clauses(text, start, end):
            words += _words(text, low, high, len(clauses), number)
            clauses.append((low, high))
            sentence_of_clause.append(number)
    return Reading(text, tuple(words), sentences, tuple(clauses), tuple(sentence_of_clause))


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The clauses of a sentence; together they cover it."""
    low = start
    for match in _CLAUSE.finditer(text, start, end):
        if match.group().strip().lower() == "and" and _BETWEEN.search(text, low, match.start()):
            continue  # "between Museum and Harbour"
        if match.start() > low and text[low : match.start()].strip():
            yield low, match.start()
            low = match.start()
    if low < end:
        yield low, end


def _words(text: str, start: int, end: int, clause: int, sentence: int) -> Iterator[Word]:
    for match in _WORD.finditer(text, start, end):
        written = match.group()[:64]
        lower, stemmed, content = _parts(written)
        first, last = match.span()
        yield Word(written, lower, stemmed, first, last, clause, sentence, content)


@lru_cache(maxsize=50_000)
def _parts(written: str) -> tuple[str, str, bool]:
    """A word in lower case, its stem, and whether it says something."""
    lower = written.lower().replace("’", "'")
    return lower, _stem(lower), lower not in STOP_WORDS and not lower.endswith("n't")


@cache
def _peoples() -> dict[str, str]:
    """Names of peoples -> their country's: "European" says what "Europe" says."""
    found: dict[str, str] = {}
    for line in lines("same_names"):
        one, *others = line.split()
        if others and len(one) > 3 and len(others[0]) > 3:
            found.setdefault(one, others[0])
    return found


def _stem(lower: str) -> str:
    return stem(_peoples().get(lower, lower))


def content_words(reading: Reading, of: Literal["clause", "sentence"]) -> dict[int, list[Word]]:
    """Clause or sentence -> its content words; none without any."""
    found: dict[int, list[Word]] = {}
    for word in reading.words:
        if word.content:
            found.setdefault(word.clause if of == "clause" else word.sentence, []).append(word)
    return found


# Weight of a word for what stands at a place: in its clause, in one before it (of which the further
# ones of a list say no more than what is new), in one behind it, and in the sentence before it, of
# which a pronoun may speak.
SAME_CLAUSE, CLAUSE_BEFORE, CLAUSE_BEHIND, SENTENCE_BEFORE = 1.0, 0.8, 0.4, 0.2
# Of the sentence before one that speaks of it by a pronoun: "It is closed on Mondays."
SPOKEN_OF = 0.7
_PRONOUNS = frozenset(("it", "they", "them", "this", "these", "both"))
_EARLY = 4


def near(reading: Reading, start: int, end: int) -> dict[str, float]:
    """Stems of the content words near [start, end), each with its highest weight."""
    clause, sentence = reading.clause_at(start), reading.sentence_at(start)
    weights: dict[str, float] = {}
    first = reading.sentences[max(0, sentence - 1)][0]
    opening = reading.words_in(*reading.sentences[sentence])[:_EARLY]
    is_spoken_of = any(word.lower in _PRONOUNS for word in opening)
    or_clause = clause + 1 if _begins_with_or(reading, clause + 1) else -1
    for word in reading.words_in(first, reading.sentences[sentence][1]):
        if not word.content or start <= word.start < end:
            continue
        if word.sentence != sentence:
            weight = SPOKEN_OF if is_spoken_of else SENTENCE_BEFORE
        elif word.clause == or_clause:  # "do not drive or cycle after it"
            weight = CLAUSE_BEFORE
        elif word.clause == clause:
            weight = SAME_CLAUSE
        else:
            weight = CLAUSE_BEFORE if word.clause < clause else CLAUSE_BEHIND
        if weight > weights.get(word.stem, 0.0):
            weights[word.stem] = weight
    return weights


def _begins_with_or(reading: Reading, clause: int) -> bool:
    if clause >= len(reading.clauses):
        return False
    words = reading.words_in(*reading.clauses[clause])
    return bool(words) and words[0].lower == "or"
