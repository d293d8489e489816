"""Leave each edit out once: an edit without an effect of its own goes.

An edit can only mend what the first rubric gets wrong, and only break what all edits together get
wrong. So these rows tell the most for the fewest calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from ragassay.judges import Rubric
from ragassay.tuning.edits import Action, Edit, Refused
from ragassay.tuning.guard import EditGuard
from ragassay.tuning.purchases import NoRoom, Purchases
from ragassay.tuning.values import BoolArray, IntArray

# How likely by chance an effect may be that is not looked at again, and looks at most.
_CLEAR = 0.01
_MOST_LOOKS = 4


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
        """The effect of an edit, after as many looks as it takes."""
        rest = [each for each in edits if each is not edit]
        try:
            with_it, without = self._variants(edits), self._variants(rest)
        except Refused:
            return EditEffect(edit, 0, 0, 0, kept=True, measured=False)
        whole: EditEffect | None = None
        for look in range(min(_MOST_LOOKS, max(len(with_it), len(without)))):
            first = with_it[(look + 1) % len(with_it)]
            try:
                seen = self._effect(edit, first, without[look % len(without)], look + 1, whole)
            except NoRoom:
                break
            whole = seen
            if self._is_settled(whole, look + 1):
                break
        if whole is None:
            # Where others were measured, one of which nothing is known does not stay beside them.
            return EditEffect(edit, 0, 0, 0, kept=not self.measured, measured=False)
        self.measured += 1
        return whole

    def _is_settled(self, effect: EditEffect, looks: int) -> bool:
        """Whether a further look would hardly change what becomes of an edit."""
        net = effect.gained - effect.lost
        if effect.kept and effect.likely_chance <= _CLEAR:
            return True
        return net < -self.least or (looks > 1 and net <= 0)

    def _variants(self, edits: Sequence[Edit]) -> list[Rubric]:
        """The rubric with these edits in different orders and places, which say the same. Raises
        Refused.

        The rubric that was chosen had luck with the verdicts that any change of words flips; in
        other words, it has only what its edits do.
        """
        ahead = [replace(each, place=0) if each.action is Action.ADD else each for each in edits]
        orders = [list(edits), [*reversed(edits)], [*edits[1:], *edits[:1]], ahead]
        found: dict[str, Rubric] = {}
        for order in orders:
            try:
                rubric = self.guard.applied(order)
            except Refused:
                continue
            found.setdefault(rubric.digest, rubric)
        if not found:
            raise Refused("its edits do not fit together")
        return list(found.values())

    def _stays(self, gained: int, lost: int, looks: int) -> bool:
        return gained - lost >= looks * self.least and sign_test(gained, lost) <= self.chance

    def _effect(
        self,
        edit: Edit,
        with_it: Rubric,
        without: Rubric,
        looks: int,
        before: EditEffect | None,
    ) -> EditEffect:
        """The effect by one look more than `before`. Raises NoRoom."""
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
        if before is not None:
            gained, lost, asked = gained + before.gained, lost + before.lost, asked + before.asked
        return EditEffect(edit, gained, lost, asked, self._stays(gained, lost, looks))


def sign_test(gained: int, lost: int) -> float:
    """The chance of at least so many gains among gained + lost fair coins."""
    count = gained + lost
    ways = sum(comb(count, more) for more in range(gained, count + 1))
    return float(ways / 2**count)
