"""The model of a run whose calls are logged: replies of before a kill are not bought again."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from ragassay.core import Call, CallError, ChatCall, ChatReply, Reply
from ragassay.dispatch import LocalBudget
from ragassay.models import ABOUT_TO_SEND, NOT_SENT, Model
from ragassay.runs.reply_log import ReplyLog


class LoggedModel:
    """A model whose calls are logged, and whose replies of before a kill are handed out instead of
    being bought again.

    Chat calls only: a model that runs here costs nothing to ask again. Everything else is the
    model's own.
    """

    def __init__(self, model: Model, log: ReplyLog, budget: LocalBudget) -> None:
        self._model = model
        self._log = log
        self._budget = budget

    @property
    def uri(self) -> str:
        """The model's."""
        return self._model.uri

    @property
    def concurrency(self) -> int | None:
        """The model's."""
        return self._model.concurrency

    def lane(self, call: ChatCall) -> str:
        """The model's."""
        return self._model.lane(call)

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """The model's."""
        return self._model.price(input_tokens, output_tokens)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def call(self, call: Call) -> Reply:
        """One attempt, or a reply that had arrived before. Raises as the model, and
        EnvironmentFailure on a full disk.
        """
        if not isinstance(call, ChatCall):
            return await self._model.call(call)
        key = key_of(call)
        logged = self._log.take(key)
        if logged is not None:
            # The ledger has its receipt; whoever asked settles it again.
            self._budget.withdraw(logged.reply.spend, logged.most)
            return logged.reply
        entry = _LogEntry(self._log, self._budget, call)
        if not getattr(self._model, "announces_sending", False):
            entry.write()
        announced = ABOUT_TO_SEND.set(entry.write)
        try:
            reply = await self._model.call(call)
        except CallError as error:
            entry.failed(error.maybe_billed, error.status)
            raise
        except asyncio.CancelledError as error:
            # Out of time or cancelled: where it had left, it may be billed all the same.
            if not entry.ticket:
                raise asyncio.CancelledError(NOT_SENT) from None
            entry.failed(error.args != (NOT_SENT,))
            raise
        except BaseException:
            entry.failed(True)
            raise
        finally:
            ABOUT_TO_SEND.reset(announced)
        if isinstance(reply, ChatReply):
            entry.arrived(key, reply)
        return reply

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()


class _LogEntry:
    """What the log says of one call. ticket: 0 until the call is about to be sent."""

    __slots__ = ("_budget", "_call", "_log", "ticket")

    def __init__(self, log: ReplyLog, budget: LocalBudget, call: ChatCall) -> None:
        self._log = log
        self._budget = budget
        self._call = call
        self.ticket = 0

    def write(self) -> None:
        """The call is about to be sent; called again where it takes several requests. Raises
        EnvironmentFailure where that cannot be written.
        """
        if not self.ticket:
            size = self._budget.size_of(self._call)
            self.ticket = self._log.sent(self._budget.worst_case_of(size), size)

    def failed(self, maybe_billed: bool, status: int | None = None) -> None:
        """The call ended without a reply. status: what the server answered, if it did."""
        if self.ticket:
            self._log.failed(self.ticket, maybe_billed, status)

    def arrived(self, key: str, reply: ChatReply) -> None:
        """The reply is there."""
        self.write()
        most = None
        if reply.spend.cost is None:
            most = self._budget.most_of_reply(self._call, reply.text)
        self._log.arrived(self.ticket, key, reply, most)


def key_of(call: ChatCall) -> str:
    """Hash of all that a reply depends on."""
    settings = (
        call.model,
        call.max_tokens,
        call.temperature,
        call.seed,
        call.schema_name,
        [m.role for m in call.messages],
    )
    # The first message is the rubric's, the same for thousands of calls: its hash is kept.
    first, *rest = [message.content for message in call.messages] or [""]
    digest = _digest_of_first(first).copy()
    for text in (repr(settings), call.schema_text, *rest):
        _update(digest, text)
    return digest.hexdigest()


@lru_cache(maxsize=64)
def _digest_of_first(text: str) -> blake2b:
    """The hash as far as the first message, which is the same for most calls of a run."""
    digest = blake2b(digest_size=16)
    _update(digest, text)
    return digest


def _update(digest: blake2b, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    digest.update(b"%d:" % len(data))
    digest.update(data)
