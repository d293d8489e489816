"""Turns of a conversation: what belongs to one question of a user, in which session."""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

from ragassay.instrument.spans import LOGGER, AttributeValue, Span, start_span

TURN: ContextVar[Turn | None] = ContextVar("ragassay_turn", default=None)
"""The turn that is under way."""


class Turn:
    """One turn of a conversation, as `with` or `async with`: one trace, and so one row.

    question, response: by default those of the traced functions inside: the question of the call
    that begins first, the response of the one that ends last. Set them where there is none.

    A turn that is left while the answer is still read from a stream ends with the stream.
    """

    def __init__(self, session: str | None, question: str | None, user: str | None) -> None:
        self.session = session
        self.user = user
        self.question = question
        self.response: str | None = None
        self._span: Span | None = None
        self._tokens: tuple[Any, Any] | None = None
        self._failure: BaseException | None = None
        self._streams: set[object] = set()
        self._is_left = False

    def __enter__(self) -> Self:
        attributes: dict[str, AttributeValue] = {}
        if self.session is not None:
            attributes["session.id"] = str(self.session)
        if self.user is not None:
            attributes["user.id"] = str(self.user)
        self._span = start_span("turn", "CHAIN", attributes)
        active = None if self._span is None else self._span.activate()
        self._tokens = (TURN.set(self), active)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._end(error)
        except Exception:
            LOGGER.debug("a turn was not ended in order", exc_info=True)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, trace)

    def asked(self, question: str | None) -> None:
        """Take the question of a traced function that begins: the first one is the user's, and
        those of calls inside it, or after it, are questions in other words.
        """
        if self.question is None:
            self.question = question

    def streams(self, call: object) -> None:
        """Note that a call goes on: its answer is read from a stream."""
        self._streams.add(call)

    def answered(self, call: object, response: str | None) -> None:
        """Take the response of a call that ends: the last one is the user's."""
        if response is not None and self._takes(call):
            self.response = response
        self._over(call)

    def failed(self, call: object, error: BaseException) -> None:
        """Take the error of a call that ends: that of the turn, where nothing was answered."""
        if self._takes(call):
            self._failure = error
        self._over(call)

    def _takes(self, call: object) -> bool:
        # What a task in the background says once the turn was left is no answer of it.
        return not self._is_left or call in self._streams

    def _over(self, call: object) -> None:
        self._streams.discard(call)
        if self._is_left and not self._streams:
            self._finish()

    def _end(self, error: BaseException | None) -> None:
        tokens, self._tokens = self._tokens, None
        span = self._span
        self._is_left = True
        if span is not None and error is not None:
            span.fail(error)
            self._failure = None
        if not self._streams:
            self._finish()
        if tokens is not None:
            before, active = tokens
            TURN.reset(before)
            if span is not None:
                span.deactivate(active)

    def _finish(self) -> None:
        span, self._span = self._span, None
        failure, self._failure = self._failure, None
        if span is None:
            return
        texts: dict[str, AttributeValue] = {}
        if self.question is not None:
            texts["input.value"] = str(self.question)
        if self.response is not None:
            texts["output.value"] = str(self.response)
        elif failure is not None:
            span.fail(failure)
        span.set(texts)
        span.end()


def turn(
    session: str | None = None, *, question: str | None = None, user: str | None = None
) -> Turn:
    """A turn of a conversation: what is traced inside is one trace, and one row.

    session: the conversation's id: rows of one session are a cluster. question: what the user said,
    where no function under `ragassay.trace` is given it.
    """
    return Turn(session, question, user)
