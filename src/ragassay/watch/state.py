"""What a watch keeps between its steps, as JSON in the store: cursors, alarms, and the reference of
its drift.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ragassay.scoring.evidence import Evidence, Guarantee, MarkAlarm
from ragassay.store.watches import Totals

LATEST = 200
"""Sessions among which it is looked for where a mean changed."""


@dataclass(slots=True)
class MarkState:
    """The alarm on one mark. since: Unix time when it was armed, or raised. total, sessions: sum
    and number of the sessions' means since then; latest: the last of these means, at most `LATEST`;
    highest: of their rows' values. raised: alerts so far. standing: an alert was raised, and the
    capital now is that of the bets that the mark holds again.
    """

    mark: float
    guarantee: Guarantee
    level: float
    capital: list[float]
    since: float
    seen: int = 0
    sessions: int = 0
    total: float = 0.0
    highest: float = 0.0
    raised: int = 0
    standing: bool = False
    latest: list[float] = field(default_factory=list)

    @classmethod
    def armed(
        cls, alarm: MarkAlarm, now: float, raised: int = 0, *, standing: bool = False
    ) -> MarkState:
        """Before the first session."""
        evidence = alarm.evidence
        return cls(
            alarm.mark,
            evidence.guarantee,
            evidence.level,
            list(evidence.capital),
            now,
            raised=raised,
            standing=standing,
        )

    def alarm(self) -> MarkAlarm:
        """The alarm that goes on from here; it changes this state's capital."""
        return MarkAlarm(self.mark, Evidence(self.guarantee, self.level, self.capital, self.seen))


@dataclass(slots=True)
class DriftState:
    """Where the streams of drift stand. Sessions are taken in the order of their last rows: begun,
    taken: the ids behind which the stream began and up to which it was taken, taken None in states
    of versions that knew no such order; sessions: taken since it began. after: scores are taken in
    the order of their counting, and began behind this stage. since: Unix time when the streams
    began. reference: mean and axes by which questions are placed, None until enough sessions came.
    """

    after: int = 0
    since: float = 0.0
    reference: dict[str, Any] | None = None
    raised: int = 0
    begun: int = 0
    taken: int | None = None
    sessions: int = 0


@dataclass(slots=True)
class State:
    """created: Unix time of the first step. now: the latest time that any step saw; it never goes
    back. cursor, log_cursor: how far changes of rows, and log records, were read; log_hash: of
    the last record that was. counted: sessions that were counted. late: rows of sessions that
    were counted before they came. revised: rows that changed after they were judged. unread:
    ratings that could not be read. judged_as: what determines the judge. down_since, down_why:
    since when the judge could not be asked (Unix time), and why; down_told: when that was last
    told of; tries: attempts since then; again: not before this time. notes: of clocks and
    restarts, newest last. bad_rated: traces that users rated bad. report: the last one as JSON,
    without the map, for those who look from outside; seed: that the map is drawn with. gone: of the
    rows that are not kept any more, state -> why -> how many; forgot: when old ratings, batches and
    alerts were deleted last (Unix time). too_little: US dollars left of the budgets with which no
    call could be made, 0 where there were enough. clock: what the clock said last, which lies
    behind `now` where it was set back. earlier: rows that came before the window of the first step,
    none of which is judged.
    """

    created: float
    now: float
    cursor: int = 0
    log_cursor: int = 0
    log_hash: str = ""
    counted: int = 0
    late: int = 0
    revised: int = 0
    unread: int = 0
    judged_as: str = ""
    down_since: float | None = None
    down_why: str = ""
    down_told: float = 0.0
    tries: int = 0
    again: float = 0.0
    marks: dict[str, MarkState] = field(default_factory=dict)
    drift: DriftState = field(default_factory=DriftState)
    notes: list[str] = field(default_factory=list)
    bad_rated: list[str] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    gone: dict[str, dict[str, int]] = field(default_factory=dict)
    forgot: float = 0.0
    too_little: float = 0.0
    clock: float = 0.0
    earlier: int = 0

    @property
    def by_clock(self) -> float:
        """The time by which what comes now is stamped."""
        return min(self.now, self.clock or self.now)

    def with_gone(self, more: Totals) -> dict[str, dict[str, int]]:
        """`gone` once these are, too."""
        gone = {state: dict(of) for state, of in self.gone.items()}
        for (state, why), rows in more.items():
            of = gone.setdefault(str(state), {})
            of[why] = of.get(why, 0) + rows
        return gone

    def note(self, text: str) -> None:
        """Keep a sentence for the report; the last few are kept."""
        self.notes = [*self.notes, text][-_MOST_NOTES:]

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        return asdict(self)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> State:
        """What was stored."""
        given = dict(stored)
        given.pop("shown", None)  # of versions that told less of a watch from outside
        given["marks"] = {name: MarkState(**mark) for name, mark in given["marks"].items()}
        given["drift"] = DriftState(**given["drift"])
        return cls(**given)


_MOST_NOTES = 5
