"""The judging of one row at a time, without a run and without a store.

All guards of a process share one event loop in a thread of its own, and those that name the same
judge share its model: its connections, its threads and what it learnt of its server. A question is
one coroutine: cancelled at the deadline, it takes its calls with it.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ragassay.core import (
    Ask,
    CallFailed,
    Judgment,
    Keep,
    RagAssayError,
    Reply,
    Request,
    Sample,
    Score,
    Status,
    is_fault,
    shorten,
)
from ragassay.instrument.untraced import stop_tracing

if TYPE_CHECKING:
    from ragassay.dispatch import Dispatcher
    from ragassay.metrics import Metric, MetricFlow
    from ragassay.runs.metric_steps import Step
    from ragassay.runs.plan import Setup
    from ragassay.runs.user_code import UserCode

T = TypeVar("T")

ATTEMPTS = 4
"""How often a call is tried while there is time."""

LONGEST_CALL = 120.0
"""Seconds that one attempt may take at most; the guard's deadline is mostly shorter."""

FOREVER = 1e9
"""Seconds after which a provider that is down would be given up: a guard asks again for as long as
the application lives.
"""


class OpenJudge:
    """A judge with its model, open for as long as the process lives. Used in one event loop."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._dispatcher: Dispatcher | None = None
        self._user_code: UserCode | None = None

    async def score(
        self, metric: Metric, sample: Sample, seconds: float, before: str = ""
    ) -> Score:
        """The Score of a row. seconds: what a metric of the user's own may take. before: what the
        answer said ahead of the row's response, for judges of single claims to read. Raises
        RagAssayError where the judge's server refuses the set-up.
        """
        step = await self._step(metric, sample, None, (), seconds)
        while not isinstance(step, Score):
            flow, requests = step
            answers = await self._answers([_read_after(request, before) for request in requests])
            step = await self._step(metric, sample, flow, answers, seconds)
        return step

    async def _step(
        self,
        metric: Metric,
        sample: Sample,
        flow: MetricFlow | None,
        answers: tuple[Judgment, ...],
        seconds: float,
    ) -> Step:
        from ragassay.metrics import is_users_own
        from ragassay.runs.metric_steps import failed_score, next_step
        from ragassay.runs.user_code import UserCode, UserCodeTimeout

        if not is_users_own(metric):
            return next_step(metric, sample, flow, answers)
        if self._user_code is None:
            self._user_code = UserCode()
        # Its thread has a context of its own, in which the user's code would be traced.
        context = contextvars.copy_context()

        def work() -> Step:
            return context.run(next_step, metric, sample, flow, answers)

        try:
            return await self._user_code.run(work, seconds)
        except UserCodeTimeout as error:
            return failed_score(metric, TimeoutError(str(error) or "it did not return in time"))

    async def _answers(self, requests: Sequence[Request]) -> tuple[Judgment, ...]:
        """The Judgments of the Requests, in their order."""
        by_key = {request.key: request for request in requests}
        groups = self._setup.judge.groups(list(by_key.values()))
        answered = await asyncio.gather(
            *[self._answer(group) for group in groups], return_exceptions=True
        )
        judgments: dict[str, Judgment] = {}
        for result in answered:
            if isinstance(result, BaseException):
                raise result
            judgments.update(result)
        answers: list[Judgment] = []
        for request in requests:
            given = judgments.get(request.key)
            answers.append(given or self._failed(request, "the judge gave no verdict"))
        return tuple(answers)

    async def _answer(self, group: Sequence[Request]) -> dict[str, Judgment]:
        """Drive the judge's flow for Requests that it answers together."""
        judgments: dict[str, Judgment] = {}
        try:
            flow = self._setup.judge.answer(tuple(group))
            step = next(flow)
            while True:
                step = flow.send(await self._serve(step, judgments))
        except StopIteration as end:
            for judgment in cast("Sequence[Judgment]", end.value):
                judgments.setdefault(judgment.key, judgment)
        except RagAssayError:
            raise
        except Exception as error:
            if not is_fault(error):
                raise
            reason = f"the judge raised {type(error).__name__}: {shorten(str(error), 200)}"
            for request in group:
                judgments.setdefault(request.key, self._failed(request, reason))
        return judgments

    async def _serve(self, step: object, judgments: dict[str, Judgment]) -> tuple[Reply, ...]:
        """Do what a flow asks for; returned is what it is sent."""
        if isinstance(step, Keep):
            if not step.beside:
                judgments.update({judgment.key: judgment for judgment in step.judgments})
            return ()
        if isinstance(step, Ask):
            dispatcher = self._calls()
            return tuple(await asyncio.gather(*[_call(dispatcher, call) for call in step.calls]))
        return ()  # a Recall: nothing was stored

    def _calls(self) -> Dispatcher:
        """The dispatcher; a new one where the last one gave up, for the server may be back."""
        if self._dispatcher is None or self._dispatcher.stopped:
            self._dispatcher = self._new_dispatcher()
        return self._dispatcher

    def _new_dispatcher(self) -> Dispatcher:
        from ragassay.dispatch import CallPolicy, Dispatcher, LocalBudget, output_limit_of

        model, options = self._setup.model, self._setup.options
        policy = CallPolicy(
            timeout=LONGEST_CALL,
            attempts=ATTEMPTS,
            backoff=0.1,
            probe_interval=1.0,
            outage_limit=FOREVER,
            first_answer_limit=FOREVER,
        )
        budget = LocalBudget(model.price, output_limit=output_limit_of(model))
        return Dispatcher(model, budget, policy, options.concurrency, on_budget=lambda: None)

    def _failed(self, request: Request, reason: str) -> Judgment:
        judge = self._setup.judge
        rubric = request.rubric
        return Judgment(
            request.key,
            judge.fingerprint(rubric),
            judge.rubric_version(rubric),
            Status.FAILED,
            reason=reason,
        )


def _read_after(request: Request, before: str) -> Request:
    """The Request with what came before the response ahead of it, where it asks about one claim:
    the response is read there only to know what the claim speaks of.
    """
    if not before or "claim" not in request.inputs or "response" not in request.inputs:
        return request
    response = before + request.text("response")
    return Request(request.rubric, {**request.inputs, "response": response})


async def _call(dispatcher: Dispatcher, call: Any) -> Reply:
    from ragassay.dispatch import Stopped

    try:
        return await dispatcher.call(call)
    except Stopped:
        # Another call found that the set-up is wrong, and says so itself.
        return CallFailed("server", "the judge's server was given up")


class _Judging:
    """The event loop of the guards, in a thread of its own, and the judges that are open in it."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._judges: dict[str, asyncio.Task[OpenJudge]] = {}
        ready = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(ready,), name="ragassay-guard", daemon=True
        )
        self._thread.start()
        ready.wait()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.call_soon(ready.set)
        self._loop.run_forever()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        # In a context of its own: the span that the application is in is none of the judge's.
        context = contextvars.Context()
        return context.run(asyncio.run_coroutine_threadsafe, _untraced(work), self._loop)

    async def judge(self, options: Mapping[str, Any], metric: Metric) -> OpenJudge:
        """The judge of these options, opened by the first that asks."""
        key = json.dumps(dict(options), sort_keys=True, default=str)
        opening = self._judges.get(key)
        if opening is None or (opening.done() and opening.exception() is not None):
            opening = self._loop.create_task(_open(options, metric))
            # Without a look at its error, Python would say that nobody took it.
            opening.add_done_callback(lambda task: task.cancelled() or task.exception())
            self._judges[key] = opening
        # Whoever gives up at a deadline must not stop what others wait for.
        return await asyncio.shield(opening)


async def _untraced(work: Coroutine[Any, Any, T]) -> T:
    stop_tracing()
    return await work


async def _open(options: Mapping[str, Any], metric: Metric) -> OpenJudge:
    from ragassay.runs.options import make_options
    from ragassay.runs.plan import make_setup

    def make() -> Setup:
        return make_setup(make_options(dict(options)), [metric])

    # Modules, certificates and keys are read: other guards go on meanwhile.
    return OpenJudge(await asyncio.to_thread(make))


_lock = threading.Lock()
_judging: _Judging | None = None


def _shared() -> _Judging:
    """The one of this process: a fork has copied the loop without its thread."""
    global _judging
    with _lock:
        if _judging is None or _judging.process != os.getpid():
            _judging = _Judging()
        return _judging


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def submit(
    metric: Metric,
    options: Mapping[str, Any],
    samples: Sequence[Sample],
    seconds: float,
    before: str = "",
) -> Future[list[Score]]:
    """Begin to judge rows; the Scores come in their order. before: as for `OpenJudge.score`.
    Cancelling the future ends the calls. Raises, through the future, SetupError and ProviderError
    for what is wrong with the judge.
    """
    judging = _shared()

    async def score_all() -> list[Score]:
        judge = await judging.judge(options, metric)
        return await asyncio.gather(
            *[judge.score(metric, each, seconds, before) for each in samples]
        )

    return judging.submit(score_all())
