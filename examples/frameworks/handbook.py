"""The passages that the applications answer from, and how they find them."""

from __future__ import annotations

import re

PASSAGES = {
    "founding": "The city library was founded in 1911 by the council.",
    "loans": "A book may be kept for four weeks and renewed twice.",
    "card": "A lost library card costs two euros to replace.",
    "cafe": "The cafe on the ground floor opens at nine.",
}
"""Id -> text."""

_WORD = re.compile(r"\w+")


def search(question: str, k: int = 2) -> list[tuple[str, str, float]]:
    """(id, text, score) of the k passages that share most words with the question, best first."""
    asked = set(_WORD.findall(question.lower()))
    found = []
    for name, text in PASSAGES.items():
        shared = asked & set(_WORD.findall(text.lower()))
        found.append((name, text, len(shared) / len(asked)))
    return sorted(found, key=lambda passage: -passage[2])[:k]
