"""The scoring of rows: the application answers, the metrics' flows are advanced, the scores are
diagnosed.

All flows of the rows in a block advance together, so that what several metrics ask is asked once.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from ragassay.core import (
    REPAIRED,
    BadRow,
    Diagnosis,
    Judgment,
    JudgmentAddress,
    RowResult,
    Sample,
    Score,
    Status,
    Verdict,
)
from ragassay.diagnosis import with_query_type
from ragassay.dispatch import Dispatcher
from ragassay.judges import Judge
from ragassay.metrics import Metric, MetricFlow, is_users_own
from ragassay.runs.journal import Journal
from ragassay.runs.judgment_lookup import JudgmentLookup, Question
from ragassay.runs.metric_steps import Step, failed_score, next_step
from ragassay.runs.progress import Progress, RowActivity
from ragassay.runs.user_code import UserCode, UserCodeTimeout

Diagnose = Callable[[Sample, Sequence[Score]], Diagnosis]

StoreAnswer = Callable[[Sample], Awaitable[None]]
"""Makes durable a row with what the application answered."""

RunApplication = Callable[[Sample, StoreAnswer], Awaitable[Sample]]
"""Runs the application on a row, and returns the row with response, contexts and latency. A failure
of the application is an error in the row and is not raised. The StoreAnswer is awaited before the
application takes its next row, so that a kill costs few of its answers.
"""

IndexedRow = tuple[int, Sample | BadRow]
"""The index of a row in the data, and the row."""

_NextStep = tuple[int, int, MetricFlow | None, tuple[Judgment, ...]]
"""(place of the row in its block, position of the metric, its flow, the Judgments to send to it);
no flow where it is to begin.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What is done with a row: the application answers it (where there is one), the judge answers
    what the metrics ask, the scores are diagnosed. metric_timeout: seconds that a metric of the
    user's own may take for a row, without the time in which it waits for the judge.
    """

    metrics: Sequence[Metric]
    judge: Judge
    diagnose: Diagnose
    run_application: RunApplication | None = None
    metric_timeout: float = 120.0


class RowScorer:
    """Makes the results of rows. answered: rows, by index, that the application answered in an
    earlier part of the run.
    """

    def __init__(
        self,
        measurement: Measurement,
        answered: Mapping[int, Sample],
        lookup: JudgmentLookup,
        dispatcher: Dispatcher,
        journal: Journal,
        progress: Progress,
    ) -> None:
        self.metrics = tuple(measurement.metrics)
        self.metric_timeout = measurement.metric_timeout
        self._diagnose = measurement.diagnose
        self._run_application = measurement.run_application
        self._answered = dict(answered)
        self.lookup = lookup
        self.dispatcher = dispatcher
        self._journal = journal
        self.progress = progress
        self.users_own = frozenset(
            position for position, metric in enumerate(self.metrics) if is_users_own(metric)
        )
        self.user_code = UserCode()
        self._waits: dict[tuple[str, tuple[int, ...]], str] = {}

    @property
    def takes_blocks(self) -> bool:
        """Whether rows may be scored together. Not where the user's own code runs on each: one slow
        row would hold up all rows of its block.
        """
        return self._run_application is None and not self.users_own

    def close(self) -> None:
        """End the threads of the user's own code."""
        self.user_code.close()

    async def score(self, block: Sequence[IndexedRow]) -> list[RowResult]:
        """The results of the rows, bad ones first, else in their order."""
        results: list[RowResult] = []
        samples: list[tuple[int, Sample]] = []
        now = time.monotonic()
        for index, row in block:
            if isinstance(row, BadRow):
                results.append(RowResult(index, None, bad=row))
                self.progress.bad += 1
                continue
            self.progress.activities[index] = RowActivity(row.id, "the application", now)
            sample = row
            if self._run_application is not None:
                sample = await self._answer(index, row, self._run_application)
            samples.append((index, sample))
        outcomes = await _BlockScoring(self, samples).run()
        for (index, sample), outcome in zip(samples, outcomes, strict=True):
            diagnosis = self._diagnose(sample, outcome.scores)
            # A row that lacks a judgment for want of money is done again by a resume.
            done = not outcome.is_capped
            reading = outcome.reading
            # Only in the result: what metrics and the application see is the row as it was given.
            kept = with_query_type(sample)
            results.append(
                RowResult(index, kept, outcome.scores, diagnosis, done=done, reading=reading)
            )
        return results

    async def _answer(self, index: int, row: Sample, run_application: RunApplication) -> Sample:
        """The row as the application answers it, or has answered it before a resume. An answer may
        have cost money, as a judgment has: it is stored before anything is made of it.
        """
        answered = self._answered.pop(index, None)
        if answered is not None:
            return answered

        async def store(answer: Sample) -> None:
            await self._journal.put_answered(RowResult(index, answer, done=False))

        return await run_application(row, store)

    def note_wait(
        self,
        samples: Sequence[tuple[int, Sample]],
        flows: Sequence[tuple[int, int]],
        wait: str,
    ) -> None:
        """Note in the progress what the rows wait for. flows: (place of the row in its block,
        position of the metric).
        """
        metrics_of: dict[int, tuple[int, ...]] = {}
        for row, position in flows:
            metrics_of[row] = (*metrics_of.get(row, ()), position)
        now = time.monotonic()
        for row, positions in metrics_of.items():
            activity = self.progress.activities[samples[row][0]]
            activity.since = now
            activity.reported = 0.0
            activity.doing = self._wait_text(wait, positions)

    def _wait_text(self, wait: str, positions: tuple[int, ...]) -> str:
        text = self._waits.get((wait, positions))
        if text is None:
            names = ", ".join(str(self.metrics[position]) for position in positions)
            text = self._waits[wait, positions] = f"{wait} {names}"
        return text


class _RowOutcome(NamedTuple):
    """What came of a row: its scores, whether a cap kept a judgment from it (then it is to be done
    again), and how the replies to it were read.
    """

    scores: tuple[Score, ...]
    is_capped: bool
    reading: Mapping[str, int]


class _BlockScoring:
    """The flows of one block of rows, from their first step to their Scores."""

    def __init__(self, scorer: RowScorer, samples: Sequence[tuple[int, Sample]]) -> None:
        self._scorer = scorer
        self._samples = samples
        self._scores: list[list[Score | None]] = [[None] * len(scorer.metrics) for _ in samples]
        self._capped = [False] * len(samples)
        # Of each row the judgments whose replies were not quite in the form that was asked for.
        self._readings: list[dict[JudgmentAddress, tuple[str, ...]]] = [{} for _ in samples]
        # Seconds that each of the user's own metrics may still take for each row.
        self._seconds_left = [
            dict.fromkeys(scorer.users_own, scorer.metric_timeout) for _ in samples
        ]
        self._questions: list[Question] = []

    async def run(self) -> list[_RowOutcome]:
        """The outcome of each row."""
        scorer = self._scorer
        places = product(range(len(self._samples)), range(len(scorer.metrics)))
        await self._advance([(row, position, None, ()) for row, position in places])
        while self._questions:
            questions, self._questions = self._questions, []
            flows = [(question.row, question.metric) for question in questions]
            scorer.note_wait(self._samples, flows, "the judge's answer for")
            judgments = await scorer.lookup.resolve(questions)
            steps: list[_NextStep] = []
            for row, position, flow, requests, *_ in questions:
                answers = tuple([judgments[address] for address, _ in requests])
                self._note_answers(row, answers)
                steps.append((row, position, flow, answers))
            # To plan the next requests takes longer than to send those that are ready.
            await scorer.dispatcher.turn()
            await self._advance(steps)
        outcomes: list[_RowOutcome] = []
        for scores, capped, read in zip(self._scores, self._capped, self._readings, strict=True):
            made = tuple([score for score in scores if score is not None])
            outcomes.append(_RowOutcome(made, capped, _reading(read.values()) if read else {}))
        return outcomes

    def _note_answers(self, row: int, answers: Sequence[Judgment]) -> None:
        for judgment in answers:
            if judgment.status is Status.OVER_BUDGET:
                self._capped[row] = True
            if judgment.flags:
                flags = judgment.reading
                if flags:
                    self._readings[row][judgment.judge, judgment.key] = flags

    async def _advance(self, steps: Sequence[_NextStep]) -> None:
        scorer = self._scorer
        metrics, progress = scorer.metrics, scorer.progress
        slow: list[tuple[int, int]] = []
        running: list[Awaitable[Step]] = []
        for row, position, flow, answers in steps:
            sample = self._samples[row][1]
            metric = metrics[position]
            # For the watchdog, should this step not give the event loop back.
            progress.computes = metric, sample.id
            if position in scorer.users_own:
                slow.append((row, position))
                running.append(self._users_step(row, position, flow, answers))
            else:
                self._note(row, position, next_step(metric, sample, flow, answers))
        progress.computes = None
        if slow:
            scorer.note_wait(self._samples, slow, "the user's own")
            for (row, position), step in zip(slow, await asyncio.gather(*running), strict=True):
                self._note(row, position, step)
            # What is asked together does not depend on which thread was first.
            self._questions.sort(key=_place)

    def _note(self, row: int, position: int, step: Step) -> None:
        if isinstance(step, Score):
            self._scores[row][position] = step
            return
        flow, asked = step
        address_of = self._scorer.lookup.address_of
        requests = [(address_of(request), request) for request in asked]
        index, sample = self._samples[row]
        self._questions.append(Question(row, position, flow, requests, index, sample))

    async def _users_step(
        self, row: int, position: int, flow: MetricFlow | None, answers: tuple[Judgment, ...]
    ) -> Step:
        """A step of a metric of the user's own, away from the event loop."""
        scorer = self._scorer
        metric = scorer.metrics[position]
        sample = self._samples[row][1]
        left = self._seconds_left[row]
        started = 0.0

        def work() -> Step:
            # Taken in the thread: the wait for a free one does not count.
            nonlocal started
            started = time.monotonic()
            return next_step(metric, sample, flow, answers)

        try:
            return await scorer.user_code.run(work, left[position])
        except UserCodeTimeout as error:
            why = str(error) or f"it did not return within {scorer.metric_timeout:g} s"
            return Score(
                str(metric),
                Status.FAILED,
                verdict=Verdict.UNDECIDED,
                reason=f"no score of the metric: {why}",
            )
        except Exception as error:
            # RagAssayErrors as well: they are the user's code's, and no fault of the set-up.
            return failed_score(metric, error)
        finally:
            if started:
                left[position] -= time.monotonic() - started


def _reading(flags_of_judgments: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """How many judgments carry each flag of how they were read, as in `RowResult.reading`."""
    counts: Counter[str] = Counter()
    for flags in flags_of_judgments:
        counts.update(flags)
        if any(flag.startswith(REPAIRED) for flag in flags):
            counts[REPAIRED.rstrip(":")] += 1
    return dict(sorted(counts.items()))


def _place(question: Question) -> tuple[int, int]:
    return question.row, question.metric
