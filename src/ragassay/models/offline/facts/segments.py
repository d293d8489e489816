"""Stretches of a sentence that each tell something of their own names: "Weil approves requests in
Berlin, Oduya those in Lyon".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.names import Name
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.models.offline.facts.word_lists import word_set

_DETERMINERS = word_set("determiners")
_AUXILIARIES = word_set("auxiliaries")
_MOST_WITHOUT_VERB = 3


class Segment(NamedTuple):
    """Clauses of one sentence with the names that they are about. stems: those of their content
    words, and of the verb that they share with the segment before.
    """

    sentence: int
    start: int
    names: tuple[Name, ...]
    stems: frozenset[str]


def doers(text: TextFacts) -> Iterator[Name]:
    """The words of a text for people and bodies that may do one another's part."""
    for word in text.reading.words:
        if word.lower in _doers():
            yield Name(word.start, word.end, (word.stem,))


@cache
def _doers() -> frozenset[str]:
    return word_set("doers")


def segments(text: TextFacts, names: Sequence[Name]) -> list[Segment]:
    """The segments of a text. names: those that are told apart."""
    named: dict[int, list[Name]] = {}
    for name in names:
        named.setdefault(text.reading.clause_at(name.start), []).append(name)
    found: list[Segment] = []
    for clause, (start, end) in enumerate(text.reading.clauses):
        sentence = text.reading.sentence_of_clause[clause]
        before = found[-1] if found and found[-1].sentence == sentence else None
        stems = text.stems_by_clause.get(clause, frozenset())
        own = tuple(named.get(clause, ()))
        is_named = before is not None and _names_the_doer(text, before, own)
        if before is not None and (is_named or not (own and before.names)):
            found[-1] = before._replace(names=before.names + own, stems=before.stems | stems)
            continue
        if before is not None and _lacks_verb(text.reading.words_in(start, end), own):
            stems |= before.stems.difference(*(_stems_of(text, name) for name in before.names))
        found.append(Segment(sentence, start, own, stems))
    return found


def _names_the_doer(text: TextFacts, before: Segment, own: Sequence[Name]) -> bool:
    """Whether a name only says who a person is: "the landlord, Nora Feld, pays"."""
    if not own or not before.names:
        return False
    written, doer, name = text.reading.text, before.names[-1], own[0]
    is_doer = written[doer.start].islower()
    return (
        is_doer
        and written[doer.end : name.start] == ", "
        and written[name.end : name.end + 1] == ","
    )


def _stems_of(text: TextFacts, name: Name) -> Iterator[str]:
    for word in text.reading.words_in(name.start, name.end):
        yield word.stem


def _lacks_verb(words: Sequence[Word], names: Sequence[Name]) -> bool:
    """Whether a clause leaves its verb to the one before: "Oduya those in Lyon"."""
    others = 0
    for at, word in enumerate(words):
        if any(name.start <= word.start < name.end for name in names):
            continue
        if word.lower in _AUXILIARIES:
            return False
        if not word.content:
            continue
        others += 1
        behind_determiner = at and words[at - 1].lower in _DETERMINERS
        if not behind_determiner and word.lower.endswith(("s", "ed", "en")):
            return False
    return others <= _MOST_WITHOUT_VERB
