"""The words of a question and of a passage as they are compared: small letters, stems, no words
that say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragassay.models.offline.reading import STOP_WORDS
from ragassay.models.offline.reading import stem as stem


def listed(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")

ASKING = listed(
    "who whom whose which what when where why how many much year month date day did does do was"
    " were is are be been can could would tell know please like need want ask question answer i"
    " me my you we us hi hello am looking find out about say name kind there suppose instead had"
    " have has"
)
"""Words by which anything is asked: they say nothing of what it is about."""


def words(text: str) -> list[str]:
    """The words of a text in small letters, without a possessive ending."""
    found = []
    for match in _WORD.finditer(text.lower().replace("’", "'")):
        found.append(match[0].removesuffix("'s"))
    return found


def content(text: str) -> list[str]:
    """The words that say what a text is about, as they stand."""
    return [word for word in words(text) if word not in STOP_WORDS and word not in ASKING]


def stems(text: str) -> list[str]:
    """The stems of the words that say what a text is about."""
    return [stem(word) for word in content(text)]


def overlap(question: str, sources: Iterable[str]) -> float | None:
    """Share of the question's distinct content words that stand in the sources, in the same form;
    None without such words. In [0, 1]; the lower, the less a search by words is helped.
    """
    asked = set(content(question))
    if not asked:
        return None
    known: set[str] = set()
    for source in sources:
        known.update(words(source))
    return len(asked & known) / len(asked)


def plain(text: str) -> str:
    """A text as it is compared for equality: its words in small letters."""
    return " ".join(words(text))


_SPACE_BEFORE = re.compile(r"\s+([,.;:!?%)\]]|'s\b|n't\b|'(?=\s))")
_SPACE_AFTER = re.compile(r"([(\[$£€])\s+")
_HYPHEN = re.compile(r"(?<=\w) - (?=\w)")
_QUOTES = re.compile(r"(?:``|'')\s*")


def tidy(text: str) -> str:
    """A text without the blanks that a tokeniser put before its marks ("Canada 's" -> "Canada's"),
    for use inside a question.
    """
    text = " ".join(text.split())
    text = _SPACE_BEFORE.sub(r"\1", text)
    text = _SPACE_AFTER.sub(r"\1", text)
    text = _HYPHEN.sub("-", text)
    return " ".join(_QUOTES.sub("", text).split())
