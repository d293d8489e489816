"""Other words for the words of a question, so that it is not found by the words of its source."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ragassay.testsets.offline.verbs import Verb

_FILE = Path(__file__).with_name("synonyms.txt")
_WORD = re.compile(r"[\w'-]+")


@cache
def _tables() -> tuple[dict[str, Verb], dict[str, str]]:
    verbs: dict[str, Verb] = {}
    others: dict[str, str] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        kind, _, rest = line.partition(" ")
        words = rest.split()
        if kind == "verb":
            verbs[words[0]] = Verb(words[1], words[2], words[3])
        elif kind == "word":
            others[words[0]] = words[1]
    return verbs, others


def other_verb(verb: Verb) -> Verb:
    """A verb that says the same; itself where none is known."""
    return _tables()[0].get(verb.base, verb)


def in_other_words(text: str) -> str:
    """A text with other words for those in small letters that one is known for.

    Words of names stay: they begin with a capital, or stand between two that do.
    """
    table = _tables()[1]
    pieces: list[str] = []
    at = 0
    matches = list(_WORD.finditer(text))
    for number, match in enumerate(matches):
        other = table.get(match[0])
        before = matches[number - 1][0] if number else ""
        after = matches[number + 1][0] if number + 1 < len(matches) else ""
        if other is None or (before[:1].isupper() and after[:1].isupper()):
            continue
        pieces += [text[at : match.start()], other]
        at = match.end()
    return _with_articles("".join([*pieces, text[at:]]))


_ARTICLE = re.compile(r"\b(an?) (?=([a-z]))")


def _with_articles(text: str) -> str:
    """The text with "a" and "an" as the words behind them want it."""

    def article(match: re.Match[str]) -> str:
        if match[2] == "u":  # "a user", "an umbrella": left as it is
            return match[0]
        return "an " if match[2] in "aeio" else "a "

    return _ARTICLE.sub(article, text)
