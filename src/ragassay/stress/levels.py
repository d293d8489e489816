"""The levels at which a question is put to a system, and their names.

A level is named by what it is, so that a planned row says what was asked for: "noise, added, 3
same-topic passages, in front".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import product


class Test(StrEnum):
    """What is tested."""

    __test__ = False  # no test class of pytest

    NOISE = "noise"
    REJECTION = "rejection"
    COUNTERFACTUAL = "counterfactual"
    INTEGRATION = "integration"


class Kind(StrEnum):
    """What a distractor is."""

    RANDOM = "random"
    TOPIC = "same-topic"
    CHANGED = "changed-fact"
    INJECTED = "injected"


class Position(StrEnum):
    """Where the distractors stand among the row's own passages."""

    FIRST = "first"
    MIDDLE = "middle"
    LAST = "last"


class Arm(StrEnum):
    """Whether distractors are added, or take the place of filler of the same length."""

    ADDED = "added"
    MATCHED = "matched"


NUMBERS = (1, 3, 5, 8)
KIND_WORDS = {
    Kind.RANDOM: "random passages",
    Kind.TOPIC: "passages on the same topic",
    Kind.CHANGED: "near duplicates with a changed fact",
    Kind.INJECTED: "passages with an injected instruction",
}


@dataclass(frozen=True, slots=True, order=True)
class NoiseLevel:
    """A cell of the grid of noise."""

    arm: Arm
    kind: Kind
    number: int
    position: Position

    @property
    def key(self) -> str:
        """As it stands in the id of a planned row."""
        return f"noise/{self.arm}/{self.kind}/{self.number}/{self.position}"


@dataclass(frozen=True, slots=True)
class Grid:
    """The levels of noise that are asked for. Raises ValueError for numbers below 1."""

    numbers: tuple[int, ...] = NUMBERS
    kinds: tuple[Kind, ...] = tuple(Kind)
    positions: tuple[Position, ...] = tuple(Position)
    arms: tuple[Arm, ...] = tuple(Arm)

    def __post_init__(self) -> None:
        if not self.numbers or min(self.numbers) < 1:
            raise ValueError("numbers of distractors are whole numbers of at least 1")

    @property
    def most(self) -> int:
        """The most distractors of a level."""
        return max(self.numbers)

    def levels(self) -> list[NoiseLevel]:
        """All cells, in order."""
        cells = product(self.arms, self.kinds, self.numbers, self.positions)
        return [NoiseLevel(*cell) for cell in cells]


CLEAN = ("clean/1", "clean/2")
"""The row's own passages, asked twice: what differs between the two is the system's own noise."""

CLOSED = "closed-book"
"""No passage at all: what the system knows without."""
NEGATIVE = "negative"
"""Passages that do not hold the answer."""


@dataclass(frozen=True, slots=True, order=True)
class Share:
    """A level of false passages: so many true and false ones of those that hold the answer."""

    true: int
    false: int

    @property
    def value(self) -> float:
        """Share of false passages."""
        return self.false / (self.true + self.false)

    @property
    def key(self) -> str:
        """As it stands in the id of a planned row."""
        return f"counterfactual/{self.false}-of-{self.true + self.false}"


SHARES = (Share(2, 1), Share(1, 1), Share(1, 2), Share(0, 1))
"""One third, half, two thirds, all; a row with one true passage has half and all."""


def padded(position: Position) -> str:
    """The key of the row's own passages among filler: the base of the length-matched arm."""
    return f"padded/{position}"


def without(source: int) -> str:
    """The key of the level that lacks a source, by its place from 0."""
    return f"integration/without-{source + 1}"
