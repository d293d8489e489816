"""The facts of the texts that were read last: the claims of a row share their passages."""

from __future__ import annotations

from ragassay.models.offline.cache import SizedCache
from ragassay.models.offline.facts.text_facts import TextFacts, read_facts

_ONE_LETTER = str.maketrans({"ſ": "s", "ı": "i", "İ": "I", "\u212a": "K"})
"""Letters that an expression without regard to case takes for one from a to z, and lower() does
not: the long s of scanned books, and the letters i of Turkish.
"""


class FactsCache:
    """Facts of at most so many characters of text in all. Safe across threads."""

    def __init__(self, characters: int = 400_000) -> None:
        self._stored = SizedCache[str, TextFacts](characters)

    def of(self, text: str) -> TextFacts:
        """The facts of a text, stored or read now."""
        facts = self._stored.get(text)
        if facts is None:
            facts = read_facts(text.translate(_ONE_LETTER))
            self._stored.put(text, facts, len(text))
        return facts
