"""The decorators: spans of the root, the retriever and the generator of an application.

Each takes plain functions, coroutine functions, and generators of both kinds, whose span ends when
they are exhausted, closed or collected. What the function returns, raises and yields is what it
would return, raise and yield without.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import suppress
from contextvars import Token
from types import MethodType
from typing import Any, Literal, TypeVar, cast, overload

from ragassay.core.sample import Context
from ragassay.datasets.names import QUESTION_NAMES
from ragassay.datasets.outputs import part, question_in, response_in
from ragassay.instrument import retrieved, sink
from ragassay.instrument.arguments import Argument, named_argument, only_argument, parameters_of
from ragassay.instrument.documents import Textless, TextOf, as_traced, listed
from ragassay.instrument.spans import LOGGER, AttributeValue, Span, leave, start_span
from ragassay.instrument.turns import TURN, Turn
from ragassay.instrument.usage import CURRENT as USAGE
from ragassay.instrument.usage import Usage, usage_in

F = TypeVar("F", bound=Callable[..., Any])

Kind = Literal["CHAIN", "RETRIEVER", "LLM"]

LONGEST = 1_000_000
"""Characters of a text that a span holds; what is behind is cut off."""

MOST_DOCUMENTS = 1_000
"""Documents that a span of a retriever holds."""

_DOCUMENTS = [
    (
        f"retrieval.documents.{place}.document.content",
        f"retrieval.documents.{place}.document.id",
        f"retrieval.documents.{place}.document.score",
    )
    for place in range(MOST_DOCUMENTS)
]
"""The names of a document's attributes, by its place: to write them costs more than to look."""


@overload
def trace(function: F, /) -> F: ...
@overload
def trace(*, name: str | None = None, question: str | None = None) -> Callable[[F], F]: ...
def trace(
    function: F | None = None, /, *, name: str | None = None, question: str | None = None
) -> F | Callable[[F], F]:
    """A decorator of the function that answers a question: the root of a trace.

    name: of the span, by default the function's. question: the parameter that holds it, by default
    one with a usual name, or the only one.
    """
    return _decorator(function, "CHAIN", name, question)


@overload
def retriever(function: F, /) -> F: ...
@overload
def retriever(
    *, name: str | None = None, question: str | None = None, text_of: TextOf | None = None
) -> Callable[[F], F]: ...
def retriever(
    function: F | None = None,
    /,
    *,
    name: str | None = None,
    question: str | None = None,
    text_of: TextOf | None = None,
) -> F | Callable[[F], F]:
    """A decorator of a function that returns documents: their texts, ids and scores are traced.

    text_of: for a retriever that returns ids, alone, in pairs with a score, or in objects without a
    text: called with each id, returns its text. It runs in the application's thread. Where it fails
    for one of them, the row has no contexts: such a row is not judged, one that lacked some would
    be judged wrongly. Other arguments as for `trace`.
    """
    return _decorator(function, "RETRIEVER", name, question, text_of)


@overload
def generator(function: F, /) -> F: ...
@overload
def generator(*, name: str | None = None, question: str | None = None) -> Callable[[F], F]: ...
def generator(
    function: F | None = None, /, *, name: str | None = None, question: str | None = None
) -> F | Callable[[F], F]:
    """A decorator of a function that has a model write the answer. Tokens are read from what it
    returns or yields, where that is an object of a model's client; `note_usage` says them
    otherwise. Arguments as for `trace`.
    """
    return _decorator(function, "LLM", name, question)


def _decorator(
    function: F | None,
    kind: Kind,
    name: str | None,
    question: str | None,
    text_of: TextOf | None = None,
) -> F | Callable[[F], F]:
    sink.prepare()
    if function is None:
        return lambda given: _decorated(given, _Traced(given, kind, name, question, text_of))
    return _decorated(function, _Traced(function, kind, name, question, text_of))


class _Traced:
    """A function that is traced: what is written of its calls."""

    def __init__(
        self,
        function: Callable[..., Any],
        kind: Kind,
        name: str | None,
        question: str | None,
        text_of: TextOf | None,
    ) -> None:
        self.kind = kind
        self.text_of = text_of
        self.name = name or str(getattr(function, "__name__", kind.lower()))
        names = (question,) if question is not None else QUESTION_NAMES
        self._question: Argument | None = named_argument(function, names)
        if self._question is None and question is None:
            self._question = only_argument(function)
        if question is not None and self._question is None:
            from ragassay.core import SetupError

            has = ", ".join(parameter.name for parameter in parameters_of(function))
            raise SetupError(
                "E0101",
                f"The traced function has no parameter {question!r}.",
                where="ragassay." + {"CHAIN": "trace", "LLM": "generator"}.get(kind, "retriever"),
                why=f"it has {has or 'none'}",
                fix="name one of them",
            )

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Call:
        """A call that begins now."""
        call = _Call(self)
        attributes: dict[str, AttributeValue] = {}
        try:
            if self._question is not None:
                value = self._question.of(args, kwargs)
                call.question = value if isinstance(value, str) else question_in(value)
            if call.question is not None:
                attributes["input.value"] = call.question[:LONGEST]
            turn = TURN.get()
            if turn is not None:
                if turn.session is not None:
                    attributes["session.id"] = str(turn.session)
                if self.kind == "CHAIN":
                    call.turn = turn
                    turn.asked(call.question)
        except Exception:
            LOGGER.debug("the question of a call was not traced", exc_info=True)
        call.span = start_span(self.name, self.kind, attributes)
        return call


class _Call:
    """One call of a traced function. turn: that in which it was called, where it answers in one;
    the turn may have been left when a stream ends. usage: the tokens that the application says it
    took.
    """

    __slots__ = (
        "__weakref__",
        "_documents",
        "_has_ended",
        "_pieces",
        "_said",
        "_size",
        "question",
        "span",
        "traced",
        "turn",
        "usage",
    )

    def __init__(self, traced: _Traced) -> None:
        self.traced = traced
        self.turn: Turn | None = None
        self.span: Span | None = None
        self._has_ended = False
        self._documents: list[Context | Textless] = []
        self.question: str | None = None
        self.usage: Usage = {}
        self._said: Usage = {}
        self._pieces: list[str] = []
        self._size = 0

    def returned(self, value: object) -> None:
        """Write what the function returned, and end the span."""
        try:
            if self.traced.kind == "RETRIEVER":
                documents = listed(value)
                if documents is None:
                    self._end({})
                else:
                    self._retrieve(documents)
                    self._end(_document_attributes(self._documents))
            elif isinstance(value, str):
                self._respond(value)
            else:
                self._note(value)
                self._respond(response_in(value))
        except Exception:
            LOGGER.debug("what a call returned was not traced", exc_info=True)
            self._end({})

    def raised(self, error: BaseException) -> None:
        """Write that the function failed, and end the span."""
        try:
            if self.span is not None:
                self.span.fail(error)
            if self.turn is not None:
                self.turn.failed(self, error)
            # What a stream gave before it failed was used.
            self._end(_document_attributes(self._documents) if self._documents else {})
        except Exception:
            LOGGER.debug("the error of a call was not traced", exc_info=True)

    def yielded(self, piece: object) -> None:
        """Take a piece of a streamed answer, or a document."""
        if self._size > LONGEST:
            return
        try:
            if self.traced.kind == "RETRIEVER":
                self._retrieve((piece,))
                return
            text = _piece_text(piece)
            if not isinstance(piece, str):
                self._note(piece)
            self._pieces.append(text)
            self._size += len(text)
        except Exception:
            LOGGER.debug("a piece was not traced", exc_info=True)

    def streamed(self) -> None:
        """Write the answer, or the documents, of which all came, or no more will."""
        if self._has_ended:
            return
        try:
            if self.traced.kind == "RETRIEVER":
                self._end(_document_attributes(self._documents))
            else:
                self._respond("".join(self._pieces))
        except Exception:
            LOGGER.debug("a streamed answer was not traced", exc_info=True)

    def _retrieve(self, documents: Sequence[object]) -> None:
        text_of = self.traced.text_of
        found = [as_traced(document, text_of) for document in documents]
        retrieved.add(each for each in found if isinstance(each, Context))
        if len(self._documents) < MOST_DOCUMENTS:
            self._documents += found

    def _note(self, value: object) -> None:
        """Take the tokens that an object of a model's client says: in streams the last one that
        does.
        """
        if self.traced.kind != "LLM":
            return
        try:
            self._said.update(usage_in(value))
        except Exception:
            # The text is traced all the same.
            LOGGER.debug("the tokens of a call were not traced", exc_info=True)

    def _respond(self, response: str | None) -> None:
        if self.turn is not None:
            self.turn.answered(self, response)
        self._end({} if response is None else {"output.value": response[:LONGEST]})

    def _end(self, attributes: dict[str, AttributeValue]) -> None:
        self._has_ended = True
        span, self.span = self.span, None
        if span is not None:
            if attributes or self.usage or self._said:
                # What the application says itself goes before what was read.
                span.set({**self._said, **self.usage, **attributes})
            span.end()


def _document_attributes(documents: Sequence[Context | Textless]) -> dict[str, AttributeValue]:
    if not documents:
        # To leave the attributes out says nothing, and this that nothing was found.
        return {"output.value": "[]"}
    attributes: dict[str, AttributeValue] = {}
    for (content, own_id, score), document in zip(_DOCUMENTS, documents, strict=False):
        if isinstance(document, Context):
            attributes[content] = document.text[:LONGEST]
            if document.id is not None:
                attributes[own_id] = document.id
        else:
            # Also where nothing is known of it: that keeps its place.
            attributes[own_id] = document.id or ""
        if document.score is not None:
            attributes[score] = document.score
    return attributes


def _piece_text(piece: object) -> str:
    if isinstance(piece, str):
        return piece
    choices = part(piece, ("choices",))
    if isinstance(choices, list | tuple):
        delta = part(choices[0], ("delta",)) if choices else None
        return str(part(delta, ("content",)) or "")
    delta = part(piece, ("delta",))
    return delta if isinstance(delta, str) else response_in(piece) or ""


def _decorated(function: F, traced: _Traced) -> F:
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def acalled(*args: Any, **kwargs: Any) -> Any:
            call = traced.begin(args, kwargs)
            try:
                with _Inside(call):
                    returned = await function(*args, **kwargs)
            except BaseException as error:
                call.raised(error)
                raise
            return _finished(call, returned)

        return cast(F, acalled)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        call = traced.begin(args, kwargs)
        try:
            with _Inside(call):
                returned = function(*args, **kwargs)
        except BaseException as error:
            call.raised(error)
            raise
        return _finished(call, returned)

    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return cast(F, _GeneratorFunction(function, called))
    return cast(F, called)


class _GeneratorFunction:
    """A traced function that yields. Its call begins when it is called, in the turn in which that
    is; the body of a generator function would begin when somebody reads, maybe after the turn.
    `inspect` tells generator functions by what they have, and this has all of it.
    """

    def __init__(self, function: Callable[..., Any], called: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._called = called

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._called(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not there yet: a copy is being made
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __reduce__(self) -> str:
        # By its name, as functions are.
        return str(self.__qualname__)


class _Inside:
    """The block in which the function of a call runs. Its span is the parent of what begins. What
    a retriever inside of a retriever returns is retrieved only as far as the outer one passes it
    on; other functions may say what the call took.
    """

    # A class: a call is to cost microseconds, and each generator that makes a block takes some.
    __slots__ = ("_activated", "_call", "_span", "_token")

    def __init__(self, call: _Call) -> None:
        self._call = call
        self._span = call.span  # a stream that ends inside takes it away from the call

    def __enter__(self) -> None:
        if self._call.traced.kind == "RETRIEVER":
            self._token: Token[Any] = retrieved.COLLECTED.set(None)
        else:
            self._token = USAGE.set(self._call.usage)
        if self._span is not None:
            self._activated = self._span.activate()

    def __exit__(self, *error: object) -> None:
        if self._span is not None:
            leave(self._span, self._activated)
        # A generator that was moved to another task is closed in another context.
        with suppress(ValueError):
            self._token.var.reset(self._token)


def _finished(call: _Call, returned: Any) -> Any:
    """What the function returned; a generator with its span, which ends with it."""
    driven: Any = None
    if isinstance(returned, Generator):
        driven = _driven(returned, call)
    elif isinstance(returned, AsyncGenerator):
        driven = _adriven(returned, call)
    if driven is None:
        call.returned(returned)
        return returned
    if call.turn is not None:
        call.turn.streams(call)
    # One that is never begun runs no code of ours when it is collected.
    weakref.finalize(driven, call.streamed)
    return driven


def _driven(inner: Generator[Any, Any, Any], call: _Call) -> Generator[Any, Any, Any]:
    """The pieces of an answer, or the documents. The span is the current one while a piece is made,
    and not while the consumer has it.
    """
    step: Callable[[], Any] = functools.partial(next, inner)
    try:
        while True:
            with _Inside(call):
                piece = step()
            call.yielded(piece)
            try:
                sent = yield piece
            except GeneratorExit:
                inner.close()
                raise
            except BaseException as error:
                step = functools.partial(inner.throw, error)
            else:
                step = functools.partial(inner.send, sent)
    except StopIteration as end:
        return end.value
    except BaseException as error:
        if not isinstance(error, GeneratorExit):
            call.raised(error)
        raise
    finally:
        call.streamed()


async def _adriven(inner: AsyncGenerator[Any, Any], call: _Call) -> AsyncGenerator[Any, Any]:
    step: Callable[[], Any] = functools.partial(inner.asend, None)
    try:
        while True:
            with _Inside(call):
                piece = await step()
            call.yielded(piece)
            try:
                sent = yield piece
            except GeneratorExit:
                await inner.aclose()
                raise
            except BaseException as error:
                step = functools.partial(inner.athrow, error)
            else:
                step = functools.partial(inner.asend, sent)
    except StopAsyncIteration:
        return
    except BaseException as error:
        if not isinstance(error, GeneratorExit):
            call.raised(error)
        raise
    finally:
        call.streamed()
