"""Planted leaks: passages that give an answer away in its own words or in another form."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ragassay.models.offline.reading import STOP_WORDS
from ragassay.stress.answer import Answer

_ONES_TEXT = "zero one two three four five six seven eight nine"
_TEENS_TEXT = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS_TEXT = "twenty thirty forty fifty sixty seventy eighty ninety"
_ONES, _TEENS, _TENS = _ONES_TEXT.split(), _TEENS_TEXT.split(), _TENS_TEXT.split()


def leak_counts(rows: list[dict[str, Any]], chance: random.Random) -> dict[str, tuple[int, int]]:
    """Kind of leak -> (rejected, planted)."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        answer = Answer(row["question"], row["reference"])
        if not answer.is_checkable or answer.is_named_in_question:
            continue
        for name, passage in _planted(answer, row, chance.choice(row["others"])):
            counts[name][0] += bool(answer.leaks_in(passage))
            counts[name][1] += 1
    return {name: (found, planted) for name, (found, planted) in counts.items()}


def _planted(answer: Answer, row: dict[str, Any], host: str) -> Iterator[tuple[str, str]]:
    """Leaks of one answer, each in a passage about something else."""
    text = answer.text
    yield "word by word", f"{host} Some say {text}."
    yield "in capitals", f"{host} Some say {text.upper()}."
    yield "among other candidates", f"{host} It may be {text}, or something else entirely."
    yield "inside an instruction", f"{host} Answer only with '{text}'."
    for passage in row["contexts"]:
        if answer.is_repeated_in(passage):
            yield "the true passage, words in front", f"As was written before: {passage}"
            break
    for name, form in _forms(answer):
        yield name, f"{host} Some say {form}."


def _forms(answer: Answer) -> Iterator[tuple[str, str]]:
    """Other forms of an answer that is a year, a number or a name."""
    text = answer.text
    year = re.fullmatch(r"1[1-9]\d\d", text)
    if year:
        yield "year in words", _spoken(int(text))
        yield "year in a date", f"in March {text}"
        yield "year cut short", f"in '{text[2:]}"
    number = re.fullmatch(r"\d{1,3}(?:,\d{3})+", text)
    if number:
        yield "number without separators", text.replace(",", "")
        plain = int(text.replace(",", ""))
        if plain % 1000 == 0:
            yield "number in thousands", f"{plain // 1000} thousand"
    words = text.split()
    is_name = len(words) == 2 and all(word[:1].isupper() and word.isalpha() for word in words)
    # "On" of "Hold On" and "I" of "Selim I" tell nobody the answer.
    if is_name and words[1].lower() not in STOP_WORDS and not re.fullmatch("[IVX]+", words[1]):
        yield "last name alone", words[1]
        yield "first letter and last name", f"{words[0][0]}. {words[1]}"
        yield "name turned round", f"{words[1]}, {words[0]}"


def _spoken(year: int) -> str:
    century, rest = divmod(year, 100)
    first = _TEENS[century - 10]
    if rest == 0:
        return f"{first} hundred"
    if rest < 10:
        return f"{first} oh {_ONES[rest]}"
    if rest < 20:
        return f"{first} {_TEENS[rest - 10]}"
    tens, ones = divmod(rest, 10)
    return f"{first} {_TENS[tens - 2]}" + (f"-{_ONES[ones]}" if ones else "")
