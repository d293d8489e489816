"""Batches of a watch: sampled rows that are judged together as a run, within the budgets.

A batch is stored before its run begins, with the file of its rows beside the store. A watch that
was killed resumes that run: nothing that was judged is bought again, and what it cost counts. The
rows of a batch are taken in an order that is drawn by the seed, so that those for which a budget
leaves no room are a random part of what waited.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from ragassay import api
from ragassay.core import (
    BudgetExhausted,
    Ledger,
    RagAssayError,
    RowResult,
    RunState,
    SetupError,
    Status,
    shorten,
)
from ragassay.runs.run import Run
from ragassay.store import Store
from ragassay.store.watches import DROPPED, JUDGED, PENDING, Judging, WatchBatch, WatchRow
from ragassay.watch import sampling
from ragassay.watch.budgets import LONGEST_S, Room, room
from ragassay.watch.settings import BATCH_ROWS, Settings

MOST_TRIES = 5
"""Batches in which a row's judgments may fail before the row is dropped."""
OVERDUE, FAILED, NO_TEXT, GONE, NO_BUDGET = (
    "waited too long",
    "judging failed",
    "no question and no response",
    "its texts were deleted",
    "no budget",
)
"""Why a sampled row is dropped."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a batch. run: its run where one was made, closed by the caller. down: why the
    judge could not be asked, "" where it could. interrupted: Ctrl-C ended the run. capped: what the
    budgets left ended it.
    """

    batch: WatchBatch
    rows: tuple[WatchRow, ...]
    run: Run | None
    down: str = ""
    interrupted: bool = False
    capped: bool = False


class Batches:
    """The batches of one watch in one store."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._records = store.watch_records
        self._settings = settings

    def room(self, now: float) -> Room:
        """What the budgets leave."""
        recent = self._records.batches(self._settings.name, now - LONGEST_S)
        return room(self._settings.budgets, recent, now)

    def unfinished(self) -> list[WatchBatch]:
        """Batches that were begun and are not settled: of a watch that was killed."""
        recent = self._records.batches(self._settings.name, float("inf"))
        return [batch for batch in recent if batch.ended is None]

    def chosen(self, left: Room) -> list[WatchRow]:
        """The rows of the next batch; none where nothing waits or nothing may be spent."""
        if left.full:
            return []
        name, seed = self._settings.name, self._settings.seed
        # Of all that waits: a part of it by any other order would be no random one, and what is
        # left of the others would say nothing of them.
        waiting = self._records.waiting(name)
        most = BATCH_ROWS if left.rows is None else min(BATCH_ROWS, left.rows)
        first = heapq.nsmallest(
            most, waiting, key=lambda row: (sampling.place(row[1], seed, "order"), row[0])
        )
        return self._records.numbered(name, [number for number, _ in first])

    def begin(self, rows: Sequence[WatchRow], left: Room, now: float) -> WatchBatch | None:
        """Store a batch of these rows, and the file that holds them; None where none of them can be
        judged.
        """
        texts = self._store.span_records.rows_of([row.trace for row in rows])
        lines, kept, dropped = [], [], []
        for row in rows:
            payload = texts.get((row.trace, row.number))
            why = GONE
            if payload is not None:
                found = orjson.loads(payload)["row"]
                why = "" if found.get("question") or found.get("response") else NO_TEXT
            if why:
                dropped.append(Judging(row.id, DROPPED, why, row.figures))
                continue
            kept.append(row.id)
            lines.append(orjson.dumps({**found, "id": row_id(row)}))
        if dropped:
            self._records.settle(self._settings.name, dropped)
        if not kept:
            return None
        number = self._records.last_batch(self._settings.name) + 1
        notes = {"max_calls": left.calls, "max_cost": left.dollars}
        if self._settings.free:
            notes["max_cost"] = None
        batch = WatchBatch(number, now, None, len(kept), 0, 0.0, self._run_name(number), notes)
        self._write(self._file(batch), b"\n".join(lines) + b"\n")
        self._records.begin_batch(self._settings.name, batch, kept)
        return batch

    def go_on(self, batch: WatchBatch, now: float, tell: Callable[[str], None]) -> Outcome:
        """Go on with a batch of a watch that was killed, with no more than the budgets leave now:
        they may be others than when it was begun. What was bought before is written in any case.
        """
        others = self._records.batches(self._settings.name, now - LONGEST_S)
        others = [other for other in others if other.number != batch.number]
        left = room(self._settings.budgets, others, now)
        ledger = self._bought(batch)
        is_over = bool(left.full) or (left.rows is not None and left.rows < batch.rows)
        calls, cost = _calls(ledger), 0.0 if self._settings.free else _cost(ledger)
        if is_over and not calls:
            return Outcome(batch, self._rows(batch), None, capped=True)
        notes = {
            "max_calls": _cap(batch.notes.get("max_calls"), left.calls, calls, is_over),
            "max_cost": _cap(batch.notes.get("max_cost"), left.dollars, cost or 0.0, is_over=False),
        }
        if self._settings.free:
            notes["max_cost"] = None
        changed = replace(batch, notes=notes)
        self._records.put_batch(self._settings.name, changed)
        return self.judge(changed, tell)

    def judge(self, batch: WatchBatch, tell: Callable[[str], None]) -> Outcome:
        """Judge a batch, or go on with one that was begun."""
        rows = self._rows(batch)
        run, down, capped = None, "", False
        try:
            run = self._run(batch, tell)
        except BudgetExhausted:
            capped = True
        except RagAssayError as error:
            # A wrong set-up is no outage: it is said before anything else is tried.
            if error.code not in _OUTAGES:
                self._give_up(batch)
                raise _said_here(error) from None
            down = error.what
        if run is None:
            run = self._found(batch)
        elif run.state is RunState.FAILED:
            down = down or run.stop_reason or "its run failed"
        capped = capped or (run is not None and run.state is RunState.BUDGET)
        interrupted = run is not None and run.state is RunState.INTERRUPTED
        return Outcome(batch, rows, run, down, interrupted, capped)

    def settle(self, outcome: Outcome, now: float) -> tuple[int, int]:
        """Write what came of a batch: (rows judged, rows that failed once more)."""
        results: dict[str, RowResult] = {}
        ledger = Ledger()
        if outcome.run is not None:
            results = {result.id: result for result in outcome.run.rows()}
            ledger = outcome.run.ledger
        judgings = []
        asked = 0
        for row in outcome.rows:
            if row.state == PENDING:
                each = _judging(row, results.get(row_id(row)), bool(outcome.down))
                judgings.append(each)
                # A row that the judge was not asked about takes nothing of a budget of rows.
                asked += each.state != PENDING or each.figures != row.figures
        judged = sum(each.state == JUDGED for each in judgings)
        cost = 0.0 if self._settings.free else _cost(ledger)
        ended = replace(outcome.batch, ended=now, rows=asked, calls=_calls(ledger), cost=cost)
        self._records.settle(self._settings.name, judgings, ended)
        self._file(outcome.batch).unlink(missing_ok=True)
        return judged, len(judgings) - judged

    def drop_overdue(self, before: float, why: str = OVERDUE, most: int = 10_000) -> int:
        """Drop rows that were taken in before this time (Unix) and still wait; how many."""
        waiting = self._records.pending(self._settings.name, most)
        old = [row for row in waiting if row.figures.get("taken", 0) <= before]
        self._records.settle(
            self._settings.name, [Judging(row.id, DROPPED, why, row.figures) for row in old]
        )
        return len(old)

    def _run(self, batch: WatchBatch, tell: Callable[[str], None]) -> Run:
        caps = {name: batch.notes.get(name) for name in ("max_calls", "max_cost")}
        address = self._store.address
        if self._found(batch, close=True) is not None:
            given = {name: cap for name, cap in caps.items() if cap is not None}
            return api.resume(batch.run, store=address, tell=tell, **given)  # type: ignore[arg-type]
        options = {**self._settings.judging, **caps}
        return api.evaluate(
            str(self._file(batch)),
            store=address,  # type: ignore[arg-type]
            name=batch.run,
            keep={"watch": self._settings.name},
            **options,
        )

    def _found(self, batch: WatchBatch, *, close: bool = False) -> Run | None:
        """The run of a batch, None before there is one."""
        run_id = self._store.runs_named([batch.run]).get(batch.run)
        if run_id is None:
            return None
        run = api.open_run(run_id, store=self._store.address)  # type: ignore[arg-type]
        if close:
            run.close()
        return run

    def _rows(self, batch: WatchBatch) -> tuple[WatchRow, ...]:
        return tuple(self._records.in_batch(self._settings.name, batch.number))

    def _bought(self, batch: WatchBatch) -> Ledger:
        run = self._found(batch)
        if run is None:
            return Ledger()
        try:
            return run.ledger
        finally:
            run.close()

    def _give_up(self, batch: WatchBatch) -> None:
        """Let go of the rows of a batch that could not be begun: they wait on, and none of them
        counts for a budget.
        """
        ended = replace(batch, ended=batch.created, rows=0)
        self._records.put_batch(self._settings.name, ended)
        self._file(batch).unlink(missing_ok=True)

    def _run_name(self, number: int) -> str:
        return f"watch {self._settings.name} {number}"

    def _file(self, batch: WatchBatch) -> Path:
        return self._store.beside(f"watch-{self._settings.name}-{batch.number}.jsonl")

    @staticmethod
    def _write(path: Path, content: bytes) -> None:
        """All of it or nothing, readable by its owner only: it holds what users said."""
        unfinished = path.with_suffix(".part")
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(content)
        unfinished.replace(path)


def row_id(row: WatchRow) -> str:
    """The id that a row of a trace has in its run."""
    return row.trace.hex() if row.number == 1 else f"{row.trace.hex()}-{row.number}"


_EXAMPLE = {
    "id": "example",
    "question": "When did it open?",
    "contexts": [{"id": "a", "text": "It opened in 1932."}],
    "response": "In 1932.",
    "reference": "1932",
    "relevant_ids": ["a"],
}


def check_judge(settings: Settings, store: str | os.PathLike[str] | None) -> None:
    """Raise what a first row would meet where the judge cannot be made: a key or a price that is
    missing. Nothing is sent.
    """
    if settings.free:
        return
    options = dict(settings.judging)
    if any(budget.unit == "dollars" for budget in settings.budgets):
        options["max_cost"] = 1.0  # which needs a price, as what is left of the budget does
    try:
        api.forecast([_EXAMPLE], store=store, **options)
    except RagAssayError as error:
        if error.code.startswith("E04") or error.code == "E0101":
            raise _said_here(error) from None


def _said_here(error: RagAssayError) -> RagAssayError:
    """An error with a way out that a watch has."""
    if error.code != "E0406":
        return error
    fix = (
        "give --price IN,OUT (US dollars per million tokens), or hold calls in place of dollars:"
        " --budget '500 calls/hour'"
    )
    return SetupError(error.code, error.what, where=error.where, fix=fix)


_OUTAGES = ("E0405", "E0408", "E0409", "E0411")
"""Codes that say that the judge cannot be asked now."""


def _cap(begun_with: float | None, left: float | None, spent: float, is_over: bool) -> float | None:
    """What a batch may spend in all: no more than it was begun with and than is left, and not less
    than it has spent. is_over: nothing more.
    """
    caps = [cap for cap in (begun_with, left) if cap is not None]
    if is_over:
        caps.append(spent)
    return max(spent, min(caps)) if caps else None


def _calls(ledger: Ledger) -> int:
    """The calls that a run has made."""
    return ledger.confirmed.calls + ledger.uncertain_calls + ledger.refused_calls


def _cost(ledger: Ledger) -> float | None:
    """The most that a run can have cost in US dollars, None where no price is known."""
    if ledger.confirmed.cost is None:
        return None
    return ledger.confirmed.cost + ledger.uncertain_cost


_LOST = (Status.FAILED, Status.UNPARSED, Status.REFUSED)


def _judging(row: WatchRow, result: RowResult | None, down: bool) -> Judging:
    """What came of judging a row: judged where any metric has a value or a verdict, or none
    applies; else it waits for another try, of which there are few.
    """
    figures = dict(row.figures)
    if result is None or not result.done or (result.bad is not None):
        if result is not None and result.bad is not None:
            return Judging(row.id, DROPPED, FAILED, figures)
        return Judging(row.id, PENDING, "", figures)
    failed = [score for score in result.scores if score.status in _LOST]
    told = [score for score in result.scores if score.value is not None]
    judged = [score for score in told if not score.metric.startswith("app_")]
    if failed and not judged:
        # Of an outage no row is to blame.
        tries = int(figures.get("tries", 0)) + (not down)
        if tries:
            figures["tries"] = tries
        state = DROPPED if tries >= MOST_TRIES else PENDING
        return Judging(row.id, state, FAILED if state == DROPPED else "", figures)
    figures.update(_scores(result))
    return Judging(row.id, JUDGED, "", figures)


def _scores(result: RowResult) -> Mapping[str, Any]:
    """Scores, verdicts, what was lost, and why nothing could be said, by metric."""
    scores: dict[str, float] = {}
    verdicts: dict[str, str] = {}
    lost: dict[str, str] = {}
    without: dict[str, str] = {}
    for score in result.scores:
        if score.value is not None:
            scores[score.metric] = round(score.value, 6)
        elif score.status is not Status.NOT_APPLICABLE:
            lost[score.metric] = score.status.value
        elif not score.metric.startswith("app_"):
            without[score.metric] = shorten(score.reason, 80)
        if score.verdict is not None:
            verdicts[score.metric] = score.verdict.value
    return {"scores": scores, "verdicts": verdicts, "lost": lost, "not_applicable": without}
