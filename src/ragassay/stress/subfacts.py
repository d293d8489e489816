"""The sub-facts of an answer: which passage holds them, and whether a response tells or omits them
or joins them wrongly.

A value is wrongly joined where it stands in a response beside the subject of another fact: "Anna
was born in 1960" where 1960 is Bert's year.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ragassay.core import Context
from ragassay.models.offline.facts.clauses import Word
from ragassay.models.offline.facts.same_quantity import same_quantity
from ragassay.models.offline.facts.text_facts import TextFacts
from ragassay.stress.answer import Answer, facts_of


class Told(StrEnum):
    """What a response makes of a sub-fact."""

    FOUND = "found"
    OMITTED = "omitted"
    MERGED = "wrongly merged"


@dataclass(frozen=True, slots=True)
class SubFact:
    """One fact that a full answer holds.

    value: what it says of its subject, as an answer to the question without what the other facts
    say as well. subjects: stems by which a sentence speaks of it and of no other fact. sources:
    places of the passages that hold it.
    """

    text: str
    value: Answer
    subjects: frozenset[str]
    sources: tuple[int, ...]


def sub_facts(
    question: str, facts: Sequence[str], contexts: Sequence[Context]
) -> tuple[tuple[SubFact, ...], str]:
    """The sub-facts of a row with their sources, or none and why they cannot be traced."""
    if len(facts) < 2:
        return (), "it has fewer than two expected_facts"
    stems = [_stems(facts_of(fact)) for fact in facts]
    found: list[SubFact] = []
    for place, fact in enumerate(facts):
        others = [other for n, other in enumerate(facts) if n != place]
        # What the other facts say as well does not tell this one from them.
        value = Answer(" ".join((question, *others)), fact)
        if not value.is_checkable:
            return (), f"its fact {place + 1} says nothing that the others do not say"
        elsewhere = [*stems[:place], *stems[place + 1 :]]
        shared = frozenset[str]().union(*elsewhere)
        subjects = stems[place] - shared - _value_stems(value)
        sources = tuple(n for n, c in enumerate(contexts) if _tells(value, subjects, c.text))
        if not sources:
            return (), f"no passage of it holds fact {place + 1}"
        found.append(SubFact(fact, value, subjects, sources))
    if len(sources_of(found)) < 2:
        return (), "one passage alone holds all its facts"
    return tuple(found), ""


def sources_of(facts: Sequence[SubFact]) -> list[int]:
    """Places of the passages that hold any of the facts, in order."""
    sources: set[int] = set()
    for fact in facts:
        sources.update(fact.sources)
    return sorted(sources)


def told(fact: SubFact, facts: Sequence[SubFact], response: str) -> Told:
    """What a response makes of one of the facts."""
    if not fact.value.is_stated_in(response):
        return Told.OMITTED
    others: set[str] = set()
    for other in facts:
        if other is not fact:
            others |= other.subjects
    if not others or not fact.subjects:
        return Told.FOUND
    return Told.MERGED if _beside_another(fact, others, response) else Told.FOUND


def _tells(value: Answer, subjects: frozenset[str], passage: str) -> bool:
    if not value.is_stated_in(passage):
        return False
    return not subjects or bool(subjects & _stems(facts_of(passage)))


def _beside_another(fact: SubFact, others: set[str], response: str) -> bool:
    """Whether every mention of the value stands nearer to another subject than to its own."""
    facts = facts_of(response)
    mentions = _mentions(fact.value, facts)
    if not mentions:
        return False
    return all(_belongs_elsewhere(fact, others, facts, at) for at in mentions)


def _belongs_elsewhere(
    fact: SubFact, others: set[str], facts: TextFacts, at: tuple[int, int]
) -> bool:
    sentence = facts.reading.words_in(*facts.sentence(at[0]))
    outside = [w for w in sentence if w.end <= at[0] or w.start >= at[1]]
    named = [w for w in outside if w.stem in fact.subjects or w.stem in others]
    if not named:
        return False
    # A subject mostly stands before what is said of it.
    before = [word for word in named if word.end <= at[0]]
    nearest = before[-1] if before else named[0]
    return nearest.stem not in fact.subjects


def _mentions(value: Answer, facts: TextFacts) -> list[tuple[int, int]]:
    """Where a text says what tells a fact from the others."""
    places: list[tuple[int, int]] = []
    for date in value.dates:
        places += [(d.start, d.end) for d in facts.dates if date.agrees(d)]
    for quantity in value.quantities:
        places += [(q.start, q.end) for q in facts.quantities if same_quantity(quantity, q)]
    if places:
        return places
    own = _value_stems(value)
    return [(w.start, w.end) for w in facts.reading.words if w.stem in own]


def _value_stems(value: Answer) -> frozenset[str]:
    """Stems of the words that the value is told by: its numbers and dates, else its last name."""
    spans = [(d.start, d.end) for d in value.dates]
    spans += [(q.start, q.end) for q in value.quantities]
    if not spans and value.names:
        spans = [(value.names[-1].start, value.names[-1].end)]
    words: list[Word] = []
    for start, end in spans:
        words += value.facts.reading.words_in(start, end)
    return frozenset(word.stem for word in words)


def _stems(facts: TextFacts) -> frozenset[str]:
    return frozenset(word.stem for word in facts.reading.words if word.content)
