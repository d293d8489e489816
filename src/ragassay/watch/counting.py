"""The counting of sessions for alarms and drift, each once, in the order of their coming to rest.

A session is counted for what is known of every row (errors, latency, tokens, cost) when it is
quiet, and for what is judged when none of its sampled rows waits any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from ragassay.scoring.evidence import DriftAlarm, MarkAlarm, Observed
from ragassay.store.watches import (
    COUNTED,
    JUDGED,
    LATE,
    NAMED,
    OPEN,
    TRAFFIC,
    WatchRecords,
    WatchRow,
)
from ragassay.watch import sampling
from ragassay.watch.marks import AMOUNTS, ERROR_RATE, Mark
from ragassay.watch.reference import NAMES
from ragassay.watch.settings import Settings
from ragassay.watch.state import LATEST, DriftState, MarkState, State

_SESSIONS_A_STEP = 500
DRIFT_LEAST = 10
"""Sessions of a scalar before it is said how it stands."""


@dataclass(frozen=True, slots=True)
class Alert:
    """Something to tell. kind: "mark", "back" (a mark holds again), "drift" or "judge"; what it is
    about; text: one sentence or two, with the guarantee.
    """

    kind: str
    about: str
    text: str
    figures: Mapping[str, Any]

    def to_json(self, watch: str, now: float) -> dict[str, Any]:
        """As it is stored and sent."""
        raised = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        return {
            "watch": watch,
            "kind": self.kind,
            "about": self.about,
            "text": self.text,
            "raised": raised,
            **self.figures,
        }


class Counter:
    """Counts the sessions of one watch."""

    def __init__(self, records: WatchRecords, settings: Settings, state: State) -> None:
        self._records = records
        self._settings = settings
        self._state = state
        self._arm_marks()
        self.drift = Drift(settings, state.drift)
        self._rebuild_drift()

    def step(self, alert: Callable[[Alert], Mapping[str, Any]]) -> list[Alert]:
        """Count what came to rest; the alerts that were raised. alert: makes what is stored of
        one.
        """
        raised: list[Alert] = []
        quiet = int((self._state.now - self._settings.session_quiet_s) * 1000)
        for stage in (OPEN, TRAFFIC):
            while sessions := self._records.closed_sessions(
                self._settings.name, stage, quiet, _SESSIONS_A_STEP
            ):
                raised += self._page(stage, sessions, alert)
        return raised

    def restart_judged(self, why: str) -> None:
        """Begin the streams of what is judged anew: another judge says other things."""
        self._state.note(why)
        for mark in self._settings.marks:
            if not mark.judged:
                continue
            key = _key(mark, self._settings)
            before, anew = self._state.marks[key], self._armed(mark)
            anew.raised = before.raised
            self._state.marks[key] = anew
            if before.standing:
                self._state.note(
                    f"the alert on {mark.text} does not stand any more: whether the mark holds is"
                    " not known of this judge yet"
                )
        self.drift.restart(COUNTED + self._state.counted - 1, self._state.now)

    def _page(
        self,
        stage: int,
        sessions: Sequence[list[WatchRow]],
        alert: Callable[[Alert], Mapping[str, Any]],
    ) -> list[Alert]:
        name = self._settings.name
        stages: dict[int, int] = {}
        raised: list[Alert] = []
        before: set[bytes] = set()
        if stage == OPEN:
            named = [rows[0].session for rows in sessions if rows[0].session >= NAMED]
            before = self._records.counted_sessions(name, named)
        for rows in sessions:
            if stage == OPEN:
                is_late = rows[0].session in before
                self._state.late += len(rows) if is_late else 0
                if not is_late:
                    raised += self._traffic(rows)
                new = LATE if is_late else TRAFFIC
            else:
                new = COUNTED + self._state.counted
                self._state.counted += 1
                raised += self._judged(rows, new)
            for row in rows:
                stages[row.id] = new
        stored = [alert(each) for each in raised]
        self._records.counted(name, self._state.to_json(), stages, stored)
        return raised

    def _traffic(self, rows: Sequence[WatchRow]) -> list[Alert]:
        return self._count(rows, [mark for mark in self._settings.marks if not mark.judged])

    def _judged(self, rows: Sequence[WatchRow], stage: int) -> list[Alert]:
        raised = self._count(rows, [mark for mark in self._settings.marks if mark.judged])
        found = self.drift.add(rows, self._settings.seed)
        if found is not None:
            raised.append(found)
            self.drift.restart(stage, self._state.now)
        return raised

    def _count(self, rows: Sequence[WatchRow], marks: Sequence[Mark]) -> list[Alert]:
        raised = []
        for mark in marks:
            kept = self._state.marks[_key(mark, self._settings)]
            found = _observed(mark, rows)
            if not found:
                continue
            if self._observe(mark, kept, found, len(rows)):
                raised.append(self._turn(mark, kept))
        return raised

    def _observe(self, mark: Mark, kept: MarkState, found: Sequence[Observed], size: int) -> bool:
        """Take a session into the alarm on a mark; whether it has said enough."""
        least = self._settings.sample if mark.judged else 1.0
        # The sample may have been smaller when these rows came.
        least = min([least, *(row.chance for row in found)])
        weight = sum(1 / row.chance for row in found)
        kept.sessions += 1
        mean = sum(row.value / row.chance for row in found) / weight
        kept.total += mean
        kept.latest = [*kept.latest, mean][-LATEST:]
        kept.highest = max(kept.highest, *(row.value for row in found))
        if kept.standing:
            # That a mean is above its mark is that its opposite is below.
            found = [Observed(1 - row.value, row.chance) for row in found]
        alarm = kept.alarm()
        alarmed = alarm.add(found, size, least)
        kept.seen = alarm.evidence.seen
        return alarmed

    def _turn(self, mark: Mark, kept: MarkState) -> Alert:
        """An alert was raised and stands until the mark is known to hold again, or it does."""
        key, now = _key(mark, self._settings), self._state.now
        if kept.standing:
            again = self._armed(mark)
            again.raised = kept.raised
            self._state.marks[key] = again
            return _holds_again(mark, kept, self._settings)
        opposite = MarkAlarm.fresh(max(1 - mark.held, _LOWEST), "ever", self._settings.back_level)
        self._state.marks[key] = MarkState.armed(opposite, now, kept.raised + 1, standing=True)
        return _mark_alert(mark, kept, self._settings)

    def _arm_marks(self) -> None:
        """Arm the marks that are new, and let go of those that are no more. What is known of the
        others stays: more or fewer marks move the evidence that each of them needs.
        """
        before, kept = self._state.marks, {}
        for mark in self._settings.marks:
            key = _key(mark, self._settings)
            known = before.pop(key, None)
            if known is not None and not known.standing:
                known.level = self._settings.level_of_mark
            kept[key] = known or self._armed(mark)
        for key, gone in before.items():
            if gone.standing:
                self._state.note(f"the alert on {key} is let go: that mark is not watched any more")
        self._state.marks = kept

    def _armed(self, mark: Mark) -> MarkState:
        level = self._settings.level_of_mark
        alarm = MarkAlarm.fresh(mark.held, self._settings.guarantee, level)
        return MarkState.armed(alarm, self._state.now)

    def _rebuild_drift(self) -> None:
        if not self._state.drift.since:
            self._state.drift.since = self._state.now
        for rows in self._counted_since(self._state.drift.after):
            self.drift.add(rows, self._settings.seed)

    def _counted_since(self, after: int) -> Iterator[list[WatchRow]]:
        rows = self._records.in_order_of_counting(self._settings.name, after)
        for _, session in groupby(rows, key=lambda row: row.stage):
            yield list(session)


_LOWEST = 0.001
"""A mark of 1 holds again where the mean is above 1 less this."""


class Drift:
    """Conformal martingales on the scalars of sessions, each held to its share of alpha."""

    ALPHA = 0.05
    SCALARS = 12
    """Scalars among which alpha is shared: a fixed number, so that one that appears later changes
    nothing for the others.
    """

    def __init__(self, settings: Settings, state: DriftState) -> None:
        self._state = state
        self._settings = settings
        self.alarms: dict[str, DriftAlarm] = {}

    def restart(self, after: int, now: float) -> None:
        """Begin anew behind this stage."""
        self.alarms.clear()
        self._state.after, self._state.since = after, now
        self._state.reference = None

    def add(self, rows: Sequence[WatchRow], seed: int) -> Alert | None:
        """Take a session; what is to be told where a scalar drifted."""
        hour = datetime.fromtimestamp(rows[0].received / 1000, UTC).hour
        reference = self._state.reference or {}
        for name, value in _session_scalars(rows, reference.get("made")):
            if name not in self.alarms and len(self.alarms) >= self.SCALARS:
                continue
            fresh = DriftAlarm.fresh(self.ALPHA / self.SCALARS)
            alarm = self.alarms.setdefault(name, fresh)
            tie = sampling.place(rows[0].session, seed, f"tie of {name}")
            if alarm.add(value, hour, tie):
                self._state.raised += 1
                return self._alert(name, alarm)
        return None

    def _alert(self, name: str, alarm: DriftAlarm) -> Alert:
        seen = alarm.evidence.seen
        text = (
            f"{name} drifted: its values are no longer like the earlier ones at the same hour of"
            f" the day (conformal martingale at {alarm.evidence.value:.0f} after {seen} sessions;"
            f" chance of ever telling of a drift where there is none: at most {self.ALPHA:.0%} from"
            " each beginning on)."
        )
        return Alert("drift", name, text, {"sessions": seen, "evidence": alarm.evidence.value})


def _session_scalars(rows: Sequence[WatchRow], made: float | None) -> list[tuple[str, float]]:
    """The mean of each scalar over the rows of a session, and of each score over those judged.
    made: of the reference of this stream; what another one said of a row is left out.
    """
    values: dict[str, list[float]] = {}
    for row in rows:
        is_of_another = row.figures.get("reference") != made
        for name, value in row.figures.get("scalars", {}).items():
            if not (is_of_another and name.startswith(NAMES)):
                values.setdefault(name, []).append(value)
        if row.state != JUDGED:
            continue
        for metric, score in row.figures.get("scores", {}).items():
            if not metric.startswith("app_"):
                values.setdefault(f"score of {metric}", []).append(score)
    return [(name, sum(found) / len(found)) for name, found in sorted(values.items())]


def _observed(mark: Mark, rows: Sequence[WatchRow]) -> list[Observed]:
    """What the rows of a session say about a mark."""
    found = []
    for row in rows:
        if mark.judged and row.state != JUDGED:
            continue
        value = mark.value(row.figures)
        if value is not None:
            found.append(Observed(value, row.chance if mark.judged else 1.0))
    return found


def _key(mark: Mark, settings: Settings) -> str:
    return mark.text if settings.guarantee == "ever" else f"{mark.text}, one false alarm in N"


def guarantee_words(settings: Settings) -> str:
    """The promise of the alarms on marks, in words."""
    if settings.guarantee == "between":
        return f"on average at most one false alarm in {settings.level:,.0f} sessions"
    many = len(settings.marks) > 1
    over = f" over all {len(settings.marks)} marks" if many else ""
    return (
        f"chance of ever raising a false alarm{over}: at most {settings.level:.0%} from each arming"
        " on"
    )


def _mark_alert(mark: Mark, kept: MarkState, settings: Settings) -> Alert:
    mean = kept.total / kept.sessions
    latest = _since_the_change(mark, kept.latest)
    now, sessions = sum(latest) / len(latest), len(latest)
    where = f"over {kept.sessions} sessions since it was armed"
    if sessions < kept.sessions:
        where = f"over the latest {sessions} sessions; {_words(mark, mean)} {where}"
    text = f"{mark.text} does not hold: {_words(mark, now)} {where} ({guarantee_words(settings)})."
    if kept.highest < mark.held and not mark.passes:
        text += (
            " No session ever reached it: the mark may be out of reach of this judge, rather than"
            " quality fallen."
        )
    figures = {
        "mean": mark.shown(mean),
        "sessions": kept.sessions,
        "latest_mean": mark.shown(now),
        "latest_sessions": sessions,
        "guarantee": guarantee_words(settings),
    }
    return Alert("mark", mark.text, text, figures)


def _since_the_change(mark: Mark, means: Sequence[float]) -> Sequence[float]:
    """The latest sessions, from where they began to lie below the mark: the part at the end that
    falls short of it by most in all, as in Page's test (1954).
    """
    best, first, short = 0.0, 0, 0.0
    for place in range(len(means) - 1, -1, -1):
        short += mark.held - means[place]
        if short > best:
            best, first = short, place
    return means[first:]


def _holds_again(mark: Mark, kept: MarkState, settings: Settings) -> Alert:
    chance = f"{settings.back_level:.0%}"
    mean = kept.total / kept.sessions
    text = (
        f"{mark.text} holds again: {_words(mark, mean)} over {kept.sessions} sessions since"
        f" the alert (chance of saying so while it does not: at most {chance})."
    )
    return Alert("back", mark.text, text, {"mean": mark.shown(mean), "sessions": kept.sessions})


def _words(mark: Mark, mean: float) -> str:
    shown = mark.shown(mean)
    if mark.name == ERROR_RATE:
        return f"{shown:.1%}"
    return (
        f"{shown:.1%} of the rows within {mark.limit:g} {AMOUNTS[mark.name]}"
        if mark.limit is not None
        else f"{shown:.3f}"
    )
