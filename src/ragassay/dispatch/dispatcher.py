"""The dispatcher of calls: one model call is made to succeed, within its limits and its budget.

This is the only place that retries. A call that fails is tried again when its failure may pass:
after the time that the server asked for, else after a pause that doubles. Retries are a share of
the calls (`RetryBudget`); a rate that is exceeded teaches the rate limiter of the key, which other
processes share (`RateLimiter`); calls in flight are bounded by a limit that narrows where the
server buckles (`ConcurrencyLimit`); a provider that is down is looked at now and then until it is
back (`Breaker`). Every wait has a name that the progress display shows. All times are of the event
loop's monotonic clock, in seconds.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NoReturn

from ragassay.core import (
    Call,
    CallError,
    CallFailed,
    ChatCall,
    ChatReply,
    EnvironmentFailure,
    Ledger,
    ProviderError,
    Reply,
    Spend,
)
from ragassay.dispatch import run_errors
from ragassay.dispatch.budget import LocalBudget
from ragassay.dispatch.fairness import FairnessQueue
from ragassay.dispatch.throttle import (
    Breaker,
    ConcurrencyLimit,
    RateLimiter,
    RetryBudget,
    speaks_of_the_service,
)
from ragassay.models import Model

HOPELESS = 8
"""Calls that a server may reject as malformed, with none answered, before the set-up is to blame
and not the row.
"""

LONG = 2.0
"""Seconds of a wait from which on it is said when it ends."""

LEAST_FAILURES = 8
"""Failures in a row before a provider counts as down, however few calls are in flight."""

MOST_DOUBLINGS = 8
"""Failures after which a pause before a retry is not doubled any more."""


class Stopped(Exception):
    """The run is stopping: no new call is made. Internal to the runner."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How hard to try. timeout: seconds one attempt may take; attempts: most tries of one call;
    patience: most seconds to wait for a server that says when to come back; backoff: first pause,
    doubled each time. probe: seconds between two looks at a provider that is down; outage: seconds
    after which a run gives it up; first: the same for one that has never answered, at which it
    looks five times as often.
    """

    timeout: float = 120.0
    attempts: int = 5
    patience: float = 900.0
    backoff: float = 0.5
    probe: float = 10.0
    outage: float = 3600.0
    first: float = 30.0


@dataclass(slots=True)
class Traffic:
    """Counters that the progress display reads. limit: calls allowed at once now, of `ceiling`;
    down: since when, in the event loop's seconds, the provider has been down, None while it is not;
    waits: how many calls wait for what; elsewhere: what is waited for at the provider, in the
    model's words.
    """

    sent: int = 0
    answered: int = 0
    in_flight: int = 0
    retries: int = 0
    rate_limited: int = 0
    limit: int = 0
    ceiling: int = 0
    down: float | None = None
    waits: Counter[str] = field(default_factory=Counter)
    elsewhere: Callable[[], str] = str

    @property
    def waiting(self) -> str:
        """What most of the waiting calls wait for, "" when none waits but for its answer."""
        return self.elsewhere() or max(self.waits, key=self.waits.__getitem__, default="")


@dataclass(slots=True)
class _Lane:
    """What belongs to one provider and key. answered_at: when a call was last answered; refused:
    the calls that a limit refused since then.
    """

    limiter: RateLimiter
    breaker: Breaker
    answered_at: float = 0.0
    claiming: asyncio.Lock = field(default_factory=asyncio.Lock)
    refused: set[_History] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class _History:
    """The attempts of one call. begun: the event loop's seconds; waited: seconds of pauses that are
    due to this call's own failures; refusals: by a limit.
    """

    begun: float
    waited: float = 0.0
    sent: int = 0
    failures: int = 0
    refusals: int = 0


class Dispatcher:
    """Sends calls to a model. on_budget: called when a cap stops a call. write_intent: writes the
    ledger to disk before a call is sent, where a cap must hold across a kill. `close` it in the
    end.
    """

    def __init__(
        self,
        model: Model,
        budget: LocalBudget,
        policy: CallPolicy,
        concurrency: int,
        *,
        on_budget: Callable[[], None],
        write_intent: Callable[[Ledger], Awaitable[None]] | None = None,
    ) -> None:
        self._model = model
        self._budget = budget
        self._policy = policy
        limit = concurrency if model.concurrency is None else min(concurrency, model.concurrency)
        self._concurrency = ConcurrencyLimit(limit)
        self._lanes: dict[str, _Lane] = {}
        self._retry_budget = RetryBudget()
        self._on_budget = on_budget
        self._write_intent = write_intent
        self._stop: asyncio.Event = asyncio.Event()
        self._rejected = 0
        self._queue = FairnessQueue(lambda: self._concurrency.waiting)
        self._random = random.Random(0)  # only spreads pauses; no result depends on it
        self.traffic = Traffic(limit=limit, ceiling=limit)

    def stop(self) -> None:
        """Make no new call; calls in flight go on, and what they bring is handed over at once."""
        self._stop.set()
        self._queue.end()

    async def turn(self) -> None:
        """Wait for this task's turn at longer work; not at all while no call is under way."""
        if self.traffic.in_flight:
            await self._queue.turn()

    def close(self) -> None:
        """Let go of what is shared with other processes."""
        for lane in self._lanes.values():
            lane.limiter.close()
        self._lanes.clear()

    async def call(self, call: Call) -> Reply:
        """The reply, or CallFailed when all attempts failed.

        Raises Stopped when the run is stopping and ProviderError when no call can succeed with this
        set-up.
        """
        if not isinstance(call, ChatCall):
            return await self._call_locally(call)
        lane = self._lane(call)
        history = _History(asyncio.get_running_loop().time())
        error: CallError | None = None
        while error is None:
            await self._concurrency.enter()
            try:
                history.waited += await self._wait_until_allowed(lane)
                reserved = await self._reserve(call)
                if reserved is None:
                    self._on_budget()
                    return CallFailed("over_budget", self._budget.stop_reason())
                history.sent += 1
                self._queue.moving()
                outcome = await self._attempt(call, reserved, lane)
                self._queue.moving()
            finally:
                self._concurrency.leave()
            if not isinstance(outcome, CallError):
                # The next call goes out first: to read a reply takes longer than to send one.
                await self._queue.turn()
                return outcome
            self._raise_if_hopeless(outcome)
            error = outcome
            if outcome.retryable:
                error = await self._prepare_retry(outcome, lane, history)
        self._raise_if_unreachable(error)
        tries = f" (tried {history.sent} times)" if history.sent > 1 else ""
        return CallFailed(error.kind, error.message + tries)

    async def _call_locally(self, call: Call) -> Reply:
        """A call to a model that runs here: it costs nothing and is not tried again."""
        if self._stop.is_set():
            raise Stopped
        try:
            reply = await self._model.call(call)
        except CallError as error:
            return CallFailed(error.kind, error.message)
        self.traffic.answered += 1
        return reply

    def _lane(self, call: ChatCall) -> _Lane:
        key = self._model.lane(call)
        lane = self._lanes.get(key)
        if lane is None:
            threshold = max(LEAST_FAILURES, self._concurrency.ceiling)
            lane = self._lanes[key] = _Lane(RateLimiter.of(key), Breaker(threshold))
        self._retry_budget.add_call()
        return lane

    # -- one attempt

    async def _attempt(self, call: ChatCall, reserved: Decimal, lane: _Lane) -> Reply | CallError:
        """One request, settled with the budget, and reported to all that learn from it."""
        now = asyncio.get_running_loop().time
        started = now()
        self.traffic.sent += 1
        self.traffic.in_flight += 1
        try:
            async with asyncio.timeout(self._policy.timeout):
                reply = await self._model.call(call)
        except TimeoutError:
            error = CallError(
                "timeout",
                f"no answer within {self._policy.timeout:g} s",
                retryable=True,
                maybe_billed=True,
            )
        except CallError as caught:
            error = caught
        except EnvironmentFailure:
            # The log of calls could not be written (a full disk), so that this one was not sent.
            self._budget.release(call, reserved)
            raise
        except BaseException:
            self._budget.settle(call, reserved, None, maybe_billed=True)
            raise
        else:
            return self._take_reply(call, reserved, lane, started, reply)
        finally:
            self.traffic.in_flight -= 1
        self._budget.settle(call, reserved, None, maybe_billed=error.maybe_billed)
        self._note_failure(lane, started, error)
        return error

    def _take_reply(
        self, call: ChatCall, reserved: Decimal, lane: _Lane, started: float, reply: Reply
    ) -> Reply:
        """The reply with the seconds it took in its spend."""
        ended = asyncio.get_running_loop().time()
        seconds = ended - started
        bill = reply.spend
        # Built by hand, as the reply below is: `replace` takes several times as long.
        spend = Spend(
            bill.calls,
            bill.input_tokens,
            bill.output_tokens,
            bill.cached_tokens,
            bill.cost,
            seconds,
        )
        self._budget.settle(call, reserved, spend)
        self.traffic.answered += 1
        lane.answered_at = ended
        lane.refused.clear()
        self._note_up(lane, started)
        lane.limiter.accepted()
        self._concurrency.observe(ended, seconds)
        if isinstance(reply, ChatReply):
            return ChatReply(reply.text, reply.finish, reply.model, spend)
        return replace(reply, spend=spend)

    def _note_failure(self, lane: _Lane, started: float, error: CallError) -> None:
        now = asyncio.get_running_loop().time()
        if error.kind == "rate_limit" or not error.retryable:
            self._note_up(lane, started)
        else:
            every = self._policy.probe if self.traffic.answered else self._policy.probe / 5
            was_down = lane.breaker.since is not None
            lane.breaker.failed(now, every, error)
            self.traffic.down = lane.breaker.since
            if not was_down:  # that a provider which is down is still down is no news
                self._concurrency.observe(now, None)
        self.traffic.limit = int(self._concurrency.limit)

    def _note_up(self, lane: _Lane, started: float) -> None:
        lane.breaker.answered(started)
        self.traffic.down = lane.breaker.since

    async def _reserve(self, call: Call) -> Decimal | None:
        """Room for a call, on disk before the call is sent where a cap must hold; None when a cap
        does not allow it.

        Raises Stopped, with nothing left reserved, when the run is stopping.
        """
        reserved = self._budget.reserve(call)
        while reserved is None and self._budget.waiting_helps and not self._stop.is_set():
            await self._until_freed()  # worst cases are far from what calls cost: room comes back
            reserved = self._budget.reserve(call)
        try:
            if reserved is not None and not self._stop.is_set():
                await self._save_intent()
            if self._stop.is_set():
                raise Stopped
        except BaseException:
            if reserved is not None:
                self._budget.release(call, reserved)
            raise
        return reserved

    async def _save_intent(self) -> None:
        # A cap holds across a kill only when the disk knows of a call before the server does.
        if self._write_intent is not None and self._budget.capped:
            await self._write_intent(self._budget.snapshot())

    async def _until_freed(self) -> None:
        """Wait a moment in which a call may end and give back what was reserved for it."""
        await asyncio.sleep(0.02)

    # -- between attempts

    async def _prepare_retry(
        self, error: CallError, lane: _Lane, history: _History
    ) -> CallError | None:
        """Wait as long as a call that failed must before it is tried again; None then, else the
        failure it ends with.
        """
        limited = error.kind == "rate_limit"
        asked = error.retry_after is not None
        down = lane.breaker.since is not None and speaks_of_the_service(error)
        pause = self._pause(error, history)
        if asked and pause > self._policy.patience and not down:
            # The run ends there, and a resume makes the call: it is not lost.
            lane.limiter.refused(pause)
            return None
        if limited:  # bounded by patience, not by attempts
            history.refusals += 1
            lane.refused.add(history)
        elif history.failures + 1 >= self._policy.attempts and not down:
            return error
        last = self._end_of_patience(error, lane, history, pause, down)
        if last is not None:
            return last
        self.traffic.retries += 1
        self._budget.retries += 1
        if limited:
            self.traffic.rate_limited += 1
            lane.limiter.refused(pause if asked else 0.0)
        if down or (limited and asked):
            return None  # the breaker or the rate limiter says to all when it is tried again
        await self._wait_before_retry(error, history, pause)
        return None

    def _end_of_patience(
        self, error: CallError, lane: _Lane, history: _History, pause: float, down: bool
    ) -> CallError | None:
        """The failure of a call that would wait longer than a run waits; None where it goes on."""
        patience = self._policy.patience
        now = asyncio.get_running_loop().time()
        if history.refusals and now - max(history.begun, lane.answered_at) > patience:
            # It is the provider, and not a row that it always refuses, where many calls wait and
            # none gets through.
            if len(lane.refused) >= LEAST_FAILURES:
                self._give_up(run_errors.all_refused(self._model.uri, patience, error))
            return _with(error, "nobody has got through for longer than a run waits")
        if history.waited + pause > patience and not down:
            if error.retry_after is not None:  # others keep away as well, however long that is
                lane.limiter.refused(pause)
            seconds = error.retry_after or pause
            return _with(error, f"the server asks to wait {seconds:.0f} s, which is too long")
        return None

    async def _wait_before_retry(self, error: CallError, history: _History, pause: float) -> None:
        history.waited += pause
        await self._sleep(pause, _after(error))
        if error.kind == "rate_limit":
            # How fast those come is learnt by the rate limiter; behind the retry budget they would
            # only wait twice.
            return
        history.failures += 1
        now = asyncio.get_running_loop().time
        while not self._stop.is_set():
            seconds = self._retry_budget.take(now())
            if not seconds:
                return
            await self._sleep(seconds, "retries are held back, for many calls fail")

    def _pause(self, error: CallError, history: _History) -> float:
        """Seconds before the next attempt."""
        chance = self._random.random
        if error.retry_after is not None:
            # Never early; a little late, so that calls that were refused together do not come back
            # together.
            return error.retry_after * (1 + 0.05 * chance()) + 0.05 * chance()
        attempt = min(max(history.failures + 1, history.refusals), MOST_DOUBLINGS)
        return float(self._policy.backoff * 2 ** (attempt - 1) * (0.75 + 0.5 * chance()))

    async def _wait_until_allowed(self, lane: _Lane) -> float:
        """Wait until this call may be sent: the provider is up, the key is not blocked, it has its
        place in the rate.

        Returns the seconds waited for a key that was blocked. Raises Stopped.
        """
        loop = asyncio.get_running_loop()
        blocked = 0.0
        while not self._stop.is_set():
            pause = lane.breaker.pause(loop.time())
            if pause:
                self._raise_if_down_for_good(lane.breaker, loop.time())
                await self._sleep(min(pause, 1.0), "the provider is down")
                continue
            pause = lane.limiter.blocked()
            if pause > self._policy.patience:
                self._give_up(
                    run_errors.asked_to_wait_too_long(self._model.uri, pause, self._policy.patience)
                )
            if pause:
                blocked += pause
                await self._sleep(pause, _until(pause))
                continue
            if lane.limiter.rate is None and not lane.limiter.claim():
                return blocked
            is_probe = lane.breaker.since is not None  # a look at a provider that is down
            await self._claim_place(lane)
            if is_probe or lane.breaker.since is None:
                break
        if self._stop.is_set():
            raise Stopped
        return blocked

    async def _claim_place(self, lane: _Lane) -> None:
        """Wait for a place in the rate, or until the key is blocked."""
        # One claim at a time, so that processes take turns and a new rate holds at once.
        async with lane.claiming:
            while not self._stop.is_set():
                pause = lane.limiter.claim()
                if not pause:
                    return
                await self._sleep(pause, "rate limit")
                if not lane.limiter.blocked():
                    return

    async def _sleep(self, seconds: float, why: str) -> None:
        """Wait, under a name, but not beyond a stop."""
        self.traffic.waits[why] += 1
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._stop.wait()
        finally:
            self.traffic.waits[why] -= 1
            if not self.traffic.waits[why]:
                del self.traffic.waits[why]

    # -- the end of a run

    def _give_up(self, error: ProviderError) -> NoReturn:
        """End the run: no call that waits is made any more."""
        self.stop()
        raise error

    def _raise_if_down_for_good(self, breaker: Breaker, now: float) -> None:
        most = self._policy.outage if self.traffic.answered else self._policy.first
        if breaker.since is None or now - breaker.since < most:
            return
        if not self.traffic.answered and breaker.last is not None:
            self._raise_if_unreachable(breaker.last)
        seconds = now - breaker.since
        self._give_up(run_errors.down_for_good(self._model.uri, seconds, breaker.last))

    def _raise_if_hopeless(self, error: CallError) -> None:
        if error.fatal:
            self._give_up(run_errors.rejected_for_good(self._model.uri, error))
        if error.kind == "bad_request" and self.traffic.answered == 0:
            self._rejected += 1
            if self._rejected >= HOPELESS:
                self._give_up(
                    run_errors.first_calls_rejected(self._model.uri, self._rejected, error)
                )

    def _raise_if_unreachable(self, error: CallError) -> None:
        if error.kind == "network" and self.traffic.answered == 0:
            self._give_up(run_errors.unreachable(self._model.uri, error))


def _with(error: CallError, why: str) -> CallError:
    """The failure that ends a call's retries."""
    return CallError(error.kind, f"{error.message}; {why}")


def _after(error: CallError) -> str:
    """The name of the pause before a retry."""
    return f"a pause after a failure ({error.kind.replace('_', ' ')})"


def _until(seconds: float) -> str:
    """The name of a wait for a key that is blocked, with the time of day where somebody may want
    to know it.
    """
    if seconds < LONG:
        return "rate limit"
    moment = time.strftime("%H:%M:%S", time.localtime(time.time() + seconds))
    return f"rate limit, calls go out again at {moment}"
