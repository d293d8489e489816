"""The facts of the texts that were read last: the claims of a row share their passages."""

from __future__ import annotations

from ragassay.models.offline.cache import SizedCache
from ragassay.models.offline.facts.text_facts import TextFacts, read_facts


class FactsCache:
    """Facts of at most so many characters of text in all. Safe across threads."""

    def __init__(self, characters: int = 400_000) -> None:
        self._stored = SizedCache[str, TextFacts](characters)

    def of(self, text: str) -> TextFacts:
        """The facts of a text, stored or read now."""
        facts = self._stored.get(text)
        if facts is None:
            facts = read_facts(text)
            self._stored.put(text, facts, len(text))
        return facts
