"""Evidence that grows with a stream, and alarms whose chance of being false is known beforehand.

A bet on the next observation multiplies a capital by a factor that is 1 on average at most while
the hypothesis holds; capital that has grown is evidence against it (Ramdas, Grunwald, Vovk & Shafer
2023, "Game-theoretic statistics and safe anytime-valid inference"). Bets on a bounded mean are
those of Waudby-Smith & Ramdas (2024, "Estimating means of bounded random variables by betting").
Nobody knows when a change begins nor how large it is, so the capital is shared out beforehand over
starting times and over sizes (Shin, Ramdas & Rinaldo 2023, "E-detectors: a nonparametric framework
for sequential change detection").

Two guarantees. "ever": the shares of all starting times sum to 1, so the whole is an e-process, and
by Ville's inequality it ever reaches 1 / alpha with probability alpha at most, however often it is
looked at. "between": every starting time gets 1 (Shiryaev-Roberts); an alarm at N then comes on
average after N observations at the soonest while nothing has changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Guarantee = Literal["ever", "between"]

FIRST_SHARE = 0.5
"""Of the capital, what begins to bet with the first observation: a mark that was never held."""
_MOST = 1e300
FALLS = (0.04, 0.06, 0.08, 0.12, 0.24, 0.64)
"""Relative falls of a mean below its mark that the bets are best for. They lie closest where a fall
is found by hundreds of sessions and each share of the capital counts; a large fall is found by a
few dozen whichever of the large bets it meets. Chosen on streams of other seeds than those that the
benchmark reports.
"""
CLOSEST = 0.999
"""A mark above is tested as this one, which is easier to hold: at 1 a bet has no limit."""
TILTS = (-1.8, -1.0, -0.5, 0.5, 1.0, 1.8)
"""Slopes of the bets on p-values that run low or high."""
BENDS = (-0.8, 0.8)
"""Bets on p-values that gather in the middle or at both ends."""


def _kept(at: int) -> float:
    """Capital that has not begun to bet before observation `at` (from 1)."""
    return (1 - FIRST_SHARE) / math.log2(at + 1)


@dataclass(slots=True)
class Evidence:
    """The capital of so many bets at one time.

    level: alpha of "ever", the N of "between". seen: observations. capital: of each bet, over all
    starting times so far.
    """

    guarantee: Guarantee
    level: float
    capital: list[float]
    seen: int = 0

    @classmethod
    def fresh(cls, guarantee: Guarantee, level: float, bets: int) -> Evidence:
        """Before the first observation. Raises ValueError for a level that promises nothing."""
        if guarantee == "ever" and not 0 < level < 1:
            raise ValueError("alpha lies between 0 and 1")
        if guarantee == "between" and not level > 1:
            raise ValueError("the mean time between false alarms is above 1")
        return cls(guarantee, level, [0.0] * bets)

    def add(self, factors: Sequence[float]) -> None:
        """Take one observation: by how much each bet multiplies what was set on it. Raises
        ValueError for a factor that is negative or no number.
        """
        self.seen += 1
        share = self._share() / len(self.capital)
        for at, factor in enumerate(factors):
            if not factor >= 0:
                raise ValueError(f"a capital cannot be multiplied by {factor}")
            self.capital[at] = min(_MOST, (self.capital[at] + share) * factor)

    def _share(self) -> float:
        """What begins to bet with the observation at hand."""
        if self.guarantee == "between":
            return 1.0
        if self.seen == 1:
            return 1 - _kept(2)
        return _kept(self.seen) - _kept(self.seen + 1)

    @property
    def value(self) -> float:
        """The capital, with what waits for later starts; 1 before the first observation of "ever",
        0 of "between".
        """
        waiting = 0.0
        if self.guarantee == "ever":
            waiting = _kept(self.seen + 1) if self.seen else 1.0
        return sum(self.capital) + waiting

    @property
    def needed(self) -> float:
        """The value at which the alarm is raised."""
        return 1 / self.level if self.guarantee == "ever" else self.level

    @property
    def alarmed(self) -> bool:
        """Whether the value has come to where the alarm is raised."""
        return self.value >= self.needed


@dataclass(frozen=True, slots=True)
class Observed:
    """One row of a session: its value in [0, 1] and its chance of having been observed."""

    value: float
    chance: float = 1.0


def session_gap(rows: Iterable[Observed], size: int, mark: float, least: float) -> float:
    """What a session says of its distance from the mark: the mean over its `size` rows, observed or
    not, of value - mark, each observed row weighted by least / chance; in [-mark, 1 - mark].

    least: the smallest chance of any row. Its expectation over the sampling is least times the mean
    gap of the session, so that it has the gap's sign. Raises ValueError for values or chances
    outside their ranges, and for a size below the number of rows.
    """
    total, count = 0.0, 0
    for row in rows:
        if not 0 <= row.value <= 1:
            raise ValueError(f"{row.value} is not in [0, 1]")
        if not least <= row.chance * (1 + 1e-9) or row.chance > 1:
            raise ValueError(f"a chance of {row.chance} where the least is {least}")
        total += (row.value - mark) * least / row.chance
        count += 1
    if count > size or size < 1:
        raise ValueError(f"{count} rows of a session of {size}")
    return total / size


def factors_below(gap: float, mark: float) -> list[float]:
    """The factors of the bets that a mean is below its mark, for one gap of `session_gap`: 1 - c
    gap / (1 - mark) for each relative fall c. Not negative, and 1 on average where the mean is the
    mark.
    """
    return [1 - fall * gap / (1 - mark) for fall in FALLS]


def factors_of_p(p: float) -> list[float]:
    """The factors of the bets that p-values are not uniform; each integrates to 1 over [0, 1]."""
    tilted = [1 + slope * (p - 0.5) for slope in TILTS]
    bent = [1 + bend * (2 * abs(2 * p - 1) - 1) for bend in BENDS]
    return tilted + bent


@dataclass(slots=True)
class MarkAlarm:
    """An alarm about the mean over sessions: it is raised when the mean is, or has come to be,
    below the mark.

    Assumed is that, given what was seen before, the expected gap of the next session is not
    negative while all is well: sessions come independently, and at every hour the mean is at least
    the mark.
    """

    mark: float
    evidence: Evidence

    @classmethod
    def fresh(cls, mark: float, guarantee: Guarantee, level: float) -> MarkAlarm:
        """mark: in (0, 1]. Raises ValueError for another one."""
        if not 0 < mark <= 1:
            raise ValueError("a mean in [0, 1] cannot be below this mark, or always is")
        return cls(min(mark, CLOSEST), Evidence.fresh(guarantee, level, len(FALLS)))

    def add(self, rows: Iterable[Observed], size: int, least: float = 1.0) -> bool:
        """Take one session; whether the alarm is raised with it. As `session_gap`."""
        gap = session_gap(rows, size, self.mark, least)
        self.evidence.add(factors_below(gap, self.mark))
        return self.evidence.alarmed


@dataclass(slots=True)
class Ranked:
    """The values of one scalar by hour of the day, each in order."""

    by_hour: dict[int, list[float]] = field(default_factory=dict)

    def p(self, value: float, hour: int, tie: float) -> float:
        """The share of what was seen at this hour that is larger, the value itself among it, ties
        split by `tie` in [0, 1); the value is then seen too.

        Independent and uniform where the values of an hour are exchangeable (Vovk, Gammerman &
        Shafer 2005, conformal prediction, here a category an hour of the day): a season that comes
        back daily is no drift.
        """
        from bisect import bisect_left, bisect_right, insort

        seen = self.by_hour.setdefault(hour, [])
        low, high = bisect_left(seen, value), bisect_right(seen, value)
        larger, equal = len(seen) - high, high - low + 1
        share = (larger + tie * equal) / (len(seen) + 1)
        insort(seen, value)
        return share


@dataclass(slots=True)
class DriftAlarm:
    """A conformal martingale on one scalar: its evidence that the values of later sessions are not
    like those of earlier ones at the same hour of the day.
    """

    evidence: Evidence
    ranked: Ranked = field(default_factory=Ranked)
    summed: float = 0.0

    @classmethod
    def fresh(cls, alpha: float) -> DriftAlarm:
        """alpha: chance of ever alarming where nothing changes."""
        return cls(Evidence.fresh("ever", alpha, len(TILTS) + len(BENDS)))

    def add(self, value: float, hour: int, tie: float) -> bool:
        """Take the value of one session; whether the alarm is raised. Raises ValueError where it is
        no number.
        """
        if not math.isfinite(value):
            raise ValueError(f"{value} cannot be ranked")
        self.evidence.add(factors_of_p(self.ranked.p(value, hour, tie)))
        return self.evidence.alarmed
