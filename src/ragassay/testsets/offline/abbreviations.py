"""Abbreviations that a text spells out: "accounting rate of return (ARR)"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain

from ragassay.testsets.offline.clauses import Clause
from ragassay.testsets.offline.facts import Fact, Said
from ragassay.testsets.values import Passage
from ragassay.testsets.words import plain

_SPELLED = re.compile(
    r"((?:[A-Za-z][\w'’-]*\s+){1,7}[A-Za-z][\w'’-]*)\s*\(\s*([A-Z][A-Za-z]?[A-Z]{1,4})\s*\)"
)
_SMALL = frozenset({"of", "the", "and", "for", "in", "on", "a", "to", "with", "by"})


def abbreviations(passage: Passage, sentences: Iterable[tuple[int, int]]) -> Iterator[Fact]:
    """A fact for each abbreviation that a sentence spells out in full, letter by letter.

    sentences: their start and end in the passage.
    """
    for start, end in sentences:
        raw = passage.text[start:end]
        for match in _SPELLED.finditer(raw):
            full = spelled_out(match[1], match[2])
            # Two letters stand for many things.
            if full and len(match[2]) > 2:
                yield _fact(passage, (start, end), match[2], full)


def spelled_out(before: str, short: str) -> str:
    """The words in front of an abbreviation that begin with its letters; "" where they do not."""
    letters = [letter for letter in short.lower() if letter.isalpha()]
    words = before.split()
    taken: list[str] = []
    while words and letters:
        word = words.pop()
        parts = [part for part in re.split(r"[-/]", word.lower()) if part]
        initials = [part[0] for part in parts]
        if letters[-len(initials) :] == initials:
            letters = letters[: -len(initials)]
            taken.insert(0, word)
        elif letters[-1] == initials[0]:
            letters.pop()
            taken.insert(0, word)
        elif word.lower() in _SMALL and taken:
            taken.insert(0, word)
        else:
            return ""
    is_whole = not letters and len(taken) > 1 and taken[0].lower() not in _SMALL
    return " ".join(taken) if is_whole else ""


def _fact(passage: Passage, place: tuple[int, int], short: str, full: str) -> Fact:
    clause = Clause(
        subject=short,
        kind="thing",
        voice="present",
        aux="does",
        verb=None,
        adverb="",
        rest="",
        tail="",
        leading="",
        start=place[0],
        end=place[1],
        sentence=passage.text[place[0] : place[1]],
    )
    said = Said("What", "does {S} stand for", "{S} stands for", keywords="{S} abbreviation")
    return Fact(passage, clause, "other", full, said=said)


def without_ambiguous(found: dict[str, list[Fact]]) -> dict[str, list[Fact]]:
    """The facts without abbreviations that are spelled out in more than one way, and of the others
    the first alone.
    """
    ways: dict[str, set[str]] = {}
    for fact in chain.from_iterable(found.values()):
        if fact.is_abbreviation:
            ways.setdefault(fact.clause.subject, set()).add(plain(fact.answer))
    kept: dict[str, list[Fact]] = {}
    seen: set[str] = set()
    for document, facts in found.items():
        kept[document] = []
        for fact in facts:
            short = fact.clause.subject
            if fact.is_abbreviation:
                if len(ways[short]) > 1 or short in seen:
                    continue
                seen.add(short)
            kept[document].append(fact)
    return kept
