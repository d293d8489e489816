"""The facts of one text, read once and kept for the next claims about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragassay.models.offline.facts.clause_polarity import PolarClause, polar_clauses
from ragassay.models.offline.facts.clauses import Reading, Word, content_words, near, read
from ragassay.models.offline.facts.dates import Date, dates
from ragassay.models.offline.facts.meaning import ClauseMeaning, clause_meanings
from ragassay.models.offline.facts.names import Name, capitalised, names, opening_words
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


@dataclass(frozen=True, slots=True)
class TextFacts:
    """The facts of a text. vocabulary: its words in lower case; capitals: those that are names
    beyond doubt; openers: those that open a sentence, where any word has a capital.
    content_by_sentence: sentence -> its content words; stems_by_clause: clause -> the stems of its
    own. polar_clauses: its clauses, and whether each denies; meanings: what each clause says.
    """

    reading: Reading
    dates: tuple[Date, ...]
    quantities: tuple[Quantity, ...]
    names: tuple[Name, ...]
    sides: tuple[Side, ...]
    levels: tuple[Level, ...]
    vocabulary: frozenset[str]
    capitals: frozenset[str]
    openers: frozenset[str]
    content_by_sentence: Mapping[int, Sequence[Word]]
    stems_by_clause: Mapping[int, frozenset[str]]
    polar_clauses: tuple[PolarClause, ...]
    meanings: tuple[ClauseMeaning, ...]
    _near: dict[tuple[int, int], dict[str, float]] = field(default_factory=dict, repr=False)

    def near(self, start: int, end: int) -> dict[str, float]:
        """`clauses.near`, made once for each place."""
        found = self._near.get((start, end))
        if found is None:
            found = self._near[start, end] = near(self.reading, start, end)
        return found

    def names_with(self, known: frozenset[str]) -> tuple[Name, ...]:
        """The names, where other texts show that these words are names."""
        if self.openers.isdisjoint(known - self.capitals):
            return self.names
        return tuple(names(self.reading, known))

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
    reading = read(text)
    found_dates = tuple(dates(text))
    taken = [(date.start, date.end) for date in found_dates]
    return TextFacts(
        reading,
        found_dates,
        tuple(quantities(text, taken)),
        tuple(names(reading)),
        tuple(sides(reading)),
        tuple(levels(reading)),
        frozenset(word.lower.removesuffix("'s") for word in reading.words),
        frozenset(capitalised(reading)),
        frozenset(opening_words(reading)),
        content_words(reading, "sentence"),
        _stems_by_clause(reading),
        tuple(polar_clauses(reading)),
        clause_meanings(reading),
    )


def _stems_by_clause(reading: Reading) -> dict[int, frozenset[str]]:
    found: dict[int, frozenset[str]] = {}
    for clause, words in content_words(reading, "clause").items():
        found[clause] = frozenset(word.stem for word in words)
    return found
