"""The facts of the texts that were read last: the claims of a row share their passages."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ragassay.models.offline.facts.text_facts import TextFacts, read_facts


class FactsCache:
    """Facts of at most so many characters of text in all. Safe across threads."""

    def __init__(self, characters: int = 400_000) -> None:
        self._room = characters
        self._stored: OrderedDict[str, TextFacts] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def of(self, text: str) -> TextFacts:
        """The facts of a text, stored or read now."""
        with self._lock:
            facts = self._stored.get(text)
            if facts is not None:
                self._stored.move_to_end(text)
                return facts
        facts = read_facts(text)
        with self._lock:
            if text not in self._stored:
                self._stored[text] = facts
                self._size += len(text)
            while self._size > self._room:
                oldest, _ = self._stored.popitem(last=False)
                self._size -= len(oldest)
        return facts
