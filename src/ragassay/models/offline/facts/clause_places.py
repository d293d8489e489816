"""The clauses of passages that have an item, for rules that look at what stands beside what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.concepts import Item, keys_of, says_one
from ragassay.models.offline.facts.text_facts import TextFacts


class ClauseAt(NamedTuple):
    """A clause of a passage."""

    passage: int
    clause: int
    sentence: int


def clause_places(
    items: Sequence[Item], passages: Sequence[TextFacts]
) -> dict[Item, frozenset[ClauseAt]]:
    """Item -> the clauses of the passages that have it."""
    where: dict[Item, set[ClauseAt]] = {item: set() for item in items}
    keys = keys_of(items)
    for number, passage in enumerate(passages):
        for at, clause in enumerate(passage.meanings):
            if keys.isdisjoint(clause.keys):
                continue
            for item, places in where.items():
                if not clause.keys.isdisjoint(item.keys) and says_one(clause.items, item):
                    places.add(ClauseAt(number, at, clause.sentence))
    return {item: frozenset(places) for item, places in where.items()}
