"""Leave each edit out once: an edit without an effect of its own goes.

An edit can only mend what the first rubric gets wrong, and only break what all edits together get
wrong. So these rows tell the most for the fewest calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from ragassay.judges import Rubric
from ragassay.tuning.edits import Edit, Refused
from ragassay.tuning.guard import EditGuard
from ragassay.tuning.purchases import NoRoom, Purchases
from ragassay.tuning.values import BoolArray, IntArray

# How likely by chance an effect may be that is not looked at twice.
_CLEAR = 0.01


@dataclass(frozen=True, slots=True)
class EditEffect:
    """What an edit does by itself: the rubric with all edits beside the one without this one.

    gained, lost: rows that are right only with it, and only without it, of `asked`. kept: whether
    it stays. measured: False where no calls were left to find out.
    """

    edit: Edit
    gained: int
    lost: int
    asked: int
    kept: bool
    measured: bool = True

    @property
    def likely_chance(self) -> float:
        """The chance of such a gain where the edit does nothing."""
        return sign_test(self.gained, self.lost)

    @property
    def share(self) -> float:
        """Net gain as a share of the rows that were asked."""
        return (self.gained - self.lost) / self.asked if self.asked else 0.0


@dataclass
class Pruner:
    """Prunes lists of edits. rows: lists of rows in the order in which they are asked. An edit
    stays where it gains `least` rows more than it loses, and so many by chance are no likelier
    than `chance`.
    """

    purchases: Purchases
    guard: EditGuard
    truth: BoolArray
    rows: Sequence[IntArray]
    chance: float = 0.1
    least: int = 2
    measured: int = 0

    def prune(self, edits: Sequence[Edit]) -> tuple[tuple[Edit, ...], tuple[EditEffect, ...]]:
        """The edits that stay, and the effect of each one. One that others need stays.

        Of those without effect the weakest goes first and the others are measured again without
        it: where two say the same, one of them stays.
        """
        kept = tuple(edits)
        gone: list[EditEffect] = []
        effects = [self._measured(edit, kept) for edit in kept]
        while True:
            weak = [effect for effect in effects if not effect.kept]
            if not weak:
                return kept, (*effects, *gone)
            weakest = min(weak, key=lambda effect: effect.gained - effect.lost)
            gone.append(weakest)
            kept = tuple(edit for edit in kept if edit is not weakest.edit)
            rest = [effect for effect in effects if effect is not weakest]
            effects = []
            for effect in rest:
                is_clear = effect.kept and effect.measured
                effects.append(effect if is_clear else self._measured(effect.edit, kept))

    def _measured(self, edit: Edit, edits: Sequence[Edit]) -> EditEffect:
        """The effect of an edit; where one look leaves it open, after a second one."""
        rest = [each for each in edits if each is not edit]
        try:
            effect = self._effect(edit, self._ordered(edits, 1), self._ordered(rest, 0))
        except Refused:
            return EditEffect(edit, 0, 0, 0, kept=True, measured=False)
        except NoRoom:
            # Where others were measured, one of which nothing is known does not stay beside them.
            return EditEffect(edit, 0, 0, 0, kept=not self.measured, measured=False)
        self.measured += 1
        is_open = effect.gained > effect.lost and effect.likely_chance > _CLEAR
        if not is_open or len(edits) < 3:
            return effect
        try:
            second = self._effect(edit, self._ordered(edits, 2), self._ordered(rest, 1))
        except (NoRoom, Refused):
            return effect
        gained, lost = effect.gained + second.gained, effect.lost + second.lost
        return EditEffect(
            edit, gained, lost, effect.asked + second.asked, self._stays(gained, lost, 2)
        )

    def _ordered(self, edits: Sequence[Edit], order: int) -> Rubric:
        """The rubric with these edits as they come, turned around, or with the first one last.

        The rubric that was chosen had luck with the verdicts that any change of words flips; with
        its edits in another order it has only its edits.
        """
        orders = (list(edits), [*reversed(edits)], [*edits[1:], *edits[:1]])
        try:
            return self.guard.applied(orders[order])
        except Refused:
            return self.guard.applied(edits)

    def _stays(self, gained: int, lost: int, looks: int) -> bool:
        return gained - lost >= looks * self.least and sign_test(gained, lost) <= self.chance

    def _effect(self, edit: Edit, with_it: Rubric, without: Rubric) -> EditEffect:
        gained = lost = asked = 0
        for rows in self.rows:
            own = rows[~np.isin(rows, edit.rows)]
            try:
                first = self.purchases.verdicts(with_it, own)
                second = self.purchases.verdicts(without, own)
            except NoRoom:
                if not asked:
                    raise
                break
            both = (first >= 0) & (second >= 0)
            right = self.truth[own].astype(np.int8)
            gained += int((both & (first == right) & (second != right)).sum())
            lost += int((both & (first != right) & (second == right)).sum())
            asked += int(both.sum())
        return EditEffect(edit, gained, lost, asked, self._stays(gained, lost, 1))


def sign_test(gained: int, lost: int) -> float:
    """The chance of at least so many gains among gained + lost fair coins."""
    count = gained + lost
    ways = sum(comb(count, more) for more in range(gained, count + 1))
    return float(ways / 2**count)
