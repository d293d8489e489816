"""How one model call is made to succeed: deadline, retries, rate, concurrency, breaker, budget, a
clean stop.

This is the only place that retries. A call that fails is tried again when its failure may pass:
after the time that the server asked for, else after a pause that doubles. Retries are a share of
the calls (`RetryBudget`); a rate that is exceeded teaches the pace of the key, which other processes
share (`RateLimiter`); calls in flight are bounded by a window that narrows where the server buckles
(`ConcurrencyLimit`); a provider that is down is looked at now and then until it is back (`Breaker`). Every
wait has a name that the progress display shows. All times are of the event loop's monotonic clock.
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
from ragassay.dispatch.budget import LocalBudget
from ragassay.dispatch.fairness import FairnessQueue
from ragassay.dispatch.throttle.breaker import Breaker, speaks_of_the_service
from ragassay.dispatch.throttle.concurrency import ConcurrencyLimit
from ragassay.dispatch.throttle.rate import RateLimiter
from ragassay.dispatch.throttle.retries import RetryBudget
from ragassay.models import Model


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
        """What most of the waiting calls wait for, "" when none waits for anything but its answer."""
        return self.elsewhere() or max(self.waits, key=self.waits.__getitem__, default="")


HOPELESS = 8
"""Calls that a server may reject as malformed, with none answered, before the set-up is to blame
and not the row.
"""

LONG = 2.0
"""Seconds of a wait from which on it is said when it ends."""

LEAST_FAILURES = 8
"""Failures in a row before a provider counts as down, however few calls are in flight."""


@dataclass(slots=True)
class _Lane:
    """What belongs to one provider and key."""

    pace: RateLimiter
    breaker: Breaker
    accepted: float = 0.0  # when a call was last answered
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    refused: set[_Trial] = field(default_factory=set)  # the calls that a limit refused since


@dataclass(slots=True, eq=False)
class _Trial:
    """What has become of one call. begun: the event loop's seconds; waited: seconds before tries
    that it may blame on itself.
    """

    begun: float
    waited: float = 0.0
    sent: int = 0
    failures: int = 0
    refusals: int = 0  # by a limit


class Dispatcher:
    """Sends calls to a model. `on_budget` is called once when a cap stops a call. `close` it in the
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
        intent: Callable[[Ledger], Awaitable[None]] | None = None,
    ) -> None:
        self._model, self._budget, self._policy = model, budget, policy
        limit = concurrency if model.concurrency is None else min(concurrency, model.concurrency)
        self._window = ConcurrencyLimit(limit)
        self._lanes: dict[str, _Lane] = {}
        self._purse = RetryBudget()
        self._on_budget, self._intent = on_budget, intent
        self._stop: asyncio.Event = asyncio.Event()
        self._rejected = 0
        self._turns = FairnessQueue(lambda: self._window.waiting)
        self._random = random.Random(0)  # only spreads pauses; no result depends on it
        self.traffic = Traffic(limit=limit, ceiling=limit)

    def stop(self) -> None:
        """Make no new call; calls in flight go on, and what they bring is handed over at once."""
        self._stop.set()
        self._turns.end()

    async def turn(self) -> None:
        """Wait for this task's turn at longer work; not at all while no call is under way."""
        if self.traffic.in_flight:
            await self._turns.turn()

    def close(self) -> None:
        """Let go of what is shared with other processes."""
        for lane in self._lanes.values():
            lane.pace.close()
        self._lanes.clear()

    async def call(self, call: Call) -> Reply:
        """The reply, or CallFailed when all attempts failed.

        Raises Stopped when the run is stopping and ProviderError when no call can succeed with this
        set-up.
        """
        if not isinstance(call, ChatCall):
            return await self._local(call)
        lane, trial = self._lane(call), _Trial(asyncio.get_running_loop().time())
        error: CallError | None = None
        while error is None:
            await self._window.enter()
            try:
                trial.waited += await self._wait_for_leave(lane)
                reserved = await self._reserve(call)
                if reserved is None:
                    self._on_budget()
                    return CallFailed("over_budget", self._budget.stop_reason())
                trial.sent += 1
                self._turns.moving()
                outcome = await self._attempt(call, reserved, lane)
                self._turns.moving()
            finally:
                self._window.leave()
            if not isinstance(outcome, CallError):
                await (
                    self._turns.turn()
                )  # the next call goes out first: to read a reply takes longer than to send one
                return outcome
            self._raise_if_hopeless(outcome)
            error = await self._try_again(outcome, lane, trial) if outcome.retryable else outcome
        self._raise_if_unreachable(error)
        return CallFailed(
            error.kind, error.message + (f" (tried {trial.sent} times)" if trial.sent > 1 else "")
        )

    async def _try_again(self, error: CallError, lane: _Lane, trial: _Trial) -> CallError | None:
        """Wait as long as a call that failed must before it is tried again; None then, else the
        failure it ends with.
        """
        now, patience = asyncio.get_running_loop().time, self._policy.patience
        limited, asked = error.kind == "rate_limit", error.retry_after is not None
        down = lane.breaker.since is not None and speaks_of_the_service(error)
        pause = self._pause(error, min(max(trial.failures + 1, trial.refusals), 8))
        if asked and pause > patience and not down:
            lane.pace.refused(
                pause
            )  # the run ends there, and a resume makes the call: it is not lost
            return None
        if limited:  # bounded by patience, not by attempts
            trial.refusals += 1
            lane.refused.add(trial)
        elif trial.failures + 1 >= self._policy.attempts and not down:
            return error
        if trial.refusals and now() - max(trial.begun, lane.accepted) > patience:
            self._raise_if_all_are_refused(lane, error)
            return _with(error, "nobody has got through for longer than a run waits")
        if trial.waited + pause > patience and not down:
            if asked:  # others keep away as well, however long that is
                lane.pace.refused(pause)
            return _with(
                error,
                f"the server asks to wait {error.retry_after or pause:.0f} s, which is too long",
            )
        self.traffic.retries += 1
        self._budget.retries += 1
        if limited:
            self.traffic.rate_limited += 1
            lane.pace.refused(pause if asked else 0.0)
        if down or (
            limited and asked
        ):  # the breaker or the pace says to all when it is tried again
            return None
        trial.waited += pause
        await self._sleep(pause, _after(error))
        if (
            limited
        ):  # how fast those come is learnt by the pace; behind the purse they would only wait twice
            return None
        trial.failures += 1
        while (pause := self._purse.take(now())) and not self._stop.is_set():
            await self._sleep(pause, "retries are held back, for many calls fail")
        return None

    def _lane(self, call: ChatCall) -> _Lane:
        key = self._model.lane(call)
        lane = self._lanes.get(key)
        if lane is None:
            threshold = max(LEAST_FAILURES, self._window.ceiling)
            lane = self._lanes[key] = _Lane(RateLimiter.of(key), Breaker(threshold))
        self._purse.first()
        return lane

    async def _attempt(self, call: ChatCall, reserved: Decimal, lane: _Lane) -> Reply | CallError:
        """One request, settled with the budget, and told to all that learn from it."""
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
        except (
            EnvironmentFailure
        ):  # the log of calls could not be written (a full disk), so that this one was not sent
            self._budget.release(call, reserved)
            raise
        except BaseException:
            self._budget.settle(call, reserved, None, maybe_billed=True)
            raise
        else:
            seconds = now() - started
            bill = reply.spend
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
            lane.accepted = started + seconds
            lane.refused.clear()
            self._up(lane, started)
            lane.pace.accepted()
            self._window.observe(started + seconds, seconds)
            if isinstance(reply, ChatReply):
                return ChatReply(reply.text, reply.finish, reply.model, spend)
            return replace(reply, spend=spend)
        finally:
            self.traffic.in_flight -= 1
        self._budget.settle(call, reserved, None, maybe_billed=error.maybe_billed)
        if error.kind == "rate_limit" or not error.retryable:
            self._up(lane, started)
        else:
            every = self._policy.probe if self.traffic.answered else self._policy.probe / 5
            looked = (
                lane.breaker.since is not None
            )  # that a provider which is down is still down is no news
            lane.breaker.failed(now(), every, error)
            self.traffic.down = lane.breaker.since
            if not looked:
                self._window.observe(now(), None)
        self.traffic.limit = int(self._window.limit)
        return error

    def _up(self, lane: _Lane, started: float) -> None:
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
            if (
                reserved is not None
                and self._intent is not None
                and self._budget.capped
                and not self._stop.is_set()
            ):
                # A cap holds across a kill only when the disk knows of a call before the server
                # does.
                await self._intent(self._budget.snapshot())
            if self._stop.is_set():
                raise Stopped
        except BaseException:
            if reserved is not None:
                self._budget.release(call, reserved)
            raise
        return reserved

    async def _until_freed(self) -> None:
        """Wait a moment in which a call may end and give back what was reserved for it."""
        await asyncio.sleep(0.02)

    async def _local(self, call: Call) -> Reply:
        if self._stop.is_set():
            raise Stopped
        try:
            reply = await self._model.call(call)
        except CallError as error:
            return CallFailed(error.kind, error.message)
        self.traffic.answered += 1
        return reply

    def _pause(self, error: CallError, attempt: int) -> float:
        if error.retry_after is not None:
            # Never early; a little late, so that calls that were refused together do not come back
            # together.
            return (
                error.retry_after * (1 + 0.05 * self._random.random())
                + 0.05 * self._random.random()
            )
        return float(
            self._policy.backoff * 2 ** (attempt - 1) * (0.75 + 0.5 * self._random.random())
        )

    async def _wait_for_leave(self, lane: _Lane) -> float:
        """Wait until this call may be sent: the provider is up, the key is not held back, it has
        its place in the rate.

        Returns the seconds waited for a key that was held back. Raises Stopped.
        """
        loop = asyncio.get_running_loop()
        held = 0.0
        while not self._stop.is_set():
            if pause := lane.breaker.pause(loop.time()):
                self._raise_if_down_for_good(lane.breaker, loop.time())
                await self._sleep(min(pause, 1.0), "the provider is down")
                continue
            if (pause := lane.pace.blocked()) > self._policy.patience:
                self._give_up(
                    "E0409",
                    "The server asks to wait longer than a run waits.",
                    why=(
                        f"calls may go out again in {pause:.0f} s; a run waits"
                        f" {self._policy.patience:.0f} s at most"
                    ),
                    fix="come back when its limit allows it",
                )
            if pause:
                held += pause
                await self._sleep(pause, _until(pause))
                continue
            if lane.pace.rate is None and not lane.pace.claim():
                return held
            looks = lane.breaker.since is not None  # at a provider that is down
            async with (
                lane.turn
            ):  # one claim at a time, so that processes take turns and a new rate holds at once
                while (pause := lane.pace.claim()) and not self._stop.is_set():
                    await self._sleep(pause, "rate limit")
                    if not lane.pace.blocked():
                        break
            if looks or lane.breaker.since is None:
                break
        if self._stop.is_set():
            raise Stopped
        return held

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

    def _give_up(self, code: str, what: str, *, why: str, fix: str) -> NoReturn:
        """End the run: no call that waits is made any more."""
        self.stop()
        raise ProviderError(code, what, where=self._model.uri, why=why, fix=fix)

    def _raise_if_down_for_good(self, breaker: Breaker, now: float) -> None:
        most = self._policy.outage if self.traffic.answered else self._policy.first
        if breaker.since is None or now - breaker.since < most:
            return
        if not self.traffic.answered and breaker.last is not None:
            self._raise_if_unreachable(breaker.last)
        self._give_up(
            "E0411",
            f"The provider has been down for {_span(now - breaker.since)}.",
            why=f"the last answer: {breaker.last.message}" if breaker.last is not None else "",
            fix="wait until it is back: what was judged is kept",
        )

    def _raise_if_hopeless(self, error: CallError) -> None:
        if error.fatal:
            code = {"auth": "E0403", "no_model": "E0404"}.get(error.kind, "E0408")
            fix = {
                "E0403": (
                    "set the right key in the environment variable that holds it (OPENAI_API_KEY"
                    " unless you named another)"
                ),
                "E0404": (
                    "begin a new run with a model that the server has and a --base-url whose path"
                    " is right (most end in /v1); or make the server serve this model"
                ),
                "E0408": (
                    "see what the server says above; a limit of the account has to be raised there"
                    if error.kind == "quota"
                    else (
                        "see what the server says above, and check --base-url: it must serve chat"
                        " completions"
                    )
                ),
            }[code]
            what = {
                "E0403": "The server rejects the API key.",
                "E0404": "The server does not know the model.",
            }.get(code, "The server rejects every call.")
            self._give_up(code, what, why=error.message, fix=fix)
        if error.kind == "bad_request" and self.traffic.answered == 0:
            self._rejected += 1
            if self._rejected >= HOPELESS:
                self._give_up(
                    "E0408",
                    f"The server rejected the first {self._rejected} calls and answered none.",
                    why=error.message,
                    fix="check --base-url and the model: it must serve chat completions",
                )

    def _raise_if_all_are_refused(self, lane: _Lane, error: CallError) -> None:
        """It is the provider, and not a row that it always refuses, where many calls wait and none
        gets through.
        """
        if len(lane.refused) >= LEAST_FAILURES:
            self._give_up(
                "E0409",
                f"The server has refused all calls for {_span(self._policy.patience)}.",
                why=error.message,
                fix="come back when its limit allows it",
            )

    def _raise_if_unreachable(self, error: CallError) -> None:
        if error.kind == "network" and self.traffic.answered == 0:
            self._give_up(
                "E0405",
                "The server cannot be reached.",
                why=error.message,
                fix=(
                    "check that it runs and that --base-url is right (another address needs a new"
                    " run)"
                ),
            )


def _with(error: CallError, why: str) -> CallError:
    """The failure that ends a call's retries."""
    return CallError(error.kind, f"{error.message}; {why}")


def _after(error: CallError) -> str:
    """The name of the pause before a retry."""
    return f"a pause after a failure ({error.kind.replace('_', ' ')})"


def _until(seconds: float) -> str:
    """The name of a wait for a key that is held back, with the time of day where somebody may want
    to know it.
    """
    if seconds < LONG:
        return "rate limit"
    return (
        "rate limit, calls go out again at"
        f" {time.strftime('%H:%M:%S', time.localtime(time.time() + seconds))}"
    )


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"
