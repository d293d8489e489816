"""An answer as it may be told: which texts say it, in its own words or in another form.

Numbers, dates and names are compared by value ("44 billion" is "$44bn"), everything else by words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.dates import Date
from ragassay.models.offline.facts.folding import folded
from ragassay.models.offline.facts.names import Name, is_short_for, same_word
from ragassay.models.offline.facts.number_words import SMALL
from ragassay.models.offline.facts.quantities import COUNT, ORDINAL, Quantity
from ragassay.models.offline.facts.same_quantity import same_quantity
from ragassay.models.offline.facts.text_facts import TextFacts, read_facts
from ragassay.models.offline.reading import STOP_WORDS
from ragassay.scoring import tokens

MOST_TOKENS = 12
"""Tokens of an answer up to which a text that repeats it word by word says it."""
SMALL_COUNT = 12
"""A bare count up to this says little: a text says it only in a sentence about the question."""
TOLD_SHARE = 0.6
"""Share of an answer's own words from which one or two sentences of a text tell it."""
FEWEST_TOLD = 3
"""Own words that an answer without number, date or name needs to be looked for in other words."""

_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_SPOKEN_YEAR = re.compile(
    r"\b(?P<century>thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty)[ -]"
    rf"(?P<rest>(?:{_TENS})(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?"
    r"|(?:oh|o)[ -](?:one|two|three|four|five|six|seven|eight|nine)"
    r"|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen)\b",
    re.IGNORECASE,
)
_SHORT_YEAR = re.compile(r"(?<![\w'’])['’](?P<year>\d\d)(?![\w'’])")


@lru_cache(maxsize=4096)
def facts_of(text: str) -> TextFacts:
    """The facts of a text, read once."""
    return read_facts(text)


@dataclass(frozen=True)
class Answer:
    """A right answer to a question. text: in the words of the reference."""

    question: str
    text: str

    @cached_property
    def facts(self) -> TextFacts:
        """The facts of the answer."""
        return facts_of(self.text)

    @cached_property
    def dates(self) -> tuple[Date, ...]:
        """Its dates that the question does not name."""
        asked = facts_of(self.question).dates

        def is_asked(date: Date) -> bool:
            return any(date.agrees(other) for other in asked)

        return tuple(date for date in self.facts.dates if not is_asked(date))

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """Its numbers that the question does not name."""
        asked = facts_of(self.question).quantities

        def is_asked(quantity: Quantity) -> bool:
            return any(same_quantity(quantity, other) for other in asked)

        return tuple(quantity for quantity in self.facts.quantities if not is_asked(quantity))

    @cached_property
    def names(self) -> tuple[Name, ...]:
        """Its names that the question does not hold."""
        asked = facts_of(self.question).vocabulary
        # In a short answer the first word is a name where it has a capital: "Paris".
        opens = self.facts.openers if len(self.facts.reading.words) <= 6 else frozenset[str]()
        return tuple(
            name for name in self.facts.names_with(opens) if not asked.issuperset(name.words)
        )

    @cached_property
    def last_name(self) -> str:
        """The last word of an answer that is a name, as it is written; "" where it says nothing
        alone ("On" of "Hold On", "II"). Reading names leaves out words that join others in most:
        "Di" of "Zhu Di".
        """
        words = self.text.strip(" .").split()
        is_name = 2 <= len(words) <= 4 and all(word[:1].isupper() for word in words)
        last = words[-1] if is_name else ""
        says_little = last.lower() in STOP_WORDS or re.fullmatch(r"[IVX]+|\W*\w\W*", last)
        asked = facts_of(self.question).vocabulary
        return "" if says_little or last.lower() in asked else last

    @cached_property
    def own_stems(self) -> frozenset[str]:
        """Stems of its content words that the question does not hold."""
        asked = _content_stems(facts_of(self.question).reading.words)
        return _content_stems(self.facts.reading.words) - asked

    @property
    def is_typed(self) -> bool:
        """Whether it holds a number, a date or a name of its own."""
        return bool(self.dates or self.quantities or self.names)

    @property
    def is_checkable(self) -> bool:
        """Whether a text can be searched for it: it is no bare yes or no."""
        return self.is_typed or bool(self.own_stems - {"yes", "no"})

    @property
    def is_named_in_question(self) -> bool:
        """Whether the question holds all its words, so that every passage about it does as well."""
        asked = facts_of(self.question).vocabulary
        return not self.is_typed and self.facts.vocabulary <= asked

    def is_false_in(self, passage: str, old: str) -> bool:
        """Whether a passage in which the value `old` of the answer was changed no longer gives the
        answer: nothing of an answer of one value is left there, and of a longer one not that value.
        """
        values = len(self.dates) + len(self.quantities) + len(self.names)
        if values <= 1:
            return not self.leaks_in(passage)
        if self.is_stated_in(passage):
            return False
        return not Answer(self.question, old).leaks_in(passage)

    def leaks_in(self, passage: str) -> str:
        """Why a passage may give the answer away, "" where it does not. It rather finds too much:
        any one value of the answer is enough.
        """
        if self.is_repeated_in(passage):
            return f"it says {self.text!r}"
        facts = facts_of(passage)
        for reason in self._values_in(passage, facts):
            return reason
        last = self.last_name
        if last and re.search(rf"(?<!\w){re.escape(last)}(?!\w)", passage):
            return f"it names {last!r}"
        if not self.is_typed and self._is_told_in(facts):
            return "it tells the answer in other words"
        return ""

    def is_stated_in(self, response: str) -> bool:
        """Whether a response says the answer: word by word, or all its values in some form."""
        if not response.strip():
            return False
        if self.is_repeated_in(response):
            return True
        facts = facts_of(response)
        if self.is_typed:
            return self._has_all_values(response, facts)
        return self._is_told_in(facts)

    def is_repeated_in(self, text: str) -> bool:
        """Whether a text holds the answer word by word, but for case and punctuation."""
        mine = tokens(self.text)
        return 0 < len(mine) <= MOST_TOKENS and _holds(tokens(text), mine)

    def _has_all_values(self, text: str, facts: TextFacts) -> bool:
        dates = all(self._has_date(d, text, facts) for d in self.dates)
        numbers = all(_has_number(q, facts) for q in self.quantities)
        return dates and numbers and all(_has_name(name, facts) for name in self.names)

    def _values_in(self, text: str, facts: TextFacts) -> Iterator[str]:
        for date in self.dates:
            if self._has_date(date, text, facts):
                yield f"it says {self.text[date.start : date.end]!r}"
        for quantity in self.quantities:
            if self._has_telling_number(quantity, facts):
                yield f"it says {self.text[quantity.start : quantity.end]!r}"
        for name in self.names:
            if _has_name(name, facts):
                yield f"it names {self.text[name.start : name.end]!r}"

    def _has_date(self, mine: Date, text: str, facts: TextFacts) -> bool:
        if any(mine.agrees(other) for other in facts.dates):
            return True
        if mine.years is None:
            return False
        return any(mine.years[0] <= year <= mine.years[1] for year in other_years(text))

    def _has_telling_number(self, mine: Quantity, facts: TextFacts) -> bool:
        """Whether a text holds a number; a small count only beside a word of the question."""
        if mine.measure not in (COUNT, ORDINAL) or mine.high > SMALL_COUNT:
            return _has_number(mine, facts)
        about = _content_stems(facts_of(self.question).reading.words)
        for other in facts.quantities:
            if not same_quantity(mine, other):
                continue
            sentence = facts.reading.words_in(*facts.sentence(other.start))
            if _content_stems(sentence) & about:
                return True
        return False

    def _is_told_in(self, facts: TextFacts) -> bool:
        """Whether one sentence, or two that follow each other, hold most of the answer's words."""
        own = self.own_stems
        if not own:
            return False
        if len(own) < FEWEST_TOLD:
            return own <= _content_stems(facts.reading.words)
        sentences = [_content_stems(facts.reading.words_in(*s)) for s in facts.reading.sentences]
        for number, stems in enumerate(sentences):
            behind = sentences[number + 1] if number + 1 < len(sentences) else frozenset[str]()
            if len(own & (stems | behind)) >= TOLD_SHARE * len(own):
                return True
        return False


def other_years(text: str) -> Iterator[int]:
    """Years that are written as they are spoken ("nineteen thirty-seven") or cut ("'37")."""
    for match in _SPOKEN_YEAR.finditer(text):
        century = SMALL[folded(match["century"])]
        rest = 0
        for word in re.split(r"[ -]", folded(match["rest"])):
            rest += SMALL.get(word, 0)
        yield 100 * century + rest
    for match in _SHORT_YEAR.finditer(text):
        for century in range(15, 21):
            yield 100 * century + int(match["year"])


def _has_number(mine: Quantity, facts: TextFacts) -> bool:
    return any(same_quantity(mine, other) for other in facts.quantities)


def _has_name(mine: Name, facts: TextFacts) -> bool:
    """Whether a text holds a name, its last word (a surname) or its initials."""
    last = mine.words[-1]
    known = facts.vocabulary

    def is_known(word: str) -> bool:
        return word in known or any(same_word(word, other) for other in known)

    if last in known or all(map(is_known, mine.words)):
        return True
    return any(is_short_for(other, mine) for other in facts.names)


def _holds(text: Sequence[str], part: Sequence[str]) -> bool:
    """Whether the tokens of a part stand in a text, one behind the other."""
    first, size = part[0], len(part)
    for at, token in enumerate(text[: len(text) - size + 1]):
        if token == first and list(text[at : at + size]) == list(part):
            return True
    return False


def _content_stems(words: Iterable[Word]) -> frozenset[str]:
    return frozenset(word.stem for word in words if word.content)
