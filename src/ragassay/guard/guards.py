"""The guard: judges a row before a deadline and decides; whatever goes wrong, it decides.

The deadline is kept by the one who waits, and not by the judge: neither a server that hangs nor a
machine that is busy holds an application up for longer.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ragassay.core import (
    Context,
    RagAssayError,
    Sample,
    Score,
    Status,
    is_fault,
    message_of,
    shorten,
)
from ragassay.guard import judging
from ragassay.guard.result import Blocked, ChunkResult, Decision, GuardResult
from ragassay.guard.settings import RAISES, Settings
from ragassay.guard.span import guardrail_span
from ragassay.instrument.documents import UNREADABLE, readable

F = TypeVar("F", bound=Callable[..., Any])

_LOGGER = logging.getLogger("ragassay.guard")

MOST_IN_SHADOW = 64
"""Judgments of guards in shadow mode that may be under way at once; more are not begun, so that
looking on never takes the machine from the application.
"""

WARM_SECONDS = 120.0
"""What the first judgment of a judge may take, in which its model is loaded."""

PARTIAL = "partial"
"""The flag of a Score over a part of what was asked."""

_EXAMPLE = Sample(
    "example",
    question="When did the bridge open?",
    contexts=(Context("The bridge opened to traffic in May 1932."),),
    response="The bridge opened in May 1932.",
)

guards: weakref.WeakSet[Guard] = weakref.WeakSet()
"""The guards of this process, for `warm`."""

_shadows = 0
_shadow_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a judgment: Scores, or why there are none. detail: more of why, in words that
    may quote what was judged.
    """

    scores: Sequence[Score] = ()
    failure: str = ""
    detail: str = ""


class Guard:
    """A guard as it was declared: decorates a function, and judges a row by itself (`check`).

    Safe to use from any number of threads and event loops at once.
    """

    def __init__(self, settings: Settings, decorate: Callable[[Guard, F], F]) -> None:
        self.settings = settings
        self._decorate = decorate
        self._told: set[str] = set()
        guards.add(self)

    def __call__(self, function: F) -> F:
        """The function with this guard before or behind it."""
        decorate = cast("Callable[[Guard, F], F]", self._decorate)
        return decorate(self, function)

    def __repr__(self) -> str:
        settings = self.settings
        return f"<ragassay.guard.{settings.kind} {settings.metric} {settings.mark}>"

    def check(
        self,
        *,
        question: str | None = None,
        contexts: Sequence[object] | None = None,
        response: str | Sequence[str] | None = None,
        before: str = "",
    ) -> GuardResult:
        """Judge a row and decide. Returns at the deadline at the latest, and raises nothing for
        what goes wrong with the judge: `on_error` decides then.

        response: one text, or several that would be shown: each is judged, and the worst counts.
        before: what the answer said ahead of a response that is a part of it. Claims of the
        response are judged with it in view ("It cost 6 million."); its own claims are not.
        """
        started = time.perf_counter()
        rows = self._given(question, contexts, response)
        with guardrail_span(self.settings) as span:
            result = self._at_once(rows, started)
            if result is None:
                result = self._result(rows, self._wait(rows, before, started), started)
            span.end_with(result)
        self._report(result)
        return result

    async def acheck(
        self,
        *,
        question: str | None = None,
        contexts: Sequence[object] | None = None,
        response: str | Sequence[str] | None = None,
        before: str = "",
    ) -> GuardResult:
        """`check` for callers inside an event loop, which is not held up."""
        started = time.perf_counter()
        rows = self._given(question, contexts, response)
        with guardrail_span(self.settings) as span:
            result = self._at_once(rows, started)
            if result is None:
                result = self._result(rows, await self._await(rows, before, started), started)
            span.end_with(result)
        self._report(result)
        return result

    def look_on(
        self,
        *,
        question: str | None = None,
        contexts: Sequence[object] | None = None,
        response: str | Sequence[str] | None = None,
    ) -> None:
        """Judge a row in the background, for shadow mode: the result goes to `on_result` and the
        log alone.
        """
        global _shadows
        with _shadow_lock:
            room = _shadows < MOST_IN_SHADOW
            _shadows += room
        rows = self._given(question, contexts, response)
        started = time.perf_counter()
        if not room:
            failure = f"{MOST_IN_SHADOW} judgments of guards in shadow mode are under way"
            self._report(self._result(rows, _Outcome(failure=failure), started))
            return

        def look() -> None:
            global _shadows
            try:
                self.check(question=question, contexts=rows[0].contexts, response=response)
            finally:
                with _shadow_lock:
                    _shadows -= 1

        # In the caller's context, so that its span stands in the trace of the answer.
        context = contextvars.copy_context()
        threading.Thread(
            target=context.run, args=(look,), name="ragassay-guard-shadow", daemon=True
        ).start()

    def warm(self) -> None:
        """Have the judge ready: its model loaded, its server asked once (one paid call where it
        costs). Raises what is wrong with the set-up.
        """
        settings = self.settings
        row = self._as_judged(_EXAMPLE)
        future = judging.submit(settings.metric, settings.options, (row,), WARM_SECONDS)
        (score,) = future.result(WARM_SECONDS)
        if score.status not in (Status.JUDGED, Status.NOT_APPLICABLE):
            _LOGGER.warning("%r: the judge gave no verdict on an example: %s", self, score.reason)

    def replacement(self, result: GuardResult) -> object:
        """What the application gets in place of a blocked text. Raises Blocked where nothing was
        named.
        """
        instead = self.settings.instead
        if instead is RAISES:
            raise Blocked(result)
        return instead(result) if callable(instead) else instead

    # -- the row

    def _given(
        self,
        question: str | None,
        contexts: Sequence[object] | None,
        response: str | Sequence[str] | None,
    ) -> tuple[Sample, ...]:
        """What was given, as one row for each response."""
        # One context for each that is given, also for one without a text: places must agree.
        listed = None if contexts is None else tuple([readable(each) for each in contexts])
        responses = [response] if response is None or isinstance(response, str) else response
        texts = [text for text in responses if text is None or text.strip()]
        return tuple(
            [
                Sample("guarded", question=question, contexts=listed, response=text)
                for text in texts or [""]
            ]
        )

    def _as_judged(self, row: Sample) -> Sample:
        """The row with the question in the response's place, for a metric that reads that alone."""
        needs = self.settings.metric.declaration.needs
        reads_question = any("question" in need.split("|") for need in needs)
        if self.settings.kind == "block_input":
            if reads_question:
                return Sample(row.id, question=row.question)
            return Sample(row.id, question=row.question, response=row.question)
        return row

    @property
    def _scores_chunks(self) -> bool:
        return self.settings.metric.declaration.level == "chunk"

    def _judged_rows(self, rows: tuple[Sample, ...]) -> tuple[Sample, ...]:
        """The rows that are judged: of a metric that does not score each chunk, one a chunk."""
        if self.settings.kind != "context_filter":
            return tuple([self._as_judged(row) for row in rows])
        (row,) = rows
        chunks = [chunk for chunk in row.contexts or () if chunk is not UNREADABLE]
        parts = [tuple(chunks)] if self._scores_chunks else [(chunk,) for chunk in chunks]
        return tuple([Sample(row.id, question=row.question, contexts=each) for each in parts])

    def _at_once(self, rows: tuple[Sample, ...], started: float) -> GuardResult | None:
        """The result where nothing has to be judged, or nothing can be."""
        row = rows[0]
        guarded = getattr(row, self.settings.guarded)
        if guarded == () or (isinstance(guarded, str) and not guarded.strip()):
            summary = f"nothing to judge: the {self.settings.guarded} is empty"
            return self._made(started, "pass", False, None, summary)
        failure = self._missing(row)
        if not failure:
            return None
        self._warn_once(failure, failure)
        return self._result(rows, _Outcome(failure=failure), started)

    def _missing(self, row: Sample) -> str:
        """Why a row cannot be judged; "" where it can."""
        if self.settings.kind == "context_filter":
            if row.contexts is None:
                return "the guard was given no contexts that can be read"
            if all(chunk is UNREADABLE for chunk in row.contexts):
                return "the text of the chunks cannot be read"
        judged = self._as_judged(row)
        for need in self.settings.metric.declaration.needs:
            names = need.split("|")
            if all(getattr(judged, name) is None for name in names):
                return f"the guard was given no {' or '.join(names)}"
        return ""

    # -- the judgment

    def _begin(self, rows: tuple[Sample, ...], before: str) -> Future[list[Score]]:
        settings = self.settings
        judged = self._judged_rows(rows)
        return judging.submit(settings.metric, settings.options, judged, settings.deadline, before)

    def _left(self, started: float) -> float:
        return max(0.0, self.settings.deadline - (time.perf_counter() - started))

    def _wait(self, rows: tuple[Sample, ...], before: str, started: float) -> _Outcome:
        try:
            future = self._begin(rows, before)
        except Exception as error:
            return self._failed(error)
        try:
            return _Outcome(future.result(self._left(started)))
        except FutureTimeout:
            future.cancel()
            return self._late()
        except (Exception, CancelledError) as error:
            return self._failed(error)
        except BaseException:
            future.cancel()
            raise

    async def _await(self, rows: tuple[Sample, ...], before: str, started: float) -> _Outcome:
        try:
            future = self._begin(rows, before)
        except Exception as error:
            return self._failed(error)
        # Not awaited itself: a cancelled caller would wait for the judge's own cancellation.
        waiting = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=self._left(started))
        except asyncio.CancelledError:
            waiting.cancel()
            raise
        if not done:
            waiting.cancel()
            return self._late()
        try:
            return _Outcome(waiting.result())
        except (Exception, asyncio.CancelledError) as error:
            return self._failed(error)

    def _late(self) -> _Outcome:
        milliseconds = 1000 * self.settings.deadline
        return _Outcome(failure=f"the judge gave no verdict within {milliseconds:g} ms")

    def _failed(self, error: BaseException) -> _Outcome:
        if not is_fault(error) and not isinstance(error, CancelledError | asyncio.CancelledError):
            raise error
        if isinstance(error, RagAssayError):
            reason = f"{error.code}: {error.what}"
            self._warn_once(reason, error)
            return _Outcome(failure=reason)
        detail = shorten(message_of(error), 200)
        return _Outcome(failure=type(error).__name__, detail=detail)

    def _warn_once(self, reason: str, said: object) -> None:
        """A wrong key, or a function that returns no contexts, would else only show as a guard that
        never judges.
        """
        if reason not in self._told:
            self._told.add(reason)
            _LOGGER.warning("%r does not judge: %s", self, said)

    # -- the decision

    def _result(self, rows: tuple[Sample, ...], outcome: _Outcome, started: float) -> GuardResult:
        if self.settings.kind == "context_filter" and rows[0].contexts is not None:
            return self._result_of_chunks(rows[0].contexts, outcome, started)
        if outcome.failure:
            return self._unjudged(started, f": {outcome.failure}", outcome.detail)
        return self._result_of_texts(outcome.scores, started)

    def _result_of_texts(self, scores: Sequence[Score], started: float) -> GuardResult:
        """The result of one text, or of the worst of several."""
        reasons = [_why_unjudged(score) for score in scores]
        judged = [
            score
            for score, reason in zip(scores, reasons, strict=True)
            if not reason and score.value is not None
        ]
        values = [score.value for score in judged if score.value is not None]
        value = self.settings.mark.worst(values) if values else None
        verdict = "pass" if value is None else self._verdict(value)
        unjudged = [reason for reason in reasons if reason]
        if unjudged and verdict == "pass":
            return self._unjudged(started, "", unjudged[0])
        if value is None:
            reason = scores[0].reason
            return self._made(started, "pass", False, None, "nothing to judge", reason)
        worst = judged[values.index(value)]
        summary = f"{self.settings.metric} is {value:.2f}, {self.settings.mark} is asked"
        explained = _explained(worst) if verdict == "block" else ""
        return self._made(started, verdict, True, value, summary, explained)

    def _result_of_chunks(
        self, contexts: Sequence[Context], outcome: _Outcome, started: float
    ) -> GuardResult:
        chunks = self._chunk_results(contexts, outcome)
        values = [chunk.score for chunk in chunks if chunk.score is not None]
        dropped = sum(chunk.verdict == "block" for chunk in chunks)
        unjudged = [chunk for chunk in chunks if chunk.score is None]
        summary, detail = f"{dropped} of {len(chunks)} chunks are not {self.settings.mark}", ""
        if unjudged:
            action = "dropped" if self.settings.on_error == "block" else "kept"
            summary = f"{len(unjudged)} of {len(chunks)} chunks {action} unjudged"
            detail = unjudged[0].reason
        if outcome.failure:
            summary, detail = f"{summary}: {outcome.failure}", outcome.detail
        return self._made(
            started,
            "block" if dropped else "pass",
            bool(values),
            sum(values) / len(values) if values else None,
            summary,
            detail,
            tuple(chunks),
        )

    def _chunk_results(self, contexts: Sequence[Context], outcome: _Outcome) -> list[ChunkResult]:
        chunks: list[ChunkResult] = []
        place = 0  # among those that were judged
        for position, context in enumerate(contexts):
            value, why = None, outcome.failure
            if context is UNREADABLE:
                why = why or "its text cannot be read"
                unread = "the text of some chunks cannot be read"
                self._warn_once(unread, unread)
            elif not why:
                value, why = _score_of_chunk(outcome.scores, place, of_parts=self._scores_chunks)
                place += 1
            if value is None:
                chunks.append(ChunkResult(position, self.settings.on_error, None, why))
            else:
                chunks.append(ChunkResult(position, self._verdict(value), value))
        return chunks

    def _verdict(self, value: float) -> Decision:
        return "pass" if self.settings.mark.reached_by(value) else "block"

    def _unjudged(self, started: float, why: str, detail: str) -> GuardResult:
        settings = self.settings
        summary = f"not judged, so on_error={settings.on_error!r} decides{why}"
        return self._made(started, settings.on_error, False, None, summary, detail)

    def _made(
        self,
        started: float,
        verdict: Decision,
        judged: bool,
        score: float | None,
        summary: str,
        detail: str = "",
        chunks: tuple[ChunkResult, ...] = (),
    ) -> GuardResult:
        settings = self.settings
        return GuardResult(
            guard=settings.kind,
            metric=str(settings.metric),
            verdict=verdict,
            judged=judged,
            score=score,
            mark=str(settings.mark),
            latency_ms=1000 * (time.perf_counter() - started),
            summary=summary,
            reason=f"{summary}: {detail}" if detail else summary,
            shadow=settings.shadow,
            chunks=chunks,
        )

    def _report(self, result: GuardResult) -> None:
        """Hand the result to the application's own function, whose errors are none of the guard."""
        if result.verdict == "block" or not result.judged:
            level = logging.INFO if result.verdict == "block" else logging.DEBUG
            _LOGGER.log(level, "%s %s: %s", result.guard, result.verdict, result.reason)
        if self.settings.on_result is None:
            return
        try:
            self.settings.on_result(result)
        except Exception:
            _LOGGER.warning("on_result of %r raised", self, exc_info=True)


def _why_unjudged(score: Score) -> str:
    """Why a Score is none to act upon; "" where it is one, or where there was nothing to judge."""
    if score.status is Status.NOT_APPLICABLE:
        return ""
    if score.value is None:
        return score.reason or f"the judge's answer is {score.status.value}"
    if PARTIAL in score.flags:
        return f"{score.counts.judged} of {score.counts.asked} parts have a verdict"
    return ""


def _explained(score: Score) -> str:
    """What brought a score down: its worst part in the judge's words, else the metric's."""
    failed = [part for part in score.parts if part.passed is False and part.rationale]
    return shorten(failed[0].rationale if failed else score.rationale, 200)


def _score_of_chunk(
    scores: Sequence[Score], position: int, *, of_parts: bool
) -> tuple[float | None, str]:
    """The score of one chunk, or None and why. of_parts: one Score has all chunks as its parts;
    else each chunk has a Score of its own.
    """
    if not of_parts:
        score = scores[position]
        why = _why_unjudged(score)
        return (None, why) if why else (score.value, score.reason)
    (score,) = scores
    for part in score.parts:
        if part.context == position:
            return part.value, part.reason or f"the judge's answer is {part.status.value}"
    return None, score.reason or "the judge gave no verdict"
