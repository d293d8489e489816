"""The citation marks of a sentence: the chunks they name, and the sentence without them."""

from __future__ import annotations

import re

_NUMBERS = r"\^?\d{1,3}(?:[ \t]{0,3}[,;–-][ \t]{0,3}\^?\d{1,3}){0,30}"
MARK = re.compile(rf"\[({_NUMBERS})\]|【({_NUMBERS})(?:†[^【】\n]{{0,80}})?】")
"""[2], [1, 3], [1-3], [^2], 【2】; numbers of up to three digits: [1999] is a year."""
_FILE_MARK = re.compile(r"\s?【\d{1,3}:\d{1,3}†[^【】\n]{0,80}】")
"""【4:0†policy.pdf】, as OpenAI's file search writes them: a place in its own list, of no chunk."""
_STEP = re.compile(r"(\d{1,3})(?:[ \t]{0,3}[–-][ \t]{0,3}\^?(\d{1,3}))?")
_WIDEST = 30
"""Numbers in a range such as [1-4]; a wider one is no citation of chunks."""

_NEAR = 40
"""Characters before a mark that are looked at."""
_LAST_WORD = re.compile(r"(\w+)\W{0,3}$")
# After these a number in brackets may be what the sentence says, so it stays.
_TAKES_A_NUMBER = frozenset(
    (
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "equals",
        "of",
        "to",
        "than",
        "about",
        "at",
        "by",
        "with",
        "for",
        "from",
        "between",
        "and",
        "or",
        "over",
        "under",
        "only",
        "exactly",
        "nearly",
        "almost",
        "around",
        "approximately",
        "up",
        "least",
        "most",
        "number",
        "no",
        "nr",
        "step",
        "page",
        "chapter",
        "section",
        "version",
        "level",
        "figure",
        "table",
        "in",
        "on",
        "a",
        "an",
        "the",
        "has",
        "have",
        "had",
        "cost",
        "costs",
        "weigh",
        "weighs",
        "measure",
        "measures",
        "take",
        "takes",
        "need",
        "needs",
        "reach",
        "reaches",
        "score",
        "scores",
        "scored",
        "total",
        "totals",
    )
)


def cited_chunks(sentence: str) -> tuple[int, ...]:
    """The numbers (from 1) that the marks in a sentence name, each once and in order.

    >>> cited_chunks("It opened in 1999 [2, 4-5][2]. 【1】")
    (2, 4, 5, 1)
    """
    numbers: dict[int, None] = {}
    for mark in MARK.finditer(sentence):
        numbers.update(dict.fromkeys(_numbers(mark)))
    return tuple(numbers)


def without_marks(sentence: str, chunks: int) -> str:
    """The sentence without the marks that cite one of its `chunks`: they say nothing about the
    world.

    What may be more than a mark stays: a number that no chunk has, and one behind a word that takes
    a number.

    >>> without_marks("It opened in 1999 [2].", 3), without_marks("The dose is [2] mg.", 3)
    ('It opened in 1999.', 'The dose is [2] mg.')
    """
    if "[" not in sentence and "【" not in sentence:
        return sentence.rstrip()
    sentence = _FILE_MARK.sub("", sentence)
    pieces, at = [], 0  # `at`: the end of the last mark that was taken out
    for mark in MARK.finditer(sentence):
        start, cited = mark.start(), _numbers(mark)
        if not cited or not all(1 <= n <= chunks for n in cited):
            continue
        before = sentence[max(at, start - _NEAR) : start]
        word = _LAST_WORD.search(before)
        behind_word = word is not None and word[1].lower() not in _TAKES_A_NUMBER
        behind_mark = at > 0 and not before.strip()  # the second of "[1][2]"
        if behind_word or behind_mark:
            pieces.append(sentence[at:start].rstrip())
            at = mark.end()
    return "".join((*pieces, sentence[at:])).rstrip()


def _numbers(mark: re.Match[str]) -> tuple[int, ...]:
    """The numbers of a mark, ranges written out."""
    numbers: list[int] = []
    for step in _STEP.finditer(mark[1] or mark[2]):
        first, last = int(step[1]), int(step[2] or step[1])
        if 0 <= last - first < _WIDEST:
            numbers += range(first, last + 1)
    return tuple(numbers)
