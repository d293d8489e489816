"""One step after another of a watch: take in what arrived, judge what the budgets leave room for,
count what came to rest, and tell of alerts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from ragassay.core import SetupError
from ragassay.core.counting import count
from ragassay.report import as_json
from ragassay.runs.ticker import Tell
from ragassay.store import Store
from ragassay.store.watches import COUNTED, Totals, WatchRow
from ragassay.tracing.job import AssemblyJob, Patience
from ragassay.watch import labelling, results
from ragassay.watch.batches import NO_BUDGET, Batches, Outcome
from ragassay.watch.budgets import LONGEST_S
from ragassay.watch.counting import Alert, Counter, guarantee_words
from ragassay.watch.drift import drift_lines, questions_of, shifted
from ragassay.watch.figures import MOST_ROWS, rated, window_of
from ragassay.watch.intake import new_rows
from ragassay.watch.map import traffic_map
from ragassay.watch.outside import accounts_of, iso, spendings, standings
from ragassay.watch.reference import SESSIONS, Reference
from ragassay.watch.settings import Settings
from ragassay.watch.state import State
from ragassay.watch.targets import MOST_STEPS, Target, send
from ragassay.watch.trust import certified, judged_as
from ragassay.watch.values import Traffic

_TRACES_A_PAGE = 400
_LOGS_A_PAGE = 1_000
_DAY_S = 86_400
_JUMP_S = 300.0
"""A clock that goes back by more is told of."""
_STILL_S = 6 * 3_600.0
"""A watch that stood still for longer tells of it: the clock may have jumped as well."""
_DOWN_S = 3_600.0
"""A judge that cannot be asked for so long is an alert."""
_LONGEST_PAUSE_S = 600.0
_BEHIND_S = 900.0
"""Seconds that spans may wait to become a row, before that is told of."""
_REPORTS = 20
_ASSEMBLY_S = 30.0
"""Seconds of a step in which rows are made of traces."""
_MOST_RATED = 1_000
_FORGETS_S = 3_600.0
"""How often old ratings, batches and alerts are deleted."""
_WAITS = "not sent yet"
"""What stands beside a target of an alert until it is tried; "" once it was told."""


class Watcher:
    """A watch over one store. Use as a context: it holds the watch of its name alone."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        now: Callable[[], float] = time.time,
        tell: Tell | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._store = store
        self._patience = patience or Patience()
        self._records = store.watch_records
        self._settings = settings
        self._clock = now
        self._tell = tell or _silent
        self._batches = Batches(store, settings)
        self._reported = self._report_s = 0.0
        self._outrun = False
        self.interrupted = False

    def __enter__(self) -> Watcher:
        self._held = _held_alone(self._store, self._settings.name)
        self._held.__enter__()
        try:
            self._state = self._begin()
            self._counter = Counter(self._records, self._settings, self._state)
        except BaseException:
            self._held.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._held.__exit__(None, None, None)

    def step(self, *, patient: bool = True) -> None:
        """One step. patient: leave a judge that is down alone for a while; else ask it now."""
        self._look_at_the_clock()
        if not self._store.database.read_only:
            self._put_together()
        self._take_ratings()
        self._take_rows()
        self._finish_batches()
        if not self.interrupted:
            self._drop()
            self._judge(patient)
        for raised in self._counter.step(self._stored):
            self._tell(f"{'BACK' if raised.kind == 'back' else 'ALERT'} {raised.text}")
        self._reference()
        self._deliver()
        self._sweep()
        self._save()

    # -- what arrives

    def _begin(self) -> State:
        stored = self._records.state(self._settings.name)
        moment = self._clock()
        if stored is None:
            return State(created=moment, now=moment)
        return State.of(stored)

    def _look_at_the_clock(self) -> None:
        """Move on to the present; a clock that was set back moves nothing."""
        state, moment = self._state, self._clock()
        behind = state.now - moment
        if behind > _JUMP_S:
            self._note(
                f"the clock is {_hours(behind)} behind where it was: until it catches up, time"
                " stands still here and no budget is given back"
            )
        elif moment - state.now > _STILL_S and state.cursor:
            self._note(
                f"no step was made for {_hours(moment - state.now)}: the watch stood still, or the"
                " clock jumped ahead"
            )
        state.now, state.clock = max(state.now, moment), moment

    def _note(self, text: str) -> None:
        if text not in self._state.notes:
            self._state.note(text)
            self._tell(text)

    def _put_together(self) -> None:
        """Make rows of the traces that are ready; what is left over waits for the next step, so
        that judging and alarms wait for no traffic.
        """
        begun = time.monotonic()
        AssemblyJob(self._store.span_records, self._patience).catch_up(seconds=_ASSEMBLY_S)
        self._outrun = time.monotonic() - begun >= _ASSEMBLY_S

    def _take_ratings(self) -> None:
        state, spans = self._state, self._store.span_records
        # Numbers of log records begin anew after all of them were deleted. Where the last one that
        # was read is gone, what is there is read from the beginning: of a rating that is read
        # twice the last one counts.
        if state.log_hash and spans.log_hash(state.log_cursor).hex() != state.log_hash:
            state.log_cursor = 0
        while logs := spans.logs_after(state.log_cursor, _LOGS_A_PAGE):
            found, unread = results.ratings_in(logs)
            state.unread += unread
            state.log_cursor, state.log_hash = logs[-1].number, logs[-1].hash.hex()
            bad = [rating.trace.hex() for rating in found if rating.value < 0.5]
            state.bad_rated = [*state.bad_rated, *bad][-_MOST_RATED:]
            self._records.take_in(self._settings.name, state.to_json(), [], found)

    def _take_rows(self) -> None:
        state = self._state
        stored = state.drift.reference
        reference = None if stored is None else Reference(stored)
        while changed := self._store.span_records.changes(state.cursor, _TRACES_A_PAGE):
            rows = new_rows(changed, self._records, self._settings, state, reference)
            state.cursor = max(trace.number for trace in changed)
            self._records.take_in(self._settings.name, state.to_json(), rows)

    def _drop(self) -> None:
        """Drop what waited too long, and all that waits where a budget is 0."""
        state = self._state
        if any(budget.amount == 0 for budget in self._settings.budgets):
            while self._batches.drop_overdue(state.now + 1, NO_BUDGET):
                pass
        while self._batches.drop_overdue(state.now - self._settings.patience_s):
            pass

    # -- judging

    def _finish_batches(self) -> None:
        """Write what a watch that was killed had bought, before rows are dropped that it was bought
        for.
        """
        for batch in self._batches.unfinished():
            self._after(self._batches.go_on(batch, self._state.now, self._tell))

    def _judge(self, patient: bool) -> None:
        state = self._state
        if patient and state.now < state.again:
            return
        while not self.interrupted:
            left = self._batches.room(state.now)
            if left.dollars is not None and left.dollars <= state.too_little:
                state.too_little = left.dollars
                return  # not one call could be made of it
            rows = self._batches.chosen(left)
            if not rows:
                return
            begun = self._batches.begin(rows, left, state.now)
            if begun is None:
                continue
            outcome = self._batches.judge(begun, self._tell)
            judged = self._after(outcome)
            state.too_little = 0.0
            if not judged:
                if outcome.capped and left.dollars is not None:
                    state.too_little = left.dollars
                return

    def _after(self, outcome: Outcome) -> int:
        """What a batch brings with it; how many rows it judged."""
        run = outcome.run
        try:
            if outcome.interrupted:
                self.interrupted = True
                return 0
            if run is not None:
                self._same_judge(run.id)
            judged, _ = self._batches.settle(outcome, max(self._state.now, self._clock()))
            self._note_outage(outcome.down, judged)
            if run is None or not judged:
                return judged
            rows = self._records.in_batch(self._settings.name, outcome.batch.number)
            labelling.queue(run, rows, self._settings)
            self._emit(rows)
            return judged
        finally:
            if run is not None:
                run.close()

    def _same_judge(self, run: str) -> None:
        """Begin the streams of judged figures anew where another judge gave these."""
        now_by = judged_as(self._store, run)
        before, self._state.judged_as = self._state.judged_as, now_by
        if before and before != now_by:
            self._counter.restart_judged(
                "the judge changed (rubric, model or parameters): marks and drift of what is judged"
                " begin anew"
            )

    def _note_outage(self, down: str, judged: int) -> None:
        state = self._state
        if judged or not down:
            if state.down_since is not None and judged:
                self._tell("the judge answers again")
                state.down_since, state.down_why = None, ""
                state.tries, state.again, state.down_told = 0, 0.0, 0.0
            return
        if state.down_since is None:
            state.down_since = state.now
        state.down_why = down
        state.tries += 1
        state.again = state.now + min(_LONGEST_PAUSE_S, 30.0 * 2 ** min(state.tries, 10))
        self._tell(f"the judge cannot be asked: {down} What is sampled waits.")
        if state.now - max(state.down_since, state.down_told) >= _DOWN_S:
            text = (
                f"The judge could not be asked for {_hours(state.now - state.down_since)}: {down}"
                " Sampled rows wait, and nothing is said of their quality."
            )
            # Once an hour, not with each try.
            state.down_told = state.now
            alert = self._stored(Alert("judge", "outage", text, {}))
            self._records.counted(self._settings.name, state.to_json(), {}, [alert])
            self._tell(f"ALERT {text}")

    def _emit(self, rows: Sequence[WatchRow]) -> None:
        made = results.events(self._settings.name, rows, self._state.now)
        results.keep(self._store, made)
        if self._settings.collector:
            why = results.export(made, self._settings.collector, {})
            if why:
                self._note(f"results were not sent to the collector: {why}")

    # -- what is told

    def _stored(self, alert: Alert) -> Mapping[str, Any]:
        # A target that is named later is not told of what was before its time.
        told = {target.shown: _WAITS for target in self._settings.targets}
        return {**alert.to_json(self._settings.name, self._state.now), "told": told, "steps": 0}

    def _deliver(self) -> None:
        """Tell the targets of what they were not told yet."""
        if not self._settings.targets:
            return
        failed: set[str] = set()
        for number, alert in reversed(self._records.alerts(self._settings.name)):
            told = dict(alert.get("told", {}))
            open_ = [each for each in self._settings.targets if told.get(each.shown)]
            # One that did not answer is not waited for once more in this step.
            waiting = [each for each in open_ if each.shown not in failed]
            if not waiting or alert.get("steps", 0) >= MOST_STEPS:
                continue
            for target in waiting:
                told[target.shown] = self._sent(target, alert)
                if told[target.shown]:
                    failed.add(target.shown)
            changed = {**alert, "told": told, "steps": alert.get("steps", 0) + 1}
            self._records.put_alert(number, changed)

    def _sent(self, target: Target, alert: Mapping[str, Any]) -> str:
        message = {name: value for name, value in alert.items() if name not in ("told", "steps")}
        why = send(target, message, allow_private=self._settings.allow_private)
        self._tell(f"{target.shown}: {why or 'told'}")
        return why

    # -- what is kept

    def _reference(self) -> None:
        """Make the reference of drift once enough sessions came since the stream began."""
        drift = self._state.drift
        if drift.reference is not None or drift.sessions < SESSIONS or drift.taken is None:
            return
        first = self._records.in_order_of_last_rows(
            self._settings.name, drift.begun, drift.begun, drift.taken
        )
        rows = list(chain.from_iterable(islice(first, SESSIONS)))
        texts = [text for _, text in questions_of(rows, self._store.span_records)]
        if len(texts) >= SESSIONS // 2:
            drift.reference = Reference.of(texts, drift.since).stored

    def _sweep(self) -> None:
        """Let go of rows that are older than is kept; the stream of drift begins anew as often."""
        state, keep_s = self._state, self._settings.keep_days * _DAY_S
        if state.now - state.drift.since > keep_s:
            self._counter.drift.restart(COUNTED + state.counted - 1, state.now)
        before = int((state.now - keep_s) * 1000)
        name, last, begun = self._settings.name, state.drift.after, state.drift.begun

        def without(gone: Totals) -> dict[str, Any]:
            return {**state.to_json(), "gone": state.with_gone(gone)}

        while gone := self._records.drop_before(name, before, last, begun, without):
            state.gone = state.with_gone(gone)
        self._counter.keep_to_ids()
        if state.now - state.forgot > _FORGETS_S:
            state.forgot = state.now
            self._records.forget_before(name, state.now - keep_s - LONGEST_S)

    def _save(self) -> None:
        self._records.put_state(self._settings.name, self._state.to_json())

    def _keep(self, report: Traffic) -> None:
        """Keep a report for those who look from outside, so that they see the same figures. What
        users asked is not in it: their texts are deleted with the spans.
        """
        shift = report.shifted and replace(report.shifted, examples=())
        kept = as_json(replace(report, map=None, shifted=shift))
        assert isinstance(kept, dict)
        self._state.report, self._state.seed = kept, self._settings.seed
        self._save()

    # -- the report

    def refresh(self) -> None:
        """Keep a new report for those who look from outside, where making them takes no more than
        a twentieth of the time.
        """
        if time.monotonic() - self._reported >= _REPORTS * self._report_s:
            self.report()

    def report(self, *, with_map: bool = False) -> Traffic:
        """How things stand now. with_map: also the map of the window's questions."""
        begun = time.monotonic()
        made = self._made(with_map)
        self._keep(made)
        self._reported = time.monotonic()
        self._report_s = self._reported - begun
        return made

    def _made(self, with_map: bool) -> Traffic:
        state, settings = self._state, self._settings
        name = settings.name
        since = int((state.by_clock - settings.window_s) * 1000)
        window, rows = window_of(self._records.rows(name, since, MOST_ROWS))
        accounts = accounts_of(self._records, name, state)
        recent = self._records.batches(name, state.now - max(settings.window_s, LONGEST_S))
        runs = self._runs([batch.run for batch in recent])
        shift, drift_note = shifted(
            list(self._records.rows(name, 0, MOST_ROWS)),
            self._store.span_records,
            state.by_clock,
            settings.seed,
        )
        drawn, why = None, ""
        if with_map:
            drawn, why = traffic_map(rows, self._store.span_records, settings.seed)
        last = self._records.last_received(name)
        return Traffic(
            name=name,
            judge=str(settings.judging.get("judge", "offline")),
            metrics=settings.metrics,
            at=iso(state.now),
            since=iso(state.created),
            window_s=settings.window_s,
            sample=settings.sample,
            arrived=accounts.arrived,
            sampled=accounts.sampled,
            judged=accounts.judged,
            dropped=accounts.dropped,
            pending=accounts.pending,
            window=window,
            last_row="" if last is None else iso(last / 1000),
            budgets=tuple(spendings(settings.budgets, self._records, name, state.now)),
            guarantee=guarantee_words(settings),
            marks=tuple(standings([mark.text for mark in settings.marks], state)),
            alerts=tuple(alert for _, alert in self._records.alerts(name, 20)),
            drift=tuple(drift_lines(self._counter.drift.alarms)),
            shifted=shift,
            drift_note=drift_note,
            certificates=tuple(certified(self._store, runs, state.now)),
            ratings=tuple(rated(self._records.ratings(name, since), rows)),
            labels=tuple(self._labels(runs, rows)),
            notes=(*self._notes(), *filter(None, [why])),
            outage=state.down_why,
            last_run=next((batch.run for batch in reversed(recent) if batch.rows), ""),
            map=drawn,
        )

    def _runs(self, names: Sequence[str]) -> list[str]:
        """The ids of the runs of batches, in order."""
        by_name = self._store.runs_named(names)
        return [by_name[name] for name in names if name in by_name]

    def _labels(self, runs: Sequence[str], rows: Sequence[WatchRow]) -> list[labelling.Labelled]:
        from ragassay.watch.batches import row_id

        verdicts = {row_id(row): row.figures.get("verdicts", {}) for row in rows}
        return labelling.standing(self._store, runs, verdicts, self._settings.metrics)

    def _notes(self) -> Iterator[str]:
        state = self._state
        yield from state.notes
        waiting, oldest = self._store.span_records.waiting()
        behind = 0.0 if oldest is None else state.now - oldest / 1000
        if behind > _BEHIND_S or (self._outrun and waiting):
            yield (
                f"{count(waiting, 'trace waits', 'traces wait')} to become rows, the oldest for"
                f" {_hours(behind)}: rows come faster than they are put together, or some have no"
                " root"
            )
        yield from _notes_on_rows(state)
        free = self._settings.free
        if free and any(budget.unit == "dollars" for budget in self._settings.budgets):
            yield "this judge costs nothing: a budget in dollars limits nothing unless it is 0"
        if state.too_little:
            yield f"the ${state.too_little:.4f} left of the budget may not pay for the next call"
        if state.down_why:
            yield f"the judge cannot be asked: {state.down_why}"


def _notes_on_rows(state: State) -> Iterator[str]:
    """What became of rows and ratings that came at another time or in another form than usual."""
    if state.earlier:
        rows = count(state.earlier, "row")
        yield (
            f"{rows} came before the window of the first start: none of them is judged (a watch of"
            " another --name with a longer --window would)"
        )
    if state.late:
        late = count(state.late, "row came after its", "rows came after their")
        yield f"{late} session was counted: in rates, in no alarm"
    if state.revised == 1:
        yield "1 row changed after it was judged: it stands as judged"
    elif state.revised:
        yield f"{state.revised:,} rows changed after they were judged: they stand as judged"
    if state.unread == 1:
        yield "1 rating is on no scale from 0 to 1 and was not read"
    elif state.unread:
        yield f"{state.unread:,} ratings are on no scale from 0 to 1 and were not read"


def _silent(_: str) -> None:
    """Tell nobody."""


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.0f} min"


@contextmanager
def _held_alone(store: Store, name: str) -> Iterator[None]:
    """Hold the watch of this name, on this machine, until the block ends or the process dies.
    Raises SetupError E1304 where another process does.
    """
    path = store.beside(f"watch-{name}.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            import fcntl
        except ImportError:  # not on Windows
            yield
            return
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SetupError(
                "E1304",
                f"The watch {name!r} is running already.",
                where=str(path),
                fix="stop the other one, or give this one another --name",
            ) from None
        yield
    finally:
        os.close(descriptor)
