"""The plan of a test set: how many questions of which type each cluster of documents gets."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragassay.core import SetupError, nearest
from ragassay.testsets.corpus import Corpus
from ragassay.testsets.values import (
    BRIDGE,
    COMPARE,
    COUNTERFACTUAL,
    FALSE_PREMISE,
    FOLLOW_UP,
    PERSONAS,
    REASONING,
    SIMPLE,
    STYLES,
    TYPES,
    UNANSWERABLE,
)

SHARES: Mapping[str, float] = {
    SIMPLE: 0.4,
    BRIDGE: 0.08,
    COMPARE: 0.1,
    REASONING: 0.1,
    UNANSWERABLE: 0.1,
    COUNTERFACTUAL: 0.08,
    FALSE_PREMISE: 0.08,
    FOLLOW_UP: 0.06,
}
"""Shares of the types where none are asked for."""

DIFFICULTY: Mapping[str, int] = {
    SIMPLE: 2,
    BRIDGE: 4,
    COMPARE: 4,
    REASONING: 4,
    UNANSWERABLE: 3,
    COUNTERFACTUAL: 4,
    FALSE_PREMISE: 4,
    FOLLOW_UP: 3,
}
"""The difficulty that a question of a type is asked for with, from 1 to 5."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One question that is wanted. number: its place in the plan, from 0."""

    number: int
    type: str
    topic: str
    style: str
    persona: str
    difficulty: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The slots of a set, in the order in which they are filled."""

    slots: tuple[Slot, ...]
    topics: tuple[str, ...]

    def table(self) -> dict[tuple[str, str], int]:
        """(type, topic) -> questions wanted."""
        return dict(Counter((slot.type, slot.topic) for slot in self.slots))


def read_types(types: Sequence[str] | Mapping[str, float] | None) -> dict[str, float]:
    """Type -> share, from names ("simple"), names with shares ("simple=0.5"), or a mapping. Raises
    SetupError E0803 for a type that there is not, and for shares that are none.
    """
    if not types:
        return dict(SHARES)
    given: dict[str, float] = {}
    if isinstance(types, Mapping):
        given = {str(name): float(share) for name, share in types.items()}
    else:
        for text in types:
            for part in text.split(","):
                name, _, share = part.partition("=")
                try:
                    given[name.strip()] = float(share) if share else SHARES.get(name.strip(), 0.1)
                except ValueError:
                    raise _no_type(part, "the share is no number") from None
    for name in given:
        if name not in TYPES:
            raise _no_type(name, f"types are {', '.join(TYPES)}.{nearest(name, TYPES)}")
        if not given[name] > 0:
            raise _no_type(name, "a share is more than 0")
    total = sum(given.values())
    return {name: given[name] / total for name in TYPES if name in given}


def _no_type(name: str, why: str) -> SetupError:
    return SetupError(
        "E0803",
        "This is no type of question.",
        where=f"--types {name}",
        why=why,
        fix="for example --types simple=0.7,unanswerable=0.3",
    )


def make_plan(corpus: Corpus, size: int, types: Mapping[str, float], seed: int) -> Plan:
    """The plan of a set of this size. Raises SetupError E0803 for a size below 1."""
    if size < 1:
        raise SetupError(
            "E0803", "A test set has at least one question.", where="--size", why=str(size)
        )
    weights = Counter(corpus.topics[corpus.numbers[p.document]] for p in corpus.passages)
    topics = [f"topic {number + 1}" for number in sorted(weights)]
    shares = {f"topic {number + 1}": float(count) for number, count in weights.items()}
    wanted: list[tuple[str, str]] = []
    dice = random.Random(seed)
    # The topics of all types together have their share; each type takes the next ones in turn.
    by_topic = apportion(shares, size)
    order: list[str] = []
    for topic in topics:
        order += [topic] * by_topic[topic]
    dice.shuffle(order)
    for type_, count in apportion(types, size).items():
        wanted += [(type_, order.pop()) for _ in range(count)]
    slots = []
    for number, (type_, topic) in enumerate(wanted):
        style = STYLES[number % len(STYLES)]
        persona = PERSONAS[number // len(STYLES) % len(PERSONAS)]
        slots.append(Slot(number, type_, topic, style, persona, DIFFICULTY[type_]))
    return Plan(tuple(slots), tuple(topics))


def apportion(shares: Mapping[str, float], size: int) -> dict[str, int]:
    """Whole numbers that add up to `size`, by the largest remainders (Hamilton)."""
    total = sum(shares.values())
    exact = {name: size * share / total for name, share in shares.items()}
    counts = {name: int(value) for name, value in exact.items()}
    rest = size - sum(counts.values())
    by_remainder = sorted(exact, key=lambda name: (counts[name] - exact[name], name))
    for name in by_remainder[:rest]:
        counts[name] += 1
    return counts
