"""How one model call is made to succeed: deadline, retries that honour Retry-After, concurrency, budget, a clean stop."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NoReturn

from ragassay.core import Call, CallError, CallFailed, ChatCall, Ledger, ProviderError, Reply
from ragassay.models import Model
from ragassay.runner.budget import Budget


class Stopped(Exception):
    """The run is stopping: no new call is made. Internal to the runner."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How hard to try. timeout: seconds one attempt may take; attempts: most tries of one call;
    patience: most seconds to wait for a server that says when to come back; backoff: first pause, doubled each time."""

    timeout: float = 120.0
    attempts: int = 5
    patience: float = 900.0
    backoff: float = 0.5


@dataclass(slots=True)
class Traffic:
    """Counters that the progress display reads."""

    sent: int = 0
    answered: int = 0
    in_flight: int = 0
    retries: int = 0
    rate_limited: int = 0
    waiting: str = ""


HOPELESS = 8
"""Calls that a server may reject as malformed, with none answered, before the set-up is to blame and not the row."""


class Dispatcher:
    """Sends calls to a model. `on_budget` is called once when a cap stops a call."""

    def __init__(
        self,
        model: Model,
        budget: Budget,
        policy: CallPolicy,
        concurrency: int,
        *,
        on_budget: Callable[[], None],
        intent: Callable[[Ledger], Awaitable[None]] | None = None,
    ) -> None:
        self._model, self._budget, self._policy = model, budget, policy
        limit = concurrency if model.concurrency is None else min(concurrency, model.concurrency)
        self._slots = asyncio.Semaphore(limit)
        self._on_budget, self._intent = on_budget, intent
        self._stopping = False
        self._not_before = 0.0
        self._rejected = 0
        self._random = random.Random(0)  # only spreads pauses; no result depends on it
        self.traffic = Traffic()

    def stop(self) -> None:
        """Make no new call; calls in flight go on."""
        self._stopping = True

    async def call(self, call: Call) -> Reply:
        """The reply, or CallFailed when all attempts failed.

        Raises Stopped when the run is stopping and ProviderError when no call can succeed with this set-up.
        """
        if not isinstance(call, ChatCall):
            return await self._local(call)
        loop = asyncio.get_running_loop()
        waited, tries, attempt = 0.0, 0, 1
        while True:
            async with self._slots:
                waited += await self._wait_for_server()
                if self._stopping:
                    raise Stopped
                reserved = await self._reserve(call)
                if reserved is None:
                    self._on_budget()
                    return CallFailed("over_budget", self._budget.stop_reason())
                started = loop.time()
                tries += 1
                self.traffic.sent += 1
                self.traffic.in_flight += 1
                try:
                    async with asyncio.timeout(self._policy.timeout):
                        reply = await self._model.call(call)
                except TimeoutError:
                    error = CallError(
                        "timeout", f"no answer within {self._policy.timeout:g} s", retryable=True, maybe_billed=True
                    )
                except CallError as caught:
                    error = caught
                except BaseException:
                    self._budget.settle(call, reserved, None, maybe_billed=True)
                    raise
                else:
                    self.traffic.answered += 1
                    spend = replace(reply.spend, seconds=loop.time() - started)
                    self._budget.settle(call, reserved, spend)
                    return replace(reply, spend=spend)
                finally:
                    self.traffic.in_flight -= 1
                self._budget.settle(call, reserved, None, maybe_billed=error.maybe_billed)
            self._raise_if_hopeless(error)
            if not error.retryable or (attempt >= self._policy.attempts and error.kind != "rate_limit"):
                break
            pause = self._pause(error, min(attempt, 8))
            attempt += 1  # a rate limit is no failure of the call: it is bounded by patience, not by attempts
            if waited + pause > self._policy.patience:
                if error.retry_after is not None:  # others keep away as well, however long that is
                    self._not_before = max(self._not_before, loop.time() + pause)
                error = CallError(
                    error.kind, f"{error.message}; the server asks to wait {pause:.0f} s, which is too long"
                )
                break
            self.traffic.retries += 1
            self._budget.retries += 1
            if error.kind == "rate_limit":
                self.traffic.rate_limited += 1
                if error.retry_after is not None:  # the key is limited, not this call: nobody sends before
                    self._not_before = max(self._not_before, loop.time() + pause)
                    continue
            waited += pause
            await self._sleep(pause, error.kind)
        self._raise_if_unreachable(error)
        return CallFailed(error.kind, error.message + (f" (tried {tries} times)" if tries > 1 else ""))

    async def _reserve(self, call: Call) -> Decimal | None:
        """Room for a call, on disk before the call is sent where a cap must hold; None when a cap does not allow it.

        Raises Stopped, with nothing left reserved, when the run is stopping.
        """
        reserved = self._budget.reserve(call)
        while reserved is None and self._budget.may_free and not self._stopping:
            await asyncio.sleep(0.02)  # worst cases are far from what calls cost: room comes back
            reserved = self._budget.reserve(call)
        try:
            if reserved is not None and self._intent is not None and self._budget.capped and not self._stopping:
                # A cap holds across a kill only when the disk knows of a call before the server does.
                await self._intent(self._budget.snapshot())
            if self._stopping:
                raise Stopped
        except BaseException:
            if reserved is not None:
                self._budget.release(call, reserved)
            raise
        return reserved

    async def _local(self, call: Call) -> Reply:
        if self._stopping:
            raise Stopped
        try:
            reply = await self._model.call(call)
        except CallError as error:
            return CallFailed(error.kind, error.message)
        self.traffic.answered += 1
        return reply

    def _pause(self, error: CallError, attempt: int) -> float:
        if error.retry_after is not None:
            # Never early; a little late, so that calls that were refused together do not come back together.
            return error.retry_after * (1 + 0.05 * self._random.random()) + 0.05 * self._random.random()
        return float(self._policy.backoff * 2 ** (attempt - 1) * (0.75 + 0.5 * self._random.random()))

    async def _wait_for_server(self) -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        if self._not_before - begun > self._policy.patience:
            self._give_up(
                ProviderError(
                    "E0409",
                    "The server asks to wait longer than a run waits.",
                    where=self._model.uri,
                    why=f"it asks for {self._not_before - begun:.0f} s; a run waits {self._policy.patience:.0f} s at most",
                    fix="come back when its limit allows it",
                )
            )
        while (pause := self._not_before - loop.time()) > 0 and not self._stopping:
            await self._sleep(pause, "rate_limit")
        return loop.time() - begun

    async def _sleep(self, seconds: float, why: str) -> None:
        self.traffic.waiting = why
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        try:
            while not self._stopping and (left := end - loop.time()) > 0:
                await asyncio.sleep(min(left, 0.1))
        finally:
            self.traffic.waiting = ""

    def _give_up(self, error: ProviderError) -> NoReturn:
        """End the run: no call that waits is made any more."""
        self._stopping = True
        raise error

    def _raise_if_hopeless(self, error: CallError) -> None:
        if error.fatal:
            code = {"auth": "E0403", "no_model": "E0404"}.get(error.kind, "E0408")
            fix = {
                "E0403": "set the right key in the environment variable that holds it (OPENAI_API_KEY unless you named another)",
                "E0404": "name a model that the server has",
                "E0408": "see what the server says above; a limit of the account has to be raised there",
            }[code]
            what = {"E0403": "The server rejects the API key.", "E0404": "The server does not know the model."}.get(
                code, "The server rejects every call."
            )
            self._give_up(ProviderError(code, what, where=self._model.uri, why=error.message, fix=fix))
        if error.kind == "bad_request" and self.traffic.answered == 0:
            self._rejected += 1
            if self._rejected >= HOPELESS:
                self._give_up(
                    ProviderError(
                        "E0408",
                        f"The server rejected the first {self._rejected} calls and answered none.",
                        where=self._model.uri,
                        why=error.message,
                        fix="check --base-url and the model: it must serve chat completions",
                    )
                )

    def _raise_if_unreachable(self, error: CallError) -> None:
        if error.kind == "network" and self.traffic.answered == 0:
            self._give_up(
                ProviderError(
                    "E0405",
                    "The server cannot be reached.",
                    where=self._model.uri,
                    why=error.message,
                    fix="check that it runs and that --base-url is right; then run the resume command",
                )
            )
