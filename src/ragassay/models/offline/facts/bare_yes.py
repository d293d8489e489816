"""What a bare "yes" says: what was asked."""

from __future__ import annotations

import re

from ragassay.models.offline.facts.word_lists import word_set

_YES = re.compile(
    r"\W*(?:yes|yeah|yep|correct|certainly|of course|that is (?:right|correct))\b\W*"
    r"(?:(?:it|they|you|he|she|that|this|we|i|there)\s+[a-z]+\W*)?",
    re.IGNORECASE,
)
_NOT_PLAIN = re.compile(r"\bor\b|\bnot\b|n['’]t\b|\bno\b|\bnever\b|[?.!;]\s*\S", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 300
_AUXILIARIES = word_set("auxiliaries") - {"have"} | {"has", "am"}


def asked_and_affirmed(response: str, question: str | None) -> str:
    """What was asked, without the verb that opens the question, where the response is a bare "yes"
    to one plain yes-or-no question; "" elsewhere.
    """
    asked = (question or "").strip()
    if not asked or len(asked) > _LONGEST or _YES.fullmatch(response) is None:
        return ""
    first = _WORD.match(asked)
    if first is None or first.group().lower() not in _AUXILIARIES or _NOT_PLAIN.search(asked):
        return ""
    return f"{asked[first.end() :].strip(' ?.!')}."
