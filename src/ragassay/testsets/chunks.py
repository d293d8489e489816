"""The passages of a document: at paragraphs and sentences, within a length in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragassay.core.boundaries import boundaries
from ragassay.testsets.values import Document

WORDS = 200
"""Words of a passage, about: what retrieval systems use most."""

_PARAGRAPH = re.compile(r"\n\s*\n")
_BLOCK = 200_000
"""Characters of a paragraph that are split into sentences at once."""
_WORD = 50
"""Characters of a word; what is longer without a blank (code, data) counts as several."""
_PIECE = re.compile(rf"\S{{1,{_WORD}}}")
_SIGN = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""A letter of Thai, Lao, Burmese, Khmer, Japanese or Chinese."""
_SIGNS = 2
"""Signs of a word in these, about."""
_TOO_LONG = 5
"""Lengths of a passage from which on a sentence is none, but a log or a table, and is cut."""


def chunks(document: Document, words: int = WORDS) -> Iterator[tuple[int, int]]:
    """Start and end of each passage of a document, in order; what is between them is white space.

    Paragraphs are joined up to `words`, and a longer one is cut between sentences. A sentence that
    is longer stays whole, unless it is five times as long: then it is cut between words.
    """
    if document.is_chunk:
        yield 0, len(document.text)
        return
    start = end = count = 0
    for first, last, length in _pieces(document.text, words):
        if count and count + length > words:
            yield start, end
            count = 0
        if not count:
            start = first
        end = last
        count += length
    if count:
        yield start, end


def _pieces(text: str, words: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and words of each paragraph, or of each sentence of one that is too long."""
    for first, last in _paragraphs(text):
        length = count_words(text[first:last])
        if length <= words:
            yield first, last, length
            continue
        for block in range(first, last, _BLOCK):
            stop = min(block + _BLOCK, last)
            for start, end in boundaries(text[block:stop]):
                sentence = _trimmed(text, block + start, block + end)
                if sentence is not None:
                    yield from _sentence(text, *sentence, words)


def _sentence(text: str, start: int, end: int, words: int) -> Iterator[tuple[int, int, int]]:
    """Start, end and words of a sentence, or of its pieces where it is too long to be one."""
    length = count_words(text[start:end])
    if length <= _TOO_LONG * words:
        yield start, end, length
        return
    found = list(_PIECE.finditer(text, start, end))
    for place in range(0, len(found), words):
        piece = found[place : place + words]
        yield piece[0].start(), piece[-1].end(), len(piece)


def count_words(text: str) -> int:
    """Words of a text; in scripts that write none apart about as many as their signs make."""
    apart = sum(1 + (len(word) - 1) // _WORD for word in text.split())
    return apart if text.isascii() else max(apart, len(_SIGN.findall(text)) // _SIGNS)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    ends = [match.span() for match in _PARAGRAPH.finditer(text)]
    for end, after in [*ends, (len(text), len(text))]:
        paragraph = _trimmed(text, start, end)
        if paragraph is not None:
            yield paragraph
        start = after


def _trimmed(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The place without white space around it; None for white space alone."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    return (start + left, start + right) if right > left else None
