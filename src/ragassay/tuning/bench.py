"""The judge of a search: rows judged by `evaluate` under any version of a rubric.

Every verdict is bought into the store. A rubric is known there by its content, so that a row is
asked about once under each version, whoever asks, in this search or in a later one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ragassay.api import evaluate, resume
from ragassay.core import (
    MEASURING,
    BudgetExhausted,
    Interrupted,
    ProviderError,
    RunState,
    Sample,
    Score,
    Status,
    Verdict,
    digest,
    shorten,
)
from ragassay.judges import Rubric
from ragassay.judges.rubric_file import rubric_text
from ragassay.trust.measure.run_verdicts import rationale_of
from ragassay.tuning.record import Attempts, SearchRecord
from ragassay.tuning.spending import Spending
from ragassay.tuning.values import Answers, BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from ragassay.metrics import Metric
    from ragassay.runs.progress import Progress
    from ragassay.runs.run import Run

MOST_LOST = 1 / 3
"""Share of lost verdicts from which a judge cannot be measured."""
MOST_FAILED = 3
"""Steps in a row of which every call failed, each after its retries, before the judge is given up.
A step of a search asks about few rows: fewer than it takes to see that a server is down.
"""
_NEITHER = 0.5
RunWatch = Callable[[int, float | None, str], None]
"""Told of calls and US dollars so far, over all steps, and of why calls wait now ("")."""


@dataclass
class StoreBench:
    """Judges rows through the store.

    samples: the labelled rows, in the order of `LabelledRows`. base: the rubric as it is now, and
    base_file: the user's file of it, "" for a built-in one. files: rubric files that the metric
    needs besides. lower_is_better: of the metric's value. options: of `evaluate`.
    """

    samples: Sequence[Sample]
    metric: str | Metric
    judge_uri: str
    base: Rubric
    record: SearchRecord
    spending: Spending
    folder: Path
    store: str | os.PathLike[str] | None = None
    base_file: str = ""
    files: Sequence[str | os.PathLike[str]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    attempts: dict[str, Attempts] = field(default_factory=dict)
    lower_is_better: bool = False
    watch: RunWatch | None = None
    """Told while rows are judged."""
    lost: dict[str, int] = field(default_factory=dict)
    """Reason -> verdicts lost so far."""
    failed: int = 0
    """Steps in a row, up to now, of which every call failed."""

    @property
    def calls(self) -> int:
        """Calls bought so far, of the judge and of the proposer together."""
        return self.spending.calls

    def judge(self, rubric: Rubric, rows: IntArray, *, repeat: int = 0) -> Answers:
        """Answers on these rows. Raises BudgetExhausted E0604 where a cap was reached, Interrupted
        where the search is stopped, ProviderError E0706 where the calls of several steps in a row
        failed, and as `evaluate`.
        """
        step = digest(rubric.digest, [int(row) for row in rows], repeat)
        attempts = self.attempts.pop(step, Attempts())
        self.spending.add(attempts.spent)
        chosen = [self.samples[int(row)] for row in rows]
        files = self._file_of(rubric)
        if attempts.unfinished:
            run = resume(
                attempts.unfinished, store=self.store, rows=chosen, **self._watching, **self._caps()
            )
        else:
            run = evaluate(
                chosen,
                [self.metric],
                judge=self.judge_uri,
                rubrics=[*self.files, *files],
                sample=repeat,
                store=self.store,
                name=f"{MEASURING}optimise {self.metric}",
                keep=self.record.keep(step),
                **{**self.options, **self._watching},
                **self._caps(),
            )
        with run:
            self.spending.add(run.ledger)
            _raise_if_stopped(run, self.options.get("tell"))
            answers = self._answers(run, len(chosen))
            self._check_that_it_answers(run)
            return answers

    @property
    def _watching(self) -> dict[str, Any]:
        watching = {name: self.options[name] for name in ("tell",) if name in self.options}
        return watching if self.watch is None else {**watching, "watch": self._told}

    def _told(self, progress: Progress) -> None:
        """Pass on how far a run is."""
        if self.watch is None:
            return
        sofar = self.spending.ledger.confirmed + progress.ledger().confirmed
        cost = 0.0 if not sofar.calls else sofar.cost
        calls = self.spending.calls + progress.ledger().confirmed.calls
        self.watch(calls, cost, progress.traffic.waiting)

    def _caps(self) -> dict[str, Any]:
        return {name: left for name, left in self.spending.left().items() if left is not None}

    def _file_of(self, rubric: Rubric) -> list[Path]:
        """The file of a rubric: the user's own for the one to improve, none for a built-in one."""
        if rubric.digest == self.base.digest:
            return [Path(self.base_file)] if self.base_file else []
        path = self.folder / f"{rubric.id}-{rubric.digest[:16]}.md"
        if not path.exists():
            path.write_text(rubric_text(rubric), encoding="utf-8")
        return [path]

    def _answers(self, run: Run, count: int) -> Answers:
        score = np.full(count, np.nan)
        passes = np.zeros(count, bool)
        reasons: dict[int, str] = {}
        for place, row in enumerate(run.rows()):
            said = row.scores[0] if row.scores else None
            if said is None or said.value is None or said.verdict is Verdict.UNDECIDED:
                self._count_lost(said)
                continue
            marked = _marked(said)
            score[place] = 1 - marked if self.lower_is_better else marked
            passes[place] = said.verdict is Verdict.PASS
            reasons[place] = rationale_of(said)
        return Answers(score, passes, reasons)

    def _check_that_it_answers(self, run: Run) -> None:
        """Raise ProviderError E0706 where a server that broke in the middle of a search answers no
        call any more: else the search would try edit after edit on it, to the cap.
        """
        scores = [row.scores[0] for row in run.rows() if row.scores]
        has_failed = bool(scores) and all(score.status is Status.FAILED for score in scores)
        self.failed = self.failed + 1 if has_failed else 0
        if self.failed < MOST_FAILED:
            return
        raise ProviderError(
            "E0706",
            f"The judge gave no verdict: all calls of the last {self.failed} steps failed.",
            where=self.judge_uri,
            why=shorten(scores[-1].reason or "", 200),
            fix="mend what stands in its way (ragassay doctor), and give the same command again",
        )

    def _count_lost(self, score: Score | None) -> None:
        why = "no score" if score is None else score.reason or score.status.value
        self.lost[why] = self.lost.get(why, 0) + 1


@dataclass
class PairBench(StoreBench):
    """Judges pairs of responses through the store, in the order of the rows.

    samples: the pairs as they are given, then all of them swapped. truth: whether people prefer the
    first response. A pass says that it is the better one; a pair of which the judge prefers neither
    is undecided.
    """

    truth: BoolArray = field(default_factory=lambda: np.zeros(0, bool))

    def judge(self, rubric: Rubric, rows: IntArray, *, repeat: int = 0) -> Answers:
        """As of a `StoreBench`: each pair asked once, in the order of the rows."""
        shown = super().judge(rubric, rows, repeat=repeat)
        return self._verdicts(shown.score, rows, shown.reasons)

    def swapped(self, rubric: Rubric, rows: IntArray) -> Answers:
        """Answers to the swapped pairs, in terms of the pairs as they were. Raises as `judge`."""
        shown = super().judge(rubric, rows + len(self.truth))
        return self._verdicts(1 - shown.score, rows, shown.reasons)

    def _verdicts(self, score: FloatArray, rows: IntArray, reasons: Mapping[int, str]) -> Answers:
        """The verdicts behind how far the first response is the better one."""
        undecided = score == _NEITHER
        passes = np.where(undecided, ~self.truth[rows], np.nan_to_num(score) > _NEITHER)
        return Answers(score, passes, reasons, undecided)


def _marked(score: Score) -> float:
    """The number of a score that its pass mark is on, in [0, 1]."""
    assert score.value is not None
    value = score.extra.get("pass_share", score.value)
    return min(1.0, max(0.0, value))


def _raise_if_stopped(run: Run, tell: Callable[[str], None] | None) -> None:
    """Raise where a run did not get through its rows. tell: told how a stopped search goes on."""
    if run.state is RunState.FINISHED:
        return
    if run.state is RunState.BUDGET:
        raise BudgetExhausted(
            "E0604",
            "A cap was reached before the search was done.",
            where=f"run {run.id}",
            why=run.stop_reason,
            fix="the same command with a higher --max-calls or --max-cost goes on where it was",
        )
    message = "Stopped: the same command goes on where it was"
    if tell is not None:
        tell(message)
    raise Interrupted(message)
