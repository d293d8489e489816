"""The errors of a rubric in groups that may have a common cause, and which group is next.

First the errors of one slice in one direction, then those of one direction, then all. A group from
which some batches brought nothing is left for others; when none is left, the search goes on from
another rubric.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ragassay.tuning.values import BoolArray, IntArray

LEAST = 3
"""Errors that a group must have."""

_PATIENCE = (2, 4, 6)
"""Batches without a gain after which a group is left: of a slice, of a direction, of all errors."""


@dataclass(frozen=True, slots=True)
class Group:
    """Errors with something in common.

    direction: 1 where the judge passes what people fail, -1 the other way round, 0 for both.
    excess: how many more errors the slice has than its size would give it.
    """

    name: str
    direction: int
    rows: IntArray
    level: int
    excess: float = 0.0

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.direction

    def __str__(self) -> str:
        kinds = {1: "the judge passes what people fail", -1: "the judge fails what people pass"}
        return ", ".join(filter(None, [self.name, kinds.get(self.direction, "all errors")]))


@dataclass
class Groups:
    """Which group of errors is next."""

    train: IntArray
    truth: BoolArray
    slices: Sequence[tuple[str, IntArray]]
    fails: Counter[tuple[str, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.inside = [np.intersect1d(rows, self.train) for _, rows in self.slices]

    def next(self, passes: BoolArray, judged: BoolArray) -> Group | None:
        """The group to look at, None where all were looked at. passes: the verdicts by row."""
        for level in range(len(_PATIENCE)):
            groups = [group for group in self._of_level(level, passes, judged) if self._open(group)]
            if groups:
                return max(groups, key=self._promise)
        return None

    def _open(self, group: Group) -> bool:
        return len(group.rows) >= LEAST and self.fails[group.key] < _PATIENCE[group.level]

    def _promise(self, group: Group) -> tuple[float, float]:
        tries = 1 + self.fails[group.key]
        return (max(group.excess, 0.0) + 1) / tries**2, len(group.rows)

    def _of_level(self, level: int, passes: BoolArray, judged: BoolArray) -> list[Group]:
        errs = np.zeros(len(self.truth), bool)
        errs[self.train] = (passes != self.truth)[self.train] & judged[self.train]
        if level == 2:
            return [Group("", 0, np.flatnonzero(errs), 2)]
        groups: list[Group] = []
        for direction in (1, -1):
            of_direction = errs & (passes == (direction == 1))
            if level == 1:
                groups.append(Group("", direction, np.flatnonzero(of_direction), 1))
                continue
            total = of_direction.sum() / max(len(self.train), 1)
            for (name, _), inside in zip(self.slices, self.inside, strict=True):
                these = inside[of_direction[inside]]
                excess = len(these) - total * len(inside)
                groups.append(Group(name, direction, these, 0, float(excess)))
        return groups

    def failed(self, group: Group) -> None:
        """Note a batch that brought nothing."""
        self.fails[group.key] += 1

    def start_again(self) -> None:
        """Open all groups: the rubric has changed, or the search goes on from another one."""
        self.fails.clear()
