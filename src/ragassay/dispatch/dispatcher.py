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
from ragassay.models import MAY_SEND_MORE, NOT_SENT, Model

MOST_REJECTIONS = 8
"""Calls that a server may reject as malformed, with none answered, before the set-up is to blame
and not the row.
"""

LONG_WAIT = 2.0
"""Seconds from which a wait is shown with the time of day at which it ends."""

LEAST_FAILURES = 8
"""Failures in a row before a provider counts as down, however few calls are in flight."""

MOST_DOUBLINGS = 8
"""Failures after which a pause before a retry is not doubled any more."""


FIRST_ALONE = 3.0
"""Seconds that other calls wait for the outcome of the first one at most: a set-up that cannot work
is told at once, and costs one call.
"""

FIRST_TRIED_AGAIN = 20.0
"""The same where the first call is tried again because the server fails."""

LEAST_ATTEMPTS = 3
"""Attempts of a first call after which a server that only fails counts as down."""

WRONG_ADDRESS = frozenset({405, 406, 410, 411, 415, 421, 501, 505})
"""Answers to a first call that are about the address and not about the call."""


class Stopped(Exception):
    """The run is stopping: no new call is made. Internal to the runner."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How hard to try a call. All but `attempts` are seconds."""

    timeout: float = 120.0
    """What one attempt may take."""

    attempts: int = 5
    """How often one call is tried at most. Refusals for the rate and failures while the provider is
    down do not count: they say nothing about the call.
    """

    patience: float = 900.0
    """The longest wait for a server that has its limits: one that names the time to come back, and
    one that refuses every call without a word.
    """

    backoff: float = 0.5
    """The first pause after a failure; it doubles with each further one."""

    probe_interval: float = 10.0
    """Between two calls that look whether a provider which is down is back. A fifth of it where the
    provider has never answered: that is mostly a mistake in the set-up, or a server still starting.
    """

    outage_limit: float = 3600.0
    """After so long the run gives up a provider that is down."""

    first_answer_limit: float = 30.0
    """The same where the provider has never answered."""


@dataclass(slots=True)
class Traffic:
    """Counters that the progress display reads. limit: calls allowed at once now, of `ceiling`;
    down: since when, in the event loop's seconds, the provider has been down, None while it is up;
    waits: how many calls wait, by the reason; provider_status: what is waited for at the provider,
    in the model's words.
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
    provider_status: Callable[[], str] = str

    @property
    def waiting(self) -> str:
        """What most of the waiting calls wait for, "" when none waits but for its answer."""
        return self.provider_status() or max(self.waits, key=self.waits.__getitem__, default="")


@dataclass(slots=True)
class _Lane:
    """What belongs to one provider and key. answered_at: when a call was last answered; refused:
    the calls that a limit has refused since then.
    """

    limiter: RateLimiter
    breaker: Breaker
    answered_at: float = 0.0
    claim_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    refused: set[_History] = field(default_factory=set)


@dataclass(slots=True, eq=False)
class _History:
    """The attempts of one call. began_at: the event loop's seconds; seconds_waited: pauses that are
    due to this call's own failures and refusals; refusals: by a limit of the server.
    """

    began_at: float
    seconds_waited: float = 0.0
    attempts: int = 0
    failures: int = 0
    refusals: int = 0


class _Requests:
    """The requests of one call beyond its first one, as the budget allows them."""

    def __init__(self, budget: LocalBudget) -> None:
        self._budget = budget
        self.further = 0

    def take(self) -> bool:
        """Whether another one may be sent."""
        if not self._budget.take_request():
            return False
        self.further += 1
        return True


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
        self._first_sent = False
        self._first_ended = asyncio.Event()
        self._rejected = 0
        self._web_pages = 0
        self._queue = FairnessQueue(lambda: self._concurrency.waiting)
        self._random = random.Random(0)  # only spreads pauses; no result depends on it
        self.traffic = Traffic(limit=limit, ceiling=limit)

    def stop(self) -> None:
        """Make no new call; calls in flight go on, and their replies are returned at once."""
        self._stop.set()
        self._first_ended.set()
        self._queue.end()

    @property
    def stopped(self) -> bool:
        """Whether no call is made any more: it was stopped, or gave the provider up."""
        return self._stop.is_set()

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
        self._retry_budget.add_call()
        history = _History(asyncio.get_running_loop().time())
        error: CallError | None = None
        is_first = not self._first_ended.is_set() and await self._goes_first()
        while error is None:
            await self._concurrency.enter()
            try:
                history.seconds_waited += await self._wait_until_allowed(lane)
                reserved = await self._reserve(call)
                if reserved is None:
                    self._first_ended.set()
                    self._on_budget()
                    return CallFailed("over_budget", self._budget.refusal)
                history.attempts += 1
                self._queue.moving()
                outcome = await self._attempt(call, reserved, lane)
                self._queue.moving()
            except BaseException:
                self._first_ended.set()
                raise
            finally:
                # A call that waits to be tried again leaves its place to another one.
                self._concurrency.leave()
            if is_first:
                self._end_of_first(outcome)
            if not isinstance(outcome, CallError):
                # The next call goes out first: to read a reply takes longer than to send one.
                await self._queue.turn()
                return outcome
            self._raise_if_set_up_is_wrong(outcome)
            self._raise_if_down_at_first(outcome, history)
            if outcome.kind == "over_budget":
                self._on_budget()
                return CallFailed("over_budget", self._budget.refusal)
            error = outcome
            if outcome.retryable:
                error = await self._prepare_retry(outcome, lane, history)
        self._raise_if_unreachable(error)
        if is_first:
            self._first_ended.set()
        tries = f" (tried {history.attempts} times)" if history.attempts > 1 else ""
        return CallFailed(error.kind, error.message + tries)

    async def _goes_first(self) -> bool:
        """Whether this is the first call; another one waits for the outcome of that."""
        if not self._first_sent:
            self._first_sent = True
            return True
        for seconds in (FIRST_ALONE, FIRST_TRIED_AGAIN - FIRST_ALONE):
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._first_ended.wait()
            if self._first_ended.is_set() or not self.traffic.retries:
                break
        return False

    def _end_of_first(self, outcome: Reply | CallError) -> None:
        """Let the other calls go, unless the server fails as if it were down, or nothing of the
        kind that answers calls: then the first call is tried again first.
        """
        is_failure = isinstance(outcome, CallError) and outcome.retryable
        kind = getattr(outcome, "kind", "")
        if not is_failure or kind not in ("network", "server", "web_page"):
            self._first_ended.set()

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
            # As many in a row as there are calls in flight: a few bad rows are no outage.
            threshold = max(LEAST_FAILURES, self._concurrency.ceiling)
            lane = self._lanes[key] = _Lane(RateLimiter.of(key), Breaker(threshold))
        return lane

    # -- one attempt

    async def _attempt(self, call: ChatCall, reserved: Decimal, lane: _Lane) -> Reply | CallError:
        """One request, settled with the budget, and reported to all that learn from it."""
        now = asyncio.get_running_loop().time
        started = now()
        self.traffic.sent += 1
        self.traffic.in_flight += 1
        requests = _Requests(self._budget)
        asked = MAY_SEND_MORE.set(requests.take)
        try:
            async with asyncio.timeout(self._policy.timeout):
                reply = await self._model.call(call)
        except TimeoutError as late:
            # Of the cancellation that the time-out came from.
            arguments = () if late.__cause__ is None else late.__cause__.args
            error = CallError(
                "timeout",
                f"no answer within {self._policy.timeout:g} s",
                retryable=True,
                maybe_billed=arguments != (NOT_SENT,),
            )
        except CallError as caught:
            error = caught
        except EnvironmentFailure:
            # The log of calls could not be written (a full disk), so that this one was not sent.
            self._budget.release(call, reserved)
            raise
        except BaseException as stopped:
            # Cancelled in flight: the server may have done the work all the same.
            if stopped.args == (NOT_SENT,):
                self._budget.release(call, reserved)
            else:
                self._budget.settle(call, reserved, None, cut_off=True, further=requests.further)
            raise
        else:
            return self._take_reply(call, reserved, lane, started, reply, requests.further)
        finally:
            MAY_SEND_MORE.reset(asked)
            self.traffic.in_flight -= 1
        self._budget.settle(
            call,
            reserved,
            None,
            maybe_billed=error.maybe_billed,
            status=error.status,
            further=requests.further,
        )
        self._note_failure(lane, started, error)
        return error

    def _take_reply(
        self,
        call: ChatCall,
        reserved: Decimal,
        lane: _Lane,
        started: float,
        reply: Reply,
        further: int,
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
            bill.reasoning_tokens,
        )
        text = reply.text if isinstance(reply, ChatReply) else None
        self._budget.settle(call, reserved, spend, text=text, further=further)
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
            self._note_up(lane, started)  # a refusal, or a rejection, is an answer
        else:
            interval = self._policy.probe_interval
            if not self.traffic.answered:
                interval /= 5
            was_down = lane.breaker.open_since is not None
            lane.breaker.failed(now, interval, error)
            self.traffic.down = lane.breaker.open_since
            if not was_down:  # that a provider which is down is still down is no news
                self._concurrency.observe(now, None)
        self.traffic.limit = int(self._concurrency.limit)

    def _note_up(self, lane: _Lane, started: float) -> None:
        lane.breaker.answered(started)
        self.traffic.down = lane.breaker.open_since

    async def _reserve(self, call: Call) -> Decimal | None:
        """Reserve a call's worst case, in US dollars; None when a cap does not allow the call.
        Where there is a cap, the reservation is on disk before the call is sent.

        Raises Stopped, with nothing left reserved, when the run is stopping.
        """
        reserved = self._budget.reserve(call)
        while reserved is None and self._budget.waiting_helps and not self._stop.is_set():
            # A reply costs a small part of its worst case, so that room comes back.
            await self._until_freed()
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
        """Wait as long as a call that failed has to, and return None: it is to be tried again. Else
        the failure with which it ends.
        """
        limited = error.kind == "rate_limit"
        server_named_time = error.retry_after is not None
        down = lane.breaker.open_since is not None and speaks_of_the_service(error)
        pause = self._pause(error, history)
        if server_named_time and pause > self._policy.patience and not down:
            # Tried again, it finds the key blocked for too long, which ends the run: a resume makes
            # the call. A failure here would lose it.
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
            lane.limiter.refused(pause if server_named_time else 0.0)
        if down or (limited and server_named_time):
            return None  # the breaker or the rate limiter lets all calls wait, this one too
        await self._wait_before_retry(error, history, pause)
        return None

    def _end_of_patience(
        self, error: CallError, lane: _Lane, history: _History, pause: float, down: bool
    ) -> CallError | None:
        """The failure of a call that would wait longer than a run waits; None where it does not."""
        patience = self._policy.patience
        now = asyncio.get_running_loop().time()
        if history.refusals and now - max(history.began_at, lane.answered_at) > patience:
            # One row that is always refused is that row's failure. Where many calls are refused and
            # none gets through, it is the provider, and the run ends.
            if len(lane.refused) >= LEAST_FAILURES:
                self._give_up(run_errors.all_refused(self._model.uri, patience, error))
            return _with(error, "nobody has got through for longer than a run waits")
        if history.seconds_waited + pause > patience and not down:
            if error.retry_after is not None:  # others keep away as well, however long that is
                lane.limiter.refused(pause)
            seconds = error.retry_after or pause
            return _with(error, f"the server asks to wait {seconds:.0f} s, which is too long")
        return None

    async def _wait_before_retry(self, error: CallError, history: _History, pause: float) -> None:
        history.seconds_waited += pause
        await self._sleep(pause, _after(error))
        if error.kind == "rate_limit":
            # The rate limiter holds these back already; the retry budget would do it twice.
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
        """Wait until this call may be sent: the provider is up, the key is not blocked, and the
        call has its place in the rate.

        Returns the seconds waited for a blocked key, which count against the patience with this
        call. Waits for the provider or for a place in the rate do not. Raises Stopped.
        """
        loop = asyncio.get_running_loop()
        blocked = 0.0
        while not self._stop.is_set():
            pause = lane.breaker.pause(loop.time())
            if pause:
                self._raise_if_down_for_good(lane.breaker, loop.time())
                # In short steps: another call may find meanwhile that the provider is back.
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
            # While no rate is known, calls need not queue for the lock of _claim_place.
            if lane.limiter.rate is None and not lane.limiter.claim():
                return blocked
            is_probe = lane.breaker.open_since is not None
            await self._claim_place(lane)
            # The provider may have gone down during that wait; then the breaker is asked again.
            if is_probe or lane.breaker.open_since is None:
                break
        if self._stop.is_set():
            raise Stopped
        return blocked

    async def _claim_place(self, lane: _Lane) -> None:
        """Wait for a place in the rate, or until the key is blocked."""
        # One claim at a time, so that processes take turns and a new rate holds at once.
        async with lane.claim_lock:
            while not self._stop.is_set():
                pause = lane.limiter.claim()
                if not pause:
                    return
                await self._sleep(pause, "rate limit")
                if not lane.limiter.blocked():
                    return

    async def _sleep(self, seconds: float, why: str) -> None:
        """Wait so long, or until the run stops; the display shows `why`."""
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
        policy = self._policy
        limit = policy.outage_limit if self.traffic.answered else policy.first_answer_limit
        if breaker.open_since is None or now - breaker.open_since < limit:
            return
        if not self.traffic.answered and breaker.last_failure is not None:
            self._raise_if_unreachable(breaker.last_failure)
        seconds = now - breaker.open_since
        self._give_up(run_errors.down_for_good(self._model.uri, seconds, breaker.last_failure))

    def _raise_if_set_up_is_wrong(self, error: CallError) -> None:
        if error.fatal:
            self._give_up(run_errors.rejected_for_good(self._model.uri, error))
        if self.traffic.answered:
            return
        self._web_pages += error.kind == "web_page"
        # A page may stand in for an answer once, while a gateway restarts.
        if self._web_pages > 1 or (error.kind == "bad_request" and error.status in WRONG_ADDRESS):
            self._give_up(run_errors.rejected_for_good(self._model.uri, error))
        if error.kind == "bad_request":
            self._rejected += 1
            if self._rejected >= MOST_REJECTIONS:
                self._give_up(
                    run_errors.first_calls_rejected(self._model.uri, self._rejected, error)
                )

    def _raise_if_unreachable(self, error: CallError) -> None:
        if error.kind == "network" and self.traffic.answered == 0:
            self._give_up(run_errors.unreachable(self._model.uri, error))

    def _raise_if_down_at_first(self, error: CallError, history: _History) -> None:
        """A server that was never up is told soon, and not row by row."""
        attempts = history.failures + 1  # without refusals for the rate
        is_down = speaks_of_the_service(error) and attempts >= LEAST_ATTEMPTS
        if self.traffic.answered or not is_down:
            return
        waited = asyncio.get_running_loop().time() - history.began_at
        if attempts >= self._policy.attempts or waited > self._policy.first_answer_limit:
            self._raise_if_unreachable(error)
            self._give_up(run_errors.down_at_first(self._model.uri, error.message, attempts))


def _with(error: CallError, why: str) -> CallError:
    """The failure that ends a call's retries."""
    return CallError(error.kind, f"{error.message}; {why}")


def _after(error: CallError) -> str:
    """The name of the pause before a retry."""
    return f"a pause after a failure ({error.kind.replace('_', ' ')})"


def _until(seconds: float) -> str:
    """The name of a wait for a blocked key; a longer one names the time of day at which it ends."""
    if seconds < LONG_WAIT:
        return "rate limit"
    moment = time.strftime("%H:%M:%S", time.localtime(time.time() + seconds))
    return f"rate limit, calls go out again at {moment}"
