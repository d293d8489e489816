"""The clauses of passages that have an item, for rules that look at what stands beside what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragassay.models.offline.facts.concepts import Item, keys_of, sign_between
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
                if any(sign_between(item, each) > 0 for each in clause.items):
                    places.add(ClauseAt(number, at, clause.sentence))
    return {item: frozenset(places) for item, places in where.items()}
