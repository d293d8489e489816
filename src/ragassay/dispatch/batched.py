"""The dispatcher of calls that wait in a provider's batches and are answered within hours.

The model says what it waits for and when it gives up, so there is no deadline, concurrency limit or
rate here: only the budget, the retries of single calls, and the clean stop.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

from ragassay.core import Call, CallError, CallFailed, ChatCall, ChatReply, Reply
from ragassay.dispatch import run_errors
from ragassay.dispatch.dispatcher import Dispatcher, Stopped
from ragassay.models import NOT_SENT

ROWS_AT_ONCE = 5000
"""Rows whose calls may wait together. More make fewer and larger batches, and cost memory."""

ATTEMPTS = 3
"""How often one call is tried: each attempt may take a day."""


class BatchedDispatcher(Dispatcher):
    """A Dispatcher for a model whose calls wait in batches; arguments as there."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._freed = asyncio.Event()
        self.traffic.provider_status = lambda: str(getattr(self._model, "status", ""))

    async def call(self, call: Call) -> Reply:
        """The reply, or CallFailed when all attempts failed. Raises as a Dispatcher's."""
        if not isinstance(call, ChatCall):
            return await self._call_locally(call)
        for attempt in range(1, ATTEMPTS + 1):
            if self._stop.is_set():
                raise Stopped
            reserved = await self._reserve(call)
            if reserved is None:
                self._on_budget()
                return CallFailed("over_budget", self._budget.refusal)
            outcome = await self._submit(call, reserved)
            if not isinstance(outcome, CallError):
                return outcome
            error = outcome
            if error.kind == "batch":
                self._give_up(run_errors.batch_refused(self._model.uri, error))
            self._raise_if_set_up_is_wrong(error)
            if not error.retryable or attempt == ATTEMPTS:
                break
            self.traffic.retries += 1
            self._budget.retries += 1
        self._raise_if_unreachable(error)
        tries = f" (tried {attempt} times)" if attempt > 1 else ""
        return CallFailed(error.kind, error.message + tries)

    async def _submit(self, call: ChatCall, reserved: Decimal) -> Reply | CallError:
        """One request, settled with the budget."""
        self.traffic.sent += 1
        self.traffic.in_flight += 1
        try:
            reply = await self._model.call(call)
        except CallError as error:
            self._budget.settle(
                call, reserved, None, maybe_billed=error.maybe_billed, status=error.status
            )
            return error
        except BaseException as stopped:
            # The model cancels a call that it has not put into a batch yet with this mark.
            if stopped.args == (NOT_SENT,):
                self._budget.release(call, reserved)
            else:
                self._budget.settle(call, reserved, None, cut_off=True)
            raise
        finally:
            self.traffic.in_flight -= 1
            self._freed.set()
            self._freed = asyncio.Event()
        text = reply.text if isinstance(reply, ChatReply) else None
        self._budget.settle(call, reserved, reply.spend, text=text)
        self.traffic.answered += 1
        return reply

    async def _until_freed(self) -> None:
        # Calls end after minutes or hours here: a look every moment would be of no use.
        await self._freed.wait()
