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

    question, response: by default those of the traced function inside; set them where none is.
    """

    def __init__(self, session: str | None, question: str | None, user: str | None) -> None:
        self.session = session
        self.user = user
        self.question = question
        self.response: str | None = None
        self._span: Span | None = None
        self._tokens: tuple[Any, Any] | None = None

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

    def note(self, question: str | None, response: str | None) -> None:
        """Take the question and the response of a traced function: the first question, the last
        response.
        """
        if self.question is None:
            self.question = question
        if response is not None:
            self.response = response

    def _end(self, error: BaseException | None) -> None:
        span, self._span = self._span, None
        tokens, self._tokens = self._tokens, None
        if span is not None:
            texts: dict[str, AttributeValue] = {}
            if self.question is not None:
                texts["input.value"] = str(self.question)
            if self.response is not None:
                texts["output.value"] = str(self.response)
            span.set(texts)
            if error is not None:
                span.fail(error)
            span.end()
        if tokens is not None:
            before, active = tokens
            TURN.reset(before)
            if span is not None:
                span.deactivate(active)


def turn(
    session: str | None = None, *, question: str | None = None, user: str | None = None
) -> Turn:
    """A turn of a conversation: what is traced inside is one trace, and one row.

    session: the conversation's id: rows of one session are a cluster. question: what the user said,
    where no function under `ragassay.trace` is given it.
    """
    return Turn(session, question, user)
