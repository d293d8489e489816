"""Who does what, to whom and from whom: the part that a name has at a verb, and two names that have
each other's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain, permutations
from typing import NamedTuple

from ragassay.models.offline.facts.concepts import Item, items, sign_between
from ragassay.models.offline.facts.finding import CONFLICT, Finding, Place
from ragassay.models.offline.facts.names import Name
from ragassay.models.offline.facts.text_facts import TextFacts

_DOES, _UNDERGOES, _SOURCE, _GOAL = "does", "undergoes", "source", "goal"
_LINKS = {"from": _SOURCE, "to": _GOAL, "into": _GOAL}
_PASSIVE = re.compile(r"\b(?:is|are|was|were|been|being|be|got|get)\b[\w ]*$", re.IGNORECASE)
_OF_DOER = re.compile(r"^\W*\b(?:up |over |out |off )?by\b", re.IGNORECASE)
_EITHER_WAY = frozenset(
    ("mar", "marry", "marri", "met", "meet", "merg", "differ", "border", "tie", "draw", "join")
)
_LONGEST = 120
"""Characters of a sentence from one name to the other at most."""

_JOURNEY = (
    (
        _SOURCE,
        re.compile(
            r"\b(?:from|(?:begin|start|depart|leav|set)\w* (?:\w+ )?(?:in|at|from|off from|off in))"
            r"\s+(?:the )?$",
            re.IGNORECASE,
        ),
    ),
    (
        _GOAL,
        re.compile(
            r"\b(?:to|into|(?:end|finish|arriv|terminat|conclud)\w* (?:\w+ )?(?:in|at))"
            r"\s+(?:the )?$",
            re.IGNORECASE,
        ),
    ),
)


class _Part(NamedTuple):
    """The part of a name at a verb."""

    verb: Item | None
    name: Name
    part: str
    sentence: int


def exchanged_parts(
    claim: TextFacts,
    mine: Sequence[Name],
    passages: Sequence[TextFacts],
    theirs: Sequence[Sequence[Name]],
) -> list[Finding]:
    """The pairs of names of the claim that have each other's part at one verb of the passages, and
    nowhere their own. mine: the names of the claim; theirs: of each passage.
    """
    if len(mine) < 2:
        return []
    pairs: list[tuple[_Part, _Part]] = []
    for one, two in permutations(_parts(claim, mine), 2):
        if one.sentence == two.sentence and one.part != two.part and one.verb is two.verb:
            pairs.append((one, two))
    if not pairs:
        return []
    for one, two in pairs:
        place = _exchanged(one, two, passages, theirs)
        if place is not None:
            number, there = place
            passage = passages[number]
            sentence = Place(number, *passage.sentence(there.name.start))
            start = min(one.name.start, two.name.start)
            end = max(one.name.end, two.name.end)
            said = claim.reading.text[start:end]
            says = passage.reading.text[sentence.start : sentence.end].strip()
            return [Finding("role", CONFLICT, start, end, said, says, sentence, 1.0)]
    return []


def _exchanged(
    one: _Part, two: _Part, passages: Sequence[TextFacts], theirs: Sequence[Sequence[Name]]
) -> tuple[int, _Part] | None:
    """A passage in which the first name has the second's part, and the second another than its own;
    None where one says it as the claim does.
    """
    found: tuple[int, _Part] | None = None
    for number, (passage, names) in enumerate(zip(passages, theirs, strict=True)):
        known = passage.once_of(_words_of, names)
        if known.isdisjoint(one.name.words) or known.isdisjoint(two.name.words):
            continue  # Most passages lack one of the two.
        parts = passage.once_of(_all_parts, names)
        for first in parts:
            if not _is_name(first.name, one.name) or not _is_verb(first.verb, one.verb):
                continue
            for second in parts:
                if second.sentence != first.sentence or second.verb is not first.verb:
                    continue
                if not _is_name(second.name, two.name) or second.name == first.name:
                    continue
                if (first.part, second.part) == (one.part, two.part):
                    return None
                if first.part == two.part and second.part != two.part:
                    found = number, first
    return found


def _is_name(one: Name, other: Name) -> bool:
    return not set(one.words).isdisjoint(other.words)


def _is_verb(one: Item | None, other: Item | None) -> bool:
    if one is None or other is None:
        return one is other
    return sign_between(one, other) > 0


def _parts(text: TextFacts, names: Sequence[Name]) -> Iterator[_Part]:
    """The parts of the names of a text, sentence by sentence."""
    reading = text.reading
    for number, (start, end) in enumerate(reading.sentences):
        inside = [name for name in names if start <= name.start < end]
        if len(inside) < 2:
            continue
        yield from _journey(reading.text, inside, number)
        words = reading.words_in(start, end)
        for item in items(words):
            first, last = words[item.first], words[item.last - 1]
            if item.is_light or item.stem in _EITHER_WAY or _is_within(first.start, inside):
                continue
            for name, part in _parts_at(reading.text, (first.start, last.end), inside):
                yield _Part(item, name, part, number)


def _is_within(place: int, names: Sequence[Name]) -> bool:
    return any(name.start <= place < name.end for name in names)


def _words_of(_text: TextFacts, names: Sequence[Name]) -> frozenset[str]:
    return frozenset(chain.from_iterable(name.words for name in names))


def _all_parts(text: TextFacts, names: Sequence[Name]) -> Sequence[_Part]:
    return tuple(_parts(text, names))


def _journey(text: str, inside: Sequence[Name], number: int) -> Iterator[_Part]:
    for name in inside:
        before = text[max(0, name.start - 40) : name.start]
        for part, pattern in _JOURNEY:
            if pattern.search(before):
                yield _Part(None, name, part, number)
                break


def _parts_at(
    text: str, verb: tuple[int, int], inside: Sequence[Name]
) -> Iterator[tuple[Name, str]]:
    """The names that have a part at the verb at [start, end), each with its part."""
    start, end = verb
    near = [name for name in inside if max(end, name.end) - min(start, name.start) <= _LONGEST]
    if not near:
        return
    is_passive = bool(_PASSIVE.search(text[max(0, start - 24) : start])) or bool(
        _OF_DOER.match(text[end : end + 12])
    )
    for name in near:
        if name.end <= start:
            part = _part_before(text, name, start, inside, is_passive=is_passive)
        else:
            part = _part_behind(text, name, end, inside, is_passive=is_passive)
        if part:
            yield name, part


def _part_before(
    text: str, name: Name, start: int, inside: Sequence[Name], *, is_passive: bool
) -> str:
    """The part of a name that stands before a verb."""
    if any(name.end <= other.start < start for other in inside):
        return ""
    part = _UNDERGOES if is_passive else _DOES
    between = text[name.end : start]
    if _RELATIVE.fullmatch(between):
        return part
    before = text[max(0, name.start - 8) : name.start].split()
    if _stops(between) or (before and before[-1].lower() in _BESIDE_VERB):
        return ""
    return part


def _part_behind(
    text: str, name: Name, end: int, inside: Sequence[Name], *, is_passive: bool
) -> str:
    """The part of a name that stands behind a verb."""
    if _stops(text[end : name.start]):
        return ""
    for word in reversed(text[end : name.start].split()[-4:]):
        lower = word.lower()
        if lower == "by":
            return _DOES if is_passive else ""
        if lower in _LINKS:
            return _LINKS[lower]
        if lower in _BESIDE_VERB:
            return ""
    if any(end <= other.start < name.start for other in inside) or is_passive:
        return ""
    return _UNDERGOES


_BESIDE_VERB = frozenset(("by", "from", "to", "in", "at", "of", "for", "with", "on", "as", "than"))
_RELATIVE = re.compile(r"\s*,?\s*(?:which|who|that)(?: \w+)?\s*", re.IGNORECASE)
_STOP = re.compile(r"[;:()]|\b(?:and|or|but|while|whereas|who|which|that|because)\b", re.IGNORECASE)


def _stops(between: str) -> bool:
    return _STOP.search(between) is not None
