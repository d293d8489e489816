"""What a question asks: one thing, or several of which each wants an answer of its own."""

from __future__ import annotations

import re

MOST_PARTS = 5
"""More parts than these are read as one question."""

_ASKING = r"(?:who|whom|whose|what|when|where|why|how|which)"
_HELPING = r"(?:is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have|had|am)"
# "And is it ...", not "and is sold".
_SUBJECT = (
    r"(?:it|they|he|she|we|you|I|there|the|an?|this|that|these|those|my|your|its|their|[A-Z])"
)
_BEGINS = re.compile(rf"(?:{_ASKING}|{_HELPING})\b", re.IGNORECASE)
_JOINT = re.compile(
    rf"\s*[,;]?\s+and\s+(?:also\s+|then\s+)?(?=(?i:{_ASKING})\b|(?i:{_HELPING})\s+{_SUBJECT}(?:\b|(?<=[A-Z])))"
)
_QUESTION = re.compile(r"[^?]*\?|[^?]+$")
_ALONE = re.compile(rf"{_ASKING}", re.IGNORECASE)


def question_parts(question: str) -> tuple[str, ...]:
    """The questions of a text, in order: its sentences that ask, and what "and" joins in one of
    them. What stands before the first question or between two belongs to the next. One part where
    only one thing is asked. Time grows with the length.
    """
    parts: list[str] = []
    for match in _QUESTION.finditer(question):
        sentence = match.group().strip().rstrip("?").strip()
        if sentence:
            parts += _joined(sentence)
    if not 1 < len(parts) <= MOST_PARTS or not question.rstrip().endswith("?"):
        return (question,)
    return tuple(f"{part}?" for part in parts)


def _joined(sentence: str) -> list[str]:
    """What "and" joins, where the whole is a question."""
    if _BEGINS.search(sentence) is None:
        return [sentence]
    parts: list[str] = []
    for part in _JOINT.split(sentence):
        if parts and _ALONE.fullmatch(part):
            # "When did it close and why?"
            begins = _BEGINS.search(parts[-1])
            part = f"{part} {parts[-1][begins.end() :].strip()}" if begins else part
        parts.append(part[:1].upper() + part[1:])
    return parts
