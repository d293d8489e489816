"""The counting of sessions for alarms and drift, each once, in the order of their coming to rest.

A session is counted for what is known of every row (errors, latency, tokens, cost) when it is
quiet, and for what is judged when none of its sampled rows waits any more. How long that takes
depends on what its rows are like, so drift of what is known of every row takes the sessions in the
order of their last rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby, islice
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
        quiet = int((self._state.by_clock - self._settings.session_quiet_s) * 1000)
        for stage in (OPEN, TRAFFIC):
            while sessions := self._records.closed_sessions(
                self._settings.name, stage, quiet, _SESSIONS_A_STEP
            ):
                raised += self._page(stage, sessions, alert)
            if stage == OPEN:
                raised += self._known_drift(alert)
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
        self.drift.restart_scores(COUNTED + self._state.counted - 1)

    def _known_drift(self, alert: Callable[[Alert], Mapping[str, Any]]) -> list[Alert]:
        """Take what is known of every row of the sessions whose turn it is."""
        name, raised = self._settings.name, list[Alert]()
        up_to = self._records.settled_up_to(name)
        sessions = self._sessions_up_to(up_to)
        while some := list(islice(sessions, _SESSIONS_A_STEP)):
            found = self._take_until_one_is_told(some)
            stored = [alert(each) for each in found]
            self._records.counted(name, self._state.to_json(), {}, stored)
            if found:
                raised += found
                sessions = self._sessions_up_to(up_to)
        return raised

    def _take_until_one_is_told(self, sessions: Iterable[Sequence[WatchRow]]) -> list[Alert]:
        for rows in sessions:
            found = self.drift.take(rows, self._settings.seed)
            if found is not None:
                self.drift.restart(COUNTED + self._state.counted - 1, self._state.now)
                return [found]
        return []

    def _sessions_up_to(self, up_to: int) -> Iterator[list[WatchRow]]:
        """The next sessions that drift takes."""
        drift = self._state.drift
        name, taken = self._settings.name, drift.taken or 0
        return self._records.in_order_of_last_rows(name, drift.begun, taken, up_to)

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
        found = self.drift.take_scores(rows, self._settings.seed)
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
        drift = self._state.drift
        if not drift.since:
            drift.since = self._state.now
        if drift.taken is None:
            # Of a version that took sessions in another order: the stream begins anew.
            drift.begun = drift.taken = self._records.last_id() if self._state.cursor else 0
        self.keep_to_ids()
        self._retake(drift.taken)
        for rows in self._counted_since(drift.after):
            self.drift.take_scores(rows, self._settings.seed)

    def keep_to_ids(self) -> None:
        """See to it that rows which get ids of deleted ones are not held for taken."""
        drift, last = self._state.drift, self._records.last_id()
        drift.begun, drift.taken = min(drift.begun, last), min(drift.taken or 0, last)

    def _retake(self, up_to: int) -> None:
        """Take once more what was taken up to this id."""
        drift = self._state.drift
        drift.taken, drift.sessions = drift.begun, 0
        for rows in self._sessions_up_to(up_to):
            self.drift.take(rows, self._settings.seed)
        drift.taken = up_to

    def _counted_since(self, after: int) -> Iterator[list[WatchRow]]:
        rows = self._records.in_order_of_counting(self._settings.name, after)
        for _, session in groupby(rows, key=lambda row: row.stage):
            yield list(session)


_LOWEST = 0.001
"""A mark of 1 holds again where the mean is above 1 less this."""


class Drift:
    """Conformal martingales on the scalars of sessions, each held to its share of alpha: of those
    that are known of every row, and of the scores of those that are judged.
    """

    ALPHA = 0.05
    SCALARS = 12
    """Scalars among which alpha is shared: a fixed number, so that one that appears later changes
    nothing for the others.
    """
    KNOWN = 7
    """Of these what is known of every row at most; the others are scores."""

    def __init__(self, settings: Settings, state: DriftState) -> None:
        self._state = state
        self._settings = settings
        self._known: dict[str, DriftAlarm] = {}
        self._scores: dict[str, DriftAlarm] = {}

    @property
    def alarms(self) -> dict[str, DriftAlarm]:
        """All alarms, by scalar."""
        return self._known | self._scores

    def restart(self, after: int, now: float) -> None:
        """Begin all streams anew: scores behind this stage, the others where they stand."""
        self._known.clear()
        self._state.begun, self._state.since = self._state.taken or 0, now
        self._state.sessions, self._state.reference = 0, None
        self.restart_scores(after)

    def restart_scores(self, after: int) -> None:
        """Begin the streams of scores anew behind this stage."""
        self._scores.clear()
        self._state.after = after

    def take(self, rows: Sequence[WatchRow], seed: int) -> Alert | None:
        """Take what is known of the rows of a session; what is to be told where that drifted."""
        self._state.taken = rows[-1].id
        self._state.sessions += 1
        made = (self._state.reference or {}).get("made")
        return self._add(self._known, self.KNOWN, rows, _known_scalars(rows, made), seed)

    def take_scores(self, rows: Sequence[WatchRow], seed: int) -> Alert | None:
        """Take the scores of a session; what is to be told where one drifted."""
        most = self.SCALARS - self.KNOWN
        return self._add(self._scores, most, rows, _score_scalars(rows), seed)

    def _add(
        self,
        alarms: dict[str, DriftAlarm],
        most: int,
        rows: Sequence[WatchRow],
        scalars: Mapping[str, float],
        seed: int,
    ) -> Alert | None:
        hour = datetime.fromtimestamp(rows[0].received / 1000, UTC).hour
        for name, value in scalars.items():
            if name not in alarms and len(alarms) >= most:
                continue
            alarm = alarms.setdefault(name, DriftAlarm.fresh(self.ALPHA / self.SCALARS))
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


def _known_scalars(rows: Sequence[WatchRow], made: float | None) -> dict[str, float]:
    """The mean of each scalar over the rows of a session. made: of the reference of this stream;
    what another one said of a row is left out.
    """
    values: dict[str, list[float]] = {}
    for row in rows:
        is_of_another = row.figures.get("reference") != made
        for name, value in row.figures.get("scalars", {}).items():
            if not (is_of_another and name.startswith(NAMES)):
                values.setdefault(name, []).append(value)
    return _means(values)


def _score_scalars(rows: Sequence[WatchRow]) -> dict[str, float]:
    """The mean of each score over the rows of a session that were judged."""
    values: dict[str, list[float]] = {}
    for row in rows:
        scores = row.figures.get("scores", {}) if row.state == JUDGED else {}
        for metric, score in scores.items():
            if not metric.startswith("app_"):
                values.setdefault(f"score of {metric}", []).append(score)
    return _means(values)


def _means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: sum(found) / len(found) for name, found in sorted(values.items())}


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


def _since_the_change(
    mark: Mark, means: Sequence[float], *, is_back: bool = False
) -> Sequence[float]:
    """The latest sessions, from where they began to lie below the mark, or above it (is_back): the
    part at the end that is farthest from it in all, as in Page's test (1954).
    """
    best, first, away = 0.0, 0, 0.0
    for place in range(len(means) - 1, -1, -1):
        away += (means[place] - mark.held) if is_back else (mark.held - means[place])
        if away > best:
            best, first = away, place
    return means[first:]


def _holds_again(mark: Mark, kept: MarkState, settings: Settings) -> Alert:
    chance = f"{settings.back_level:.0%}"
    mean = kept.total / kept.sessions
    latest = _since_the_change(mark, kept.latest, is_back=True)
    now, sessions = sum(latest) / len(latest), len(latest)
    where = f"over {kept.sessions} sessions since the alert"
    if sessions < kept.sessions:
        where = f"over the latest {sessions} sessions; {_words(mark, mean)} {where}"
    text = (
        f"{mark.text} holds again: {_words(mark, now)} {where} (chance of saying so while it does"
        f" not: at most {chance})."
    )
    figures = {
        "mean": mark.shown(mean),
        "sessions": kept.sessions,
        "latest_mean": mark.shown(now),
        "latest_sessions": sessions,
    }
    return Alert("back", mark.text, text, figures)


def _words(mark: Mark, mean: float) -> str:
    shown = mark.shown(mean)
    if mark.name == ERROR_RATE:
        return f"{shown:.1%}"
    return (
        f"{shown:.1%} of the rows within {mark.limit:g} {AMOUNTS[mark.name]}"
        if mark.limit is not None
        else f"{shown:.3f}"
    )
