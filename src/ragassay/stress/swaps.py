"""Facts changed by rules: another year, number or name in the place of an answer.

A changed passage reads like the true one and says something else. What cannot be changed in every
place where it stands is not changed at all.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeVar

from ragassay.models.offline.facts.names import Name, same_name
from ragassay.models.offline.facts.number_words import SMALL
from ragassay.models.offline.facts.quantities import Quantity
from ragassay.models.offline.facts.same_quantity import same_quantity
from ragassay.scoring import words
from ragassay.stress.answer import Answer, facts_of

_Item = TypeVar("_Item")

_YEAR = re.compile(r"\b[12]\d{3}\b")
_YEARS_AWAY = (3, -4, 7, -8, 11, -13, 16, -18, 21, -24, 27, -29)
_FACTORS = (1.5, 0.5, 2.0, 1.25, 3.0, 0.75, 1.75, 4.0, 2.5, 0.6, 5.0, 1.2)
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_MONTH_NAMES = """
January February March April May June July August September October November December
"""
_MONTHS = _MONTH_NAMES.split()
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b")
_ASKING = frozenset(("who", "whom", "whose", "when", "where", "what", "which", "why", "how"))
_LONGEST_PHRASE = 4
_WORDS_OF_NUMBERS = {number: word for word, number in SMALL.items() if number}


@dataclass(frozen=True, slots=True)
class Change:
    """What an answer is changed to. old and new: the words of the answer that change, before and
    after. text: the whole changed answer.
    """

    old: str
    new: str
    text: str


@dataclass(frozen=True, slots=True)
class Alternative:
    """What an answer may be changed to: a name or phrase that another question or passage holds.
    asks: the first word of that question ("who"), "" where it is of a passage.
    """

    text: str
    asks: str = ""
    is_name: bool = True


def asks(question: str) -> str:
    """The word by which a question asks, "" where there is none."""
    for word in words(question):
        if word in _ASKING:
            return word
    return ""


def changes(
    answer: Answer, others: Sequence[Alternative], chance: random.Random
) -> Iterator[Change]:
    """Changed answers, each another one; the first value that can be changed is the one that is.

    others: of which a name or phrase is replaced by those most like it. Nothing where the answer is
    a long text without year, month, number or name.
    """
    text = answer.text
    years = [d for d in answer.dates if d.years and _YEAR.search(text, d.start, d.end)]
    if years:
        match = _YEAR.search(text, years[0].start, years[0].end)
        assert match is not None
        yield from _other_years(text, match, chance)
        return
    months = [d for d in answer.dates if _MONTH.search(text, d.start, d.end)]
    if months:
        match = _MONTH.search(text, months[0].start, months[0].end)
        assert match is not None
        for month in _shuffled([m for m in _MONTHS if m != match[0]], chance):
            yield _change(text, match.start(), match.end(), month)
        return
    # "Slaughterhouse-Five" is a name and no number.
    numbers = [q for q in answer.quantities if text[max(0, q.start - 1) : q.start] != "-"]
    if numbers:
        yield from _other_numbers(text, numbers[0], chance)
        return
    if answer.names:
        name = answer.names[0]
        yield from _others(answer, (name.start, name.end), others, chance, is_name=True)
    elif len(text.split()) <= _LONGEST_PHRASE:
        yield from _others(answer, (0, len(text)), others, chance, is_name=False)


def changed(passage: str, answer: Answer, change: Change) -> str | None:
    """The passage with the change in every place, None where a place cannot be changed or nothing
    of the answer is there.
    """
    places = list(_places(passage, answer, change))
    if not places or any(new is None for _, _, new in places):
        return None
    text = passage
    for start, end, new in sorted(places, reverse=True):
        assert new is not None
        text = text[:start] + new + text[end:]
    return text


def _places(passage: str, answer: Answer, change: Change) -> Iterator[tuple[int, int, str | None]]:
    """Where the old value stands in a passage, and what is put there; None where that cannot be
    said.
    """
    if _YEAR.fullmatch(change.old) or change.old in _MONTHS:
        for match in re.finditer(rf"\b{change.old}\b", passage):
            yield match.start(), match.end(), change.new
        return
    facts = facts_of(passage)
    value = next((q for q in answer.quantities if _written(answer, q) == change.old), None)
    if value is not None:
        for other in facts.quantities:
            if same_quantity(value, other):
                there = passage[other.start : other.end]
                yield other.start, other.end, _renumbered(there, change)
        return
    yield from _places_of_name(passage, answer, change)


def _places_of_name(
    passage: str, answer: Answer, change: Change
) -> Iterator[tuple[int, int, str | None]]:
    taken: list[tuple[int, int]] = []
    for match in re.finditer(rf"\b{re.escape(change.old)}\b", passage, re.IGNORECASE):
        taken.append(match.span())
        yield match.start(), match.end(), change.new
    name = next((n for n in answer.names if _written(answer, n) == change.old), None)
    if name is None:
        return
    facts = facts_of(passage)
    for other in facts.names_with(frozenset(name.words)):
        if any(low < other.end and other.start < high for low, high in taken):
            continue
        if not same_name(name, other):
            continue
        # A surname is changed to the last word of the new name, a longer form to all of it. What
        # only shares a word is another name; if it gave the answer away, the check would say so.
        if set(other.words) <= set(name.words):
            yield other.start, other.end, change.new.split()[-1]
        elif set(name.words) <= set(other.words):
            yield other.start, other.end, change.new


def _written(answer: Answer, value: Quantity | Name) -> str:
    return answer.text[value.start : value.end]


def _change(text: str, start: int, end: int, new: str) -> Change:
    return Change(text[start:end], new, text[:start] + new + text[end:])


def _other_years(text: str, match: re.Match[str], chance: random.Random) -> Iterator[Change]:
    year = int(match[0])
    for away in _shuffled(_YEARS_AWAY, chance):
        if 1000 <= year + away <= 2100:
            yield _change(text, match.start(), match.end(), str(year + away))


def _other_numbers(text: str, value: Quantity, chance: random.Random) -> Iterator[Change]:
    written = text[value.start : value.end]
    for factor in _shuffled(_FACTORS, chance):
        new = _scaled(written, factor)
        if new is not None and new != written:
            yield _change(text, value.start, value.end, new)
    small = written.lower()
    if small in SMALL:
        for number in _shuffled([n for n in _WORDS_OF_NUMBERS if n < 21], chance):
            if number != SMALL[small]:
                yield _change(text, value.start, value.end, _WORDS_OF_NUMBERS[number])


def _scaled(written: str, factor: float) -> str | None:
    """A number in digits times a factor, with as many decimals and separators as it had."""
    match = _DIGITS.search(written)
    if match is None:
        return None
    digits = match[0]
    decimals = len(digits.partition(".")[2])
    number = round(float(digits.replace(",", "")) * factor, decimals)
    if number <= 0:
        return None
    shown = f"{number:,.{decimals}f}" if "," in digits else f"{number:.{decimals}f}"
    return written[: match.start()] + shown + written[match.end() :]


def _renumbered(there: str, change: Change) -> str | None:
    """A number as a passage writes it, changed as the answer's was."""
    if there.strip().lower() == change.old.strip().lower():
        return change.new
    before, after = _DIGITS.search(change.old), _DIGITS.search(change.new)
    if before is None or after is None:
        return None
    old, new = (float(m[0].replace(",", "")) for m in (before, after))
    return _scaled(there, new / old) if old else None


def _others(
    answer: Answer,
    span: tuple[int, int],
    others: Sequence[Alternative],
    chance: random.Random,
    *,
    is_name: bool,
) -> Iterator[Change]:
    """Other names or phrases in the place of one, first those that answer such a question, then
    those of as many words.
    """
    old = answer.text[span[0] : span[1]]
    size = len(old.split())
    asked = asks(answer.question)
    seen = {word.lower() for word in (*old.split(), *answer.question.split())}
    ranked: list[tuple[tuple[bool, bool], str]] = []
    for other in _shuffled(others, chance):
        if other.is_name == is_name:
            is_far = not (asked and other.asks == asked)
            ranked.append(((is_far, len(other.text.split()) != size), other.text))
    ranked.sort(key=itemgetter(0))
    for _, text in ranked:
        if not {word.lower() for word in text.split()} & seen:
            yield _change(answer.text, span[0], span[1], text)


def _shuffled(items: Sequence[_Item], chance: random.Random) -> list[_Item]:
    copy = list(items)
    chance.shuffle(copy)
    return copy
