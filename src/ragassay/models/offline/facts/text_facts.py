"""The facts of one text, read once and kept for the next claims about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar, cast

from ragassay.models.offline.facts.clause_polarity import PolarClause, polar_clauses
from ragassay.models.offline.facts.clauses import Reading, Word, content_words, near, read
from ragassay.models.offline.facts.dates import Date, dates
from ragassay.models.offline.facts.meaning import ClauseMeaning, clause_meanings
from ragassay.models.offline.facts.names import (
    Capitals,
    Name,
    capitals,
    forms_of,
    names,
    same_word,
)
from ragassay.models.offline.facts.polarity import (
    Side,
    is_exception,
    is_full_negation,
    is_negation,
    sides,
    turns,
)
from ragassay.models.offline.facts.quantifiers import Level, levels
from ragassay.models.offline.facts.quantities import Quantity, quantities

_Made = TypeVar("_Made")

_MOST_NAMES = 4
"""Choices of names of one text for which what is made of them is kept."""


class TextFacts:
    """The facts of a text, each kind read when it is asked for first. Safe across threads: two that
    ask at once may read the same twice.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._near: dict[tuple[int, int], dict[str, float]] = {}
        self._made: dict[Callable[[TextFacts], object], object] = {}
        self._names_with: dict[frozenset[str], tuple[Name, ...]] = {}
        self._made_of_names: dict[tuple[object, int], tuple[Sequence[Name], object]] = {}

    @cached_property
    def dates(self) -> tuple[Date, ...]:
        """Its dates, in order."""
        return tuple(dates(self.reading.text))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Its quantities, in order."""
        taken = [(date.start, date.end) for date in self.dates]
        return tuple(quantities(self.reading.text, taken))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Its names, in order."""
        return tuple(names(self.reading, self.capitals))

    @cached_property
    def sides(self) -> tuple[Side, ...]:
        """The sides that it takes, in order."""
        return tuple(sides(self.reading))

    @cached_property
    def sides_by_concept(self) -> Mapping[str, Sequence[Side]]:
        """Concept -> the sides of it that the text takes, in order."""
        found: dict[str, list[Side]] = {}
        for side in self.sides:
            found.setdefault(side.concept, []).append(side)
        return found

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """Its quantifiers and modals, in order."""
        return tuple(levels(self.reading))

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Its words in lower case."""
        return frozenset(word.lower.removesuffix("'s") for word in self.reading.words)

    @property
    def capitals(self) -> frozenset[str]:
        """The words that are names beyond doubt."""
        return self._with_capital.inside

    @property
    def openers(self) -> frozenset[str]:
        """The words that open a sentence, where any word has a capital."""
        return self._with_capital.opening

    @cached_property
    def _with_capital(self) -> Capitals:
        return capitals(self.reading)

    @cached_property
    def content_by_sentence(self) -> Mapping[int, Sequence[Word]]:
        """Sentence -> its content words; none without any."""
        return content_words(self.reading, "sentence")

    @cached_property
    def stems_by_clause(self) -> Mapping[int, frozenset[str]]:
        """Clause -> the stems of its own content words."""
        found: dict[int, frozenset[str]] = {}
        for clause, words in content_words(self.reading, "clause").items():
            found[clause] = frozenset(word.stem for word in words)
        return found

    @cached_property
    def polar_clauses(self) -> tuple[PolarClause, ...]:
        """Its clauses, and whether each denies."""
        return tuple(polar_clauses(self.reading))

    @cached_property
    def meanings(self) -> tuple[ClauseMeaning, ...]:
        """What each clause says."""
        return clause_meanings(self.reading)

    @cached_property
    def _words_by_letter(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for word in self.vocabulary:
            found.setdefault(word[:1], []).append(word)
        return found

    def once(self, make: Callable[[TextFacts], _Made]) -> _Made:
        """What a rule makes of this text alone, made once: the claims of a row share passages."""
        made = self._made.get(make)
        if made is None:
            made = self._made[make] = make(self)
        return cast(_Made, made)

    def once_of(
        self, make: Callable[[TextFacts, Sequence[Name]], _Made], of: Sequence[Name]
    ) -> _Made:
        """What a rule makes of this text and its names, as `names_with` gave them, made once."""
        # Names are told by which object they are: to compare them takes as long as much of the
        # work. What is stored holds the object, so that no other one can take its place.
        key = (make, id(of))
        stored = self._made_of_names.get(key)
        if stored is None or stored[0] is not of:
            if len(self._made_of_names) >= 4 * _MOST_NAMES:
                self._made_of_names.clear()
            stored = self._made_of_names[key] = (of, make(self, of))
        return cast(_Made, stored[1])

    def has_word_like(self, word: str) -> bool:
        """Whether a word stands in the text, in this form or another, as `same_word` tells it."""
        if word in self.vocabulary or not self.vocabulary.isdisjoint(forms_of(word)):
            return True
        # Other forms begin with the same letter.
        return any(same_word(word, other) for other in self._words_by_letter.get(word[:1], ()))

    def near(self, start: int, end: int) -> dict[str, float]:
        """`clauses.near`, made once for each place."""
        found = self._near.get((start, end))
        if found is None:
            found = self._near[start, end] = near(self.reading, start, end)
        return found

    def names_with(self, known: frozenset[str]) -> tuple[Name, ...]:
        """The names, where other texts show that these words are names."""
        more = (self.openers & known) - self.capitals
        if not more:
            return self.names
        found = self._names_with.get(more)
        if found is None:
            if len(self._names_with) >= _MOST_NAMES:
                self._names_with.clear()
            found = self._names_with[more] = tuple(names(self.reading, self.capitals, more))
        return found

    def sentence(self, place: int) -> tuple[int, int]:
        """Start and end of the sentence that holds the place."""
        return self.reading.sentences[self.reading.sentence_at(place)]

    def is_comparison(self, word: Word) -> bool:
        """Whether a word compares two things: "cheaper than", "more medals than"."""
        start, end = self.reading.sentences[word.sentence]
        words = self.reading.words_in(word.end, end)[:4]
        before = self.reading.words_in(start, word.start)[-1:]
        is_comparative = word.lower.endswith("er") or word.lower in ("more", "less")
        is_comparative = is_comparative or any(w.lower in ("more", "less") for w in before)
        return is_comparative and any(each.lower == "than" for each in words)

    def denies(self, place: int) -> bool:
        """Whether a negation stands in the clause of a place."""
        start, end = self.reading.clauses[self.reading.clause_at(place)]
        words = self.reading.words_in(start, end)
        denying = (at for at in range(len(words)) if is_full_negation(words, at))
        return any(words[at].lower != "nothing" for at in denying)  # "for nothing" is "free"

    def compares(self, place: int) -> bool:
        """Whether the clause of a place denies something of what is more, or less, than another."""
        start, end = self.reading.clauses[self.reading.clause_at(place)]
        words = self.reading.words_in(start, end)
        return any(word.lower == "than" for word in words) and any(map(is_negation, words))

    def clause_denies(self, place: int) -> bool:
        """Whether the clause of a place denies what it says, in whatever words."""
        return self.meanings[self.reading.clause_at(place)].denies

    def negations(self, side: Side) -> tuple[int, int]:
        """How many words turn what is said by a word: those of its clause and what makes an
        exception in its sentence, and all those of its sentence.
        """
        in_clause = in_sentence = 0
        for word in self.reading.words_in(*self.reading.sentences[side.word.sentence]):
            if turns(word):
                in_sentence += 1
                in_clause += word.clause == side.word.clause or is_exception(word)
        return in_clause, in_sentence


def read_facts(text: str) -> TextFacts:
    """The facts of a text. Time grows with its length."""
    return TextFacts(read(text))
